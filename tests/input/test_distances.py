"""Given distances: rounding is forgiven, names must agree, and what cannot be Euclidean is noted."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import CRITERIA, GEOMETRIC, blobs
from reliac.cli.columns import Choices
from reliac.input import distances
from reliac.input.objects import make_distances
from reliac.native.library import address, library

X = blobs(0, n=20, d=3)
D = squareform(pdist(X))

# --- Euclidean or not ---


@pytest.mark.skipif(library() is None, reason="the package was built without a C compiler")
@pytest.mark.parametrize("n", [2, 3, 30, 64, 65, 200])
@pytest.mark.parametrize("form", [pdist, lambda rows: squareform(pdist(rows))], ids=["condensed", "square"])
def test_c_code_is_sure_of_points_and_of_nothing_that_has_a_negative_eigenvalue(n, form):
    rng = np.random.default_rng(n)
    objects = distances._looked_at(n)

    def sure(given):
        across = n if given.ndim == 2 else 0
        call = library().reliac_surely_points
        return bool(call(n, address(given), across, len(objects), address(objects), 1e-8))

    for columns in (1, 2, 10, 300):
        assert sure(form(rng.normal(size=(n, columns)) * 10.0 ** rng.integers(-5, 5)))
    for rows in (rng.normal(size=(n, 3)) for _ in range(5)):
        given = squareform(np.sqrt(pdist(rows, "cityblock")) ** rng.uniform(1.0, 4.0))  # from points to no points
        some = given[np.ix_(objects, objects)] ** 2
        centred = -0.5 * (some - some.mean(0) - some.mean(1)[:, None] + some.mean())
        lowest, *_, highest = np.linalg.eigvalsh(centred)
        given = given if form is not pdist else squareform(given, checks=False)
        assert not sure(given) or lowest >= -1e-8 * highest


def swapped(given):
    """Distances of points, but with two entries swapped."""
    wrong = given.copy()
    low = np.unravel_index(np.where(given > 0, given, np.inf).argmin(), given.shape)
    high = np.unravel_index(given.argmax(), given.shape)
    for (i, j), (k, m) in ((low, high), (high, low)):
        wrong[i, j] = wrong[j, i] = given[k, m]
    return wrong


def graph_distances():
    """The steps between the corners of a star: of no points, though they obey the triangle inequality."""
    steps = np.full((8, 8), 2.0)
    steps[0] = steps[:, 0] = 1.0
    np.fill_diagonal(steps, 0)
    return steps


@pytest.mark.parametrize("form", ["square", "condensed"])
@pytest.mark.parametrize("criterion", GEOMETRIC)
@pytest.mark.parametrize("given", [swapped(D), graph_distances(), squareform(pdist(X, "cityblock"))])
def test_distances_that_cannot_be_euclidean_are_noted_once_before_the_run(criterion, given, form):
    given = given if form == "square" else squareform(given)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reliac.cluster(given, criterion, metric="precomputed")
    noted = [warning for warning in caught if warning.category is reliac.NotEuclideanWarning]
    assert len(noted) == 1
    assert noted[0].filename == __file__
    for part in ("cannot be Euclidean", ". Allowed: ", ". Next: use "):
        assert part in str(noted[0].message)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_euclidean_distances_are_not_noted(criterion, dtype, d):
    given = pdist(np.random.default_rng(d).normal(size=(60, d)) + 100).astype(dtype)
    reliac.cluster(given, criterion, metric="precomputed", n_clusters=50)  # warnings are errors here


@pytest.mark.parametrize("criterion", sorted(set(CRITERIA) - set(GEOMETRIC)))
def test_criteria_that_do_not_speak_of_points_take_any_distances_without_a_note(criterion):
    reliac.cluster(swapped(D), criterion, metric="precomputed")


def test_of_many_objects_some_evenly_spaced_ones_are_looked_at(monkeypatch):
    monkeypatch.setattr(distances, "OBJECTS_LOOKED_AT", 10)
    with pytest.warns(reliac.NotEuclideanWarning):
        distances.note_if_not_euclidean(squareform(pdist(X, "cityblock")), 20, "ward", 1)
    distances.note_if_not_euclidean(pdist(X), 20, "ward", 1)


@pytest.mark.parametrize("metric", ["cityblock", "sqeuclidean", "cosine", "chebyshev", "canberra", "noisy"])
def test_of_many_objects_those_looked_at_tell_other_kinds_of_distances(metric):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1000, 10))
    given = pdist(points, "euclidean" if metric == "noisy" else metric)
    if metric == "noisy":
        given *= 1 + 1e-6 * rng.normal(size=len(given))
    with pytest.warns(reliac.NotEuclideanWarning):
        distances.note_if_not_euclidean(given, 1000, "ward", 1)
    distances.note_if_not_euclidean(pdist(points), 1000, "ward", 1)


def test_the_look_at_the_distances_stops_at_64_objects(monkeypatch):
    seen = []
    monkeypatch.setattr(np.linalg, "eigvalsh", lambda matrix: seen.append(len(matrix)) or np.ones(2))
    distances.note_if_not_euclidean(np.zeros((900, 900)), 900, "ward", 1)
    assert seen == [64]


# --- rounding ---


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_negative_numbers_that_are_rounding_count_as_zero(dtype):
    rows = blobs(3, n=30) / 10
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    given = (1 - unit.astype(dtype) @ unit.astype(dtype).T).astype(dtype)
    given[0, 1] = given[1, 0] = -5e-9 * given.max()
    given[4, 4] = -5e-9 * given.max()
    tree = reliac.cluster(given, "average", metric="precomputed")
    assert tree.problem.objects.matrix.min() == 0
    assert not tree.problem.objects.matrix.diagonal().any()
    condensed = reliac.cluster(squareform(given, checks=False), "average", metric="precomputed")
    assert condensed.problem.objects.matrix.min() == 0
    assert given.min() < 0  # the user's matrix stays as it was


def test_rounding_is_measured_by_the_largest_distance():
    given = np.array([[1e-7, 1e-6, 100.0], [1.1e-6, 0.0, 100.0], [100.0, 100.0, 0.0]])
    assert reliac.cluster(given, "single", metric="precomputed").links["distance"][0] == pytest.approx(1.05e-6)
    for place in ((0, 1), (0, 0)):
        wrong = given.copy()
        wrong[place] += 1e-5
        with pytest.raises(ValueError, match=r"Not symmetric|to itself"):
            reliac.cluster(wrong, "single", metric="precomputed")
    wrong = given.copy()
    wrong[0, 1] = wrong[1, 0] = -1e-5
    with pytest.raises(ValueError, match="Negative distance"):
        reliac.cluster(wrong, "single", metric="precomputed")


@pytest.mark.parametrize("place", [(0, 1), (3, 1100), (1100, 3), (700, 701), (1199, 0), (1198, 1199)])
@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "NaN"), (-np.inf, "infinity"), (-1.0, "Negative distance"), (9.0, "Not symmetric")]
)
def test_one_wrong_number_is_found_wherever_it_is_in_a_large_matrix(place, value, words):
    given = np.ones((1200, 1200))
    np.fill_diagonal(given, 0.0)
    given[place] = value
    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match=words):
            reliac.cluster(given, "average", metric="precomputed", n_jobs=n_jobs)


@pytest.mark.parametrize("n", [1, 2, 8, 31, 32, 33, 77, 200])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_extremes_of_a_square_matrix_and_its_last_bits_are_seen_with_and_without_c_code(n, order, monkeypatch):
    rng = np.random.default_rng(n)
    half = np.triu(rng.random((n, n)) + 1.0, 1)
    given = np.asarray(half + half.T, order=order)
    for native in {library(), None}:
        monkeypatch.setattr(distances, "library", lambda native=native: native)
        assert distances._look_through(given, 2) == (0.0, given.max(), True)
        for i, j in rng.integers(0, n, (20, 2)):
            other = given.copy(order="K")
            other[i, j] = np.nextafter(other[i, j], 9.0)
            assert distances._look_through(other, 1) == (other.min(), other.max(), i == j)


@pytest.mark.parametrize("place", [0, 2**16 + 1, 2**22 - 1, 2**22, 5_000_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_wrong_number_is_found_wherever_it_is_in_a_long_condensed_matrix(place, dtype):
    n = 3201
    given = np.ones(n * (n - 1) // 2, dtype)
    for value, words in ((np.nan, f"NaN .first at position {place}"), (-1.0, f"Negative distance -1.0 at {place}")):
        given[place] = value
        with pytest.raises(ValueError, match=words):
            distances.check_given(given, n_jobs=2)
    given[place] = 7.0
    found = make_distances(given, n_jobs=2)
    assert (found.n, found.largest) == (n, 7.0)


# --- names ---

NAMES = ["a", "b", "c"]
SQUARE = [[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [4.0, 2.0, 0.0]]


@pytest.mark.parametrize(
    ("frame", "names"),
    [
        (pd.DataFrame(SQUARE), None),
        (pd.DataFrame(SQUARE, index=NAMES), NAMES),
        (pd.DataFrame(SQUARE, columns=NAMES), NAMES),
        (pd.DataFrame(SQUARE, index=NAMES, columns=NAMES), NAMES),
        (pd.DataFrame(SQUARE, index=[7, 3, 5], columns=[7, 3, 5]), ["7", "3", "5"]),
        (pl.DataFrame(SQUARE), None),
        (pl.DataFrame(SQUARE, schema=NAMES, orient="row"), NAMES),
        (pl.DataFrame({"name": NAMES, "a": SQUARE[0], "b": SQUARE[1], "c": SQUARE[2]}), NAMES),
    ],
)
def test_frames_of_distances_take_their_names_from_rows_or_columns(frame, names):
    tree = reliac.cluster(frame, "single", metric="precomputed")
    assert (None if tree.names is None else tree.names.tolist()) == names


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(SQUARE, index=NAMES, columns=["a", "c", "b"]),
        pd.DataFrame(SQUARE, index=NAMES, columns=["a", "b", "x"]),
        pd.DataFrame(SQUARE, index=[7, 3, 5], columns=[3, 5, 7]),
        pl.DataFrame({"name": NAMES, "a": SQUARE[0], "c": SQUARE[1], "b": SQUARE[2]}),
    ],
)
def test_frames_of_distances_whose_rows_and_columns_have_other_names_are_refused(frame):
    with pytest.raises(ValueError, match=r"Row \d of the distances is .*Allowed: .*Next: "):
        reliac.cluster(frame, "single", metric="precomputed")


def test_files_of_distances_follow_the_same_rule(tmp_path):
    from reliac.cli.reading import read_table

    (tmp_path / "d.csv").write_text(",a,b,x\na,0,1,4\nb,1,0,2\nc,4,2,0\n")
    with pytest.raises(ValueError, match=r"Row 3 of the distances is 'c', column 3 'x'"):
        read_table(str(tmp_path / "d.csv"), None, Choices(distances=True))
    named = read_table(str(tmp_path / "d.csv"), None, Choices(distances=True, name_column="1"))
    assert named.names.tolist() == ["a", "b", "c"]
