"""The bundled reader reads pairs as a person would, and says so where it cannot."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from ragstone.ports import Pair, PairReading
from ragstone.reader.local import LocalReader
from ragstone.reader.pairs import MAX_PIECES

pytestmark = pytest.mark.asyncio(loop_scope="module")

PUMP = (
    "The Falcon pump is built in Bergen and weighs 31 kg. "
    "The Heron pump is made by Aquanor AS and weighs 12 kg."
)
NOTICE = "During probation the notice period is 14 days. Afterwards it is three months."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader() -> AsyncIterator[LocalReader]:
    reader = LocalReader()
    yield reader
    await reader.aclose()


async def claimed(reader: LocalReader, claim: str, passage: str) -> PairReading:
    [found] = await reader.read([Pair(claim, passage)])
    return found


@pytest.mark.parametrize(
    ("passage", "true", "false"),
    [
        (NOTICE, "The notice period during probation is 14 days.",
         "The notice period during probation is 30 days."),
        (PUMP, "The Heron pump is made by Aquanor AS.", "The Heron pump is made by Bergen AS."),
        ("Die Sitzung beginnt am Montag um 9 Uhr.", "Die Sitzung beginnt am Montag.",
         "Die Sitzung beginnt am Freitag."),
        ("该博物馆成立于1952年，位于杭州。", "该博物馆成立于1952年。", "该博物馆成立于1925年。"),
        ("会議は東京で開かれた。", "会議は東京で開かれた。", "会議は東京で開かれなかった。"),
    ],
)  # fmt: skip
async def test_a_true_statement_is_better_supported_than_the_same_with_one_thing_changed(
    reader: LocalReader, passage: str, true: str, false: str
) -> None:
    right, wrong = await reader.read([Pair(true, passage), Pair(false, passage)])
    assert right.supported > 0.5 > wrong.supported


async def test_given_a_question_then_the_place_of_the_answer_is_found(reader: LocalReader) -> None:
    [found] = await reader.read([Pair("How heavy is the Falcon pump?", PUMP, question=True)])
    assert found.span is not None
    assert "31" in PUMP[slice(*found.span)]
    assert (found.supported, found.contradicted, found.not_said) == (0, 0, 0)


async def test_a_passage_that_answers_is_told_from_one_that_does_not(reader: LocalReader) -> None:
    question = "When was the bridge opened?"
    one, other = await reader.read(
        [
            Pair(question, "The bridge was opened in 1932 after nine years.", question=True),
            Pair(question, "The bridge has two towers of stone.", question=True),
        ]
    )
    assert one.answers > other.answers


async def test_given_a_long_passage_then_what_stands_deep_in_it_counts(reader: LocalReader) -> None:
    filler = "The committee met again in spring and spoke of the garden. " * 900
    passage = f"{filler}{NOTICE} {filler}"
    assert len(passage) > 100_000
    claim = "During probation the notice period is 14 days."
    assert (await claimed(reader, claim, passage)).supported > 0.5
    [asked] = await reader.read([Pair("How long is the notice period?", passage, question=True)])
    assert asked.span is not None
    assert "14 days" in passage[asked.span[0] - 40 : asked.span[1] + 40]


async def test_given_a_claim_with_a_false_sentence_then_the_whole_is_not_supported(
    reader: LocalReader,
) -> None:
    true = "During probation the notice period is 14 days. "
    filler = "The Heron pump was never sold to a customer in the north of Norway. "
    assert (await claimed(reader, true, NOTICE)).supported > 0.5
    assert (await claimed(reader, true + filler * 5, NOTICE)).supported < 0.5


async def test_given_a_claim_of_5000_characters_then_it_is_read_or_called_unreadable(
    reader: LocalReader,
) -> None:
    claim = "Nobody at the harbour has ever said a word about the colour of the boats. " * 70
    found = await claimed(reader, claim, NOTICE)
    assert len(claim) > 5000
    assert found.supported < 0.5
    longer = await claimed(reader, claim * MAX_PIECES, NOTICE)
    assert (longer.readable, longer.supported, longer.not_said) == (False, 0.0, 1.0)


async def test_given_a_script_it_does_not_know_then_nothing_is_supported(
    reader: LocalReader,
) -> None:
    cuneiform = "𒀀𒀁𒀂𒀃𒀄𒀅 𒀆𒀇𒀈𒀉"
    claim, asked, beside = await reader.read(
        [
            Pair(cuneiform, cuneiform),
            Pair(cuneiform, NOTICE, question=True),
            Pair("The notice period is 14 days.", cuneiform),
        ]
    )
    assert not any(
        item.readable or item.supported or item.answers for item in (claim, asked, beside)
    )


@pytest.mark.parametrize(("text", "passage"), [("", NOTICE), (" \n", NOTICE), ("A claim.", "")])
async def test_given_nothing_to_read_then_nothing_is_said(
    reader: LocalReader, text: str, passage: str
) -> None:
    claim, asked = await reader.read([Pair(text, passage), Pair(text, passage, question=True)])
    assert (claim.supported, claim.not_said) == (0.0, 1.0)
    assert (asked.answers, asked.span) == (0.0, None)


async def test_readings_do_not_depend_on_what_is_read_beside(reader: LocalReader) -> None:
    pairs = [Pair("The pump weighs 31 kg.", PUMP), Pair(NOTICE, NOTICE * 4),
             Pair("Who makes it?", PUMP, question=True)]  # fmt: skip
    together = await reader.read(pairs)
    alone = [item for pair in pairs for item in await reader.read([pair])]
    for one, other in zip(together, alone, strict=True):
        assert one.supported == pytest.approx(other.supported, abs=1e-3)
        assert one.answers == pytest.approx(other.answers, abs=1e-3)
        assert one.span == other.span


async def test_given_several_callers_at_once_then_each_gets_its_own(reader: LocalReader) -> None:
    found = await asyncio.gather(*(claimed(reader, NOTICE, NOTICE) for _ in range(5)))
    assert len({round(item.supported, 3) for item in found}) == 1
    assert await reader.read([]) == []


async def test_the_three_verdicts_add_up_to_one(reader: LocalReader) -> None:
    found = await claimed(reader, "The Falcon pump is made by Aquanor AS.", PUMP)
    assert found.supported + found.contradicted + found.not_said == pytest.approx(1)
