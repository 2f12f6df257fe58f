"""How likely an extractive answer is what was asked: another question than whether it is quoted."""

from contextlib import aclosing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.extractive.answering_likelihood import lacks_code, likelihood
from ragstone.answer.extractive.extractive import Extractive
from ragstone.answer.extractive.unit_ranking import RankedUnit, UnitReading
from ragstone.answer.extractive.units import AnswerUnit, units
from ragstone.core.answer import Instructions, confidence_level
from ragstone.core.document import BlockKind, BlockSpan
from ragstone.core.turn import Ask, Passage
from ragstone.ports import Said
from ragstone.reader.local import LocalReader
from tests.answer.extractive.test_extractive import no_tokens
from tests.engine.samples import a_passage

TOLD = Instructions("Answer from the sources.", "The documents are silent.")
REPORT = a_passage(
    1, "Revenue was 48.6 million euros in 2024. Goods were shipped to twelve countries."
)
LEAVE = a_passage(2, "Parental leave is paid for 14 weeks. Ask the office for a form.")


READER = LocalReader()


async def answered(question: str, *passages: Passage, unlikely: float = 0.0) -> Said:
    model = Extractive(no_tokens, refuse_unlikely=unlikely, reader=READER)
    async with aclosing(model.answer(Ask(question), passages, TOLD)) as stream:
        return [said async for said in stream][-1]


async def sure(question: str, *passages: Passage) -> float:
    return (await answered(question, *passages)).confidence or 0.0


@pytest.mark.parametrize(
    ("question", "near"),
    [
        ("What was the revenue in 2024?", "What was the revenue in 2021?"),
        ("How long is parental leave paid?", "Who approves parental leave of prisoners?"),
        (
            "To how many countries were goods shipped?",
            "Who is the chair of the board of Northmoor?",
        ),
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


async def test_given_the_faq_that_was_asked_then_it_is_likely() -> None:
    faq = a_passage(1, "Q: How do I reset the pump?\nA: Hold the red button for ten seconds.")
    assert confidence_level(await sure("How do I reset the pump?", faq)) == "high"


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


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("Where is the pump of Norwell made?", "Where is the pump of Zephyria made?"),
        ("Dove è prodotta la pompa di Norwell?", "Dove è prodotta la pompa di Zephyria?"),
    ],
)
async def test_given_a_name_that_no_passage_has_then_an_answer_is_less_likely(
    question: str, other: str
) -> None:
    pump = a_passage(1, "The pump of Norwell is made in Ost. La pompa di Norwell è prodotta a Ost.")
    assert await sure(other, pump) < await sure(question, pump) / 2


async def test_given_german_nouns_then_another_word_for_one_is_no_missing_name() -> None:
    office = a_passage(1, "Das Büro in Ost öffnet um neun Uhr.")
    assert await sure("Wann öffnet das Büro mit seinen Schaltern in Ost?", office) > 0.38


@pytest.mark.parametrize(
    ("question", "lacks"),
    [
        ("这座桥在第3季建成了吗？", False),
        ("ATtiny28的价格是多少？", True),
        ("2019년에 누가 이겼나요?", True),
        ("Wie groß ist Größe3?", True),
    ],
)
def test_letters_of_scripts_without_spaces_are_no_part_of_a_code(
    question: str, lacks: bool
) -> None:
    assert lacks_code(question, "桥建成了。") is lacks


@pytest.mark.parametrize(
    ("question", "lacks"),
    [
        ("How long is the hall in plan.dwg?", True),
        ("How long is the hall in PLAN-2.DWG?", True),
        ("How long is the hall in budget.txt?", False),
        ("How long is the hall, e.g. in St.John or on https://a.example/plan.dwg?", False),
    ],
)
def test_a_file_that_no_document_is_cannot_answer(question: str, lacks: bool) -> None:
    assert lacks_code(question, "/hall/budget.txt\nThe hall is 30 metres long.") is lacks


async def test_given_a_document_of_another_number_then_it_is_no_answer() -> None:
    nine = a_passage(1, "Pino supports Node.js 18, 20 and 22 for two years.")
    chunk = replace(nine.hit.chunk, title="Pino 9", path="/pino-9/lts.md")
    nine = replace(nine, hit=replace(nine.hit, chunk=chunk))
    asked = "Which Node.js versions does Pino {} support?"
    assert await sure(asked.format(10), nine) < 0.25 < await sure(asked.format(9), nine)


SURE_ENOUGH = 0.75


def told(question: str, text: str) -> float:
    """Tell how likely a text of one unit answers, if ranking and reader find it fairly likely."""
    passage = a_passage(1, text)
    kind: BlockKind = "table" if " | " in text else "paragraph"
    [unit] = units(text, [BlockSpan(kind, 0, len(text))])
    best = [RankedUnit(unit, passage, 0, 1.0, reading=UnitReading(0.5, placed=True))]
    return likelihood(question, text, best, [*best, *best], [passage], 0.6, True)


@pytest.mark.parametrize(
    ("question", "said", "amount"),
    [
        (
            "How heavy is the lantern of Ost?",
            "The lantern of Ost is heavy, as it is made of brass and glass.",
            "The lantern of Ost is heavy, as it weighs twelve kilos.",
        ),
        (
            "Hoe zwaar is de lantaarn van Oost?",
            "De lantaarn van Oost is zwaar, want hij is van messing.",
            "De lantaarn van Oost is zwaar, want hij weegt 12 kilo.",
        ),
        (
            "Сколько весит фонарь маяка?",
            "Фонарь маяка весит немало, так как сделан из латуни.",
            "Фонарь маяка весит немало: 12 килограммов.",
        ),
        ("灯塔的灯有多重？", "灯塔的灯很重，因为是黄铜做的。", "灯塔的灯很重，有12公斤。"),
    ],
)
def test_given_an_amount_that_is_asked_for_then_a_sentence_without_one_is_less_likely(
    question: str, said: str, amount: str
) -> None:
    assert told(question, said) < SURE_ENOUGH < told(question, amount)


@pytest.mark.parametrize(
    ("row", "question"),
    [
        (
            "Leave | Whoever is absent for longer than a week hands in a note",
            "What happens after a longer absence than one of a week?",
        ),
        (
            "Urlaub | Wer länger als eine Woche fehlt, reicht ein Zeugnis beim Büro ein",
            "Was geschieht, wenn jemand länger als eine Woche abwesend bleibt?",
        ),
    ],
)
def test_given_a_row_that_says_a_sentence_then_its_words_may_be_its_own(
    row: str, question: str
) -> None:
    short = f"{row.partition(' | ')[0]} | Box 4"
    assert told(question, short) < SURE_ENOUGH < told(question, row)


@pytest.mark.parametrize(
    ("row", "question"),
    [
        (
            "Ada | green | Ost | moored at the old quay by Ost | two masts | four berths, a stove",
            "Which tram stops near the theatre?",
        ),
        (
            "Ada | grün | Ost | liegt am alten Kai der Stadt | zwei Masten | vier Kojen, ein Ofen",
            "Welche Straßenbahn hält beim Theater?",
        ),
    ],
)
def test_given_a_record_of_many_fields_then_a_long_one_makes_it_no_sentence(
    row: str, question: str
) -> None:
    assert told(question, row) < SURE_ENOUGH / 3


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who wrote Tern {}?", "Ada wrote Tern 2, and Bo helped her."),
        ("¿Quién escribió Tern {}?", "Ada escribió Tern 2, y Bo la ayudó."),
        ("誰がTern {}を書きましたか？", "AdaがTern 2を書きました。"),
    ],
)
def test_given_a_thing_that_is_numbered_otherwise_then_it_is_another(
    question: str, text: str
) -> None:
    assert told(question.format(7), text) < SURE_ENOUGH < told(question.format(2), text)


async def test_given_what_the_reader_cannot_read_then_the_ranking_alone_tells() -> None:
    cuneiform = a_passage(1, "\U00012000\U00012001 1871. \U00012002\U00012003 1903.")
    assert 0 < await sure("\U00012000\U00012001?", cuneiform) < 1


def ranked_unit(score: float, passage: Passage, read: float | None) -> RankedUnit:
    reading = None if read is None else UnitReading(read, placed=True)
    return RankedUnit(AnswerUnit(0, 4, ()), passage, 0, score, reading=reading)


@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=4),
    st.none() | st.floats(-5, 5),
    st.booleans(),
    st.sampled_from(["Who?", "谁是市长？", "", "memory_limit"]),
)
def test_any_ranking_gives_a_probability(
    scores: list[float], read: float | None, shares_words: bool, question: str
) -> None:
    best = [ranked_unit(score, a_passage(i, "text"), read) for i, score in enumerate(scores, 1)]
    passages = [unit.passage for unit in best]
    assert 0 <= likelihood(question, "text", best[:1], best, passages, 0.5, shares_words) <= 1


@given(st.floats(-5, 5), st.floats(0.01, 5))
def test_the_surer_the_reader_the_likelier_the_answer(read: float, more: float) -> None:
    passage = a_passage(1, "text")
    less, likelier = (
        likelihood("Who?", "text", [unit], [unit], [passage], 0.5, True)
        for unit in (ranked_unit(0.0, passage, odds) for odds in (read, read + more))
    )
    assert less < likelier
