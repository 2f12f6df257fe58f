"""The examples that the bundled English embedder compares with."""

import time

import pytest

from ragstone.models.minilm import MiniLm
from ragstone.understand.intent_examples import IntentClassifier, signs


@pytest.fixture(scope="module")
def classifier() -> IntentClassifier:
    return IntentClassifier(MiniLm())


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("would you be so kind as to say who programmed you", "about"),
        ("i am so very thankful for all of your assistance today", "thanks"),
        ("tell me which things you could assist me with", "help"),
        ("do you happen to know something that makes me laugh", "chat"),
    ],
)
async def test_given_small_talk_in_other_words_then_it_is_likely(
    classifier: IntentClassifier, said: str, kind: str
) -> None:
    found = await classifier.likeness(said)

    assert found.small_talk > 0.75
    assert found.kind == kind


@pytest.mark.parametrize(
    "asked",
    [
        "What is the name of the hunting lodge?",
        "Who made the decision to close the plant?",
        "What is your return policy?",
        "How old is the tower?",
        "Where do the goods come from?",
        "Does the narrator have a dog?",
        "who was the man in you're so vain",
        "What is the film Who Are You about?",
        "who plays the doctor in who are you",
        "hello can you tell me the boiling point of ethanol",
        "Huguenot",
        "Steam engine",
        "needed",
        "annual report",
        "",
        "?!",
        "x" * 5000,
    ],
)
async def test_given_a_question_about_documents_then_small_talk_is_unlikely(
    classifier: IntentClassifier, asked: str
) -> None:
    assert (await classifier.likeness(asked)).small_talk < 0.5


async def test_given_the_same_question_again_then_it_is_embedded_once() -> None:
    embedder = MiniLm()
    first = await embedder.embed_question("Who built the bridge?")

    await IntentClassifier(embedder).likeness("Who built the bridge?")

    assert await embedder.embed_question("Who built the bridge?") is first


async def test_given_many_questions_then_only_the_latest_are_kept() -> None:
    embedder = MiniLm()
    first = await embedder.embed_question("number 0")
    for number in range(1, 40):
        await embedder.embed_question(f"number {number}")

    assert await embedder.embed_question("number 0") is not first


def test_only_languages_that_the_embedder_speaks_are_known(classifier: IntentClassifier) -> None:
    assert classifier.knows("en")
    assert classifier.knows("")
    assert not classifier.knows("de")


def test_signs_lie_between_0_and_1_and_take_no_time() -> None:
    started = time.process_time()

    for text in ("", "you", "I have 3", "\ud800", "word " * 1000):
        assert 0 <= signs(text).min() <= signs(text).max() <= 1

    assert time.process_time() - started < 0.5
