"""How kernels are compiled and loaded: with what options, what is said meanwhile, and how Ctrl-C is answered.

This is the one file that knows Numba's private parts. Each is behind a guard; without them (``RELIAC_PLAIN_NUMBA=1``
leaves all of them out) compiling takes longer, and nothing else changes:

* ``_nrt``: kernels that make no arrays need no count of references, which takes more time to compile than the rest;
* ``numba.core.event``: tells when something is compiled, to say so and to stop there on Ctrl-C;
* the stack of Python frames (:func:`with_room`).
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba

from .ready import note_ready, renew

logger = logging.getLogger("reliac")

njit: Any = numba.njit  # its declared type leaves some options out

#: Whether to do without everything that Numba and Python do not promise.
PLAIN = os.environ.get("RELIAC_PLAIN_NUMBA", "0") not in ("", "0")

#: Objects of the problem that loads the compiled code of an engine.
FEW = 24

#: Seconds of compiling after which it is said that something is compiled.
SECONDS_BEFORE_SAYING = 1.0

event: Any = None
if not PLAIN:
    try:
        from numba.core import event
    except ImportError:  # another version of Numba
        logger.debug("this version of Numba does not tell when it compiles")


def _counts_references(yes: bool) -> dict[str, bool]:
    """Return the option that says whether a kernel counts references to arrays, if this version of Numba has it."""
    try:
        from numba.core.cpu import CPUTargetOptions

        known = hasattr(CPUTargetOptions, "_nrt")
    except ImportError:
        known = False
    return {"_nrt": yes} if known and not PLAIN else {}


#: Whether some kernels cannot be kept, since Numba finds no folder that can be written.
not_kept = False


def _kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a function that Python calls; it is kept on disk, if a folder for it can be written."""

    def decorate(function: Callable[..., Any]) -> Any:
        global not_kept
        try:
            kernel = njit(cache=True, **options)(function)
        except RuntimeError:  # no folder for the cache
            not_kept = True
            return njit(**options)(function)
        renew(kernel.stats.cache_path)
        return kernel

    return decorate


# ``compiled`` and ``bare`` are for kernels that Python calls; the others are for parts that only kernels call. A part
# has no wrapper for Python, since that takes as long to compile as the part itself. ``bare`` kernels and parts make no
# arrays; a function that makes arrays must say so, because otherwise it takes this option from its caller. A function
# is compiled again for other types of arguments, and True or 0 written out are types of their own: where a function is
# long, pass np.bool_(True), np.int64(0), and slots as np.int64.
OPTIONS = {"nogil": True, "error_model": "numpy"}
INSIDE = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
compiled: Any = _kernel(**OPTIONS, **_counts_references(True))
bare: Any = _kernel(**OPTIONS, **_counts_references(False))
inside: Any = njit(**INSIDE, **_counts_references(True))
bare_inside: Any = njit(**INSIDE, **_counts_references(False))
bare_inlined: Any = njit(forceinline=True, **INSIDE, **_counts_references(False))  # small, in inner loops

#: Threads that are watched, and the code that this process has loaded.
_watched: set[int] = set()
_loaded: set[tuple[str, str]] = set()


class Watch(event.Listener if event else object):  # type: ignore[misc]
    """Watches what a thread compiles: says so if it takes longer than a moment, and stops it on Ctrl-C.

    Ctrl-C inside the compiler may be lost, or leave half a function behind. So in the main thread it waits until the
    function at hand is done, and other threads stop there; there are many, each compiled while those that call it are.
    A watch inside another one of the same thread does nothing. What a run's own worker threads compile is not
    reported: it is short.
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
        if event and thread not in _watched:
            self.thread = thread
            _watched.add(thread)
            event.register("numba:compile", self)

    def __exit__(self, *_: object) -> None:
        if self.thread:
            event.unregister("numba:compile", self)
            _watched.discard(self.thread)
            self.let_through()

    def notify(self, event: Any) -> None:
        """Hear what this thread does, and no other."""
        if threading.get_ident() == self.thread:
            super().notify(event)

    def on_start(self, _: Any) -> None:
        """Begin to wait, unless it was said already; keep Ctrl-C back."""
        self.depth += 1
        if self.timer is None:
            self.timer = threading.Timer(SECONDS_BEFORE_SAYING, self.say)
            self.timer.daemon = True
            self.timer.start()
        here = threading.current_thread() is threading.main_thread()
        if self.depth == 1 and here and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self.handler = signal.signal(signal.SIGINT, self.stop)
        self.check()

    def on_end(self, _: Any) -> None:
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
        if not_kept:
            logger.warning(
                "compiling the %s engine (5 to 20 s) in this process and in every later one: no folder for compiled "
                "code can be written. Set NUMBA_CACHE_DIR to one that can, and it is compiled once",
                self.engine,
            )
        else:
            logger.warning("compiling the %s engine, once for this machine (5 to 20 s)", self.engine)

    def stop(self, *_: object) -> None:
        """Have the compiler stop when it is done with a function."""
        self.stopped = True

    def check(self) -> None:
        """Stop now if asked to."""
        if self.stopped:
            raise KeyboardInterrupt


def load(engine: str, types: str, work: Callable[[], Any]) -> None:
    """Do some work that loads the compiled code of an engine, once a process for the types of its arrays.

    The first time on a machine it is compiled.
    That is done in a thread of its own: Ctrl-C is answered at once, and the compiler stops soon afterwards.
    """
    if (engine, types) in _loaded:
        return
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
    note_loaded(engine, types)


def note_loaded(engine: str, types: str = "") -> None:
    """Note that this process has loaded the code of an engine, and that the machine keeps it."""
    _loaded.add((engine, types))
    if not not_kept:
        note_ready(engine)


def with_room(function: Callable[[], Any]) -> None:
    """Call a function that calls deep and often, as compilers do, with all its frames in one piece of memory.

    Since Python 3.11 frames lie in pieces of 16 KB, and a piece is given back as soon as the first frame in it
    returns: a loop that happens to run at the end of a piece has memory mapped anew at every turn. That took up to 4 of
    20 seconds here, by how deep the caller was (python/cpython issue 142183; later versions keep one piece). A frame
    that asks for much gets a piece of a size to match, and what it leaves free is for those that it calls.
    """
    function()


if not PLAIN and hasattr(with_room.__code__, "replace"):
    with_room.__code__ = with_room.__code__.replace(co_stacksize=70_000)  # words: the next power of two leaves 488 KB
