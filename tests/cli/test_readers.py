"""Reading tables: formats, headers, names, labels, and what is said about mistakes."""

from __future__ import annotations

import gzip
import io
import math
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import reliac
from reliac.cli import delimited
from reliac.cli.columns import Choices, find_column
from reliac.cli.reading import read_table


@pytest.fixture
def read(tmp_path):
    def read_text(text, suffix=".csv", file_format=None, **choices):
        path = tmp_path / f"table{suffix}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_table(str(path), file_format, Choices(**choices))

    return read_text


# --- text ---


def test_a_header_is_found_above_columns_of_numbers(read):
    table = read("width,height\n1,2\n3,4.5\n")
    assert table.columns == ("width", "height")
    assert table.numbers.tolist() == [[1, 2], [3, 4.5]]
    assert table.names is None
    assert table.labels is None


def test_without_a_header_columns_are_numbered_from_1(read):
    table = read("1,2\n3,4\n")
    assert table.columns == ("1", "2")
    assert len(table.numbers) == 2


def test_text_above_text_is_no_header(read):
    table = read("5.1,setosa\n4.9,setosa\n6.0,virginica\n", label_column="-1")
    assert table.labels.tolist() == ["setosa", "setosa", "virginica"]
    assert table.numbers.tolist() == [[5.1], [4.9], [6.0]]


def test_the_user_can_overrule_the_header(read):
    assert len(read("10,20\n1,2\n3,4\n", header=True).numbers) == 2
    assert read("10,20\n1,2\n", header=True).columns == ("10", "20")
    with pytest.raises(ValueError, match=r"Column '1' is not numeric: 'x' at row 1 \(line 1\)"):
        read("x,y\n1,2\n", header=False)


def test_a_header_stays_one_when_a_cell_below_it_is_wrong(read):
    with pytest.raises(ValueError, match=r"Column 'x' is not numeric: 'oops' at row 2 \(line 3\)"):
        read("x\n1\noops\n3\n")


def test_tabs_and_semicolons_are_delimiters_too(read):
    assert read("a\tb\n1\t2\n", ".tsv").columns == ("a", "b")
    assert read("a;b\n1;2\n").numbers.tolist() == [[1, 2]]
    assert read("a\tb\n1\t2\n", ".txt").columns == ("a", "b")


def test_decimal_commas_between_semicolons_are_numbers(read):
    assert read("a;b\n1,5;2\n-2,5e1;,5\n").numbers.tolist() == [[1.5, 2], [-25, 0.5]]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,5;2\n3,5;4\n", [[1.5, 2], [3.5, 4]]),  # semicolon and comma both occur once a line
        ("1,5;2,5\n3;4,5\n", [[1.5, 2.5], [3, 4.5]]),
        ("1,5;2,25\n", [[1.5, 2.25]]),
        ("1|2\n3|4\n", [[1, 2], [3, 4]]),
        ("1 2\n3 4\n", [[1, 2], [3, 4]]),
        ("  1   2\n 30  4  \n", [[1, 2], [30, 4]]),
        ('x;y\n"a;b";1\n'.replace('"a;b"', "7") + "8;2\n", [[7, 1], [8, 2]]),
    ],
)
def test_the_delimiter_is_what_occurs_equally_often_in_every_line(read, text, numbers):
    assert read(text).numbers.tolist() == numbers


def test_delimiters_inside_quotes_do_not_count(read):
    table = read('name,x\n"Rome; the ""eternal"" city",1\n"Oslo;\nby the sea",2\n"Bern, Switzerland; old",3\n')
    assert table.names.tolist() == ['Rome; the "eternal" city', "Oslo;\nby the sea", "Bern, Switzerland; old"]
    assert table.numbers.tolist() == [[1], [2], [3]]


def test_tables_as_r_writes_them_are_read(read):
    table = read('"x" "y"\n"a" 1 2\n"b" 3 4\n', ".txt")
    assert table.names.tolist() == ["a", "b"]
    assert table.columns == ("x", "y")


def test_a_wrong_line_is_told_with_the_delimiters_that_are_known(read):
    with pytest.raises(ValueError, match=r"line 3 has 1 cells.*comma, semicolon, tab, \| or spaces"):
        read("1;2\n3;4\n5\n")


def test_numbers_with_commas_for_thousands_are_neither_names_nor_two_columns(read):
    with pytest.raises(ValueError, match=r"Column 'x' is not numeric: '1,000'.*write 1000, not 1,000"):
        read('x,y\n"1,000",5\n"2,000",6\n')
    with pytest.raises(ValueError, match=r"Lines like '1,000' below the single title 'x'.*Next: "):
        read("x\n1,000\n2,000\n")


def test_gzipped_files_are_unpacked(read):
    assert read(gzip.compress(b"a,b\n1,2\n"), ".csv.gz").columns == ("a", "b")
    assert read(gzip.compress(b"a\tb\n1\t2\n"), ".tsv.gz").columns == ("a", "b")
    assert read(gzip.compress(saved(np.save, np.eye(2))), ".npy.gz").numbers.tolist() == np.eye(2).tolist()
    with pytest.raises(ValueError, match=r"cannot be read as gzip .*Allowed: .*Next: "):
        read(gzip.compress(b"a,b\n1,2\n")[:-9], ".csv.gz")


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"is a folder.*Allowed: .*Next: "):
        read_table(str(tmp_path))


def test_a_byte_order_mark_blank_lines_and_windows_line_ends_do_no_harm(read):
    table = read("\ufeffa,b\r\n\r\n1,2\r\n3,4\r\n\r\n")
    assert table.columns == ("a", "b")
    assert table.numbers.tolist() == [[1, 2], [3, 4]]


def test_a_first_column_of_distinct_words_names_the_rows(read):
    table = read("city,x\nRome,1\nOslo,2\n")
    assert table.names.tolist() == ["Rome", "Oslo"]
    assert table.columns == ("x",)


def test_a_first_column_of_repeated_words_is_refused_with_the_way_out(read):
    with pytest.raises(ValueError, match=r"Column 'kind' is not numeric: 'a'.*--label-column.*--skip-column"):
        read("kind,x\na,1\na,2\n")
    assert read("kind,x\na,1\na,2\n", skip_columns=["kind"]).names is None


def test_an_unnamed_first_column_names_the_rows_and_is_never_data(read):
    table = read(",x,id\n0,1.5,a\n1,2.5,b\n", skip_columns=["id"])
    assert table.names.tolist() == ["0", "1"]
    assert table.numbers.tolist() == [[1.5], [2.5]]
    table = read(",x,id\n0,1.5,a\n1,2.5,b\n", name_column="id")
    assert table.names.tolist() == ["a", "b"]
    assert table.numbers.tolist() == [[1.5], [2.5]]


def test_a_header_one_cell_short_leaves_the_row_names_untitled_as_r_does(read):
    table = read("x\ty\na\t1\t2\nb\t3\t4\n", ".tsv")
    assert table.names.tolist() == ["a", "b"]
    assert table.columns == ("x", "y")


def test_names_and_labels_and_weights_are_taken_from_the_columns_asked_for(read):
    table = read("x,id,w,kind\n1,7,2,u\n2,8,1,v\n", name_column="id", label_column="kind", weights_column="3")
    assert table.names.tolist() == ["7", "8"]
    assert table.labels.tolist() == ["u", "v"]
    assert table.weights.tolist() == [2, 1]
    assert table.columns == ("x",)


@pytest.mark.parametrize("cell", ["", "?", "NaN", "NA", " ", "inf"])
def test_a_missing_value_is_named_by_row_line_and_column(read, cell):
    with pytest.raises(ValueError, match=r"row 2 \(line 4\), column 'b'.*Allowed: .*Next: "):
        read(f"a,b\n\n1,2\n3,{cell}\n")


def test_the_line_is_right_below_a_cell_that_spans_lines(read):
    with pytest.raises(ValueError, match=r"row 2 \(line 4\), column 'x'"):
        read('name,x\n"first\nname",1\nsecond,?\n')


def test_a_missing_label_is_refused(read):
    with pytest.raises(ValueError, match=r"row 2 \(line 3\), column 'kind'"):
        read("x,kind\n1,u\n2,\n", label_column="kind")


def test_underscores_make_a_name_not_a_number(read):
    assert read("well,x\n1_1,5\n1_2,6\n").names.tolist() == ["1_1", "1_2"]
    with pytest.raises(ValueError, match="'1_1'"):
        read("x,well\n5,1_1\n6,1_2\n")


def test_lines_of_different_length_are_refused_by_line(read):
    with pytest.raises(ValueError, match=r"line 3 has 1 cells, line 2 has 2"):
        read("a,b\n1,2\n3\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "a header and no rows"),
        ("name,kind\na,u\nb,v\n", "is not numeric"),
        (b"a,b\n\xff\xfe,1\n", "UTF-8"),
        ("a\nb\n", "is not numeric"),
    ],
)
def test_files_without_a_table_are_refused(read, text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


def test_a_table_of_names_only_is_refused(read):
    with pytest.raises(ValueError, match="No column of numbers is left of "):
        read("name,kind\na,u\nb,v\n", label_column="kind")


def test_an_array_without_a_column_is_refused(tmp_path):
    np.save(tmp_path / "empty.npy", np.zeros((3, 0)))
    with pytest.raises(ValueError, match=r"^No column of numbers is left: there is no column\. Allowed: "):
        read_table(tmp_path / "empty.npy")


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(FileNotFoundError, match=r"There is no file 'nowhere\.csv'.*Next: "):
        read_table("nowhere.csv")


def test_an_unknown_format_offers_the_near_one(read):
    with pytest.raises(ValueError, match="'parquet'"):
        read("1\n", file_format="parket")


# --- the same by Arrow ---


def both_ways(content, path, choices):
    """What the two readers of text say about a content: the table, or the words of the error."""
    path.write_bytes(content)
    for smallest in (math.inf, 0):
        with mock.patch.object(delimited, "LARGE", smallest):
            try:
                table = read_table(str(path), None, choices)
            except ValueError as error:
                yield str(error)
            else:
                yield {
                    name: (value.dtype, value.shape, value.tolist()) if isinstance(value, np.ndarray) else value
                    for name, value in vars(table).items()
                }


CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(["1.50", " 2 ", "+3", "1e3", ".5", "5.", "1,5", "1_0", "007", "-0", "1e-400", "1e400"]),
)
WORDS = st.one_of(
    st.sampled_from(
        ["", "?", "NA", "nan", "inf", "a", "b", "x y", "1", "1,5", "true", "2020-01-01", "é", '"', "'", " "]
    ),
    st.text("ab;,|\t \n\r\"'.é0", max_size=4),
)


def quoted(cell, delimiter, always):
    needs = always or any(mark in cell for mark in (delimiter, '"', "\n", "\r"))
    return '"' + cell.replace('"', '""') + '"' if needs else cell


@st.composite
def text_tables(draw):
    """Tables as text, most of them good: names before the numbers, labels behind them, and odd lines in between."""
    delimiter = draw(st.sampled_from([",", ";", "\t", "|", " "]))
    always, end = draw(st.booleans()), draw(st.sampled_from(["\n", "\r\n", "\r"]))
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    named, labelled = draw(st.booleans()), draw(st.booleans())
    rows = []
    for place in range(n):
        names = [draw(WORDS) if draw(st.integers(0, 5)) == 0 else f"row {place}"] * named
        rows.append([*names, *(draw(CELLS) for _ in range(d)), *[draw(WORDS)] * labelled])
    if draw(st.booleans()):
        titles = ["name"] * named + [f"x{place}" for place in range(d)] + ["kind"] * labelled
        rows.insert(0, titles[1:] if named and draw(st.booleans()) else [*[""] * named, *titles[named:]])
    if draw(st.integers(0, 3)) == 0:  # one cell of the table is something else
        row = draw(st.integers(0, len(rows) - 1))
        rows[row][draw(st.integers(0, len(rows[row]) - 1))] = draw(WORDS)
    lines = [delimiter.join(quoted(cell, delimiter, always) for cell in row) for row in rows]
    if draw(st.integers(0, 3)) == 0:  # a line that is blank, too short or otherwise odd
        odd = draw(st.sampled_from(["", "  ", "1", f"1{delimiter}", '"', '"a"b', f'a"b{delimiter}1']))
        lines.insert(draw(st.integers(0, len(lines))), odd)
    text = end.join(lines) + draw(st.sampled_from(["", end]))
    return ("\ufeff" if draw(st.booleans()) else "") + text, labelled


@settings(max_examples=200, deadline=None)
@given(text_tables(), st.booleans(), st.booleans(), st.sampled_from([None, True, False]))
@example(("0.0,0.0,0.0\n0.0,1,0.0\n0.0,0.0,0.0", False), False, True, None)  # a list of distances: ends are texts
def test_large_files_are_read_as_small_ones_are(table, packed, distances, header):
    pytest.importorskip("pyarrow")
    text, labelled = table
    content = gzip.compress(text.encode()) if packed else text.encode()
    choices = Choices(label_column="-1" if labelled else None, distances=distances, header=header)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("table.csv.gz" if packed else "table.csv")
        by_lines, by_arrow = both_ways(content, path, choices)
    assert by_arrow == by_lines


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("x,y\n1,2\n3,4.5\n", {}),
        ("1;2\n3;4\n", {}),
        ('"name"\t"x"\n"a ""b"""\t1\n"c\nd"\t2\n', {}),
        ('\n"","x","kind"\n"1",2,"u"\n"2",3,"v"\n', {"label_column": "kind"}),
        ("5,7,1\n6,8,1\n", {"name_column": "2"}),
        ("\ufeffx,id,w\r\n1,7,1\r\n2,8,2\r\n", {"skip_columns": ["id"], "weights_column": "w"}),
    ],
)
def test_arrow_reads_what_is_in_order_alone(text, choices, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    choices = Choices(**choices)
    by_lines, by_arrow = both_ways(text.encode(), tmp_path / "table.csv", choices)
    assert by_arrow == by_lines
    monkeypatch.setattr(delimited, "LARGE", 0)
    monkeypatch.setattr(delimited, "_by_lines", None)
    assert len(read_table(str(tmp_path / "table.csv"), None, choices).numbers) == 2


def test_a_mistake_in_a_large_file_is_told_with_its_line(tmp_path):
    lines = [f"{place},{place / 7}" for place in range(60_000)]
    lines[45_000] = "1,oops"
    path = tmp_path / "large.csv"
    path.write_text("\n".join(lines))
    assert path.stat().st_size > delimited.LARGE
    with pytest.raises(ValueError, match=r"Column '2' is not numeric: 'oops' at row 45001 \(line 45001\)"):
        read_table(str(path))
    path.write_text("\n".join(lines[:45_000]))
    assert read_table(str(path)).numbers[-1].tolist() == [44_999, 44_999 / 7]


def test_without_pyarrow_large_files_are_read_line_by_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(delimited, "LARGE", 0)
    (tmp_path / "table.csv").write_text("x,y\n1,2\n")
    assert read_table(str(tmp_path / "table.csv")).numbers.tolist() == [[1, 2]]


# --- columns ---


def test_columns_are_found_by_name_before_position():
    assert find_column(["2", "b", "c"], "2") == 0
    assert find_column(["a", "b", "c"], "2") == 1
    assert find_column(["a", "b", "c"], "-1") == 2


@pytest.mark.parametrize(("wanted", "message"), [("0", "1 to 3"), ("4", "1 to 3"), ("widht", "did you mean 'width'")])
def test_a_column_that_is_not_there_is_refused(wanted, message):
    with pytest.raises(ValueError, match=message):
        find_column(["width", "height", "kind"], wanted)


def test_a_name_that_occurs_twice_is_refused():
    with pytest.raises(ValueError, match="2 columns are named 'a'"):
        find_column(["a", "a"], "a")


# --- distances ---

SQUARE = [[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [4.0, 2.0, 0.0]]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("0,1,4\n1,0,2\n4,2,0\n", None),
        ("a,b,c\n0,1,4\n1,0,2\n4,2,0\n", ["a", "b", "c"]),
        ("a,0,1,4\nb,1,0,2\nc,4,2,0\n", ["a", "b", "c"]),
        (",a,b,c\na,0,1,4\nb,1,0,2\nc,4,2,0\n", ["a", "b", "c"]),
        ("a,b,c\na,0,1,4\nb,1,0,2\nc,4,2,0\n", ["a", "b", "c"]),
        (",101,102,103\n101,0,1,4\n102,1,0,2\n103,4,2,0\n", ["101", "102", "103"]),
    ],
)
def test_distances_may_have_names_above_and_before_them(read, text, names):
    table = read(text, distances=True)
    assert table.numbers.tolist() == SQUARE
    assert (None if table.names is None else table.names.tolist()) == names


def test_distances_with_rows_and_columns_in_different_order_are_refused(read):
    with pytest.raises(ValueError, match=r"Row 2 of the distances is 'b', column 2 'c'"):
        read(",a,c,b\na,0,1,4\nb,1,0,2\nc,4,2,0\n", distances=True)


@pytest.mark.parametrize("text", ["1,4,2\n", "1\n4\n2\n", "distance\n1\n4\n2\n"])
def test_one_line_or_one_column_of_distances_is_condensed(read, text):
    assert read(text, distances=True).numbers.tolist() == [1, 4, 2]


# --- NPY, NPZ, Parquet ---


def saved(save, *args, **arrays):
    buffer = io.BytesIO()
    save(buffer, *args, **arrays)
    return buffer.getvalue()


def test_npy_keeps_its_type_of_number(read):
    table = read(saved(np.save, np.ones((2, 3), dtype=np.float32)), ".npy")
    assert table.numbers.dtype == np.float32
    assert table.columns == ("1", "2", "3")


def test_a_column_of_an_array_can_be_the_labels(read):
    table = read(saved(np.save, np.array([[1, 5, 0], [2, 6, 1]])), ".npy", label_column="-1")
    assert table.labels.tolist() == ["0", "1"]
    assert table.numbers.tolist() == [[1, 5], [2, 6]]


def test_npy_may_hold_condensed_distances(read):
    assert read(saved(np.save, np.array([1.0, 2.0, 3.0])), ".npy", distances=True).numbers.shape == (3,)


def test_npz_takes_the_only_array_or_x_with_y(read):
    assert read(saved(np.savez, anything=np.eye(2)), ".npz").numbers.tolist() == np.eye(2).tolist()
    data = saved(np.savez, y=np.array([3, 4]), X=np.eye(2), names=np.array(["a", "b"]))
    for label_column in (None, "y"):
        table = read(data, ".npz", label_column=label_column)
        assert table.labels.tolist() == ["3", "4"]
        assert table.names.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.eye(2), "b": np.eye(2)}, "holds 2 arrays: a, b"),
        ({"X": np.eye(2), "y": np.ones(3)}, r"Array y has shape \(3,\)"),
        ({"X": np.array([[1, None]], dtype=object)}, "cannot be read"),
        ({"X": np.array([[1.0, np.nan]])}, r"row 1, column '2'"),
    ],
)
def test_npz_files_that_do_not_fit_are_refused(read, arrays, message):
    with pytest.raises(ValueError, match=message):
        read(saved(np.savez, **arrays), ".npz")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet"])
def test_a_damaged_binary_file_is_refused(read, suffix):
    with pytest.raises(ValueError, match="cannot be read as"):
        read(b"no such thing", suffix)


def test_pickles_are_never_opened(read):
    import pickle

    with pytest.raises(ValueError, match="cannot be read as"):
        read(pickle.dumps([1, 2]), ".npy")


def test_parquet_gives_numbers_names_and_labels(read, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"x": [1, 2], "on": [True, False], "kind": ["u", "v"]}, index=["a", "b"])
    frame.to_parquet(tmp_path / "frame.parquet")
    table = read_table(str(tmp_path / "frame.parquet"), None, Choices(label_column="kind"))
    assert table.numbers.tolist() == [[1, 1], [2, 0]]
    assert table.names.tolist() == ["a", "b"]
    assert table.labels.tolist() == ["u", "v"]


def test_parquet_keeps_float32_and_leaves_a_row_counter_out(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"x": np.arange(4, dtype=np.float32)})
    frame.to_parquet(tmp_path / "all.parquet")
    frame.iloc[1:3].to_parquet(tmp_path / "some.parquet")
    assert read_table(str(tmp_path / "all.parquet")).numbers.dtype == np.float32
    assert read_table(str(tmp_path / "all.parquet")).names is None
    assert read_table(str(tmp_path / "some.parquet")).columns == ("x",)


@pytest.mark.parametrize(
    ("column", "message"),
    [([1, None], r"row 2, column 'x'"), (["u", "v"], "Column 'x' is not numeric: 'u' at row 1")],
)
def test_parquet_with_gaps_or_text_is_refused(tmp_path, column, message):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"a": [1.0, 2.0], "x": column}), tmp_path / "table.parquet")
    with pytest.raises(ValueError, match=message):
        read_table(str(tmp_path / "table.parquet"))


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".parquet", ".tsv.gz", ".json", ".reliac"])
def test_a_damaged_array_file_under_any_name_is_told_in_three_parts(run, tmp_path, suffix):
    plain, packed = saved(np.save, np.eye(9)), saved(np.savez_compressed, X=np.eye(9))
    header_cut = plain.replace(b"'shape': (9, 9), }", b"'shape': ((((((((( ")
    data_changed = packed[:100] + bytes(40) + packed[140:]
    for content in (header_cut, data_changed, plain[:200], packed[:150], plain[:9], packed[:4]):
        (tmp_path / f"t{suffix}").write_bytes(content)
        said = run("cluster", tmp_path / f"t{suffix}", status=2).err
        assert ". Allowed: " in said
        assert ". Next: " in said


def test_an_arrow_file_that_asks_for_any_amount_of_memory_is_told_in_three_parts(run, tmp_path):
    arrow, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    path, length = tmp_path / "t.arrow", (16000).to_bytes(8, "little")
    feather.write_feather(arrow.table({"x": np.zeros(2000)}), path, compression="lz4")
    path.write_bytes(path.read_bytes().replace(length, length[:6] + b"\x24\x00"))  # what it is unpacked to
    for words in (["cluster", path], ["cluster", path, "--edges"]):
        said = run(*words, status=2).err
        assert "t.arrow cannot be read as arrow (malloc of size" in said
        assert "Next: check whether the file is damaged" in said
    with pytest.raises(ValueError, match=r"is no table: malloc of size.*Allowed: .*Next: "):
        reliac.cluster_edges(path)


def test_memory_that_runs_out_where_nobody_looked_is_told_in_three_parts(run, tmp_path, monkeypatch):
    def runs_out(*_, **__):
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr("reliac.cli.making.cluster", runs_out)
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    said = run("cluster", tmp_path / "t.csv", status=2).err
    assert "Memory ran out (Unable to allocate 9 TiB). Allowed: " in said
    assert "Next: cluster a sample" in said


# --- standard input ---


@pytest.mark.parametrize(
    "content",
    [b"x,y\n1,0\n0,1\n", b"x\ty\n1\t0\n0\t1\n", saved(np.save, np.eye(2)), saved(np.savez, X=np.eye(2))],
    ids=["csv", "tsv", "npy", "npz"],
)
def test_standard_input_is_recognised_by_its_first_bytes(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_table("-").numbers.tolist() == [[1, 0], [0, 1]]
