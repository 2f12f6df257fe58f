"""Replies that turn in a circle."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.models.reply import MAX_REPEATED, MIN_REPEATED, MIN_REPEATS, Repetition, repeats


def noticed_after(pieces: list[str]) -> int | None:
    """Characters read until the circle was noticed."""
    reader, read = Repetition(), 0
    for piece in pieces:
        read += len(piece)
        if reader.feed(piece):
            return read
    return None


@given(st.text(min_size=1, max_size=MAX_REPEATED), st.text(max_size=50), st.integers(1, 60))
def test_given_a_piece_said_for_ever_then_it_is_noticed_soon(
    piece: str, before: str, size: int
) -> None:
    text = before + piece * (max(MIN_REPEATED, len(piece)) * (MIN_REPEATS + 4) // len(piece) + 1)
    read = noticed_after([text[i : i + size] for i in range(0, len(text), size)])
    assert read is not None


@given(st.lists(st.text(max_size=30), max_size=30))
def test_given_any_text_then_it_never_raises(pieces: list[str]) -> None:
    noticed_after(pieces)


@pytest.mark.parametrize(
    "text",
    [
        "| --- " * 40 + "|\n",
        "=" * 300,
        json.dumps([{"name": f"row {i}", "value": i} for i in range(200)]),
        "\n".join(f"- Item {i} costs {i * 7} euros." for i in range(300)),
        "1 / 3 = 0." + "3" * 200,
        "No. " * 60,
    ],
)
def test_given_a_table_a_line_or_a_list_then_it_is_no_circle(text: str) -> None:
    assert noticed_after([text[i : i + 4] for i in range(0, len(text), 4)]) is None


def test_given_a_sentence_ten_times_then_it_is_a_circle() -> None:
    sentence = "The lighthouse of Ost was built in the year 1871. "
    assert repeats("In short: " + sentence * MIN_REPEATS)
    assert not repeats("In short: " + sentence * (MIN_REPEATS - 1))
