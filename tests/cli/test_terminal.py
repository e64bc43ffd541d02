"""What a user sees: drawn on a terminal, plain in a pipe; and what the Tab key offers."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pytest

import reliac
from reliac.cli import demo, main, making, options, outputs, parser, terminal
from reliac.cli.outputs import OUTLIER_COLUMNS, outlier_rows

ESCAPE = "\x1b"


class Screen(io.StringIO):
    """A stream that says that somebody is looking."""

    def isatty(self):
        return True


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("name,x\na,0\nb,1\nc,5\nd,6\n[e],20\n")
    return str(path)


@pytest.fixture
def on_screen(monkeypatch):
    """Run a command whose output goes to a terminal of 100 columns without colours; return what it shows."""

    def show(*args, status=0):
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setenv("COLUMNS", "100")
        for name in ("stdout", "stderr"):
            monkeypatch.setattr(sys, name, Screen())
        try:
            code = main([str(arg) for arg in args])
        except SystemExit as stop:
            code = stop.code
        shown = sys.stdout.getvalue(), sys.stderr.getvalue()
        assert code == status, shown
        return shown

    return show


# --- a terminal ---


def test_an_error_has_its_three_parts_one_below_the_other(on_screen, table):
    for words in (("levels", table, "--criterion", "wrad"), ("levels", table, "--criterion", "wrad", "--out", "-")):
        first, allowed, step = on_screen(*words, status=2)[1].splitlines()
        assert first == "reliac: error: Unknown criterion 'wrad'."
        assert allowed.split(":")[0] == "  Allowed"
        assert step.strip() == "Next:    did you mean 'ward'?"
    assert on_screen("levels", status=2)[1].splitlines()[0] == "reliac: error: FILE is missing."


def test_an_error_without_three_parts_is_one_line(on_screen, table, monkeypatch):
    def fail(*args, **more):
        raise OSError("too [bold]large")

    monkeypatch.setattr(making, "cluster", fail)
    assert on_screen("levels", table, status=2)[1] == "reliac: error: too [bold]large\n"


def test_a_table_is_drawn_with_the_same_cells_as_in_a_pipe(on_screen, run, table):
    drawn = [
        line.split()
        for line in on_screen("outliers", table, "--metric", "euclidean")[0].splitlines()
        if line.strip(" ─-")
    ]
    assert drawn == [line.split() for line in terminal.aligned(*outliers(table)).splitlines()]
    assert ["[e]", "1", "3", "14", "d", "and", "3", "more"] in drawn


def outliers(table):
    points = np.loadtxt(table, delimiter=",", skiprows=1, usecols=1)[:, None]
    tree = reliac.cluster(points, "single", metric="euclidean", names=["a", "b", "c", "d", "[e]"])
    return OUTLIER_COLUMNS, outlier_rows(tree, "distance of 10")


def test_a_table_of_very_many_rows_is_written_as_plain_text(on_screen, run, table, monkeypatch):
    monkeypatch.setattr(outputs, "ROWS_DRAWN", 2)
    shown = on_screen("levels", table)[0]
    assert shown.startswith("level  clusters  joins")


def test_csv_on_a_terminal_is_csv(on_screen, table):
    assert on_screen("levels", table, "--to", "csv")[0].startswith("level,clusters,joins")
    assert on_screen("cluster", table, "--clusters", 2)[0].splitlines()[:2] == ["name,cluster", "a,0"]


def test_bytes_are_not_written_to_a_terminal(on_screen, table, monkeypatch):
    monkeypatch.setattr(making, "cluster", lambda *args, **more: pytest.fail("the work was begun"))
    shown, told = on_screen("cluster", table, "--to", "tree", status=2)
    assert shown == ""
    assert "add --out FILE.reliac" in told


def test_the_tour_on_a_terminal_says_what_it_says_in_a_pipe(on_screen, run, monkeypatch):
    with monkeypatch.context():
        monkeypatch.setattr(demo, "LARGE", 3000)
        monkeypatch.setattr(demo, "SOME", 500)
        monkeypatch.setattr(demo, "_seconds", lambda work: "1.00 s")
        piped = run("demo").out
        shown = on_screen("demo")[0]
    assert shown.rstrip() == piped.rstrip()


def test_a_terminal_gets_a_bar_and_a_pipe_does_not(on_screen, table, monkeypatch):
    seen = []
    real = reliac.cluster
    monkeypatch.setattr(making, "cluster", lambda X, **more: seen.append(more.get("progress")) or real(X, **more))
    on_screen("levels", table)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    main(["levels", table])
    assert seen == [True, None]


# --- a pipe ---


def test_nothing_in_a_pipe_is_coloured_even_if_colours_are_forced_on_terminals(tmp_path, table):
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    for words in (["levels", table], ["levels", table, "--criterion", "wrad"], ["cluster", "--help"]):
        done = subprocess.run(
            [sys.executable, "-m", "reliac", *words], capture_output=True, check=False, text=True, env=environment
        )
        assert ESCAPE not in done.stdout + done.stderr
        assert "─" not in done.stdout + done.stderr


def test_results_in_a_pipe_need_no_rich(table):
    code = f"import sys; from reliac.cli import main; main(['levels', {table!r}]); sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


def test_a_closed_standard_error_does_no_harm(tmp_path, table):
    command = f'"{sys.executable}" -m reliac levels "{table}" --verbose 2>&-'
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("level")


# --- options ---


def test_every_option_that_python_has_reaches_cluster_by_a_name_it_knows():
    import inspect

    known = set(inspect.signature(reliac.cluster).parameters)
    assert {option.python for option in (*options.RUN.options, *options.STOP.options) if option.python} <= known


def test_an_option_is_written_as_the_command_that_runs_has_it():
    for command, typed in (("cluster", "--stop-clusters 3"), ("compare", "--clusters 3")):
        assert parser.parse([command, "x"]).spelled("n_clusters", 3) == typed
    assert parser.parse(["compare", "x"]).spelled("alpha", 0.5) == "--alpha 0.5"
    assert parser.parse(["mst", "x"]).spelled("criterion", "single") == "--criterion single"
    assert parser.parse(["info", "x"]).spelled("other", "x") == "other='x'"


def test_messages_of_the_library_are_pythons_again_after_a_command(run, table):
    run("levels", table, "--alpha", 2, status=2)
    with pytest.raises(ValueError, match=r"^alpha=2\. Allowed"):
        reliac.cluster([[0.0], [1.0]], alpha=2)


def test_many_values_may_follow_one_option():
    for words in (["--datasets", "iris", "wine"], ["--datasets", "iris", "--datasets", "wine"]):
        assert parser.parse(["reproduce", *words, "--out", "x"]).datasets == ["iris", "wine"]
    assert parser.parse(["reproduce"]).datasets is None
    assert parser.parse(["reproduce"]).out == "reliac-reproduction"


def test_values_may_look_like_options_where_they_are_numbers():
    asked = parser.parse(["cluster", "-", "--label-column", "-1", "--jobs", "-1", "--max-level", "-1"])
    assert (asked.file, asked.label_column, asked.jobs, asked.max_level) == ("-", "-1", -1, -1)
    assert parser.parse(["cluster", "--", "--clusters"]).file == "--clusters"


# --- completion ---


def offered(*words, shell="bash"):
    """What a shell is told when Tab is pressed behind the last word."""
    environment = {
        **os.environ,
        "_RELIAC_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(["reliac", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-m", "reliac"], env=environment, capture_output=True, check=True, text=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_tab_completes_commands_options_and_names():
    assert offered("out") == ["plain,outliers"]
    assert offered("cluster", "--stop") == ["plain,--stop-clusters"]
    assert offered("cluster", "x", "--criterion", "w") == ["plain,weighted", "plain,ward"]
    assert offered("mst", "x", "--metric", "pre") == ["plain,precomputed"]
    assert "plain,literal" in offered("levels", "--engine", "l")
    assert offered("cluster", "x", "--to", "n") == ["plain,newick", "plain,nexus"]
    assert offered("cluster", "da") == ["file,da"]
    assert offered("demo", "--out", "de") == ["dir,de"]
    assert offered("reproduce", "--datasets", "ir") == ["plain,iris"]
    assert offered("completion", "z") == ["plain,zsh"]


@pytest.mark.parametrize("shell", options.SHELL.choices)
def test_completion_prints_a_script_that_asks_us(run, shell):
    script = run("completion", shell).out
    assert f"_RELIAC_COMPLETE={shell}_complete" in script


def test_bash_takes_the_script_and_completes_by_it(tmp_path):
    (tmp_path / "reliac").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reliac "$@"\n')
    (tmp_path / "reliac").chmod(0o755)
    ask = """
eval "$(reliac completion bash)"
complete -p reliac
COMP_WORDS=(reliac comp) COMP_CWORD=1
_reliac_completion reliac
echo "${COMPREPLY[@]}"
"""
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", ask], env=environment, capture_output=True, check=False, text=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "compare completion"
