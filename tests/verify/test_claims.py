"""The sentences of an answer, and which of them claim something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.verify.claims import answer_sentences, strip_layout


@pytest.mark.parametrize(
    "text",
    [
        "Hello!",
        "According to the sources:",
        "Here is a concise summary of the passage:",
        "## Opening hours",
        "**Opening hours**",
        "What else would you like to know?",
        "I hope this helps!",
        "你好！",
        "以下是答案：",
        "[1]",
        "👍",
        "...",
        "",
    ],
)
def test_given_no_statement_then_nothing_is_claimed(text: str) -> None:
    assert not any(sentence.claims for sentence in answer_sentences(text))


@pytest.mark.parametrize(
    "text",
    [
        "Othello was written by Shakespeare.",
        "There is a lake behind the house.",
        "Paris is the capital of France [1].",
        "Die Brücke wurde 1890 gebaut.",
        "Le pont est ouvert.",
        "El puente está abierto.",
        "巴黎是法国的首都[1]。",
        "パリはフランスの首都です。",
        "파리는 프랑스의 수도입니다.",
        "- The office opens at nine.",
        "Thank you notes were sent to each of the twelve hundred guests who came to the opening.",
    ],
)
def test_given_a_statement_then_it_is_a_claim(text: str) -> None:
    assert [sentence.claims for sentence in answer_sentences(text)] == [True]


@pytest.mark.parametrize(
    ("shown", "claimed"),
    [
        ("1. **Paris** is the capital [1].", "Paris is the capital."),
        ("The passage says that the bridge is open [2].", "the bridge is open."),
        ("According to the document, the bridge is open.", "the bridge is open."),
        ("Laut dem Dokument, die Brücke ist offen.", "die Brücke ist offen."),
        ("根据文档，大桥已开放。", "大桥已开放。"),
        ("snake_case_name is a variable", "snake_case_name is a variable"),
    ],
)
def test_given_layout_or_a_frame_then_it_is_no_part_of_the_claim(shown: str, claimed: str) -> None:
    assert strip_layout(shown) == claimed


def test_given_markers_then_each_sentence_has_its_sources() -> None:
    found = answer_sentences("Paris is big [1, 2]. Rome is old.[3] Bonn is small.")
    assert [item.cited for item in found] == [(1, 2), (3,), ()]


@given(st.text(max_size=400))
def test_any_answer_is_cut_into_sentences_inside_it(text: str) -> None:
    end = 0
    for sentence in answer_sentences(text):
        assert end <= sentence.start <= sentence.end <= len(text)
        end = sentence.end
