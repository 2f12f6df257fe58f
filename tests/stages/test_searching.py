"""From a plan to ranked passages, over a real index with the bundled English model."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from ragstone.build import open_kit
from ragstone.chunk import Chunk
from ragstone.engine import Engine
from ragstone.errors import UnknownCollection
from ragstone.filters import eq
from ragstone.ports import Judgement, Kit
from ragstone.recipe import Recipe, recipes, search_recipes
from ragstone.records import Collection
from ragstone.settings import CacheSettings, Settings
from ragstone.stages.rounds import Rounds
from ragstone.stages.strategies import hop
from ragstone.turn import Ask, Hit, Principal, Strategy, Turn, Wanted
from tests.stages.samples import a_chunk

TEXTS = {
    "whales": [
        "Whales are mammals that live in the sea.",
        "A blue whale weighs as much as thirty elephants.",
        "Whales sing songs that travel for hundreds of kilometres.",
        "Most whales eat krill, which are tiny shrimps.",
    ],
    "cats": [
        "Cats sleep for most of the day.",
        "A cat purrs when it is content.",
        "Cats see well at night.",
    ],
    "ships": [
        "The ship Meridian was built in Glasgow in 1871.",
        "Her captain was Ada Thornbury, a cartographer.",
        "Part number QX-4471-B is the rudder bolt.",
    ],
    "secret": ["The whales of the secret bay belong to the board."],
}


def the_chunks(collection: Collection) -> list[Chunk]:
    chunks = []
    for name, texts in TEXTS.items():
        start = 0
        for i, text in enumerate(texts):
            chunks.append(
                a_chunk(
                    text,
                    chunk_id=f"00000000-0000-0000-0000-{len(chunks):012}",
                    document_id=name,
                    chunk_index=i,
                    start=start,
                    title=name.title(),
                    path=f"/{name}.txt",
                    collection=collection.name,
                    section=("Life",) if i < 2 else ("More",),
                    allowed=("group:board",) if name == "secret" else ("*",),
                )
            )
            start += len(text) + 1
    return chunks


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kit(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kit]:
    data: Path = tmp_path_factory.mktemp("kit")
    async with open_kit(Settings(ragstone_data=data, cache=CacheSettings(enabled=False))) as (
        kit,
        _,
        _,
    ):
        embedder = kit.embedders.for_text("en")
        collection = Collection(
            "default", "default", embedder.name, embedder.fingerprint, embedder.dimensions, "en"
        )
        await kit.index.create(collection)
        await kit.catalog.put_collection(collection)
        chunks = the_chunks(collection)
        vectors = await embedder.embed_passages([chunk.searchable for chunk in chunks])
        await kit.index.upsert(collection, chunks, vectors)
        yield kit


pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


async def searched(kit: Kit, question: str, level: str = "standard", **changes: Any) -> Turn:
    engine = Engine(kit, search_recipes(Settings()))
    return await engine.answered(Ask(question, level=level, **changes))  # type: ignore[arg-type]


def texts(turn: Turn) -> list[str]:
    return [hit.chunk.text for hit in turn.hits]


@pytest.mark.parametrize(
    "strategy", ["dense", "bm25", "hybrid", "fusion", "two_stage", "hierarchical", "iterative"]
)
async def test_given_any_strategy_then_the_passage_that_says_it_is_first(
    kit: Kit, strategy: Strategy
) -> None:
    turn = await searched(kit, "Which animals sing songs?", strategy=strategy, top_k=3)
    assert texts(turn)[0] == TEXTS["whales"][2]
    assert len(turn.hits) <= 3
    assert all(0 <= hit.score <= 1 for hit in turn.hits)


async def test_given_hierarchical_then_only_the_best_documents_are_gone_into(kit: Kit) -> None:
    turn = await searched(kit, "What do whales eat?", strategy="hierarchical", top_k=10)
    assert turn.hits[0].chunk.document_id == "whales"
    assert {s.chunk_id for ranked in turn.lists for s in ranked.found} == {
        chunk.chunk_id
        for chunk in the_chunks(turn.collection)
        if chunk.document_id != "secret"  # type: ignore[arg-type]
    }


async def test_given_sequential_then_the_document_is_read_in_order(kit: Kit) -> None:
    turn = await searched(kit, "Tell me about whales", strategy="sequential", top_k=20)
    assert texts(turn) == TEXTS["whales"]


async def test_given_iterative_then_what_the_first_round_names_is_asked_next(kit: Kit) -> None:
    question = "What was the job of the captain of the ship built in Glasgow in 1871?"
    turn = await searched(kit, question, strategy="iterative", top_k=2)
    assert set(texts(turn)) == {TEXTS["ships"][0], TEXTS["ships"][1]}
    assert len({ranked.query for ranked in turn.lists}) > 1


async def test_given_chunks_then_the_next_question_adds_their_names_and_nothing_known() -> None:
    chunks = [a_chunk("The Meridian sailed from Glasgow to Oslo.")]
    following = hop("Where was the Meridian built?", chunks)
    assert following == "Where was the Meridian built? Glasgow Oslo"
    assert hop("Glasgow to Oslo Meridian sailed the", chunks) == ""


async def test_given_a_code_then_its_words_find_it_whatever_its_meaning(kit: Kit) -> None:
    turn = await searched(kit, "QX-4471-B", wanted=Wanted(min_similarity=0.9))
    assert texts(turn)[0] == TEXTS["ships"][2]


async def test_given_a_least_similarity_then_what_is_unlike_the_question_goes(kit: Kit) -> None:
    every = await searched(kit, "What do whales eat?")
    some = await searched(kit, "What do whales eat?", wanted=Wanted(min_similarity=0.5))
    assert 0 < len(some.hits) < len(every.hits)
    assert {hit.confidence for hit in every.hits} >= {"high", "low"}
    for hit in every.hits:
        assert hit.similarity is not None
        assert hit.dense is not None
        assert hit.similarity == pytest.approx(min(1, max(0, hit.dense / 0.8)))


async def test_given_a_caller_who_may_not_read_it_then_no_strategy_brings_it(kit: Kit) -> None:
    question = "Whose are the whales of the secret bay?"
    board = Principal(groups=("board",))
    found = await searched(kit, question, principal=board)
    assert texts(found)[0] == TEXTS["secret"][0]
    for strategy in ("dense", "bm25", "hybrid", "hierarchical", "sequential", "iterative"):
        turn = await searched(
            kit,
            question,
            strategy=strategy,
            wanted=Wanted(unit="section"),
            principal=Principal(user="eve", groups=()),
        )
        assert "secret" not in {hit.chunk.document_id for hit in turn.hits}


async def test_given_neighbours_then_each_hit_is_wider_and_still_its_documents_text(
    kit: Kit,
) -> None:
    whole = " ".join(TEXTS["whales"]).replace(". ", ".\n")
    turn = await searched(kit, "Which animals sing songs?", top_k=1, wanted=Wanted(neighbours=1))
    [hit] = turn.hits
    assert hit.chunk.text == whole[hit.chunk.start : hit.chunk.end]
    assert hit.chunk.text == "\n".join(TEXTS["whales"][1:])


async def test_given_sections_then_a_hit_holds_its_section_and_no_other(kit: Kit) -> None:
    turn = await searched(kit, "Which animals sing songs?", top_k=2, wanted=Wanted(unit="section"))
    assert turn.hits[0].chunk.text == "\n".join(TEXTS["whales"][2:])
    assert len({hit.chunk.text for hit in turn.hits}) == len(turn.hits)


async def test_given_a_filter_then_nothing_else_is_found(kit: Kit) -> None:
    turn = await searched(kit, "whales", where=eq("document_id", "cats"))
    assert {hit.chunk.document_id for hit in turn.hits} == {"cats"}


async def test_given_an_unknown_collection_then_a_clear_error(kit: Kit) -> None:
    with pytest.raises(UnknownCollection, match="nowhere"):
        await searched(kit, "whales", collection="nowhere")


async def test_given_no_stored_token_vectors_then_they_are_computed(kit: Kit) -> None:
    turn = await searched(kit, "Which animals sing songs?")
    assert turn.hits[0].rerank == pytest.approx(max(h.rerank or 0 for h in turn.hits))
    [trace] = [t for t in turn.trace if t.stage == "rerank"]
    assert "late interaction" in trace.reason


async def test_given_no_reranking_then_the_fused_order_stands(kit: Kit) -> None:
    turn = await searched(kit, "Which animals sing songs?", wanted=Wanted(rerank=False))
    assert {hit.rerank for hit in turn.hits} == {None}


class Broken:
    """A reranker that fails."""

    name = "broken"

    async def judge(self, *_: object) -> Judgement:
        raise RuntimeError("no")

    async def aclose(self) -> None: ...


class Backwards(Broken):
    """A reranker that thinks the opposite, with all the weight."""

    async def judge(self, *given: Any) -> Judgement:
        return Judgement(np.linspace(0, 1, len(given[2]), dtype=np.float32), 1.0, "it says so")


async def test_given_a_reranker_that_breaks_then_the_fused_order_stands(kit: Kit) -> None:
    plain = await searched(kit, "Which animals sing songs?", wanted=Wanted(rerank=False))
    turn = await searched(replace(kit, reranker=Broken()), "Which animals sing songs?")
    assert texts(turn) == texts(plain)
    assert {t.stage: t.status for t in turn.trace}["rerank"] == "failed"


async def test_given_a_reranker_then_its_weight_decides_and_the_rest_stays_behind(
    kit: Kit,
) -> None:
    plain = await searched(kit, "Which animals sing songs?", wanted=Wanted(rerank=False))
    turn = await searched(replace(kit, reranker=Backwards()), "Which animals sing songs?")
    assert texts(turn)[0] == texts(plain)[-1]
    scores = [hit.score for hit in turn.hits]
    assert scores == sorted(scores, reverse=True)


async def test_given_levels_then_every_recipe_can_run_and_search_is_its_beginning() -> None:
    settings = Settings()
    for level, recipe in recipes(settings).items():
        inside = [one for one in recipe.stages if isinstance(one, Rounds)]
        every = (*recipe.stages[:-1], *inside[0].stages) if inside else recipe.stages
        names = [stage.name for stage in every]
        found: Recipe = search_recipes(settings)[level]
        assert [stage.name for stage in found.stages] == names[: len(found.stages)]
        assert "generate" not in [stage.name for stage in found.stages]


async def test_given_the_same_text_in_two_documents_then_a_search_shows_both_and_an_answer_one(
    kit: Kit,
) -> None:
    collection = await kit.catalog.collection("default", "default")
    assert collection
    copy = a_chunk(
        TEXTS["cats"][1], chunk_id="00000000-0000-0000-0001-000000000000", document_id="copy"
    )
    embedder = kit.embedders.of(collection)
    await kit.index.upsert(collection, [copy], await embedder.embed_passages([copy.searchable]))
    try:
        question = "When does a cat purr?"
        found = [hit.chunk.document_id for hit in (await searched(kit, question)).hits]
        assert {"cats", "copy"} <= set(found[:2])
        answered: list[Hit] = list(
            (await Engine(kit, recipes(Settings())).answered(Ask(question))).hits
        )
        assert sum(hit.chunk.text == copy.text for hit in answered) == 1
    finally:
        await kit.index.delete(collection, eq("document_id", "copy"))
