"""What the machine has: memory, and threads, with work dealt out to them."""

from __future__ import annotations

import contextlib
import numbers
import os
import platform
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from .errors import DoesNotFit, explain, option, too_large

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def check_jobs(n_jobs: Any) -> None:
    """Refuse what is no number of jobs."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise ValueError(
            explain(
                option("n_jobs", n_jobs),
                "a positive number, or -1 for all cores",
                "leave it out for the default",
            )
        )


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads, as joblib counts them: None is all cores here, -1 too, -2 all but one."""
    check_jobs(n_jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    return max(1, n_jobs if n_jobs > 0 else cores + 1 + n_jobs)


def in_threads(function: Callable[[Piece], Result], pieces: Sequence[Piece], threads: int) -> list[Result]:
    """Call a function on pieces of work, in a pool if there are several of them and of threads."""
    if len(pieces) <= 1 or threads == 1:
        return [function(piece) for piece in pieces]
    with ThreadPoolExecutor(min(threads, len(pieces))) as pool:
        return deal_out(pool, function, pieces, threads)


def deal_out(
    pool: ThreadPoolExecutor, function: Callable[[Piece], Result], pieces: Sequence[Piece], threads: int
) -> list[Result]:
    """Call a function on pieces of work in the threads of a pool; each takes the next piece when it is done with one.

    The pool gets one task for each thread and not one for each piece, which takes 20 microseconds to hand over. After
    an error, or Ctrl-C here, pieces that have not begun are left.
    """
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}
    waiting, taking = iter(range(len(pieces))), Lock()

    def take() -> int | None:
        with taking:
            return next(waiting, None)

    def leave_the_rest() -> None:
        with taking:
            deque(waiting, 0)

    def work() -> None:
        while (k := take()) is not None:
            try:
                results[k] = function(pieces[k])
            except BaseException as error:
                errors[k] = error
                leave_the_rest()

    try:
        for task in [pool.submit(work) for _ in range(min(threads, len(pieces)))]:
            task.result()
    except BaseException:
        leave_the_rest()
        raise
    if errors:  # of several that of the first piece, as if there were one thread
        raise errors.pop(min(errors))
    return [results[k] for k in range(len(pieces))]


def processor() -> str:
    """Return what tells this kind of processor from others: what compiled code is made for."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        told = {}
        for line in lines:
            name, _, value = line.partition(":")
            if not value:  # the next processor is like the first
                break
            told[name.strip()] = value.strip()
        return repr([told.get(name) for name in ("model name", "flags", "CPU part", "Features", "isa")])
    return platform.processor()


def free_memory() -> int:
    """Return the bytes that can be allocated without swapping, as far as the system and its container tell."""
    free = 2**63 - 1
    with contextlib.suppress(AttributeError, OSError, ValueError):
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo") as lines:
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    with contextlib.suppress(OSError, ValueError):  # "max" where a container sets no limit
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        free = min(free, limit - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    return max(0, min(free, free_addresses()))


def free_addresses() -> int:
    """Return the bytes that this process may still map: shells and batch systems set a limit (``ulimit -v``)."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):  # resource: not on Windows
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            return limit - int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return 2**63 - 1


#: What to do about a file that does not fit.
FILE_STEP = "use a machine with more memory, or check whether the file is damaged"


def check_memory(size: int, what: str, next_step: str = FILE_STEP) -> None:
    """Refuse to read or make what needs more bytes than are free; ``what`` says what it is."""
    if size > (free := free_memory()):
        raise DoesNotFit(too_large(what, size, free, next_step))
