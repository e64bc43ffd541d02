"""Edge tables in DuckDB: the links and levels of the graph engine, bit for bit on whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reliac
from graphs import GRAPHS, Edges, random_edges
from reliac.engines.sql import home, levels

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

CRITERIA = ("single", "complete", "average", "weighted")


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    with duckdb.connect() as opened:
        yield opened


@pytest.fixture
def all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is finished in memory."""
    monkeypatch.setattr(home, "fits", lambda run: False)


def run(connection: Any, n: int, edges: Edges, criterion: str, **options: Any) -> reliac.ClusterTree:
    tree = reliac.cluster_edges(edges, criterion, objects=range(n), connection=connection, **options)
    assert isinstance(tree, reliac.ClusterTree)
    assert tree.engine == "sql (DuckDB)"
    return tree


def expected(n: int, edges: Edges, criterion: str, engine: str = "graph", **options: Any) -> reliac.ClusterTree:
    return reliac.cluster_edges(edges, criterion, objects=range(n), engine=engine, **options)


def same(a: reliac.ClusterTree, b: reliac.ClusterTree) -> bool:
    assert (a.object_pairs is None) == (b.object_pairs is None)
    pairs = a.object_pairs is None or np.array_equal(a.object_pairs, b.object_pairs)
    return np.array_equal(a.links, b.links) and pairs


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", GRAPHS)
def test_statements_give_the_links_and_levels_of_the_graph_engine(
    connection: Any, all_there: None, name: str, criterion: str
) -> None:
    n, edges = GRAPHS[name]
    for missing, alpha in (("far", 1.0), ("ignore", 1.0), (float(edges[2].max()) + 3.0, 0.3)):
        options = {"missing": missing, "alpha": alpha}
        assert same(run(connection, n, edges, criterion, **options), expected(n, edges, criterion, **options)), options


@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_link_a_level_and_any_other_share_of_them(connection: Any, all_there: None, criterion: str) -> None:
    n, edges = GRAPHS["thin"]
    for alpha in (0.0, 0.07, 0.1, 0.28, 0.7):
        for missing in ("far", "ignore"):
            options = {"missing": missing, "alpha": alpha}
            assert same(run(connection, n, edges, criterion, **options), expected(n, edges, criterion, **options)), (
                options
            )


@pytest.mark.parametrize("criterion", CRITERIA)
def test_statements_give_the_tree_of_the_completed_matrix(connection: Any, all_there: None, criterion: str) -> None:
    for name in ("few", "tied", "split"):
        n, edges = GRAPHS[name]
        for alpha in (0.3, 1.0):
            options = {"missing": float(edges[2].max()) + 3.0, "alpha": alpha}
            oracle = expected(n, edges, criterion, engine="literal", **options)
            assert same(run(connection, n, edges, criterion, **options), oracle)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", ["tied", "grid", "thin", "split"])
def test_groups_of_many_tied_links_are_found_by_statements(
    connection: Any, all_there: None, monkeypatch: pytest.MonkeyPatch, name: str, criterion: str
) -> None:
    monkeypatch.setattr(levels, "FEW_EDGES", 0)
    n, edges = GRAPHS[name]
    for missing in ("far", "ignore"):
        for few in (0, 10**6):
            monkeypatch.setattr(levels, "FEW_TIES", few)
            tree = run(connection, n, edges, criterion, missing=missing)
            assert same(tree, expected(n, edges, criterion, missing=missing))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_what_is_left_is_finished_in_memory_from_any_level(
    connection: Any, monkeypatch: pytest.MonkeyPatch, criterion: str
) -> None:
    for name in ("tied", "distinct", "split"):
        n, edges = GRAPHS[name]
        for options in ({}, {"alpha": 0.3}, {"missing": "ignore", "alpha": 0.3}, {"missing": "ignore"}, {"alpha": 0.0}):
            whole = expected(n, edges, criterion, **options)
            for first in (0, 1, 3):
                monkeypatch.setattr(home, "fits", lambda run, first=first: run.level >= first)
                tree = run(connection, n, edges, criterion, **options)
                assert same(tree, whole), (name, options, first)
            assert "in memory" in tree.reason or tree.n_levels <= 3


@pytest.mark.parametrize(("first", "few"), [(1, 10**6), (100, 10**6), (100, 0)])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_stopping_rules_leave_what_they_leave_in_memory(
    connection: Any, monkeypatch: pytest.MonkeyPatch, criterion: str, first: int, few: int
) -> None:
    monkeypatch.setattr(levels, "FEW_EDGES", few)
    monkeypatch.setattr(home, "fits", lambda run: run.level >= first)
    for name in ("tied", "thick"):
        n, edges = GRAPHS[name]
        top = float(edges[2].max()) + 3.0
        for rule in (
            {"max_level": 2},
            {"max_level": 0},
            {"max_distance": 3.0},
            {"n_clusters": 20},
            {"n_clusters": n - 1},
        ):
            for alpha in (0.3, 1.0):
                options = {"alpha": alpha, "missing": top, **rule}
                whole = expected(n, edges, criterion, **options)
                assert same(run(connection, n, edges, criterion, **options), whole), options


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(2, 14), st.integers(1, 40), st.integers(2, 6), st.integers(0, 10**6), st.sampled_from((0.0, 0.3, 1.0)),
    st.sampled_from(CRITERIA), st.sampled_from(("far", "ignore")), st.integers(0, 3),
    st.sampled_from(((0, 0), (0, 10**6), (20, 0), (10**6, 10**6))),
)  # fmt: skip
def test_any_graph_has_the_same_tree_in_a_database(
    connection: Any, n: int, m: int, largest: int, seed: int, alpha: float, criterion: str, missing: str, first: int,
    few: tuple[int, int],
) -> None:  # fmt: skip
    edges = random_edges(n, m, largest, seed)
    options = {"alpha": alpha, "missing": missing}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home, "fits", lambda run: run.level >= first)
        patch.setattr(levels, "FEW_EDGES", few[0])
        patch.setattr(levels, "FEW_TIES", few[1])
        assert same(run(connection, n, edges, criterion, **options), expected(n, edges, criterion, **options))


def test_float_distances_give_the_same_tree_up_to_rounding(connection: Any, all_there: None) -> None:
    p, q, _ = random_edges(300, 3000, 5, 6)
    distance = np.random.default_rng(3).random(len(p)) + 0.1
    for criterion in CRITERIA:
        options = {"missing": 2.0}
        a = run(connection, 300, (p, q, distance), criterion, **options)
        b = expected(300, (p, q, distance), criterion, **options)
        assert np.array_equal(a.links[["left", "right", "level"]], b.links[["left", "right", "level"]])
        assert np.allclose(a.links["distance"], b.links["distance"], rtol=1e-13)


def test_every_statement_says_what_its_table_holds() -> None:
    import ast
    import inspect

    from reliac.engines.sql import reading, statements

    for module in (statements, reading):
        lines = inspect.getsource(module).splitlines()
        for node in ast.parse("\n".join(lines)).body:
            if isinstance(node, ast.Assign) and "SELECT" in ast.unparse(node.value):
                assert lines[node.lineno - 2].startswith("#:"), ast.unparse(node.targets[0])
            elif isinstance(node, ast.FunctionDef):
                assert ast.get_docstring(node), node.name


def test_no_statement_goes_through_all_pairs_of_clusters(
    connection: Any, all_there: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reliac.engines.sql.connections import DuckDB

    plans: list[str] = []
    for name, method in (("make", DuckDB.make), ("keep", DuckDB.keep)):

        def explained(self: Any, table: str, query: str, plain: Any = method) -> None:
            plans.append("\n".join(row[1] for row in self.sql.execute(f"EXPLAIN {query}").fetchall()))
            plain(self, table, query)

        monkeypatch.setattr(DuckDB, name, explained)
    monkeypatch.setattr(levels, "FEW_EDGES", 0)
    monkeypatch.setattr(levels, "FEW_TIES", 0)
    rng, n = np.random.default_rng(0), 1000
    p, q = (n * rng.random(10 * n) ** 3).astype(int), rng.integers(0, n, 10 * n)  # few objects have very many edges
    key = np.unique((np.minimum(p, q) * n + np.maximum(p, q))[p != q])
    run(connection, n, (key // n, key % n, rng.integers(1, 1000, len(key)) * 1.0), "average", max_level=5)
    text = "".join(plans).lower().replace("_", " ")
    assert "hash join" in text  # as this release of DuckDB writes it
    for words in ("nested loop", "nl join", "cross product", "ie join", "piecewise"):
        assert words not in text
