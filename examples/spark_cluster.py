"""A Spark cluster of this machine alone, a master and two workers from pip's pyspark, and an edge table in it.

python examples/spark_cluster.py

It needs the extra `spark` and Java 17. On a real cluster only the address of the master is another one, and the folder
of the checkpoint is one that all machines share.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import reliac

#: Java compiles little: what a process of a few minutes does not earn back.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class SparkCluster:
    """A standalone master and its workers on loopback, as processes of our own; inside ``with`` they run."""

    def __init__(self, workers: int = 2, memory: str = "1g") -> None:
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            raise OSError("Spark needs Java. Allowed: Java 17 or newer. Next: apt-get install openjdk-17-jre-headless.")
        import pyspark

        self.home, self.folder = Path(pyspark.__path__[0]), Path(tempfile.mkdtemp(prefix="spark-"))
        self.memory, self.processes = memory, []
        self.port = free_port()
        self.address = f"spark://127.0.0.1:{self.port}"
        wait_for(self.start("master.Master", self.port))
        for port in [self.start_worker() for _ in range(workers)]:
            wait_for(port)

    def start(self, name: str, port: int, *more: str) -> int:
        """Start a process of the cluster, and return its port."""
        command = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
        command += ["--port", str(port), "--webui-port", str(free_port()), *more]
        settings = {"SPARK_HOME": str(self.home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        environment = {**os.environ, **settings, "SPARK_DAEMON_JAVA_OPTS": QUICK_START}
        with open(self.folder / f"{name}-{port}.log", "wb") as log:
            self.processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        return port

    def start_worker(self) -> int:
        """Start one more worker, with one core."""
        folder = str(self.folder / f"work-{len(self.processes)}")
        return self.start(
            "worker.Worker", free_port(), "--cores", "1", "--memory", self.memory, "-d", folder, self.address
        )

    def session(self) -> "pyspark.sql.SparkSession":  # noqa: F821
        """Connect to the cluster."""
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(self.address).appName("reliac")
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "512m",
            "spark.driver.extraJavaOptions": QUICK_START,
            "spark.executor.extraJavaOptions": QUICK_START,
            "spark.shuffle.io.retryWait": "1s",  # of a worker that died
            "spark.ui.enabled": "false",
            "spark.log.level": "ERROR",
            "spark.ui.showConsoleProgress": "false",
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()

    def __enter__(self) -> "SparkCluster":
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes, by their ids, the workers first."""
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(port: int, seconds: float = 60.0) -> None:
    """Wait until somebody listens at a port."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise OSError(f"Nobody listens at port {port} after {seconds:.0f} s. Next: read the log of the process.")


def cluster_frame(spark: "pyspark.sql.SparkSession", folder: str) -> reliac.ClusterTree:  # noqa: F821
    """Cluster an edge table in Spark: three clouds of points, pairs that are near each other."""
    points = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat(np.arange(3), 30)[:, None] * 10.0
    a, b = np.triu_indices(len(points), 1)
    distance = np.hypot(*(points[a] - points[b]).T)
    near = distance < 3.0
    rows = zip(a[near].tolist(), b[near].tolist(), distance[near].tolist(), strict=True)
    edges = spark.createDataFrame(list(rows), "a long, b long, distance double")
    return reliac.cluster_edges(edges, "single", checkpoint=f"{folder}/run", progress=told)


def main() -> None:
    """Start a cluster, and say what each level leaves, and the tree."""
    with SparkCluster() as cluster, tempfile.TemporaryDirectory() as folder:
        spark = cluster.session()
        print(cluster_frame(spark, folder))
        spark.stop()


def told(progress: reliac.Progress) -> None:
    """Say how far the run is."""
    print(f"level {progress.level}: {progress.n_clusters} clusters after {progress.seconds:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
