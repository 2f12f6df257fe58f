"""Compound questions taken apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.understand.subquestions import coordination, keywords, subquestions


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
        (
            "How are you? Where is the W50 made? Who sells it?",
            ["Where is the W50 made?", "Where is the W50 made? Who sells it?"],
        ),
        ("Quanto costa il W50 e quando è uscito?", ["Quanto costa il W50?", "quando è uscito?"]),
        ("¿Cuánto cuesta y cuándo salió?", ["¿Cuánto cuesta?", "cuándo salió?"]),
        ("W50的价格是多少，电池容量是多大？", ["W50的价格是多少？", "电池容量是多大？"]),
        (
            "W50はいくらですか？発売日はいつですか？",
            ["W50はいくらですか？", "発売日はいつですか？"],
        ),
    ],
)
def test_given_a_compound_question_then_it_falls_into_its_parts(
    question: str, parts: list[str]
) -> None:
    assert subquestions(question) == parts


@pytest.mark.parametrize(
    "question",
    [
        "What are Python and Java used for?",
        "What is the W50, which was released in 2020?",
        "Can you help me? What is the notice period?",
        "Who is it?",
        "",
        "??",
        "Tell me about cats and dogs",
    ],
)
def test_given_one_question_then_it_is_not_taken_apart(question: str) -> None:
    assert subquestions(question) == []


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        (
            "How heavy are the W50 and the Tern 400?",
            "How heavy are the W50?",
            "How heavy are the Tern 400?",
        ),
        ("Who heads Surgery and Radiology?", "Who heads Surgery?", "Who heads Radiology?"),
        ("Wie laut sind Tern 200 und 300?", "Wie laut sind Tern 200?", "Wie laut sind Tern 300?"),
        (
            "Where are the exits of building A and building C?",
            "Where are the exits of building A?",
            "Where are the exits of building C?",
        ),
        ("How many doctors and nurses work?", "How many doctors work?", "How many nurses work?"),
    ],
)
def test_given_two_things_then_the_question_is_asked_of_each(
    question: str, first: str, second: str
) -> None:
    found = coordination(question)
    assert found
    assert found.questions == (first, second)


@pytest.mark.parametrize(
    "question",
    [
        "How much cash and cash equivalents are there?",
        "What happened between May and June?",
        "And what does it cost?",
        "What is it made of?",
        "and and and",
    ],
)
def test_given_one_thing_then_no_question_is_asked_of_two(question: str) -> None:
    assert coordination(question) is None


def test_given_a_question_then_its_key_words_stay_as_written() -> None:
    assert keywords("What is the refund policy of QX-4471-B?") == "refund policy QX-4471-B"


@given(st.text(alphabet="what and vs compare between or,?: aé和的区别", max_size=300))
def test_given_anything_then_there_are_none_or_2_to_4_parts(question: str) -> None:
    found = subquestions(question)
    assert len(found) in (0, 2, 3, 4)
    assert all(found)
    keywords(question)
    coordination(question)
