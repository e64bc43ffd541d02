"""Tables with gaps and columns of several types: their distances by a literal definition, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics.pairwise import nan_euclidean_distances

import reliac
from reliac.cli import main
from reliac.input.metrics import pairwise, pairwise_condensed, whole_rows
from reliac.input.objects import make_objects

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

ORDER = ["low", "middle", "high", "top"]
OPTIONS = {"metric": "gower"}


def mixed_frame(rng, n, gaps=0.2):
    """Columns of every type that pandas has for them, with gaps; a value of every row stays."""
    columns = {
        "whole": pandas.array(rng.integers(0, 7, n), dtype="Int64"),
        "real": rng.normal(size=n),
        "small": rng.integers(0, 3, n).astype(np.float32),
        "flag": pandas.array(rng.integers(0, 2, n).astype(bool), dtype="boolean"),
        "kind": pandas.Categorical(rng.choice(["a", "b", "c"], n)),
        "rank": pandas.Categorical(rng.choice(ORDER, n), ORDER, ordered=True),
        "text": rng.choice(["x", "y", "zz"], n).astype(object),
    }
    frame = pandas.DataFrame(columns)
    frame["const"] = 3
    for column in list(frame.columns)[:-1]:
        frame.loc[rng.random(n) < gaps, column] = None
    return frame


def literal(frame, p, q):
    """Gower's distance of two rows as it is defined, in fractions."""
    total, count = Fraction(0), 0
    for column in frame.columns:
        series = frame[column]
        a, b = series[p], series[q]
        if pandas.isna(a) or pandas.isna(b):
            continue
        count += 1
        if column in ("flag", "kind", "text"):
            total += a != b
            continue
        values = [ORDER.index(x) for x in series.dropna()] if column == "rank" else list(series.dropna())
        a, b = (ORDER.index(a), ORDER.index(b)) if column == "rank" else (a, b)
        span = Fraction(float(max(values))) - Fraction(float(min(values)))
        total += abs(Fraction(float(a)) - Fraction(float(b))) / span if span else 0
    return total / count if count else None


def test_gower_is_the_literal_definition_for_columns_of_every_type():
    rng = np.random.default_rng(0)
    for n, gaps in [(2, 0.0), (12, 0.0), (15, 0.3), (15, 0.6)]:
        frame = mixed_frame(rng, n, gaps)
        table = make_objects(frame, "gower").rows
        found = pairwise(table, "gower")
        wanted = np.array([[float(literal(frame, p, q)) for q in range(n)] for p in range(n)])
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15)
        assert (found == found.T).all()


def test_gower_distances_that_are_equal_on_paper_are_equal_in_floats():
    rng = np.random.default_rng(1)
    frame = mixed_frame(rng, 30, 0.3).drop(columns="real")
    rows, columns = np.triu_indices(len(frame), 1)
    found = pairwise_condensed(make_objects(frame, "gower").rows, "gower")
    exact = [literal(frame, p, q) for p, q in zip(rows, columns, strict=True)]
    assert len(set(found.tolist())) == len(set(exact)) < len(found) / 2
    assert len({*zip(exact, found.tolist(), strict=True)}) == len(set(exact))
    assert found.tolist() == [float(value) for value in exact]


def test_large_ranges_that_have_no_common_multiple_are_divided_one_by_one():
    frame = pandas.DataFrame({name: [0, 1, 2, 10**9 + add] for name, add in zip("abcdefg", range(7), strict=True)})
    found = pairwise(make_objects(frame, "gower").rows, "gower")
    np.testing.assert_allclose(found[0], [0, 1e-9, 2e-9, 1], rtol=1e-8)
    assert found[0, 1] == found[1, 2]


def test_polars_and_pandas_columns_mean_the_same():
    rng = np.random.default_rng(2)
    frame = mixed_frame(rng, 20)
    other = polars.DataFrame(
        {
            name: polars.Series(name, [None if pandas.isna(x) else x for x in frame[name]], dtype=dtype)
            for name, dtype in {
                "whole": polars.Int32,
                "real": polars.Float64,
                "small": polars.Float32,
                "flag": polars.Boolean,
                "kind": polars.Categorical,
                "rank": polars.Enum(ORDER),
                "text": polars.String,
                "const": polars.Int64,
            }.items()
        }
    )
    a, b = (reliac.cluster(X, "average", **OPTIONS) for X in (frame, other))
    assert a.links.tolist() == b.links.tolist()
    assert a.fingerprint == b.fingerprint


def test_nan_euclidean_is_scikit_learns():
    rng = np.random.default_rng(3)
    for n, d, gaps in [(2, 3, 0.0), (30, 5, 0.3), (40, 9, 0.5)]:
        X = np.hstack([rng.normal(size=(n, d)), np.ones((n, 1))])
        X[:, :d][rng.random((n, d)) < gaps] = np.nan
        np.testing.assert_allclose(pairwise(X, "nan_euclidean"), nan_euclidean_distances(X), atol=1e-6)
    for table in (X.tolist(), pandas.DataFrame(X), polars.DataFrame(X)):
        assert reliac.cluster(table, "complete", metric="nan_euclidean").n_clusters == 1


@pytest.mark.parametrize("criterion", ["single", "complete", "average", "weighted"])
def test_every_engine_gives_the_tree_of_the_distances(criterion):
    rng = np.random.default_rng(4)
    frame = mixed_frame(rng, 60)
    X = np.hstack([rng.normal(size=(60, 4)), np.ones((60, 1))])
    X[:, :4][rng.random((60, 4)) < 0.2] = np.nan
    tied = np.where(np.isnan(X), np.nan, np.rint(X))
    summed = criterion in ("average", "weighted")  # engines round sums in their own order: there, no ties
    given = [(frame, "gower"), (X, "nan_euclidean")]
    given = given if summed else [(frame.drop(columns="real"), "gower"), (tied, "nan_euclidean"), *given]
    for data, metric in given:
        distances = pairwise(make_objects(data, metric).rows, metric)
        wanted = reliac.cluster(distances, criterion, metric="precomputed", engine="literal").links
        for engine in ["literal", "small", *(["spanning"] if criterion == "single" else ["dense", "matrix", "disk"])]:
            links = reliac.cluster(data, criterion, metric=metric, engine=engine).links
            assert [links[name].tolist() == wanted[name].tolist() for name in ("left", "right", "level")] == [True] * 3
            np.testing.assert_allclose(links["distance"], wanted["distance"], rtol=1e-12 if summed else 0)


def test_parts_of_a_mixed_table_keep_the_ranges_of_the_whole():
    frame = pandas.DataFrame({"a": [0, 1, 2, 3, 10, 12], "b": list("xxyyxy")})
    tree = reliac.cluster(frame, "average", max_level=1, **OPTIONS)
    whole = tree.develop()
    assert whole.links.tolist() == reliac.cluster(frame, "average", **OPTIONS).links.tolist()
    groups = reliac.cluster_groups(frame, [0, 0, 1, 1, 2, 2], "average", **OPTIONS)
    assert groups[0].links["distance"].tolist() == [1 / 24]


def test_a_tree_from_a_file_knows_a_mixed_table_again(tmp_path):
    frame = mixed_frame(np.random.default_rng(5), 12)
    reliac.cluster(frame, "average", max_level=1, **OPTIONS).save(tmp_path / "tree")
    tree = reliac.load(tmp_path / "tree")
    assert tree.develop(X=frame).n_clusters == 1
    with pytest.raises(ValueError, match="other values"):
        tree.develop(X=frame.assign(kind=frame["rank"].cat.codes))


def test_neighbours_and_connectivity_take_mixed_tables():
    frame = mixed_frame(np.random.default_rng(6), 25)
    rows = make_objects(frame, "gower").rows
    assert (whole_rows(rows, "gower")(slice(5, 9)) == pairwise(rows, "gower")[5:9]).all()
    graph = reliac.neighbors(frame, 24, "gower").graph()
    whole = reliac.cluster(frame, "single", **OPTIONS)
    assert np.allclose(reliac.cluster_edges(graph, "single").links["distance"], whole.links["distance"])
    along = reliac.cluster(frame, "single", connectivity=np.ones((25, 25)), **OPTIONS)
    assert np.allclose(along.links["distance"], whole.links["distance"])


# --- what is refused ---

BAD = {
    "two rows without a common value": (
        pandas.DataFrame({"a": [1, None, 2], "b": [None, "x", "y"]}),
        "Rows 0 and 1 have no value in common.*drop row 0 or 1",
    ),
    "dates": (pandas.DataFrame({"d": pandas.to_datetime(["2020-01-01", "2021-01-01"])}), "Column 'd'.*datetime64"),
    "texts beside numbers": (pandas.DataFrame({"m": [1, "x"]}), "Column 'm'.*'x' beside others"),
    "lists": (pandas.DataFrame({"m": [[1], [2]]}), "Column 'm'"),
    "infinity": (pandas.DataFrame({"a": [1.0, np.inf], "b": [1, 2]}), "infinity.*row 1, column 'a'"),
    "numbers too large": (np.array([[1e308], [-1e308]]), "row 0, column '0'"),
    "no columns": (pandas.DataFrame(index=[0, 1]), "0 feature"),
}


@pytest.mark.parametrize("case", BAD)
def test_gower_says_what_it_cannot_compare(case):
    X, words = BAD[case]
    with pytest.raises((ValueError, TypeError), match=words):
        reliac.cluster(X, "average", **OPTIONS)


def test_gaps_are_allowed_with_these_metrics_only():
    X = [[0.0, np.nan], [1.0, 2.0], [np.nan, 3.0]]
    with pytest.raises(ValueError, match="NaN"):
        reliac.cluster(X, "average")
    with pytest.raises(ValueError, match="Rows 0 and 2 have no value in common"):
        reliac.cluster(X, "average", metric="nan_euclidean")
    with pytest.raises(ValueError, match="infinity"):
        reliac.cluster([[np.inf, np.nan], [1.0, 2.0]], "average", metric="nan_euclidean")
    with pytest.raises(ValueError, match="compares points"):
        reliac.cluster(X, "ward", metric="gower")
    with pytest.raises(TypeError, match="sparse"):
        reliac.cluster(pytest.importorskip("scipy.sparse").eye_array(3), "average", metric="gower")


# --- estimators and the command line ---


def test_estimators_take_gaps_and_columns_of_any_type():
    from reliac import ReliableAgglomerativeClustering, ReliableFeatureAgglomeration, ReliableOutlierDetector

    frame = mixed_frame(np.random.default_rng(7), 20)
    X = frame[["real", "const"]].assign(more=np.arange(20.0) ** 1.5)
    for metric, data in [("gower", frame), ("nan_euclidean", X), ("nan_euclidean", X.to_numpy(dtype=float))]:
        model = ReliableAgglomerativeClustering(3, metric=metric, linkage="average").fit(data)
        assert model.labels_.tolist() == reliac.cluster(data, "average", metric=metric).labels(3).tolist()
        weights = np.r_[np.zeros(5), np.ones(15)]
        part = model.fit(data, sample_weight=weights).labels_[5:]
        assert part.tolist() == reliac.cluster(data[5:], "average", metric=metric).labels(3).tolist()
        detector = ReliableOutlierDetector(metric=metric).fit(data)
        assert set(detector.fit_predict(data)) <= {-1, 1}
        if metric == "nan_euclidean":
            assert (detector.score_samples(data) == -detector.outlier_scores_).all()
        else:
            with pytest.raises(ValueError, match="fit_predict on all rows"):
                detector.score_samples(data)
    with pytest.raises(ValueError, match="NaN"):
        ReliableAgglomerativeClustering(linkage="average").fit(X)
    with pytest.raises(ValueError, match="NaN"):
        ReliableFeatureAgglomeration(metric="nan_euclidean", linkage="average").fit(X)


def test_the_command_line_reads_gaps_and_texts(tmp_path, capsys):
    path = tmp_path / "people.csv"
    path.write_text("age,town,score\n20,Rome,1\n30,?,2\n,Paris,3\n60,Paris,3\n25,Rome,1\n")
    assert main(["cluster", str(path), "--metric", "gower", "--criterion", "average", "--clusters", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[-1] for line in lines[1:]] == ["0", "0", "1", "1", "0"]
    frame = pandas.DataFrame({"a": [20, 30, None, 60, 25], "t": ["R", None, "P", "P", "R"], "s": [1, 2, 3, 3, 1]})
    assert reliac.cluster(frame, "average", **OPTIONS).labels(2).tolist() == [0, 0, 1, 1, 0]
    command = ["cluster", str(path), "--metric", "nan_euclidean", "--criterion", "single", "--skip-column", "town"]
    assert main([*command, "--clusters", "2"]) == 0
    assert main([*command, "--standardize"]) == 2
    assert "leave out one of the two" in capsys.readouterr().err
    path.write_text("a,b\n1,x\n2,y\nthree,x\n")
    assert main(["cluster", str(path), "--metric", "gower", "--criterion", "average"]) == 2
    assert "'three' at row 3" in capsys.readouterr().err
