"""How kernels are compiled: with what options, when, and with a word to whoever waits for it."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba as nb
from numba.core import event

#: Objects of the problem that loads the compiled code of an engine.
FEW = 24

#: Seconds of compiling after which somebody may wonder what goes on.
A_MOMENT = 1.0

logger = logging.getLogger("reliac")

# Kernels that Python calls, and the parts they are made of. Parts are compiled into their callers and have no face to
# Python, which takes as long to compile as they do. What makes no array needs no count of references either: counting
# them, array by array of every named tuple, takes more time than the work that is done. A function that makes arrays
# says so, or it would do as its caller does. A function is compiled again for other types of arguments, and True or 0
# written out are types of their own: where it is long, pass np.bool_(True), np.int64(0), and slots as np.int64.
njit: Any = nb.njit  # its declared type leaves some options out
OPTIONS = {"nogil": True, "error_model": "numpy"}
INSIDE = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
compiled = njit(cache=True, _nrt=True, **OPTIONS)
bare = njit(cache=True, _nrt=False, **OPTIONS)
inside = njit(_nrt=True, **INSIDE)
bare_inside = njit(_nrt=False, **INSIDE)
bare_inlined = njit(_nrt=False, forceinline=True, **INSIDE)  # small, called in inner loops with many arrays

#: Threads that are watched.
_watched: set[int] = set()


class Watch(event.Listener):
    """Watches what a thread compiles: says so if it takes longer than a moment, and stops it on Ctrl-C.

    Ctrl-C inside the compiler may be lost, or leave half a function behind. So in the main thread it waits until the
    function at hand is done, and other threads stop there; there are many, each compiled while those that call it are.
    One watch a thread is enough: those inside another hear nothing. Nor do they hear of threads that a run deals work
    out to; what is compiled there takes less than a moment.
    """

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.thread = 0
        self.depth = 0
        self.timer: threading.Timer | None = None
        self.handler: Any = None  # what answers Ctrl-C otherwise
        self.stopped = False

    def __enter__(self) -> None:
        thread = threading.get_ident()
        if thread not in _watched:
            self.thread = thread
            _watched.add(thread)
            event.register("numba:compile", self)

    def __exit__(self, *_: object) -> None:
        if self.thread:
            event.unregister("numba:compile", self)
            _watched.discard(self.thread)
            self.let_through()

    def notify(self, event: event.Event) -> None:
        """Hear what this thread does, and no other."""
        if threading.get_ident() == self.thread:
            super().notify(event)

    def on_start(self, _: event.Event) -> None:
        """Begin to wait, unless it was said already; keep Ctrl-C back."""
        self.depth += 1
        if self.timer is None:
            self.timer = threading.Timer(A_MOMENT, self.say)
            self.timer.daemon = True
            self.timer.start()
        here = threading.current_thread() is threading.main_thread()
        if self.depth == 1 and here and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self.handler = signal.signal(signal.SIGINT, self.stop)
        self.check()

    def on_end(self, _: event.Event) -> None:
        """Wait no more, where it took but a moment; let Ctrl-C through."""
        self.depth -= 1
        if self.depth == 0:
            if self.timer is not None and not self.timer.finished.is_set():
                self.timer.cancel()
                self.timer = None
            self.let_through()
        self.check()

    def let_through(self) -> None:
        """Have Ctrl-C answered as before."""
        if self.handler is not None:
            signal.signal(signal.SIGINT, self.handler)
            self.handler = None

    def say(self) -> None:
        """Tell what goes on."""
        logger.warning("compiling the %s engine, once for this machine (5 to 20 s)", self.engine)

    def stop(self, *_: object) -> None:
        """Have the compiler stop when it is done with a function."""
        self.stopped = True

    def check(self) -> None:
        """Stop now if asked to."""
        if self.stopped:
            raise KeyboardInterrupt


def load(engine: str, work: Callable[[], Any]) -> None:
    """Do some work that loads the compiled code of an engine; the first time on a machine, it is compiled.

    That is done in a thread of its own: Ctrl-C is answered at once, and the compiler stops soon afterwards.
    """
    watch, pool = Watch(engine), ThreadPoolExecutor(1)

    def watched() -> None:
        with watch:
            with_room(work)

    try:
        pool.submit(watched).result()
    except KeyboardInterrupt:
        watch.stop()
        raise
    finally:
        pool.shutdown(wait=False)


def with_room(function: Callable[[], Any]) -> None:
    """Call a function that calls deep and often, as compilers do, with all its frames in one piece of memory.

    Since Python 3.11 frames lie in pieces of 16 KB, and a piece is given back as soon as the first frame in it
    returns: a loop that happens to run at the end of a piece has memory mapped anew at every turn. That took up to 4 of
    20 seconds here, by how deep the caller was (python/cpython issue 142183; later versions keep one piece). A frame
    that asks for much gets a piece of a size to match, and what it leaves free is for those that it calls.
    """
    function()


with_room.__code__ = with_room.__code__.replace(co_stacksize=70_000)  # words: the next power of two leaves 488 KB
