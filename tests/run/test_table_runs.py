"""Runs in a DuckDB file: killed at any statement they go on, one at a time, and leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reliac
from graphs import GRAPHS, random_edges
from reliac.engines.sql import home

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

N, EDGES = 400, random_edges(400, 2500, 40, 7)

#: Runs in a process of its own: one child after the other is killed before or after a statement that is drawn by lot.
KILLS = """
import os, random, signal, sys
import numpy as np
import reliac
from graphs import random_edges
from reliac.engines.sql import connections, home

edges, path, kills = random_edges(400, 2500, 40, 7), sys.argv[1], int(sys.argv[2])
home.fits = lambda run: False
plain = {name: getattr(connections.DuckDB, name) for name in ("make", "keep", "append", "done")}


def dying(name, left, after):
    def method(self, *arguments):
        left[0] -= 1
        if left[0] == 0 and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        plain[name](self, *arguments)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return method


def cluster():
    return reliac.cluster_edges(edges, sys.argv[3], objects=range(400), engine="sql", checkpoint=path)


lot, killed = random.Random(5), 0
for _ in range(kills):
    child = os.fork()
    if not child:
        left, after = [lot.randrange(1, 30)], lot.random() < 0.5
        for name in plain:
            setattr(connections.DuckDB, name, dying(name, left, after))
        cluster()
        os._exit(0)
    lot.random(), lot.random()  # the child has drawn, too
    killed += os.waitpid(child, 0)[1] == signal.SIGKILL
tree = cluster()
np.save(sys.argv[4], tree.links)
print(killed)
"""


@pytest.mark.parametrize("criterion", ["average", "single"])
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_tree(tmp_path: Path, criterion: str) -> None:
    path, out, kills = tmp_path / "run.duckdb", tmp_path / "links.npy", 15
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[1])])}
    command = [sys.executable, "-W", "ignore", "-c", KILLS, str(path), str(kills), criterion, str(out)]
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=300)
    assert int(said.stdout) >= 10, said.stderr
    whole = reliac.cluster_edges(EDGES, criterion, objects=range(N), engine="graph")
    assert np.array_equal(np.load(out), whole.links)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["links.npy"]


def test_a_run_that_stops_goes_on_from_its_last_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "fits", lambda run: False)
    path = tmp_path / "run.duckdb"
    n, edges = GRAPHS["thick"]
    options: dict[str, Any] = {"objects": range(n), "engine": "sql", "checkpoint": path}
    seen: list[int] = []

    def stop_at_three(progress: reliac.Progress) -> None:
        seen.append(progress.level)
        if progress.level == 3:
            raise KeyboardInterrupt

    with pytest.raises(reliac.Interrupted) as caught:
        reliac.cluster_edges(edges, "complete", missing="ignore", progress=stop_at_three, **options)
    assert caught.value.tree.n_levels == 3
    with duckdb.connect(str(path), read_only=True) as file:  # old levels are gone
        assert {row[0] for row in file.execute("SELECT table_name FROM duckdb_tables()").fetchall()} == {
            *("objects", "edges", "joined", "links", "state"),
        }
    later: list[int] = []
    tree = reliac.cluster_edges(
        edges, "complete", missing="ignore", progress=lambda progress: later.append(progress.level), **options
    )
    assert seen == [1, 2, 3]
    assert later[0] == 4
    whole = reliac.cluster_edges(edges, "complete", missing="ignore", objects=range(n), engine="graph")
    assert np.array_equal(tree.links, whole.links)
    assert list(tmp_path.iterdir()) == []


def test_a_second_run_on_one_checkpoint_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "fits", lambda run: False)
    options: dict[str, Any] = {"objects": range(N), "engine": "sql", "checkpoint": tmp_path / "run.duckdb"}
    refused: list[str] = []

    def again(progress: reliac.Progress) -> None:
        if not refused:
            with pytest.raises(BlockingIOError, match=r"in use by another run.* Allowed: .* Next: ") as caught:
                reliac.cluster_edges(EDGES, "average", **options)
            refused.append(str(caught.value))

    reliac.cluster_edges(EDGES, "average", progress=again, **options)
    assert refused


def test_a_checkpoint_of_other_data_or_options_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "fits", lambda run: False)
    options: dict[str, Any] = {"objects": range(N), "engine": "sql", "checkpoint": tmp_path / "run.duckdb"}

    def stop(progress: reliac.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(reliac.Interrupted):
        reliac.cluster_edges(EDGES, "average", progress=stop, **options)
    p, q, d = EDGES
    for edges, criterion in ((EDGES, "complete"), ((p, q, d + 1.0), "average")):
        with pytest.raises(ValueError, match=r"belongs to other data or options.* Next: "):
            reliac.cluster_edges(edges, criterion, **options)
    (tmp_path / "text.duckdb").write_text("no database")
    with pytest.raises(ValueError, match=r" Allowed: .* Next: "):
        reliac.cluster_edges(EDGES, "average", **{**options, "checkpoint": tmp_path / "text.duckdb"})
    with pytest.raises(FileNotFoundError, match="no folder"):
        reliac.cluster_edges(EDGES, "average", **{**options, "checkpoint": tmp_path / "nowhere" / "run.duckdb"})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a limit on files needs a process of its own")
def test_after_a_full_disk_the_same_call_goes_on(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys, reliac\n"
        "from graphs import random_edges\n"
        "from reliac.engines.sql import home\n"
        "home.fits = lambda run: False\n"
        "limit = int(sys.argv[2])\n"
        "def stop(progress):\n"
        "    if progress.level == 2 and limit:\n"
        "        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n"
        "try:\n"
        "    tree = reliac.cluster_edges(random_edges(4000, 40000, 10**6, 7), 'average', objects=range(4000),\n"
        "        engine='sql', checkpoint=sys.argv[1], progress=stop, max_level=6)\n"
        "    print(tree.n_levels, tree.n_clusters)\n"
        "except OSError as error:\n"
        "    print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[1])])}

    def run(limit: int) -> str:
        command = [sys.executable, "-c", code, str(tmp_path / "run.duckdb"), str(limit)]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout

    said = run(2**18)
    assert "Next: free some space" in said, said
    assert "the same call then goes on from the last level" in said
    edges = random_edges(4000, 40000, 10**6, 7)
    tree = reliac.cluster_edges(edges, "average", objects=range(4000), engine="graph", max_level=6)
    assert run(0).split() == [str(tree.n_levels), str(tree.n_clusters)]


def test_a_small_memory_limit_gives_the_same_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "fits", lambda run: False)
    edges = random_edges(60000, 600000, 10**6, 3)
    config = {"memory_limit": "60MB", "threads": "2", "temp_directory": str(tmp_path / "spill")}
    with duckdb.connect(config=config) as limited:
        options: dict[str, Any] = {"objects": range(60000), "max_level": 3}
        tree = reliac.cluster_edges(edges, "average", connection=limited, **options)
    assert np.array_equal(tree.links, reliac.cluster_edges(edges, "average", engine="graph", **options).links)
