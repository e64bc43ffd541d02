"""Edge tables in databases: every source gives the same tree, names are quoted, and what is wrong is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reliac
from reliac.engines.sql import home
from reliac.input import tables

duckdb, arrow = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")

A, B, DISTANCE = ["x", "y", "u", "x"], ["y", "z", "v", "z"], [1.0, 2.0, 1.0, 3.0]
TABLE = arrow.table({"a": A, "b": B, "distance": DISTANCE})


def clusters(tree: Any) -> list[list[str]]:
    return [cluster.tolist() for cluster in tree.clusters(named=True)]


def write(folder: Path) -> None:
    from pyarrow import csv, parquet

    parquet.write_table(TABLE[:2], folder / "one.parquet")
    parquet.write_table(TABLE[2:], folder / "two.parquet")
    csv.write_csv(TABLE, folder / "edges.csv")


def test_every_source_gives_the_same_tree_in_a_database_and_in_memory(tmp_path: Path) -> None:
    from pyarrow import dataset

    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    write(tmp_path)
    connection = duckdb.connect()
    connection.register("arrow_edges", TABLE)
    connection.execute("CREATE TABLE edges AS SELECT * FROM arrow_edges")
    sources = {
        "pattern": (str(tmp_path / "*.parquet"), None),
        "csv": (tmp_path / "edges.csv", None),
        "dataset": (dataset.dataset([tmp_path / "one.parquet", tmp_path / "two.parquet"]), None),
        "arrow": (TABLE, None),
        "arrays": ((A, B, DISTANCE), None),
        "pandas": (pandas.DataFrame({"a": A, "b": B, "distance": DISTANCE}), None),
        "polars": (polars.DataFrame({"a": A, "b": B, "distance": DISTANCE}), None),
        "relation": (connection.sql("SELECT * FROM edges"), None),
        "table": ("edges", connection),
        "table with its schema": ("main.edges", connection),
    }
    for name, (source, given) in sources.items():
        for engine in ("sql", "graph"):
            tree = reliac.cluster_edges(source, "single", connection=given, engine=engine)
            assert clusters(tree) == [["u", "v"], ["x", "y", "z"]], name
            assert tree.links["distance"].tolist() == [1.0, 1.0, 2.0], name
            assert tree.engine == ("graph" if engine == "graph" else "sql (DuckDB)")


def test_print_says_which_engine_runs_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "engine sql (DuckDB) (asked for; 4 edges" in repr(reliac.cluster_edges(TABLE, engine="sql"))
    connection = duckdb.connect()
    assert "its connection was given" in repr(reliac.cluster_edges(TABLE, connection=connection))
    assert "DuckDB" not in repr(reliac.cluster_edges(TABLE))
    monkeypatch.setattr(tables, "SHARE", 0.0)
    assert "the edges need about" in repr(reliac.cluster_edges(TABLE))


def test_names_of_columns_and_tables_are_quoted_never_pasted() -> None:
    columns = ['a"; DROP TABLE keep; --', "b' OR 1=1", 'd`is"tance']
    hostile = arrow.table(dict(zip(columns, (A, B, DISTANCE), strict=True)))
    connection = duckdb.connect()
    connection.execute("CREATE TABLE keep AS SELECT 1 AS one")
    connection.register("hostile", hostile)
    connection.execute('CREATE TABLE "ed""ges; DROP TABLE keep" AS SELECT * FROM hostile')
    for source in (hostile, 'ed"ges; DROP TABLE keep'):
        tree = reliac.cluster_edges(source, "single", columns=columns, connection=connection)
        assert clusters(tree) == [["u", "v"], ["x", "y", "z"]]
    assert connection.execute("SELECT one FROM keep").fetchall() == [(1,)]


def test_names_are_kept_in_their_order_and_whole_numbers_as_they_are() -> None:
    for ends in ([10**12, -5], [7, 3]), (["b", "ä"], ["a", "Z"]), ([0, 1], [2, 1]):
        expected = reliac.cluster_edges((*ends, [1.0, 2.0]), "average", missing=5.0)
        tree = reliac.cluster_edges((*ends, [1.0, 2.0]), "average", missing=5.0, engine="sql")
        assert tree.object_names.tolist() == expected.object_names.tolist()
        assert np.array_equal(tree.links, expected.links)


def test_objects_without_an_edge_come_from_a_list_or_a_second_table() -> None:
    connection = duckdb.connect()
    connection.register("everybody", arrow.table({"name": ["x", "y", "z", "u", "v", "w"]}))
    connection.execute("CREATE TABLE people AS SELECT * FROM everybody")
    tree = reliac.cluster_edges(TABLE, "single", objects=["w", "x", "y", "z", "u", "v"], engine="sql")
    assert clusters(tree) == [["w"], ["x", "y", "z"], ["u", "v"]]
    for objects in ("people", connection.sql("SELECT * FROM people")):
        tree = reliac.cluster_edges(TABLE, "single", objects=objects, connection=connection)
        assert clusters(tree) == [["u", "v"], ["w"], ["x", "y", "z"]]
    with pytest.raises(ValueError, match=r"An edge names 'x'.* Next: add it there"):
        reliac.cluster_edges(TABLE, objects=["y", "z", "u", "v"], engine="sql")
    with pytest.raises(ValueError, match="lists an object twice"):
        reliac.cluster_edges(TABLE, objects=["x", "x"], engine="sql")


def test_similarities_loops_and_duplicates_mean_what_they_mean_in_memory(caplog: pytest.LogCaptureFixture) -> None:
    edges = (["p", "q", "q", "r"], ["q", "p", "r", "r"], [0.9, 0.7, 0.25, 1.0])
    with pytest.raises(ValueError, match=r"\('p', 'q'\) has the distances .*duplicates='min'"):
        reliac.cluster_edges(edges, "single", engine="sql")
    for rule in ("min", "max", "mean"):
        for similarity in (False, True):
            options: dict[str, Any] = {"duplicates": rule, "similarity": similarity}
            tree = reliac.cluster_edges(edges, "single", engine="sql", **options)
            assert np.array_equal(tree.links, reliac.cluster_edges(edges, "single", **options).links), options
    assert "1 edges from an object to itself were dropped" in caplog.text


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ({"a": ["x"], "c": ["y"], "distance": [1.0]}, "columns a, c, distance.*columns a, b, distance"),
        ({"a": ["x", None], "b": ["y", "z"], "distance": [1.0, 2.0]}, "edge from None to 'z'"),
        ({"a": ["x", "x"], "b": ["y", "z"], "distance": [1.0, None]}, "edge from 'x' to 'z' has the distance None"),
        ({"a": ["x", "x"], "b": ["y", "z"], "distance": [1.0, np.nan]}, "'x' to 'z' has the distance nan"),
        ({"a": ["x", "x"], "b": ["y", "z"], "distance": [1.0, -2.0]}, "'x' to 'z' has the distance -2.0"),
        ({"a": ["x", "x"], "b": ["y", "z"], "distance": [1.0, np.inf]}, "'x' to 'z' has the distance inf"),
        ({"a": ["x"], "b": [1], "distance": [1.0]}, "different types, string and int64"),
        ({"a": ["x"], "b": ["y"], "distance": ["far"]}, "Distances that are no numbers"),
        ({"a": [0], "b": [1], "distance": [1.0], "objects": range(1)}, "An edge names 1"),
        ({"a": [], "b": [], "distance": []}, "Distances that are no numbers|without a row"),
    ],
)
def test_a_bad_edge_table_is_refused_with_an_example(edges: dict[str, Any], message: str) -> None:
    objects = edges.pop("objects", None)
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        reliac.cluster_edges(arrow.table(edges), engine="sql", objects=objects)
    assert " Allowed: " in str(caught.value)
    assert " Next: " in str(caught.value)


def test_an_empty_table_is_refused() -> None:
    empty = TABLE.slice(0, 0)
    with pytest.raises(ValueError, match="without a row"):
        reliac.cluster_edges(empty, engine="sql")
    tree = reliac.cluster_edges(empty, engine="sql", objects=["x", "y"])
    assert tree.n_clusters == 2


def test_what_a_database_cannot_do_is_said_in_three_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = duckdb.connect()
    closed.close()
    calls: list[tuple[Any, dict[str, Any], str]] = [
        (TABLE, {"connection": closed}, "Next: open the connection again"),
        ("nobody", {"connection": duckdb.connect()}, "Next: check the name of the table"),
        ("nobody", {"engine": "sql"}, "the extensions .parquet"),
        (tmp_path / "none.parquet", {"engine": "sql"}, "There is no file"),
        (str(tmp_path / "*.parquet"), {}, "There is no file"),
        (tmp_path, {"engine": "sql"}, "the extensions"),
        (TABLE, {"connection": 3}, "connection of type int"),
        (TABLE, {"engine": "sql", "weights": [1.0] * 5}, "weights for an edge table in a database"),
        (TABLE, {"engine": "sql", "tie_tolerance": 0.1}, "tie_tolerance"),
        (TABLE, {"engine": "sql", "join_components": True}, "join_components"),
        (TABLE, {"engine": "sql", "criterion": "ward"}, "compares points"),
        (TABLE, {"engine": "sql", "missing": 1.5}, "missing=1.5 with edges up to 3"),
        (TABLE, {"engine": "sql", "n_clusters": 1}, "the edges join the objects to"),
        (TABLE, {"engine": "sql", "duplicates": "sum"}, "Unknown duplicates"),
    ]
    for source, options, message in calls:
        with pytest.raises((ValueError, TypeError, OSError), match=message) as caught:
            reliac.cluster_edges(source, **options)
        assert " Next: " in str(caught.value), message
    (tmp_path / "secret.parquet").write_bytes(b"")

    def denied(*arguments: Any) -> None:
        raise duckdb.IOException("IO Error: Cannot open file secret.parquet: Permission denied")

    monkeypatch.setattr("reliac.engines.sql.connections.DuckDB.frame", denied)
    with pytest.raises(OSError, match=r"Permission denied.* Next: choose another file"):
        reliac.cluster_edges(tmp_path / "secret.parquet", engine="sql")


def test_a_users_connection_keeps_its_tables_and_settings() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE edges AS SELECT 7 AS mine")
    before = connection.execute("SELECT current_database(), current_setting('preserve_insertion_order')").fetchall()
    reliac.cluster_edges(TABLE, "average", connection=connection)
    assert connection.execute("SELECT mine FROM edges").fetchall() == [(7,)]
    assert connection.execute("SHOW DATABASES").fetchall() == [("memory",)]
    after = connection.execute("SELECT current_database(), current_setting('preserve_insertion_order')").fetchall()
    assert after == before


def test_a_tree_that_does_not_fit_stays_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphs import random_edges

    monkeypatch.setattr(home, "SHARE", 0.0)
    n, edges = 60, random_edges(60, 150, 9, 2)
    for criterion in ("single", "average"):
        whole = reliac.cluster_edges(edges, criterion, objects=range(n), missing="ignore", engine="graph")
        table = reliac.cluster_edges(edges, criterion, objects=range(n), missing="ignore", engine="sql")
        assert isinstance(table, reliac.TreeTable)
        assert (table.n_objects, table.n_levels, table.n_clusters) == (n, whole.n_levels, whole.n_clusters)
        assert "TreeTable of 60 objects" in repr(table)
        assert table.links.columns == ["p", "q", "distance", "level"]
        cuts: list[dict[str, Any]] = [{}, {"level": 0}, {"level": 2}, {"distance": 4.0}]
        for count in (whole.n_clusters, whole.n_clusters + 1, 30, 59, 60):
            cuts += [{"n_clusters": count}, {"n_clusters": count, "by": "level"}]
        for cut in cuts:
            rows = table.labels(**cut).to_arrow_table()
            assert rows["object"].to_pylist() == list(range(n))
            assert rows["cluster"].to_pylist() == whole.labels(**cut).tolist(), cut
        assert np.array_equal(table.to_tree().links, whole.links)
        table.save(tmp_path / criterion)
        assert duckdb.sql(f"SELECT count(*) FROM '{tmp_path / criterion}/links.parquet'").fetchall() == [
            (len(whole.links),)
        ]
        with pytest.raises(FileExistsError, match="Next: choose another name"):
            table.save(tmp_path / criterion)
        with pytest.raises(ValueError, match="one of n_clusters, level, distance"):
            table.labels(3, level=1)
        table.close()


def test_a_table_in_a_checkpoint_is_there_for_the_same_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "SHARE", 0.0)
    options: dict[str, Any] = {"engine": "sql", "checkpoint": tmp_path / "run.duckdb"}
    first = reliac.cluster_edges(TABLE, "single", **options)
    first.close()
    levels: list[int] = []
    again = reliac.cluster_edges(TABLE, "single", progress=lambda told: levels.append(told.level), **options)
    assert levels == []
    rows = again.labels(level=1).to_arrow_table()
    assert rows.to_pydict() == {"object": ["u", "v", "x", "y", "z"], "cluster": [0, 0, 1, 1, 2]}
    again.close()


def test_the_page_about_databases_holds() -> None:
    import doctest

    page = Path(__file__).parents[2] / "docs" / "sql.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 4
    assert not failed
