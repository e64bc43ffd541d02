"""The house: data flows one way, nothing heavy is imported at start-up, files and functions stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "reliac"

#: The floors, in the order in which data flows. A room imports only from its own floor room or from floors below it;
#: rooms that share a floor do not know each other.
FLOORS = [
    ["errors"],
    ["calls"],
    ["native"],
    ["machine", "input.condensed", "input.mixed", "input.products"],
    ["files"],
    ["algorithm.criteria", "input.metrics"],
    ["input"],
    ["formats"],
    ["algorithm"],
    ["engines.compiled", "engines.repeats"],
    ["engines.lists"],
    ["engines.literal", "engines.vectors", "engines.matrix", "engines.dense", "engines.spanning", "engines.small"],
    ["engines.gpu", "engines.folding"],
    ["engines"],
    ["tree"],
    ["run"],
    ["api"],
    ["evaluate"],
    ["questions"],
    ["estimators", "linkages", "plots", "datasets"],
    ["cli", "reproduction"],
    ["__main__"],
]

#: Imports inside functions that point up, on purpose: a tree draws itself, goes on and answers questions by what stands
#: above it, a comparison asks trees for their scores, and the command line runs the experiments of the room beside it.
UPWARDS = {
    *(("tree", "run"), ("tree", "plots"), ("tree", "questions")),
    *(("evaluate", "questions"), ("cli", "reproduction")),
}


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        yield name.removesuffix("__init__").removesuffix("."), path


NAMES = {name for name, _ in modules()}


def room_of(name):
    """The floor of a module and its room there; the longest name that fits."""
    if not name:  # the package itself: a version, and names that are imported when they are first used
        return -1, ""
    places = [(floor, room) for floor, rooms in enumerate(FLOORS) for room in rooms]
    fitting = [(floor, room) for floor, room in places if room == name or (room and name.startswith(room + "."))]
    assert fitting, f"{name} is on no floor"
    return max(fitting, key=lambda place: len(place[1]))


def imports_of(name, path):
    """The reliac modules that a module imports, those inside functions included; not those for type checkers only."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree = ast.parse(path.read_text())
    at_start = {id(node) for node in tree.body}
    typing_only = {
        id(inner)
        for node in tree.body
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in typing_only:
            continue
        if not node.level and (node.module or "").split(".")[0] != "reliac":
            continue
        base = package.split(".") if package and node.level else []
        base = base[: len(base) - node.level + 1] if node.level else base
        module = node.module or "" if node.level else node.module.removeprefix("reliac").removeprefix(".")
        whole = ".".join([*base, *module.split(".")]).strip(".")
        named = [f"{whole}.{alias.name}".strip(".") for alias in node.names]
        for target in named:
            yield (target if target in NAMES else whole), id(node) in at_start


def test_every_module_stands_on_a_floor():
    assert all(room_of(name) for name in NAMES)


def test_imports_point_only_backwards_along_the_flow_of_data():
    wrong = []
    for name, path in modules():
        for other, at_start in imports_of(name, path):
            (floor, room), (other_floor, other_room) = room_of(name), room_of(other)
            allowed = room == other_room or other_floor < floor
            if not allowed and (at_start or (room, other_room) not in UPWARDS):
                wrong.append(f"{name} imports {other}")
    assert wrong == []


def test_no_two_modules_import_each_other_when_they_are_imported():
    graph = {
        name: {other for other, at_start in imports_of(name, path) if at_start and other != name}
        for name, path in modules()
        if name
    }
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_no_engine_mentions_a_criterion_by_name():
    from reliac.algorithm.criteria import CRITERIA

    for name, path in modules():
        if name.startswith("engines"):
            words = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
            assert not words & set(CRITERIA), name


def test_only_the_room_of_compiled_code_imports_numba():
    for name, path in modules():
        if not name.startswith("engines.compiled"):
            nodes = list(ast.walk(ast.parse(path.read_text())))
            named = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
            named |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
            assert not any(module.split(".")[0] == "numba" for module in named), name


def test_c_files_stay_under_400_lines():
    sources = sorted((SOURCE / "native").glob("*.[ch]"))
    assert sources
    for path in sources:
        assert path.read_text(encoding="utf-8").count("\n") <= 400, path.name


def test_files_stay_under_400_lines_and_functions_under_50():
    for name, path in modules():
        text = path.read_text()
        assert text.count("\n") <= 400, name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = node.end_lineno - body[0].lineno + 1 if body else 0
                assert length <= 50, f"{name}.{node.name} has {length} lines"


@cache
def imported_by_clustering():
    """Names of all modules that are there after a few points were clustered in a new process."""
    code = "import sys, reliac; reliac.cluster([[0.0], [1.0], [5.0]]).labels(2); print(*sys.modules)"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize(
    "heavy",
    [
        *("numba", "sklearn", "pandas", "matplotlib", "polars", "networkx", "urllib.request"),
        *("pooch", "requests", "jinja2", "pyarrow", "duckdb", "pyspark"),
    ],
)
def test_importing_and_clustering_does_not_import(heavy):
    assert "reliac" in imported_by_clustering()
    assert heavy not in imported_by_clustering()
