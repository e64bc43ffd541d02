"""The command line: every command, every output, every exit code."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import reliac
from reliac.cli import main, making, parser, scaling
from reliac.cli.columns import Table
from reliac.errors import DoesNotFit
from reliac.native import building

ROWS = [("a", 0.0, "u"), ("b", 1.0, "u"), ("c", 5.0, "v"), ("d", 6.0, "v"), ("e", 20.0, "w")]
NUMBERS = [[row[1]] for row in ROWS]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("name,x,kind\n" + "".join(f"{name},{x},{kind}\n" for name, x, kind in ROWS))
    return str(path)


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("".join(f"{row[0]}\n" for row in NUMBERS))
    return str(path)


def parsed(text, delimiter=","):
    return list(csv.reader(io.StringIO(text), delimiter=delimiter))


def reliac_process(*args, **options):
    return subprocess.run(
        [sys.executable, "-m", "reliac", *map(str, args)], capture_output=True, check=False, timeout=60, **options
    )


# --- cluster ---


def test_labels_come_out_as_name_and_cluster(run, table):
    result = run("cluster", table, "--skip-column", "kind", "--clusters", 3)
    assert parsed(result.out) == [["name", "cluster"], ["a", "0"], ["b", "0"], ["c", "1"], ["d", "1"], ["e", "2"]]
    assert result.err == ""


def test_rows_without_names_are_numbered_from_0(run, plain):
    assert parsed(run("cluster", plain, "--clusters", 2).out)[1:] == [[str(i), "01"[i == 4]] for i in range(5)]


def test_known_classes_give_the_number_of_clusters_and_the_three_scores(run, table):
    result = run("cluster", table, "--label-column", "kind")
    assert [row[1] for row in parsed(result.out)[1:]] == ["0", "0", "1", "1", "2"]
    assert "AMI 1.000  ARI 1.000  V 1.000  (3 clusters against 3 classes)" in result.err


def test_scores_of_chance_are_zero_without_a_sign(run, table):
    assert "-0.000" not in run("cluster", table, "--label-column", "kind", "--level", 0).err


def test_cuts_by_level_and_distance_and_early_stops_are_those_of_the_library(run, plain):
    tree = reliac.cluster(NUMBERS)
    for args, labels in [
        (("--level", 0), range(5)),
        (("--level", 1), tree.labels(level=1)),
        (("--distance", 0.5), tree.labels(distance=0.5)),
        (("--stop-clusters", 4), reliac.cluster(NUMBERS, n_clusters=4).labels()),
        (("--max-level", 1), tree.labels(level=1)),
        (("--max-distance", 0), range(5)),
    ]:
        assert [int(row[1]) for row in parsed(run("cluster", plain, *args).out)[1:]] == list(labels), args


def test_without_a_cut_the_tree_is_shown_as_a_small_table(run, plain):
    result = run("cluster", plain)
    assert result.out == f"{reliac.cluster(NUMBERS)!r}\n"
    assert "--clusters K" in result.err


def test_the_extension_of_out_says_what_is_written(run, table, tmp_path):
    common = ("cluster", table, "--label-column", "kind", "--clusters", 2, "--out")
    tree = reliac.cluster(NUMBERS)
    for name in ("labels.csv", "labels.tsv", "labels.npy", "tree.reliac", "tree.nwk", "tree.json"):
        assert run(*common, tmp_path / name).out == ""
    assert parsed((tmp_path / "labels.csv").read_text())[-1] == ["e", "1"]
    assert parsed((tmp_path / "labels.tsv").read_text(), "\t")[-1] == ["e", "1"]
    assert np.load(tmp_path / "labels.npy").tolist() == tree.labels(2).tolist()
    for name in ("tree.reliac", "tree.json"):
        again = reliac.load(tmp_path / name)
        assert again.names.tolist() == list("abcde")
        assert (again.links == tree.links).all()
    assert (tmp_path / "tree.nwk").read_text() == again.to_newick()


def test_to_says_what_is_written_where_the_extension_does_not(run, plain, tmp_path):
    tree = reliac.cluster(NUMBERS)
    assert run("cluster", plain, "--to", "newick").out == tree.to_newick()
    assert reliac.ClusterTree.from_json(run("cluster", plain, "--to", "json", "--out", "-").out).n_levels == 3
    matrix = parsed(run("cluster", plain, "--to", "z").out)
    assert matrix[0] == ["left", "right", "distance", "size"]
    assert np.array(matrix[1:], dtype=float).tolist() == tree.linkage_matrix().tolist()
    run("cluster", plain, "--to", "z", "--out", tmp_path / "z.npy")
    assert (np.load(tmp_path / "z.npy") == tree.linkage_matrix()).all()


def test_a_saved_tree_can_be_cut_again_but_not_run_again(run, plain, tmp_path):
    saved = tmp_path / "tree.reliac"
    run("cluster", plain, "--out", saved)
    assert run("cluster", saved, "--clusters", 3).out == run("cluster", plain, "--clusters", 3).out
    assert run("levels", saved).out == run("levels", plain).out
    assert "--alpha with the saved tree" in run("cluster", saved, "--clusters", 3, "--alpha", 0, status=2).err
    assert "--no-header with the saved tree" in run("levels", saved, "--no-header", status=2).err


def test_every_option_reaches_the_run(run, tmp_path):
    path = tmp_path / "weighted.csv"
    path.write_text("x,y,w\n0,0,1\n1,0,3\n5,0,1\n6,100,1\n")
    options = ("--criterion", "average", "--metric", "cityblock", "--alpha", 0.5, "--tie-tolerance", 0.001)
    more = ("--weights-column", "w", "--standardize", "--engine", "literal", "--jobs", 1)
    run("cluster", path, *options, *more, "--out", tmp_path / "tree.reliac")
    tree = reliac.load(tmp_path / "tree.reliac")
    expected = {"criterion": "average", "metric": "cityblock", "alpha": 0.5, "tie_tolerance": 0.001}
    assert tree.parameters == expected
    numbers = np.array([[0, 0], [1, 0], [5, 0], [6, 100.0]])
    scaled = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    same = reliac.cluster(scaled, "average", metric="cityblock", alpha=0.5, tie_tolerance=0.001, weights=[1, 3, 1, 1])
    assert tree.weights.tolist() == [1, 3, 1, 1]
    assert tree.links["distance"].tolist() == same.links["distance"].tolist()


def test_a_constant_column_can_be_standardized():
    assert scaling.in_scale(Table(np.array([[1.0, 7.0], [3.0, 7.0]]), ())).numbers.tolist() == [[-1, 0], [1, 0]]


def test_distances_are_read_with_metric_precomputed(run, tmp_path):
    path = tmp_path / "distances.csv"
    path.write_text(",a,b,c\na,0,1,4\nb,1,0,2\nc,4,2,0\n")
    options = ("--metric", "precomputed", "--criterion", "complete", "--clusters", 2)
    assert parsed(run("cluster", path, *options).out)[1:] == [["a", "0"], ["b", "0"], ["c", "1"]]
    path.write_text("1,4,2\n")
    assert len(parsed(run("cluster", path, *options).out)) == 4
    assert "--standardize with distances" in run("cluster", path, *options, "--standardize", status=2).err


def test_verbose_tells_the_engine_and_why_on_standard_error(run, plain):
    result = run("cluster", plain, "--clusters", 2, "--verbose")
    tree = reliac.cluster(NUMBERS)
    assert f"engine {tree.engine} ({tree.reason})" in result.err
    assert "engine" not in result.out


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_plot_draws_the_tree(run, table, tmp_path, suffix):
    pytest.importorskip("matplotlib")
    target = tmp_path / f"tree.{suffix}"
    run("cluster", table, "--label-column", "kind", "--plot", target)
    assert target.read_bytes()[:4] in (b"\x89PNG", b"<?xm", b"%PDF")


def test_a_forest_can_be_plotted(run, plain, tmp_path):
    pytest.importorskip("matplotlib")
    run("cluster", plain, "--stop-clusters", 3, "--clusters", 4, "--plot", tmp_path / "forest.png")
    assert (tmp_path / "forest.png").exists()


def test_a_checkpoint_is_gone_when_the_run_is_complete(run, plain, tmp_path):
    run("cluster", plain, "--clusters", 2, "--checkpoint", tmp_path / "levels.reliac")
    assert not (tmp_path / "levels.reliac").exists()


# --- the other commands ---


def test_levels_shows_every_level(run, plain):
    assert [line.split() for line in run("levels", plain).out.splitlines()] == [
        ["level", "clusters", "joins", "smallest", "distance", "largest", "distance"],
        ["0", "5", "0"],
        ["1", "3", "2", "1", "1"],
        ["2", "2", "1", "7.07107", "7.07107"],
        ["3", "1", "1", "21.5035", "21.5035"],
    ]


def test_tables_are_written_as_text_csv_or_tsv(run, plain, tmp_path):
    run("levels", plain, "--out", tmp_path / "levels.csv")
    rows = parsed((tmp_path / "levels.csv").read_text())
    assert rows[0] == ["level", "clusters", "joins", "smallest distance", "largest distance"]
    assert rows[1:3] == [["0", "5", "0", "", ""], ["1", "3", "2", "1.0", "1.0"]]
    assert parsed(run("levels", plain, "--to", "tsv").out, "\t") == rows


def test_outliers_come_with_level_distance_and_partner_of_their_first_join(run, table):
    result = run("outliers", table, "--label-column", "kind", "--metric", "euclidean", "--top", 3)
    assert [line.split() for line in result.out.splitlines()] == [
        ["name", "score", "level", "distance", "partner"],
        ["e", "1", "3", "14", "d", "and", "3", "more"],
        ["a", "0.0714286", "1", "1", "b"],
        ["b", "0.0714286", "1", "1", "a"],
    ]
    assert "--top 0" in run("outliers", table, "--top", 0, status=2).err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "the distance at which it first joins another object, divided by the tree's largest distance"),
        (("--by", "level"), "the level at which it first joins another object, divided by the tree's number of levels"),
    ],
)
def test_outliers_say_what_their_score_is(run, table, words, told):
    assert f"the score of an object is {told}" in run("outliers", table, "--label-column", "kind", *words).err


def test_the_score_that_is_told_is_the_one_of_the_tree(run, tmp_path):
    np.savetxt(tmp_path / "points.csv", np.random.default_rng(2).normal(size=(40, 2)), delimiter=",")
    assert "at which its cluster first holds 10 objects, div" in run("outliers", tmp_path / "points.csv").err
    np.savetxt(tmp_path / "points.csv", np.random.default_rng(2).normal(size=(20, 2)), delimiter=",")
    assert "at which its cluster first holds 5 objects, div" in run("outliers", tmp_path / "points.csv").err


def test_a_list_of_outliers_that_ends_inside_a_tie_says_so(run, table):
    options = ("outliers", table, "--label-column", "kind")
    told = "the cut is inside a tie: 4 objects have the score 0.333333, and 2 of them are shown"
    assert told in run(*options, "--by", "level", "--top", 3).err
    for whole in ((), ("--top", 1), ("--top", 5), ("--top", 9)):
        assert "tie" not in run(*options, "--by", "level", *whole).err


def test_outliers_are_scored_as_the_tree_scores_them(run, plain, tmp_path):
    points = np.random.default_rng(2).normal(size=(40, 2))
    np.savetxt(tmp_path / "points.csv", points, delimiter=",")
    for words, by, criterion in (
        ((), "distance of 10", "single"),
        (("--by", "level", "--criterion", "average"), "level", "average"),
        (("--by", "level of 5", "--criterion", "upgma"), "level of 5", "average"),
        (("--by", "distance-of-5"), "distance of 5", "single"),
    ):
        out = run("outliers", tmp_path / "points.csv", "--metric", "euclidean", "--to", "csv", *words).out
        found = {int(name): float(score) for name, score, *_ in parsed(out)[1:]}
        tree = reliac.cluster(points, criterion, metric="euclidean")
        np.testing.assert_allclose([found[row] for row in range(40)], tree.outlier_scores(by), rtol=1e-9)
        assert list(found.values()) == sorted(found.values(), reverse=True)
    mistake = run("outliers", plain, "--by", "size", status=2).err
    assert "--by size. Allowed: 'level'" in mistake
    assert "Next: write --by distance-of-10" in mistake


def test_an_object_that_never_joins_has_no_distance_and_no_partner(run, table):
    rows = parsed(run("outliers", table, "--label-column", "kind", "--max-level", 1, "--to", "csv").out)
    assert rows[1] == ["e", "1.0", "2", "", ""]


def test_mst_writes_edges_with_names_weights_and_levels(run, table):
    result = run("mst", table, "--skip-column", "kind")
    assert parsed(result.out) == [
        ["i", "j", "weight", "level"],
        ["a", "b", "1.0", "1"],
        ["c", "d", "1.0", "1"],
        ["b", "c", "4.0", "2"],
        ["d", "e", "14.0", "3"],
    ]


def test_mst_of_an_early_stop_is_a_forest(run, plain):
    assert len(parsed(run("mst", plain, "--max-level", 1).out)) == 3


def test_compare_sets_the_strategies_side_by_side(run, table):
    result = run("compare", table, "--label-column", "kind", "--alpha", 0, "--alpha", 0.5, "--alpha", 1)
    lines = [line.split() for line in result.out.splitlines()]
    scores = ["AMI", "ARI", "V", "silhouette", "CH", "DB", "agreement"]
    assert lines[0] == ["strategy", "levels", "seconds", *scores, "cluster", "sizes"]
    assert [line[0] for line in lines[1:]] == ["standard", "alpha", "reliable"]
    assert lines[1][3:] == lines[3][3:]
    assert [*lines[1][3:6], *lines[1][9:]] == ["1", "1", "1", "1", "2,", "2,", "1"]


def test_compare_without_classes_needs_a_number_of_clusters_for_more_than_cost(run, plain):
    result = run("compare", plain)
    assert result.out.split()[:3] == ["strategy", "levels", "seconds"]
    assert "--clusters K" in result.err
    assert "AMI" not in run("compare", plain, "--clusters", 2).out


def test_info_tells_what_a_saved_tree_holds(run, table, tmp_path):
    for name, form in (("tree.reliac", "checksum correct"), ("tree.json", "JSON text")):
        run("cluster", table, "--skip-column", "kind", "--criterion", "single", "--out", tmp_path / name)
        text = run("info", tmp_path / name).out
        assert "ClusterTree of 5 objects: 3 levels" in text
        assert f"{os.path.getsize(tmp_path / name):,} bytes" in text
        assert form in text
        assert "names: a, b, c, d, e" in text
        assert "spanning tree: 4 edges" in text


def test_the_demo_is_short_and_writes_what_it_promises(run, tmp_path):
    result = run("demo", "--out", tmp_path / "tour")
    assert result.out.count("\n") < 75
    assert max(map(len, result.out.splitlines())) < 120 + len(str(tmp_path))
    for word in ("SciPy", "Levels", "standard", "reliable", "developed", "Outliers", "20000", "Try next"):
        assert word in result.out
    assert {path.name for path in (tmp_path / "tour").iterdir()} == {
        "labels.csv",
        "iris.reliac",
        "iris.nwk",
        "dendrogram.png",
        "levels.png",
    }
    assert reliac.load(tmp_path / "tour" / "iris.reliac").n_objects == 150


def test_the_demo_does_without_matplotlib(run, tmp_path, monkeypatch):
    monkeypatch.setattr("reliac.cli.demo.find_spec", lambda name: None)
    result = run("demo", "--out", tmp_path)
    assert "pip install '.[plot]'" in result.err
    assert not (tmp_path / "levels.png").exists()


# --- mistakes ---


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--criterion", "wrad"), "did you mean 'ward'"),
        (("--metric", "euclidian"), "did you mean 'euclidean'"),
        (("--engine", "magic"), "Unknown engine 'magic'"),
        (("--clusters", "9"), "--clusters 9. Allowed: a whole number from 1 to 5"),
        (("--alpha", "2"), "--alpha 2.0"),
        (("--weights-column", "y"), "Unknown column 'y'"),
        (("--format", "xls"), "Unknown format 'xls'"),
        (("--to", "labels"), "all objects in one cluster"),
        (("--out", "labels.csv"), "all objects in one cluster"),
        (("--out", "labels.xyz"), "does not say what to write"),
        (("--out", "labels.parquet", "--to", "labels"), "Unknown extension"),
        (("--out", "no/such/tree.reliac"), "there is no folder"),
        (("--out", ".", "--to", "tree"), "is a folder"),
        (("--plot", "tree.gif"), "Unknown kind of picture '.gif'"),
        (("--stop-clusters", "2", "--to", "z"), "room for one tree only"),
    ],
)
def test_a_mistake_gives_exit_code_2_and_a_message_without_traceback(run, plain, args, message):
    result = run("cluster", plain, *args, status=2)
    assert result.err.startswith("reliac: error: ")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert result.out == ""


def test_a_missing_file_gives_exit_code_2(run):
    assert "There is no file 'nowhere.csv'" in run("levels", "nowhere.csv", status=2).err
    assert run("info", "nowhere.reliac", status=2).err.startswith("reliac: error: ")


@pytest.mark.parametrize("error", [DoesNotFit("too large"), ImportError("pip install '.[parquet]'")])
def test_too_little_memory_and_missing_extras_are_told_plainly(run, plain, monkeypatch, error):
    def fail(*args, **options):
        raise error

    monkeypatch.setattr(making, "cluster", fail)
    assert run("levels", plain, status=2).err == f"reliac: error: {error}\n"


def test_a_fault_of_our_own_gives_exit_code_1_and_a_traceback(run, plain, monkeypatch):
    monkeypatch.setattr(making, "cluster", lambda *args, **options: 1 / 0)
    result = run("levels", plain, status=1)
    assert "Traceback" in result.err
    assert "please report" in result.err


def test_a_broken_invariant_gives_exit_code_70_a_traceback_and_what_a_report_needs(run, plain, monkeypatch):
    def broken(X, **options):
        tree = reliac.cluster(X)
        links = tree.links.copy()
        links["size"][0] = 7
        return dataclasses.replace(tree, links=links)

    monkeypatch.setattr(making, "cluster", broken)
    result = run("levels", plain, "--max-level", 2, status=70)
    assert result.out == ""
    assert "Traceback" in result.err
    assert "invariant 4" in result.err
    assert "please report" in result.err
    assert f"reliac {reliac.__version__}, Python " in result.err
    assert f"reliac levels {plain} --max-level 2" in result.err


def test_an_engine_that_finds_no_link_is_our_fault_too(run, plain, monkeypatch):
    monkeypatch.setattr("reliac.run.solve.Run._develop", lambda *args: None)
    assert "found no reliable link" in run("levels", plain, "--engine", "small", status=70).err


def test_a_file_with_a_broken_tree_is_a_mistake_of_its_user(run, plain, tmp_path):
    body = json.loads(run("cluster", plain, "--to", "json").out)
    body["links"]["size"][0] = 7
    (tmp_path / "broken.json").write_text(json.dumps(body))
    for command in ("info", "levels"):
        result = run(command, tmp_path / "broken.json", status=2)
        assert "is not a usable tree file" in result.err
        assert "invariant 4" in result.err
        assert "Traceback" not in result.err


@pytest.mark.parametrize(
    "command", ["cluster", "levels", "outliers", "mst", "compare", "info", "demo", "reproduce", "warmup", "completion"]
)
def test_every_command_explains_itself_with_examples(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "examples:" in text
    assert f"reliac {command}" in text.partition("examples:")[2]


def test_every_example_in_the_help_can_be_parsed():
    import shlex

    group = parser.build_parser()
    texts = [group.epilog, *(command.epilog for command in group.commands.values())]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    commands_shown = [line for line in lines if line.startswith("reliac ")]
    assert len(commands_shown) > 15
    for line in commands_shown:
        words = shlex.split(line.partition("   ")[0].partition("|")[0])
        assert parser.parse(words[1:]).command == words[1]


def test_version_is_the_version_of_the_package(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.splitlines()[0] == f"reliac {reliac.__version__}"


def test_version_says_whether_the_c_code_is_there(capsys, monkeypatch):
    there = building.library_path().exists()
    for path, told in ((building.library_path(), "with its C code"), (Path("missing.library"), "without its C code")):
        if path.name != "missing.library" and not there:
            continue
        monkeypatch.setattr(building, "library_path", lambda path=path: path)
        with pytest.raises(SystemExit):
            main(["--version"])
        assert capsys.readouterr().out.splitlines()[1].startswith(told)


# --- files ---


@pytest.mark.parametrize("words", [("cluster", "--clusters", 2), ("levels",), ("outliers",), ("mst",)])
def test_the_file_that_is_read_is_never_written_over(run, plain, words):
    before = Path(plain).read_bytes()
    for option, same in (("--out", plain), ("--out", Path(plain).parent / "." / Path(plain).name)):
        said = run(words[0], plain, *words[1:], option, same, status=2).err
        assert "is the file that is read. Allowed: another file. Next: choose another name" in said
    assert Path(plain).read_bytes() == before


def test_a_device_is_written_to_and_not_replaced(run, plain):
    run("cluster", plain, "--clusters", 2, "--out", os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_symbolic_link_stays_one(run, plain, tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    run("cluster", plain, "--clusters", 2, "--out", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("name,cluster\n")


# --- Ctrl-C ---


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("tree.reliac", "tree.reliac"),
        ("tree.json", "tree.json"),
        ("labels.csv", "labels.csv.partial.reliac"),
        ("tree.nwk", "tree.nwk.partial.reliac"),
    ],
)
def test_ctrl_c_keeps_the_levels_done(run, table, tmp_path, monkeypatch, name, saved):
    def stop(X, *, names, **options):
        raise reliac.Interrupted(reliac.cluster(X, max_level=1, names=names))

    monkeypatch.setattr(making, "cluster", stop)
    result = run("cluster", table, "--skip-column", "kind", "--clusters", 2, "--out", tmp_path / name, status=130)
    assert "stopped by Ctrl-C at level 1 with 3 clusters left" in result.err
    assert str(tmp_path / saved) in result.err
    tree = reliac.load(tmp_path / saved)
    assert tree.n_clusters == 3
    assert tree.names.tolist() == list("abcde")


def test_ctrl_c_without_a_file_says_that_nothing_is_saved(run, plain, monkeypatch):
    def stop(X, **options):
        raise reliac.Interrupted(reliac.cluster(X, max_level=1))

    monkeypatch.setattr(making, "cluster", stop)
    assert "nothing saved" in run("cluster", plain, "--clusters", 2, status=130).err
    assert run("levels", plain, status=130).err == "reliac: stopped by Ctrl-C at level 1\n"


def test_ctrl_c_with_a_checkpoint_says_that_nothing_else_is_saved(run, plain, tmp_path, monkeypatch):
    def stop(X, **options):
        (tmp_path / "run").touch()
        raise reliac.Interrupted(reliac.cluster(X, max_level=1), "the same call goes on from the checkpoint run")

    monkeypatch.setattr(making, "cluster", stop)
    told = run("cluster", plain, "--clusters", 2, "--checkpoint", tmp_path / "run", status=130).err
    assert "the same call goes on from the checkpoint run; nothing else saved" in told


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_real_interrupt_keeps_the_levels_done(tmp_path):
    numbers = np.random.default_rng(0).normal(size=(3000, 3))
    np.save(tmp_path / "numbers.npy", numbers)
    slow = ["--engine", "literal", "--alpha", "0", "--progress"]
    command = ["cluster", "numbers.npy", *slow, "--out", "labels.csv", "--clusters", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "reliac", *command], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    with process:
        told = ""
        while "clusters left" not in told:  # the progress line: the run is under way
            character = process.stderr.read(1)
            assert character, told
            told += character
        process.send_signal(signal.SIGINT)
        told += process.stderr.read()
    assert process.returncode == 130
    assert "labels.csv.partial.reliac" in told
    assert "Traceback" not in told
    tree = reliac.load(tmp_path / "labels.csv.partial.reliac")
    assert 2 <= tree.n_clusters < 3000
    assert not (tmp_path / "labels.csv").exists()


# --- real processes ---


def test_standard_input_and_standard_output_make_a_pipe(tmp_path):
    text = b"".join(b"%f\n" % row[0] for row in NUMBERS)
    first = reliac_process("cluster", "-", "--to", "tree", "--out", "-", input=text)
    assert (first.returncode, first.stderr) == (0, b"")
    (tmp_path / "tree.reliac").write_bytes(first.stdout)
    assert reliac.load(tmp_path / "tree.reliac").n_objects == 5
    assert reliac_process("cluster", "-", "--clusters", 2, input=text).stdout.splitlines()[0] == b"name,cluster"


def test_a_reader_that_stops_early_is_no_error(tmp_path):
    np.save(tmp_path / "numbers.npy", np.arange(2000.0)[:, None] ** 2)
    process = subprocess.Popen(
        [sys.executable, "-m", "reliac", "cluster", "numbers.npy", "--level", "1"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()  # before anything is written
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 0
    assert [line for line in error.splitlines() if not line.startswith(b"compiling")] == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("words", ["cluster --help", "completion bash", "--version"])
def test_help_that_nobody_reads_is_no_error(words):
    command = f'(sleep 0.2; "{sys.executable}" -m reliac {words}; echo "status $?" >&2) | true'
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False, text=True, timeout=60)
    assert done.stderr == "status 0\n"


def test_exit_codes_reach_the_shell(tmp_path):
    assert reliac_process("cluster", tmp_path / "nowhere.csv").returncode == 2
    assert reliac_process("no-such-command").returncode == 2
    assert reliac_process("--version").returncode == 0


def test_warnings_are_one_line_and_name_no_file_of_ours(tmp_path):
    distances = np.zeros((6, 6))  # of no six points
    distances[np.triu_indices(6, 1)] = [7, 13, 4, 18, 2, 1, 9, 3, 19, 16, 2, 1, 10, 1, 5]
    distances += distances.T
    np.savetxt(tmp_path / "distances.csv", distances, delimiter=",")
    result = reliac_process("cluster", tmp_path / "distances.csv", "--metric", "precomputed", "--clusters", 2)
    assert result.returncode == 0
    lines = result.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("reliac: warning: The given distances cannot be Euclidean")


@pytest.mark.parametrize("words", [["--help"], ["cluster", "--help"], ["--version"], ["completion", "-h"]])
def test_help_is_quick_because_nothing_heavy_is_imported(words):
    code = f"""
import sys
from reliac.cli import main
from reliac.errors import DoesNotFit
from reliac.native import building
try:
    main({words})
except SystemExit:
    sys.exit(bool({{"numpy", "rich", "tqdm", "asyncio"}} & sys.modules.keys()))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


def test_progress_appears_only_where_it_is_wanted(run, plain, monkeypatch):
    seen = []
    real = reliac.cluster

    def noted(X, **options):
        seen.append(options.get("progress"))
        return real(X, **options)

    monkeypatch.setattr(making, "cluster", noted)
    run("levels", plain)
    run("levels", plain, "--progress")
    run("levels", "--progress", plain)  # the file is no way to show progress
    run("levels", "--progress", "bar", plain)
    run("levels", plain, "--progress", "json")
    run("levels", "--progress=json", plain)
    assert seen == [None, True, True, True, "json", "json"]


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--progress=yaml"], "Unknown value of --progress 'yaml'"), (["--out", "--progress"], "--out stands without")],
)
def test_progress_takes_no_other_word_and_is_no_value_itself(plain, capsys, words, told):
    with pytest.raises(SystemExit):
        main(["levels", str(plain), *words])
    assert told in capsys.readouterr().err
