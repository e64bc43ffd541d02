"""Which number of clusters the scores of a tree speak for, in words, and how far they disagree."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import explain
from ..input.options import check_count
from ..tree.clustertree import ClusterTree
from .scores import ScoreTable, measured, score_table
from .stability import stability_table

#: The scores that speak for a number of clusters: what they are called, and whether large or small values are good.
#: How many levels clusters live is no good adviser (few are right on mixtures of known clusters), and is only shown.
VOTERS = {
    "silhouette": ("silhouette", 1.0),
    "calinski_harabasz": ("Calinski-Harabasz", 1.0),
    "davies_bouldin": ("Davies-Bouldin", -1.0),
    "relative_gap": ("distance gap", 1.0),
    "stability": ("stability", 1.0),
}

#: Below this mean silhouette clusters hardly stand apart.
WEAK = 0.25


@dataclass(frozen=True, repr=False)
class Suggestion:
    """A number of clusters, why, and what speaks for another one.

    Attributes
    ----------
    n_clusters : the number that most scores speak for
    reason : why, in words
    doubts : what speaks against it, in words; empty if nothing does
    runner_up : the next best number, or None if only one was scored
    votes : for every score the number of clusters that it is best at
    table : the scores of all numbers
    """

    n_clusters: int
    reason: str
    doubts: str
    runner_up: int | None
    votes: dict[str, int]
    table: ScoreTable = field(compare=False)

    @property
    def scores(self) -> Any:
        """The scores of all numbers of clusters as a pandas DataFrame."""
        return self.table.frame()

    def __repr__(self) -> str:
        """Return a few lines: the number and the next best, why, doubts, and every score at both and at its best."""
        second = f" (next best: {self.runner_up})" if self.runner_up is not None else ""
        shown = [count for count in (self.n_clusters, self.runner_up) if count is not None]
        lines = [
            f"{self.n_clusters} clusters{second}",
            f"  {self.reason}",
            *([f"  {self.doubts}"] if self.doubts else []),
        ]
        lines.append(f"  {'score':20}{'best at':>8}" + "".join(f"{f'at {count}':>12}" for count in shown))
        good = goodness(self.table)
        for name, best in self.votes.items():
            sign = VOTERS[name][1]
            cells = "".join(f"{sign * good[name][self.table.counts.index(count)]:12.5g}" for count in shown)
            lines.append(f"  {VOTERS[name][0]:20}{best:8}{cells}")
        return "\n".join(lines)


def goodness(table: ScoreTable) -> dict[str, Any]:
    """Return the scores that speak for a number of clusters, larger for better; those without any value are left out.

    A distance gap counts as a share of the distance of the next join: a gap of 1 below a join at 2 says more than one
    below a join at 100. Before the first join the gap is all of it, whatever the data are, and says nothing.
    """
    columns = {name: np.array(column) for name, column in table.columns.items()}
    with np.errstate(invalid="ignore", divide="ignore"):
        columns["relative_gap"] = np.where(columns["distance"] > 0, columns["gap"] / columns["distance"], 0.0)
    columns["relative_gap"][np.isnan(columns["gap"]) | (np.array(table.counts) == table.n_objects)] = np.nan
    if "silhouette" not in columns and "simplified_silhouette" in columns:
        columns["silhouette"] = columns["simplified_silhouette"]
    found = {name: sign * columns[name] for name, (_, sign) in VOTERS.items() if name in columns}
    return {name: values for name, values in found.items() if not np.isnan(values).all()}


def suggestion_for(
    tree: ClusterTree, X: Any, n_clusters: Any, *, metric: Any = None, repeats: Any = 0, **options: Any
) -> Suggestion:
    """Score the cuts of a tree and suggest one; see :meth:`reliac.ClusterTree.suggest`."""
    table = score_table(tree, measured(tree, X, metric), n_clusters, **options)
    if check_count("repeats", repeats, 0, np.inf, "give 0 to leave stability out"):
        how = {name: options[name] for name in ("seed", "by") if name in options}
        table = with_stability(table, stability_table(tree, (X, metric), table.counts, repeats=repeats, **how))
    found = suggestion(table)
    if found is None:
        given = "No score is defined for these numbers of clusters, or all of them have the same"
        raise ValueError(explain(given, "numbers between 1 and the number of objects", "score other numbers"))
    return found


def with_stability(table: ScoreTable, stability: ScoreTable) -> ScoreTable:
    """Return scores with the stability of the same cuts beside them."""
    columns = table.columns | {"stability": stability.columns["stability"]}
    return replace(table, columns=columns, notes=table.notes | stability.notes)


def suggestion(table: ScoreTable) -> Suggestion | None:
    """Return the number that most scores are best at; of equal ones the best place on average; None without scores.

    Where no two scores agree, the best place on average of all numbers decides. A score that is the same for all
    numbers has no say.
    """
    good = {name: values for name, values in goodness(table).items() if _tells_apart(values)}
    if not good:
        return None
    counts = table.counts
    ranks = np.mean([_places(values) for values in good.values()], axis=0)
    votes = {name: _best_at(values, ranks, counts) for name, values in good.items()}
    heard = {count: list(votes.values()).count(count) for count in counts}

    def best_of(some: list[int]) -> int:
        most = max(heard[count] for count in some)
        alike = some if most == 1 and len(good) > 1 else [count for count in some if heard[count] == most]
        return min(alike, key=lambda count: (ranks[counts.index(count)], count))

    best = best_of(counts)
    others = [count for count in counts if count != best]
    second = best_of(others) if others else None
    return Suggestion(best, _reason(best, votes, counts), _doubts(best, votes, table), second, votes, table)


def _tells_apart(values: Any) -> bool:
    """Tell whether a score is not the same for all numbers that it is defined for; for one number it may be."""
    defined = values[~np.isnan(values)]
    return len(defined) == 1 or bool((defined != defined[0]).any())


def _places(values: Any) -> Any:
    """Return the place of every value, 0 the largest; equal ones share a place, and what is not defined is last."""
    filled = np.where(np.isnan(values), -np.inf, values)
    return np.array([(filled > value).sum() for value in filled], dtype=float)


def _best_at(values: Any, ranks: Any, counts: list[int]) -> int:
    """Return the number that a score is best at; of equal ones the one with the best place on average."""
    equal = np.flatnonzero(values == np.nanmax(values))
    return counts[int(equal[np.argmin(ranks[equal])])]


def _reason(best: int, votes: dict[str, int], counts: list[int]) -> str:
    if len(counts) == 1:
        return "No other number of clusters was scored."
    names = [VOTERS[name][0] for name, count in votes.items() if count == best]
    among = f"of {len(counts)} cuts into {min(counts)} to {max(counts)} clusters"
    if not names:
        return f"No score is best at {best}, but it has the best place on average, {among}."
    verb = "is" if len(names) == 1 else "are"
    if len(votes) == 1:
        return f"The {names[0]} is best at {best}, {among}; no other score was computed."
    if len(names) == len(votes):
        many = "Both" if len(votes) == 2 else f"All {len(votes)}"
        return f"{many} scores ({_listed(names)}) are best at {best}, {among}."
    if len(names) == 1:
        return f"{_listed(names)} is best at {best}, which has the best place on average, {among}."
    return f"{_listed(names)} {verb} best at {best}, {among}."


def _doubts(best: int, votes: dict[str, int], table: ScoreTable) -> str:
    """Say which scores speak for other numbers, that the range may be too short, and that clusters overlap."""
    told = []
    speakers = {at: [VOTERS[name][0] for name, count in votes.items() if count == at] for at in sorted(votes.values())}
    said = {count: f"{_listed(names)} for {count}" for count, names in speakers.items()}
    if len(said) == len(votes) > 1:
        told.append(f"No two scores agree ({_listed(list(said.values()))}): take no number for granted.")
    elif len(said) > 1 or best not in said:
        told.append(f"The scores disagree: {_listed([words for count, words in said.items() if count != best])}.")
    if best == max(table.counts) > min(table.counts) and best != table.n_objects - 1:
        told.append("It is the largest number that was scored: score more.")
    silhouettes = table.columns.get("silhouette") or table.columns.get("simplified_silhouette")
    if silhouettes and silhouettes[table.counts.index(best)] < WEAK:
        value = silhouettes[table.counts.index(best)]
        told.append(f"A silhouette of {value:.2f} means clusters that overlap: there may be no natural number of them.")
    return " ".join(told)


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
