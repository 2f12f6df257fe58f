"""What is said of the answers over the shipped examples: that they are enough, and what lacks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import ragstone

pytestmark = pytest.mark.slow

DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"


@pytest.fixture(scope="module")
def rag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ragstone.Client]:
    with ragstone.Client(tmp_path_factory.mktemp("examples") / "data") as client:
        client.ingest(DOCUMENTS)
        yield client


@pytest.mark.parametrize(
    "question",
    [
        "How long does a full battery charge last without sun?",
        "When did the council decide to launch Lantern 4?",
        "What was the revenue in 2024?",
        "How long is the warranty?",
        "How often must the barometer be calibrated?",
        "How many people work at Northmoor?",
    ],
)
def test_given_what_the_documents_say_then_they_are_enough(
    rag: ragstone.Client, question: str
) -> None:
    answer = rag.ask(question, cache=False)
    assert answer.sufficiency
    assert (answer.sufficiency.has_conflicts, answer.sufficiency.missing_aspects) == (False, ())
    assert answer.sufficiency.is_sufficient
    assert answer.supported
    assert answer.supported.holds
    assert answer.answers
    assert answer.answers.holds


@pytest.mark.parametrize(
    ("question", "said"),
    [("What does the heating jacket cost?", "89.00"), ("Who approves flights?", "department")],
)
def test_given_the_answer_in_a_record_or_in_other_words_then_it_is_given_and_called_unsure(
    rag: ragstone.Client, question: str, said: str
) -> None:
    answer = rag.ask(question, cache=False)
    assert said in answer.text
    assert answer.supported
    assert answer.supported.holds
    assert answer.answers
    assert 0.35 < answer.answers.confidence < 0.85
    assert answer.confidence_level != "high"
    assert answer.sufficiency
    assert (answer.sufficiency.has_conflicts, answer.sufficiency.missing_aspects) == (False, ())


@pytest.mark.parametrize(
    ("question", "lacks"),
    [
        ("Who won the chess world championship in 1972?", "chess world championship"),
        ("What was the revenue in 2021?", "2021"),
        ("What is the dividend?", "dividend"),
    ],
)
def test_given_what_they_do_not_say_then_that_is_named(
    rag: ragstone.Client, question: str, lacks: str
) -> None:
    answer = rag.ask(question, cache=False)
    assert answer.sufficiency
    assert not answer.sufficiency.is_sufficient
    assert lacks in answer.sufficiency.missing_aspects
    assert answer.confidence_level == "low"
