"""What the trees of engines are compared with, computed once per process; and which engine takes which problem."""

from __future__ import annotations

from functools import lru_cache, partial, wraps
from hashlib import blake2b

import numpy as np

import reliac
from oracle import oracle
from reliac.engines.choice import ENGINES, get_engine
from reliac.input.problem import make_problem
from replay import replay

FAST = tuple(name for name in ENGINES if name != "literal")


class ByContent:
    """Something to be passed to a function, arrays too, that is equal to another by its content."""

    def __init__(self, value):
        self.value = value
        self.key = value
        if isinstance(value, reliac.ClusterTree):
            self.key = (value.n_objects, value.parameters["criterion"], ByContent(value.links))
        elif isinstance(value, np.ndarray):
            self.key = (value.shape, str(value.dtype), value.strides, blake2b(value.tobytes()).digest())

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)


def once(function):
    """Call a function of arrays once for equal arguments. What it returns must not be changed."""

    @lru_cache(maxsize=100)  # neighbours in the order of the tests ask for the same
    def remembered(arguments, options):
        return function(*(each.value for each in arguments), **{name: each.value for name, each in options})

    @wraps(function)
    def ask(*arguments, **options):
        named = tuple((name, ByContent(options[name])) for name in sorted(options))
        return remembered(tuple(ByContent(each) for each in arguments), named)

    return ask


#: The levels of the definition.
definition = once(oracle)

#: Every level of a tree verified; several engines may give the same links, bit for bit.
replayed = once(replay)


#: As :func:`reliac.cluster`, by squared distances: on whole numbers these tie exactly for every criterion.
cluster_squares = partial(reliac.cluster, metric="sqeuclidean")

#: As :func:`reliac.input.problem.make_problem`, likewise.
problem_of_squares = partial(make_problem, metric="sqeuclidean")


@once
def literal_tree(X, criterion, **options):
    """The tree of the literal engine."""
    return cluster_squares(X, criterion, engine="literal", **options)


def takers(X, criterion, among=tuple(ENGINES), **options):
    """Names of the engines that take a problem."""
    problem = problem_of_squares(X, criterion, **options)
    return [name for name in among if get_engine(name).refuses(problem) is None]


def takers_of_each(criteria, X, among=tuple(ENGINES), **options):
    """Pairs (engine, criterion) that can be run on X; those with the same reference stand side by side."""
    return [(name, criterion) for criterion in criteria for name in takers(X, criterion, among, **options)]
