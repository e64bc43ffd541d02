"""Messages: three parts that are kept apart, and options as the user would type them."""

from __future__ import annotations

import pickle

import pytest

import reliac
from reliac.errors import explain, option, options_written_by


def test_a_message_is_one_text_that_knows_its_three_parts():
    message = explain("x=3.", "1 or 2", "did you mean 2?")
    assert message == "x=3. Allowed: 1 or 2. Next: did you mean 2?"
    assert message.parts == ("x=3.", "1 or 2.", "did you mean 2?")


def test_an_error_from_another_process_still_knows_the_parts_of_its_message():
    error = pickle.loads(pickle.dumps(ValueError(explain("a", "b", "c"))))
    assert str(error) == "a. Allowed: b. Next: c."
    assert error.args[0].parts == ("a.", "b.", "c.")


def test_options_are_written_in_another_way_inside_a_block_only():
    def in_a_form(name, value):
        return f"the field {name} with {value}"

    with (
        pytest.raises(ValueError, match="the field alpha with 7") as inside,
        options_written_by(in_a_form),
    ):
        reliac.cluster([[0.0], [1.0]], alpha=7)
    assert "alpha=" not in str(inside.value)
    assert option("alpha", 7) == "alpha=7"
    assert option("metric", "cosine") == "metric='cosine'"
