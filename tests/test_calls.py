"""Calls that do not fit a function: what was given, what is allowed, what to do next."""

from __future__ import annotations

import inspect
import pickle
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

import reliac
from problems import blobs
from reliac import (
    ClusterTree,
    GroupTrees,
    ReliableAgglomerativeClustering,
    ReliableFeatureAgglomeration,
    ReliableOutlierDetector,
    TreeTable,
    datasets,
    evaluate,
)
from reliac.calls import explain_calls

X = blobs(0, n=12)
TREE = reliac.cluster(X)
GROUPS = reliac.cluster_groups(X, [0, 1] * 6)
ESTIMATORS = [ReliableAgglomerativeClustering, ReliableFeatureAgglomeration, ReliableOutlierDetector]
FUNCTIONS = [
    *(reliac.cluster, reliac.cluster_edges, reliac.cluster_groups, reliac.linkage, reliac.linkage_vector, reliac.ward),
    *(reliac.single, reliac.complete, reliac.average, reliac.weighted, reliac.centroid, reliac.median),
    *(reliac.load, reliac.neighbors, reliac.warmup, datasets.load, datasets.load_texts),
    *(evaluate.scores, evaluate.cophenetic_correlation, evaluate.compare_strategies),
]
METHODS = [
    value
    for owner in (ClusterTree, GroupTrees, TreeTable)
    for name, value in vars(owner).items()
    if inspect.isfunction(value) and not name.startswith("_")
]


@pytest.mark.parametrize(
    ("call", "given", "step"),
    [
        (lambda: reliac.cluster(X, "ward", 3), "cluster() got 3 without a name after X, criterion", "n_clusters=3"),
        (lambda: reliac.cluster(X, "ward", "cosine"), "got 'cosine' without a name", "such as metric='cosine'"),
        (lambda: reliac.linkage(X, "ward", "euclidean", False, 1), "linkage() got 1 without", "preserve_input=1"),
        (lambda: reliac.ward(X, "ward"), "ward() got 'ward' without a name after y", "leave it out"),
        (lambda: TREE.labels(3, 4), "labels() got 4 without a name after n_clusters", "such as level=4"),
        (lambda: TREE.labels(k=3), "labels() got k, as other libraries call it", "write n_clusters=3"),
        (lambda: TREE.labels(t=3.5), "labels() got t, as other libraries call it", "write distance=3.5"),
        (lambda: GROUPS.labels(k=3), "labels() got k, as other libraries call it", "write n_clusters=3"),
        (lambda: TREE.clusters(lvl=3), "Unknown option of clusters() 'lvl'", "did you mean 'level'?"),
        (lambda: TREE.to_json("tree.json"), "to_json() got 'tree.json' without a name", "leave it out"),
        (lambda: TREE.plot(figsize=(3, 4)), "Unknown option of plot() 'figsize'", "pick one"),
        (lambda: TREE.plot_scores(figsize=(3, 4)), "Unknown option of suggest() 'figsize'", "pick one"),
        (lambda: reliac.cluster(), "cluster() got no X", "pass X"),
        (lambda: reliac.cluster_groups(X), "cluster_groups() got no groups", "pass groups"),
        (lambda: reliac.cluster(X, X=X), "cluster() got X twice", "leave one out"),
        (lambda: reliac.cluster(X, distance=3), "cluster() got distance, as", "write max_distance=3"),
        (lambda: ReliableAgglomerativeClustering(criterion="ward"), "got criterion, as", "write linkage='ward'"),
        (lambda: ReliableAgglomerativeClustering(3, "l1"), "'l1' without a name after n_clusters", "metric='l1'"),
        (lambda: ReliableOutlierDetector(outliers=3), "option of ReliableOutlierDetector() 'outliers'", "pick one"),
        (lambda: evaluate.scores([0, 1]), "scores() got no labels", "pass labels"),
    ],
)
def test_a_call_that_does_not_fit_is_told_in_three_parts(call, given, step):
    with pytest.raises(TypeError, match=re.escape(given) + r".* Allowed: .* Next: .*" + re.escape(step)):
        call()


def passes_names_on(function):
    return any(one.kind is one.VAR_KEYWORD for one in inspect.signature(function).parameters.values())


@pytest.mark.parametrize(
    "function", [one for one in FUNCTIONS + METHODS if not passes_names_on(one)], ids=lambda one: one.__qualname__
)
def test_every_function_and_method_tells_a_name_that_it_does_not_have(function):
    given = [None] * sum(one.default is one.empty for one in inspect.signature(function).parameters.values())
    with pytest.raises(TypeError, match=r"^Unknown option of \w+\(\) 'nonsense'\. Allowed: .*Next: "):
        function(*given, nonsense=1)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_tell_a_name_that_they_do_not_have(estimator):
    with pytest.raises(TypeError, match=rf"^Unknown option of {estimator.__name__}\(\) 'nonsense'\. Allowed: .*Next: "):
        estimator(nonsense=1)


def test_what_a_function_says_itself_is_left_alone():
    @explain_calls()
    def strict(number):
        return len(number)

    with pytest.raises(TypeError, match=r"^object of type 'int' has no len\(\)$"):
        strict(3)
    assert strict("abc") == 3


def test_a_function_keeps_its_signature_its_text_and_its_place():
    assert [*inspect.signature(reliac.cluster).parameters][:3] == ["X", "criterion", "metric"]
    assert "Parameters" in reliac.cluster.__doc__
    assert pickle.loads(pickle.dumps(reliac.cluster)) is reliac.cluster
    assert [*inspect.signature(ClusterTree.labels).parameters][:2] == ["self", "n_clusters"]


# --- values that nobody meant ---


@pytest.mark.parametrize("odd", [5, "tree.png", [1], (), {}, None.__class__], ids=repr)
@pytest.mark.parametrize(
    "draw",
    [
        lambda odd: TREE.plot(odd),
        lambda odd: TREE.plot_levels(odd),
        lambda odd: TREE.plot_scores(axes=odd),
        lambda odd: TREE.plot_tanglegram(TREE, odd),
    ],
)
def test_what_is_nothing_to_draw_in_is_told_in_three_parts(draw, odd):
    with pytest.raises((TypeError, ValueError), match=r"axes.* Allowed: .* Next: .*leave (ax|axes) out|savefig"):
        draw(odd)


def test_axes_in_a_list_are_drawn_in():
    _, ax = plt.subplots()
    assert TREE.plot([ax]) is ax
    plt.close("all")


@pytest.mark.parametrize("name", ["orders", "titles"])
@pytest.mark.parametrize("odd", [5, "ab", (1,), np.ones(2)], ids=repr)
def test_orders_and_titles_of_two_trees_are_two(name, odd):
    with pytest.raises(ValueError, match=rf"^{name}=.* Allowed: two, .* Next: pass a pair, or leave {name} out"):
        TREE.plot_tanglegram(TREE, **{name: odd})


@pytest.mark.parametrize("method", ["labels", "clusters", "branches", "medoids", "exemplars"])
def test_an_array_as_a_switch_is_told_in_three_parts(method):
    with pytest.raises(TypeError, match=r"^named=array.* Allowed: True or False\. Next: "):
        getattr(TREE, method)(named=np.ones(2))


def test_more_members_than_there_are_and_more_repeats_than_anybody_waits_for():
    assert [len(some) for some in TREE.exemplars(10**30, 2)] == np.bincount(TREE.labels(2)).tolist()
    with pytest.raises(ValueError, match=r"^repeats=1000.*Allowed: a whole number from 1 to 1000000\. Next: "):
        TREE.stability(repeats=10**30)


@pytest.mark.parametrize("odd", [5, "ward", [5], [None], np.ones(2)], ids=repr)
def test_engines_to_load_are_names_of_engines(odd):
    with pytest.raises(ValueError, match=r"^Unknown engine .* Allowed: literal, .* Next: "):
        reliac.warmup(odd)


@pytest.mark.parametrize("odd", [1.0, None, "0"], ids=repr)
def test_strategies_to_compare_are_a_list(odd):
    with pytest.raises(TypeError, match=r"^alphas=.* Allowed: numbers from 0 to 1\. Next: pass a list"):
        evaluate.compare_strategies(X, alphas=odd)


def test_a_correlation_needs_a_tree():
    with pytest.raises(TypeError, match=r"^A tree of type list\. Allowed: a ClusterTree\. Next: "):
        evaluate.cophenetic_correlation([1.0], [1.0])
