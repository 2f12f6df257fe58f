"""The order of the units, by a reader who sees where the question is answered."""

from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from ragstone.answer.extractive.extractive import Extractive
from ragstone.answer.extractive.unit_ranking import rank_units
from ragstone.answer.extractive.unit_reading import PARTS, read_units, whether
from ragstone.answer.extractive.units import units
from ragstone.core.answer import Instructions
from ragstone.core.turn import Ask, Passage
from ragstone.ports import Pair, PairReading
from ragstone.reader.local import LocalReader
from tests.answer.extractive.test_extractive import no_tokens
from tests.engine.samples import a_passage

pytestmark = pytest.mark.asyncio(loop_scope="module")

PUMPS = a_passage(
    1,
    "The Heron pump was tested by the institute before the company sold it. "
    "Aquanor AS of Bergen built it in 1998.",
)
LEAVE = a_passage(2, "Parental leave is paid for 14 weeks. Ask the office for a form.")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader() -> AsyncIterator[LocalReader]:
    reader = LocalReader()
    yield reader
    await reader.aclose()


class Scripted:
    """A reader that finds `answer`, and nothing in passages without it."""

    def __init__(self, answer: str) -> None:
        self.asked: list[Pair] = []
        self._answer = answer

    async def read(self, pairs: Sequence[Pair]) -> list[PairReading]:
        self.asked.extend(pairs)
        return [self._reading(pair.passage) for pair in pairs]

    def _reading(self, passage: str) -> PairReading:
        at = passage.find(self._answer)
        if at < 0:
            return PairReading(answers=0.02, span=(0, 3))
        return PairReading(answers=0.98, span=(at, at + len(self._answer)))

    async def aclose(self) -> None:
        """Nothing to free."""


async def test_given_the_answer_in_other_words_then_it_comes_before_what_repeats_the_question() -> (
    None
):
    question = "Which office gives the form for parental leave?"
    house = a_passage(3, "Room 12 is where Mrs Keller hands it out.")
    by_words = await Extractive(no_tokens).rank(Ask(question), [LEAVE, house])
    reader = Scripted("Room 12")
    read = await Extractive(no_tokens, reader=reader).rank(Ask(question), [LEAVE, house])
    assert by_words.best[0].passage is LEAVE
    first = read.best[0]
    assert (first.passage, first.reading and first.reading.placed) == (house, True)


async def test_given_a_row_of_a_long_table_then_it_is_read_with_its_header() -> None:
    lines = ["| City | Stores |", "| --- | --- |", *(f"| Town {n} | {n} |" for n in range(90))]
    table = a_passage(1, "\n".join(lines))
    found = [units(table.text, table.blocks)]
    best, _ = rank_units("How many stores has Town 77?", [table], found, None)
    reader = Scripted("Town 77")
    read = await read_units("How many stores has Town 77?", best, reader)
    assert best[0].unit.form == "row"
    assert reader.asked[0].passage.startswith(best[0].unit.context)
    assert "Stores" in best[0].unit.context
    assert read[0].reading is not None
    assert read[0].reading.placed


async def test_given_many_passages_then_only_the_best_parts_are_read() -> None:
    reader = Scripted("7 kg")
    passages = [a_passage(n, f"The pump {n} weighs {n} kg. " * 60) for n in range(1, 11)]
    found = [units(passage.text, passage.blocks) for passage in passages]
    best, _ = rank_units("How heavy is pump 7?", passages, found, None)
    read = await read_units("How heavy is pump 7?", best, reader)
    assert len(reader.asked) <= PARTS
    assert all(len(item.passage) < 1000 and item.question for item in reader.asked)
    assert {item.unit for item in read} == {item.unit for item in best}


@pytest.mark.parametrize("passages", [[], [PUMPS]])
async def test_given_a_question_that_cannot_be_read_then_the_order_stays(
    reader: LocalReader, passages: list[Passage]
) -> None:
    found = [units(passage.text, passage.blocks) for passage in passages]
    best, _ = rank_units("𒀀𒀁𒀂𒀃𒀄𒀅 𒀆𒀇𒀈𒀉", passages, found, None)
    assert await read_units("𒀀𒀁𒀂𒀃𒀄𒀅 𒀆𒀇𒀈𒀉", best, reader) == best


WARD = a_passage(
    4,
    "Visitors are welcome in the afternoon. Children under 12 may not enter intensive care. "
    "Flowers can be left at the reception.",
)


@pytest.mark.parametrize(
    ("question", "passage", "word"),
    [
        ("Can flowers be left at the reception?", WARD, "Yes."),
        ("Is parental leave paid for 14 weeks?", LEAVE, "Yes."),
    ],
)
async def test_given_a_question_for_yes_or_no_then_the_answer_begins_with_it(
    reader: LocalReader, question: str, passage: Passage, word: str
) -> None:
    answerer = Extractive(no_tokens, reader=reader)
    said = [
        item.text async for item in answerer.answer(Ask(question), [passage], Instructions("", ""))
    ]
    assert "".join(said).startswith(f"{word} ")


@pytest.mark.parametrize(
    "question",
    [
        "Is parental leave paid at night?",
        "Is parental leave paid for 12 weeks?",
        "How long is parental leave paid?",
    ],
)
async def test_given_what_the_passages_do_not_say_then_neither_yes_nor_no(
    reader: LocalReader, question: str
) -> None:
    answerer = Extractive(no_tokens, reader=reader)
    said = [
        item.text async for item in answerer.answer(Ask(question), [LEAVE], Instructions("", ""))
    ]
    assert not "".join(said).startswith("Yes")


@pytest.mark.parametrize(("answer", "least", "most"), [("Room 12", 0.9, 1.0), ("-", 0.0, 0.1)])
async def test_passages_that_share_no_word_are_read_before_they_are_taken_for_nothing(
    answer: str, least: float, most: float
) -> None:
    house = a_passage(3, "Room 12 is where Mrs Keller hands it out.")
    answerer = Extractive(no_tokens, reader=Scripted(answer))
    found = await answerer.likelihood(Ask("Quel bureau donne le formulaire ?"), [house])
    assert least <= found <= most


@pytest.mark.parametrize("text", ["- ☑ Export to CSV", "☐ Export to CSV", "* ☒ Export to CSV"])
async def test_a_box_is_no_yes_and_no_no(text: str) -> None:
    question = "Is export to CSV done?"
    tasks = a_passage(1, text)
    best, _ = rank_units(question, [tasks], [units(tasks.text, tasks.blocks)], None)

    assert await whether(question, best[0], Scripted("Export")) == ""
