"""Edge tables in Spark: a master and two workers on loopback, the same tree, and kills that change nothing.

The processes are those of ``examples/spark_cluster.py``, on ports of their own. Few levels of few objects: what a
statement takes hardly depends on the size.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reliac
from graphs import random_edges
from reliac.engines.sql import connections, home, levels

pytest.importorskip("pyarrow")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)
sys.path.append(str(Path(__file__).parents[2] / "examples"))

# What pyspark itself does: old interfaces of pandas, and sockets that it leaves to be collected.
pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
)

N, EDGES = 24, random_edges(24, 60, 10**6, 1)
OPTIONS: dict[str, Any] = {"objects": range(N), "max_level": 2, "missing": 2.0e6}

#: A driver of its own, which dies while it writes the edges of level 2.
DRIVER = """
import os, signal, sys, warnings
warnings.simplefilter("ignore")
import reliac
from graphs import random_edges
from reliac.engines.sql import connections, home
from spark_cluster import SparkCluster

home.fits = lambda run: False
keep = connections.Spark.keep


def dying(self, name, query):
    if name == "edges" and self.state.get("level") == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    keep(self, name, query)


connections.Spark.keep = dying
cluster = object.__new__(SparkCluster)
cluster.address = "local[2]"
reliac.cluster_edges(
    random_edges(24, 60, 10**6, 1), "average", objects=range(24), max_level=2, missing=2.0e6,
    connection=cluster.session(), checkpoint=sys.argv[1],
)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    from spark_cluster import SparkCluster

    with SparkCluster() as running:
        yield running


@pytest.fixture(scope="module")
def session(cluster: Any) -> Iterator[Any]:
    spark = cluster.session()
    yield spark
    spark.stop()


@pytest.fixture
def all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "fits", lambda run: False)


def expected(criterion: str) -> Any:
    return reliac.cluster_edges(EDGES, criterion, engine="graph", **OPTIONS).links


def test_a_killed_driver_goes_on_and_a_killed_worker_is_not_missed(
    cluster: Any, tmp_path: Path, all_there: None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    folder = tmp_path / "run"
    paths = [*sys.path, str(Path(__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", DRIVER, str(folder)]
    died = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr[-2000:]
    half_written = {path.name for path in folder.iterdir()}
    assert (folder / "state.json").exists()

    keep, killed = connections.Spark.keep, []

    def keep_without_a_worker(self: Any, name: str, query: str) -> None:
        if name == "joined" and not killed:  # in the middle of level 2: its links are written, its edges are not
            worker = cluster.processes[1]
            killed.append(worker.pid)
            threading.Timer(0.2, os.kill, (worker.pid, signal.SIGKILL)).start()
        keep(self, name, query)

    monkeypatch.setattr(connections.Spark, "keep", keep_without_a_worker)
    session = request.getfixturevalue("session")
    levels: list[int] = []
    tree = reliac.cluster_edges(
        EDGES, "average", connection=session, checkpoint=folder,
        progress=lambda progress: levels.append(progress.level), **OPTIONS,
    )  # fmt: skip
    assert levels == [2]
    assert killed
    assert cluster.processes[1].wait(20) == -signal.SIGKILL
    assert tree.engine == "sql (Spark)"
    assert np.array_equal(tree.links, expected("average"))
    assert not folder.exists(), half_written  # the run is complete


def test_a_frame_of_spark_stays_there_whatever_its_columns_are_called(
    session: Any, tmp_path: Path, all_there: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = ["a`; DROP TABLE x; --", "b' OR 1=1", 'd"istance']
    names = np.array([f"object {i:02d}" for i in range(N)])
    p, q, d = random_edges(N, 60, 6, 1)  # ties
    rows = list(zip(names[p].tolist(), names[q].tolist(), d.tolist(), strict=True))
    schema = ", ".join(
        f"`{name.replace('`', '``')}` {kind}"
        for name, kind in zip(columns, ("string", "string", "double"), strict=True)
    )
    frame = session.createDataFrame(rows, schema)
    monkeypatch.setattr(home, "SHARE", 0.0)
    table = reliac.cluster_edges(frame, "single", columns=columns, checkpoint=tmp_path / "run", max_level=1)
    assert isinstance(table, reliac.TreeTable)
    assert "Spark" in repr(table)
    whole = reliac.cluster_edges((names[p], names[q], d), "single", engine="graph", max_level=1)
    found = table.labels().toArrow()
    assert found["object"].to_pylist() == whole.object_names.tolist()
    assert found["cluster"].to_pylist() == whole.labels().tolist()
    assert np.array_equal(table.to_tree().links, whole.links)


def test_groups_too_large_to_be_fetched_are_found_there(
    session: Any, tmp_path: Path, all_there: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, "FEW_EDGES", 0)
    monkeypatch.setattr(levels, "FEW_TIES", 0)
    edges, options = random_edges(N, 60, 4, 1), OPTIONS | {"max_level": 1}
    whole = reliac.cluster_edges(edges, "average", engine="graph", **options)
    assert np.bincount(whole.labels()).max() > 3  # it takes more than one round
    tree = reliac.cluster_edges(edges, "average", connection=session, checkpoint=tmp_path / "run", **options)
    assert np.array_equal(tree.links, whole.links)


def test_the_example_finishes_in_memory_what_fits(session: Any, tmp_path: Path) -> None:
    from spark_cluster import cluster_frame

    tree = cluster_frame(session, str(tmp_path))
    assert tree.n_clusters == 3
    with pytest.raises(FileNotFoundError, match=r"checkpoint .* cannot be a folder here.* Next: "):
        cluster_frame(session, str(tmp_path / "nowhere"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("not to be removed")
    with pytest.raises(FileExistsError, match=r"mine is a folder with other files.* Next: name a new folder"):
        reliac.cluster_edges(EDGES, connection=session, checkpoint=tmp_path / "mine")
    assert (tmp_path / "mine" / "notes.txt").exists()
    assert "the edges are in Spark" in tree.reason
    assert "all of it fitted into memory" in tree.reason


def test_spark_without_java_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "import reliac\n"
        "try: reliac.cluster_edges(([0], [1], [1.0]), connection='local[1]')\n"
        "except OSError as error: print(error)"
    )
    environment = {**os.environ, "JAVA_HOME": "/nonexistent", "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert "it found no Java. Allowed: Java 17 or newer" in said.stdout, said.stderr
    assert "Next: install it" in said.stdout
