"""Compound questions taken apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.understand.rewrite import keywords, subquestions


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "Who founded Apple and when did it go public?",
            ["Who founded Apple?", "Who founded Apple? when did it go public?"],
        ),
        ("What is RAG? How does it work?", ["What is RAG?", "What is RAG? How does it work?"]),
        (
            "Compare the revenue of Apple and Microsoft in 2020",
            ["revenue of Apple in 2020", "revenue of Microsoft in 2020"],
        ),
        ("What is the difference between Market Cap and NAV?", ["Market Cap", "NAV"]),
        ("Which is faster: Redis or Postgres?", ["Redis faster", "Postgres faster"]),
        ("Redis vs. Postgres", ["Redis", "Postgres"]),
        ("支付宝和微信的区别是什么？", ["支付宝", "微信"]),
        (
            "Was ist BM25 und wie funktioniert es?",
            ["Was ist BM25?", "Was ist BM25? wie funktioniert es?"],
        ),
    ],
)
def test_given_a_compound_question_then_it_falls_into_its_parts(
    question: str, parts: list[str]
) -> None:
    assert subquestions(question) == parts


@pytest.mark.parametrize(
    "question",
    ["What are Python and Java used for?", "Who is it?", "", "??", "Tell me about cats and dogs"],
)
def test_given_one_question_then_it_is_not_taken_apart(question: str) -> None:
    assert subquestions(question) == []


def test_given_a_question_then_its_key_words_stay_as_written() -> None:
    assert keywords("What is the refund policy of QX-4471-B?") == "refund policy QX-4471-B"


@given(st.text(alphabet="what and vs compare between or,?: aé和的区别", max_size=300))
def test_given_anything_then_there_are_none_or_2_to_4_parts(question: str) -> None:
    found = subquestions(question)
    assert len(found) in (0, 2, 3, 4)
    assert all(found)
    keywords(question)
