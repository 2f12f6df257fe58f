"""Whether a chat model's answer is what was asked: question and answer are read together."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.core.answer import confidence_level
from ragstone.core.turn import Ask, Passage
from ragstone.models.multilingual import MultilingualE5
from ragstone.reader.local import LocalReader
from ragstone.verify.checker import ReadingChecker
from ragstone.verify.reading_judge import ReadingJudge
from tests.engine.samples import a_passage

READER = LocalReader()
JUDGE = ReadingJudge(READER, ReadingChecker(READER), MultilingualE5())
LEAVE = a_passage(
    1,
    "Parental leave is paid for 14 weeks. Ask the office for a form. The office is on floor 2.",
)
URLAUB = a_passage(
    1, "Der Urlaub beträgt 28 Tage im Jahr. Er wird im Büro im zweiten Stock beantragt."
)


@pytest.mark.parametrize(
    ("passage", "question", "right", "wrong"),
    [
        (
            LEAVE,
            "How long is parental leave paid?",
            ("Parental leave is paid for 14 weeks. [1]", "14 weeks [1]", "For 14 weeks."),
            ("REACHED the model. [1]", "The office is on floor 2. [1]", "I have read it. [1]", "7"),
        ),
        (
            URLAUB,
            "Wie viele Tage Urlaub gibt es?",
            ("Der Urlaub beträgt 28 Tage. [1]", "28 Tage [1]"),
            ("Das Modell wurde erreicht. [1]", "Der Stock ist der zweite. [1]"),
        ),
    ],
)
async def test_what_answers_is_likelier_than_what_does_not(
    passage: Passage, question: str, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    likely = {said: await JUDGE.answers(Ask(question), said, [passage]) for said in right + wrong}
    assert min(likely[said] for said in right) > max(likely[said] for said in wrong), likely
    assert all(confidence_level(likely[said]) != "low" for said in right), likely
    assert all(confidence_level(likely[said]) == "low" for said in wrong), likely


async def test_nothing_answers_without_documents() -> None:
    assert await JUDGE.answers(Ask("How long?"), "Long.", []) == 0.0


@given(st.text(max_size=60), st.text(max_size=900), st.text(max_size=200))
@settings(max_examples=20)
async def test_any_text_gives_a_probability(question: str, said: str, source: str) -> None:
    assert 0 <= await JUDGE.answers(Ask(question), said, [a_passage(1, source)]) <= 1
