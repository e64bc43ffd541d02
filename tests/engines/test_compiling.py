"""Compiling kernels: whoever waits is told, Ctrl-C is answered, and the stack of Python does not slow it down."""

import gc
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import event
from numba.core.caching import NullCache

from reliac.engines.compiled import loading as compiling
from reliac.engines.compiled import ready
from reliac.engines.compiled.loading import Watch, load, with_room


@pytest.fixture(autouse=True)
def nothing_noted(monkeypatch):
    """What these tests load is not noted for the machine."""
    monkeypatch.setattr(compiling, "note_ready", lambda engine: None)
    monkeypatch.setattr(compiling, "_loaded", set())


@pytest.fixture(autouse=True)
def plain_handler():
    """Ctrl-C raises KeyboardInterrupt, whatever runs the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def new_kernel():
    """Return a function to be compiled that calls another."""

    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x) + 1

    return outer


class AtStart(event.Listener):
    """Calls a function when the compiler begins with something; the second is inside the first."""

    def __init__(self, function):
        self.function = function
        self.started = 0

    def on_start(self, event):
        self.started += 1
        self.function(self.started)

    def on_end(self, event):
        pass


def press(count):
    """Press Ctrl-C inside the function that another one calls."""
    if count == 2:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)  # a signal is handled here, in the compiler


def test_ctrl_c_waits_until_the_compiler_is_done_with_a_function():
    kernel, at_start = new_kernel(), AtStart(press)
    with event.install_listener("numba:compile", at_start), Watch("some"), pytest.raises(KeyboardInterrupt):
        kernel(1)
    assert at_start.started == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert kernel(1) == 3  # nothing is left half made


def test_ctrl_c_of_another_handler_is_left_to_it():
    pressed = []
    signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    with event.install_listener("numba:compile", AtStart(press)), Watch("some"):
        assert new_kernel()(1) == 3
    assert pressed == [True]


def test_a_watch_hears_its_own_thread_only():
    watch, kernel = Watch("some"), new_kernel()
    with watch:
        watch.stop()
        other = threading.Thread(target=kernel, args=(1,))
        other.start()
        other.join()
    assert kernel(1) == 3
    assert len(kernel.signatures) == 1


def test_a_watch_inside_another_is_silent(monkeypatch, caplog):
    monkeypatch.setattr(compiling, "SECONDS_BEFORE_SAYING", 0.0)
    slow = AtStart(lambda _: time.sleep(0.05))
    with caplog.at_level(logging.WARNING, "reliac"), event.install_listener("numba:compile", slow):
        with Watch("outer"), Watch("inner"):
            new_kernel()(1)
        with Watch("next"):
            new_kernel()(1)
    assert [message.split()[2] for message in caplog.messages] == ["outer", "next"]


@pytest.fixture
def no_garbage():
    """No garbage is collected: Python loses a KeyboardInterrupt that falls into the finalizer of an object."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_loading_answers_ctrl_c_at_once_and_then_stops(no_garbage):
    ended, begun, answered, last = threading.Event(), threading.Event(), threading.Event(), time.monotonic() + 60

    def work():
        try:
            while time.monotonic() < last:
                begun.set()
                new_kernel()(1)
        finally:
            ended.set()

    def press_later():
        begun.wait()
        for _ in range(3):  # Python may lose one of them in a finalizer
            os.kill(os.getpid(), signal.SIGINT)
            if answered.wait(5):
                break

    presser = threading.Thread(target=press_later)
    presser.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            load("some", "types", work)
    finally:
        answered.set()
    presser.join()
    assert ended.wait(30)
    assert time.monotonic() < last


def test_loading_passes_errors_on():
    with pytest.raises(ZeroDivisionError):
        load("some", "types", lambda: 1 // 0)


def test_it_is_said_once_if_it_takes_longer_than_a_moment(monkeypatch, caplog):
    monkeypatch.setattr(compiling, "kept", lambda: True)
    monkeypatch.setattr(compiling, "SECONDS_BEFORE_SAYING", 0.0)
    slow = AtStart(lambda _: time.sleep(0.05))
    with caplog.at_level(logging.WARNING, "reliac"), event.install_listener("numba:compile", slow):
        load("some", "kernels", lambda: [new_kernel()(1), new_kernel()(1)])
    assert caplog.messages == ["compiling the some engine: about 5 to 20 s, once for this environment"]


def test_nothing_is_said_of_a_moment(monkeypatch, caplog):
    monkeypatch.setattr(compiling, "SECONDS_BEFORE_SAYING", 30.0)
    with caplog.at_level(logging.WARNING, "reliac"):
        load("some", "kernel", lambda: new_kernel()(1))
    assert caplog.messages == []


def test_calls_at_any_depth_have_their_memory_at_hand():
    resource = pytest.importorskip("resource")

    def loop(depth):
        if depth:
            return loop(depth - 1)
        for _ in range(100):
            abs_of(1)
        return None

    def abs_of(x):
        return max(x, -x)

    def faults():
        return resource.getrusage(getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)).ru_minflt

    with_room(lambda: loop(400))  # touches the memory once
    counts = []
    with_room(lambda: counts.extend((faults(), [loop(depth) for depth in range(400)], faults())))
    assert counts[2] - counts[0] < 100  # or a hundred at every depth where a piece of memory ends


# --- functions that only kernels call ---


@compiling.inside
def squares(n):
    """Makes an array, which fails if it is too long; refuses a number."""
    if n == 3:
        raise ValueError("three")
    return np.full(n, 2.0)


@compiling.compiled
def total_of_squares(n):
    return squares(n).sum()


total_of_squares._cache = NullCache()  # code that an earlier run has kept does not tell how it was made


def test_of_functions_that_only_kernels_call_no_machine_code_is_made():
    assert total_of_squares(4) == 8.0
    (part,), (kernel,) = squares.overloads.values(), total_of_squares.overloads.values()
    assert part.library.get_pointer_to_function(part.fndesc.llvm_func_name) == 0
    assert kernel.library.get_pointer_to_function(kernel.fndesc.llvm_func_name) != 0


def test_errors_in_functions_that_only_kernels_call_reach_python():
    with pytest.raises(ValueError, match="three"):
        total_of_squares(3)
    with pytest.raises(MemoryError):
        total_of_squares(2**50)


# --- the cache on disk ---


def run_python(code, **env):
    """Run a new Python with some variables, and return what it printed and what it logged."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RELIAC_KEEP_COMPILED": "1", **env},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_change_of_a_formula_in_another_file_is_compiled_anew(tmp_path):
    """Kernels of the dense engine contain a formula of algorithm/criteria.py; Numba looks at their own file only."""
    package = tmp_path / "reliac"
    shutil.copytree(Path(compiling.__file__).parents[2], package, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "from reliac.input.problem import make_problem\n"
        "from reliac.engines.dense.engine import DenseEngine, search_all\n"
        "engine = DenseEngine(make_problem([[0.0], [3.0], [8.0]], 'average', metric='sqeuclidean'))\n"
        "search_all(engine.square, engine.steps, 1.0)\n"
        "print(engine.square.best[:3].tolist(), sum(search_all.stats.cache_hits.values()))"
    )
    env = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "RELIAC_CACHE": str(tmp_path / "c")}
    assert run_python(code, **env)[0] == "[9.0, 9.0, 25.0] 0\n"
    assert run_python(code, **env)[0] == "[9.0, 9.0, 25.0] 1\n"
    criteria = package / "algorithm" / "criteria.py"
    text = criteria.read_text()
    assert text.count("return stored / (") == 1
    criteria.write_text(text.replace("return stored / (", "return 2.0 * stored / ("))
    assert run_python(code, **env)[0] == "[18.0, 18.0, 50.0] 0\n"


def test_where_no_folder_can_be_written_it_is_said_once_what_that_costs_and_what_to_set(monkeypatch, caplog):
    monkeypatch.setattr(compiling, "kept", lambda: False)
    monkeypatch.setattr(ready, "kept_at_all", lambda: True)
    monkeypatch.setattr(ready, "writable_folder", lambda: None)
    monkeypatch.setattr(ready, "NAMING", ())
    monkeypatch.setattr(compiling, "advised", False)
    monkeypatch.setattr(compiling, "SECONDS_BEFORE_SAYING", 0.0)
    slow = AtStart(lambda _: time.sleep(0.05))
    with caplog.at_level(logging.WARNING, "reliac"), event.install_listener("numba:compile", slow):
        load("one", "", lambda: new_kernel()(1))
        load("dense", "", lambda: new_kernel()(1))
    assert caplog.messages[0].startswith(
        "compiling the one engine: about 5 to 20 s, in this process and again in every"
    )
    assert "Set RELIAC_CACHE (or NUMBA_CACHE_DIR) to one that can be written" in caplog.messages[0]
    seconds = compiling.SECONDS["dense"]
    assert caplog.messages[1:] == [f"compiling the dense engine: about {seconds} s, for this process only"]


@pytest.mark.parametrize("name", ["RELIAC_CACHE", "NUMBA_CACHE_DIR"])
def test_a_folder_that_is_named_and_cannot_be_written_is_told_by_its_name(monkeypatch, name):
    monkeypatch.setattr(ready, "writable_folder", lambda: None)
    monkeypatch.setenv("RELIAC_KEEP_COMPILED", "1")
    for other in ready.NAMING:
        monkeypatch.delenv(other, raising=False)
    assert ready.obstacle()[0] == "no folder for compiled code can be written"
    monkeypatch.setenv(name, "/no/such/folder")
    assert ready.obstacle()[0] == f"{name}=/no/such/folder cannot be written"
    assert "Set RELIAC_CACHE (or NUMBA_CACHE_DIR) to a folder that can be written" in ready.obstacle()[1]


def test_who_switched_keeping_off_is_told_so(monkeypatch):
    monkeypatch.setenv("RELIAC_KEEP_COMPILED", "0")
    assert ready.obstacle()[0] == "RELIAC_KEEP_COMPILED=0 says so"


def test_a_full_disk_is_told_with_the_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(ready, "writable_folder", lambda: tmp_path)
    monkeypatch.setenv("RELIAC_KEEP_COMPILED", "1")
    assert ready.obstacle()[0] == f"something could not be written to {tmp_path}"


def test_without_all_private_tricks_trees_are_the_same():
    """Compiled code is kept with that of the machine, in a folder of its own: all that compiles is part of its name."""
    code = (
        "import numpy as np, reliac\n"
        "from reliac.engines.compiled import loading\n"
        "X = np.random.default_rng(0).integers(0, 5, size=(60, 3)).astype(float)\n"
        "trees = [reliac.cluster(X, 'ward', engine=engine) for engine in ('literal', 'vectors')]\n"
        "print(np.array_equal(trees[0].links, trees[1].links), loading.event)"
    )
    env = {"RELIAC_PLAIN_NUMBA": "1", "RELIAC_KEEP_COMPILED": os.environ.get("RELIAC_KEEP_COMPILED", "1")}
    assert run_python(code, **env)[0] == "True None\n"
