"""Words -> what was asked for: the commands as click knows them, and its complaints in three parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete

from reliac import __version__

from ..errors import Message, explain, unknown_name
from . import options, text
from .options import Asked, Option, Section

PROGRAM = "reliac"

#: The shell asks for completions by calling the program with this variable set.
COMPLETION_VARIABLE = "_RELIAC_COMPLETE"

#: What parse() raises for a mistake; in_three_parts() has the words for it.
WrongWords = click.UsageError


@dataclass(frozen=True)
class Row:
    """A command: its name, what it is for, what its help says below the options, and what it takes."""

    name: str
    purpose: str
    epilog: str
    argument: Option | None
    sections: tuple[Section, ...] = ()


_TABLE = (options.INPUT, options.RUN, options.STOP, options.table_output("text"))
_TREE = (options.INPUT, options.RUN, options.STOP, options.CUTS, options.TREE_OUTPUT)
_EDGES = (options.INPUT, options.RUN_BY_SINGLE, options.STOP, options.table_output("csv"))
_COMPARED = (options.INPUT, options.RUN, options.STRATEGIES, options.table_output("text"))
_REPRODUCE = "the paper's experiments, and a report that compares them"

COMMANDS = (
    Row("cluster", "cluster the rows of a file", text.CLUSTER, options.FILE, _TREE),
    Row("levels", "table of the levels: clusters, joins, distances", text.LEVELS, options.FILE, _TABLE),
    Row("outliers", "objects by the level at which they join", text.OUTLIERS, options.FILE, (*_TABLE, options.TOP)),
    Row("mst", "edges of a minimum spanning tree, with their levels", text.MST, options.FILE, _EDGES),
    Row("compare", "the standard strategy against the reliable one", text.COMPARE, options.FILE, _COMPARED),
    Row("info", "what a saved tree holds", text.INFO, options.TREE),
    Row("demo", "a short tour with the Iris data", text.DEMO, None, (options.DEMO,)),
    Row("reproduce", _REPRODUCE, text.REPRODUCE, None, (options.REPRODUCE,)),
    Row("completion", "a script that lets a shell complete what is typed", text.COMPLETION, options.SHELL),
)


# --- values ---


def _checked(option: Option, context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return the value, or all values, as the type they have; None where none was given."""
    if value is None or value == ():
        return None
    if isinstance(value, tuple):
        return [_converted(option, context, word) for word in value]
    return _converted(option, context, value)


def _converted(option: Option, context: click.Context, word: Any) -> Any:
    flag = option.typed
    if word in _flags(context) and flag.startswith("--"):  # --out --clusters 3: the next option is no value
        raise click.BadOptionUsage(flag, "", context)
    if option.choices and word not in option.choices:
        kind = f"value of {flag}" if flag.startswith("--") else option.name
        raise click.UsageError(unknown_name(kind, word, option.choices))
    try:
        return option.kind(word)
    except ValueError:
        allowed, example = ("a whole number", "3") if option.kind is int else ("a number", "0.5")
        message = explain(f"{flag} {word} is not {allowed}", allowed, f"write {flag} {example}")
        raise click.UsageError(message) from None


def _offered(option: Option, context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return what a shell may complete a value with."""
    if option.value in ("FILE", "TREE", "DIR"):
        return [CompletionItem(start, type="dir" if option.value == "DIR" else "file")]
    return [CompletionItem(name) for name in options.known_names(option) if name.startswith(start)]


def _flags(context: click.Context) -> list[str]:
    """Return the options of a command in their long form."""
    parameters = context.command.get_params(context)
    return [flag for one in parameters for flag in (*one.opts, *one.secondary_opts) if flag.startswith("--")]


# --- commands ---


class _Command(click.Command):
    """A command of our table; it returns what was asked for, and main runs it."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.rows = tuple(option for section in row.sections for option in section.options)
        super().__init__(
            row.name,
            params=[_parameter(option) for option in (row.argument, *self.rows) if option],
            callback=lambda **values: Asked(row.name, self.rows, values),
            help=f"{row.purpose[0].upper()}{row.purpose[1:]}.",
            short_help=row.purpose,
            epilog=row.epilog,
            context_settings={**_SETTINGS, "allow_extra_args": True},
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and refuse words that mean nothing and options that exclude each other."""
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # not all of click's mistakes say which command they are about
            raise
        if ctx.resilient_parsing:  # a shell asks what could follow: nothing is refused
            return rest
        many = next((ctx.params[option.name] for option in self.rows if option.many), None)
        if rest and many is None:
            takes = self.row.argument
            allowed = f"one {takes.value}" if takes else f"options: {', '.join(_flags(ctx))}"
            step = "quote names that have blanks" if takes else f"see {ctx.command_path} --help"
            ctx.fail(explain(f"{rest[0]!r} is one word too many", allowed, step))
        elif many is not None:
            many += rest
        for section in self.row.sections:
            given = [option.typed for option in section.options if ctx.params[option.name] is not None]
            if section.exclusive and len(given) > 1:
                ctx.fail(explain(f"{' and '.join(given)} together", "one of them", "leave one out"))
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command takes, in the sections of our table."""
        takes = self.row.argument
        sections = {"takes": [(takes.value, takes.help)]} if takes else {}
        titles = {option.name: section.title for section in self.row.sections for option in section.options}
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if line:
                sections.setdefault(titles.get(str(parameter.name), "help"), []).append(line)
        for title, lines in sections.items():
            with formatter.section(click.style(title, bold=True)):  # click leaves the style out where no terminal is
                formatter.write_dl(lines)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they stand."""
        formatter.write(f"\n{self.epilog}\n")


class _Group(click.Group):
    """All commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of our table."""
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command, or offer the nearest ones."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            ctx.fail(unknown_name("command", args[0], self.commands))
        return super().resolve_command(ctx, args)

    format_epilog = _Command.format_epilog


_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


def _parameter(option: Option) -> click.Parameter:
    """Return what click needs to know about an option, or about what stands alone."""
    behaviour: dict[str, Any] = {
        "callback": partial(_checked, option),
        "shell_complete": partial(_offered, option),
    }
    if not option.flag.startswith("--"):
        return click.Argument([option.name], metavar=option.value, **behaviour)
    if option.kind is bool:
        behaviour["is_flag"] = True
    else:
        behaviour |= {"type": str, "metavar": option.value, "multiple": option.repeatable or option.many}
    return click.Option([option.flag], help=option.help, default=option.default, **behaviour)


@click.pass_context
def _need_command(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        ctx.fail(explain("COMMAND is missing", f"{PROGRAM} COMMAND", f"see {PROGRAM} --help"))


def build_parser() -> click.Group:
    """Return the parser of all commands."""
    group = _Group(
        PROGRAM,
        help=text.ABOUT,
        epilog=text.EXAMPLES,
        commands=[_Command(row) for row in COMMANDS],
        callback=_need_command,
        invoke_without_command=True,
        subcommand_metavar="COMMAND ...",
        context_settings=_SETTINGS,
    )
    return click.version_option(__version__, message=f"{PROGRAM} %(version)s")(group)


def parse(words: Sequence[str]) -> Asked:
    """Return what was asked for; raises SystemExit after --help and --version, and WrongWords for a mistake."""
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
        return unknown_name("option", error.option_name, _flags(error.ctx))
    if isinstance(error, click.MissingParameter) and error.param:
        name = error.param.human_readable_name
        return explain(f"{name} is missing", f"{program} {name}", f"see {program} --help")
    if isinstance(error, click.BadOptionUsage) and error.ctx:
        flag, parameters = error.option_name, error.ctx.command.get_params(error.ctx)
        if any(isinstance(one, click.Option) and one.is_flag and flag in one.opts for one in parameters):
            return explain(f"{flag} with a value", f"{flag} alone", "leave the value out")
        return explain(f"{flag} stands without its value", f"{flag} and a value", f"write the value after {flag}")
    return explain(error.format_message(), f"what {program} --help shows", f"see {program} --help")


# --- completion ---


def complete(instruction: str) -> int:
    """Answer a shell that asks what could follow."""
    return shell_complete(build_parser(), {}, PROGRAM, COMPLETION_VARIABLE, instruction)


def completion_script(shell: str) -> str:
    """Return what a shell has to read once to ask us for completions."""
    found: Callable[..., Any] | None = get_completion_class(shell)
    script: str = found(build_parser(), {}, PROGRAM, COMPLETION_VARIABLE).source() if found else ""
    return script
