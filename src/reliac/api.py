"""cluster(), cluster_groups(), cluster_edges(), load(), warmup(): translate arguments, nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from .calls import explain_calls
from .engines.warming import Warmup, warm_up
from .files import read_bytes
from .input.edges import check_titles, make_graph
from .input.metrics import MetricLike
from .input.neighbors import Neighbors
from .input.options import check_count, check_switch
from .input.problem import make_problem
from .input.tables import into_memory, place_of, refuse_in_database
from .machine import check_jobs
from .run.groups import GroupTrees
from .run.groups import cluster_groups as run_groups
from .run.history import Progress
from .run.neighbors import cluster_along
from .run.parts import cluster_by_parts
from .run.plain import tree_of_array
from .run.reaching import check_may_have_root, check_reached
from .run.solve import cluster_problem
from .run.tables import Wanted, cluster_table
from .tree.building import with_root
from .tree.clustertree import ClusterTree
from .tree.storage import read_tree
from .tree.treetable import TreeTable

CriterionName = Literal["single", "complete", "average", "weighted", "centroid", "median", "ward"]


@explain_calls()
def cluster(
    X: Any,
    criterion: CriterionName | str = "ward",
    *,
    metric: MetricLike = "euclidean",
    alpha: float = 1.0,
    n_clusters: int | None = None,
    max_level: int | None = None,
    max_distance: float | None = None,
    weights: Any = None,
    tie_tolerance: float = 0.0,
    names: Any = None,
    connectivity: Any = None,
    neighbors: int | Neighbors | None = None,
    join_components: bool = False,
    must_link: Any = None,
    cannot_link: Any = None,
    max_size: int | None = None,
    precision: Literal["float64", "float32"] | str = "float64",
    engine: str = "auto",
    n_jobs: int | None = None,
    progress: bool | Literal["json"] | Callable[[Progress], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    keep_lists: bool = False,
) -> ClusterTree:
    """Cluster objects by merging, at every step, all pairs of clusters that are each other's nearest neighbour.

    Parameters
    ----------
    X : (n, d) array, pandas or polars frame, scipy sparse matrix; with ``metric="precomputed"`` a square (n, n)
        or condensed (n(n-1)/2,) matrix of distances.
    criterion : "single", "complete", "average", "weighted", "centroid", "median" or "ward"; also "upgma" (average),
        "wpgma" (weighted), "upgmc" (centroid) and "wpgmc" (median).
    metric : the name of a metric that ``scipy.spatial.distance.pdist`` knows, a function of two rows (or of two
        objects of any kind, such as texts: X is then a list of them), or "precomputed". Centroid, median and ward need
        "euclidean", "sqeuclidean" or "precomputed", and take given distances as Euclidean ones. With "nan_euclidean"
        (as in scikit-learn) and "gower" values may be missing, and "gower" compares numbers, ordered and plain
        categories and booleans by the types of a frame's columns (docs/after.md). With "sqeuclidean" distances in the
        tree are squares (of ward the growth of the sum of squares), as in the paper; average of "sqeuclidean" or
        "cosine" distances needs no matrix.
    alpha : share of the smallest reliable links that each step establishes; 1 is the reliable strategy, 0 the
        standard one (a single link a step).
    n_clusters : stop when exactly this many clusters are left.
    max_level, max_distance : stop after so many levels; never establish a longer link.
    weights : how often each row counts. A row of weight 3 counts as three equal rows that have joined already: the
        tree is that of the repeated rows after ``max_distance=0``, developed on. (Of rows that have not joined yet
        one could join elsewhere first, where links are tied or alpha is below 1.)
    tie_tolerance : distances that differ by this share count as equal.
    names : a text for every object, in the order of the rows; None takes those that a frame brings.
    connectivity : a graph that says who may be joined, as in scikit-learn: a square array or sparse matrix whose
        entries are edges, or a function that makes one of X. Ward, centroid and median, and average of "sqeuclidean" or
        "cosine", compare clusters by all their vectors; the others by the edges between them, which have the distances
        of their objects (docs/graphs.md). The graph is never completed: what no path joins stays apart.
    must_link, cannot_link : pairs of objects, by number or name, that are together from the beginning, or never. What
        is forbidden is in no cluster of the tree, which may be a forest (``n_components``); see docs/constraints.md.
    max_size : no cluster has more objects than this.
    neighbors : cluster on the graph of so many nearest neighbours of every row, or of those that
        :func:`reliac.neighbors` has found: as :func:`cluster_edges` does with ``missing="far"``, so pairs that are no
        neighbours are far, and the tree is a forest where no path joins the rows. Single, complete, average, weighted.
    join_components : join what ``neighbors`` or ``connectivity`` leave apart: from there on the criterion goes by the
        rows themselves, and all pairs are allowed. Where ``max_level`` or ``max_distance`` stop the run nothing is.
    precision : the numbers of a matrix that is computed from vectors: "float64", or "float32", which halves it and
        rounds every distance to seven digits. Where no matrix is computed it changes nothing.
    engine : "auto", or "literal", "small", "dense", "folding", "vectors", "spatial", "matrix", "disk", "spanning",
        "graph" or "gpu" (docs/performance.md, docs/gpu.md).
    n_jobs : number of threads; None and -1 take all cores, -2 all but one. The result has the same bits for any number.
    progress : True for a bar on standard error, "json" for lines of JSON there, or a function that gets a ``Progress``
        after every level and a few times a second during searches.
    checkpoint : a file that keeps the levels done and what was found for the next ones, written about every half
        minute; after a crash the same call goes on from there. One run at a time can use it.
    keep_lists : keep what searches of the vectors engine find, 100 to 300 bytes an object, in the tree and in its file:
        :meth:`ClusterTree.extend` and :meth:`ClusterTree.without` then need a fraction of a fresh run.

    Returns
    -------
    ClusterTree
        It keeps a reference to X, not a copy: do not change X in place before :meth:`ClusterTree.develop`.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [1.0], [5.0], [6.0], [20.0]])
    >>> tree.cluster_counts.tolist()
    [5, 3, 2, 1]
    >>> tree.labels(3).tolist()
    [0, 0, 1, 1, 2]
    >>> tree.join_levels.tolist()  # the last object joins last: an outlier
    [1, 1, 1, 1, 3]
    """
    rules: dict[str, Any] = {
        "metric": metric,
        "alpha": alpha,
        "n_clusters": n_clusters,
        "max_level": max_level,
        "max_distance": max_distance,
        "weights": weights,
        "tie_tolerance": tie_tolerance,
        "names": names,
        "connectivity": connectivity,
        "must_link": must_link,
        "cannot_link": cannot_link,
        "max_size": max_size,
        "precision": precision,
        "n_jobs": n_jobs,
    }
    run_options = (neighbors, join_components, engine, progress, checkpoint, keep_lists)
    if (plain := tree_of_array(X, criterion, rules, run_options)) is not None:
        return plain
    if neighbors is not None or check_switch("join_components", join_components):
        return cluster_along(X, criterion, neighbors, join_components, rules, (engine, n_jobs, progress, checkpoint))
    tree = cluster_by_parts(make_problem(X, criterion, **rules), engine, n_jobs, progress, checkpoint, keep_lists)
    check_reached(tree, n_clusters)
    return tree


@explain_calls(beside=cluster)
def cluster_groups(
    X: Any,
    groups: Any,
    criterion: CriterionName | str = "ward",
    *,
    metric: MetricLike = "euclidean",
    alpha: float = 1.0,
    n_clusters: int | None = None,
    max_level: int | None = None,
    max_distance: float | None = None,
    weights: Any = None,
    tie_tolerance: float = 0.0,
    names: Any = None,
    n_jobs: int | None = None,
) -> GroupTrees:
    """Cluster the rows of every group by themselves, many groups at once: blocks of records, rows of one user.

    Parameters
    ----------
    X : as in :func:`cluster`.
    groups : one label for every row; rows with equal labels are clustered together, and with no others.
    n_clusters : stop in every group when so many clusters are left; a group of fewer rows is left as it is.
    criterion, metric, alpha, max_level, max_distance, weights, tie_tolerance, names, n_jobs : as in :func:`cluster`.

    Returns
    -------
    GroupTrees
        A mapping: ``trees[group]`` is the tree that ``cluster`` gives for the rows of that group. ``trees.labels(...)``
        gives the clusters of all rows in one numbering, cut as :meth:`ClusterTree.labels` cuts.

    Examples
    --------
    >>> import reliac
    >>> trees = reliac.cluster_groups([[0.0], [5.0], [1.0], [5.5], [9.0]], ["a", "b", "a", "b", "b"], "single")
    >>> trees["b"].linkage_matrix().tolist()
    [[0.0, 1.0, 0.5, 2.0], [2.0, 3.0, 3.5, 3.0]]
    >>> trees.labels(distance=1.0).tolist()
    [0, 1, 0, 1, 2]
    """
    problem = make_problem(
        X,
        criterion,
        metric=metric,
        alpha=alpha,
        n_clusters=n_clusters,
        max_level=max_level,
        max_distance=max_distance,
        weights=weights,
        tie_tolerance=tie_tolerance,
        names=names,
        n_jobs=n_jobs,
    )
    check_jobs(n_jobs)
    return run_groups(problem, groups, n_jobs)


@explain_calls(beside=cluster)
def cluster_edges(
    source: Any,
    criterion: CriterionName | str = "average",
    *,
    missing: float | Literal["far", "ignore"] = "far",
    columns: Sequence[str] | None = None,
    objects: Any = None,
    similarity: bool = False,
    duplicates: Literal["error", "min", "max", "mean"] = "error",
    join_components: bool = False,
    alpha: float = 1.0,
    n_clusters: int | None = None,
    max_level: int | None = None,
    max_distance: float | None = None,
    weights: Any = None,
    tie_tolerance: float = 0.0,
    must_link: Any = None,
    cannot_link: Any = None,
    max_size: int | None = None,
    engine: str = "auto",
    connection: Any = None,
    n_jobs: int | None = None,
    progress: bool | Literal["json"] | Callable[[Progress], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> ClusterTree | TreeTable:
    """Cluster the objects of a graph: only listed pairs, its edges, have a distance.

    Objects that no path of edges joins stay apart: the tree is a forest.

    Parameters
    ----------
    source : an edge table: a tuple of three arrays (a, b, distance) or a list of such triples, a pandas or polars
        frame, an Arrow table or dataset, the path of a Parquet or CSV file or a pattern of such paths, a DuckDB
        relation, a Spark frame, the name of a table; or a square scipy sparse matrix, or a networkx graph.
        Objects go by numbers or any labels.
        Both directions of an edge may be given. An edge of distance 0 is an edge.
    criterion : "single", "complete", "average" or "weighted".
    missing : what a pair without an edge means. "far": it is farther than every edge. The tree is that of the full
        matrix in which such pairs have one far distance M, cut below M; for average and weighted M is the largest
        edge, or the number given instead of "far". "ignore": only listed pairs count; this chains, and takes more
        levels.
    columns : the titles of the two ends and the distance in a frame or file; ("a", "b", "distance") by default, or
        "similarity" where those are given.
    objects : all objects, in their order, also those without an edge.
    similarity : the numbers are similarities; the distance is the largest of them minus each.
    duplicates : what to do with two different distances of one pair: "error", or take "min", "max" or "mean".
    join_components : join what is left at the end at distance M (or the largest edge), so that there is one root.
    must_link, cannot_link : pairs of objects, by their labels, that are together from the beginning, or never.
    engine : "auto", "graph" (in memory), "sql" (in a database, docs/sql.md), or as in :func:`cluster`. "auto" takes a
        database for edges that live in one, and for those that would not fit into memory.
    connection : a DuckDB connection, a SparkSession, or the address of a Spark master; without one DuckDB is started
        in this process where it is needed.
    checkpoint : as in :func:`cluster`; in a database a DuckDB file, or a folder that all Spark workers can reach.
    alpha, n_clusters, max_level, max_distance, weights, tie_tolerance, max_size, n_jobs, progress :
        as in :func:`cluster`.

    Returns
    -------
    ClusterTree, or a TreeTable where the edges are in a database and a tree would not fit into memory.
        A tree may refer to the arrays of ``source``: do not change them in place before :meth:`ClusterTree.develop`.

    Examples
    --------
    >>> import reliac
    >>> a, b, distance = ["x", "y", "u", "x"], ["y", "z", "v", "z"], [1.0, 2.0, 1.0, 3.0]
    >>> tree = reliac.cluster_edges((a, b, distance), "single")
    >>> tree.n_components
    2
    >>> [cluster.tolist() for cluster in tree.clusters(named=True)]
    [['u', 'v'], ['x', 'y', 'z']]
    """
    similarity, join_components = (
        check_switch("similarity", similarity),
        check_switch("join_components", join_components),
    )
    columns = check_titles(columns)
    place = place_of(source, connection, engine)
    if place:
        constraints = {"must_link": must_link, "cannot_link": cannot_link, "max_size": max_size}
        refuse_in_database(weights=weights, tie_tolerance=tie_tolerance, join_components=join_components, **constraints)
        wanted = Wanted(
            *(criterion, missing, columns, objects, similarity, duplicates),
            *(alpha, n_clusters, max_level, max_distance),
        )
        return cluster_table(source, place, wanted, connection, checkpoint, progress)
    source = into_memory(source, connection)
    graph = make_graph(
        source, columns=columns, objects=objects, similarity=similarity, duplicates=duplicates, missing=missing
    )
    count = n_clusters
    if join_components and n_clusters is not None:
        check_count("n_clusters", n_clusters, 1, graph.n, "ask for no more clusters than there are objects")
        count = max(n_clusters, graph.n_components)
    problem = make_problem(
        graph,
        criterion,
        metric="precomputed",
        alpha=alpha,
        n_clusters=count,
        max_level=max_level,
        max_distance=max_distance,
        weights=weights,
        tie_tolerance=tie_tolerance,
        must_link=must_link,
        cannot_link=cannot_link,
        max_size=max_size,
        n_jobs=n_jobs,
    )
    if join_components:
        check_may_have_root(problem)
    tree = cluster_problem(problem, engine, n_jobs, progress, checkpoint)
    if join_components:
        return with_root(tree, graph.root_distance(problem.criterion), n_clusters or 1, alpha == 0.0)
    check_reached(tree, n_clusters)
    return tree


@explain_calls()
def load(path: str | os.PathLike[str]) -> ClusterTree:
    """Read a tree that ``ClusterTree.save`` (or ``to_json``) wrote."""
    return read_tree(read_bytes(path), path).tree


@explain_calls()
def warmup(engines: Iterable[str] | None = None, *, n_jobs: int | None = None) -> Warmup:
    """Load the compiled code of engines, so that no later call waits for it; where there is none yet, compile it.

    Compiled code is kept: in the folder that ``RELIAC_CACHE`` or ``NUMBA_CACHE_DIR`` names, or in the installed package
    if that can be written, or in the user's folder of caches. It is compiled once for an environment (this version of
    reliac, Python, Numba and kind of processor), for all criteria, number types and forms of input at once.

    Parameters
    ----------
    engines : names of engines; None takes all that have compiled code.
    n_jobs : with more than one, or with None on several cores, a second process compiles half of them.

    Returns
    -------
    Warmup
        ``engines``: for each its name, the number of functions that had to be compiled, and seconds; ``seconds`` in
        all; ``folder``: where compiled code is kept, or None. ``print`` shows it.
    """
    return warm_up(engines, n_jobs)
