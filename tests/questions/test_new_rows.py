"""What predict takes and refuses: frames by their titles, saved trees, limits, mistakes; and the estimator."""

from __future__ import annotations

import io
import json
import pickle
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics.pairwise import manhattan_distances, nan_euclidean_distances

import reliac
from problems import CRITERIA, GEOMETRIC, blobs
from reliac import ReliableAgglomerativeClustering
from reliac.tree.storage import read_tree

X = blobs(0, n=50)
NEW = blobs(1, n=30)
FRAME = pd.DataFrame(X, columns=["length", "width", "height"])
NEW_FRAME = pd.DataFrame(NEW, columns=["length", "width", "height"])


def cityblock(x, y):
    return float(np.abs(x - y).sum())


def saved(tree, tmp_path, data=True):
    tree.save(tmp_path / "tree.reliac", data=data)
    return reliac.load(tmp_path / "tree.reliac")


# --- columns ---


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_columns_are_found_by_their_titles_in_any_order(make, tmp_path):
    tree = reliac.cluster(make(FRAME))
    expected = tree.predict(NEW, 4)
    turned = make(NEW_FRAME[["height", "length", "width"]])
    for asked in (tree, saved(tree, tmp_path)):
        np.testing.assert_array_equal(asked.predict(make(NEW_FRAME), 4), expected)
        np.testing.assert_array_equal(asked.predict(turned, 4), expected)
    untitled = reliac.cluster(X)  # has no titles: columns count by their places
    np.testing.assert_array_equal(untitled.predict(make(NEW_FRAME), 4), expected)


def test_new_rows_with_other_columns_are_refused_by_name(tmp_path):
    tree = saved(reliac.cluster(FRAME), tmp_path)
    with pytest.raises(ValueError, match="without columns 'height' and with columns 'depth' that the tree") as error:
        tree.predict(NEW_FRAME.rename(columns={"height": "depth"}), 3)
    assert (
        "Allowed: the columns of the tree, in any order: 'length', 'width', 'height'. Next: pass a frame that has"
        in (str(error.value))
    )
    with pytest.raises(ValueError, match="Next: drop 'more'"):
        tree.predict(NEW_FRAME.assign(more=1.0), 3)
    with pytest.raises(TypeError, match="Column 'width' is not numeric"):
        tree.predict(NEW_FRAME.assign(width="wide"), 3)
    with pytest.raises(ValueError, match=r"2 columns\. Allowed: the 3 columns .* 'length', 'width', 'height'"):
        tree.predict(NEW[:, :2], 3)


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ([1.0, 2.0, 3.0], "got 1D array instead"),
        ([[1.0, 2.0, np.nan]], "X contains NaN"),
        ([["a", "b", "c"]], "could not convert|Text|text"),
        ([[1e300, 0.0, 0.0]], "Squares overflow"),
    ],
)
def test_new_rows_that_are_none_are_refused(new, told):
    with pytest.raises((ValueError, TypeError), match=told) as error:
        reliac.cluster(X).predict(new, 3)
    assert "Allowed:" in str(error.value)
    assert "Next:" in str(error.value)


def test_no_new_rows_are_an_answer_too():
    labels, distances = reliac.cluster(X).predict(np.empty((0, 3)), 3, return_distance=True)
    assert labels.shape == distances.shape == (0,)
    assert len(reliac.cluster(X, "average").predict(np.empty((0, 3)), 3)) == 0


def test_a_row_without_a_direction_is_refused_by_its_number():
    with pytest.raises(ValueError, match="Row 1 is all zero"):
        reliac.cluster(np.abs(X), "average", metric="cosine").predict([[1.0, 1, 1], [0, 0, 0]], 3)


def test_a_function_that_gives_no_distance_is_told_with_the_row():
    def odd(x, y):
        return np.nan if x[0] > 1e6 else cityblock(x, y)

    new = np.tile(NEW, (3000, 1))
    new[80_000, 0] = 1e7
    tree = reliac.cluster(X[:6], "average", metric=odd)
    with pytest.raises(ValueError, match="The distance of new row 1000 to training row 0 is nan"):
        tree.predict(new[79_000:], 3)


# --- limits and options ---


def test_rows_beyond_the_limit_belong_to_no_cluster_and_the_limit_itself_is_inside():
    tree = reliac.cluster([[0.0], [1.0], [10.0], [11.0]], "single")
    labels, distances = tree.predict([[3.0], [4.0], [14.5]], 2, max_distance=3.0, return_distance=True)
    assert labels.tolist() == [0, 0, -1]
    assert distances.tolist() == [2.0, 3.0, 3.5]
    assert tree.predict([[3.0], [14.5]], 2, max_distance=3.0).tolist() == [0, -1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"n_clusters": 99}, "n_clusters=99"),
        ({"level": 1000}, "level=1000"),
        ({"n_clusters": 2, "level": 1}, "n_clusters and level"),
        ({"n_clusters": 2, "max_distance": -1.0}, "max_distance=-1.0"),
        ({"n_clusters": 2, "return_distance": "yes"}, "return_distance='yes'"),
        ({"n_clusters": 2, "progress": "fast"}, "progress='fast'"),
        ({"n_clusters": 2, "n_jobs": 0}, "n_jobs=0"),
        ({"n_clusters": 2, "metric": "cosine"}, "metric 'cosine' for a tree of metric 'euclidean'"),
        ({"n_clusters": 2, "metric": "precomputed"}, "this criterion compares points"),
        ({"n_clusters": [2, 3]}, "2 cuts at once"),
        ({"n_clusters": 2, "by": "size"}, "Unknown order 'size'"),
    ],
)
def test_options_that_cannot_be_are_refused(options, told):
    with pytest.raises((ValueError, TypeError), match=told):
        reliac.cluster(X).predict(NEW, **options)


def test_trees_made_along_a_graph_have_no_place_for_new_rows():
    chain = np.eye(len(X), k=1)
    trees = [
        reliac.cluster(X, connectivity=chain),
        reliac.cluster(X, "average", neighbors=5),
        reliac.cluster(X, "average", neighbors=3, join_components=True),
        reliac.cluster_edges(pd.DataFrame({"a": [0, 1], "b": [1, 2], "distance": [1.0, 2.0]}), "single"),
    ]
    for tree in trees:
        with pytest.raises(ValueError, match="they have no edges"):
            tree.predict(NEW)


def test_progress_is_told_and_what_it_raises_stops_the_work():
    heard = []
    reliac.cluster(X).predict(np.tile(NEW, (3000, 1)), 5, progress=heard.append, n_jobs=1)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert len(heard) > 1

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reliac.cluster(X).predict(np.tile(NEW, (3000, 1)), 5, progress=stop)


def test_new_rows_in_float32_are_not_copied_as_a_whole():
    many = np.tile(NEW.astype(np.float32), (10000, 1))
    tree = reliac.cluster(X)
    tree.predict(many[:10], 5)
    tracemalloc.start()
    tree.predict(many, 5, n_jobs=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < many.nbytes + 8 * len(many)  # the labels, and blocks


# --- saved trees ---


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", ["float32", "sparse", "distances"])
def test_a_saved_tree_predicts_what_the_tree_did(criterion, kind, tmp_path):
    new = NEW
    if kind == "distances":
        tree, new = reliac.cluster(pdist(X), criterion, metric="precomputed"), cdist(NEW, X)
    else:
        tree = reliac.cluster(X.astype(np.float32) if kind == "float32" else csr_array(X), criterion)
    read = saved(tree, tmp_path)
    expected, found = (one.predict(new, 5, return_distance=True) for one in (tree, read))
    np.testing.assert_array_equal(found, expected)
    again = saved(read, tmp_path)  # a tree from a file can be saved with its data too
    np.testing.assert_array_equal(again.predict(new, 5), expected[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(read)).predict(new, 5), expected[0])
    if kind == "float32":
        assert read.kept.rows.dtype == np.float32


def test_a_tree_without_data_predicts_with_the_data_and_says_so_without(tmp_path):
    tree = reliac.cluster(X)
    read = saved(tree, tmp_path, data=False)
    assert read.kept is None
    with pytest.raises(ValueError, match=r"does not hold its data\. Allowed: predict\(X_new, X=\.\.\.\)"):
        read.predict(NEW, 3)
    np.testing.assert_array_equal(read.predict(NEW, 3, X=X), tree.predict(NEW, 3))
    with pytest.raises(ValueError, match="other values than when the tree was made"):
        read.predict(NEW, 3, X=X + 1)
    with pytest.raises(ValueError, match="does not hold its data, so none can be saved"):
        read.save(tmp_path / "more.reliac", data=True)
    given = reliac.cluster(pdist(X), "average", metric="precomputed")
    assert len(saved(given, tmp_path, data=False).predict(cdist(NEW, X), 3)) == len(NEW)  # needs the tree alone


def test_a_tree_that_was_made_with_a_function_gets_it_again(tmp_path):
    tree = reliac.cluster(X, "average", metric=cityblock)
    read = saved(tree, tmp_path)
    with pytest.raises(
        ValueError, match=r"a function as metric, cityblock, .*predict\(X_new, X=\.\.\., metric=\.\.\.\)"
    ):
        read.predict(NEW, 3)
    expected = reliac.cluster(X, "average", metric="cityblock").predict(NEW, 3)
    np.testing.assert_array_equal(read.predict(NEW, 3, metric=cityblock), expected)
    np.testing.assert_array_equal(read.predict(cdist(NEW, X, "cityblock"), 3, metric="precomputed"), expected)


def test_rows_with_gaps_are_placed_where_the_metric_allows_them(tmp_path):
    holes, new = X.copy(), NEW.copy()
    holes[::5, 0] = new[::4, 1] = np.nan
    tree = reliac.cluster(holes, "average", metric="nan_euclidean")
    expected = tree.predict(nan_euclidean_distances(new, holes), 4, metric="precomputed")
    np.testing.assert_array_equal(tree.predict(new, 4), expected)
    np.testing.assert_array_equal(saved(tree, tmp_path).predict(new, 4), expected)
    with pytest.raises(ValueError, match="The distance of new row 1 to training row 0 is nan"):
        tree.predict([[1.0, 2.0, 3.0], [np.nan, np.nan, np.nan]], 4)


def test_mixed_columns_need_their_distances(tmp_path):
    tree = reliac.cluster(pd.DataFrame({"a": [1.0, 2.0, 9.0], "b": ["x", "x", "y"]}), "average", metric="gower")
    with pytest.raises(ValueError, match=r"metric 'gower'.*metric='precomputed'"):
        tree.predict(pd.DataFrame({"a": [1.0], "b": ["y"]}), 2)
    assert tree.predict([[0.9, 0.8, 0.1]], 2, metric="precomputed").tolist() == [1]
    with pytest.raises(ValueError, match="metric 'gower', whose codes"):
        tree.save(tmp_path / "tree.reliac", data=True)


def test_objects_that_are_no_numbers_need_their_distances():
    def apart(one, other):
        return abs(len(one) - len(other))

    tree = reliac.cluster(["a", "bb", "cccccc", "ddddddd"], "single", metric=apart)
    with pytest.raises(ValueError, match=r"compared by a function.*metric='precomputed'"):
        tree.predict(["aa"], 2)
    assert tree.predict([[5, 4, 0, 1]], 2, metric="precomputed").tolist() == [1]


def test_a_tree_from_a_file_with_data_can_be_developed_without_them(tmp_path):
    tree = reliac.cluster(X, n_clusters=6)
    read = saved(tree, tmp_path)
    np.testing.assert_array_equal(read.develop().links, tree.develop().links)


def test_who_knows_nothing_of_data_reads_the_tree_of_such_a_file(tmp_path):
    tree = reliac.cluster(FRAME)
    tree.save(tmp_path / "with", data=True)
    tree.save(tmp_path / "without")
    with np.load(tmp_path / "with") as one, np.load(tmp_path / "without") as other:
        plain = [name for name in one.files if not name.startswith("data/")]
        assert plain == other.files
        assert all(one[name].tobytes() == other[name].tobytes() for name in plain)


def rewritten(path, change):
    """A tree file with one of its members changed; the checksum is not."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return buffer.getvalue()


def as_npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("member", "content", "told"),
    [
        ("rows", None, "its data are incomplete"),
        ("rows", as_npy(X + 1.0), "its data do not match their checksum"),
        ("rows", as_npy(X[:-1]), "shapes or types"),
        ("rows", as_npy(np.array(["a"])), "shapes or types"),
        ("columns", as_npy(np.array(["only one"])), "shapes or types"),
        ("header", as_npy(np.array(json.dumps({"version": 99}))), "format version"),
        ("header", as_npy(np.array("no json")), "not a usable tree file"),
        ("header", as_npy(np.array(json.dumps({"version": 1, "kind": "magic"}))), "incomplete"),
    ],
)
def test_damaged_data_are_refused_as_a_damaged_tree_is(member, content, told, tmp_path):
    reliac.cluster(FRAME).save(tmp_path / "tree.reliac", data=True)
    damaged = rewritten(tmp_path / "tree.reliac", lambda name, old: content if name == f"data/{member}.npy" else old)
    with pytest.raises(ValueError, match=told):
        read_tree(damaged, "it")


def test_sparse_data_with_indices_beyond_the_table_are_refused(tmp_path):
    reliac.cluster(csr_array(X)).save(tmp_path / "tree.reliac", data=True)
    with zipfile.ZipFile(tmp_path / "tree.reliac") as archive:
        indices = np.load(io.BytesIO(archive.read("data/indices.npy")))
    damaged = rewritten(
        tmp_path / "tree.reliac", lambda name, old: as_npy(indices + 7) if name == "data/indices.npy" else old
    )
    with pytest.raises(ValueError, match="not a usable tree file"):
        read_tree(damaged, "it")


def test_a_graph_is_not_saved_with_its_tree(tmp_path):
    tree = reliac.cluster(X, connectivity=np.eye(len(X), k=1))
    with pytest.raises(ValueError, match="data=True for a tree of vectors with connectivity"):
        tree.save(tmp_path / "tree.reliac", data=True)
    assert not (tmp_path / "tree.reliac").exists()


# --- given distances ---


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (cdist(NEW, X)[:, :-1], "to 49 objects"),
        (-cdist(NEW, X), "of new row 0 to training row 0 is -"),
        (np.full((1, 50), np.nan), "is nan"),
        (cdist(NEW, X)[0], "got 1D array"),
    ],
)
def test_distances_that_do_not_fit_the_tree_are_refused(given, told):
    with pytest.raises(ValueError, match=told):
        reliac.cluster(pdist(X), "average", metric="precomputed").predict(given, 3)


def test_distances_in_a_frame_are_found_by_the_names_of_the_objects():
    names = [f"object {i}" for i in range(len(X))]
    tree = reliac.cluster(pdist(X), "average", metric="precomputed", names=names)
    frame = pd.DataFrame(cdist(NEW, X), columns=names)
    np.testing.assert_array_equal(tree.predict(frame[names[::-1]], 4), tree.predict(frame.to_numpy(), 4))
    with pytest.raises(ValueError, match="without objects 'object 7'"):
        tree.predict(frame.drop(columns="object 7"), 4)


# --- the estimator ---


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_estimator_predicts_by_the_clusters_of_its_labels(criterion):
    model = ReliableAgglomerativeClustering(5, linkage=criterion).fit(X)
    expected = model.tree_.predict(NEW, 5)
    np.testing.assert_array_equal(model.predict(NEW), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(NEW), expected)
    by_level = ReliableAgglomerativeClustering(None, max_level=2, linkage=criterion).fit(X)
    np.testing.assert_array_equal(by_level.predict(NEW), by_level.tree_.predict(NEW, level=2))


@pytest.mark.parametrize("criterion", ["average", "ward"])
def test_the_estimator_places_rows_by_weights_by_distances_and_by_functions_of_tables(criterion):
    weights = np.arange(len(X)) % 3
    model = ReliableAgglomerativeClustering(4, linkage=criterion).fit(X, sample_weight=weights)
    tree = reliac.cluster(X[weights > 0], criterion, weights=weights[weights > 0])
    expected = tree.predict(NEW, 4)
    np.testing.assert_array_equal(model.predict(NEW), expected)
    given = ReliableAgglomerativeClustering(4, linkage=criterion, metric="precomputed")
    given.fit(cdist(X, X), sample_weight=weights)
    np.testing.assert_array_equal(given.predict(cdist(NEW, X)), expected)
    if criterion not in GEOMETRIC:
        whole = ReliableAgglomerativeClustering(4, linkage=criterion, metric=manhattan_distances).fit(X)
        expected = reliac.cluster(X, criterion, metric="cityblock").predict(NEW, 4)
        np.testing.assert_array_equal(whole.predict(NEW), expected)


def test_the_estimator_refuses_other_columns_new_rows_of_a_graph_and_to_predict_before_it_is_fitted():
    model = ReliableAgglomerativeClustering(3)
    with pytest.raises(AttributeError, match="predict"):
        model.predict(NEW)
    model.fit(FRAME)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(NEW_FRAME[["width", "length", "height"]])
    with pytest.raises(ValueError, match="2 features"):
        ReliableAgglomerativeClustering(3).fit(X).predict(NEW[:, :2])
    with pytest.raises(ValueError, match="they have no edges"):
        ReliableAgglomerativeClustering(3, connectivity=np.eye(len(X), k=1)).fit(X).predict(NEW)
