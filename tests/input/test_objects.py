"""The kinds of input: every method of both, and names."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import GEOMETRIC, blobs
from reliac.algorithm.criteria import CRITERIA
from reliac.errors import InvariantError
from reliac.input.objects import Distances, Vectors, make_objects, rows_of

X = blobs(0, n=9, d=3)
FLAT = pdist(X)
SQUARE = squareform(FLAT)
NAMES = np.array([f"object {i}" for i in range(9)])
SOME = np.array([1, 4, 8])

VECTORS = {"dense": Vectors(X, names=NAMES), "sparse": Vectors(sparse.csr_array(X), names=NAMES)}
DISTANCES = {
    "square": Distances(SQUARE, FLAT.max(), names=NAMES),
    "condensed": Distances(FLAT, FLAT.max(), names=NAMES),
}
KINDS = [*VECTORS.values(), *DISTANCES.values()]
ONES = np.ones(9)

every_kind = pytest.mark.parametrize("objects", KINDS, ids=[*VECTORS, *DISTANCES])


# --- what both kinds do ---


@every_kind
def test_objects_know_how_many_they_are(objects):
    assert objects.n == 9


@every_kind
def test_a_subset_has_its_objects_distances_and_names(objects):
    part = objects.subset(SOME)
    assert type(part) is type(objects)
    assert part.n == 3
    assert part.names.tolist() == NAMES[SOME].tolist()
    np.testing.assert_allclose(part.condensed_distances("euclidean"), squareform(SQUARE[np.ix_(SOME, SOME)]))


@every_kind
def test_a_subset_of_objects_without_names_has_none(objects):
    assert type(objects)(*(getattr(objects, name) for name in FIELDS[type(objects)])).subset(SOME).names is None


FIELDS = {Vectors: ["rows"], Distances: ["matrix", "largest"]}


@every_kind
def test_the_fingerprint_of_the_data_follows_the_values(objects):
    print_of = objects.data_fingerprint()
    assert print_of == objects.named([str(i) for i in range(9)]).data_fingerprint()
    assert print_of != objects.subset(np.arange(8)).data_fingerprint()


def test_the_fingerprint_of_the_data_does_not_follow_what_holds_them():
    assert Vectors(X).data_fingerprint() == Vectors(np.asfortranarray(X)).data_fingerprint()
    assert DISTANCES["square"].data_fingerprint() == DISTANCES["condensed"].data_fingerprint()
    assert Vectors(SQUARE).data_fingerprint() != DISTANCES["square"].data_fingerprint()


@every_kind
def test_the_exact_fingerprint_follows_options_further_arrays_and_every_byte(objects):
    prints = {
        objects.exact_fingerprint("ward", ONES),
        objects.exact_fingerprint("single", ONES),
        objects.exact_fingerprint("ward", 2 * ONES),
        objects.subset(np.arange(8)).exact_fingerprint("ward", ONES),
    }
    assert len(prints) == 4
    assert objects.exact_fingerprint("ward", ONES) in prints


def test_the_exact_fingerprint_follows_the_type_of_the_numbers():
    whole = np.arange(12).reshape(4, 3)
    assert Vectors(whole).exact_fingerprint("") != Vectors(whole.astype(float)).exact_fingerprint("")


@every_kind
@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=list(CRITERIA))
def test_base_distances_are_a_new_square_matrix_squared_where_squares_give_the_same_tree(objects, criterion):
    base = objects.base_distances(criterion, "euclidean")
    squares = GEOMETRIC if isinstance(objects, Distances) else (*GEOMETRIC, "single", "complete")
    np.testing.assert_allclose(base, SQUARE**2 if criterion.name in squares else SQUARE, atol=1e-12)
    base[:] = -1.0  # nobody else has it
    np.testing.assert_allclose(objects.condensed_distances("euclidean"), FLAT)


def test_base_distances_of_given_float32_stay_float32_where_they_are_only_compared():
    given = Distances(FLAT.astype(np.float32), FLAT.max())
    assert given.base_distances(CRITERIA["complete"], "precomputed").dtype == np.float32
    assert given.base_distances(CRITERIA["ward"], "precomputed").dtype == np.float64


@every_kind
def test_condensed_distances_are_scipys_whatever_the_criterion(objects):
    found = objects.condensed_distances("euclidean")
    np.testing.assert_allclose(found, FLAT)
    assert found.dtype == np.float64


@every_kind
def test_neither_kind_may_end_in_a_forest_and_each_says_how_to_fit_into_memory(objects):
    assert objects.may_end_in_forest is False
    assert "sample" in objects.how_to_fit


def test_each_kind_gives_its_own_advice_where_memory_is_short():
    assert "float32 or condensed" in Distances.how_to_fit


# --- what differs ---


def test_compiled_code_depends_on_the_type_and_the_form_of_given_distances_only():
    frozen = FLAT.copy()
    frozen.setflags(write=False)
    given = [SQUARE, FLAT, FLAT.astype(np.float32), frozen]
    assert len({Distances(matrix, 1.0).number_type for matrix in given}) == 4
    assert {Vectors(rows).number_type for rows in (X, X.astype(np.float32), sparse.csr_array(X))} == {""}


@pytest.mark.parametrize(
    ("objects", "metric", "wanted"),
    [
        (VECTORS["dense"], "euclidean", True),
        (VECTORS["dense"], "sqeuclidean", True),
        (VECTORS["dense"], "cosine", False),
        (VECTORS["dense"], max, False),
        (VECTORS["sparse"], "euclidean", False),
        (DISTANCES["square"], "precomputed", False),
    ],
)
def test_points_are_a_dense_table_compared_by_euclidean_distances(objects, metric, wanted):
    assert objects.are_points(metric) is wanted


def test_objects_at_distance_0_are_equal_for_metrics_that_we_know():
    assert VECTORS["dense"].equal_at_zero("cityblock")
    assert not VECTORS["dense"].equal_at_zero(lambda a, b: 0.0)
    assert not DISTANCES["square"].equal_at_zero("precomputed")


def test_the_range_of_distances_is_known_before_a_run_unless_the_metric_hides_it():
    assert VECTORS["dense"].is_bounded("euclidean")
    assert not VECTORS["dense"].is_bounded("canberra")
    assert not VECTORS["dense"].is_bounded(max)
    assert DISTANCES["square"].is_bounded("precomputed")


def test_vectors_whose_squares_overflow_are_refused_by_their_span():
    huge, ward = Vectors(X * 1e160), CRITERIA["ward"]
    with pytest.raises(ValueError, match=r"Squares overflow: the span of the data.*Allowed: .*Next: "):
        huge.check_range(ward, "euclidean", ONES)
    huge.check_range(CRITERIA["complete"], "cityblock", ONES)  # no squares, no sums over pairs
    huge.check_range(CRITERIA["average"], "canberra", ONES)  # looked at when the distances are there
    Vectors(X).check_range(ward, "euclidean", ONES)


def test_given_distances_whose_sums_overflow_are_refused_where_they_are_added():
    huge = Distances(FLAT * 1e305, FLAT.max() * 1e305)
    with pytest.raises(ValueError, match=r"Sums overflow: the largest given distance.*Allowed: .*Next: "):
        huge.check_range(CRITERIA["average"], "precomputed", ONES)
    huge.check_range(CRITERIA["complete"], "precomputed", ONES)
    with pytest.raises(ValueError, match="Products of weights underflow"):
        DISTANCES["square"].check_range(CRITERIA["ward"], "precomputed", ONES * 1e-100)


def test_only_given_distances_that_no_points_can_have_are_warned_about_and_only_for_points():
    odd = Distances(np.array([1.0, 1.0, 9.0]), 9.0)
    with pytest.warns(reliac.NotEuclideanWarning):
        odd.warn_if_unfit(CRITERIA["ward"], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        odd.warn_if_unfit(CRITERIA["average"], 1)
        for objects in KINDS:
            objects.warn_if_unfit(CRITERIA["ward"], 1)


def test_the_warning_points_at_the_line_of_the_user():
    with pytest.warns(reliac.NotEuclideanWarning) as caught:
        reliac.cluster([1.0, 1.0, 9.0], "ward", metric="precomputed")
    assert caught[0].filename == __file__


def test_only_vectors_have_rows_for_an_engine():
    assert rows_of(VECTORS["dense"]) is X
    assert VECTORS["sparse"].sparse
    assert not VECTORS["dense"].sparse
    with pytest.raises(InvariantError, match="Distances: please report"):
        rows_of(DISTANCES["square"])


# --- how they are made ---


def test_the_metric_says_which_kind_is_meant_and_nothing_is_copied():
    vectors, square = make_objects(X, "euclidean"), make_objects(SQUARE, "precomputed")
    assert isinstance(vectors, Vectors)
    assert vectors.rows is X
    assert isinstance(square, Distances)
    assert square.matrix is SQUARE
    assert square.largest == SQUARE.max()
    assert isinstance(make_objects(FLAT, "precomputed"), Distances)


def test_objects_cannot_be_changed():
    for objects in KINDS:
        with pytest.raises(AttributeError, match="cannot assign"):
            objects.names = None


@pytest.mark.parametrize("data", [X, pd.DataFrame(X, index=list("abcdefghi"))])
def test_names_travel_with_the_problem_and_replace_those_of_a_frame(data):
    names = NAMES.tolist()
    tree = reliac.cluster(data, names=names)
    assert tree.names.tolist() == names
    assert tree.problem.objects.names.tolist() == names
    assert tree.clusters(n_clusters=9, named=True)[3].tolist() == ["object 3"]


def test_names_are_texts_of_their_own_whatever_holds_them():
    mine = NAMES.copy()
    tree = reliac.cluster(SQUARE, "average", metric="precomputed", names=mine)
    mine[0] = "changed"
    assert tree.names[0] == "object 0"
    assert reliac.cluster(X, names=range(9)).names.tolist() == [str(i) for i in range(9)]
    assert reliac.cluster(X, names=pd.Index(NAMES)).names.tolist() == NAMES.tolist()


def test_names_are_there_when_a_run_is_interrupted_and_when_a_part_is_developed():
    def stop(state):
        raise KeyboardInterrupt

    with pytest.raises(reliac.Interrupted) as caught:
        reliac.cluster(X, names=NAMES, progress=stop)
    tree = caught.value.tree
    assert tree.names.tolist() == NAMES.tolist()
    assert tree.develop(0).names.tolist() == NAMES[tree.labels() == 0].tolist()


@pytest.mark.parametrize("names", [NAMES[:8], "abcdefghi", 9, NAMES[:, None], [], {"a": 1}])
def test_names_that_are_not_one_for_every_object_are_refused(names):
    with pytest.raises(ValueError, match=r"for 9 objects\. Allowed: one name for every object\. Next: "):
        reliac.cluster(X, names=names)
