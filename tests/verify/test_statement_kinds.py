"""What an answer says of its sources: that they lack something, or disagree, or what follows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.core.answer import GeneratedAnswer
from ragstone.core.events import Checked
from ragstone.core.turn import Ask, Turn
from ragstone.engine.stage import Step
from ragstone.models.chat import ChatModel
from ragstone.models.multilingual import MultilingualE5
from ragstone.reader.local import LocalReader
from ragstone.settings import LlmSettings
from ragstone.verify.check import LACKING, Check, CheckHeld
from ragstone.verify.checker import ReadingChecker
from ragstone.verify.reading_judge import ReadingJudge, count_pieces
from tests.engine.adapters import ran
from tests.engine.samples import a_passage

READER = LocalReader()
CHECKER = ReadingChecker(READER)
JUDGE = ReadingJudge(READER, CHECKER, MultilingualE5())
CHAT = ChatModel(LlmSettings(model="some", base_url="http://127.0.0.1:9/v1"))
"""Never asked: what it said is given."""
BRIDGE = (
    "The bridge over the Rhine was built in 1890. It is 320 metres long. Lorries may not use it."
)
ASKED = "Who designed the bridge over the Rhine?"


async def check(
    text: str, question: str = ASKED, held: bool = False, passage: str = BRIDGE
) -> Step:
    answer = GeneratedAnswer(text, held=held)
    turn = Turn(Ask(question), question, passages=(a_passage(1, passage),), answer=answer)
    stage = CheckHeld() if held else Check()
    step, events = await ran(stage, turn, checker=CHECKER, judge=JUDGE, chat=CHAT)
    assert [event for event in events if isinstance(event, Checked)]
    return step


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(
    ("question", "text"),
    [
        (ASKED, "The sources do not say who designed it [1]."),
        (ASKED, "Unfortunately, I could not find the name of the designer in the documents."),
        ("Wer hat die Brücke entworfen?", "Das geht aus den Unterlagen leider nicht hervor [1]."),
        ("Qui a conçu le pont ?", "Les documents ne précisent pas qui a conçu le pont."),
        ("¿Quién diseñó el puente?", "Las fuentes no indican quién diseñó el puente [1]."),
        ("桥是谁设计的？", "参考资料中未找到相关信息。"),
        ("橋を設計したのは誰ですか？", "資料には設計者についての記載がありません。"),
    ],
)
async def test_a_refusal_in_own_words_is_a_refusal(question: str, text: str, held: bool) -> None:
    step = await check(text, question, held)
    answer = step.turn.answer
    assert answer is not None
    assert answer.refused
    assert not answer.citations
    assert answer.supported is None
    assert {verdict.label for verdict in step.turn.verdicts} == {"no_claim"}


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("May lorries use the bridge?", "Lorries may not use it [1]."),
        ("May lorries use the bridge?", "No, they may not [1]."),
        ("How long is the bridge?", "It is 320 metres long [1]."),
        (
            "When was the bridge built?",
            "The bridge was built in 1890 [1]. The sources name no month.",
        ),
    ],
)
async def test_an_answer_is_no_refusal(question: str, text: str) -> None:
    answer = (await check(text, question)).turn.answer
    assert answer is not None
    assert not answer.refused


@pytest.mark.parametrize(
    ("question", "text", "stated", "other"),
    [
        (
            "How many signatures does the form need?",
            "No number of signatures is given.",
            "The form gives no number of signatures. It has to be sent by post.",
            "The form has to be sent by post to the office in Leeds.",
        ),
        (
            "Qui a signé la lettre ?",
            "La lettre ne porte pas de signature.",
            "La lettre ne porte aucune signature, ce qui surprit le tribunal.",
            "Le tribunal siège à Lyon depuis 1820.",
        ),
        (
            "¿Cuántos testigos hubo?",
            "No se indica el número de testigos.",
            "El acta no indica el número de testigos.",
            "El acta se guarda en el archivo municipal.",
        ),
    ],
)
async def test_what_the_sources_say_is_no_refusal_however_it_sounds(
    question: str, text: str, stated: str, other: str
) -> None:
    found = [await check(text, question, passage=passage) for passage in (stated, other)]
    assert [step.turn.answer and step.turn.answer.refused for step in found] == [False, True]


async def test_what_the_sources_lack_is_no_claim_of_an_answer() -> None:
    step = await check("It was built in 1890 [1]. The documents do not mention who designed it.")
    first, second = step.turn.verdicts
    assert (first.label, second.label, second.reason) == ("supported", "no_claim", LACKING)
    assert step.turn.answer is not None
    assert step.turn.answer.is_grounded


async def test_own_knowledge_behind_a_refusal_stays_unsupported() -> None:
    text = "The documents do not mention who designed it. Gustave Eiffel designed it in Paris."
    step = await check(text)
    cheese = await check("It was built in 1890 [1]. The moon over it is a blue cheese of Norway.")
    assert cheese.turn.verdicts[1].label in ("unsupported", "contradicted")
    assert step.turn.answer is not None
    assert not step.turn.answer.refused
    assert step.turn.verdicts[1].label in ("unsupported", "contradicted")


@pytest.mark.parametrize(
    "text",
    [
        "Here is what the documents say about the bridge.",
        "Im Folgenden die wichtigsten Punkte.",
        "以下是主要内容。",
    ],
)
async def test_what_only_announces_what_follows_claims_nothing(text: str) -> None:
    step = await check(f"It was built in 1890 [1].\n\n{text}", "When was the bridge built?")

    assert [verdict.label for verdict in step.turn.verdicts] == ["supported", "no_claim"]


@pytest.mark.parametrize(
    ("other", "label"),
    [
        ("The bridge over the Rhine was built in 1930.", "supported"),
        ("The library of Basel lends skis in winter.", "unsupported"),
    ],
    ids=["two-years", "another-matter"],
)
async def test_that_sources_disagree_is_as_true_as_that_they_do(other: str, label: str) -> None:
    passages = (
        a_passage(1, "The bridge over the Rhine was built in 1910."),
        a_passage(2, other, document_id="d2"),
    )
    said = "The two sources contradict each other about the year [1][2]."
    turn = Turn(Ask("q"), "When was it built?", passages=passages, answer=GeneratedAnswer(said))

    step, _ = await ran(Check(), turn, checker=CHECKER, judge=JUDGE, chat=CHAT)

    assert [verdict.label for verdict in step.turn.verdicts] == [label]


@given(st.text(max_size=60))
@settings(max_examples=50)
def test_pieces_of_any_text_have_a_length_of_one_at_most(text: str) -> None:
    length = float((count_pieces(text) ** 2).sum())
    assert 0 <= length <= 1.0001
    assert (count_pieces(text.replace("1", "7")) == count_pieces(text)).all()
