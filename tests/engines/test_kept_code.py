"""Compiled code on disk: kept once for an environment, whoever compiles, and not needed where there is no folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba")

import reliac
from reliac.engines.compiled import keeping, loading, ready
from reliac.engines.compiled.keeping import Kept
from reliac.engines.warming import LoadedEngine, Warmup, warm_up

#: A few functions of our own, which take a second to compile and not a minute.
MODULE = """
import numpy as np
from reliac.engines.compiled.loading import bare, compiled, count_compiled

@bare
def total(values):
    result = values[0] * 0
    for k in range(len(values)):
        result += values[k]
    return result

@compiled
def doubled(values):
    result = np.empty(len(values), values.dtype)
    for k in range(len(values)):
        result[k] = 2 * values[k]
    return result

def results(*kinds):
    return [float(np.sum(f(np.arange(5).astype(kind)))) for kind in kinds for f in (total, doubled)]
"""


@pytest.fixture
def kernels(tmp_path):
    """Variables for a new process that can import the functions; they are kept in a folder of this test."""
    (tmp_path / "kernels.py").write_text(MODULE)
    path = os.pathsep.join([str(tmp_path), str(Path(reliac.__file__).parents[1])])
    return {"PYTHONPATH": path, "RELIAC_CACHE": str(tmp_path / "cache")}


def start(code, as_user=(), **env):
    """Start a new Python with some variables; a variable that is None is not set. Compiled code is kept by default."""
    every = {**os.environ, "RELIAC_KEEP_COMPILED": "1", **env}
    variables = {name: value for name, value in every.items() if value is not None}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*as_user, sys.executable, "-c", code], env=variables, cwd="/", **pipes)


def finish(process):
    """Return what a process printed and what it logged."""
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out, err


def run_python(code, as_user=(), **env):
    return finish(start(code, as_user, **env))


COUNTED = "import kernels; print(kernels.results({kinds}), kernels.count_compiled())"


def test_what_one_process_compiles_the_next_one_loads(kernels):
    code = COUNTED.format(kinds="'f4', 'f8'")
    assert run_python(code, **kernels)[0] == "[10.0, 20.0, 10.0, 20.0] 4\n"
    assert run_python(code, **kernels)[0] == "[10.0, 20.0, 10.0, 20.0] 0\n"


def test_processes_that_compile_at_once_do_not_spoil_what_is_kept(kernels, tmp_path):
    wait = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.001)\n"
    orders = ["'f8', 'f4', 'i8'", "'i8', 'f8', 'i4'", "'f4', 'i4', 'i8'"]
    running = [start(f"{wait}{COUNTED.format(kinds=kinds)}", **kernels) for kinds in orders]
    (tmp_path / "go").touch()
    for process in running:
        assert finish(process)[0].startswith("[10.0, 20.0, 10.0, 20.0, 10.0, 20.0] ")
    kinds = "'f4', 'f8', 'i4', 'i8'"
    assert run_python(COUNTED.format(kinds=kinds), **kernels)[0] == f"{[10.0, 20.0] * 4} 0\n"
    assert not list(tmp_path.rglob("*.part"))


def test_a_file_that_was_cut_short_is_compiled_anew(kernels, tmp_path):
    code = COUNTED.format(kinds="'f8'")
    run_python(code, **kernels)
    files = sorted(tmp_path.rglob("*.code"))
    assert len(files) == 2
    files[0].write_bytes(files[0].read_bytes()[:1000])
    files[1].write_bytes(b"")
    assert run_python(code, **kernels)[0] == "[10.0, 20.0] 2\n"
    assert run_python(code, **kernels)[0] == "[10.0, 20.0] 0\n"


def test_where_no_space_is_left_it_runs_and_knows_that_nothing_is_kept(monkeypatch):
    def no_space(path, data):
        raise OSError(28, "No space left on device")

    @loading.compiled
    def kernel(x):
        return x + 1

    monkeypatch.setattr(keeping, "_write", no_space)
    monkeypatch.setattr(Kept, "lost", False)
    assert kernel(1) == 2
    assert not loading.kept()


def test_nothing_is_read_or_written_where_that_is_switched_off(kernels, tmp_path):
    code = COUNTED.format(kinds="'f8'")
    for _ in range(2):
        assert run_python(code, **kernels, RELIAC_KEEP_COMPILED="0")[0] == "[10.0, 20.0] 2\n"
    assert not (tmp_path / "cache").exists()


def test_of_the_folders_of_other_sources_the_newest_are_left(tmp_path):
    for age, name in enumerate(["new", "a", "b", "c", "oldest"]):
        (tmp_path / name).mkdir()
        (tmp_path / f"dense-{name}").touch()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    ready._remove_old(tmp_path / "new")
    left = {"new", "a", "b", "c"}
    assert {path.name for path in tmp_path.iterdir()} == left | {f"dense-{name}" for name in left}


# --- another user, who may write nothing ---


def nobody():
    """The beginning of a command that runs as another user, who may read everything and write nothing."""
    if not shutil.which("setpriv") or os.geteuid() != 0:
        pytest.skip("only root can become another user here")
    allowed = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *allowed]


@pytest.fixture
def installed(tmp_path):
    """Variables for a new process whose package is a copy that it may not write to; there is no home."""
    package = tmp_path / "installed" / "reliac"
    shutil.copytree(Path(reliac.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for path in tmp_path.parents[:2]:
        path.chmod(0o755)
    nothing_set = {"HOME": None, "RELIAC_CACHE": None, "NUMBA_CACHE_DIR": None, "XDG_CACHE_HOME": None}
    return {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1", **nothing_set}


def test_who_may_write_nothing_gets_the_same_tree_and_is_told_once_what_to_do(installed, tmp_path):
    X = "np.random.default_rng(0).integers(0, 9, (60, 2)).astype(float)"
    code = (
        f"import numpy as np, reliac\nX = {X}\n"
        "Y = np.random.default_rng(0).random((700, 3))\n"
        "chosen = [reliac.cluster(Y, 'complete').engine]\n"
        "one, two = (reliac.cluster(X, c, engine='dense') for c in ('ward', 'complete'))\n"
        "chosen += [reliac.cluster(Y, 'complete').engine]\n"
        "reliac.cluster(Y, 'complete', engine='dense')\n"
        "chosen += [reliac.cluster(Y, 'complete').engine]\n"
        "other = reliac.cluster(X, 'ward', engine='literal')\n"
        "print(reliac.__file__, np.array_equal(one.links, other.links), *chosen)"
    )
    out, err = run_python(code, nobody(), **{**installed, "HOME": "/nonexistent"})
    file, *told = out.split()
    assert file == f"{tmp_path}/installed/reliac/__init__.py"
    assert told == ["True", "small", "small", "small"]  # that all is compiled changes no choice
    assert err.count("no folder for compiled code can be written. Set RELIAC_CACHE (or NUMBA_CACHE_DIR)") == 1
    assert err.count("compiling") == 1
    assert not list(tmp_path.rglob("__pycache__"))


@pytest.mark.parametrize("variable", [None, "RELIAC_CACHE", "NUMBA_CACHE_DIR"])
def test_who_may_write_nothing_reads_what_someone_else_has_compiled(installed, tmp_path, variable):
    (tmp_path / "installed" / "kernels.py").write_text(MODULE)
    code, place = COUNTED.format(kinds="'f8'"), {variable: str(tmp_path / "cache")} if variable else {}
    assert run_python(code, **{**installed, **place})[0] == "[10.0, 20.0] 2\n"
    assert run_python(code, nobody(), **{**installed, **place})[0] == "[10.0, 20.0] 0\n"


@pytest.mark.parametrize("variable", ["RELIAC_CACHE", "NUMBA_CACHE_DIR"])
def test_who_may_write_nothing_but_a_folder_that_a_variable_names_keeps_code_there(installed, tmp_path, variable):
    (tmp_path / "installed" / "kernels.py").write_text(MODULE)
    (tmp_path / "own").mkdir()
    (tmp_path / "own").chmod(0o777)
    env = {**installed, variable: str(tmp_path / "own")}
    for compiled in (2, 0):
        assert run_python(COUNTED.format(kinds="'f8'"), nobody(), **env)[0] == f"[10.0, 20.0] {compiled}\n"


# --- threads ---


def test_of_six_threads_one_loads_and_the_others_wait(monkeypatch):
    monkeypatch.setattr(loading, "_loaded", set())
    monkeypatch.setattr(loading, "note_ready", lambda engine: None)
    begun, done, seen = [], [], []

    def work():
        begun.append(1)
        time.sleep(0.2)
        done.append(1)

    def call():
        loading.load("some", "", work)
        seen.append(len(done))

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert begun == [1]
    assert seen == [1] * 6


def test_work_that_loads_may_begin_as_all_runs_do(monkeypatch):
    monkeypatch.setattr(loading, "_loaded", set())
    monkeypatch.setattr(loading, "note_ready", lambda engine: None)
    done = []
    loading.load("outer", "", lambda: loading.load("inner", "", lambda: done.append(1)))
    assert done == []
    loading.load("inner", "", lambda: done.append(1))
    assert done == [1]


# --- one compilation for all inputs ---

VARIETY = """
import itertools
import numpy as np
import reliac
from scipy.spatial.distance import pdist, squareform
from reliac.engines.compiled.loading import KERNELS, count_compiled
engine = ENGINE
reliac.warmup([engine], n_jobs=1)
before = [len(kernel.signatures) for kernel in KERNELS]
assert sum(before)
compiled_before = count_compiled()
rng = np.random.default_rng(0)

def variants(X):
    for kind, locked in itertools.product(("f8", "f4", "i4"), (False, True)):
        Y = X.astype(kind)
        Y.flags.writeable = not locked
        yield Y
    yield np.asfortranarray(X)

def run(X, *criteria, **options):
    for Y, criterion in itertools.product(variants(X), criteria):
        for alpha in (1.0, 0.5, 0.0):
            reliac.cluster(Y, criterion, engine=engine, alpha=alpha, **options)

RUNS
reliac.cluster(rng.random((40, 2)), CRITERION, engine=engine, max_level=1).develop([0, 1, 2])
print([kernel.py_func.__name__ for kernel, count in zip(KERNELS, before) if len(kernel.signatures) > count])
print(count_compiled() - compiled_before)
"""

SQUARES = """
for X in (rng.normal(size=(150, 3)) * 9, rng.integers(0, 3, size=(150, 3)), np.repeat(rng.random((12, 2)), 40, axis=0)):
    run(X, "ward", "centroid", "median")
    run(X, "average", metric="sqeuclidean", weights=rng.integers(1, 4, len(X)))
    run(X + 1, "average", metric="cosine", tie_tolerance=0.01)
reliac.cluster(rng.normal(size=(3000, 4)), "centroid", engine=engine)
"""

SINGLE = """
for X in (rng.normal(size=(60, 3)) * 9, rng.integers(0, 9, size=(60, 3))):
    run(X, "single")
    run(X + 1, "single", metric="cosine")
    for given in (pdist(X), squareform(pdist(X))):
        run(given, "single", metric="precomputed")
big = rng.normal(size=(2100, 3)) * np.arange(1, 4)
near = np.repeat(big[:50], 42, axis=0) + 1e-9 * big
for X in (big.round(), near, rng.normal(size=(5000, 2)), big @ np.ones((3, 30))):
    for kind in ("f4", "f8"):
        for metric in ("euclidean", "sqeuclidean", "cosine"):
            reliac.cluster(X[X.any(axis=1)].astype(kind), "single", engine=engine, metric=metric)
for given in variants(pdist(big)):
    reliac.cluster(given, "single", engine=engine, metric="precomputed")
for given in variants(squareform(pdist(big.round()))):
    reliac.cluster(given, "single", engine=engine, metric="precomputed")
"""


DISTANCES = """
for X in (rng.normal(size=(60, 3)) * 9, rng.integers(0, 3, size=(60, 3))):
    run(X, "complete", "average", "weighted", "ward", "centroid", "median")
"""


@pytest.mark.parametrize(
    ("engine", "criterion", "runs"),
    [
        ("disk", "complete", DISTANCES),
        ("vectors", "ward", SQUARES),
        ("spatial", "ward", SQUARES),
        ("spanning", "single", SINGLE),
    ],
)
def test_nothing_is_compiled_again_for_another_type_form_or_criterion(engine, criterion, runs):
    code = VARIETY.replace("ENGINE", repr(engine)).replace("RUNS", runs).replace("CRITERION", repr(criterion))
    assert run_python(code)[0].splitlines() == ["[]", "0"]


# --- warming up ---


@pytest.fixture
def kept_here(tmp_path, monkeypatch):
    """Warming up takes this folder for the one where code is kept."""
    monkeypatch.setattr("reliac.engines.warming.writable_folder", lambda: tmp_path)
    return tmp_path


def test_warming_up_tells_what_it_did(kept_here):
    done = warm_up(["spanning", "literal"], 1)
    assert [one.engine for one in done.engines] == ["spanning"]  # the other one has no compiled code
    assert done.seconds >= done.engines[0].seconds
    assert done.folder == str(kept_here)
    assert str(warm_up("spanning", 1)).startswith("spanning loaded")


def test_warming_up_shows_counts_and_where_code_is_kept():
    shown = str(Warmup((LoadedEngine("vectors", 9, 12.34),), 12.5, None)).splitlines()
    assert shown == [
        "vectors  9 functions compiled      12.3 s",
        "in all 12.5 s, not kept: no folder can be written",
    ]


def test_warming_up_refuses_what_is_no_engine():
    with pytest.raises(ValueError, match=r"Unknown engine 'vector'.*did you mean 'vectors'"):
        reliac.warmup(["vector"])


def test_the_command_warms_up(run, kept_here):
    out = run("warmup", "--engine", "spanning", "--jobs", 1).out
    assert out.startswith("spanning ")
    assert f"kept in {kept_here}" in out


def test_the_command_complains_where_nothing_can_be_kept(run, monkeypatch):
    monkeypatch.setattr("reliac.engines.warming.writable_folder", lambda: None)
    monkeypatch.setattr(ready, "writable_folder", lambda: None)
    monkeypatch.setattr(ready, "kept_at_all", lambda: True)
    monkeypatch.setattr(ready, "NAMING", ())
    result = run("warmup", "--engine", "spanning", status=2)
    assert "no folder for compiled code can be written" in result.err
    assert "RELIAC_CACHE" in result.err


def test_processors_are_told_apart():
    from reliac.machine import processor

    assert processor() == processor()
    assert processor()


def test_trees_of_read_only_and_of_float32_input_are_those_of_float64():
    X = np.random.default_rng(0).integers(0, 50, (300, 3)).astype(np.float32)
    locked = X.copy()
    locked.flags.writeable = False
    for engine, criterion in (("vectors", "ward"), ("spanning", "single")):
        trees = [reliac.cluster(Y, criterion, engine=engine).links for Y in (X, X.astype(np.float64), locked)]
        assert np.array_equal(trees[0], trees[1])
        assert np.array_equal(trees[0], trees[2])
