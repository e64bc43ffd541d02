"""Words -> what was asked for: the commands as click knows them, and its complaints in three parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click
from click.shell_completion import get_completion_class, shell_complete

from reliac import __version__

from ..calls import FOREIGN_OPTIONS, IN_SHELL
from ..errors import Message, explain, unknown_name
from ..native.building import in_words
from . import options, text
from .kinds import Argument, Section, flags
from .options import Asked

PROGRAM = "reliac"

#: The shell asks for completions by calling the program with this variable set.
COMPLETION_VARIABLE = "_RELIAC_COMPLETE"

#: What parse() raises for a mistake; in_three_parts() has the words for it.
WrongWords = click.UsageError


# --- commands ---


class _Command(click.Command):
    """A command of our table; it returns what was asked for, and main runs it."""

    def __init__(
        self, name: str, purpose: str, epilog: str, takes: Argument | tuple[Argument, ...] | None, *sections: Section
    ) -> None:
        self.arguments = takes if isinstance(takes, tuple) else (takes,) if takes else ()
        self.sections = sections
        self.options = tuple(option for section in sections for option in section.options)
        super().__init__(
            name,
            params=[*self.arguments, *self.options],
            callback=lambda **values: Asked(name, self.options, values),
            help=f"{purpose[0].upper()}{purpose[1:]}.",
            short_help=purpose,
            epilog=epilog,
            context_settings={**_SETTINGS, "allow_extra_args": True},
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and refuse words that mean nothing and options that exclude each other."""
        try:
            rest = super().parse_args(ctx, self._with_values(args))
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # not all of click's mistakes say which command they are about
            raise
        if ctx.resilient_parsing:  # a shell asks what could follow: nothing is refused
            return rest
        taker = next((ctx.params[str(option.name)] for option in self.options if option.takes_rest), None)
        if taker is not None:
            taker += rest
        elif rest:
            named = " and ".join(f"one {argument.metavar}" for argument in self.arguments)
            allowed = named or f"options: {', '.join(flags(ctx))}"
            step = "quote names that have blanks" if named else f"see {ctx.command_path} --help"
            ctx.fail(explain(f"{rest[0]!r} is one word too many", allowed, step))
        for section in self.sections:
            given = [option.typed for option in section.options if ctx.params[str(option.name)] is not None]
            if section.exclusive and len(given) > 1:
                ctx.fail(explain(f"{' and '.join(given)} together", "one of them", "leave one out"))
        return rest

    def _with_values(self, args: list[str]) -> list[str]:
        """Give options that may stand alone the value that they have then: click would take the next word for it."""
        may = {option.typed: option for option in self.options if option.alone}
        for place, word in enumerate(args):
            if word == "--":
                break
            if word in may and not may[word].takes((args[place + 1 : place + 2] or [""])[0]):
                args = [*args[:place], f"{word}={may[word].alone}", *args[place + 1 :]]
        return args

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command takes, in the sections of our table."""
        lines: dict[str, list[tuple[str, str]]] = {}
        if self.arguments:
            lines["takes"] = [(argument.human_readable_name, argument.purpose) for argument in self.arguments]
        titles = {option.name: section.title for section in self.sections for option in section.options}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record:
                lines.setdefault(titles.get(option.name, "help"), []).append(record)
        for title, records in lines.items():
            with formatter.section(click.style(title, bold=True)):  # click leaves the style out where no terminal is
                formatter.write_dl(records)

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


@click.pass_context
def _need_command(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        ctx.fail(explain("COMMAND is missing", f"{PROGRAM} COMMAND", f"see {PROGRAM} --help"))


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Show the version, and below it what decides how quick everything is."""
    if wanted and not ctx.resilient_parsing:
        click.echo(f"{PROGRAM} {__version__}\n{in_words()}")
        ctx.exit()


def _commands() -> list[_Command]:
    """Return the commands in the order of the help."""
    read = (options.FILE, options.INPUT, options.EDGES)
    whole = (*read, options.RUN, options.CONSTRAINTS, options.STOP)
    scored = (*read, options.RUN_FOR_OUTLIERS, options.CONSTRAINTS, options.STOP)
    cuts = (options.CUTS, options.SIZES, options.BRANCHES)
    as_text = options.table_output("text")
    edges = (*read, options.RUN_BY_SINGLE, options.CONSTRAINTS, options.STOP, options.table_output("csv"))
    compared = (options.FILE, options.INPUT, options.RUN, options.STRATEGIES, as_text)
    rows, cut = options.INPUT_OF_ROWS, options.ONE_CUT
    placed = ((options.TREE, options.NEW), rows, cut, options.PLACING, options.table_output("csv"))
    summed = ((options.TREE, options.DATA), rows, cut, options.SUMMING, as_text)
    longer = ((options.TREE, options.NEW), options.INPUT, options.EXTENDING, options.TREE_FILE)
    reproduce = "the paper's experiments, and a report that compares them"
    return [
        _Command("cluster", "cluster the rows of a file", text.CLUSTER, *whole, *cuts, options.TREE_OUTPUT),
        _Command("levels", "table of the levels: clusters, joins, distances", text.LEVELS, *whole, as_text),
        _Command("outliers", "objects by their outlier score", text.OUTLIERS, *scored, as_text, options.OUTLIERS),
        _Command("mst", "edges of a minimum spanning tree, with their levels", text.MST, *edges),
        _Command("compare", "the standard strategy against the reliable one", text.COMPARE, *compared),
        _Command("choose", "how many clusters: scores of many numbers", text.CHOOSE, *whole, options.NUMBERS, as_text),
        _Command("predict", "the clusters that new rows are nearest to", text.PREDICT, *placed),
        _Command("extend", "the tree of a saved tree's rows and new ones", text.EXTEND, *longer),
        _Command("summary", "one row per cluster: size, life, medoid, features", text.SUMMARY, *summed),
        _Command("info", "what a saved tree holds", text.INFO, options.TREE),
        _Command("demo", "a short tour with the Iris data", text.DEMO, None, options.DEMO),
        _Command("reproduce", reproduce, text.REPRODUCE, None, options.REPRODUCE),
        _Command("warmup", "compile all engines now, so that no run waits for it", text.WARMUP, None, options.WARMUP),
        _Command("completion", "a script that lets a shell complete what is typed", text.COMPLETION, options.SHELL),
    ]


def build_parser() -> click.Group:
    """Return the parser of all commands."""
    group = _Group(
        PROGRAM,
        help=text.ABOUT,
        epilog=text.EXAMPLES,
        commands=_commands(),
        callback=_need_command,
        invoke_without_command=True,
        subcommand_metavar="COMMAND ...",
        context_settings=_SETTINGS,
    )
    told = "Show the version, and whether the C code is there, and exit."
    version = click.option(
        "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help=told
    )
    return version(group)


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
        name = error.option_name.lstrip("-").replace("-", "_")
        meant = FOREIGN_OPTIONS.get(name, name)
        ours = f"--{IN_SHELL.get(meant, meant)}"
        if ours in flags(error.ctx):
            return explain(f"{error.option_name}, as other programs call it", ours, f"write {ours}")
        return unknown_name("option", error.option_name, flags(error.ctx))
    if isinstance(error, click.MissingParameter) and error.param:
        name = error.param.human_readable_name
        return explain(f"{name} is missing", f"{program} {name}", f"see {program} --help")
    if isinstance(error, click.BadOptionUsage) and error.ctx:
        flag, parameters = error.option_name, error.ctx.command.get_params(error.ctx)
        switches = (one for one in parameters if isinstance(one, click.Option) and one.is_flag)
        if any(flag in (*one.opts, *one.secondary_opts) for one in switches):
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
