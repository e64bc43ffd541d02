"""The tables' part of the report: cells and rows become sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..report.parts import Section, Table
from .protocols import CANNOT, DIFFERS, PROTOCOLS, REPRODUCED, SLIPS, TOLERANCE, UNEXPLAINED, WORDS, Cell, ExtendedRow
from .published import CRITERIA, DATASETS, PUBLISHED, STRATEGIES, Place, impossible
from .readings import DATA_SLIPS, READINGS

MEASURES = {"ami": "AMI", "ari": "ARI", "v": "V-measure"}
_TITLES = {name: title for title, name in DATASETS.items() if name}


def counts(cells: Iterable[Cell], protocol: str) -> dict[str, int]:
    """Count the verdicts of a protocol."""
    found = Counter(cell.verdict.word for cell in cells if cell.protocol == protocol)
    return {word: found[word] for word in WORDS}


def in_words(found: Mapping[str, int]) -> str:
    """Write counts of verdicts as a text."""
    plural = {DIFFERS: "differ"}
    told = [f"{number} {word if number == 1 else plural.get(word, word)}" for word, number in found.items() if number]
    return ", ".join(told) or "nothing was run"


def overview(cells: Sequence[Cell]) -> Section:
    """Count what was reproduced, per strategy and data set."""
    paragraphs = [
        "A place is one data set, one criterion and one strategy: three printed figures (AMI, ARI, V-measure). It is "
        "reproduced if all three agree to four digits. The tables have 130 places."
    ]
    for protocol in PROTOCOLS:
        found = counts(cells, protocol)
        paragraphs.append(f"{protocol[0].upper()}{protocol[1:]}: {in_words(found)}.")
    titles = [title for title in DATASETS if any(cell.place.dataset == title for cell in cells)]
    pairs = [(protocol, strategy) for protocol in PROTOCOLS for strategy in STRATEGIES]
    rows = [
        (title or "all", *(_tally(cells, protocol, title, strategy) for protocol, strategy in pairs))
        for title in (*titles, None)
    ]
    columns = ("data set", *(f"{strategy}, {protocol}" for protocol, strategy in pairs))
    table = Table("counts", "Places by verdict", columns, tuple(rows))
    return Section("What came out", "overview", tuple(paragraphs), (table,))


def published_section(cells: Sequence[Cell]) -> Section:
    """Show the tables as the printed figures were made, slips included."""
    chosen = _of(cells, "as published")
    return Section(
        "The tables as published",
        "as-published",
        (
            "The settings that lead to the printed figures, slips included. Each cell has our figure, the printed one, "
            "and the verdict of its place, that is of all three measures together.",
            f"For all data sets: {SLIPS['cut']}; in the standard columns, {SLIPS['ties']}. In the reliable column "
            f"called average {SLIPS['criterion']}, except for Iris; on Hayes Roth and Perfume both give the same "
            "figures.",
        ),
        (_slips_table(), *_measure_tables("published", chosen), _places_table("places-as-published", chosen)),
    )


def written_section(cells: Sequence[Cell]) -> Section:
    """Show the tables as the paper's words describe them."""
    chosen = _of(cells, "as written")
    return Section(
        "The tables as written",
        "as-written",
        (
            "The paper's words taken as they stand: true average linkage, the right classes, all rows, exactly K "
            "clusters, exact ties.",
            "Where a figure differs, the reason is the fewest slips that lead from these settings to the printed "
            f"figures, found by trying them; “{UNEXPLAINED}” where there are none.",
        ),
        (_reasons_table(chosen), *_measure_tables("written", chosen), _places_table("places-as-written", chosen)),
    )


def extended_section(rows: Sequence[ExtendedRow]) -> Section:
    """Show more criteria, shares of the reliable links, and early-stopped clusterings."""
    tables = [_alpha_table(rows)]
    for title in dict.fromkeys(row.dataset for row in rows):
        alphas = sorted({row.alpha for row in rows if row.dataset == title})
        lines = []
        for criterion in dict.fromkeys(row.criterion for row in rows):
            found = {row.alpha: row for row in rows if (row.dataset, row.criterion) == (title, criterion)}
            figures = (_shown(found[alpha].by_distance.ami) for alpha in alphas)
            levels = f"{found[0.0].n_levels} to {found[1.0].n_levels}"
            lines.append((criterion, *figures, levels))
        columns = ("criterion", *(f"alpha {alpha:g}" for alpha in alphas), "levels, alpha 0 to 1")
        name = DATASETS[title] or title
        tables.append(Table(f"alpha-{name}", f"{title}: AMI of K clusters", columns, tuple(lines), folded=True))
    columns = ("data set", "criterion", "alpha", "levels", "K", *_named("by distance"), *_named("by level"))
    columns = (*columns, "level nearest to K", "clusters there", *_named("at that level"))
    everything = tuple(
        (
            *(row.dataset, row.criterion, f"{row.alpha:g}", str(row.n_levels), str(row.n_clusters)),
            *map(_shown, row.by_distance),
            *map(_shown, row.by_level),
            *(str(row.level), str(row.clusters_at_level)),
            *map(_shown, row.at_level),
        )
        for row in rows
    )
    tables.append(Table("extended", "Every tree, cut in three ways", columns, everything, folded=True))
    return Section(
        "Beyond the tables",
        "extended",
        (
            "All seven criteria on the data as written, with alpha from 0 (one link a step, the standard strategy) to "
            "1 (all reliable links). Without ties, five of the criteria give one tree for every alpha, and only the "
            "number of levels falls; centroid, median and data with ties can differ.",
            "The last table also has early stopping: K clusters by level (the run stopped at K), and the level whose "
            "number of clusters is nearest to K.",
        ),
        tuple(tables),
    )


def limits_section(cells: Sequence[Cell], missing: dict[str, str]) -> Section:
    """Tell what nobody can reproduce, and what was not at hand."""
    rows = [
        (*place, *(f"{figure:.4f}" for figure in printed), CANNOT)
        for place, printed in PUBLISHED.items()
        if impossible(printed)
    ]
    columns = ("data set", "criterion", "strategy", "AMI", "ARI", "V", "verdict")
    tables = [Table("impossible", "Places whose AMI exceeds V", columns, tuple(rows))]
    told = [
        "With I the mutual information, E what chance gives of it, M the larger of the two entropies and H their mean, "
        "AMI = (I - E) / (M - E) is at most I / M, and that is at most V = I / H. In six places AMI is printed larger: "
        "their figures must come from different runs, and no program can give them.",
        "Real I, II and III (scanned documents of a company) are not public.",
        "COMP, REC and SCI are the test part of 20 Newsgroups, by date: the numbers of documents fit exactly. How the "
        "tf-idf vectors were made is not said. Of some 5000 settings that were tried none gives the figures of one "
        "place; the tables show those that come nearest on average, which is no evidence that they are the right ones.",
        "Single, complete and Ward are reducible: without ties both strategies build one tree. The printed columns "
        f"differ nevertheless in {_suspects()}, so one of the two is doubtful there.",
    ]
    for cell in _of(cells, PROTOCOLS[0]):
        if cell.needs.startswith(UNEXPLAINED):
            told.append(f"{', '.join(cell.place)}: {cell.needs}.")
    if missing:
        lines = tuple((title, reason) for title, reason in missing.items())
        tables.append(Table("not-run", "Data sets that were not run", ("data set", "reason"), lines))
    return Section("What cannot be reproduced", "limits", tuple(told), tuple(tables))


def _suspects() -> str:
    """Name the places of data without many ties where one tree has two printed scores."""
    found = [
        f"{title} ({criterion})"
        for title in DATASETS
        for criterion in ("single", "complete", "ward")
        if title not in ("Hayes Roth", "Lung Cancer")
        and len({PUBLISHED[Place(title, criterion, strategy)] for strategy in STRATEGIES}) > 1
    ]
    return ", ".join(found)


# --- tables ---


def _of(cells: Iterable[Cell], protocol: str) -> list[Cell]:
    return [cell for cell in cells if cell.protocol == protocol]


def _tally(cells: Iterable[Cell], protocol: str, title: str | None, strategy: str) -> str:
    chosen = [c for c in _of(cells, protocol) if c.place.strategy == strategy and title in (None, c.place.dataset)]
    found = counts(chosen, protocol)
    told = [f"{word}: {number}" for word, number in found.items() if number]
    return "\n".join(told) if len(told) > 1 or not told else f"{told[0]} of {len(chosen)}"


def _measure_tables(prefix: str, cells: Sequence[Cell]) -> Iterable[Table]:
    """Lay the figures out as in print, one table per measure."""
    by_place = {cell.place: cell for cell in cells}
    titles = dict.fromkeys(cell.place.dataset for cell in cells)
    pairs = [(criterion, strategy) for criterion in CRITERIA for strategy in STRATEGIES]
    for measure, name in MEASURES.items():
        rows = [
            (title, *(_figure(by_place[Place(title, *pair)], measure) for pair in pairs))
            for title in DATASETS
            if title in titles
        ]
        columns = ("data set", *(f"{criterion}, {strategy}" for criterion, strategy in pairs))
        yield Table(f"{measure}-as-{prefix}", f"{name}: ours / printed", columns, tuple(rows))


def _figure(cell: Cell, measure: str) -> str:
    ours = "–" if cell.ours is None else _shown(getattr(cell.ours, measure))
    note = ", sign lost" if cell.verdict.word == REPRODUCED and cell.verdict.reason else ""
    return f"{ours} / {getattr(cell.printed, measure):.4f}\n{cell.verdict.word}{note}"


def _places_table(name: str, cells: Sequence[Cell]) -> Table:
    """List every place with its figures, the number of clusters, the verdict and what the printed figures need."""
    columns = ("data set", "criterion", "strategy", *_named("ours"), *_named("printed"), "clusters", "verdict", "needs")
    rows = tuple(
        (
            *cell.place,
            *(("", "", "") if cell.ours is None else map(_shown, cell.ours)),
            *(f"{figure:.4f}" for figure in cell.printed),
            "" if cell.n_clusters is None else str(cell.n_clusters),
            str(cell.verdict),
            cell.needs,
        )
        for cell in cells
    )
    return Table(name, "Every place, with its verdict and reason", columns, rows, folded=True)


def _reasons_table(cells: Iterable[Cell]) -> Table:
    """Gather the places that differ by what their printed figures need."""
    places: dict[str, list[Place]] = {}
    for cell in cells:
        if cell.verdict.word == DIFFERS:
            places.setdefault(cell.verdict.reason, []).append(cell.place)
    rows = tuple(
        (str(len(found)), reason, ", ".join(f"{p.dataset} {p.criterion} {p.strategy}" for p in found))
        for reason, found in sorted(places.items(), key=lambda item: -len(item[1]))
    )
    return Table("reasons", "What the printed figures need where ours differ", ("places", "reason", "which"), rows)


def _alpha_table(rows: Sequence[ExtendedRow]) -> Table:
    """Tell for every criterion on which data sets alpha changes the scores of K clusters, and from what to what."""
    titles = list(dict.fromkeys(row.dataset for row in rows))
    lines = []
    for criterion in dict.fromkeys(row.criterion for row in rows):
        changed = []
        for title in titles:
            found = [row.by_distance for row in rows if (row.dataset, row.criterion) == (title, criterion)]
            if any(abs(a - b) > TOLERANCE for scores in found for a, b in zip(scores, found[0], strict=True)):
                low, high = (_shown(end(scores.ami for scores in found)) for end in (min, max))
                changed.append(f"{title} ({low} to {high})")
        lines.append((criterion, f"{len(changed)} of {len(titles)}", ", ".join(changed) or "none"))
    columns = ("criterion", "data sets", "which (lowest to highest AMI over all alphas)")
    return Table("alpha", "Where alpha changes the scores of K clusters", columns, tuple(lines))


def _slips_table() -> Table:
    rows = []
    for name, title in _TITLES.items():
        rows += [(title, "slip", words) for words in DATA_SLIPS.get(name, ())]
        rows += [(title, "reading", READINGS[name])] if name in READINGS else []
    caption = "Slips in the data that the figures need, and how the text is read where it leaves a choice"
    return Table("slips", caption, ("data set", "kind", "what"), tuple(rows))


def _named(what: str) -> tuple[str, ...]:
    return tuple(f"{measure} {what}" for measure in ("AMI", "ARI", "V"))


def _shown(figure: float) -> str:
    return f"{round(figure, 4) + 0.0:.4f}"  # no -0.0000
