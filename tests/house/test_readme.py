"""What README and examples show is executed, and what they print is compared; so are the examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import runpy
import shlex
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import reliac

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
COMMANDS = [line for language, text in BLOCKS if language == "sh" for line in text.splitlines() if line.strip()]
#: Those that need nothing but the package; tests/engines/test_spark.py runs the one that starts a cluster.
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "spark_cluster.py")
#: All modules, but for those that need Triton where it is not installed.
NEED_TRITON = ("reliac.engines.gpu.kernels", "reliac.engines.gpu.sift")
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(reliac.__path__, "reliac.")
    if module.name not in NEED_TRITON or (find_spec("torch") and find_spec("triton"))
)


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """Run in a folder of its own, and leave no figure open."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    pytest.importorskip("matplotlib.pyplot").close("all")


def promised(code):
    """What a block says that it prints: the comments behind its print calls."""
    return [line.partition("  # ")[2] for line in code.splitlines() if line.startswith("print(")]


def code_lines(code):
    return [line for line in code.splitlines() if line.strip() and not line.lstrip().startswith("#")]


# --- README ---


def test_the_tour_has_at_most_20_lines():
    assert len(code_lines(PYTHON[0])) <= 20


@pytest.mark.parametrize("code", PYTHON, ids=lambda code: code_lines(code)[-1][:30])
def test_python_in_the_readme_prints_what_it_promises(code, empty_folder, capsys):
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed == promised(code)
    assert printed


def write_tables(folder):
    """A table of numbers, and one with a column of classes."""
    iris = load_iris()
    header = "sepal_length,sepal_width,petal_length,petal_width"
    rows = [",".join(map(str, row)) for row in iris.data.tolist()]
    classed = [f"{row},{iris.target_names[kind]}" for row, kind in zip(rows, iris.target, strict=True)]
    (folder / "data.csv").write_text("\n".join([header, *rows]) + "\n")
    (folder / "iris.csv").write_text("\n".join([header + ",species", *classed]) + "\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_shell_commands_in_the_readme_run(command, empty_folder, capsys):
    from reliac.cli import main

    write_tables(empty_folder)
    program, *arguments = shlex.split(command)
    assert program == "reliac"
    assert main(arguments) == 0, capsys.readouterr().err
    if "--out" in arguments:
        assert (empty_folder / arguments[arguments.index("--out") + 1]).stat().st_size
    else:
        assert capsys.readouterr().out


def test_the_commands_of_make_that_the_readme_names_exist():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"`make (\w+)`", README)) == {"demo", "test"} <= targets


def test_every_criterion_has_a_row_that_says_when_to_use_it():
    from reliac.algorithm.criteria import CRITERIA

    assert {name for name in CRITERIA if f"\n| `{name}` |" in README} == set(CRITERIA)


def test_the_order_of_rows_does_not_change_the_clusters_as_the_readme_says():
    X = (load_iris().data * 10).round()
    expected = reliac.cluster(X, "complete").labels(6)
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(len(X))
        found = reliac.cluster(X[order], "complete").labels(6)
        assert len({*zip(expected[order].tolist(), found.tolist(), strict=True)}) == 6


@pytest.mark.parametrize("name", ["LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "examples"])
def test_files_that_the_project_names_are_there(name):
    assert (ROOT / name).exists()


def test_the_version_is_the_same_everywhere():
    for name, pattern in (
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("CITATION.cff", r"^version: (.+)$"),
        ("CHANGELOG.md", r"^## ([\d.]+)"),
    ):
        found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert found, name
        assert found[1] == reliac.__version__, name


# --- examples and docstrings ---


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_examples_run(script, empty_folder, capsys):
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name, empty_folder):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_there_are_examples_in_docstrings():
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [importlib.import_module(name) for name in MODULES]
    assert sum(bool(test.examples) for module in modules for test in finder.find(module)) >= 3


def test_addresses_in_the_metadata_are_marked_as_placeholders_until_the_release():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    addresses = re.findall(r'^(Homepage|Issues|Changelog) = "(.*)"$', text, re.M)
    assert len(addresses) == 3
    assert all("PLACEHOLDER" in address for _, address in addresses)


def test_no_message_names_an_index_where_the_package_is_not_yet():
    sources = (Path(__file__).parents[2] / "src").rglob("*.py")
    assert not [path.name for path in sources if "install 'reliac" in path.read_text()]
