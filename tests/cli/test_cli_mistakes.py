"""The command line and its users' mistakes: told early, in three parts, in the words that were typed."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys

import numpy as np
import pytest

import reliac
from reliac.cli import main, making, parser

TEXT = "0\n1\n5\n6\n20\n"


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture
def refused(capsys):
    """Run a command that the parser refuses, and return what it says."""

    def run_command(*args):
        with pytest.raises(SystemExit) as stop:
            main([str(arg) for arg in args])
        assert stop.value.code == 2
        said = capsys.readouterr().err
        assert said.startswith("reliac: error: ")
        assert ". Allowed: " in said
        assert ". Next: " in said
        assert said.count("\n") == 1
        return said

    return run_command


# --- words that mean nothing ---


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "COMMAND is missing"),
        (["clustr", "x"], "Unknown command 'clustr'. Allowed: cluster, levels, "),
        (["clustr", "x"], "did you mean 'cluster'?"),
        (["cluster"], "FILE is missing"),
        (["cluster", "x", "--cluster", "3"], "Unknown option '--cluster'. Allowed: --"),
        (["cluster", "x", "--cluster=3"], "did you mean '--clusters'"),
        (["levels", "x", "--critreion", "ward"], "did you mean '--criterion'"),
        (["levels", "x", "--clusters", "3"], "Unknown option '--clusters'"),
        (["cluster", "x", "--method", "average"], "--method, as other programs call it. Allowed: --criterion."),
        (["levels", "x", "--linkage", "average"], "Next: write --criterion."),
        (["mst", "x", "--linkage", "average"], "Unknown option '--linkage'"),
        (["cluster", "x", "-k", "3"], "-k, as other programs call it. Allowed: --clusters. Next: write --clusters."),
        (["cluster", "x", "--n-clusters", "3"], "Next: write --clusters."),
        (["cluster", "x", "--distance-threshold", "3"], "Next: write --max-distance."),
        (["cluster", "x", "y"], "'y' is one word too many"),
        (["cluster", "x", "--clusters", "2.5"], "--clusters 2.5 is not a whole number"),
        (["cluster", "x", "--alpha", "much"], "--alpha much is not a number"),
        (
            ["cluster", "x", "--to", "newik"],
            "value of --to 'newik'. Allowed: labels, tree, newick, nexus, z, json",
        ),
        (["cluster", "x", "--clusters"], "--clusters stands without its value"),
        (["cluster", "x", "--clusters", "--level", "1"], "--clusters stands without its value"),
        (["cluster", "x", "--verbose=yes"], "--verbose with a value"),
        (["cluster", "x", "--no-header=1"], "--no-header with a value"),
        (["--version=3"], "see reliac --help"),
        (["compare", "x", "--alpha", "0", "--alpha", "some"], "--alpha some is not a number"),
        (["reproduce", "iris"], "'iris' is one word too many"),
        (["reproduce", "--datasets"], "--datasets stands without its value"),
        (["completion", "fsh"], "Unknown shell 'fsh'. Allowed: bash, zsh, fish. Next: did you mean 'fish'"),
        (["cluster", "x", "--clusters", "2", "--level", "1"], "--clusters and --level together"),
    ],
)
def test_what_cannot_be_parsed_is_told_in_three_parts_with_the_nearest_names(refused, args, message):
    assert message in refused(*args)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--metric", "cosine"), "--criterion ward with --metric cosine"),
        (("--metric", "cosine"), "or use --criterion average"),
        (("--stop-clusters", "9"), "--stop-clusters 9. Allowed: a whole number from 1 to 5"),
        (("--max-level", "-1"), "--max-level -1"),
        (("--stop-clusters", "2", "--max-level", "3"), "--stop-clusters 2 and --max-level 3 contradict"),
        (("--tie-tolerance", "2"), "--tie-tolerance 2.0"),
        (("--jobs", "0"), "--jobs 0"),
    ],
)
def test_messages_speak_of_options_as_they_are_typed(run, plain, args, message):
    said = run("cluster", plain, *args, status=2).err
    assert message in said
    assert "=" not in said


# --- told before the work ---


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("cluster", "--clusters", "9"), "--clusters 9. Allowed: a whole number from 1 to 5"),
        (("cluster", "--clusters", "0"), "--clusters 0"),
        (("cluster", "--clusters", "2", "--stop-clusters", "3"), "--clusters 2. Allowed: a whole number from 3 to 5"),
        (("cluster", "--level", "5"), "--level 5. Allowed: a whole number from 0 to 4"),
        (("cluster", "--level", "-1"), "--level -1"),
        (("cluster", "--distance", "-1"), "--distance -1.0"),
        (("compare", "--clusters", "9"), "--clusters 9. Allowed: a whole number from 1 to 5"),
        (("outliers", "--top", "0"), "--top 0"),
        (("outliers", "--by", "distance-of-1"), "--by distance-of-1. Allowed: 'level', 'distance', 'level of m'"),
        (("levels", "--out", "x.reliac"), "Unknown extension of --out '.reliac'"),
        (("levels", "--to", "csv", "--out", "x.tsv"), "--to csv contradicts --out x.tsv"),
        (("mst", "--to", "csv", "--out", "x.reliac"), "--to csv contradicts --out x.reliac"),
        (("cluster", "--to", "newick", "--out", "x.csv"), "--to newick contradicts --out x.csv"),
        (("cluster", "--to", "tree", "--out", "x.json"), "--to tree contradicts --out x.json"),
        (("cluster", "--checkpoint", "no/such/folder"), "--checkpoint no/such/folder: there is no folder"),
    ],
)
def test_what_cannot_work_is_refused_before_the_work(run, plain, monkeypatch, args, message):
    monkeypatch.setattr("reliac.run.solve.Run.run", lambda *_: pytest.fail("the work was begun"))
    assert message in run(args[0], plain, *args[1:], status=2).err


def test_cuts_of_a_saved_tree_are_named_as_they_are_typed(run, plain, tmp_path):
    run("cluster", plain, "--max-level", 1, "--out", tmp_path / "t.reliac")
    assert (
        "--clusters 2. Allowed: a whole number from 3 to 5"
        in run("cluster", tmp_path / "t.reliac", "--clusters", 2, status=2).err
    )
    assert (
        "--level 2. Allowed: a whole number from 0 to 1"
        in run("cluster", tmp_path / "t.reliac", "--level", 2, status=2).err
    )


def test_an_extension_that_says_nothing_goes_with_any_kind(run, plain, tmp_path):
    run("cluster", plain, "--to", "newick", "--out", tmp_path / "tree.txt")
    assert (tmp_path / "tree.txt").read_text() == reliac.cluster(np.loadtxt(plain)[:, None]).to_newick()
    run("levels", plain, "--to", "csv", "--out", tmp_path / "levels.dat")
    assert (tmp_path / "levels.dat").read_text().startswith("level,clusters")


def test_a_folder_and_a_damaged_tree_are_told_in_three_parts(run, tmp_path):
    (tmp_path / "t.reliac").write_bytes(b"PK\x03\x04 no more")
    for file in (tmp_path, tmp_path / "t.reliac"):
        for command in ("cluster", "info"):
            said = run(command, file, status=2).err
            assert ". Allowed: " in said
            assert ". Next: " in said


# --- pipes ---


def shell(command, folder, **options):
    """Run a line of shell in which ``reliac`` is our command line."""
    python = f'reliac() {{ "{sys.executable}" -m reliac "$@"; }}\n'
    return subprocess.run(
        ["bash", "-c", python + command], cwd=folder, capture_output=True, check=False, timeout=120, **options
    )


def test_trees_go_through_pipes(tmp_path, plain):
    cut = shell("reliac cluster plain.csv --to tree | reliac cluster - --clusters 2", tmp_path)
    assert (cut.returncode, cut.stderr) == (0, b"")
    assert cut.stdout == shell("reliac cluster plain.csv --clusters 2", tmp_path).stdout
    as_json = shell("reliac cluster plain.csv --to json | reliac levels -", tmp_path)
    assert as_json.stdout == shell("reliac levels plain.csv", tmp_path).stdout


def test_info_reads_pipes_and_descriptors(tmp_path, plain):
    shell("reliac cluster plain.csv --out t.reliac", tmp_path)
    for command in ("reliac info - < t.reliac", "cat t.reliac | reliac info -", "reliac info <(cat t.reliac)"):
        told = shell(command, tmp_path)
        assert told.returncode == 0, told.stderr
        assert b"ClusterTree of 5 objects" in told.stdout
        assert b"checksum correct" in told.stdout


def test_a_tree_is_recognised_by_its_content_whatever_its_name(run, plain, tmp_path):
    run("cluster", plain, "--out", tmp_path / "t.reliac")
    packed = gzip.compress((tmp_path / "t.reliac").read_bytes())
    (tmp_path / "t.npz").write_bytes((tmp_path / "t.reliac").read_bytes())
    (tmp_path / "t.gz").write_bytes(packed)
    for name in ("t.npz", "t.gz"):
        assert run("levels", tmp_path / name).out == run("levels", plain).out
    np.savez(tmp_path / "x.npz", X=np.loadtxt(plain)[:, None])
    assert run("levels", tmp_path / "x.npz").out == run("levels", plain).out


def test_gzipped_tables_are_read(run, plain, tmp_path):
    (tmp_path / "plain.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert run("levels", tmp_path / "plain.csv.gz").out == run("levels", plain).out


def test_closed_output_is_quiet(tmp_path, plain):
    for command in ("reliac cluster plain.csv --clusters 2 >&-", "reliac levels plain.csv --to csv >&-"):
        done = shell(command, tmp_path)
        assert (done.returncode, done.stderr) == (0, b"")


def test_names_that_only_the_tree_has_survive_developing(run, tmp_path):
    (tmp_path / "named.csv").write_text("name,x\na,0\nb,1\nc,5\nd,6\ne,20\n")
    run("cluster", tmp_path / "named.csv", "--max-level", 1, "--out", tmp_path / "t.reliac")
    tree = reliac.load(tmp_path / "t.reliac")
    assert tree.develop([1, 2], X=[[0.0], [1.0], [5.0], [6.0], [20.0]]).names.tolist() == ["c", "d", "e"]


# --- Ctrl-C ---


def test_a_checkpoint_that_cannot_be_written_does_not_hide_the_interrupt(run, plain, tmp_path, monkeypatch):
    def fail(*args, **options):
        raise OSError("disk full")

    def stop(state):
        raise KeyboardInterrupt

    monkeypatch.setattr("reliac.run.checkpoint.save", fail)
    with pytest.raises(reliac.Interrupted, match=r"checkpoint could not be written \(disk full") as caught:
        reliac.cluster(np.loadtxt(plain)[:, None], checkpoint=tmp_path / "c", progress=stop)
    assert caught.value.tree.n_levels == 1

    def interrupted(X, **options):
        raise caught.value

    monkeypatch.setattr(making, "cluster", interrupted)
    assert "disk full" in run("cluster", plain, "--clusters", 2, status=130).err
    assert "disk full" in run("levels", plain, status=130).err


def test_a_checkpoint_in_a_folder_that_is_not_there_is_refused_at_once(tmp_path):
    for path, error in ((tmp_path / "no" / "c", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(error, match=r"checkpoint .*Allowed: .*Next: "):
            reliac.cluster([[0.0], [1.0]], checkpoint=path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user whose rights are limited")
def test_a_checkpoint_that_must_not_be_written_is_refused_at_once(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match=r"Allowed: .*Next: "):
        reliac.cluster([[0.0], [1.0]], checkpoint=tmp_path / "c")


def test_the_parser_knows_every_option_it_offers(capsys):
    for name, command in parser.build_parser().commands.items():
        with pytest.raises(SystemExit):
            main([name, "--help"])
        shown = capsys.readouterr().out
        for option in ("--help", *(each.typed for each in command.options)):
            assert f" {option} " in shown, (name, option)
