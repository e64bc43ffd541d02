"""Pictures: the coordinates are right, and matplotlib draws them without a display, a warning or a recursion."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import reliac
from reliac.tree.building import LINK
from reliac.tree.clustertree import ClusterTree
from reliac.tree.layout import LONGEST_NAME, TREE_GAP, clusters_of_nodes, dendrogram, level_sizes, shorten

plt = pytest.importorskip("matplotlib.pyplot")

CRITERIA = ["single", "complete", "average", "weighted", "centroid", "median", "ward"]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def points(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


def chain(n):
    links = np.empty(n - 1, dtype=LINK)
    links["left"] = np.r_[0, np.arange(n, 2 * n - 2)]
    links["right"] = links["distance"] = links["level"] = np.arange(1, n)
    links["size"] = np.arange(2, n + 1)
    return ClusterTree(n, links, np.arange(n), np.ones(n))


def drawn(ax):
    """Draw for real, and return the boxes of the leaf texts in pixels."""
    ax.figure.canvas.draw()
    return [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]


def overlap(boxes):
    return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


# --- coordinates ---


def test_a_bracket_stands_over_the_middles_of_its_parts_at_its_distance():
    layout = dendrogram(reliac.cluster([[0.0], [1.0], [3.0]], "average", metric="euclidean"))
    assert layout.texts == ["0", "1", "2"]
    assert layout.positions.tolist() == [0.0, 1.0, 2.0]
    assert layout.paths.tolist() == [
        [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]],
        [[0.5, 1.0], [0.5, 2.5], [2.0, 2.5], [2.0, 0.0]],
    ]
    assert layout.roots.tolist() == [[1.25, 2.5]]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_link_is_drawn_once_at_its_true_distance(criterion):
    tree = reliac.cluster(points(30), criterion)
    layout = dendrogram(tree)
    assert sorted(layout.nodes.tolist()) == list(range(30, 59))
    assert layout.paths[:, 1, 1].tolist() == tree.links["distance"].tolist()
    assert (layout.paths[:, 1, 1] == layout.paths[:, 2, 1]).all()


def test_an_inversion_hangs_below_its_part():
    tree = reliac.cluster([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]], "centroid")
    first, second = dendrogram(tree).paths[:, 1, 1]
    assert (first, round(second, 9)) == (1.0, 0.9)


def test_leaves_stand_in_an_order_in_which_no_brackets_cross():
    tree = reliac.cluster(points(40), "ward")
    layout = dendrogram(tree)
    assert layout.leaves.tolist() == tree.leaf_order.tolist()
    assert (layout.paths[:, 0, 0] < layout.paths[:, 3, 0]).all()


def test_the_stem_of_a_tie_rises_from_the_middle_of_its_bar():
    tree = reliac.cluster([[0.0], [1.0], [2.0], [3.0], [40.0]], "single")
    layout = dendrogram(tree)
    assert tree.n_levels == 2
    assert layout.paths[-1, 0, 0] == 1.5


@pytest.mark.parametrize("most", [1, 2, 7, 49, 50])
def test_a_large_tree_shows_the_clusters_of_its_cut_with_their_sizes(most):
    tree = reliac.cluster(points(50))
    layout = dendrogram(tree, most)
    sizes = [int(text[1:-1]) if text.startswith("[") else 1 for text in layout.texts]
    assert sorted(sizes) == sorted(np.bincount(tree.labels(most)).tolist())
    assert len(layout.nodes) == most - 1 + sum(size > 1 for size in sizes)


def test_a_leaf_that_is_a_single_object_keeps_its_name():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [0.0, 1.0, 50.0]}, index=["ant", "bee", "cow"])
    assert dendrogram(reliac.cluster(frame), 2).texts == ["[2]", "cow"]


def test_an_unopened_cluster_is_as_high_as_its_last_join():
    tree = reliac.cluster([[0.0], [1.0], [50.0]], metric="euclidean", criterion="single")
    triangle = dendrogram(tree, 2).paths[0]
    assert triangle[0].tolist() == triangle[3].tolist() == [0.0, 1.0]
    assert triangle[1:3, 1].tolist() == [0.0, 0.0]


def test_the_trees_of_a_forest_stand_side_by_side_with_a_gap():
    tree = reliac.cluster([[0.0], [1.0], [10.0], [11.0], [90.0]], n_clusters=3)
    layout = dendrogram(tree)
    assert np.diff(layout.positions).tolist() == [1.0, 1.0 + TREE_GAP, 1.0, 1.0 + TREE_GAP]
    assert layout.roots[:, 1].tolist() == [0.0, 1.0, 1.0]


def test_a_forest_of_too_many_trees_shows_the_largest():
    layout = dendrogram(reliac.cluster(points(100), max_level=1), 10)
    assert layout.texts == ["[2]"] * 10
    assert len(layout.paths) == len(layout.roots) == 10


@pytest.mark.parametrize("most", [0, -3])
def test_a_picture_without_leaves_is_refused(most):
    with pytest.raises(ValueError, match="max_leaves"):
        dendrogram(reliac.cluster(points(5)), most)


def test_nodes_know_their_cluster_and_those_above_the_cut_have_none():
    tree = reliac.cluster([[0.0], [1.0], [50.0], [51.5]])
    found = clusters_of_nodes(tree, np.arange(7), 2)
    assert found.tolist() == [0, 0, 1, 1, 0, 1, -1]


def test_sizes_of_a_level_are_those_of_its_clusters():
    tree = reliac.cluster(points(60), "average")
    levels = np.arange(tree.n_levels + 1)
    for level, sizes in zip(levels.tolist(), level_sizes(tree, levels), strict=True):
        expected = np.bincount(tree.labels(level=level))
        assert sizes[[0, 2, 4]].tolist() == [expected.min(), np.median(expected), expected.max()]


def test_long_names_lose_their_middle_and_line_breaks():
    assert shorten("short name") == "short name"
    assert shorten("two\nlines") == "two lines"
    name = shorten("the beginning of a very long name and its end")
    assert len(name) == LONGEST_NAME
    assert name.startswith("the beginning")
    assert name.endswith("its end")


def test_a_chain_of_a_million_objects_can_be_laid_out():
    layout = dendrogram(chain(1_000_000), 5)
    assert layout.texts == ["[999996]", "999996", "999997", "999998", "999999"]


# --- drawing ---


@pytest.mark.parametrize("n", [1, 2, 3, 60, 61, 300])
def test_trees_of_any_size_are_drawn_with_one_collection_of_lines(n):
    ax = reliac.cluster(points(n)).plot()
    drawn(ax)
    assert len([item for item in ax.collections if type(item).__name__ == "LineCollection"]) == 1
    assert len(ax.get_xticks()) == min(n, 60)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_labels_of_the_axes_say_what_was_measured(criterion):
    ax = reliac.cluster(points(20), criterion, metric="euclidean").plot()
    assert ax.get_ylabel() == f"distance ({criterion}, euclidean)"
    assert ax.get_title().startswith("20 objects")


def test_the_title_says_when_only_a_part_is_shown():
    assert reliac.cluster(points(80)).plot(max_leaves=9).get_title().endswith("top 9 clusters shown")
    title = reliac.cluster(points(80), max_level=1).plot(max_leaves=9).get_title()
    assert "trees" in title
    assert title.endswith("the 9 largest shown")


@pytest.mark.parametrize("n", [5, 12, 60, 150])
def test_leaf_texts_do_not_overlap_and_stay_inside_the_figure(n):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(points(n), index=[f"object with the rather long name {i}" for i in range(n)])
    ax = reliac.cluster(frame).plot(max_leaves=n)
    boxes = drawn(ax)
    assert len(boxes) == n
    assert not overlap(boxes)
    assert all(ax.figure.bbox.containsx(box.x0) and ax.figure.bbox.containsy(box.y0) for box in boxes)


def test_in_narrow_axes_every_kth_leaf_is_named():
    _, ax = plt.subplots(figsize=(3, 2))
    boxes = drawn(reliac.cluster(points(150)).plot(ax, max_leaves=150))
    assert 20 < len(boxes) < 150
    assert not overlap(boxes)


def test_dollar_signs_in_names_are_not_read_as_formulas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [0.0, 1.0, 3.0]}, index=["$\\broken{$", "$100", "$a$"])
    drawn(reliac.cluster(frame).plot())


def test_the_clusters_of_a_cut_get_one_colour_each_and_the_rest_is_grey():
    from matplotlib.colors import to_hex

    from reliac.plots.dendrogram import PALETTE, REST

    ax = reliac.cluster([[0.0], [1.0], [50.0], [51.5], [90.0]], "single").plot(color_clusters=3)
    assert [to_hex(color) for color in ax.collections[0].get_color()] == [PALETTE[0], PALETTE[1], REST, REST]
    texts = [to_hex(label.get_color()) for label in ax.get_xticklabels()]
    assert texts == [PALETTE[0], PALETTE[0], PALETTE[1], PALETTE[1], PALETTE[2]]


@pytest.mark.parametrize("wrong", [0, 2, 21, "three", 2.5])
def test_colouring_an_impossible_number_of_clusters_is_refused(wrong):
    tree = reliac.cluster(points(40), n_clusters=3)
    with pytest.raises((ValueError, TypeError), match="color_clusters"):
        tree.plot(max_leaves=20, color_clusters=wrong)


def test_a_forest_has_a_dot_on_every_tree():
    ax = reliac.cluster(points(30), n_clusters=7).plot()
    drawn(ax)
    assert len(ax.collections[1].get_offsets()) == 7


def test_duplicates_and_other_joins_at_distance_zero_can_be_drawn():
    drawn(reliac.cluster(np.ones((8, 2)), "complete").plot(color_clusters=2))


def test_given_axes_are_used():
    _, ax = plt.subplots()
    assert reliac.cluster(points(5)).plot(ax) is ax


def test_a_loaded_tree_can_be_drawn(tmp_path):
    reliac.cluster(points(10)).save(tmp_path / "tree.reliac")
    drawn(reliac.load(tmp_path / "tree.reliac").plot(color_clusters=2))


@pytest.mark.parametrize("n", [1, 2, 10, 500])
def test_levels_are_drawn_in_two_panels(n):
    tree = reliac.cluster(points(n))
    counts, sizes = tree.plot_levels()
    counts.figure.canvas.draw()
    assert counts.lines[0].get_ydata().tolist() == tree.cluster_counts.tolist()
    assert [line.get_label() for line in sizes.lines] == ["largest", "median", "smallest"]
    assert counts.get_yscale() == ("log" if n == 500 else "linear")


def test_levels_of_a_long_chain_are_sampled():
    _, sizes = chain(20_000).plot_levels()
    assert len(sizes.lines[0].get_xdata()) <= 120


def test_levels_take_two_given_axes_and_no_other_number():
    _, axes = plt.subplots(2, 1)
    assert reliac.cluster(points(9)).plot_levels(axes) == tuple(axes)
    _, one = plt.subplots()
    with pytest.raises(ValueError, match="two, one for each panel"):
        reliac.cluster(points(9)).plot_levels([one])


def test_without_matplotlib_the_message_names_the_extra():
    code = (
        "import sys; sys.modules['matplotlib'] = None; import reliac\n"
        "try: reliac.cluster([[0.0], [1.0]]).plot()\n"
        "except ImportError as error: sys.exit(\"pip install '.[plot]'\" not in str(error))\n"
        "sys.exit(2)"
    )
    assert subprocess.run([sys.executable, "-W", "error", "-c", code], check=False).returncode == 0


def test_pictures_need_no_display(tmp_path):
    code = f"import reliac; reliac.cluster([[0.0], [1.0]]).plot().figure.savefig({str(tmp_path / 'tree.png')!r})"
    environment = {"PATH": "", "HOME": str(tmp_path), "MPLCONFIGDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True)
    assert (tmp_path / "tree.png").stat().st_size > 1000
