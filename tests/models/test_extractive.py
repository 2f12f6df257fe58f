"""The extractive answerer, with word overlap standing in for meaning."""

from collections.abc import Sequence
from contextlib import aclosing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ragstone.models.extractive import LONGEST, Extractive
from ragstone.ports import Said
from ragstone.text.markers import numbers
from ragstone.text.words import content_words
from ragstone.turn import Ask, Instructions, Passage
from tests.stages.samples import a_passage

NO_ANSWER = "The documents are silent."
TOLD = Instructions("Answer from the sources.", NO_ANSWER)


async def overlap(ask: Ask, texts: Sequence[str]) -> NDArray[np.float32]:
    asked = set(content_words(ask.question))
    shares = [len(asked & set(content_words(text))) / max(1, len(asked)) for text in texts]
    return np.array(shares, np.float32)


async def answer(question: str, *passages: Passage, refuse_below: float = 0.5) -> list[Said]:
    model = Extractive(overlap, refuse_below)
    async with aclosing(model.answer(Ask(question), passages, TOLD)) as stream:
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
    assert (pieces[-1].confidence or 0) > 0.5


async def test_given_nothing_that_answers_then_it_refuses() -> None:
    [said] = await answer("Who painted the Mona Lisa?", MILL, CAT)
    assert said.text == NO_ANSWER
    assert said.finish == "refused"
    assert (said.confidence or 0) < 0.5


async def test_given_no_passages_then_it_refuses() -> None:
    [said] = await answer("When was the mill built?")
    assert (said.text, said.finish, said.confidence) == (NO_ANSWER, "refused", 0.0)


async def test_given_markers_in_a_document_then_they_do_not_pose_as_citations() -> None:
    passage = a_passage(1, "The mill was built in 1871 [7] by monks 【8】.")
    pieces = await answer("When was the mill built?", passage)
    assert numbers(text(pieces)) == [1]
    assert "(7)" in text(pieces)


async def test_given_a_table_row_without_end_then_it_is_cut_between_words() -> None:
    passage = a_passage(1, "mill built 1871 " * 200)
    [piece, _] = await answer("When was the mill built?", passage)
    assert len(piece.text) < LONGEST + 10
    assert "…" in piece.text


async def test_given_the_same_sentence_twice_then_it_is_said_once() -> None:
    twin = a_passage(2, MILL.text, document_id="d2")
    assert text(await answer("When was the mill built?", MILL, twin)).count("1871") == 1


@given(
    st.text(max_size=40),
    st.lists(st.text(alphabet="mil buto. 1871\n文。", max_size=120), max_size=4),
)
async def test_any_input_gives_an_answer_from_the_passages_or_a_refusal(
    question: str, texts: list[str]
) -> None:
    passages = [a_passage(i, t, document_id=str(i)) for i, t in enumerate(texts, start=1)]
    pieces = await answer(question, *passages, refuse_below=0.01)
    assert pieces[-1].finish in ("stop", "refused")
    if pieces[-1].finish == "stop":
        cited = numbers(text(pieces))
        assert cited
        assert set(cited) <= set(range(1, len(texts) + 1))
