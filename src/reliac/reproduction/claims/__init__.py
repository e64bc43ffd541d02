"""The paper's claims beside its tables, each as a small experiment: one section per claim, seeded, in minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...datasets import Dataset
from ..report.parts import Section
from . import densities, guarantees, outliers, speed, stopping, ties


def all_sections(datasets: Mapping[str, Dataset], progress: Callable[[str], None]) -> Iterator[Section]:
    """Run the experiments one after the other and give the section of each as soon as it is done.

    ``datasets`` maps names as in :func:`reliac.datasets.names` to data sets; what is not in it is left out, and the
    section says so. With none at all the made-up data remain. ``progress`` is told what comes next.
    """
    yield densities.section(progress=progress)
    yield stopping.section(datasets, progress=progress)
    yield guarantees.section(progress=progress)
    yield outliers.section(datasets, progress=progress)
    yield speed.section(datasets, progress=progress)
    yield ties.section(datasets, progress=progress)
