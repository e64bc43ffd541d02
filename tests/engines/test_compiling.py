"""Compiling kernels: whoever waits is told, Ctrl-C is answered, and the stack of Python does not slow it down."""

import logging
import os
import signal
import threading
import time

import numba
import pytest
from numba.core import event

from reliac.engines.compiled import loading as compiling
from reliac.engines.compiled.loading import Watch, load, with_room


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
    monkeypatch.setattr(compiling, "A_MOMENT", 0.0)
    slow = AtStart(lambda _: time.sleep(0.05))
    with caplog.at_level(logging.WARNING, "reliac"), event.install_listener("numba:compile", slow):
        with Watch("outer"), Watch("inner"):
            new_kernel()(1)
        with Watch("next"):
            new_kernel()(1)
    assert [message.split()[2] for message in caplog.messages] == ["outer", "next"]


def test_loading_answers_ctrl_c_at_once_and_then_stops():
    ended, begun = threading.Event(), threading.Event()

    def work():
        try:
            while True:
                begun.set()
                new_kernel()(1)
        finally:
            ended.set()

    def press_later():
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press_later).start()
    with pytest.raises(KeyboardInterrupt):
        load("some", work)
    assert ended.wait(30)


def test_loading_passes_errors_on():
    with pytest.raises(ZeroDivisionError):
        load("some", lambda: 1 // 0)


def test_it_is_said_once_if_it_takes_longer_than_a_moment(monkeypatch, caplog):
    monkeypatch.setattr(compiling, "A_MOMENT", 0.0)
    slow = AtStart(lambda _: time.sleep(0.05))
    with caplog.at_level(logging.WARNING, "reliac"), event.install_listener("numba:compile", slow):
        load("some", lambda: [new_kernel()(1), new_kernel()(1)])
    assert caplog.messages == ["compiling the some engine, once for this machine (5 to 20 s)"]


def test_nothing_is_said_of_a_moment(monkeypatch, caplog):
    monkeypatch.setattr(compiling, "A_MOMENT", 30.0)
    with caplog.at_level(logging.WARNING, "reliac"):
        load("some", lambda: new_kernel()(1))
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
