"""Work that is dealt out to threads: all of it, in order; and none of the rest after an error."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from reliac.machine import deal_out, in_threads


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_results_come_in_the_order_of_the_pieces_for_any_number_of_threads(threads, count):
    assert in_threads(lambda k: k * k, range(count), threads) == [k * k for k in range(count)]


def test_a_pool_gets_one_task_for_each_thread_and_not_one_for_each_piece():
    tasks = []

    class Counted(ThreadPoolExecutor):
        def submit(self, *work):
            tasks.append(work)
            return super().submit(*work)

    with Counted(2) as pool:
        assert deal_out(pool, str, range(50), 2) == [str(k) for k in range(50)]
    assert len(tasks) == 2


def test_after_an_error_pieces_that_have_not_begun_are_left():
    begun = []

    def work(piece):
        begun.append(piece)
        if piece == 3:
            raise ValueError("piece 3")

    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="piece 3"):
        deal_out(pool, work, range(100), 1)
    assert begun == [0, 1, 2, 3]


def noting(begun, interrupted):
    """Return work that notes its piece and goes on when the main thread was interrupted."""

    def work(piece):
        begun.append(piece)
        interrupted.wait(10)

    return work


@pytest.mark.parametrize("threads", [1, 3])
def test_of_several_errors_that_of_the_first_piece_is_raised(threads):
    everybody = threading.Barrier(threads)

    def work(piece):
        if piece == 0:
            return
        if threads > 1:
            everybody.wait(10)  # pieces 1 to 3 fail at the same time
        raise ValueError(f"piece {piece}")

    with ThreadPoolExecutor(threads) as pool, pytest.raises(ValueError, match="piece 1"):
        deal_out(pool, work, range(100), threads)


def test_after_ctrl_c_while_work_is_handed_over_pieces_that_have_not_begun_are_left(monkeypatch):
    begun, interrupted = [], threading.Event()
    work = noting(begun, interrupted)

    with ThreadPoolExecutor(2) as pool:
        submit, tasks = pool.submit, []

        def interrupting(function):
            if tasks:
                raise KeyboardInterrupt
            tasks.append(submit(function))
            return tasks[0]

        monkeypatch.setattr(pool, "submit", interrupting)
        with pytest.raises(KeyboardInterrupt):
            deal_out(pool, work, range(100), 2)
        interrupted.set()
    assert begun in ([], [0])


def test_after_ctrl_c_while_it_waits_pieces_that_have_not_begun_are_left(monkeypatch):
    begun, interrupted = [], threading.Event()
    work = noting(begun, interrupted)

    with ThreadPoolExecutor(1) as pool:
        submit = pool.submit

        def interrupting(function):
            task = submit(function)

            def result():
                while not begun:
                    pass
                raise KeyboardInterrupt

            monkeypatch.setattr(task, "result", result)
            return task

        monkeypatch.setattr(pool, "submit", interrupting)
        with pytest.raises(KeyboardInterrupt):
            deal_out(pool, work, range(100), 1)
        interrupted.set()
    assert begun == [0]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of addresses and /proc")
def test_what_a_batch_system_allows_a_process_counts_as_free_memory():
    code = """
import resource
import numpy as np
from reliac import cluster
from reliac.errors import DoesNotFit
from reliac.machine import free_memory
cluster([[0.0], [1.0]], "average")
before = free_memory()
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
assert free_memory() < min(before, 3 * 2**30)
for engine in ("auto", "matrix"):
    try:
        cluster(np.arange(60000.0).reshape(-1, 1), "average", engine=engine)
    except DoesNotFit as error:
        print("refused", engine, error)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "refused auto Average of 'euclidean' distances of 60000 objects needs about" in done.stdout
    assert "refused matrix The matrix engine, for average of" in done.stdout
