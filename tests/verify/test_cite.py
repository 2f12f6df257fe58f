"""Citations of an answer, with the span that supports each."""

import pytest

from ragstone.core.answer import Citation, GeneratedAnswer
from ragstone.core.turn import Ask, Turn
from ragstone.verify.cite import Cite
from tests.engine.adapters import ran
from tests.engine.samples import a_passage

PASSAGES = (
    a_passage(1, "It rained. The shop opens at nine. It closes at five.", score=0.5),
    a_passage(2, "The museum is free on Sundays."),
)


async def cited(text: str, used: tuple[int, ...] = ()) -> tuple[Citation, ...]:
    turn = Turn(Ask("When?"), passages=PASSAGES, answer=GeneratedAnswer(text, used=used))
    step, _ = await ran(Cite(), turn)
    assert step.turn.answer
    return step.turn.answer.citations


async def test_given_a_marker_then_the_sentence_of_the_source_that_supports_it() -> None:
    [citation] = await cited("The shop opens at nine [1].")
    assert citation.snippet == "The shop opens at nine."
    assert PASSAGES[0].text[citation.start : citation.end] == citation.snippet


async def test_given_a_sentence_over_several_lines_then_it_is_the_span_and_no_shorter_one() -> None:
    text = "4. Opening Hours.\n\nThe opening hours of the shop\nare from nine to five."
    answer = GeneratedAnswer("The opening hours of the shop are from nine to five. [1]")
    turn = Turn(Ask("When?"), passages=(a_passage(1, text),), answer=answer)
    step, _ = await ran(Cite(), turn)
    [citation] = step.turn.answer.citations
    assert citation.snippet == "The opening hours of the shop\nare from nine to five."


async def test_given_a_source_that_is_only_said_to_be_used_then_it_is_cited_for_what_it_holds() -> (
    None
):
    [first, second] = await cited("The shop opens at nine [1]. Sundays are free.", used=(1, 2))
    assert (first.number, second.number) == (1, 2)
    assert second.snippet == "The museum is free on Sundays."


@pytest.mark.conforms(
    "RAG engine v1", "Citation tracker", "Confidence: .4 score, .4 similarity, .2 frequency"
)
async def test_given_a_quotation_cited_three_times_then_the_citation_is_as_sure_as_its_source() -> (
    None
):
    (once,) = await cited("The shop opens at nine. [1]")
    (often,) = await cited("The shop opens at nine. [1] It closes at five. [1] It rained. [1]")
    assert once.confidence == pytest.approx(0.4 * 0.5 + 0.4 + 0.2 / 3)
    assert often.confidence == pytest.approx(0.4 * 0.5 + 0.4 + 0.2)


async def test_given_a_claim_that_the_source_does_not_hold_then_the_citation_is_unsure() -> None:
    (right,) = await cited("The shop opens at nine. [1]")
    (wrong,) = await cited("Penguins inhabit Antarctica. [1]")
    assert wrong.similarity == 0
    assert wrong.confidence < right.confidence


async def test_given_a_source_cited_by_two_sentences_then_each_has_its_span() -> None:
    (one,) = await cited("It closes at five [1]. The shop opens at nine [1].")
    assert [span.snippet for span in one.spans] == ["The shop opens at nine.", "It closes at five."]
    assert all(PASSAGES[0].text[span.start : span.end] == span.snippet for span in one.spans)
    assert one.snippet in {span.snippet for span in one.spans}


async def test_given_two_sentences_for_one_place_then_it_is_one_span() -> None:
    (one,) = await cited("The shop opens at nine [1]. At nine the shop opens [1].")
    assert [span.snippet for span in one.spans] == ["The shop opens at nine."]


async def test_given_a_sentence_that_the_source_does_not_hold_then_it_adds_no_span() -> None:
    (one,) = await cited("The shop opens at nine [1]. Bicycles are rented out downstairs [1].")
    assert [span.snippet for span in one.spans] == ["The shop opens at nine."]


@pytest.mark.parametrize("streams", [True, False], ids=["sent-already", "sent-at-the-end"])
async def test_a_refusal_that_is_not_sent_yet_cites_nothing(streams: bool) -> None:
    answer = GeneratedAnswer("The documents hold no answer [1].", finish="refused")
    turn = Turn(Ask("When?", streams=streams), passages=PASSAGES, answer=answer)

    step, _ = await ran(Cite(), turn)

    assert step.turn.answer
    said = "The documents hold no answer [1]." if streams else "The documents hold no answer."
    assert step.turn.answer.text == said
