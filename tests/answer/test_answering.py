"""From ranked hits to a cited answer: fuse, assemble, generate, cite."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.assemble import Assemble
from ragstone.answer.generate import Generate
from ragstone.conversation.contextualize import Contextualize
from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.chunk import Chunk
from ragstone.core.errors import EmptyQuestion, ModelUnavailable, QuestionTooLong
from ragstone.core.events import Sources, Thinking, Token
from ragstone.core.intent import Intent
from ragstone.core.records import Collection
from ragstone.core.tool import ToolStep
from ragstone.core.turn import Ask, Plan, RankedList, Scored, Turn
from ragstone.language.tokens import count
from ragstone.ports import Judgement, Said
from ragstone.retrieve.retrieve import ListFusion
from ragstone.verify.cite import Cite
from tests.engine.adapters import a_kit, ran
from tests.engine.samples import a_chunk, a_hit, a_passage
from tests.scripted import Scripted


@pytest.mark.parametrize(
    ("question", "error"),
    [("", EmptyQuestion), (" \n", EmptyQuestion), ("x" * 11, QuestionTooLong)],
)
async def test_given_no_real_question_then_a_clear_error(question: str, error: Any) -> None:
    with pytest.raises(error):
        await ran(Contextualize(max_question_chars=10), Turn(Ask(question)))


async def test_given_a_question_then_its_white_space_is_put_in_order() -> None:
    step, _ = await ran(Contextualize(), Turn(Ask(" Why\n so? ")))
    assert step.turn.question == "Why so?"


@pytest.mark.conforms(
    "Query pipeline",
    "Step 7",
    "Glossary -30 %, contents -50 %, credits -40 %; hypothetical questions filtered",
)
async def test_given_lists_then_one_ranking_with_penalties() -> None:
    chunks = {
        "a": a_chunk("answer", chunk_id="a"),
        "b": a_chunk("contents ..... 3", chunk_id="b", kind="toc"),
        "c": a_chunk("What was asked?", chunk_id="c", kind="question"),
    }
    lists = (
        RankedList("dense", "q", (Scored("b", 0.9), Scored("a", 0.8), Scored("c", 0.1))),
        RankedList("bm25", "q", (Scored("b", 9.0), Scored("a", 8.0))),
    )
    turn = Turn(Ask("q"), plan=Plan(top_k=5), lists=lists, chunks=chunks)
    step = await ListFusion(30, 0.0).run(turn, a_kit())
    assert [hit.chunk.chunk_id for hit in step.turn.hits] == ["a", "b"]
    assert step.turn.hits[1].score == pytest.approx(0.5)
    assert (step.turn.hits[0].dense, step.turn.hits[0].bm25) == (0.8, 8.0)


async def test_given_hits_then_they_are_numbered_while_they_fit() -> None:
    hits = tuple(a_hit(f"passage {i} " + "word " * 50, document_id=f"d{i}") for i in range(5))
    step, events = await ran(Assemble(context_tokens=120), Turn(Ask("q"), hits=hits))
    assert [p.number for p in step.turn.passages] == [1, 2]
    assert events == [Sources(step.turn.passages, len(hits))]


@pytest.mark.conforms("RAG engine v1", "Context builder", "The first passage is cut, not dropped")
async def test_given_a_first_passage_that_is_too_long_then_it_is_cut_not_dropped() -> None:
    hit = a_hit("word " * 500)
    step, _ = await ran(Assemble(context_tokens=20), Turn(Ask("q"), hits=(hit,)))
    [passage] = step.turn.passages
    assert hit.chunk.text.startswith(passage.text)
    assert 0 < count(passage.text) <= 20
    assert passage.text.endswith("word")


async def test_given_a_passage_inside_another_then_it_is_said_once() -> None:
    hits = (a_hit("One two three."), a_hit("two"), a_hit("two", document_id="d2"))
    step, _ = await ran(Assemble(), Turn(Ask("q"), hits=hits))
    assert [p.hit.chunk.document_id for p in step.turn.passages] == ["d1", "d2"]


@given(st.lists(st.text(alphabet="ab 文。\n", max_size=200), max_size=6), st.integers(1, 60))
@pytest.mark.conforms("RAG engine v1", "Context builder", "Passages fit 3,000 tokens")
async def test_passages_never_exceed_the_budget(texts: list[str], budget: int) -> None:
    hits = tuple(a_hit(text, document_id=str(i)) for i, text in enumerate(texts))
    step, _ = await ran(Assemble(context_tokens=budget), Turn(Ask("q"), hits=hits))
    assert sum(count(p.text) for p in step.turn.passages) <= max(budget, 2)


COLLECTION = Collection("default", "notes", "minilm", "f1", 384, "en")


class Reader:
    """`ports.Reranker` that finds passages relevant by what their text says of it."""

    name = "reader"

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure

    async def judge(
        self, collection: Collection, question: str, chunks: Sequence[Chunk], encoded: Any = None
    ) -> Judgement:
        if self.failure:
            raise self.failure
        scores = [float(chunk.text.rpartition(" ")[2]) for chunk in chunks]
        return Judgement(np.array(scores, np.float32), 1.0)

    async def aclose(self) -> None:
        """There is nothing to close."""


async def assembled(reader: Reader | None = None, chat: Any = "a model", **turn: Any) -> list[str]:
    """The last words of the passages: how relevant each is."""
    told = ("0", "0", "0.02", "0.9", "0.01", "nan", "0.2", "0.1")
    hits = tuple(a_hit(f"The fee is {i} {n}", document_id=f"d{i}") for i, n in enumerate(told))
    given = {"collection": COLLECTION, "hits": hits, "intent": Intent("factual"), **turn}
    asked = Turn(Ask("What is the fee?"), "What is the fee?", **given)
    step, _ = await ran(Assemble(), asked, chat=chat, reading_reranker=reader or Reader())
    assert [passage.number for passage in step.turn.passages] == [
        *range(1, len(step.turn.passages) + 1)
    ]
    return [passage.text.rpartition(" ")[2] for passage in step.turn.passages]


async def test_a_model_gets_the_best_passages_and_those_that_the_reader_finds_relevant() -> None:
    assert await assembled() == ["0", "0", "0.9", "nan", "0.2"]


async def test_an_answer_without_a_model_is_made_from_all_passages() -> None:
    assert len(await assembled(chat=None)) == 8


@pytest.mark.parametrize("intent", ["summary", "list", "comparison", "analytical", "multi_hop"])
async def test_what_many_passages_answer_together_is_made_from_all(intent: Any) -> None:
    assert len(await assembled(intent=Intent(intent))) == 8


@pytest.mark.parametrize(
    "turn",
    [{"collection": None}, {"parts": True}, {"called": (ToolStep(()),)}],
    ids=["a retrieval service", "several questions", "tools"],
)
async def test_passages_that_the_reader_cannot_judge_all_stay(turn: dict[str, Any]) -> None:
    assert len(await assembled(**turn)) == 8


async def test_a_reader_that_fails_takes_no_passage_away() -> None:
    assert len(await assembled(Reader(ModelUnavailable("The reader is gone.")))) == 8


async def test_a_passage_has_the_day_of_its_document() -> None:
    hits = (
        a_hit("The fee is 12.", metadata={"date": "2024-05-01"}),
        a_hit("The fee is 10.", document_id="d2", metadata={"modified": "2023-02-01T10:00:00"}),
        a_hit("The fee is 9.", document_id="d3"),
    )
    step, _ = await ran(Assemble(), Turn(Ask("q"), hits=hits))
    assert [passage.day for passage in step.turn.passages] == ["2024-05-01", "2023-02-01", ""]


async def test_given_a_model_then_its_pieces_stream_and_its_usage_is_summed() -> None:
    script = [Said(thinking="hm"), "One", " two. [1]", Said(usage=Usage(5, 2, 1))]
    turn = Turn(Ask("And his?"), "His age?", passages=(a_passage(1, "x"),), usage=Usage(1, 1, 1))
    model = Scripted(script)
    step, events = await ran(Generate(), turn, answerer=model)
    assert model.asked[0][0].question == "His age?"
    assert events == [Thinking("hm"), Token("One"), Token(" two. [1]")]
    assert step.turn.answer == GeneratedAnswer("One two. [1]", (), "stop", "scripted")
    assert step.turn.usage == Usage(6, 3, 2)


async def test_given_a_model_that_breaks_then_its_stream_is_closed_and_the_error_comes() -> None:
    model = Scripted(["One"], error=ModelUnavailable("gone"))
    with pytest.raises(ModelUnavailable):
        await ran(Generate(), Turn(Ask("q"), passages=(a_passage(1, "x"),)), answerer=model)
    assert model.closed == 1


TEXT = "The mill is old. It was built in 1871 by the river. A cat lives there."


async def test_given_markers_then_each_source_is_cited_with_the_sentence_that_supports() -> None:
    passage = a_passage(1, TEXT, start=100, page=4, section=("Mills",))
    answer = GeneratedAnswer("The mill was built in 1871. [1] It is big. [7]")
    step, _ = await ran(Cite(), Turn(Ask("q"), passages=(passage,), answer=answer))
    assert step.turn.answer
    [citation] = step.turn.answer.citations
    assert citation.snippet == "It was built in 1871 by the river."
    assert (citation.start, citation.end) == (117, 151)
    assert (citation.number, citation.page, citation.section) == (1, 4, ("Mills",))
    assert "7" in step.reason


async def test_given_a_refusal_then_nothing_is_cited() -> None:
    answer = GeneratedAnswer("The documents do not say. [1]", finish="refused")
    step, _ = await ran(Cite(), Turn(Ask("q"), passages=(a_passage(1, TEXT),), answer=answer))
    assert step.turn.answer == replace(answer, citations=())


@given(st.text(alphabet="ab. [1]2\n。文", max_size=60), st.text(alphabet="ab. 文。\n", max_size=60))
async def test_a_citation_is_always_a_span_of_its_passage(said: str, source: str) -> None:
    passage = a_passage(1, source, start=50)
    turn = Turn(Ask("q"), passages=(passage,), answer=GeneratedAnswer(said))
    step, _ = await ran(Cite(), turn)
    assert step.turn.answer
    for citation in step.turn.answer.citations:
        assert source[citation.start - 50 : citation.end - 50][:300] == citation.snippet
