"""The extractive answerer, without token vectors: by words and places."""

import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.extractive.extractive import MAX_SENTENCES, Extractive
from ragstone.answer.extractive.units import LIST_ITEMS, MAX_SENTENCE_CHARS, AnswerUnit
from ragstone.answer.stream import AnswerStream
from ragstone.core.answer import Instructions
from ragstone.core.document import BlockKind, BlockSpan, encode_blocks
from ragstone.core.turn import Ask, Passage
from ragstone.language.markers import citation_numbers, neutralize_markers
from ragstone.ports import Said, Vectors
from tests.engine.samples import a_passage

MARKER = re.compile(r"\s*\[\d+\]")
NO_ANSWER = "The documents are silent."
TOLD = Instructions("Answer from the sources.", NO_ANSWER)


async def no_tokens(
    ask: Ask, passages: Sequence[Passage], units: Sequence[Sequence[AnswerUnit]]
) -> list[Vectors] | None:
    return None


async def answer(question: str, *passages: Passage, unlikely: float = 0.0) -> list[Said]:
    model = Extractive(no_tokens, refuse_unlikely=unlikely)
    async with aclosing(model.answer(Ask(question), passages, TOLD)) as stream:
        return [said async for said in stream]


async def answer_each(*questions: str) -> list[Said]:
    model = Extractive(no_tokens, refuse_unlikely=0.3)
    told = replace(TOLD, questions=questions)
    async with aclosing(model.answer(Ask(" ".join(questions)), [MILL, CAT], told)) as stream:
        return [said async for said in stream]


def text(pieces: list[Said]) -> str:
    return "".join(piece.text for piece in pieces)


MILL = a_passage(1, "The mill is old. The mill was built in 1871. It has four sails.")
CAT = a_passage(2, "Cats sleep a lot. A cat has four legs.", document_id="d2")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When was the mill built?", "The mill was built in 1871. [1]"),
        ("How many legs has a cat?", "A cat has four legs. [2]"),
    ],
)
async def test_given_passages_then_the_sentence_that_answers_is_first_with_its_source(
    question: str, expected: str
) -> None:
    pieces = await answer(question, MILL, CAT)
    assert text(pieces).startswith(expected)
    assert pieces[-1].finish == "stop"


@pytest.mark.parametrize(
    ("question", "passage", "expected"),
    [
        ("磨坊建于哪一年？", "磨坊很旧。磨坊建于1871年。它有四个翼。", "磨坊建于1871年。 [1]"),
        (
            "Wann wurde die Mühle gebaut?",
            "Die Mühle ist alt. Die Mühle wurde am 3. Mai 1871 gebaut.",
            "Die Mühle wurde am 3. Mai 1871 gebaut. [1]",
        ),
        (
            "Combien d'ailes a le moulin ?",
            "Le moulin est vieux. Le moulin a quatre ailes.",
            "Le moulin a quatre ailes. [1]",
        ),
        (
            "¿Quién construyó el molino?",
            "El molino es viejo. El molino fue construido por Juan Pérez.",
            "El molino fue construido por Juan Pérez. [1]",
        ),
        ("風車はいつ建てられましたか。", "風車は古い。風車は1871年に建てられた。", "風車は1871年"),
        ("풍차는 언제 지어졌습니까?", "풍차는 낡았다. 풍차는 1871년에 지어졌다.", "풍차는 1871년"),
    ],
)
async def test_questions_of_many_languages_are_answered(
    question: str, passage: str, expected: str
) -> None:
    assert text(await answer(question, a_passage(1, passage))).startswith(expected)


async def test_given_nothing_that_answers_then_it_refuses() -> None:
    [said] = await answer("Who painted the Mona Lisa?", MILL, CAT, unlikely=0.5)
    assert said.text == NO_ANSWER
    assert said.finish == "refused"
    assert (said.confidence or 0) < 0.5


async def test_what_is_in_the_documents_is_surer_than_what_is_not() -> None:
    known = await answer("When was the mill built?", MILL, CAT)
    unknown = await answer("Who painted the Mona Lisa?", MILL, CAT)
    assert (known[-1].confidence or 0) > (unknown[-1].confidence or 0)


async def test_given_two_questions_then_each_is_answered() -> None:
    pieces = await answer_each("When was the mill built?", "How many legs has a cat?")
    mill, cat = text(pieces).split("\n\n")
    assert mill.startswith("The mill was built in 1871. [1]")
    assert cat.startswith("A cat has four legs. [2]")
    assert pieces[-1].finish == "stop"


async def test_given_two_questions_one_without_an_answer_then_that_is_said() -> None:
    pieces = await answer_each("When was the mill built?", "Who painted the Mona Lisa?")
    mill, lisa = text(pieces).split("\n\n")
    assert mill.startswith("The mill was built in 1871. [1]")
    assert lisa == f"Who painted the Mona Lisa? {NO_ANSWER}"


async def test_given_two_questions_without_an_answer_then_it_refuses() -> None:
    [said] = await answer_each("Who painted the Mona Lisa?", "Who wrote Faust?")
    assert (said.text, said.finish) == (NO_ANSWER, "refused")


async def test_given_two_things_that_different_sentences_are_of_then_each_is_said() -> None:
    heads = a_passage(1, "Mira Okafor heads Surgery. Jan Petrov heads Radiology. Beds are blue.")
    said = text(await answer("Who heads Surgery and Radiology?", heads, unlikely=0.1))
    assert "Mira Okafor heads Surgery. [1]" in said
    assert "Jan Petrov heads Radiology. [1]" in said


async def test_given_no_passages_then_it_refuses() -> None:
    [said] = await answer("When was the mill built?")
    assert (said.text, said.finish, said.confidence) == (NO_ANSWER, "refused", 0.0)


async def test_given_markers_in_a_document_then_they_do_not_pose_as_citations() -> None:
    passage = a_passage(1, "The mill was built in 1871 [7] by monks 【8】.")
    pieces = await answer("When was the mill built?", passage)
    assert citation_numbers(text(pieces)) == [1]
    assert "(7)" in text(pieces)


async def test_given_a_line_without_end_then_only_its_part_is_said() -> None:
    passage = a_passage(1, "sails turn slowly " * 200 + "the mill was built in 1871 " * 3)
    first = (await answer("When was the mill built?", passage))[0]
    assert len(first.text) < MAX_SENTENCE_CHARS + 10
    assert "1871" in first.text


async def test_given_the_same_sentence_twice_then_it_is_said_once() -> None:
    twin = a_passage(2, MILL.text, document_id="d2")
    assert text(await answer("When was the mill built?", MILL, twin)).count("1871") == 1


async def test_a_numbered_title_or_half_a_sentence_is_no_answer_where_there_is_another() -> None:
    license = a_passage(
        1,
        "patent license to the Work, as far as it goes.\n\n3. Grant of Patent License.\n\n"
        "Each author grants you a perpetual patent license.",
    )
    said = text(await answer("Who grants a patent license?", license))
    assert said.startswith("Each author grants you a perpetual patent license. [1]")


async def test_a_heading_adds_nothing_and_a_bullet_is_not_said() -> None:
    readme = a_passage(1, "License\n\n- The mill is dual-licensed under BSD and GPL.\n\nLicense")
    assert text(await answer("Which license does the mill have?", readme)) == (
        "The mill is dual-licensed under BSD and GPL. [1]"
    )


async def test_a_sentence_that_leans_on_the_one_before_brings_it_along() -> None:
    passage = a_passage(1, "The mill stands on a hill. It was built in 1871 by monks. Cats sleep.")
    said = text(await answer("In which year was it built by monks?", passage))
    assert said.startswith("It was built in 1871 by monks. [1] ")
    assert "The mill stands on a hill. [1]" in said


async def test_a_list_is_said_whole_with_its_source_on_every_line() -> None:
    passage = a_passage(1, "Hours are short.\nDocuments needed for a visa:\n- passport\n- photo\n")
    said = text(await answer("Which documents are needed for a visa?", passage))
    assert said == "Documents needed for a visa: [1]\n- passport [1]\n- photo [1]"


async def test_a_row_is_said_with_its_header() -> None:
    passage = a_passage(1, "Name | Holidays\nAnn | 12\nBob | 30", kind="table")
    said = text(await answer("How many holidays has Bob?", passage))
    assert said.startswith("Name | Holidays [1]\nBob | 30 [1]")


async def test_a_question_of_the_documents_is_answered_with_what_follows_it() -> None:
    passage = a_passage(
        1,
        "Q: How do I return my goods?\nA: Send them back within 30 days. Use the form.\n"
        "Q: Do you ship my goods abroad?\nA: Yes, everywhere.",
        kind="faq",
    )
    said = text(await answer("How can I return my goods?", passage))
    assert said == "Send them back within 30 days. [1] Use the form. [1]"


async def test_a_heading_is_no_answer() -> None:
    passage = a_passage(1, "Opening hours of the museum\n\nThe museum has opening hours: 9 to 5.")
    said = text(await answer("What are the opening hours of the museum?", passage))
    assert said.startswith("The museum has")


@given(
    st.text(max_size=40),
    st.lists(st.text(alphabet="mil buto. 1871\n文。?|:-A[]", max_size=120), max_size=4),
)
async def test_whatever_is_said_stands_in_the_passage_that_it_cites(
    question: str, texts: list[str]
) -> None:
    passages = [a_passage(i, t, document_id=str(i)) for i, t in enumerate(texts, start=1)]
    pieces = await answer(question, *passages)
    assert pieces[-1].finish in ("stop", "refused")
    said = [piece.text for piece in pieces[:-1]]
    assert len(said) <= MAX_SENTENCES * (LIST_ITEMS + 1)
    for piece in said:
        [number] = citation_numbers(piece)
        source = " ".join(neutralize_markers(texts[number - 1]).split())
        assert MARKER.sub("", piece).strip() in source


@given(st.text(max_size=30), st.text(max_size=200))
async def test_any_input_gives_an_answer_or_a_refusal(question: str, passage: str) -> None:
    pieces = await answer(question, a_passage(1, passage))
    assert pieces[-1].finish in ("stop", "refused")
    assert 0 <= (pieces[-1].confidence or 0) <= 1


STEPS = "Patches are reviewed. They need some details. The following must be there:"


async def test_given_several_things_asked_then_the_list_behind_the_paragraph_is_said() -> None:
    listed = a_passage(1, f"{STEPS}\n\n- the problem\n- the effect\n- the test")
    said = text(await answer("Which details do patches need?", listed))
    assert all(f"- {item} [1]" in said for item in ("the problem", "the effect", "the test"))


SOLD = "Sales of pumps by region in 2024 are as follows:\n\n"
REGIONS = "| Region | 2023 | 2024 |\n| --- | --- | --- |\n| North | 31 | 42 |\n| Total | 70 | 88 |"


async def test_given_a_sentence_that_leads_in_a_table_then_its_rows_are_said() -> None:
    said = text(await answer("Sales of pumps by region in 2024", a_passage(1, SOLD + REGIONS)))
    assert said.startswith("Sales of pumps by region in 2024 are as follows: [1]")
    assert "North | 31 | 42" in said
    assert "Total | 70 | 88" in said


async def test_given_text_between_sentence_and_table_then_the_table_is_not_led_in() -> None:
    apart = a_passage(1, f"{SOLD}Boats are sold elsewhere.\n\n{REGIONS}")
    said = text(await answer("Sales of pumps by region in 2024", apart))
    assert "North | 31" not in said or "Total | 70" not in said


async def test_given_a_list_over_two_chunks_then_its_rest_is_said_too() -> None:
    first = f"{STEPS}\n\n- the problem\n- the effect"
    rest = "- the test\n- the risk\n\nNothing else is read."
    parts = [
        a_passage(1, first, start=0, chunk_index=0),
        a_passage(2, rest, start=len(first) + 1, chunk_index=1),
    ]
    said = text(await answer("Which details do patches need?", *parts))
    assert "- the effect [1]" in said
    assert "- the test [2]\n- the risk [2]" in said
    assert "Nothing" not in said


def a_glossary(*blocks: tuple[BlockKind, str, str]) -> Passage:
    """A passage of paragraphs and items, each with its kind, label and text."""
    spans, at = [], 0
    for kind, label, own in blocks:
        spans.append(BlockSpan(kind, at, at + len(own), label=label))
        at += len(own) + 2
    return a_passage(1, "\n\n".join(own for _, _, own in blocks), layout=encode_blocks(spans))


STATES: tuple[BlockKind, str, str] = (
    "paragraph",
    "",
    "A process is in one of the states below at any time.",
)


async def test_given_several_things_that_are_defined_then_each_definition_begins() -> None:
    passage = a_glossary(
        STATES,
        ("paragraph", "STOPPED", "STOPPED: The process was stopped. Or it never ran."),
        ("paragraph", "", "It can be started."),
        ("paragraph", "RUNNING", "RUNNING: The process runs."),
        ("paragraph", "", "The graph shows how they follow each other."),
    )
    said = text(await answer("Which states can a process be in?", passage))
    assert said.endswith("STOPPED: The process was stopped. [1]\nRUNNING: The process runs. [1]")


async def test_given_text_between_the_items_of_a_list_then_all_of_them_are_said() -> None:
    passage = a_glossary(
        STATES,
        ("item", "-", "- stopped"),
        ("paragraph", "", "Where it runs, there is one more."),
        ("item", "-", "- running"),
        ("heading", "", "Names of processes"),
        ("item", "-", "- alpha"),
    )
    said = text(await answer("Which states can a process be in?", passage))
    assert "- stopped [1]\n- running [1]" in said
    assert "alpha" not in said
    assert "one more" not in said


async def test_given_a_document_to_sum_up_then_its_sections_are_said_with_their_sources() -> None:
    model = Extractive(no_tokens)
    told = Instructions("Answer.", NO_ANSWER, sums_up=0.8)
    whole = a_passage(1, "# Mill\n\nThe mill is very old.\n\n## Sails\n\nIt has four long sails.")
    async with aclosing(model.answer(Ask("What is this about?"), [whole], told)) as stream:
        pieces = [said async for said in stream]
    assert (
        text(pieces) == "Mill [1]\nThe mill is very old. [1]\n- Sails: It has four long sails. [1]"
    )
    assert pieces[-1].confidence == 0.8


async def test_given_code_in_a_sentence_then_the_answer_has_it_as_it_stands() -> None:
    source = "The flag is old. Set `hl[14]  x` or write `<a href`, see [3]. It has four sails."
    pieces = text(await answer("What is set or written?", a_passage(1, source)))
    stream = AnswerStream([a_passage(1, source)])
    shown = "".join([stream.feed(pieces), stream.end()])
    assert "Set `hl[14]  x` or write `<a href`, see (3). [1]" in shown


async def test_given_a_sentence_twice_once_with_marks_of_code_then_it_is_said_once() -> None:
    one = a_passage(1, "While `unsafe` is near to `pip`, it exposes users to attacks.")
    two = a_passage(2, "While `unsafe` is near to pip, it exposes users to attacks.")
    pieces = text(await answer("What does unsafe expose users to?", one, two))
    assert pieces.count("exposes") == 1


async def test_what_a_workbook_hides_is_said_only_where_nothing_else_answers() -> None:
    rows = ["Zone: A; Fare: 2.40", "Zone: C (hidden); Fare: 4.70", "Zone: A; Fare: 9.90"]
    starts = [sum(len(row) + 1 for row in rows[:at]) for at in range(3)]
    blocks = [
        BlockSpan("table", start, start + len(row), label=label)
        for start, row, label in zip(starts, rows, ["", "", "Draft (hidden)"], strict=True)
    ]
    sheet = a_passage(1, "\n".join(rows), layout=encode_blocks(blocks))

    assert "9.90" not in text(await answer("What is the fare of zone A?", sheet))
    assert "4.70" in text(await answer("What is the fare of zone C?", sheet))
