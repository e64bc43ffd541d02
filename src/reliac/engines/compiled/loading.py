"""How kernels are compiled and loaded: with what options, what is said meanwhile, and how Ctrl-C is answered.

This file and ``keeping.py`` know Numba's private parts, no other does. Each is behind a guard; without them
(``RELIAC_PLAIN_NUMBA=1`` leaves all of them out) compiling takes longer, and nothing else changes:

* ``_cache``: compiled functions are kept in files of our own (``keeping.py``);
* ``JITCodeLibrary``: functions that only kernels call are optimised with the kernel, not before (:func:`_only_linked`);
* ``_nrt``: kernels that make no arrays need no count of references, which takes more time to compile than the rest;
* ``numba.core.event``: tells when something is compiled, to say so and to stop there on Ctrl-C;
* the stack of Python frames (:func:`with_room`).
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from .keeping import Kept
from .ready import note_ready, obstacle, writable_folder

logger = logging.getLogger("reliac")

njit: Any = numba.njit  # its declared type leaves some options out

#: Whether to do without everything that Numba and Python do not promise.
PLAIN = os.environ.get("RELIAC_PLAIN_NUMBA", "0") not in ("", "0")

#: Objects of the problem that loads the compiled code of an engine.
FEW = 24

#: Seconds that an engine takes to compile, measured on two cores of a server in a new environment; others take A_FEW.
SECONDS = {"vectors": 13, "spatial": 14, "spanning": 17, "matrix": 15, "disk": 15, "dense": 17, "graph": 21, "gpu": 10}
A_FEW = "5 to 20"

#: Thresholds of Python's search for garbage while something is compiled.
COLLECTED_SELDOM = (100_000, 20, 50)

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


def _only_linked() -> dict[str, Any]:
    """Return the option for functions that only kernels call: they are linked into kernels, and that is all.

    Numba would optimise each of them by itself and make machine code of it, which nobody runs, with all that it calls
    once more inside. The kernel is optimised as a whole anyhow. Without that, compiling takes up to a third less.
    """
    needed = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "_ensure_finalized")
    try:
        from numba.core.codegen import JITCodeLibrary
        from numba.core.compiler import Compiler
    except ImportError:
        return {}
    if PLAIN or not all(hasattr(JITCodeLibrary, name) for name in needed):
        return {}

    class Linked(JITCodeLibrary):
        def _optimize_final_module(self) -> None:
            """Leave that to the kernel."""

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0  # there is none

        @property
        def codegen(self) -> Any:  # Numba asks it to write an address into machine code, and here there is none
            return SimpleNamespace(set_env=lambda name, environment: None)

    class Part(Compiler):
        def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
            super().__init__(typing, target, Linked(target.codegen(), "part") if library is None else library, *others)

    return {"pipeline_class": Part}


#: All functions that Python calls.
KERNELS: list[Any] = []


def _kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a function that Python calls; it is kept on disk, if a folder for it can be written."""

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(**options)(function)
        if not PLAIN and hasattr(kernel, "_cache"):
            kernel._cache = Kept(function)
        elif (folder := writable_folder()) is not None:
            settings: Any = numba.config
            before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)
            try:
                kernel.enable_caching()
            finally:
                settings.CACHE_DIR = before
        KERNELS.append(kernel)
        return kernel

    return decorate


def count_compiled() -> int:
    """Return how many functions that Python calls this process has compiled, and did not find on disk."""
    return sum(sum(kernel.stats.cache_misses.values()) for kernel in KERNELS)


def kept() -> bool:
    """Tell whether all that this process compiles is kept for later ones."""
    return writable_folder() is not None and not Kept.lost


# ``compiled`` and ``bare`` are for kernels that Python calls; the others are for parts that only kernels call. A part
# has no wrapper for Python, since that takes as long to compile as the part itself. ``bare`` kernels and parts make no
# arrays; a function that makes arrays must say so, because otherwise it takes this option from its caller. A function
# is compiled again for other types of arguments, and True or 0 written out are types of their own: where a function is
# long, pass np.bool_(True), np.int64(0), and slots as np.int64.
OPTIONS = {"nogil": True, "error_model": "numpy"}
INSIDE = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_only_linked()}
compiled: Any = _kernel(**OPTIONS, **_counts_references(True))
bare: Any = _kernel(**OPTIONS, **_counts_references(False))
inside: Any = njit(**INSIDE, **_counts_references(True))
bare_inside: Any = njit(**INSIDE, **_counts_references(False))
bare_inlined: Any = njit(forceinline=True, **INSIDE, **_counts_references(False))  # small, in inner loops


def only_read(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as kernels meet arrays that they only read: always of the read-only type, compiled for once."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


#: Threads that are watched, threads that load, and the code that this process has loaded.
_watched: set[int] = set()
_loaders: set[int] = set()
_loaded: set[tuple[str, str]] = set()

#: Held by the one thread that has code loaded.
_loading = threading.Lock()

#: Whether it was said that nothing is kept, and what to do about it.
advised = False


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
        global advised
        takes = f"compiling the {self.engine} engine: about {SECONDS.get(self.engine, A_FEW)} s"
        if kept():
            logger.warning("%s, once for this environment", takes)
        elif advised:
            logger.warning("%s, for this process only", takes)
        else:
            advised = True
            why, advice = obstacle()
            logger.warning("%s, in this process and again in every later one, since %s. %s", takes, why, advice)

    def stop(self, *_: object) -> None:
        """Have the compiler stop when it is done with a function."""
        self.stopped = True

    def check(self) -> None:
        """Stop now if asked to."""
        if self.stopped:
            raise KeyboardInterrupt


def load(engine: str, types: str, work: Callable[[], Any]) -> None:
    """Do some work that loads the compiled code of an engine, once a process for the types of its arrays.

    The first time in an environment it is compiled. Of several threads one does so and the others wait.
    That is done in a thread of its own: Ctrl-C is answered at once, and the compiler stops soon afterwards.
    """
    if (engine, types) in _loaded or threading.get_ident() in _loaders:  # work that loads may begin as all runs do
        return
    with _loading:
        if (engine, types) not in _loaded:
            _load_in_thread(engine, work)
            _loaded.add((engine, types))
            if kept():
                note_ready(engine)


def _load_in_thread(engine: str, work: Callable[[], Any]) -> None:
    watch, pool = Watch(engine), ThreadPoolExecutor(1)

    def watched() -> None:
        _loaders.add(threading.get_ident())
        try:
            with watch, _seldom_collected():
                with_room(work)
        finally:
            _loaders.discard(threading.get_ident())

    started, compiled_before = time.monotonic(), count_compiled()
    try:
        pool.submit(watched).result()
    except KeyboardInterrupt:
        watch.stop()
        raise
    finally:
        pool.shutdown(wait=False)
    if count_compiled() > compiled_before:
        logger.info("compiled the %s engine in %.1f s", engine, time.monotonic() - started)


@contextlib.contextmanager
def _seldom_collected() -> Iterator[None]:
    """Look for garbage more seldom: a compiler makes many objects that live on, and spends an eighth of its time so."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(*COLLECTED_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def is_loaded(engine: str) -> bool:
    """Tell whether this process has loaded the compiled code of an engine."""
    return any(name == engine for name, _ in _loaded)


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
