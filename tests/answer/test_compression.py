"""Passages shortened to what matters for a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.assemble import compress_texts
from ragstone.language.tokens import count

PASSAGE = (
    "The island has two harbours. The lighthouse was built in 1871 by Ada Okafor. "
    "Fishing is the main trade. The lighthouse is 34 metres high. Winters are mild."
)


@pytest.mark.conforms("V5", "Future 1", "Context is compressed to a target ratio")
def test_given_a_question_then_the_sentences_that_speak_of_it_stay_in_order() -> None:
    [short] = compress_texts("Who built the lighthouse, and how high is it?", [PASSAGE], 0.6)
    assert short == (
        "The lighthouse was built in 1871 by Ada Okafor.\nThe lighthouse is 34 metres high."
    )


def test_given_neighbours_that_stay_then_they_stand_as_in_the_text() -> None:
    text = "塔は高い。1871年に建てられた。島は小さい。魚がいる。"
    assert compress_texts("塔は1871年に高いか", [text], 0.7) == ["塔は高い。1871年に建てられた。"]


def test_given_the_whole_ratio_or_one_sentence_then_nothing_changes() -> None:
    assert compress_texts("How high?", [PASSAGE], 1) == [PASSAGE]
    assert compress_texts("How high?", ["One long sentence alone"], 0.1) == [
        "One long sentence alone"
    ]


@given(
    st.lists(
        st.sampled_from(["A is b. ", "What? ", "Der Turm. ", "高い。", "x " * 30, "\n"]),
        max_size=12,
    ),
    st.floats(0.05, 1),
)
def test_given_any_text_then_what_stays_stands_in_it_and_is_no_longer(
    pieces: list[str], ratio: float
) -> None:
    text = "".join(pieces)
    [short] = compress_texts("What is the b?", [text], ratio)
    assert all(line in text for line in short.splitlines())
    assert count(short) <= count(text)
    assert bool(short.strip()) == bool(text.strip())
