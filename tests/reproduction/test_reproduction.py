"""The paper's tables again: what is reproduced, what is said where not, and the report that shows it."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from importlib import resources
from itertools import product

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import pdist, squareform

import reliac
from reliac import datasets
from reliac.algorithm.criteria import CRITERIA
from reliac.reproduction import Report, Stopped, experiment, names, reproduce
from reliac.reproduction.report.page import to_html
from reliac.reproduction.report.parts import Figure, Section, Table
from reliac.reproduction.tables import protocols
from reliac.reproduction.tables.old_scipy import linkage_by_first_pair
from reliac.reproduction.tables.protocols import (
    CANNOT,
    DIFFERS,
    NOT_RUN,
    REPRODUCED,
    Bench,
    agreement,
    cells_without_data,
)
from reliac.reproduction.tables.published import DATASETS, PUBLISHED, Place, Scores, impossible
from reliac.reproduction.tables.readings import Objects
from reliac.reproduction.tables.sections import extended_section, limits_section

UCI = list(DATASETS)[:7]
PRINTED_CRITERIA = ("single", "complete", "average", "centroid", "ward")


@pytest.fixture(scope="module")
def cells(data_folder):
    """Every place of the seven small data sets, under both protocols."""
    benches = [Bench(title, datasets.load(DATASETS[title], data_folder, download=False)) for title in UCI]
    return [cell for bench in benches for cell in bench.cells()]


@pytest.fixture
def no_claims(monkeypatch):
    """Leave the other claims out; they have tests of their own."""
    monkeypatch.setattr(experiment, "claims", lambda loaded, progress: iter([CLAIM]))


FIGURE = Figure(
    "dots & dashes",
    "Dots",
    '<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "x" "http://www.w3.org/x.dtd">\n'
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">'
    '<defs><circle id="a" r="2"/></defs><use href="#a"/></svg>',
    'A "dot"',
)
CLAIM = Section(
    "A claim: a < b & c", "claim", ("Words with `code` & <tags>.",), (Table("t", "A | b", ("x",), (("1 < 2",),)),)
)


# --- the figures ---


def test_the_published_figures_are_those_of_the_paper(data_folder):
    tables = data_folder.parent / "paper" / "tables.csv"
    if not tables.is_file():
        pytest.skip("the paper's tables are not beside the data sets")
    with tables.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * len(PUBLISHED) == 390
    for row in rows:
        found = PUBLISHED[Place(row["dataset"], row["criterion"], row["strategy"])]
        assert getattr(found, row["measure"]) == float(row["published"])


def test_six_places_have_scores_that_no_two_partitions_can_have():
    assert [place for place, printed in PUBLISHED.items() if impossible(printed)] == [
        *(Place("COMP", "single", strategy) for strategy in ("standard", "reliable")),
        *(Place("SCI", criterion, s) for criterion in ("single", "centroid") for s in ("standard", "reliable")),
    ]


def test_ami_never_exceeds_v():
    from reliac.evaluate import scores

    generator = np.random.default_rng(0)
    for _ in range(200):
        n = int(generator.integers(2, 40))
        one, other = (generator.integers(0, int(generator.integers(1, 8)), n) for _ in range(2))
        found = scores(one, other)
        assert found["ami"] <= found["v"] + 1e-12


# --- the protocols ---


def counted(cells, protocol):
    return {
        strategy: Counter(c.verdict.word for c in cells if (c.protocol, c.place.strategy) == (protocol, strategy))
        for strategy in ("standard", "reliable")
    }


def test_as_published_all_standard_places_and_all_reliable_ones_but_one_are_reproduced(cells):
    assert counted(cells, "as published") == {"standard": {REPRODUCED: 35}, "reliable": {REPRODUCED: 34, DIFFERS: 1}}
    (other,) = (cell for cell in cells if cell.protocol == "as published" and cell.verdict.word == DIFFERS)
    assert other.place == ("Ecoli", "ward", "reliable")
    assert protocols.UNEXPLAINED in other.verdict.reason
    assert "should agree" in other.verdict.reason


def test_as_written_the_places_that_need_no_slip_are_reproduced(cells):
    assert counted(cells, "as written") == {
        "standard": {REPRODUCED: 16, DIFFERS: 19},
        "reliable": {REPRODUCED: 17, DIFFERS: 18},
    }


def test_the_reason_is_the_fewest_slips_that_lead_to_the_printed_figures(cells):
    reasons = {cell.place: cell.verdict.reason for cell in cells if cell.protocol == "as written"}
    assert reasons["Iris", "ward", "reliable"] == ""
    assert reasons["Seeds", "average", "reliable"] == protocols.SLIPS["criterion"]
    assert reasons["Wine", "centroid", "reliable"] == protocols.SLIPS["cut"]
    assert reasons["Perfume", "average", "standard"] == protocols.SLIPS["ties"]
    assert reasons["Hayes Roth", "single", "reliable"].startswith("only the 132 rows")


def test_the_cut_behind_the_printed_centroid_gives_two_clusters_of_wine(cells):
    found = {(cell.place, cell.protocol): cell.n_clusters for cell in cells}
    place = Place("Wine", "centroid", "standard")
    assert (found[place, "as published"], found[place, "as written"]) == (2, 3)


def test_the_sign_that_print_lost_is_noted(cells):
    lost = [cell.place for cell in cells if "sign" in str(cell.verdict)]
    assert {place[:2] for place in lost} == {("Lung Cancer", "single")}


@pytest.mark.parametrize(
    ("ours", "note"),
    [
        ((0.5, 0.3, 0.6), ""),
        ((0.50009, 0.3, 0.6), ""),
        ((0.5002, 0.3, 0.6), None),
        ((0.5, -0.3, 0.6), "with the sign lost in print"),
        ((0.5, -0.3, 0.7), None),
    ],
)
def test_scores_agree_to_four_digits_or_up_to_a_lost_sign(ours, note):
    assert agreement(Scores(*ours), Scores(0.5, 0.3, 0.6)) == note


def test_places_without_data_say_why():
    found = {
        cell.place: cell.verdict for cell in cells_without_data({"COMP": "no network", "Real I": "x"}) if not cell.ours
    }
    assert str(found["Real I", "ward", "reliable"]) == "cannot be reproduced, because the data are not public"
    assert found["COMP", "single", "standard"].word == CANNOT
    assert str(found["COMP", "ward", "standard"]) == "not run, because no network"
    assert len(found) == 20


def test_extended_runs_all_criteria_with_several_alphas():
    rows = list(Bench("Iris", datasets.load("iris")).extended())
    assert {(row.criterion, row.alpha) for row in rows} == set(product(CRITERIA, protocols.ALPHAS))
    ward = {row.alpha: row for row in rows if row.criterion == "ward"}
    assert ward[0.0].n_levels == 149 > ward[0.5].n_levels > ward[1.0].n_levels
    for row in rows:
        assert abs(row.clusters_at_level - 3) <= 1 or row.criterion == "single"


def test_without_ties_alpha_changes_only_criteria_that_are_not_reducible():
    bench = Bench("Seeds", datasets.load("iris"))  # any name will do: the rows are what counts
    X = np.random.default_rng(0).normal(size=(40, 2))
    bench.written = Objects(X, np.repeat([0, 1], 20))
    table = extended_section(list(bench.extended())).tables[0]
    changed = {row[0]: row[2] for row in table.rows}
    assert all(changed[name] == "none" for name, row in CRITERIA.items() if row.reducible)


# --- the standard strategy of the printed tables ---


@pytest.mark.parametrize("criterion", PRINTED_CRITERIA)
def test_without_ties_the_old_rule_gives_scipys_tree(criterion):
    X = np.random.default_rng(3).normal(size=(60, 3))
    geometric = criterion in ("centroid", "ward")
    expected = linkage(pdist(X, "euclidean" if geometric else "sqeuclidean"), criterion)
    found = linkage_by_first_pair(squareform(pdist(X, "sqeuclidean")), criterion)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("criterion", ["complete", "average"])
def test_with_ties_every_step_of_the_old_rule_joins_the_first_smallest_pair(criterion):
    D = squareform(pdist(np.random.default_rng(1).integers(0, 3, size=(25, 2)), "sqeuclidean"))
    reduce = np.max if criterion == "complete" else np.mean
    places = [[i] for i in range(25)]
    nodes = list(range(25))
    for step, (left, right, distance, _) in enumerate(linkage_by_first_pair(D, criterion)):
        pairs = [(i, j) for i in range(len(places)) for j in range(i + 1, len(places))]
        between = np.array([reduce(D[np.ix_(places[i], places[j])]) for i, j in pairs])
        i, j = pairs[int(np.flatnonzero(np.isclose(between, between.min()))[0])]
        assert {nodes[i], nodes[j]} == {left, right}
        assert distance == pytest.approx(between.min())
        places[j], nodes[j] = places[i] + places[j], 25 + step  # in the place of the later one
        del places[i], nodes[i]


def test_the_cut_of_the_printed_tables_is_scipys():
    for seed in range(10):
        X = np.random.default_rng(seed).integers(0, 5, size=(40, 2)).astype(float)
        for criterion in ("average", "centroid", "single"):
            Z = reliac.cluster(X, criterion).linkage_matrix(order="level")
            for K in (2, 5):
                found, expected = protocols._cut(Z, K, scipy=True), cut_tree(Z, K).ravel()
                pairs = set(zip(found.tolist(), expected.tolist(), strict=True))
                assert len(pairs) == len(set(found)) == len(set(expected))


# --- the report ---


class Page(HTMLParser):
    """Collects what a page refers to, its tables and whether its elements are closed."""

    VOID = frozenset({"meta", "br"})

    def __init__(self, text):
        super().__init__()
        self.references, self.tables, self.ids, self.open, self.text = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.references += [found[name] for name in ("src", "href", "xlink:href", "action", "data") if name in found]
        self.ids += [found["id"]] if "id" in found else []
        if tag == "table":
            self.tables.append(found["id"])
        if tag not in self.VOID:
            self.open.append(tag)
        assert tag not in ("script", "link", "iframe", "img")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def report(no_claims, tmp_path):
    return reproduce(["iris"], out=tmp_path / "report", download=False)


def test_the_page_needs_nothing_else_and_holds_every_table(report):
    text = report.to_html()
    page = Page(text)
    assert page.open == []
    assert all(reference.startswith("#") for reference in page.references)
    assert {reference[1:] for reference in page.references} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    tables = [table.name for section in report.sections for table in section.tables]
    assert page.tables == [f"table-{name}" for name in tables]
    assert len(tables) == len(set(tables))
    assert "url(" not in text
    assert "@import" not in text
    assert "Words with <code>code</code> &amp; &lt;tags&gt;." in text
    assert "prefers-color-scheme: dark" in text


def test_verdicts_have_a_colour_and_a_word(report):
    text = report.to_html()
    assert '<td class="good short">0.5821 / 0.5821<small>reproduced</small></td>' in text
    assert '<td class="good short">reproduced: 5 of 5</td>' in text


def test_pictures_have_words_and_names_of_their_own_and_no_prologue():
    section = Section("A", "a", (), (), (FIGURE, Figure("other", "Other", FIGURE.svg, "Words")))
    text = to_html("T", (), [section])
    page = Page(text)
    assert "DOCTYPE svg" not in text
    assert sorted(page.ids) == ["a", "dots-dashes-a", "other-a"]
    assert 'aria-label="A &#34;dot&#34;"' in text


def test_every_text_of_the_page_is_escaped():
    bad = "<b title='x\">&"
    cell = f"{bad}\n{bad}"
    tables = (Table(bad, bad, (bad, bad), ((bad, cell),)), Table(f"{bad}2", bad, (bad,), ((bad,),), folded=True))
    text = to_html(bad, [(bad, bad)], [Section(bad, bad, (bad,), tables, (Figure("f", bad, "<svg></svg>", bad),))])
    assert "<b " not in text
    page = Page(text)
    assert page.open == []
    assert page.text.count(bad) == 16
    assert page.tables == [f"table-{bad}", f"table-{bad}2"]


def test_without_jinja2_the_error_comes_before_the_experiments(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(
        ImportError, match=r"needs jinja2.*Allowed: .*Next: in your clone of reliac run pip install '.\[report\]'"
    ):
        reproduce(["iris"], out=tmp_path / "report", download=False)
    assert not (tmp_path / "report").exists()


def test_the_page_is_a_template_that_comes_with_the_package():
    for name in ("page.html", "page.css"):
        assert resources.files("reliac.reproduction.report").joinpath(name).is_file()


def test_the_files_are_the_page_the_markdown_and_one_csv_per_table(report, tmp_path):
    folder = tmp_path / "report"
    assert (folder / "report.html").read_text(encoding="utf-8") == report.to_html()
    markdown = (folder / "report.md").read_text(encoding="utf-8")
    for section in report.sections:
        assert f"## {section.title}" in markdown
        for table in section.tables:
            with (folder / "tables" / f"{table.name}.csv").open(encoding="utf-8", newline="") as file:
                rows = list(csv.reader(file))
            assert rows[0] == list(table.columns)
            assert len(rows) == 1 + len(table.rows)
    for word in ("reliac ", "numpy ", "scipy ", "scikit-learn ", " cores", "command"):
        assert word in markdown
    assert not list(folder.rglob("*.part"))


def test_pictures_are_files_beside_the_markdown(report, tmp_path):
    from dataclasses import replace

    with_picture = replace(report, sections=(Section("A", "a", (), (), (FIGURE,)),))
    with_picture.write(tmp_path / "other")
    assert (tmp_path / "other" / "figures" / "dots & dashes.svg").read_text() == FIGURE.svg
    assert '![A "dot"](figures/dots & dashes.svg)' in with_picture.to_markdown()


def test_the_limits_name_the_six_places():
    section = limits_section([], {})
    (table,) = section.tables
    assert len(table.rows) == 6
    assert all(row[-1] == CANNOT for row in table.rows)
    assert "Real III (ward)" in " ".join(section.paragraphs)


# --- reproduce() ---


def test_a_data_set_that_cannot_be_had_is_named_and_the_rest_goes_on(no_claims, own_places):
    told = []
    report = reproduce(["seeds", "iris"], folder=None, progress=told.append, download=False)
    assert report.counts["as published"] == {REPRODUCED: 10, DIFFERS: 0, CANNOT: 0, NOT_RUN: 10}
    assert list(report.missing) == ["Seeds"]
    assert {str(c.verdict) for c in report.cells if not c.ours} == {"not run, because its file is not at hand"}
    assert "seeds_dataset.txt" in report.missing["Seeds"]
    assert any(line.startswith("1 of 2, seeds: left out") and "not at hand" in line for line in told)
    assert isinstance(report, Report)
    assert str(report) == "as published: 10 reproduced, 10 not run; as written: 10 reproduced, 10 not run"


def test_data_sets_asked_for_of_which_none_can_be_had_are_an_error(no_claims, own_places, tmp_path):
    with pytest.raises(reliac.DatasetError, match=r"seeds_dataset\.txt"):
        reproduce(["seeds", "ecoli"], out=tmp_path, download=False)


def test_a_folder_that_the_environment_names_must_be_there(no_claims, monkeypatch, tmp_path):
    monkeypatch.setenv("RELIAC_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="RELIAC_DATA"):
        reproduce(["iris"])


def test_a_report_takes_the_place_of_an_earlier_one_whole(no_claims, tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "alpha-wine.csv").write_text("of an earlier report")
    reproduce(["iris"], out=tmp_path)
    assert not (tmp_path / "tables" / "alpha-wine.csv").exists()
    assert (tmp_path / "tables" / "alpha-iris.csv").exists()
    assert experiment.UNFINISHED not in (tmp_path / "report.md").read_text()


def test_claims_get_the_data_sets_that_were_loaded(monkeypatch):
    seen = {}
    monkeypatch.setattr(experiment, "claims", lambda loaded, progress: seen.update(loaded) or iter(()))
    reproduce(["iris"], download=False)
    assert list(seen) == ["iris"]


def test_ctrl_c_keeps_what_was_done(monkeypatch, no_claims, tmp_path):
    load = datasets.load

    def stop(name, *args, **options):
        if name == "wine":
            raise KeyboardInterrupt
        return load(name, *args, **options)

    monkeypatch.setattr(experiment.library, "load", stop)
    with pytest.raises(Stopped) as caught:
        reproduce(["iris", "wine"], out=tmp_path)
    report = caught.value.report
    assert report.stopped
    assert report.counts["as published"][REPRODUCED] == 10
    assert report.missing == {"Wine": "Ctrl-C came before it"}
    assert "Ctrl-C ended the run early" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_names_are_those_of_the_public_data_sets():
    assert len(names()) == 10
    assert set(names()) <= set(datasets.names())


# --- the command ---


def test_the_command_writes_the_report_and_tells_the_counts(run, no_claims, tmp_path, data_folder):
    out = tmp_path / "two sets"
    result = run("reproduce", "--datasets", "iris", "hayes-roth", "--out", out, "--folder", data_folder)
    assert result.out == "as published: 20 reproduced; as written: 10 reproduced, 10 differ\n"
    assert "reliac: 2 of 2, hayes-roth: 10 reproduced (" in result.err
    assert f"the report is in {out / 'report.html'}" in result.err
    assert f"--datasets iris hayes-roth --out '{out}'" in (out / "report.md").read_text(encoding="utf-8")


def test_an_unknown_data_set_is_told_in_three_parts(run, tmp_path):
    told = run("reproduce", "--datasets", "irsi", "--out", tmp_path / "x", status=2).err
    assert told.startswith("reliac: error: Unknown data set of the paper 'irsi'. Allowed: ecoli, hayes-roth, iris, ")
    assert "did you mean 'iris'" in told
    assert not (tmp_path / "x").exists()


def test_a_folder_of_data_sets_that_is_not_there_is_a_mistake(run, tmp_path):
    told = run("reproduce", "--folder", tmp_path / "nowhere", "--out", tmp_path / "x", status=2).err
    assert f"There is no folder '{tmp_path / 'nowhere'}' of data sets. Allowed: " in told
    assert not (tmp_path / "x").exists()


def test_a_folder_that_cannot_be_made_is_told_before_any_work(run, tmp_path):
    (tmp_path / "file").write_text("x")
    told = run("reproduce", "--datasets", "iris", "--out", tmp_path / "file", status=2).err
    assert "cannot be made" in told
    assert "choose another --out" in told
    assert "1 of 1" not in told


def test_ctrl_c_in_the_shell_says_where_the_report_is(run, no_claims, monkeypatch, tmp_path):
    load = experiment.library.load

    def stop(name, *args, **options):
        if name == "wine":
            raise KeyboardInterrupt
        return load(name, *args, **options)

    monkeypatch.setattr(experiment.library, "load", stop)
    told = run("reproduce", "--datasets", "iris", "wine", "--out", tmp_path, status=130).err
    assert f"stopped by Ctrl-C; what was done is in {tmp_path / 'report.html'}" in told
    report = (tmp_path / "report.html").read_text()
    told = run("reproduce", "--datasets", "wine", "--out", tmp_path, status=130).err
    assert "stopped by Ctrl-C; nothing was done yet" in told
    assert (tmp_path / "report.html").read_text() == report  # of the run before: worth more than nothing


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_real_interrupt_writes_the_report(tmp_path, data_folder):
    command = ["reproduce", "--datasets", "iris", "perfume", "ecoli", "--folder", str(data_folder), "--out", "report"]
    process = subprocess.Popen(
        [sys.executable, "-m", "reliac", *command],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    with process:
        told = process.stderr.readline()
        assert "1 of 3, iris" in told
        process.send_signal(signal.SIGINT)
        told += process.stderr.read()
    assert process.returncode == 130, told
    assert "what was done is in" in told
    assert "Traceback" not in told
    assert (tmp_path / "report" / "report.html").exists()
