"""What newcomers pass first: each is told what it is, and what to do next."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import pairwise_distances

import reliac
from problems import blobs
from reliac import ReliableAgglomerativeClustering, ReliableFeatureAgglomeration, ReliableOutlierDetector

CALLS = [reliac.cluster, reliac.linkage, ReliableAgglomerativeClustering().fit, ReliableOutlierDetector().fit]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["data.csv", Path("data.csv"), b"data.csv"])
def test_the_name_of_a_file_is_told_as_such(call, name):
    with pytest.raises(TypeError, match=r"X is one text, b?'data\.csv'.*Allowed: the data itself.*Next: .*read_csv"):
        call(name)


@pytest.mark.parametrize("empty", [[], np.empty(0), np.empty((0, 0, 3)), [[]], np.empty((0, 4))], ids=np.shape)
def test_nothing_at_all_is_no_matter_of_reshaping(empty):
    with pytest.raises(ValueError, match=r"^0 (sample|feature)\(s\).*Next: check the filter or file"):
        reliac.cluster(empty)


@pytest.mark.parametrize(
    ("X", "step"), [(5, "pass a list of rows"), (np.ones((2, 2, 2)), r"X\.reshape\(len\(X\), -1\)")]
)
def test_other_than_two_dimensions_have_an_advice_of_their_own(X, step):
    with pytest.raises(ValueError, match=rf"Expected 2D array.*Next: .*{step}"):
        reliac.cluster(X)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("texts", [[["1", "2"], ["3", "4"]], np.array([[b"1"], [b"2"]]), [["1", 2.5], ["3", 4]]])
def test_numbers_that_are_texts_are_told_how_to_become_numbers(call, texts):
    with pytest.raises(TypeError, match=r"numbers that are written as texts: '1' at row 0, column 0.*dtype=float"):
        call(texts)


def test_the_first_text_that_is_no_number_is_named():
    with pytest.raises(TypeError, match=r"X holds texts: 'oops' at row 1, column 0\. Allowed: .*Next: "):
        reliac.cluster([["1", "2"], ["oops", "4"]])


@pytest.mark.parametrize(("frame", "step"), [(pd.DataFrame, r"pandas\.to_numeric"), (pl.DataFrame, r"\.cast\(float\)")])
def test_a_column_of_numbers_that_are_texts_is_told_how_to_become_numbers(frame, step):
    with pytest.raises(TypeError, match=rf"Column 'a' is not numeric: '1' in row 0.*Next: .*{step}"):
        reliac.cluster(frame({"a": ["1", "2"], "b": [3, 4]}))
    with pytest.raises(TypeError, match=r"Column 'a' is not numeric: 'x' in row 1.*Next: .*encode"):
        reliac.cluster(frame({"a": ["1", "x"], "b": [3, 4]}))


@pytest.mark.parametrize("call", [reliac.linkage, reliac.linkage_vector])
@pytest.mark.parametrize("name", ["criterion", "linkage"])
def test_linkage_says_its_own_name_for_the_criterion(call, name):
    with pytest.raises(TypeError, match=rf"got {name}, as .*Allowed: the name 'method'\. Next: write method='ward'"):
        call(blobs(0, n=9), **{name: "ward"})


def test_linkage_says_where_the_options_of_cluster_are():
    with pytest.raises(TypeError, match=r"linkage\(\) got n_clusters\. Allowed: .*Next: use reliac\.cluster"):
        reliac.linkage(blobs(0, n=9), n_clusters=3)
    with pytest.raises(TypeError, match=r"Unknown option of linkage\(\) 'metrik'.*Next: did you mean 'metric'"):
        reliac.linkage(blobs(0, n=9), metrik="cityblock")


def test_every_way_to_cluster_says_its_own_name_for_a_foreign_option():
    for call in (reliac.cluster_edges, lambda X, **options: reliac.cluster_groups(X, [0, 0, 0], **options)):
        with pytest.raises(TypeError, match=r"got method.*Next: write criterion='average'"):
            call([("a", "b", 1.0), ("b", "c", 2.0), ("a", "c", 3.0)], method="average")


@pytest.mark.parametrize("odd", ["data.csv", None, 5, {"a", "b"}, (row for row in blobs(0, n=9))])
def test_what_has_no_rows_is_refused_in_three_parts_before_it_is_put_into_an_optimal_order(odd):
    with pytest.raises((TypeError, ValueError), match=r"Allowed: .*Next: "):
        reliac.linkage(odd, optimal_ordering=True)


@pytest.mark.parametrize(
    "odd",
    [
        *({name: np.ones(3)} for name in ("missing", "duplicates", "engine", "similarity", "join_components")),
        *({"columns": columns} for columns in (5, "abc", ("a", "b"), (1, 2, 3))),
    ],
    ids=str,
)
def test_odd_options_of_an_edge_table_are_refused_in_three_parts(odd):
    with pytest.raises((TypeError, ValueError), match=r"Allowed: .*Next: "):
        reliac.cluster_edges(pd.DataFrame({"a": [1], "b": [2], "c": [3.0]}), **{"columns": ("a", "b", "c"), **odd})


@pytest.mark.parametrize(
    "odd", [np.ma.array([1, 2], mask=[0, 1]), np.ones(2), pd.Series([1, 2])], ids=["masked", "array", "series"]
)
def test_linkage_refuses_an_array_as_metric_in_three_parts(odd):
    for data in (blobs(0, n=9), csr_matrix(blobs(0, n=9))):
        with pytest.raises(ValueError, match=r"(?s)Unknown metric.*Allowed: .*Next: "):
            reliac.linkage(data, metric=odd)


def test_an_edge_table_without_a_row_is_refused_in_three_parts():
    with pytest.raises(ValueError, match=r"An edge table without a row\. Allowed: .*Next: "):
        reliac.cluster_edges([])


def test_switches_that_are_arrays_are_refused_in_three_parts():
    with pytest.raises(TypeError, match=r"join_components=array.*Allowed: True or False.*Next: "):
        reliac.cluster(blobs(0, n=9), "average", join_components=np.ones(2))
    with pytest.raises(ValueError, match=r"compute_full_tree=array.*Allowed: 'auto', True or False.*Next: "):
        ReliableAgglomerativeClustering(compute_full_tree=np.ones(2)).fit(blobs(0, n=9))


ESTIMATORS = [ReliableAgglomerativeClustering, ReliableOutlierDetector, ReliableFeatureAgglomeration]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("X", "given"),
    [
        ([], r"0 sample\(s\) \(shape=\(0,\)\)"),
        (np.empty((0, 3)), r"0 sample\(s\)"),
        (np.empty((3, 0)), r"0 feature\(s\)"),
        ([[]], r"(0 feature|1 sample)\(s\)"),
        ([1, 2, 3], "Expected 2D array, got 1D array"),
        (5, "Expected 2D array, got 0D array"),
        (np.ones((2, 2, 2)), "Expected 2D array, got 3D array"),
        ([[1, 2], [3]], "The rows do not form a table"),
        ({"a": 1}, "X is of type dict"),
        ([None], "Expected 2D array, got 1D array"),
        (["a", "b"], "X holds texts: 'a' at position 0"),
        ((row for row in blobs(0, n=9)), "X is of type generator"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_estimators_tell_what_is_no_table_in_three_parts(estimator, X, given):
    with pytest.raises((TypeError, ValueError), match=rf"(?s)^{given}.* Allowed: .* Next: "):
        estimator().fit(X)


@pytest.mark.parametrize("estimator", ESTIMATORS[:2])
def test_estimators_ask_for_two_rows(estimator):
    with pytest.raises(ValueError, match=r"1 sample\(s\).* minimum of 2 .* Allowed: at least two rows .* Next: "):
        estimator().fit([[1.0, 2.0]])


def test_an_estimator_says_how_condensed_distances_become_square_ones():
    with pytest.raises(
        ValueError, match=r"Next: .*scipy\.spatial\.distance\.squareform\(X\) with metric='precomputed'"
    ):
        ReliableAgglomerativeClustering(linkage="average").fit(np.ones(6))


@pytest.mark.parametrize("model", [ReliableAgglomerativeClustering(), ReliableOutlierDetector()], ids=repr)
def test_new_rows_that_do_not_fit_an_estimator_are_told_in_three_parts(model):
    frame = pd.DataFrame(blobs(0, n=9)[:, :2], columns=["a", "b"])
    model.fit(frame)
    for odd in (frame[["b", "a"]], frame.rename(columns={"a": "z"})):
        with pytest.raises(ValueError, match=r"(?s)feature names should match.* Allowed: the columns .* Next: "):
            model.predict(odd)
    model.fit(frame.to_numpy())
    with pytest.raises(ValueError, match=r"X has 1 features, but .* Allowed: the columns that .* Next: pass these"):
        model.predict([[1.0]])


# --- what would be read as something else ---


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    "X", [[("x", "y", 1.0), ("y", "z", 2.0)], pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "c": [1.0, 2.0]})]
)
def test_estimators_recognise_a_table_of_named_edges(estimator, X):
    with pytest.raises(ValueError, match=r"table of edges.*Allowed: .*Next: pass it to reliac\.cluster_edges"):
        estimator().fit(X)


@pytest.mark.parametrize("call", CALLS[2:])
def test_estimators_recognise_a_graph(call):
    with pytest.raises(TypeError, match=r"X is a graph \(Graph\)\. Allowed: .*Next: use reliac\.cluster_edges"):
        call(nx.path_graph(5))


def test_an_estimator_says_who_takes_texts():
    model = ReliableAgglomerativeClustering(linkage="average", metric=lambda a, b: abs(len(a) - len(b)))
    with pytest.raises(
        TypeError, match=r"3 objects that are no rows of numbers\. Allowed: .*Next: use reliac\.cluster"
    ):
        model.fit(["a", "bb", "ccc"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_that_are_symmetric_up_to_rounding_are_recognised(dtype):
    X = blobs(0, n=150).astype(dtype)
    distances = 1 - (X @ X.T) / np.linalg.norm(X, axis=1)[:, None] / np.linalg.norm(X, axis=1)  # as many write cosine
    distances += np.triu(np.full_like(distances, np.finfo(dtype).eps), 1)
    assert distances.diagonal().any()
    assert (distances != distances.T).any()
    for call in (reliac.cluster, reliac.linkage):
        with pytest.raises(ValueError, match=r"looks like a distance matrix.*Next: pass metric='precomputed'"):
            call(distances, "average")


def test_a_square_table_that_is_not_symmetric_holds_points():
    distances = pairwise_distances(blobs(0, n=70))
    for place in ((0, 69), (69, 0), (69, 69)):
        points = distances.copy()
        points[place] += 1e-3 * distances.max()
        assert reliac.cluster(points).n_objects == 70
