"""Calls that do not fit a function: refused in three parts, with the names that the function has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from types import FunctionType
from typing import Any, NoReturn, ParamSpec, TypeVar

from .errors import explain, option, shown, unknown_name

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

#: What scikit-learn, SciPy, R and others call the options of :func:`reliac.cluster`, and those of cuts.
FOREIGN_OPTIONS = {
    "method": "criterion",
    "linkage": "criterion",
    "affinity": "metric",
    "distance_threshold": "max_distance",
    "distance": "max_distance",
    "height": "max_distance",
    "h": "max_distance",
    "t": "max_distance",
    "sample_weight": "weights",
    "n_neighbors": "neighbors",
    "k": "n_clusters",
    "K": "n_clusters",
    "n": "n_clusters",
}


#: What the command line calls those that it has by other names.
IN_SHELL = {"n_clusters": "clusters", "max_distance": "max-distance"}


def explain_calls(beside: Callable[..., Any] | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a call that does not fit the parameters of a function say what was given, what is allowed, and what to do.

    ``beside``: a function with more options, which is named where one of them is given. A call that fits costs nothing
    but one call more.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def called(*given: P.args, **named: P.kwargs) -> R:
            try:
                return function(*given, **named)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise  # it was called, and says itself what is wrong
            refuse_call(function, given, named, beside)

        return called

    return decorate


def explain_methods(cls: C) -> C:
    """Let all public methods of a class explain calls that do not fit."""
    for name, value in [*vars(cls).items()]:
        if isinstance(value, FunctionType) and not name.startswith("_"):
            setattr(cls, name, explain_calls()(value))
    return cls


def refuse_call(
    function: Callable[..., Any],
    given: tuple[Any, ...],
    named: Mapping[str, Any],
    beside: Callable[..., Any] | None = None,
) -> NoReturn:
    """Say what does not fit: too many values without a name, a name that is not there, one given twice, or none."""
    parameters = [*signature(function).parameters.values()]
    if parameters and parameters[0].name == "self":
        parameters, given = parameters[1:], given[1:]
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    places = [one.name for one in parameters if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    names = [one.name for one in parameters if one.kind is not Parameter.VAR_KEYWORD]
    if len(given) > len(places):
        _refuse_places(name, given[len(places) :], places, [one for one in names if one not in places])
    further = {} if beside is None else signature(beside).parameters
    refuse_unknown_options(name, {key: named[key] for key in named if key not in names}, names, further)
    twice = next((one for one in places[: len(given)] if one in named), None)
    if twice is not None:
        raise TypeError(
            explain(f"{name}() got {twice} twice, by its place and by its name", "every value once", "leave one out")
        )
    missing = next(one.name for one in parameters[len(given) :] if one.default is Parameter.empty)
    needed = ", ".join(one.name for one in parameters if one.default is Parameter.empty)
    raise TypeError(explain(f"{name}() got no {missing}", f"calls with {needed}", f"pass {missing}"))


def _refuse_places(name: str, more: tuple[Any, ...], places: list[str], others: list[str]) -> NoReturn:
    """Refuse values without a name beyond those that a function takes."""
    value = more[0]
    meant = "n_clusters" if isinstance(value, int) and "n_clusters" in others else next(iter(others), "")
    simple = isinstance(value, (str, int, float))
    how = option(meant, value) if simple else f"{meant}=..."
    after = f" after {', '.join(places)}" if places else ""
    raise TypeError(
        explain(
            f"{name}() got {shown(value)} without a name{after}",
            f"by name {', '.join(others)}" if others else "no more values",
            f"write its name before it, such as {how}" if others else "leave it out",
        )
    )


def refuse_unknown_options(
    function: str, given: Mapping[str, object], known: Iterable[str], of_cluster: Iterable[str] = ()
) -> None:
    """Refuse options that a function does not have; one that it has by another name is given that name.

    ``of_cluster``: options that only :func:`reliac.cluster` has.
    """
    names = list(known)
    for name, value in given.items():
        meant = FOREIGN_OPTIONS.get(name, name)
        ours = next((one for one in names if FOREIGN_OPTIONS.get(one, one) == meant), None)
        if ours is not None:
            written = option(ours, value) if isinstance(value, (str, int, float)) else f"{ours}=..."
            where = "other libraries call" if name in FOREIGN_OPTIONS else "reliac.cluster calls"
            raise TypeError(
                explain(f"{function}() got {name}, as {where} it", f"the name {ours!r}", f"write {written}")
            )
        if name in of_cluster:
            raise TypeError(explain(f"{function}() got {name}", ", ".join(names), "use reliac.cluster, which takes it"))
        raise TypeError(unknown_name(f"option of {function}()", name, names))
