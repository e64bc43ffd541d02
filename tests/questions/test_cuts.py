"""Cuts within sizes and branch by branch, and parts of trees, against literal definitions on generated problems."""

from __future__ import annotations

import functools
import itertools
import pickle

import numpy as np
import pytest
from scipy.cluster import hierarchy

import reliac
from problems import CRITERIA, blobs, lattice, shrinking_chain, tied
from reliac import ClusterTree
from reliac.questions.branches import condensed, inconsistency
from reliac.tree.building import check_invariants, make_links
from reliac.tree.walks import first_objects


def generated():
    """Trees and forests of all criteria: ties, inversions, weights, early stops, one link a step, constraints."""
    for seed, criterion in itertools.product(range(5), CRITERIA):
        X = tied(seed) if seed % 2 else blobs(seed, n=30)
        yield reliac.cluster(X, criterion)
        yield reliac.cluster(X, criterion, n_clusters=3, weights=1.0 + np.arange(len(X)) % 3)
        yield reliac.cluster(lattice(seed), criterion, max_level=2)
        yield reliac.cluster(lattice(seed, n=15), criterion, alpha=0.0)
    yield reliac.cluster([[0.0]])
    yield reliac.cluster(shrinking_chain(), "single")
    yield reliac.cluster_edges(([0, 1, 3, 5], [1, 2, 4, 6], [1.0, 1.0, 2.0, 3.0]), "single")


@functools.cache
def trees():
    return list(generated())


def chain(n):
    """A tree of n objects that grows by one object a level."""
    count = np.arange(n - 1)
    links = make_links(n, np.zeros(n - 1, dtype=np.intp), count + 1, count.astype(float), count + 1)
    return ClusterTree(n, links, np.arange(n), np.ones(n), parameters={"criterion": "single"})


def partition(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def in_order(labels):
    """Labels of clusters are 0, 1, ... by first objects; -1 stands apart."""
    firsts = [int(np.argmax(labels == label)) for label in range(labels.max() + 1)]
    return firsts == sorted(firsts) and set(labels.tolist()) <= set(range(-1, len(firsts)))


class Literal:
    """A tree as sets of objects: for every cluster that steps make the parts that it was joined from."""

    def __init__(self, tree, clusters=None):
        """``clusters``: those of a cut, which count as what the next steps start from."""
        below = [frozenset([i]) for i in range(tree.n_objects)]
        parts = [[node] for node in below]
        level, height = [0] * tree.n_objects, [0.0] * tree.n_objects
        for left, right, distance, at, _ in tree.links.tolist():
            whole = below[left] | below[right]
            taken = []
            for end in (left, right):  # of one step: the parts of the group so far
                inner = level[end] == at and not (clusters and below[end] in clusters)
                taken += parts[end] if inner else [below[end]]
            below.append(whole)
            parts.append(taken)
            level.append(at)
            height.append(max(distance, height[left], height[right]))
        absorbed = {end for end in range(len(below)) for up in self.ups(tree, end) if level[up] == level[end] > 0}
        kept = [i for i in range(len(below)) if i not in absorbed or (clusters and below[i] in clusters)]
        self.parts = {below[i]: parts[i] for i in kept if i >= tree.n_objects}
        self.height = {below[i]: height[i] for i in kept}
        self.parent = {part: whole for whole, its in self.parts.items() for part in its}
        self.objects = [frozenset([i]) for i in range(tree.n_objects)]

    @staticmethod
    def ups(tree, end):
        rows = np.flatnonzero((tree.links["left"] == end) | (tree.links["right"] == end))
        return (rows + tree.n_objects).tolist()


def test_several_cuts_are_the_columns_of_single_ones():
    for tree in trees()[::5]:
        counts = [tree.n_objects, tree.n_clusters, (tree.n_clusters + tree.n_objects) // 2]
        for by in ("distance", "level"):
            found = tree.labels(counts, by=by)
            assert found.shape == (tree.n_objects, 3)
            assert np.array_equal(found, np.column_stack([tree.labels(count, by=by) for count in counts]))
        levels = range(tree.n_levels + 1)
        assert np.array_equal(tree.labels(level=levels), np.column_stack([tree.labels(level=at) for at in levels]))
        distances = np.array([0.0, 1.5, 1e9])
        assert np.array_equal(
            tree.labels(distance=distances), np.column_stack([tree.labels(distance=float(t)) for t in distances])
        )


def test_named_cuts_are_a_frame_with_a_column_for_each():
    pandas = pytest.importorskip("pandas")
    tree = reliac.cluster([[0.0], [1.0], [5.0], [6.0]], names=["a", "b", "c", "d"])
    frame = tree.labels(iter([2, 3]), named=True)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.columns.tolist() == [2, 3]
    assert frame.index.tolist() == ["a", "b", "c", "d"]
    assert frame[3].tolist() == [0, 0, 1, 2] or frame[3].tolist() == [0, 1, 2, 2]


def cut_by_size(tree, start, largest, smallest):
    """The definition: take apart what is too large, then put what is too small into its parent where that may be."""
    clusters = set(start)
    literal = Literal(tree, clusters)
    while any(len(cluster) > largest for cluster in clusters):
        cluster = next(cluster for cluster in clusters if len(cluster) > largest)
        clusters = clusters - {cluster} | set(literal.parts[cluster])
    literal = Literal(tree, clusters)
    while True:
        small = [c for c in clusters if len(c) < smallest and len(literal.parent.get(c, range(10**9))) <= largest]
        small = [c for c in small if c in literal.parent]
        if not small:
            return clusters
        whole = literal.parent[small[0]]
        clusters = {c for c in clusters if not c <= whole} | {whole}


@pytest.mark.parametrize("small", ["stay", "drop"])
def test_cuts_within_sizes_follow_their_definition(small):
    random = np.random.default_rng(0)
    for tree in trees():
        n = tree.n_objects
        for cut in ({}, {"n_clusters": int(random.integers(tree.n_clusters, n + 1))}, {"level": tree.n_levels // 2}):
            start = partition(tree.labels(**cut))
            largest = int(random.integers(1, n + 1))
            smallest = int(random.integers(1, largest + 1))
            found = tree.labels(**cut, max_size=largest, min_size=smallest, small=small)
            assert in_order(found)
            wanted = cut_by_size(tree, start, largest, smallest if small == "stay" else 1)
            if small == "drop":
                wanted = {cluster for cluster in wanted if len(cluster) >= smallest}
            assert {c for c in partition(found) if found[min(c)] >= 0} == wanted
            only = tree.labels(**cut, min_size=smallest, small="stay")
            assert partition(only) == cut_by_size(tree, start, n, smallest)


def test_cuts_by_largest_size_are_nested_and_free_of_the_order_of_rows():
    X = lattice(3, n=40)
    tree, order = reliac.cluster(X, "average"), np.random.default_rng(1).permutation(40)
    other = reliac.cluster(X[order], "average")
    finer = None
    for size in range(1, 41):
        labels = tree.labels(max_size=size)
        assert np.bincount(labels).max() <= size
        assert {frozenset(order[sorted(c)].tolist()) for c in partition(other.labels(max_size=size))} == partition(
            labels
        )
        if finer is not None:
            assert len(np.unique(np.column_stack([finer, labels]), axis=0)) == finer.max() + 1
        finer = labels


def test_objects_that_must_be_together_stay_so_whatever_the_largest_size():
    tree = reliac.cluster([[0.0], [1.0], [5.0], [50.0]], must_link=[(0, 3), (0, 2)])
    assert tree.labels(max_size=2).tolist() == [0, 1, 0, 0]


# --- branch by branch ---


def best_choice(tree, min_size):
    """The definition of clusters by lifetime: the larger sum from below, and of equal sums the larger cluster."""
    literal = Literal(tree)
    large = lambda whole: [part for part in literal.parts.get(whole, []) if len(part) >= min_size]  # noqa: E731
    top = max(literal.height.values())

    def follow(cluster, birth):
        """The excess of the cluster that begins here, and the clusters into which it falls."""
        excess, at = 0.0, cluster
        while len(large(at)) == 1:
            stays = large(at)[0]
            excess += (birth - literal.height[at]) * (len(at) - len(stays))
            at = stays
        return excess + (birth - literal.height[at]) * len(at), large(at), literal.height[at]

    def best(cluster, birth, may_be_whole):
        excess, parts, end = follow(cluster, birth)
        inside = [best(part, end, True) for part in parts]
        total = sum(found for found, _ in inside)
        if not parts or (may_be_whole and excess >= total):
            return excess, {cluster}
        return total, set().union(*(chosen for _, chosen in inside))

    roots = [c for c in {*literal.parts, *literal.objects} if c not in literal.parent and len(c) >= min_size]
    return set().union(*(best(root, top, len(partition(tree.labels())) > 1)[1] for root in roots))


def test_clusters_by_lifetime_follow_their_definition():
    for tree, min_size in itertools.product(trees(), (1, 2, 3, 5)):
        if min_size > tree.n_objects:
            continue
        found = tree.branches("lifetime", min_size=min_size)
        assert in_order(found)
        assert {c for c in partition(found) if found[min(c)] >= 0} == best_choice(tree, min_size)


def test_no_other_choice_of_clusters_has_a_larger_excess_of_mass():
    for seed, min_size in itertools.product(range(4), (2, 3)):
        tree = reliac.cluster(blobs(seed, n=14), CRITERIA[seed])
        found = condensed(tree, min_size)
        heads = [int(node) for node in found.heads if found.up[node] >= 0]
        inside = {node: set() for node in heads}
        for node in heads:
            above = node
            while found.up[above] >= 0 and (above := int(found.head[found.up[above]])) in inside:
                inside[above].add(node)
        allowed = (
            some
            for count in range(len(heads) + 1)
            for some in itertools.combinations(heads, count)
            if not any(a in inside[b] for a, b in itertools.permutations(some, 2))
        )
        most = max((found.excess[[*some]].sum() for some in allowed), default=0.0)
        labels = tree.branches(min_size=min_size)
        nodes = [node for node in heads if len(set(labels[members(tree, node)].tolist())) == 1]
        chosen = [
            node for node in nodes if (labels == labels[members(tree, node)[0]]).sum() == len(members(tree, node))
        ]
        if labels.max() > 0:
            assert found.excess[chosen].sum() == pytest.approx(most)


def members(tree, node):
    nodes, objects = [node], []
    while nodes:
        some = nodes.pop()
        if some < tree.n_objects:
            objects.append(some)
        else:
            nodes += tree.links[["left", "right"]][some - tree.n_objects].tolist()
    return objects


def test_inconsistency_is_that_of_scipy():
    for tree, depth in itertools.product(trees(), (1, 2, 3, 7)):
        if tree.n_clusters > 1 or tree.n_objects < 2:
            continue
        order = np.argsort(tree.monotone_distances, kind="stable")
        Z = tree.linkage_matrix()
        wanted = hierarchy.inconsistent(Z, depth)
        noise = wanted[:, 1] < 1e-7 * Z[:, 2]  # SciPy's own rounding decides there
        found = inconsistency(tree, depth)[order]
        np.testing.assert_allclose(found[~noise], wanted[~noise, 3], rtol=1e-6, atol=1e-7)
        if noise.any() and (wanted[noise, 3] != 0).any():
            continue
        for threshold in (0.0, 0.5, 0.70, 0.9, 1.0, 1.15, 2.0):
            if (np.abs(found - threshold) < 1e-6).any():
                continue
            labels = hierarchy.fcluster(Z, threshold, "inconsistent", depth, wanted)
            assert partition(tree.branches("inconsistency", threshold=threshold, depth=depth)) == partition(labels)


def test_cuts_by_inconsistency_are_nested_and_work_on_forests():
    for tree in trees():
        finer = tree.branches("inconsistency", threshold=-1e9)
        assert partition(finer) == partition(np.arange(tree.n_objects))
        for threshold in (0.3, 0.75, 1.0, 5.0):
            labels = tree.branches("inconsistency", threshold=threshold)
            assert len(np.unique(np.column_stack([finer, labels]), axis=0)) == finer.max() + 1
            finer = labels
        assert np.array_equal(tree.branches("inconsistency", threshold=1e9), tree.labels())


# --- parts ---


def test_a_subtree_is_the_tree_inside_its_cluster():
    for tree in trees()[::7]:
        count = (tree.n_clusters + tree.n_objects + 1) // 2
        for cut in ({}, {"n_clusters": count}, {"level": tree.n_levels // 2}, {"n_clusters": count, "by": "level"}):
            labels = tree.labels(**cut)
            for cluster in range(labels.max() + 1):
                part, rows = tree.subtree(cluster, **cut), np.flatnonzero(labels == cluster)
                check_invariants(part)
                assert np.array_equal(part.objects, tree.objects[rows])
                assert np.array_equal(part.weights, tree.weights[rows])
                assert part.n_clusters == 1
                pairs = np.array([*itertools.combinations(range(len(rows)), 2)], dtype=int).reshape(-1, 2)
                assert np.array_equal(part.cophenetic(pairs), tree.cophenetic(rows[pairs].reshape(-1, 2)))
                inside = [partition(tree.labels(level=at)[rows]) for at in range(tree.n_levels + 1)]
                steps = [found for found, _ in itertools.groupby(inside)]  # those that join something here
                assert steps == [partition(part.labels(level=at)) for at in range(part.n_levels + 1)]


def test_a_subtree_holds_its_part_of_the_data_names_and_constraints(tmp_path):
    X = blobs(1, n=30)
    tree = reliac.cluster(X, "average", names=[f"row {i}" for i in range(30)], cannot_link=[(0, 1), (2, 9)])
    rows = np.flatnonzero(tree.labels(tree.n_clusters + 1) == 0)
    part = tree.subtree(0, tree.n_clusters + 1)
    assert part.object_names.tolist() == [f"row {i}" for i in rows]
    assert np.array_equal(part.problem.objects.rows, X[rows])
    inside = [[*rows].index(i) for i in (2, 9) if i in rows]
    assert part.parameters.get("cannot_link", [[]])[-1] in (inside, [])
    loaded = pickle.loads(pickle.dumps(tree)).subtree(0, tree.n_clusters + 1)
    assert loaded.parameters == part.parameters
    assert loaded.problem is None
    tree.save(tmp_path / "tree.reliac", data=True)
    kept = reliac.load(tmp_path / "tree.reliac").subtree(0, tree.n_clusters + 1)
    assert np.array_equal(kept.kept.rows, X[rows])
    assert kept.fingerprint == part.fingerprint
    single = reliac.cluster(X, "single").subtree(1, 4)
    assert len(single.spanning_tree().pairs) == single.n_objects - 1
    np.testing.assert_allclose(
        np.linalg.norm(np.diff(X[single.objects][single.spanning_tree().pairs], axis=1)[:, 0], axis=1),
        single.spanning_tree().weights,
    )


def test_the_path_of_an_object_has_every_link_that_holds_it():
    for tree in trees()[::4]:
        literal = [frozenset([i]) for i in range(tree.n_objects)]
        for left, right in zip(tree.links["left"].tolist(), tree.links["right"].tolist(), strict=True):
            literal.append(literal[left] | literal[right])
        for thing in range(tree.n_objects):
            steps = tree.path(thing)
            assert steps["node"].tolist() == [
                node for node in range(tree.n_objects, len(literal)) if thing in literal[node]
            ]
            assert np.array_equal(steps["distance"], tree.links["distance"][steps["node"] - tree.n_objects])
    named = reliac.cluster([[0.0], [1.0], [5.0]], names=["a", "b", "a"])
    assert np.array_equal(named.path("b"), named.path(1))
    with pytest.raises(ValueError, match=r"2 objects have the name 'a'.*Allowed: .*Next: give its number"):
        named.path("a")


def test_siblings_are_what_the_next_step_joins():
    for tree in trees()[::3]:
        for count in {tree.n_clusters, (tree.n_clusters + tree.n_objects) // 2, tree.n_objects}:
            labels = tree.labels(count)
            clusters = partition(labels)
            literal = Literal(tree, clusters)
            for cluster in clusters:
                whole = literal.parent.get(cluster, cluster)
                wanted = {int(labels[min(c)]) for c in clusters if c <= whole and c != cluster}
                assert set(tree.siblings(int(labels[min(cluster)]), count).tolist()) == wanted


def test_deep_trees_are_cut_without_recursion():
    n = 100_000
    tree = chain(n)
    assert tree.labels([2, 5, 10]).max(axis=0).tolist() == [1, 4, 9]
    assert np.bincount(tree.labels(max_size=40_000))[0] == 40_000
    assert np.bincount(tree.labels(10, min_size=2)).tolist() == [n]
    assert np.bincount(tree.labels(10, min_size=2, small="drop") + 1).tolist() == [9, n - 9]
    assert tree.branches(min_size=5).max() == 0
    assert tree.branches("inconsistency", threshold=0.8).max() == 0
    assert len(tree.path(0)) == n - 1
    assert tree.subtree(0, n // 2).n_objects == n // 2 + 1
    assert len(tree.siblings(0, n // 2)) == 1


# --- mistakes ---


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda tree: tree.labels([]), "no n_clusters"),
        (lambda tree: tree.labels([2, 99]), "n_clusters=99"),
        (lambda tree: tree.labels([2], level=[1]), "n_clusters and level"),
        (lambda tree: tree.labels(max_size=0), "max_size=0"),
        (lambda tree: tree.labels(min_size=0), "min_size=0"),
        (lambda tree: tree.labels(min_size=5, max_size=4), "contradict"),
        (lambda tree: tree.labels(min_size=5, small="leave"), "Unknown word for small clusters 'leave'"),
        (lambda tree: tree.clusters(n_clusters=[2, 3]), "2 cuts"),
        (lambda tree: tree.branches("life"), "Unknown way to cut branches 'life'"),
        (lambda tree: tree.branches(min_size=0), "min_size=0"),
        (lambda tree: tree.branches(min_size=61), "min_size=61"),
        (lambda tree: tree.branches(threshold=1.0), "threshold=1.0 with by='lifetime'"),
        (lambda tree: tree.branches("inconsistency", min_size=2), "min_size=2 with by='inconsistency'"),
        (lambda tree: tree.branches("inconsistency", depth=0), "depth=0"),
        (lambda tree: tree.branches("inconsistency", threshold=float("nan")), "threshold=nan"),
        (lambda tree: tree.subtree(3, 3), "cluster=3"),
        (lambda tree: tree.subtree(0, [2, 3]), "2 cuts at once"),
        (lambda tree: tree.siblings(-1, 3), "cluster=-1"),
        (lambda tree: tree.path(60), "object=60"),
        (lambda tree: tree.path("nobody"), "Unknown object 'nobody'"),
        (lambda tree: tree.subtree(0, 2, level=1), "n_clusters and level"),
    ],
)
def test_mistakes_are_told_in_three_parts(ask, message):
    with pytest.raises(ValueError, match=rf"{message}.*Allowed: .*Next: "):
        ask(reliac.cluster(blobs(1)))


def test_a_cut_that_a_forest_does_not_have_says_what_joins_its_trees():
    tree = reliac.cluster(blobs(1), n_clusters=5)
    for ask in (lambda: tree.labels([8, 3]), lambda: tree.subtree(0, 3), lambda: tree.siblings(0, 3)):
        with pytest.raises(ValueError, match=r"n_clusters=3.*from 5 to 60.*Next: .*develop"):
            ask()
    assert len(first_objects(tree)) == 115
