"""The paper's other claims: each experiment on small data, its key numbers, and sections that can be shown."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest

import reliac
from reliac import datasets
from reliac.reproduction import claims
from reliac.reproduction.claims import densities, guarantees, outliers, speed, stopping, ties
from reliac.reproduction.report import pictures
from reliac.reproduction.report.pictures import inline


@pytest.fixture(scope="module")
def iris():
    return datasets.load("iris")


@pytest.fixture(scope="module")
def real(data_folder):
    names = ("ecoli", "hayes-roth", "lung-cancer")
    return {name: datasets.load(name, data_folder, download=False) for name in names}


@pytest.fixture
def small(monkeypatch):
    """All experiments, but smaller."""
    monkeypatch.setattr(guarantees, "SIZES", (4, 6))
    sizes = {densities: {"draws": 2}, guarantees: {"count": 5}, outliers: {"seeds": 1}, speed: {"most": 60}}
    for module, options in {**sizes, ties: {"orders": 3}, stopping: {"criteria": ("single", "ward")}}.items():
        monkeypatch.setattr(module, "section", partial(module.section, **options))


# --- figure 1 ---


def test_joining_nearest_makes_pairs_of_everything():
    labels = densities.join_nearest(np.array([[0.0], [1.0], [1.9], [10.0], [11.0], [30.0]]))
    assert [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)] == [{0, 1, 2}, {3, 4, 5}]


@pytest.mark.parametrize("seed", range(5))
def test_only_joining_nearest_takes_the_outlier_and_only_the_standard_strategy_neglects_the_sparse(seed):
    X, kinds = densities.two_densities(seed)
    built = densities.partitions(X)
    assert len({int(labels.max()) for labels in built.values()}) == 1  # as many merges each
    standard, nearest, reliable = (densities.outcome(built[name], kinds) for name in densities.STRATEGIES)
    assert (standard.outlier, nearest.outlier, reliable.outlier) == (0.0, 1.0, 0.0)
    assert standard.sparse < 0.6 < 0.75 <= reliable.sparse
    assert standard.dense > reliable.dense


def test_an_outcome_counts_pure_clusters_and_joined_objects():
    found = densities.outcome(np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 2]))
    assert found == (2.0, 0.5, 0.8, 1.0, 1.0, 0.0)


# --- early stopping ---


def test_a_merge_is_correct_if_both_sides_can_have_the_same_most_frequent_class():
    tree = reliac.cluster([[0.0], [1.0], [3.0], [7.0]], "single")
    assert stopping.correct_merges(tree, np.array([0, 0, 1, 0])).tolist() == [True, False, True]
    assert stopping.correct_merges(tree, np.array([0, 1, 1, 0])).tolist() == [False, True, False]


def test_measures_agree_with_scikit_learn(iris):
    from sklearn.metrics import adjusted_rand_score

    classes = np.unique(iris.y, return_inverse=True)[1]
    tree = reliac.cluster(iris.X, "average")
    curve = stopping.curves(tree, classes)
    for column, percent in enumerate(stopping.STEPS):
        labels = tree.labels(150 - round(percent / 100 * 149), by="level")
        assert curve[-1, column] == pytest.approx(adjusted_rand_score(classes, labels))


def test_the_reliable_strategy_starts_the_slowest_class_earlier():
    X, classes = stopping.mixture()
    slowest = list(stopping.MEASURES).index("slowest")
    for criterion in stopping.CRITERIA:
        standard, reliable = (
            stopping.curves(reliac.cluster(X, criterion, alpha=alpha), classes)[slowest].mean() for alpha in (0.0, 1.0)
        )
        assert reliable > standard + 0.1


def test_curves_stop_where_early_stopping_does(iris):
    """Cutting a whole tree by level is what a run that stops there gives."""
    for alpha in (0.0, 1.0):
        whole = reliac.cluster(iris.X, "complete", alpha=alpha)
        stopped = reliac.cluster(iris.X, "complete", alpha=alpha, n_clusters=75)
        assert whole.labels(75, by="level").tolist() == stopped.labels().tolist()


# --- proposition 1 and theorem 1 ---


@pytest.mark.parametrize("kind", guarantees.KINDS)
@pytest.mark.parametrize("n", [2, 5, 9])
def test_there_are_no_counterexamples(kind, n):
    counts = guarantees.check(kind, n, 24)
    assert (counts.inputs, counts.trees) == (24, 24)
    assert counts.steps >= 24
    assert (counts.unreliable, counts.not_spanning, counts.not_minimal) == (0, 0, 0)


def test_a_tree_that_misses_the_smallest_link_is_found_out():
    given = next(guarantees.inputs("points of a plane", 6, 1))
    other = guarantees.Input(given.X, given.D.max() + 1 - given.D)
    np.fill_diagonal(other.D, 0.0)
    assert guarantees.unreliable_steps(given, reliac.cluster(other.D, "single", metric="precomputed"), "single")


def test_a_spanning_tree_that_is_not_minimal_is_found_out():
    given = next(guarantees.inputs("any distances", 6, 1))
    wrong = guarantees.Input(None, given.D.max() + 1 - given.D)
    np.fill_diagonal(wrong.D, 0.0)
    counts = guarantees.Counts()
    guarantees.check_spanning(given, wrong.tree("single"), counts)
    assert counts.not_spanning + counts.not_minimal > 0


def test_links_come_in_another_order_than_kruskals():
    counts = guarantees.check("points of a plane", 16, 20)
    assert counts.reordered > 10
    assert counts.other_half <= counts.reordered


def test_cluster_distances_are_those_of_the_criteria():
    given = guarantees.Input(np.array([[0.0], [2.0], [6.0]]), np.array([[0.0, 4, 36], [4, 0, 16], [36, 16, 0]]))
    labels = np.array([0, 0, 1])
    found = {c: guarantees.cluster_distances(given, labels, c)[0, 1] for c in ("single", "complete", "average")}
    assert found == {"single": 16.0, "complete": 36.0, "average": 26.0}
    assert guarantees.cluster_distances(given, labels, "centroid")[0, 1] == 25.0
    assert guarantees.cluster_distances(given, labels, "ward")[0, 1] == pytest.approx(25 * 2 / 3)


# --- outlier scores ---


def test_a_lone_outlier_joins_last_and_pairs_of_outliers_join_first():
    lone = outliers.aucs(*outliers.planted(outliers.LONE, 0)[1:], 0)
    assert lone["level, single"] > 0.99
    pairs = outliers.aucs(*outliers.planted(outliers.PAIRS, 0)[1:], 0)
    assert max(pairs["level, single"], pairs["distance, single"]) < 0.5
    assert min(pairs["level of 10, single"], pairs["distance of 10, single"]) > 0.5
    assert all(0.5 < pairs[method] <= 1.0 for method in ("LOF", "isolation forest"))


def test_the_table_decides_the_score_that_the_detector_and_the_command_take(iris):
    section = outliers.section({"iris": iris}, seeds=3)
    means = dict(zip(section.tables[0].columns[2:], section.tables[0].rows[-1][2:], strict=True))
    ours = {name: float(mean) for name, mean in means.items() if name not in outliers.OTHERS}
    assert max(ours, key=ours.get) == outliers.DEFAULT == "distance of 10, single"
    detector = reliac.ReliableOutlierDetector()
    assert f"{detector.by}, {detector.linkage}" == outliers.DEFAULT
    assert any("decides what the outlier detector and the command take" in text for text in section.paragraphs)
    sizes = {row[0]: row[1:] for row in section.tables[1].rows}
    assert sizes["2"] == tuple(means[name] for name in section.tables[1].columns[1:])


def test_every_class_becomes_rare_in_turn(iris):
    made = list(outliers.rare_classes(iris, 0))
    assert [(len(X), int(outlier.sum())) for _, X, outlier in made] == [(100 + outliers.KEPT, outliers.KEPT)] * 3


def test_the_small_classes_of_ecoli_are_hidden_from_the_first_join(real):
    ecoli = [case for case in outliers.cases(real, 1) if case[0].startswith("ecoli")]
    assert [int(outlier.sum()) for _, _, outlier in ecoli] == [9]
    found = outliers.aucs(*ecoli[0][1:], 0)
    assert found["level, single"] == pytest.approx(0.508, abs=0.01)
    assert found["level of 10, single"] == pytest.approx(0.899, abs=0.01)
    assert found["distance of 10, single"] == pytest.approx(0.906, abs=0.01)


# --- run time ---


def test_both_strategies_are_timed():
    name, D = speed.distances({}, 80)
    assert name.startswith("a mixture")
    times = speed.measure(D, "ward", 1)
    assert min(times.seconds) > 0.0
    assert times.levels[0] == 79 > times.levels[1]


def test_the_paper_s_seconds_stand_beside_ours():
    rows = {row[0]: row for row in speed.section({}, 60).tables[0].rows}
    assert rows["single"][-1] == "0.9135 / 0.9208"
    assert rows["average"][-1] == "0.5338 / 0.5326"
    assert rows["ward"][-1] == ""


def test_documents_come_before_letters_and_letters_before_a_mixture(data_folder):
    news, letter = (datasets.load(name, data_folder, download=False) for name in ("news-comp", "letter"))
    assert speed.distances({"letter": letter}, 50)[0] == "letter (the first 50 rows)"
    name, D = speed.distances({"letter": letter, "news-comp": news}, 50)
    rows = news.X[:50].toarray()
    assert name == "news-comp (50 documents)"
    assert pytest.approx(((rows[:, None] - rows[None]) ** 2).sum(axis=-1), abs=1e-12) == D


# --- ties ---


def test_equal_partitions_are_equal_bytes_whatever_the_order_and_the_names():
    order = np.array([2, 0, 1, 3])
    assert ties.canonical(np.array([7, 7, 5, 5]), np.arange(4)) == ties.canonical(np.array([1, 9, 9, 1]), order)
    assert ties.canonical(np.array([0, 0, 1, 1]), np.arange(4)) != ties.canonical(np.array([0, 1, 0, 1]), np.arange(4))


def test_the_first_joins_of_a_linkage_matrix_are_those_of_cut_tree(iris):
    from scipy.cluster.hierarchy import cut_tree, linkage

    Z = linkage(iris.X, "average")
    for count in (1, 3, 40, 150):
        expected = cut_tree(Z, count).ravel()
        assert ties.canonical(ties.first_joins(Z, count), np.arange(150)) == ties.canonical(expected, np.arange(150))


@pytest.mark.parametrize("criterion", ties.CRITERIA)
def test_the_levels_of_a_lattice_do_not_depend_on_the_order_of_the_rows(criterion):
    found = ties.spread(ties.lattice(), criterion, 4, 12)
    assert found.at_level["reliac"] == 1
    assert 4 <= found.clusters < 100
    assert found.at_level["SciPy"] > 1


@pytest.mark.parametrize("name", ties.WANTED)
@pytest.mark.parametrize("criterion", ties.CRITERIA)
def test_the_levels_of_real_data_do_not_depend_on_the_order_of_the_rows(real, name, criterion):
    X = ties.features(real[name])
    assert ties.spread(X, criterion, len(real[name].class_counts), 5).at_level["reliac"] == 1


# --- sections ---


@pytest.mark.usefixtures("small")
def test_without_any_data_set_the_made_up_data_remain():
    told: list[str] = []
    found = list(claims.all_sections({}, told.append))
    assert len(found) == 6
    assert len(told) >= 6
    text = " ".join(paragraph for section in found for paragraph in section.paragraphs)
    assert text.count("Left out, because the data are not at hand") == 3
    assert pictures.MISSING not in text


@pytest.mark.usefixtures("small")
def test_sections_have_anchors_tables_and_figures_of_their_own(real, iris):
    found = list(claims.all_sections({**real, "iris": iris}, lambda text: None))
    for names in (
        [section.anchor for section in found],
        [table.name for section in found for table in section.tables],
        [figure.name for section in found for figure in section.figures],
    ):
        assert len(set(names)) == len(names) >= 6
    for section in found:
        assert len(section.paragraphs) >= 4
        for table in section.tables:
            assert table.rows
            assert all(len(row) == len(table.columns) for row in table.rows)
            assert all(isinstance(cell, str) for row in table.rows for cell in row)
    ids: list[str] = []
    for figure in (figure for section in found for figure in section.figures):
        root = ElementTree.fromstring(inline(figure))
        own = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
        links = [value for element in root.iter() for key, value in element.attrib.items() if key.endswith("href")]
        assert {link[1:] for link in links} <= set(own)
        assert figure.caption
        assert figure.alternative
        ids += own
    assert len(set(ids)) == len(ids)


def test_a_section_is_the_same_every_time():
    first, second = (densities.section(2) for _ in range(2))
    assert first == second


def test_pictures_leave_no_trace_in_matplotlib():
    matplotlib = pytest.importorskip("matplotlib")
    before = dict(matplotlib.rcParams)
    densities.section(1)
    assert dict(matplotlib.rcParams) == before
    code = (
        "import sys; from reliac.reproduction.claims import densities; densities.section(1)\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-W", "error", "-c", code], check=False).returncode == 0


def test_without_matplotlib_figures_are_left_out_and_the_section_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    section = densities.section(1)
    assert section.figures == ()
    assert section.paragraphs[-1] == pictures.MISSING


def test_without_fastcluster_the_section_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastcluster", None)
    section = ties.section({}, 2)
    assert any("fastcluster is not installed" in paragraph for paragraph in section.paragraphs)
    assert not any("fastcluster" in column for column in section.tables[0].columns)
