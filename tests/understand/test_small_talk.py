import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.intent import SMALL_TALK_KINDS
from ragstone.understand.small_talk import match_small_talk, reply, without_opening

LANGUAGES = ("en", "de", "es", "fr", "zh", "ja", "ko")


@pytest.mark.parametrize(
    ("said", "kind", "language"),
    [
        ("hi", "greeting", "en"),
        ("Hello!! 👋", "greeting", "en"),
        ("Hey there, how are you?", "greeting", "en"),
        ("ok thanks", "thanks", "en"),
        ("Thanks, bye!", "goodbye", "en"),
        ("Hi! Who are you?", "about", "en"),
        ("What can you do?", "help", "en"),
        ("tell me a joke please", "chat", "en"),
        ("Danke, tschüss!", "goodbye", "de"),
        ("Wer bist du denn?", "about", "de"),
        ("¡Hola! ¿Qué tal?", "greeting", "es"),
        ("Merci beaucoup !", "thanks", "fr"),
        ("你好，请问你叫什么名字？", "about", "zh"),
        ("谢谢你啦！", "thanks", "zh"),
        ("ありがとうございます！", "thanks", "ja"),
        ("안녕하세요, 이름이 뭐예요?", "about", "ko"),
    ],
)
def test_an_utterance_of_nothing_but_small_talk_is_recognised(
    said: str, kind: str, language: str
) -> None:
    found = match_small_talk(said)

    assert found is not None
    assert (found.kind, found.language) == (kind, language)


@pytest.mark.parametrize(
    "asked",
    [
        "Hello world program: how do I compile it?",
        "What is the name of the hunting lodge?",
        "Hi! What is the refund policy?",
        "thank you letter template",
        "Who made the decision?",
        "How are you supposed to install the filter?",
        "What can you ship to Norway?",
        "goodbye lenin director",
        "Wer bist du, wenn du den Vertrag unterschreibst?",
        "你好这个词是什么意思",
        "no",
        "there",
        "",
        " ",
        "...",
        "🙂",
        "\ud83d",
    ],
)
def test_a_question_that_holds_such_words_is_none(asked: str) -> None:
    assert match_small_talk(asked) is None


def test_the_opening_of_a_question_is_left_out() -> None:
    assert without_opening("Hi there! What is the refund policy?") == "What is the refund policy?"
    assert without_opening("早上好！年假怎么申请？") == "年假怎么申请？"
    assert without_opening("Thanks. And in 2020?") == "And in 2020?"


def test_what_only_begins_like_small_talk_stays_whole() -> None:
    assert without_opening("Hello world: a history") == "Hello world: a history"
    assert without_opening("When, and where?") == "When, and where?"


def test_nothing_is_left_of_small_talk() -> None:
    assert without_opening("Hi, how are you?") == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_has_a_reply_in_every_language(language: str) -> None:
    replies = {reply(kind, language) for kind in SMALL_TALK_KINDS}

    assert len(replies) == len(SMALL_TALK_KINDS)
    assert language == "en" or not replies & {reply(kind, "en") for kind in SMALL_TALK_KINDS}


def test_a_language_without_replies_is_answered_in_english() -> None:
    assert reply("thanks", "fi") == reply("thanks", "en")


@given(st.text(alphabet=st.characters(), max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    match_small_talk(text)
    assert text.endswith(without_opening(text))


@pytest.mark.parametrize("text", ["hi " * 2000, "好" * 5000, "?" * 5000, "bye,bye;" * 700])
def test_long_texts_take_no_time(text: str) -> None:
    started = time.process_time()

    match_small_talk(text)
    without_opening(text)

    assert time.process_time() - started < 0.2
