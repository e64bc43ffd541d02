"""The house: data flows one way, nothing heavy is imported at start-up, files and functions stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "reliac"

#: Imports at the top of a module point only at modules that stand before it here.
ORDER = [
    "",
    "errors",
    "files",
    "options",
    "machine",
    "tables",
    "distances",
    "criteria",
    "metrics",
    "fingerprints",
    "problem",
    "links",
    "engines.base",
    "algorithm",
    "engines.literal",
    "engines.compiling",
    "engines.entries",
    "engines.scans",
    "engines.reliable",
    "engines.candidates",
    "engines.lists",
    "engines.table",
    "engines.rows",
    "engines.contraction",
    "engines.filling",
    "engines.square",
    "engines.dense",
    "engines.matrix",
    "engines.disk",
    "engines.vectors",
    "engines.boxes",
    "engines.spatial",
    "engines.edges",
    "engines.trees",
    "engines.kdtree",
    "engines.sweeps",
    "engines.spanning",
    "engines",
    "history",
    "views",
    "exports",
    "storage",
    "tree",
    "checkpoint",
    "progress",
    "runs",
    "api",
    "evaluate",
    "layout",
    "plotting",
    "scoring",
    "estimators",
    "sheets",
    "readers",
    "writers",
    "targets",
    "unpacking",
    "downloads",
    "datafiles",
    "datasets",
    "reproduction.sections",
    "reproduction.published",
    "reproduction.standard",
    "reproduction.settings",
    "reproduction.protocols",
    "reproduction.chapters",
    "reproduction.page",
    "reproduction.report",
    "reproduction.inputs",
    "reproduction.pictures",
    "reproduction.densities",
    "reproduction.guarantees",
    "reproduction.ties",
    "reproduction.stopping",
    "reproduction.outliers",
    "reproduction.speed",
    "reproduction.claims",
    "reproduction.experiment",
    "reproduction",
    "demo",
    "commands",
    "cli",
    "__main__",
]


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        yield name.removesuffix("__init__").removesuffix("."), path


def imports_of(name, path):
    """The reliac modules that a module imports when it is imported; not those for type checkers or inside functions."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package.split(".") if package else []
            base = base[: len(base) - node.level + 1] if node.level > 1 else base
            if node.module:
                yield ".".join([*base, node.module])
            else:
                named = {".".join([*base, alias.name]) for alias in node.names}
                yield from (name if name in ORDER else ".".join(base) for name in named)  # a module, or a name


def test_every_module_has_its_place_in_the_order():
    assert {name for name, _ in modules()} == set(ORDER)


def test_imports_point_only_backwards_along_the_flow_of_data():
    rank = {name: place for place, name in enumerate(ORDER)}
    wrong = [
        f"{name} imports {other}"
        for name, path in modules()
        for other in imports_of(name, path)
        if rank[other] >= rank[name]
    ]
    assert wrong == []


def test_no_engine_mentions_a_criterion_by_name():
    from reliac.criteria import CRITERIA

    for name, path in modules():
        if name.startswith("engines"):
            words = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
            assert not words & set(CRITERIA), name


def test_files_stay_under_400_lines_and_functions_under_60():
    for name, path in modules():
        text = path.read_text()
        assert text.count("\n") <= 400, name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = node.end_lineno - body[0].lineno + 1 if body else 0
                assert length <= 60, f"{name}.{node.name} has {length} lines"


@pytest.mark.parametrize("heavy", ["numba", "sklearn", "pandas", "matplotlib", "polars", "networkx", "urllib.request"])
def test_importing_and_clustering_does_not_import(heavy):
    code = f"import sys, reliac; reliac.cluster([[0.0], [1.0], [5.0]]).labels(2); sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
