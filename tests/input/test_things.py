"""Texts and other objects that are no numbers, compared by a function."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import reliac
from problems import GEOMETRIC, blobs

WORDS = ["kitten", "sitting", "mitten", "house", "mouse", "horse"]


def edit_distance(a, b):
    """How many letters must be put in, taken out or changed."""
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(row[-1] + 1, above[j] + 1, above[j - 1] + (x != y)))
        above = row
    return above[-1]


def square(items, metric):
    return [[metric(a, b) for b in items] for a in items]


@pytest.mark.parametrize(
    "words",
    [WORDS, tuple(WORDS), np.array(WORDS), np.array(WORDS, dtype=object), pd.Series(WORDS), pl.Series(WORDS)],
    ids=lambda words: type(words).__name__,
)
@pytest.mark.parametrize("criterion", ["single", "complete", "average", "weighted"])
def test_words_are_clustered_by_their_edit_distance(words, criterion):
    tree = reliac.cluster(words, criterion, metric=edit_distance)
    expected = reliac.cluster(square(WORDS, edit_distance), criterion, metric="precomputed")
    assert np.array_equal(tree.links, expected.links)
    assert tree.names.tolist() == WORDS
    assert tree.parameters["metric"] == "callable edit_distance"


def test_linkage_takes_words_too_and_still_takes_condensed_distances():
    condensed = [edit_distance(a, b) for i, a in enumerate(WORDS) for b in WORDS[i + 1 :]]
    assert np.array_equal(
        reliac.linkage(WORDS, "average", metric=edit_distance),
        reliac.linkage(condensed, "average", metric=edit_distance),
    )


@pytest.mark.parametrize(
    ("items", "metric"),
    [
        ([{1, 2}, {2, 3}, {7}, {7, 8}], lambda a, b: 1 - len(a & b) / len(a | b)),
        ([[1, 2, 3], [1, 2], [5]], lambda a, b: abs(len(a) - len(b))),
        ([("a", 3), ("b", 5), ("c", 9)], lambda a, b: abs(a[1] - b[1])),
        ([{"x": 1}, {"x": 5}, {"x": 6}], lambda a, b: abs(a["x"] - b["x"])),
        ([b"ab", b"abc", b"x"], lambda a, b: abs(len(a) - len(b))),
        ([1j, 2j, 5j], lambda a, b: abs(a - b)),
        (np.array([["u", "v"], ["u", "w"], ["x", "w"]]), lambda a, b: (a != b).sum()),
        (pd.DataFrame({"kind": list("uvu"), "size": [1, 2, 4]}), lambda a, b: (a[0] != b[0]) + abs(a[1] - b[1])),
        ([None, "a", "bc"], lambda a, b: abs(len(a or "") - len(b or ""))),
    ],
    ids=lambda value: str(value)[:20],
)
def test_objects_of_any_kind_are_passed_to_the_function_as_they_are(items, metric):
    rows = list(items.to_numpy()) if hasattr(items, "columns") else list(items)
    tree = reliac.cluster(items, "average", metric=metric)
    expected = reliac.cluster(np.array(square(rows, metric), dtype=float), "average", metric="precomputed")
    assert np.array_equal(tree.links, expected.links)


def test_tables_of_numbers_are_still_tables_of_numbers():
    seen = set()

    def metric(a, b):
        seen.add((type(a), a.dtype))
        return abs(a - b).sum()

    for rows in ([[1.0, 2.0], [3.0, 5.0]], [[Decimal(1), 2], [3, 5]], pd.DataFrame({"x": [1.0, 2.0]})):
        assert reliac.cluster(rows, "average", metric=metric).names is None
    assert seen == {(np.ndarray, np.dtype(float))}
    with pytest.raises(ValueError, match="NaN"):
        reliac.cluster([[1.0], [np.nan]], "average", metric=metric)


def test_the_names_of_a_frame_and_those_given_are_kept():
    frame = pd.DataFrame({"kind": ["u", "v"]}, index=["first", "second"])
    assert reliac.cluster(frame, "single", metric=lambda a, b: 1.0).names.tolist() == ["first", "second"]
    assert reliac.cluster(WORDS[:2], "single", metric=edit_distance, names=[1, 2]).names.tolist() == ["1", "2"]


def test_repeated_or_long_texts_are_no_names():
    for words in (["a", "a", "b"], ["a" * 1000, "b"]):
        assert reliac.cluster(words, "single", metric=edit_distance).names is None


def test_a_saved_tree_of_words_goes_on_with_the_words_and_the_function(tmp_path):
    reliac.cluster(WORDS, "average", metric=edit_distance, max_level=1).save(tmp_path / "t")
    grown = reliac.load(tmp_path / "t").develop(X=WORDS, metric=edit_distance)
    assert np.array_equal(grown.links, reliac.cluster(WORDS, "average", metric=edit_distance).links)
    with pytest.raises(ValueError, match="other values"):
        reliac.load(tmp_path / "t").develop(X=[*WORDS[:-1], "elephant"], metric=edit_distance)


@pytest.mark.parametrize("engine", ["literal", "dense", "matrix", "spanning"])
def test_every_engine_that_takes_distances_takes_words(engine):
    criterion = "single" if engine == "spanning" else "average"
    words = [word + tail for word in WORDS for tail in ("", "s", "ly", "ness")]
    found = reliac.cluster(words, criterion, metric=edit_distance, engine=engine)
    assert np.array_equal(found.links, reliac.cluster(words, criterion, metric=edit_distance, engine="literal").links)


@pytest.mark.parametrize("criterion", GEOMETRIC)
def test_criteria_that_speak_of_points_refuse_words(criterion):
    with pytest.raises(ValueError, match=r"compares points in space.*Allowed: .*Next: "):
        reliac.cluster(WORDS, criterion, metric=edit_distance)


@pytest.mark.parametrize(
    ("words", "metric", "told"),
    [
        ([], edit_distance, "while a minimum of 1 is required|Expected 2D"),
        ("kitten", edit_distance, "X is one text, .kitten."),
        ({"a": 1}, edit_distance, "of type dict"),
        (WORDS, lambda a, b: 1 / 0, "fails for rows 0 and 1"),
        (WORDS, lambda a, b: -1.0, "gives -1.0 for rows 0 and 1"),
        (WORDS, "euclidean", "X holds texts"),
        (WORDS, "precomputed", "X holds texts"),
    ],
)
def test_what_cannot_be_compared_is_told_in_three_parts(words, metric, told):
    with pytest.raises((TypeError, ValueError), match=rf"(?s)({told}).*Allowed: .*Next: "):
        reliac.cluster(words, "average", metric=metric)


def test_more_words_than_have_room_are_refused_before_the_first_comparison(monkeypatch):
    monkeypatch.setattr("reliac.machine.free_memory", lambda: 100)
    with pytest.raises(MemoryError, match=r"(?s)distances of 6 objects needs about.*Next: compare a sample"):
        reliac.cluster(WORDS, "average", metric=lambda a, b: pytest.fail("compared"))


def test_numbers_in_vectors_keep_their_engines():
    assert reliac.cluster(blobs(0, n=9), "average", metric=lambda a, b: abs(a - b).sum()).n_clusters == 1
