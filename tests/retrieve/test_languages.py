"""Passages of several languages in one ranking."""

from types import SimpleNamespace
from typing import cast

from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Plan, RankedList, Scored, SearchOptions, Turn
from ragstone.ports import Adapters
from ragstone.retrieve.retrieve import ListFusion
from tests.engine.samples import a_chunk
from tests.hashing import HashingEmbedder, OneEmbedder

CHUNKS = {
    "english": a_chunk("The tank holds 4.5 litres.", chunk_id="english", language="en"),
    "german": a_chunk("Der Tank fasst 4,5 Liter.", chunk_id="german", language="de"),
    "words": a_chunk("A tank of how big a size is no matter.", chunk_id="words", language="en"),
}


async def ranking(question: str, multilingual: bool = True, **options: float) -> list[str]:
    """The chunks by fused score: german is as near in meaning as english, words only by words."""
    embedder = HashingEmbedder()
    embedder.multilingual = multilingual
    adapters = cast(Adapters, SimpleNamespace(embedders=OneEmbedder(embedder)))
    dense = tuple(Scored(*item) for item in (("german", 0.91), ("english", 0.9), ("words", 0.5)))
    bm25 = (Scored("words", 9.0), Scored("english", 3.0))
    turn = Turn(
        Ask(question, wanted=SearchOptions(**options)),
        queries=(question,),
        plan=Plan(),
        collection=Collection("default", "c", embedder.name, embedder.fingerprint, 32, "mul"),
        lists=(RankedList("dense", question, dense), RankedList("bm25", question, bm25)),
        chunks=CHUNKS,
    )
    step = await ListFusion(30, 0.0).run(turn, adapters)  # type: ignore[arg-type,return-value]
    return [hit.chunk.chunk_id for hit in step.turn.hits]


async def test_given_two_equal_answers_then_the_one_in_the_questions_language_is_first() -> None:
    assert (await ranking("How big is the tank of this machine?"))[0] == "english"
    assert (await ranking("Wie groß ist der Tank dieser Maschine?"))[0] == "german"


async def test_given_a_question_in_another_language_then_shared_words_decide_nothing() -> None:
    assert (await ranking("Quanto è grande il serbatoio della macchina?"))[-1] == "words"


async def test_given_an_embedder_of_one_language_or_a_share_of_words_then_those_count() -> None:
    assert (await ranking("Wie groß ist der Tank?", multilingual=False))[0] == "words"
    assert (await ranking("Wie groß ist der Tank?", dense_weight=0.4))[0] == "words"
