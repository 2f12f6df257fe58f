"""Follow-ups as questions of their own."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.models.minilm import MiniLm
from ragstone.understand.follow_up import Exchange, FollowUp, standalone
from tests.hashing import HashingEmbedder

ZAPPA = [Exchange("Who is Frank Zappa?", "Frank Zappa was an American musician.")]


async def after(question: str, follow_up: str) -> str:
    return (await standalone(follow_up, [Exchange(question)], MiniLm())).text


@pytest.mark.parametrize(
    ("question", "follow_up"),
    [
        ("Who is Frank Zappa?", "When was he born?"),
        ("Wer ist Albert Einstein?", "Wann wurde er geboren?"),
        ("¿Quién es Pablo Picasso?", "¿Cuándo nació?"),
        ("李白是谁？", "他什么时候出生？"),
        ("이순신은 누구인가요?", "그는 언제 태어났나요?"),
        ("Did the company raise prices?", "Why?"),
        ("How do I install it?", "And on Windows?"),
    ],
)
@pytest.mark.conforms("chat-core", "4.2", '"Who is he?" becomes a question of its own')
async def test_given_what_points_back_then_it_is_read_with_what_it_points_to(
    question: str, follow_up: str
) -> None:
    found = await standalone(follow_up, [Exchange(question)], MiniLm())

    assert found.text == f"{follow_up.removeprefix('And ')} {question}"
    assert found.context == question
    assert not found.whole


@pytest.mark.parametrize(
    ("question", "follow_up", "whole"),
    [
        ("Who won the cup in 2018?", "And in 2019?", "Who won the cup in 2019?"),
        ("What is the capital of France?", "How about Spain?", "What is the capital of Spain?"),
        (
            "How many weeks does the vote last under version 1.9 of the rules?",
            "And under version 1.3?",
            "How many weeks does the vote last under version 1.3 of the rules?",
        ),
        (
            "What does section 4.2.1 of the rules say?",
            "And section 5.1.12?",
            "What does section 5.1.12 of the rules say?",
        ),
        (
            "Was kostet ein Paket mit 1,5 Kilo?",
            "Und mit 12,5 Kilo?",
            "Was kostet ein Paket mit 12,5 Kilo?",
        ),
        ("Who heads Surgery?", "And Maternity?", "Who heads Maternity?"),
        ("Who is the head of Surgery?", "And of Maternity?", "Who is the head of Maternity?"),
        ("How heavy is the Tern 300?", "What about the 400?", "How heavy is the Tern 400?"),
        ("What does E14 mean?", "And E07?", "What does E07 mean?"),
        ("How many days after 5 years?", "And after 12?", "How many days after 12 years?"),
        ("What does a Gold card cost?", "and Silver ones?", "What does a Silver card cost?"),
        ("What does the sensor cost?", "And the shield?", "What does the shield cost?"),
        ("Are kosher meals served?", "And vegan meals?", "Are vegan meals served?"),
        (
            "What does a CT of the head cost?",
            "And of the abdomen?",
            "What does a CT of the abdomen cost?",
        ),
        ("Wie schwer ist der Tern 200?", "Und der 400?", "Wie schwer ist der Tern 400?"),
        ("Was kostet Zone A?", "Und Zone B?", "Was kostet Zone B?"),
    ],
)
async def test_given_a_part_of_a_question_then_it_takes_the_place_of_its_like(
    question: str, follow_up: str, whole: str
) -> None:
    assert await after(question, follow_up) == whole


@pytest.mark.parametrize(
    "question",
    [
        "Is it true that whales sing?",
        "How long does it take to charge?",
        "If a tenant leaves early, what must he pay?",
        "Who founded Apple, and when did it go public?",
        "Did Marie Curie love her husband?",
        "What happened to the band when they broke up?",
    ],
)
async def test_given_a_pronoun_of_the_question_itself_then_it_stays(question: str) -> None:
    assert await after("Who is Frank Zappa?", question) == question


@pytest.mark.parametrize("said", ["Thanks!", "ok thank you so much", "谢谢", "Hello", "Bye."])
async def test_given_politeness_only_then_nothing_is_made_of_it(said: str) -> None:
    assert await standalone(said, ZAPPA, MiniLm()) == FollowUp(said)


async def test_given_no_conversation_then_the_question_is_itself() -> None:
    assert await standalone("When was he born?", [], MiniLm()) == FollowUp("When was he born?")


async def test_given_several_follow_ups_then_the_last_whole_question_is_searched_too() -> None:
    before = [
        Exchange("What does a CT of the head cost?", "265 euros."),
        Exchange("And of the abdomen?", "310 euros."),
        Exchange("Thanks!", "You are welcome."),
    ]
    found = await standalone("And of the thorax?", before, MiniLm())
    assert found.text == "What does a CT of the thorax cost?"
    assert found.context == "What does a CT of the head cost? And of the abdomen?"


@pytest.mark.parametrize(
    "question",
    [
        "Who is the head of Maternity?",
        "How much does the heating jacket cost?",
        "What did Frank Zappa study?",
        "Is it allowed to bring dogs to work?",
        "What does code E07 mean?",
        "Welche Unterlagen braucht ein Student für die Wohnung?",
        "上海馆的开放时间是什么？",
    ],
)
async def test_given_a_question_by_itself_then_no_conversation_changes_it(question: str) -> None:
    assert await standalone(question, ZAPPA, MiniLm()) == FollowUp(question)


async def test_given_a_long_question_of_a_new_topic_then_it_is_searched_alone() -> None:
    question = "Which documents does a foreign student need for renting an apartment?"
    assert await standalone(question, ZAPPA, MiniLm()) == FollowUp(question)


ANY = st.text(max_size=300) | st.sampled_from(
    [
        "",
        " ",
        "?!",
        "😀😀",
        "it " * 400,
        "Why?",
        "And in 2019?",
        "\ud800 he",
        "他" * 200,
        "A" * 5000,
    ]
)


@settings(max_examples=150)
@given(ANY, st.lists(st.builds(Exchange, ANY, ANY), max_size=3))
async def test_given_anything_then_there_is_a_question_no_longer_than_what_was_said(
    question: str, before: list[Exchange]
) -> None:
    found = await standalone(question, before, HashingEmbedder())
    assert len(found.context) <= 600
    if question.strip():
        assert found.text.strip()
