"""One run, from a problem to its tree: who runs it, what it writes down, and what is left when it is stopped."""

from __future__ import annotations

import math
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.contract import (
    Batch,
    EarlierLists,
    Engine,
    Found,
    LeftToOthers,
    ListKeeper,
    LongEngine,
    Pace,
    TooManyTies,
)
from ..algorithm.links import Links, groups_of
from ..engines.choice import ENGINES, Choice, choose, relief
from ..engines.repeats import first_links
from ..errors import DeviceLost, Interrupted, InvariantError, unknown_name
from ..input.metrics import metric_name
from ..input.problem import Problem
from ..machine import check_jobs
from ..tree.building import make_links
from ..tree.clustertree import ClusterTree
from .checkpoint import Checkpoint, Earlier
from .history import History, Progress, each_level, history_of
from .outlook import Outlook
from .progress import make_reporter, say_nothing

#: Engines that get no help with equal rows: the reference, and the one that is done before they are found.
PLAIN = ("literal", "small")

#: What stands before the name of a metric that was a function.
CALLABLE = "callable "

#: Between levels progress is told about so often, in seconds.
SECONDS_BETWEEN = 0.25


def cluster_problem(
    problem: Problem,
    engine: Any = "auto",
    n_jobs: Any = None,
    progress: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    keep_lists: bool = False,
    earlier_lists: EarlierLists | None = None,
) -> ClusterTree:
    """Solve a problem; the options are those of :func:`reliac.cluster`, and lists of a run on other rows."""
    if not isinstance(engine, str):
        raise TypeError(unknown_name("engine", engine, [*ENGINES, "auto"]))
    check_jobs(n_jobs)
    run = Run(problem, n_jobs, progress)
    run.keep_lists, run.earlier_lists = keep_lists, earlier_lists
    with run.keeping_what_is_done():
        if checkpoint is None:
            run.choice = choose(problem, engine)
            return run.whole_tree()
        with Checkpoint(checkpoint, problem) as run.keeper:
            earlier = run.keeper.resume()
            run.choice = _choice_for(problem, engine, earlier)
            if earlier:
                run.take_over(earlier)
            tree = run.whole_tree()
            run.keeper.remove()
            return tree


def solve(
    problem: Problem,
    choice: Choice,
    history: History,
    n_jobs: int | None,
    progress: Any,
    objects: NDArray[np.intp] | None = None,
) -> ClusterTree:
    """Run from where ``history`` stands and make the tree; ``objects`` are the row numbers that it shows."""
    run = Run(problem, n_jobs, progress, choice, history, objects)
    with run.keeping_what_is_done():
        return run.whole_tree()


def _choice_for(problem: Problem, engine: str, earlier: Earlier | None) -> Choice:
    """Choose an engine; a run that was stopped goes on with its own, unless the user names one or it does not fit."""
    if earlier is not None and engine == "auto" and earlier.tree.engine in ENGINES:
        try:
            return choose(problem, earlier.tree.engine)._replace(reason=earlier.tree.reason)
        except (ValueError, MemoryError):
            pass  # less memory is free than then
    return choose(problem, engine)


def _must_links(problem: Problem) -> Batch:
    """Return the links of objects that must be together: level 1, at distance 0."""
    assert problem.constraints is not None
    pairs = problem.constraints.must
    single = problem.criterion.reduction is np.minimum
    links = Links(pairs[:, 0], pairs[:, 1], np.zeros(len(pairs)))
    return Batch(np.ones(len(pairs), np.intp), links, pairs if single else None)


class Run:
    """One run under way: what it has established, who develops it, what is told and kept meanwhile."""

    def __init__(
        self,
        problem: Problem,
        n_jobs: int | None,
        progress: Any,
        choice: Choice | None = None,
        history: History | None = None,
        objects: NDArray[np.intp] | None = None,
    ) -> None:
        self.problem, self.n_jobs, self.objects = problem, n_jobs, objects
        self.report, self.finish = make_reporter(progress)
        self.choice = choice  # None until an engine is chosen
        self.history = History() if history is None else history
        self.engine: Engine | None = None
        self.keeper: Checkpoint | None = None
        self.found: Found = {}  # by an earlier run, for the engine
        self.keep_lists = False  # whether the tree shall keep what searches find
        self.earlier_lists: EarlierLists | None = None  # of a run on other rows
        self._fingerprint: str | None = None  # of the data, when it is known
        self.outlook = Outlook(problem.n_objects, problem.stop)
        self.told = 0.0  # when progress was told last, in seconds from the start

    def take_over(self, earlier: Earlier) -> None:
        """Begin where an earlier run was stopped."""
        self.history = history_of(earlier.tree)
        if self.choice and self.choice.engine.name == earlier.tree.engine:
            self.found = earlier.found
        self.outlook = Outlook(self.problem.n_objects, self.problem.stop, earlier.spent if self.found else (0.0, 0.0))

    @contextmanager
    def keeping_what_is_done(self) -> Iterator[None]:
        """Have Ctrl-C, whenever it comes, leave the levels done: in the exception, and in the checkpoint."""
        complete = False
        try:
            yield
            complete = True
        except KeyboardInterrupt:
            raise Interrupted(self.tree(), self.note) from None
        except DeviceLost as error:
            error.tree = self.tree()
            raise
        finally:
            self.finish(complete)

    note = ""  # what is to be said besides, after Ctrl-C

    def whole_tree(self) -> ClusterTree:
        """Run to the end."""
        self._hash_data()  # now: engines let go of data that can be made again
        try:
            self.run()
            return self.tree(self._lists() if self.keep_lists else None)
        except (KeyboardInterrupt, DeviceLost):
            self._keep_at_last()
            raise

    def run(self) -> None:
        """Catch up with ``history``, then let the engine develop the clusters and write down what it establishes.

        An engine that ties overwhelm, or that cannot go on, is relieved by another one, from the level reached.
        """
        problem, history, stop = self.problem, self.history, self.problem.stop
        assert self.choice is not None
        engine = self.choice.engine(problem, self.n_jobs)
        if not history.batches and problem.constraints:
            self.write(_must_links(problem))
        elif not history.batches and engine.name not in PLAIN:
            links = first_links(problem)
            if len(links.p):
                # Parts of equal size are halved again and again, which is exact. Joining k parts at once divides by k,
                # which rounds: so not where parts count alike.
                history.at_once = 0 if problem.criterion.equal_parts else len(links.p)
                self.write(Batch(np.arange(1, len(links.p) + 1), links, None))
        while (heir := self._heir_of(engine)) is not None:
            self.choice, self.found = heir, {}
            engine = heir.engine(problem, self.n_jobs)
        left = self.n_clusters
        stopped = left <= stop.n_clusters or history.last_level >= stop.max_level or stop.max_distance < math.inf
        if not stopped and not problem.may_end_in_forest:
            raise InvariantError(
                f"the {engine.name} engine found no reliable link among {left} clusters: please report this"
            )

    def _heir_of(self, engine: Engine) -> Choice | None:
        """Let an engine develop the clusters; return who goes on from the level reached, if it cannot.

        That one is made later, when the error is forgotten: it holds on to all that the engine had in its hands.
        """
        try:
            self._develop(engine)
        except TooManyTies:
            return relief(self.problem)._replace(reason=f"ties left the {engine.name} engine no room")
        except LeftToOthers as error:
            heir = choose(self.problem, error.heir or "auto", without=engine.name)
            return heir._replace(reason=f"relieved the {engine.name} engine: {error}")
        return None

    def _develop(self, engine: Engine) -> None:
        """Join what was joined before, then write down the engine's levels with the distances that the user sees."""
        self.engine = engine
        for links in self.history.by_level():
            engine.join(groups_of(links, self.problem.n_objects))
        if engine.name not in PLAIN:  # they have neither, and to ask takes longer than a small problem does
            self._prepare(engine)
        levels = batches = engine.levels(self.history.last_level)
        if engine.name in PLAIN and self.heard:  # few objects, and whoever hears of them hears of every level
            batches = (level for batch in levels for level in each_level(batch))
        try:
            for level, (p, q, distance), pairs in batches:
                self.write(Batch(level, Links(p, q, self.problem.heights(distance)), pairs))
        finally:
            if isinstance(levels, Generator):  # so that no thread of an engine is left behind after Ctrl-C
                levels.close()

    def _prepare(self, engine: Engine) -> None:
        """Give an engine what earlier runs have found, and a way to tell its pace."""
        if isinstance(engine, LongEngine):
            engine.tell = self.hear
            if self.found:
                engine.go_on_from(self.found)
        if isinstance(engine, ListKeeper):
            if self.keep_lists:
                engine.keep_lists()
            if self.earlier_lists is not None:
                engine.use_lists(self.earlier_lists)

    @property
    def n_clusters(self) -> int:
        """The number of clusters left."""
        return self.problem.n_objects - self.history.n_links

    # --- what is told and kept ---

    def write(self, batch: Batch) -> None:
        """Write down the links of further levels."""
        self.history.add(batch)
        if self.heard:  # else an estimate would be made for nobody
            self._tell()
            self._keep()

    @property
    def heard(self) -> bool:
        """Whether somebody wants to know how far the run is, or a checkpoint is to be written."""
        return self.report is not say_nothing or self.keeper is not None

    def hear(self, pace: Pace) -> None:
        """Hear how far the engine is between two levels, and tell it now and then."""
        if not self.heard:
            return
        self.outlook.look(self.n_clusters, self.history.last_level, pace)
        if self.outlook.seconds - self.told >= SECONDS_BETWEEN:
            self._tell()
        self._keep()

    def _tell(self) -> None:
        self.tell(self.history.last_level, self.n_clusters)

    def tell(self, level: int, n_clusters: int) -> None:
        """Tell how far the run has come."""
        outlook = self.outlook
        share, left = outlook.look(n_clusters, level)
        n, target, searched = self.problem.n_objects, self.problem.stop.n_clusters, outlook.pace.searched
        self.told = outlook.seconds
        self.report(Progress(level, n_clusters, n, target, self.told, searched, share, left))

    def _keep(self) -> None:
        """Write the checkpoint if it is time to, and the engine can tell what it has found."""
        if self.keeper and self.keeper.due():
            found = self._found()
            if found is not None:
                self.keeper.write(self.tree(), found, self.outlook.spent)

    def _found(self) -> Found | None:
        return self.engine.found(self.n_clusters) if isinstance(self.engine, LongEngine) else {}

    def _keep_at_last(self) -> None:
        """Write the checkpoint after Ctrl-C, if that works."""
        if self.keeper is None or self.engine is None:  # nothing was done
            return
        try:
            found = self._found()
            if found is not None or not self.keeper.path.exists():
                self.keeper.write(self.tree(), found or {}, self.outlook.spent)
            self.note = f"the same call goes on from the checkpoint {self.keeper.path}"
        except OSError as error:
            self.note = f"the checkpoint could not be written ({error})"

    def _lists(self) -> Found:
        return self.engine.kept_lists() if isinstance(self.engine, ListKeeper) else {}

    def tree(self, lists: Found | None = None) -> ClusterTree:
        """Return the tree of the levels so far."""
        self._hash_data()
        return make_tree(self.problem, self.history, self.choice, self.objects, self._fingerprint, lists)

    def _hash_data(self) -> None:
        """Hash the data, unless that was done."""
        if self._fingerprint is None:
            self._fingerprint = self.problem.objects.data_fingerprint()


def make_tree(
    problem: Problem,
    history: History,
    choice: Choice | None,
    objects: NDArray[np.intp] | None = None,
    fingerprint: str | None = None,
    lists: Found | None = None,
) -> ClusterTree:
    """Make the tree of the links in ``history``; ``fingerprint``: of the data, if it is known already."""
    level, links, pairs = history.whole()
    made = make_links(problem.n_objects, links.p, links.q, links.distance, level)
    single = problem.criterion.reduction is np.minimum
    return tree_of_links(problem, made, pairs if single else None, choice, objects, fingerprint, lists)


def tree_of_links(
    problem: Problem,
    links: NDArray[np.void],
    pairs: NDArray[np.intp] | None,
    choice: Choice | None,
    objects: NDArray[np.intp] | None = None,
    fingerprint: str | None = None,
    lists: Found | None = None,
    sound: bool = False,
) -> ClusterTree:
    """Make a tree of its links, and with single the pairs of objects; see :func:`make_tree`.

    ``sound``: the links have been checked already, by the code that would do it here.
    """
    name = metric_name(problem.metric)
    kind = problem.objects.matrix_type
    precision = {} if kind == np.float64 else {"precision": kind.name}
    make = ClusterTree.of_sound_links if sound else ClusterTree
    return make(
        n_objects=problem.n_objects,
        links=links,
        names=problem.objects.names,
        objects=np.arange(problem.n_objects) if objects is None else objects,
        weights=problem.weights,
        object_pairs=pairs,
        parameters={
            "criterion": problem.criterion.name,
            "metric": name if isinstance(problem.metric, str) else f"{CALLABLE}{name}",
            "alpha": problem.alpha,
            "tie_tolerance": problem.tie_tolerance,
            **precision,
            **problem.objects.options,
            **(problem.constraints.options if problem.constraints else {}),
        },
        engine=choice.engine.name if choice else "",
        reason=choice.reason if choice else "stopped before an engine was chosen",
        fingerprint=problem.objects.data_fingerprint() if fingerprint is None else fingerprint,
        problem=problem,
        lists=lists,
    )
