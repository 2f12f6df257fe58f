"""Each marker of an answer by itself: right, of another source, or of none."""

import asyncio
from collections.abc import Sequence

import pytest

from ragstone.answer.first_cited import by_first_citation
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.turn import Ask, Turn
from ragstone.engine.runner import Run
from ragstone.ports import Checker, Claim, EvidenceSource, Support
from ragstone.service import wire
from ragstone.verify.check import Check
from ragstone.verify.cite import Cite
from ragstone.verify.score import Score
from ragstone.verify.verdicts import remove_unsupported
from tests.engine.adapters import a_kit
from tests.engine.samples import a_passage
from tests.local_checker import local_checker

PASSAGES = (
    a_passage(1, "The bridge over the Rhine was built in 1890. It is 320 metres long.", page=1),
    a_passage(2, "Guests may cancel a booking within 90 days.", document_id="d2", page=4),
    a_passage(3, "The museum opens at nine and closes at five.", document_id="d3"),
    a_passage(4, "Die Stadtbibliothek öffnet um 9 Uhr.", document_id="d4"),
)
WRONG = "A booking may be cancelled by guests within 90 days [4]."


class Failing:
    """A checker that cannot read."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds

    async def support(
        self, claims: Sequence[Claim], sources: Sequence[EvidenceSource]
    ) -> list[Support]:
        await asyncio.sleep(self._seconds)
        raise RuntimeError("The reader is gone.")


async def check_answer(
    text: str, streams: bool = True, checker: Checker | None = None, timeout: float = 30.0
) -> Turn:
    """The turn after its markers are cited, checked and scored."""
    answer = GeneratedAnswer(text, confidence=0.97)
    turn = Turn(Ask("q", streams=streams), "q", passages=PASSAGES, answer=answer)

    async def ignore(event: object) -> None:
        pass

    kit = a_kit(checker=checker or local_checker())
    run = Run(turn, kit, ignore)
    await run.through([Cite(), Check(timeout=timeout), Score()])
    return run.turn


def answer_of(turn: Turn) -> GeneratedAnswer:
    assert turn.answer is not None
    return turn.answer


async def test_a_wrong_number_in_sent_text_is_reported_and_not_surely_supported() -> None:
    turn = await check_answer(WRONG)

    answer = answer_of(turn)
    assert answer.text == WRONG
    [marker] = answer.markers
    assert (marker.state, marker.number, marker.citation.number) == ("elsewhere", 4, 2)
    assert marker.citation.page == 4
    assert turn.verdicts[0].label == "partly"
    assert answer.supported is not None
    assert answer.supported.level != "high"
    assert answer.confidence_level != "high"
    start = WRONG.index("[4]")
    assert wire.statements(turn)["wrong_citations"] == [
        {"number": 4, "source": 2, "start": start, "end": start + 3}
    ]


async def test_a_wrong_number_in_text_that_is_not_sent_is_corrected() -> None:
    turn = await check_answer(f"{WRONG} It is 320 metres long [1].", streams=False)

    answer = answer_of(turn)
    assert answer.text == f"{WRONG.replace('[4]', '[2]')} It is 320 metres long [1]."
    assert [verdict.label for verdict in turn.verdicts] == ["supported", "supported"]
    assert {citation.number for citation in answer.citations} == {1, 2}
    assert all(answer.text[m.start : m.end] == f"[{m.number}]" for m in answer.markers)
    assert "wrong_citations" not in wire.statements(turn)


async def test_a_wrong_number_beside_the_right_one_is_left_out() -> None:
    text = "A booking may be cancelled by guests within 90 days [2][4]. It is 320 metres long [1]."
    turn = await check_answer(text, streams=False)

    answer = answer_of(turn)
    assert answer.text == text.replace("[4]", "")
    for verdict in turn.verdicts:
        assert answer.text[verdict.start : verdict.end].startswith(verdict.sentence[:10])


async def test_each_marker_of_a_sentence_is_judged_by_what_stands_before_it() -> None:
    text = (
        "The bridge over the Rhine was built in 1890 [1], "
        "and the museum opens at nine and closes at five [3]."
    )
    turn = await check_answer(text)

    assert [marker.state for marker in answer_of(turn).markers] == ["supported", "supported"]


async def test_what_no_source_says_is_unsupported_and_keeps_its_number() -> None:
    turn = await check_answer("Penguins breed on the southern islands [4].", streams=False)

    [marker] = answer_of(turn).markers
    assert (marker.state, marker.number) == ("unsupported", 4)


async def test_sentences_that_cite_one_source_have_each_their_own_words() -> None:
    turn = await check_answer(
        "It is 320 metres long [1]. The bridge over the Rhine was built in 1890 [1]."
    )

    snippets = [marker.citation.snippet for marker in answer_of(turn).markers]
    assert snippets == ["It is 320 metres long.", "The bridge over the Rhine was built in 1890."]


async def test_markers_keep_their_places_when_sources_are_renumbered() -> None:
    turn = by_first_citation(await check_answer(f"{WRONG} It is 320 metres long [1]."))

    answer = answer_of(turn)
    assert all(answer.text[m.start : m.end] == f"[{m.number}]" for m in answer.markers)
    assert len({passage.number for passage in turn.passages}) == len(turn.passages)


@pytest.mark.parametrize(
    ("seconds", "timeout"), [(0.0, 30.0), (5.0, 0.05)], ids=["breaks", "takes too long"]
)
async def test_an_answer_whose_check_failed_is_not_grounded_nor_sure(
    seconds: float, timeout: float
) -> None:
    text = "It is 320 metres long [1]."
    turn = await check_answer(text, checker=Failing(seconds), timeout=timeout)

    answer = answer_of(turn)
    assert (answer.is_grounded, answer.supported) == (None, None)
    assert answer.confidence_level == "medium"
    assert answer.check_failure
    assert wire.statements(turn)["check_failure"] == answer.check_failure


async def test_a_failed_check_keeps_what_the_words_tell_of_the_citations() -> None:
    turn = await check_answer("It is 320 metres long [1].", checker=Failing())

    [marker] = answer_of(turn).markers
    assert (marker.state, marker.citation.snippet) == ("unchecked", "It is 320 metres long.")


async def test_strict_answers_keep_the_places_of_markers() -> None:
    turn = await check_answer(f"Bananas are yellow fruits [1]. {WRONG}", streams=False)
    answer = answer_of(remove_unsupported(turn))
    assert answer.text.startswith("[…]")
    assert all(answer.text[m.start : m.end] == f"[{m.number}]" for m in answer.markers)
    assert [citation.number for citation in answer.citations] == [2]


class SaysGap:
    """A judge for whom every sentence says that the sources lack something."""

    async def kinds(self, question: str, sentences: Sequence[str], *given: object) -> list[str]:
        return ["gap" for _ in sentences]


@pytest.mark.parametrize("streams", [True, False], ids=["sent-already", "sent-at-the-end"])
async def test_a_refusal_in_words_of_its_own_that_is_not_sent_yet_has_no_markers(
    streams: bool,
) -> None:
    text = "No source names the architect [1][2]. Nor the painter. [3]"
    turn = Turn(Ask("q", streams=streams), "q", passages=PASSAGES, answer=GeneratedAnswer(text))
    kit = a_kit(checker=local_checker(), judge=SaysGap(), chat=object())

    async def ignore(event: object) -> None:
        pass

    run = Run(turn, kit, ignore)
    await run.through([Cite(), Check()])

    answer = answer_of(run.turn)
    assert (answer.refused, answer.markers) == (True, ())
    plain = "No source names the architect. Nor the painter."
    assert answer.text == (text if streams else plain)
    last = run.turn.verdicts[-1]
    assert answer.text[last.start : last.end].startswith("Nor the painter.")
