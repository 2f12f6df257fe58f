"""How likely an extractive answer is what was asked: another question than whether it is quoted."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.extractive.answering_evidence import (
    CLOSE_NAMES,
    NAMES,
    READ_NAMES,
    UNFITTED_NAMES,
)
from ragstone.answer.extractive.answering_likelihood import OTHER_THING, likelihood
from ragstone.answer.extractive.extractive import Extractive
from ragstone.core.answer import Instructions, confidence_level, log_odds
from ragstone.core.turn import Ask, Passage
from ragstone.ports import Said
from tests.answer.extractive.test_extractive import no_tokens
from tests.engine.samples import a_passage

TOLD = Instructions("Answer from the sources.", "The documents are silent.")
REPORT = a_passage(
    1, "Revenue was 48.6 million euros in 2024. Goods were shipped to twelve countries."
)
LEAVE = a_passage(2, "Parental leave is paid for 14 weeks. Ask the office for a form.")


async def answered(question: str, *passages: Passage, unlikely: float = 0.0) -> Said:
    model = Extractive(no_tokens, 0.0, refuse_unlikely=unlikely)
    async with aclosing(model.answer(Ask(question), passages, TOLD)) as stream:
        return [said async for said in stream][-1]


async def sure(question: str, *passages: Passage) -> float:
    return (await answered(question, *passages)).confidence or 0.0


@pytest.mark.parametrize(
    ("question", "near"),
    [
        ("What was the revenue in 2024?", "What was the revenue in 2021?"),
        ("How long is parental leave paid?", "Who approves parental leave of prisoners?"),
        ("To how many countries were goods shipped?", "How many ships has the fleet of Norway?"),
    ],
)
async def test_given_a_near_question_without_an_answer_then_the_quotation_is_less_likely(
    question: str, near: str
) -> None:
    known, unknown = await sure(question, REPORT, LEAVE), await sure(near, REPORT, LEAVE)
    assert unknown < known
    assert confidence_level(unknown) == "low"


async def test_given_a_question_that_nothing_answers_then_a_quotation_is_not_sure() -> None:
    assert await sure("Who is the chair of the board of Northmoor?", REPORT, LEAVE) < 0.5


async def test_given_an_unlikely_answer_then_it_is_refused() -> None:
    said = await answered("What was the revenue in 2021?", REPORT, LEAVE, unlikely=0.5)
    assert (said.finish, said.text) == ("refused", TOLD.no_answer)


async def test_given_what_another_said_then_it_is_judged_by_the_passages_it_cites() -> None:
    model = Extractive(no_tokens, 0.0)
    ask = Ask("How long is parental leave paid?")
    right = await model.answers(ask, "Parental leave is paid for 14 weeks. [2]", [LEAVE])
    wrong = await model.answers(ask, "It shipped goods to twelve countries. [1]", [REPORT])
    assert wrong < right
    assert await model.answers(ask, "It is paid.", []) == 0.0


async def test_given_the_faq_that_was_asked_then_it_is_likely() -> None:
    faq = a_passage(1, "Q: How do I reset the pump?\nA: Hold the red button for ten seconds.")
    assert confidence_level(await sure("How do I reset the pump?", faq)) == "high"


@pytest.mark.parametrize(
    ("question", "across", "added"),
    [
        ("How do I install it with Homebrew?", False, OTHER_THING),
        ("How do I install it with Homebrew?", True, 0.0),
        ("Wie richte ich auf dem Server die Pumpe ein?", False, 0.0),
    ],
)
def test_a_way_that_lacks_a_name_of_the_question_is_one_with_another_thing(
    question: str, across: bool, added: float
) -> None:
    lacks = dict.fromkeys((*NAMES, *UNFITTED_NAMES, *CLOSE_NAMES), 0.5)
    way, fact = (likelihood(question, lacks, across, how_to) for how_to in (True, False))
    assert log_odds(way, 0.0) - log_odds(fact, 0.0) == pytest.approx(added)
    has = {**lacks, "names_missing": 0.0}
    assert likelihood(question, has, across, True) == likelihood(question, has, across)


def test_what_shows_code_is_judged_half_without_the_reader() -> None:
    evidence = {**dict.fromkeys((*NAMES, *UNFITTED_NAMES, *CLOSE_NAMES), 0.5), "names_missing": 0.0}
    doubted = {**evidence, **dict.fromkeys(READ_NAMES, -3.0)}
    read, shown = likelihood("How?", doubted, False), likelihood("How?", doubted, False, True, True)
    bare = likelihood("How?", evidence, False)
    middle = (log_odds(read, 0.0) + log_odds(bare, 0.0)) / 2
    assert log_odds(shown, 0.0) == pytest.approx(middle)


HEADS = a_passage(
    1,
    "| Department | Head |\n| --- | --- |\n| Surgery | Dr Sands |\n| Laboratory | Dele Akintola |",
)


async def test_given_a_row_that_is_asked_for_and_in_no_table_then_the_others_are_no_answer() -> (
    None
):
    known = await sure("Who is the head of the surgery department?", HEADS)
    unknown = await sure("Who is the head of the cardiology department?", HEADS)
    assert confidence_level(known) != "low"
    assert unknown < 0.25


async def test_given_a_code_that_no_passage_has_then_another_is_no_answer() -> None:
    cards = a_passage(1, "The routing card RC008T supports the ATtiny15.")
    known = await sure("Which routing card supports the ATtiny15?", cards)
    unknown = await sure("Which routing card supports the ATtiny28?", cards)
    assert unknown < 0.25 < known
    spelt = a_passage(1, "The player is an MP3 player of 1999. It is sold in Ost.")
    assert await sure("Where is the MP3-player sold?", spelt) > 0.25


async def test_given_a_document_of_another_number_then_it_is_no_answer() -> None:
    nine = a_passage(1, "Pino supports Node.js 18, 20 and 22 for two years.")
    chunk = replace(nine.hit.chunk, title="Pino 9", path="/pino-9/lts.md")
    nine = replace(nine, hit=replace(nine.hit, chunk=chunk))
    asked = "Which Node.js versions does Pino {} support?"
    assert await sure(asked.format(10), nine) < 0.25 < await sure(asked.format(9), nine)


@given(
    st.sampled_from([NAMES, (*NAMES, *CLOSE_NAMES), (*NAMES, *READ_NAMES)]),
    st.data(),
    st.booleans(),
    st.sampled_from(["Who?", "谁是市长？", ""]),
)
def test_any_evidence_gives_a_probability(
    names: Sequence[str], data: st.DataObject, across: bool, question: str
) -> None:
    found = {name: data.draw(st.floats(-10, 10)) for name in names}
    found |= dict.fromkeys(UNFITTED_NAMES, 0.5)
    found |= dict.fromkeys(CLOSE_NAMES, 0.5) if across else {}
    assert 0 <= likelihood(question, found, across) <= 1
