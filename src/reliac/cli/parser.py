"""Words -> what was asked for: the commands as click knows them, and its complaints in three parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete

from reliac import __version__

from ..errors import Message, explain, unknown_name
from . import options, text
from .options import Asked, Option, Section

#: What parse() raises for a mistake; in_three_parts() has the words for it.
WrongWords = click.UsageError

PROGRAM = "reliac"

#: The shell asks for completions by calling the program with this variable set.
COMPLETION_VARIABLE = "_RELIAC_COMPLETE"
SHELLS = ("bash", "zsh", "fish")

FILE = ("FILE", "table with one row per object, or - for standard input")
TREE = ("TREE", "a file that 'cluster --out tree.reliac' wrote, or - for standard input")
SHELL = ("SHELL", "bash, zsh or fish")


@dataclass(frozen=True)
class Row:
    """A command: its name, what it is for, what its help says below the options, and what it takes."""

    name: str
    purpose: str
    epilog: str
    argument: tuple[str, str] | None  # its name and its help
    sections: tuple[Section, ...] = ()


_TABLE = (options.INPUT, options.RUN, options.STOP, options.table_output("text"))

COMMANDS = (
    Row(
        "cluster",
        "cluster the rows of a file",
        text.CLUSTER,
        FILE,
        (options.INPUT, options.RUN, options.STOP, options.CUTS, options.TREE_OUTPUT),
    ),
    Row("levels", "table of the levels: clusters, joins, distances", text.LEVELS, FILE, _TABLE),
    Row("outliers", "objects by the level at which they join", text.OUTLIERS, FILE, (*_TABLE, options.TOP)),
    Row(
        "mst",
        "edges of a minimum spanning tree, with their levels",
        text.MST,
        FILE,
        (options.INPUT, options.RUN_BY_SINGLE, options.STOP, options.table_output("csv")),
    ),
    Row(
        "compare",
        "the standard strategy against the reliable one",
        text.COMPARE,
        FILE,
        (options.INPUT, options.RUN, options.STRATEGIES, options.table_output("text")),
    ),
    Row("info", "what a saved tree holds", text.INFO, TREE),
    Row("demo", "a short tour with the Iris data", text.DEMO, None, (options.DEMO,)),
    Row(
        "reproduce",
        "the paper's experiments, and a report that compares them",
        text.REPRODUCE,
        None,
        (options.REPRODUCE,),
    ),
    Row("completion", "a script that lets a shell complete what is typed", text.COMPLETION, SHELL),
)


# --- how the help looks ---


class _Formatter(click.HelpFormatter):
    """Titles in bold; click leaves that out where no terminal is."""

    def write_heading(self, heading: str) -> None:
        super().write_heading(click.style(heading, bold=True))


class _Context(click.Context):
    formatter_class = _Formatter


_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


def _write_as_it_stands(formatter: click.HelpFormatter, lines: str | None) -> None:
    """Write examples without wrapping them anew."""
    formatter.write(f"\n{lines}\n")


# --- options and commands, for click ---


class _ClickOption(click.Option):
    """An option of our table, which checks its value and tells a mistake in three parts."""

    def __init__(self, row: Option, section: str) -> None:
        self.row, self.section = row, section
        value: dict[str, Any] = {"is_flag": True} if row.kind is bool else {"type": str, "metavar": row.value}
        super().__init__(
            [row.flag],
            help=row.help,
            default=row.default,
            multiple=row.repeatable,
            callback=self._checked,
            shell_complete=self._offered,
            **value,
        )

    def _checked(self, context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        """Return the value as the type it has, or None where none was given."""
        if value is None or value == ():
            return None
        return [self._converted(word) for word in value] if self.row.repeatable else self._converted(value)

    def _converted(self, word: Any) -> Any:
        flag, kind = self.row.typed, self.row.kind
        if self.row.choices and word not in self.row.choices:
            raise click.UsageError(unknown_name(f"value of {flag}", word, self.row.choices))
        try:
            return kind(word)
        except ValueError:
            allowed, example = ("a whole number", "3") if kind is int else ("a number", "0.5")
            message = explain(f"{flag} {word} is not {allowed}", allowed, f"write {flag} {example}")
            raise click.UsageError(message) from None

    def _offered(self, context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
        """Return what a shell may complete the value with."""
        offers = self.row.offers
        if isinstance(offers, str) and offers:
            return [CompletionItem(start, type=offers)]
        names = self.row.choices or (offers() if callable(offers) else ())
        return [CompletionItem(name) for name in names if name.startswith(start)]


def _argument(name: str) -> click.Argument:
    """Return what a command takes besides options: a file, or the name of a shell."""
    if name != SHELL[0]:
        return click.Argument(["file"], metavar=name, type=click.Path())

    def known(context: click.Context, parameter: click.Parameter, shell: str) -> str:
        if shell not in SHELLS:
            raise click.UsageError(unknown_name("shell", shell, SHELLS))
        return shell

    def offered(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
        return [CompletionItem(shell) for shell in SHELLS if shell.startswith(start)]

    return click.Argument(["shell"], metavar=name, callback=known, shell_complete=offered)


class _Command(click.Command):
    """A command of our table; it returns what was asked for, and main runs it."""

    context_class = _Context

    def __init__(self, row: Row) -> None:
        self.row = row
        self.rows = tuple(option for section in row.sections for option in section.options)
        parameters: list[click.Parameter] = [
            _ClickOption(option, section.title) for section in row.sections for option in section.options
        ]
        if row.argument:
            parameters.insert(0, _argument(row.argument[0]))
        super().__init__(
            row.name,
            params=parameters,
            callback=lambda **values: Asked(row.name, self.rows, values),
            help=f"{row.purpose[0].upper()}{row.purpose[1:]}.",
            short_help=row.purpose,
            epilog=row.epilog,
            context_settings={**_SETTINGS, "allow_extra_args": True},
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and refuse words that mean nothing and options that exclude each other."""
        if ctx.resilient_parsing:  # a shell asks what could follow: nothing is refused
            return super().parse_args(ctx, args)
        try:
            rest = super().parse_args(ctx, self._with_values(ctx, args))
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # not all of click's mistakes say which command they are about
            raise
        if rest:
            takes_file = self.row.argument is not None
            allowed = f"one {self.row.argument[0]}" if self.row.argument else f"options: {', '.join(_flags(self, ctx))}"
            step = "quote names that have blanks" if takes_file else f"see {ctx.command_path} --help"
            ctx.fail(explain(f"{rest[0]!r} is one word too many", allowed, step))
        for section in self.row.sections:
            given = [option.typed for option in section.options if ctx.params[option.name] is not None]
            if section.exclusive and len(given) > 1:
                ctx.fail(explain(f"{' and '.join(given)} together", "one of them", "leave one out"))
        return rest

    def _with_values(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write ``--datasets a b`` as click reads it, ``--datasets a --datasets b``; refuse an option for a value."""
        known = set(_flags(self, ctx))
        taking = {option.typed: option for option in self.rows if option.kind is not bool}
        words: list[str] = []
        needing = many = ""  # the option whose value must come next, and one that takes further values
        for place, word in enumerate(args):
            if needing:
                if word in known:
                    raise click.BadOptionUsage(needing, "", ctx)
                needing = ""
            elif word == "--":
                return [*words, *args[place:]]
            elif word in taking:
                needing, many = word, word if taking[word].many else ""
            elif word.startswith("-"):
                many = ""
            elif many:
                words.append(many)
            words.append(word)
        return words

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command takes, in the sections of our table."""
        sections: dict[str, list[tuple[str, str]]] = {"takes": [self.row.argument]} if self.row.argument else {}
        for parameter in self.get_params(ctx):
            record = None if isinstance(parameter, click.Argument) else parameter.get_help_record(ctx)
            if record:
                sections.setdefault(getattr(parameter, "section", "help"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        _write_as_it_stands(formatter, self.epilog)


class _Group(click.Group):
    """All commands."""

    context_class = _Context

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command, or offer the nearest ones."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            ctx.fail(unknown_name("command", args[0], self.commands))
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of our table."""
        return list(self.commands)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        _write_as_it_stands(formatter, self.epilog)


def build_parser() -> click.Group:
    """Return the parser of all commands."""

    @click.pass_context
    def need_command(ctx: click.Context) -> None:
        if ctx.invoked_subcommand is None:
            ctx.fail(explain("COMMAND is missing", f"{PROGRAM} COMMAND", f"see {PROGRAM} --help"))

    group = _Group(
        PROGRAM,
        help=text.ABOUT,
        epilog=text.EXAMPLES,
        commands=[_Command(row) for row in COMMANDS],
        callback=need_command,
        invoke_without_command=True,
        subcommand_metavar="COMMAND ...",
        context_settings=_SETTINGS,
    )
    return click.version_option(__version__, message=f"{PROGRAM} %(version)s")(group)


# --- parsing ---


def parse(words: Sequence[str]) -> Asked:
    """Return what was asked for; raises SystemExit after --help and --version, and click.UsageError for a mistake."""
    group = build_parser()
    try:
        with group.make_context(PROGRAM, list(words)) as context:
            asked: Asked = group.invoke(context)
            return asked
    except click.exceptions.Exit as done:
        raise SystemExit(done.exit_code) from None


def in_three_parts(error: click.UsageError) -> Message:
    """Say what click has to complain about as we say it."""
    if isinstance(error.message, Message):
        return error.message
    program = error.ctx.command_path if error.ctx else PROGRAM
    if isinstance(error, click.NoSuchOption) and error.ctx:
        return unknown_name("option", error.option_name, _flags(error.ctx.command, error.ctx))
    if isinstance(error, click.MissingParameter) and error.param:
        name = error.param.human_readable_name
        return explain(f"{name} is missing", f"{program} {name}", f"see {program} --help")
    if isinstance(error, click.BadOptionUsage):
        flag = error.option_name
        if _is_switch(error):
            return explain(f"{flag} with a value", f"{flag} alone", "leave the value out")
        return explain(f"{flag} stands without its value", f"{flag} and a value", f"write the value after {flag}")
    return explain(error.format_message(), f"what {program} --help shows", f"see {program} --help")


def _is_switch(error: click.BadOptionUsage) -> bool:
    parameters = error.ctx.command.get_params(error.ctx) if error.ctx else []
    return any(isinstance(one, click.Option) and one.is_flag and error.option_name in one.opts for one in parameters)


def _flags(command: click.Command, ctx: click.Context) -> list[str]:
    """Return the options of a command in their long form."""
    flags = (flag for one in command.get_params(ctx) for flag in (*one.opts, *one.secondary_opts))
    return [flag for flag in flags if flag.startswith("--")]


# --- completion ---


def complete(instruction: str) -> int:
    """Answer a shell that asks what could follow."""
    return shell_complete(build_parser(), {}, PROGRAM, COMPLETION_VARIABLE, instruction)


def completion_script(shell: str) -> str:
    """Return what a shell has to read once to ask us for completions."""
    found: Callable[..., Any] | None = get_completion_class(shell)
    assert found is not None
    script: str = found(build_parser(), {}, PROGRAM, COMPLETION_VARIABLE).source()
    return script
