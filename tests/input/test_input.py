"""What can be passed, and what bad input gets: given, allowed, next step."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics.pairwise import cosine_distances

import reliac
from problems import CRITERIA, blobs, lattice
from reliac.input import metrics, products
from reliac.input.metrics import METRICS

X = blobs(0, n=20, d=3)
D = squareform(pdist(X))


def refuses(error, words, data, *args, **options):
    """Check the error's kind, that it has the three parts, and that it says certain words."""
    with pytest.raises(error) as caught:
        reliac.cluster(data, *args, **options)
    message = str(caught.value)
    assert ". Allowed: " in message
    assert ". Next: " in message
    assert ".. " not in message.replace("...", "")
    for word in [words] if isinstance(words, str) else words:
        assert word in message


# --- kinds of input ---


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8, np.uint16, bool])
def test_arrays_of_every_number_type_give_the_tree_of_their_values_and_are_not_converted(dtype):
    data = np.hstack([lattice(1, side=2), np.arange(24)[:, None] % 2]).astype(dtype)
    tree = reliac.cluster(data, "average")
    assert tree.problem.objects.rows is data
    assert np.array_equal(tree.links, reliac.cluster(data.astype(float), "average").links)


def test_float32_distances_stay_float32():
    given = D.astype(np.float32)
    assert reliac.cluster(given, "complete", metric="precomputed").problem.objects.matrix is given


def test_input_is_never_written_to():
    vectors, square, condensed = X.copy(), D.copy(), squareform(D)
    kept = condensed.copy()
    for criterion in CRITERIA:
        reliac.cluster(vectors, criterion)
        reliac.cluster(square, criterion, metric="precomputed")
        reliac.cluster(condensed, criterion, metric="precomputed")
    assert np.array_equal(vectors, X)
    assert np.array_equal(square, D)
    assert np.array_equal(condensed, kept)


def test_pandas_row_names_show_up_in_labels_clusters_newick_and_files(tmp_path):
    frame = pd.DataFrame(X[:4], columns=list("abc"), index=["ant", "bee", "cat", "it's a dog"])
    tree = reliac.cluster(frame)
    assert tree.names.tolist() == ["ant", "bee", "cat", "it's a dog"]
    assert list(tree.labels(2, named=True).index) == list(frame.index)
    assert sorted(np.concatenate(tree.clusters(n_clusters=2, named=True))) == sorted(frame.index)
    assert "'it''s a dog'" in tree.to_newick()
    tree.save(tmp_path / "t")
    assert reliac.load(tmp_path / "t").names.tolist() == tree.names.tolist()


def test_a_pandas_frame_that_only_counts_its_rows_has_no_names():
    assert reliac.cluster(pd.DataFrame(X)).names is None


def test_pandas_nullable_and_mixed_columns_are_numbers():
    frame = pd.DataFrame({"a": pd.array([1, 2, 5], dtype="Int64"), "b": [True, False, True], "c": [0.5, 1, 2]})
    assert np.array_equal(reliac.cluster(frame).links, reliac.cluster(frame.to_numpy(dtype=float)).links)


def test_float32_frames_stay_float32():
    assert reliac.cluster(pd.DataFrame(X.astype(np.float32))).problem.objects.rows.dtype == np.float32
    assert reliac.cluster(pl.DataFrame(X.astype(np.float32))).problem.objects.rows.dtype == np.float32
    assert reliac.cluster(pd.DataFrame(X).astype("Float32")).problem.objects.rows.dtype == np.float32


def test_polars_frames_give_the_same_tree_and_a_first_column_of_words_names_the_rows():
    plain = pl.DataFrame({"a": X[:5, 0], "b": X[:5, 1]})
    named = plain.with_columns(pl.Series("who", ["v", "w", "x", "y", "z"])).select("who", "a", "b")
    tree = reliac.cluster(named)
    assert tree.names.tolist() == ["v", "w", "x", "y", "z"]
    assert np.array_equal(tree.links, reliac.cluster(plain).links)
    assert np.array_equal(tree.links, reliac.cluster(X[:5, :2]).links)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cosine", "cityblock"])
def test_sparse_features_give_the_tree_of_the_dense_ones(make, metric):
    rng = np.random.default_rng(0)
    dense = rng.random((40, 30)) * (rng.random((40, 30)) < 0.2)
    dense[:, 0] += 0.1
    tree = reliac.cluster(make(dense), "average", metric=metric)
    other = reliac.cluster(dense, "average", metric=metric)
    assert np.array_equal(tree.links["left"], other.links["left"])
    np.testing.assert_allclose(tree.links["distance"], other.links["distance"], rtol=1e-9)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cosine"])
def test_sparse_distances_do_not_depend_on_the_blocks_they_are_made_in(metric, monkeypatch):
    rng = np.random.default_rng(0)
    rows = sparse.csr_array(np.round(rng.random((23, 30)) * (rng.random((23, 30)) < 0.3), 1) + np.eye(23, 30))
    whole = metrics.pairwise(rows, metric)
    monkeypatch.setattr(products, "BLOCK", 23 * 4)
    assert np.array_equal(metrics.pairwise(rows, metric), whole)
    np.testing.assert_allclose(whole, squareform(pdist(rows.toarray(), metric)), atol=1e-12)
    assert np.array_equal(whole, whole.T)


def test_sparse_distances_take_little_more_memory_than_the_table_of_them(monkeypatch):
    monkeypatch.setattr(products, "BLOCK", 1500 * 50)
    rows = sparse.random_array((1500, 40), density=0.3, rng=0, format="csr")
    tracemalloc.start()
    table = metrics.pairwise(rows, "euclidean")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * table.nbytes


def test_sparse_duplicates_and_near_duplicates_far_from_zero_keep_their_distances():
    dense = np.zeros((4, 50))
    dense[:, 7] = 1e6
    dense[1, 3] = dense[2, 3] = 1e-3
    dense[3, 9] = 5.0
    tree = reliac.cluster(sparse.csr_array(dense), "single")
    np.testing.assert_allclose(tree.links["distance"], [0.0, 1e-3, 5.0], rtol=1e-12)


@pytest.mark.parametrize("metric", sorted(name for name, row in METRICS.items() if not row.gaps))
def test_every_pdist_metric_works_by_name(metric):
    data = np.abs(X) + 0.1
    if metric in ("dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule", "jaccard"):
        data = np.random.default_rng(1).random((20, 12)) < 0.5
    tree = reliac.cluster(data, "complete", metric=metric)
    given = reliac.cluster(pdist(data, metric), "complete", metric="precomputed")
    for column in ("left", "right", "size", "level"):
        assert np.array_equal(tree.links[column], given.links[column])
    rounding = 1e-12 if metric == "cosine" else 0.0  # SciPy takes the cosine from 1, and loses digits
    np.testing.assert_allclose(tree.links["distance"], given.links["distance"], rtol=rounding)


def test_the_metrics_are_those_of_pdist():
    from scipy.spatial import distance

    assert set(distance._METRICS_NAMES) <= set(METRICS)


def test_a_callable_metric_works():
    tree = reliac.cluster(X, "average", metric=lambda a, b: np.abs(a - b).sum())
    other = reliac.cluster(X, "average", metric="cityblock")
    np.testing.assert_allclose(tree.links["distance"], other.links["distance"])


def test_square_and_condensed_distances_give_the_same_tree():
    for criterion in CRITERIA:
        square = reliac.cluster(D, criterion, metric="precomputed")
        condensed = reliac.cluster(squareform(D), criterion, metric="precomputed")
        assert np.array_equal(square.links, condensed.links)


@pytest.mark.parametrize("criterion", ["ward", "centroid", "median"])
def test_given_distances_count_as_euclidean_for_ward_centroid_and_median(criterion):
    given = reliac.cluster(D, criterion, metric="precomputed")
    vectors = reliac.cluster(X, criterion, metric="euclidean")
    assert np.array_equal(given.links["left"], vectors.links["left"])
    np.testing.assert_allclose(given.links["distance"], vectors.links["distance"], rtol=1e-9)


def test_rounding_in_a_distance_matrix_is_not_asymmetry():
    noisy = D * (1 + 1e-12 * np.random.default_rng(0).normal(size=D.shape))
    tree = reliac.cluster(noisy, "average", metric="precomputed")
    np.testing.assert_allclose(
        tree.links["distance"], reliac.cluster(D, "average", metric="precomputed").links["distance"]
    )


# --- small and degenerate ---


@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_object_two_objects_and_equal_rows_work(criterion):
    one = reliac.cluster([[1.0, 2.0]], criterion)
    assert (one.n_levels, one.n_clusters, one.labels().tolist()) == (0, 1, [0])
    assert one.outlier_scores().tolist() == [1.0]
    two = reliac.cluster([[1.0], [3.0]], criterion)
    assert two.links["distance"].tolist() == [2.0]
    equal = reliac.cluster(np.ones((7, 2)), criterion)
    assert equal.n_levels == 1
    assert equal.links["distance"].tolist() == [0.0] * 6
    assert len(np.unique(equal.labels(4))) == 4


def test_a_distance_beyond_all_floats_stops_nothing():
    assert reliac.cluster(X, max_distance=10**400).n_clusters == 1


def test_as_many_clusters_as_objects_work():
    tree = reliac.cluster(X, n_clusters=20)
    assert tree.n_levels == 0
    assert tree.labels().tolist() == list(range(20))
    assert tree.outlier_scores().tolist() == [1.0] * 20


# --- bad input ---


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("container", [np.array, pd.DataFrame, sparse.csr_array])
def test_nan_and_infinity_are_named_by_row_and_column(value, container):
    bad = X.copy()
    bad[7, 2] = value
    refuses(ValueError, ["row 7", "column", "2", "NaN" if np.isnan(value) else "infinity"], container(bad))


def test_text_in_a_column_names_the_column():
    refuses(TypeError, ["'town'", "'Oslo'", "row 0"], pd.DataFrame({"a": [1, 2], "town": ["Oslo", "Rome"]}))
    refuses(TypeError, ["'town'", "'Oslo'"], pl.DataFrame({"a": [1, 2], "town": ["Oslo", "Rome"]}))
    refuses(ValueError, ["'Oslo'", "row 1"], np.array([[1, 2], [3, "Oslo"]], dtype=object))


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (pd.Series(pd.to_timedelta([1, 2], unit="s"), name="c"), "timedelta64"),
        (pd.Series([1 + 2j, 3], name="c"), "complex128"),
        (pd.Series(pd.to_datetime([]), name="c"), "datetime64"),
        (pd.Series(["u", "v"], dtype="category", name="c"), "'u' in row 0"),
        (pl.Series("c", [1, 2]).cast(pl.Duration), "Duration"),
        (pl.Series("c", ["u", "v"]).cast(pl.Categorical), "'u' in row 0"),
        (pl.Series("c", ["1", "2"]).cast(pl.Categorical), "'1' in row 0"),
        (pl.Series("c", ["u", "v"]), "'u' in row 0"),
        (pl.Series("c", [[1], [2]]), "in row 0"),
    ],
)
def test_a_column_of_another_kind_is_named(column, dtype):
    refuses(TypeError, ["Column 'c' is not numeric", dtype], column.to_frame())


def test_text_is_never_read_as_numbers():
    refuses(ValueError, ["'2'", "row 0, column 1"], np.array([[1, "2"], [3, 4]], dtype=object))
    refuses(ValueError, [r"b'2'", "row 0, column 1"], np.array([[1, b"2"], [3, 4]], dtype=object))
    refuses(TypeError, ["Column 'b'", "'2' in row 0"], pd.DataFrame({"a": [1, 2], "b": ["2", "3"]}))
    refuses(TypeError, ["Column 'b'", "'2' in row 1"], pd.DataFrame({"a": [1, 2], "b": [1, "2"]}))
    refuses(TypeError, ["Column 'b'", "'2' in row 0"], pl.DataFrame({"a": [1, 2], "b": ["2", "3"]}))


def test_objects_that_are_numbers_are_numbers():
    from decimal import Decimal
    from fractions import Fraction

    data = np.array([[Decimal("0.5"), Fraction(1, 2)], [np.float32(2), True]], dtype=object)
    assert reliac.cluster(data).problem.objects.rows.tolist() == [[0.5, 0.5], [2, 1]]


def test_masked_values_are_named_and_a_mask_that_hides_nothing_does_no_harm():
    masked = np.ma.masked_array(X, mask=False)
    assert np.array_equal(reliac.cluster(masked).links, reliac.cluster(X).links)
    masked[4, 1] = np.ma.masked
    refuses(ValueError, ["masked", "row 4, column 1"], masked)
    refuses(ValueError, ["masked", "position 2"], np.ma.masked_equal([1.0, 2.0, 4.0], 4.0), metric="precomputed")


def test_thousands_are_no_row_names():
    for values in (["1,000", "2,000"], ["1 000", "2 000"], ["5%", "6%"], ["$5", "$6"]):
        refuses(TypeError, ["Column 'a'", repr(values[0])], pl.DataFrame({"a": values, "b": [1, 2]}))


@pytest.mark.parametrize(
    ("error", "words", "data", "options"),
    [
        (ValueError, "0 sample", np.empty((0, 3)), {}),
        (ValueError, "0 feature", np.empty((3, 0)), {}),
        (ValueError, "reshape(-1, 1)", np.arange(5.0), {}),
        (ValueError, "rows of equal length", [[1.0, 2.0], [3.0]], {}),
        (ValueError, "Complex", np.ones((3, 2), dtype=complex), {}),
        (TypeError, "real numbers", np.array([["a", "b"]]), {}),
        (ValueError, "looks like a distance matrix", D, {}),
        (ValueError, "Not symmetric: D[0, 1]", np.array([[0, 1.0], [2.0, 0]]), {"metric": "precomputed"}),
        (ValueError, "Negative distance", np.array([[0, -1.0], [-1.0, 0]]), {"metric": "precomputed"}),
        (ValueError, "to itself", np.array([[0, 1.0], [1.0, 0.5]]), {"metric": "precomputed"}),
        (ValueError, "length 5", np.ones(5), {"metric": "precomputed"}),
        (ValueError, "square", np.ones((3, 2)), {"metric": "precomputed"}),
        (ValueError, "on a graph", sparse.csr_array(np.triu(D)), {"metric": "precomputed"}),
        (ValueError, "Row 1 is all zero", np.array([[1.0, 2], [0, 0]]), {"metric": "cosine", "criterion": "average"}),
        (
            ValueError,
            "Row 1 is all zero",
            sparse.csr_array([[1.0, 2], [0, 0]]),
            {"metric": "cosine", "criterion": "average"},
        ),
        (
            ValueError,
            "Row 0 is constant",
            np.array([[2.0, 2], [0, 1]]),
            {"metric": "correlation", "criterion": "average"},
        ),
        (ValueError, ["n_clusters=21", "from 1 to 20"], X, {"n_clusters": 21}),
        (ValueError, "n_clusters=0", X, {"n_clusters": 0}),
        (TypeError, "whole number", X, {"n_clusters": 2.5}),
        (ValueError, "alpha=1.5", X, {"alpha": 1.5}),
        (ValueError, "alpha=-0.1", X, {"alpha": -0.1}),
        (ValueError, "alpha=nan", X, {"alpha": float("nan")}),
        (TypeError, "alpha='x'", X, {"alpha": "x"}),
        (ValueError, "tie_tolerance", X, {"tie_tolerance": -1}),
        (ValueError, "max_distance", X, {"max_distance": -1}),
        (ValueError, "max_level", X, {"max_level": -1}),
        (ValueError, "contradict", X, {"n_clusters": 2, "max_distance": 1.0}),
        (ValueError, "contradict", X, {"n_clusters": 2, "max_level": 1}),
        (ValueError, ["'avrage'", "did you mean 'average'"], X, {"criterion": "avrage"}),
        (ValueError, "did you mean 'euclidean'", X, {"metric": "euklidean"}),
        (ValueError, "did you mean 'literal'", X, {"engine": "litteral"}),
        (ValueError, "compares points in space", X, {"metric": "cityblock"}),
        (ValueError, "unit length", X, {"metric": "cosine"}),
        (ValueError, "shape (3,) for 20 rows", X, {"weights": [1, 2, 3]}),
        (ValueError, "row 4", X, {"weights": [1, 1, 1, 1, 0] + [1] * 15}),
        (TypeError, "one number per row", X, {"weights": "heavy"}),
        (TypeError, "one number per row", X, {"weights": ["1"] * 20}),
        (TypeError, "one number per row", X, {"weights": [10**400] * 20}),
        (ValueError, "overflow", X * 1e160, {}),
        (ValueError, "overflow", D * 1e160, {"metric": "precomputed"}),
        (ValueError, "overflow", D * 1e306, {"metric": "precomputed", "criterion": "average"}),
        (ValueError, "overflow", D * 1e305, {"metric": "precomputed", "criterion": "weighted"}),
        (ValueError, "overflow", X * 1e160, {"metric": "euclidean", "criterion": "single"}),
        (ValueError, "overflow", X * 1e305, {"metric": "cityblock", "criterion": "average"}),
        (ValueError, "overflow", X * 1e305, {"metric": "chebyshev", "criterion": "weighted"}),
        (ValueError, "overflow", X, {"metric": lambda a, b: 1e306 * abs(a - b).sum(), "criterion": "average"}),
        (ValueError, "number of 1329 bits at row 0", [[10**400]], {}),
        (TypeError, "of type NoneType", None, {}),
        (TypeError, ["of type dict", "turn it into a list"], {"a": [1, 2]}, {}),
        (TypeError, "of type set", {1, 2}, {}),
        (TypeError, "of type generator", (row for row in [[1.0], [2.0]]), {}),
        (TypeError, ["of type LazyFrame", "X.collect()"], pl.LazyFrame({"a": [1.0]}), {}),
        (TypeError, "of type object", object(), {}),
        (TypeError, ["Unknown engine [1]", "literal"], X, {"engine": [1]}),
        (TypeError, ["Unknown engine None", "literal"], X, {"engine": None}),
        (ValueError, "n_jobs=0", X, {"n_jobs": 0}),
        (ValueError, "Unknown metric None", X, {"metric": None}),
        (ValueError, "called 'a'", pd.DataFrame(X[:, :2], columns=["a", "a"]), {}),
        (ValueError, "mahalanobis", np.ones((2, 3)), {"metric": "mahalanobis", "criterion": "average"}),
        (TypeError, "progress", X, {"progress": 3}),
    ],
)
def test_bad_input_gets_an_error_in_three_parts(error, words, data, options):
    refuses(error, words, data, **options)


def test_a_metric_that_gives_no_number_names_the_two_rows():
    refuses(ValueError, ["rows 0 and 1", "nan"], X, "average", metric=lambda a, b: float("nan"))


def test_a_metric_that_fails_names_the_two_rows_and_keeps_the_reason():
    def metric(a, b):
        if (b == X[5]).all():
            raise KeyError("no such row")
        return abs(a - b).sum()

    with pytest.raises(ValueError, match=r"'metric' fails for rows 0 and 5 \(KeyError.*Allowed: .*Next: ") as caught:
        reliac.cluster(X, "average", metric=metric)
    assert isinstance(caught.value.__cause__, KeyError)
    refuses(ValueError, ["'<lambda>' fails for rows 0 and 1"], X, "average", metric=lambda a, b: "far")


def test_a_function_of_the_whole_table_is_told_how_its_distances_are_passed():
    with pytest.raises(ValueError, match=r"^Metric 'cosine_distances' fails .*whole table gives\.$"):  # in one line
        reliac.cluster(X, "average", metric=cosine_distances)


def test_bad_options_are_refused_before_the_data_is_looked_at():
    class Untouchable:
        def __array__(self, *args, **kwargs):
            raise AssertionError("the data was read")

    refuses(ValueError, "criterion", Untouchable(), "wart")


def test_what_cannot_fit_into_memory_is_refused_at_once(monkeypatch):
    monkeypatch.setattr("reliac.engines.choice.free_memory", lambda: 1000)
    monkeypatch.setattr("reliac.engines.choice.LITTLE", 0)
    with pytest.raises(MemoryError, match=r"20 objects needs about .* are free\.\nNext: "):
        reliac.cluster(X)


def test_an_unknown_name_of_the_package_lists_the_known_ones():
    with pytest.raises(AttributeError, match="cluster"):
        reliac.nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("X", "metric", "advice"),
    [
        ([[0.0, 1.0], [np.nan, 2.0]], "euclidean", "nan_euclidean"),
        ([[0.0, 1.0], [np.inf, 2.0]], "euclidean", "put a finite number there"),
        ([[0.0, np.nan], [np.nan, 0.0]], "precomputed", "cluster_edges"),
        ([1.0, np.nan, 2.0], "precomputed", "cluster_edges"),
    ],
)
def test_what_is_no_number_is_refused_with_advice_that_fits(X, metric, advice):
    with pytest.raises(ValueError, match=advice):
        reliac.cluster(X, metric=metric)
