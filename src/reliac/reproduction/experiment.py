"""Everything in one call: load what can be had, run the protocols and the other claims, and write the report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .. import datasets as library
from ..datasets import Dataset
from ..errors import DatasetError, explain, need, unknown_name
from .report.parts import Section
from .report.report import Report, facts, make_folder
from .tables import sections as chapters
from .tables.protocols import NOT_PUBLIC, PROTOCOLS, Bench, Cell, ExtendedRow, cells_without_data
from .tables.published import DATASETS
from .tables.readings import NEWS

NOT_AT_HAND = "its file is not at hand"
STOPPED = "Ctrl-C ended the run early: what follows is what was done before."
UNFINISHED = "The run has not finished: the experiments on the other claims are not here yet."

_NAMES = {name: title for title, name in DATASETS.items() if name is not None}


class Stopped(KeyboardInterrupt):
    """Ctrl-C ended a reproduction; ``report`` holds what was done before it."""

    def __init__(self, report: Report) -> None:
        super().__init__("stopped by Ctrl-C; the exception's .report holds what was done")
        self.report = report


def names() -> list[str]:
    """List the data sets of the tables that are public."""
    return list(_NAMES)


def reproduce(
    datasets: Iterable[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Callable[[str], Any] | None = None,
    *,
    download: bool = True,
    command: str = "reliac.reproduction.reproduce()",
) -> Report:
    """Run the paper's experiments and compare every figure with the printed one.

    Parameters
    ----------
    datasets : some of :func:`names`; None for all
    out : a folder for report.html, report.md, and the tables as CSV; None writes nothing
    folder, download : where data sets are, and whether to download others; see :func:`reliac.datasets.load`
    progress : a function that gets a line of text now and then
    command : what the report says that it was made by

    Raises
    ------
    Stopped : at Ctrl-C, after what was done is written to ``out``
    """
    chosen = list(_NAMES) if datasets is None else list(dict.fromkeys(datasets))
    for name in chosen:
        if name not in _NAMES:
            raise ValueError(unknown_name("data set of the paper", name, _NAMES))
    named = os.environ.get("RELIAC_DATA") or None if folder is None else folder
    if named is not None and not os.path.isdir(named):
        given = f"There is no folder {os.fspath(named)!r} of data sets" + (" (RELIAC_DATA)" if folder is None else "")
        step = "check its name, or leave it out to download what is missing"
        raise FileNotFoundError(explain(given, "a folder with the subfolders uci and 20news", step))
    if out is not None:
        need("jinja2", "report")  # for the page: better told now than after the experiments
        make_folder(Path(out))
    run = _Run(chosen, progress or (lambda line: None), command)
    try:
        run.tables(folder, download)
        if datasets is not None and not run.loaded and run.missing:
            raise DatasetError(next(iter(run.missing.values())))
        if out is not None:  # so that nothing that goes wrong later can take the tables away
            run.report(UNFINISHED).write(out)
        run.claims()
    except KeyboardInterrupt:
        report = run.report(STOPPED)
        if out is not None and run.cells:  # else what an earlier run has left is worth more
            report.write(out)
        raise Stopped(report) from None
    report = run.report()
    if out is not None:
        report.write(out)
    return report


class _Run:
    """What has been done so far."""

    def __init__(self, chosen: list[str], progress: Callable[[str], Any], command: str) -> None:
        self.chosen, self.progress, self.command = chosen, progress, command
        self.started, self.clock = datetime.now(timezone.utc), time.perf_counter()
        self.loaded: dict[str, Dataset] = {}
        self.missing: dict[str, str] = {}
        self.cells: list[Cell] = []
        self.extended: list[ExtendedRow] = []
        self.other: list[Section] = []

    def tables(self, folder: str | os.PathLike[str] | None, download: bool) -> None:
        """Run the three protocols on every data set that can be had."""
        for place, name in enumerate(self.chosen, 1):
            began = time.perf_counter()
            title = _NAMES[name]
            try:
                options = NEWS.get(name, {})
                self.loaded[name] = library.load(name, folder, download=download, progress=False, **options)
            except DatasetError as error:
                self.missing[title] = str(error)
                reason = str(error).partition(". ")[0]
                self.progress(f"{place} of {len(self.chosen)}, {name}: left out, the report says what to do. {reason}")
                continue
            bench = Bench(title, self.loaded[name])
            cells = list(bench.cells())
            rows = list(bench.extended())
            self.cells += cells
            self.extended += rows
            told = chapters.in_words(chapters.counts(cells, PROTOCOLS[0]))
            self.progress(f"{place} of {len(self.chosen)}, {name}: {told} ({time.perf_counter() - began:.1f} s)")

    def claims(self) -> None:
        """Run the experiments behind the paper's other claims."""
        for section in claims(self.loaded, self.progress):
            self.other.append(section)

    def report(self, note: str = "") -> Report:
        """Put together what has been done; ``note`` says why it is not all."""
        reasons = dict(self.missing)
        done = {cell.place.dataset for cell in self.cells}
        for name in self.chosen:
            if _NAMES[name] not in done:  # only Ctrl-C leaves a data set out without a reason
                reasons.setdefault(_NAMES[name], "Ctrl-C came before it")
        if self.chosen == list(_NAMES):
            reasons |= {title: NOT_PUBLIC for title, name in DATASETS.items() if name is None}
        short = {title: NOT_AT_HAND if title in self.missing else reason for title, reason in reasons.items()}
        cells = [*self.cells, *cells_without_data(short)]
        order = list(DATASETS)
        cells.sort(key=lambda cell: order.index(cell.place.dataset))
        sections = [
            chapters.overview(cells),
            chapters.published_section(cells),
            chapters.written_section(cells),
            *([chapters.extended_section(self.extended)] if self.extended else []),
            chapters.limits_section(cells, reasons),
            *self.other,
        ]
        if note:
            words = (note, *sections[0].paragraphs)
            sections[0] = Section(sections[0].title, sections[0].anchor, words, sections[0].tables)
        told = facts(self.command, f"{self.started:%Y-%m-%d %H:%M} UTC", time.perf_counter() - self.clock)
        counted = {protocol: chapters.counts(cells, protocol) for protocol in PROTOCOLS}
        return Report(tuple(cells), tuple(self.extended), tuple(sections), counted, reasons, told, note == STOPPED)


def claims(loaded: Mapping[str, Dataset], progress: Callable[[str], Any]) -> Iterator[Section]:
    """Give the sections of the other claims."""
    from .claims import all_sections

    yield from all_sections(loaded, progress)
