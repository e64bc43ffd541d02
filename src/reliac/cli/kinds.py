"""What an option and an argument of the command line are: how words become values, and what a shell can complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

from ..errors import explain, unknown_name


class Option(click.Option):
    """One option: as it is typed, what the help calls its value, what it is for, its type, and what Python calls it.

    A switch has no value. FILE and DIR are completed as such. What only the command line knows has no name in Python.
    """

    def __init__(
        self,
        flag: str,
        value: str,
        purpose: str,
        kind: Callable[[Any], Any] = str,
        python: str = "",
        *,
        choices: Sequence[str] = (),
        repeatable: bool = False,
        takes_rest: bool = False,  # further words are values of it too
        alone: str = "",  # its value where it stands alone; a word that follows is its value only if it looks like one
        looks_like: str = "",  # a pattern of values, besides the choices
        **more: Any,
    ) -> None:
        self.kind, self.python, self.choices, self.takes_rest, self.alone = kind, python, choices, takes_rest, alone
        self.looks_like = looks_like
        form = {"is_flag": True} if kind is bool else {"type": str, "metavar": value, "multiple": repeatable}
        super().__init__([flag], help=purpose, callback=self._checked, **{"default": None, **form, **more})
        self.typed = self.opts[0]

    def takes(self, word: str) -> bool:
        """Tell whether a word that follows is the value of an option that may stand alone."""
        return word in self.choices or bool(self.looks_like and re.fullmatch(self.looks_like, word))

    def _checked(self, context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        """Return the value, or all values, as the type they have; None where none was given."""
        if value is None or value == ():
            return None
        return [self._converted(context, word) for word in value] if self.multiple else self._converted(context, value)

    def _converted(self, context: click.Context, word: Any) -> Any:
        if str(word).partition("=")[0] in flags(context):  # --out --clusters 3: the next option is no value
            raise click.BadOptionUsage(self.typed, "", context)
        if word in self.choices:
            return word
        if self.choices and self.kind is str:
            raise click.UsageError(unknown_name(f"value of {self.typed}", word, self.choices))
        try:
            return self.kind(word)
        except ValueError:
            allowed, example = _NUMBERS.get(self.kind, ("a number", "0.5"))
            besides = f"{', '.join(self.choices)} or " if self.choices else ""
            given, step = f"{self.typed} {word} is not {allowed}", f"write {self.typed} {example}"
            raise click.UsageError(explain(given, besides + allowed, step)) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return what a shell may complete the value with."""
        if self.metavar in ("FILE", "DIR"):
            return [CompletionItem(incomplete, type=self.metavar.lower())]
        return [CompletionItem(name) for name in _known_names(self) if name.startswith(incomplete)]


class _Path(click.Path):
    """A path as it is typed, completed by the shell; whether it leads anywhere is found out by whoever opens it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path unseen: click would look, and fail on a name that no file can have."""
        return value


class Argument(click.Argument):
    """What a command takes besides options: a file, or one of few names."""

    def __init__(self, name: str, word: str, purpose: str, choices: Sequence[str] = (), required: bool = True) -> None:
        self.purpose, self.choices = purpose, choices
        super().__init__([name], metavar=word, type=_Path(), callback=self._known, required=required)

    def _known(self, context: click.Context, parameter: click.Parameter, value: str) -> str:
        if self.choices and value not in self.choices:
            raise click.UsageError(unknown_name(str(self.name), value, self.choices))
        return value

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return what a shell may complete the word with."""
        names = [CompletionItem(name) for name in self.choices if name.startswith(incomplete)]
        return names or super().shell_complete(ctx, incomplete)


def flags(context: click.Context) -> list[str]:
    """Return the options of a command in their long form."""
    parameters = context.command.get_params(context)
    return [flag for one in parameters for flag in (*one.opts, *one.secondary_opts) if flag.startswith("--")]


def counts(word: str) -> int | list[int]:
    """Return a whole number, or several that stand between commas."""
    numbers = [int(number) for number in word.split(",")]
    return numbers if len(numbers) > 1 else numbers[0]


#: What kinds of numbers are called, and an example.
_NUMBERS: dict[Any, tuple[str, str]] = {
    int: ("a whole number", "3"),
    counts: ("a whole number, or several with commas", "2,5,10"),
}


@dataclass(frozen=True)
class Section:
    """Options that stand together in the help."""

    title: str
    options: tuple[Option, ...]
    exclusive: bool = False  # at most one of them may be given


def _known_names(option: Option) -> Iterable[str]:
    """Return the names that a shell can offer for a value; imported when it asks."""
    if option.name == "criterion":
        from ..algorithm.criteria import CRITERIA

        return CRITERIA
    if option.name == "metric":
        from ..input.metrics import METRICS

        return [*METRICS, "precomputed"]
    if option.name == "engine":
        from ..engines.choice import ENGINES

        return [*ENGINES, "sql", "auto"]
    if option.name == "by":
        return ("level", "distance", "level-of-10", "distance-of-10")
    if option.name == "format":
        from .reading import FORMATS

        return FORMATS
    if option.name == "datasets":
        from ..reproduction import names

        return names()
    return option.choices
