"""From a plan to ranked passages, over a real index with the bundled English model."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from ragstone.build import open_adapters
from ragstone.core.chunk import Chunk
from ragstone.core.errors import UnknownCollection
from ragstone.core.filters import eq
from ragstone.core.records import Collection
from ragstone.core.turn import LEVELS, Ask, Hit, Principal, SearchOptions, Strategy, Turn
from ragstone.engine.engine import Engine
from ragstone.engine.stage import Stage
from ragstone.ports import Adapters, Judgement
from ragstone.recipes.recipe import Recipes
from ragstone.retrieve.rerank import Rerank
from ragstone.retrieve.strategies import hop
from ragstone.settings import CacheSettings, RagSettings, Settings
from tests.engine.adapters import ran
from tests.engine.samples import a_chunk, a_hit

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
                    collection=collection.id,
                    section=("Life",) if i < 2 else ("More",),
                    allowed=("group:board",) if name == "secret" else ("*",),
                )
            )
            start += len(text) + 1
    return chunks


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def adapters(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Adapters]:
    data: Path = tmp_path_factory.mktemp("kit")
    async with open_adapters(Settings(ragstone_data=data, cache=CacheSettings(enabled=False))) as (
        adapters,
        _,
        _,
    ):
        embedder = adapters.embedders.choose("en")
        collection = Collection(
            "default", "default", embedder.name, embedder.fingerprint, embedder.dimensions, "en"
        )
        await adapters.index.create(collection)
        await adapters.catalog.put_collection(collection)
        chunks = the_chunks(collection)
        vectors = await embedder.embed_passages([chunk.searchable for chunk in chunks])
        await adapters.index.upsert(collection, chunks, vectors)
        yield adapters


pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


async def searched(
    adapters: Adapters, question: str, level: str = "standard", **changes: Any
) -> Turn:
    engine = Engine(adapters, Recipes(Settings()).search_recipe)
    return await engine.answer(Ask(question, level=level, **changes))  # type: ignore[arg-type]


async def answered(adapters: Adapters, question: str) -> Turn:
    return await Engine(adapters, Recipes(Settings()).answer_recipe).answer(Ask(question))


def texts(turn: Turn) -> list[str]:
    return [hit.chunk.text for hit in turn.hits]


@pytest.mark.parametrize(
    "strategy", ["dense", "bm25", "hybrid", "fusion", "two_stage", "hierarchical", "iterative"]
)
async def test_given_any_strategy_then_the_passage_that_says_it_is_first(
    adapters: Adapters, strategy: Strategy
) -> None:
    turn = await searched(adapters, "Which animals sing songs?", strategy=strategy, top_k=3)
    assert texts(turn)[0] == TEXTS["whales"][2]
    assert len(turn.hits) <= 3
    assert all(0 <= hit.score <= 1 for hit in turn.hits)


@pytest.mark.conforms("Query pipeline", "Step 5", "HIERARCHICAL goes into the best documents")
async def test_given_hierarchical_then_only_the_best_documents_are_gone_into(
    adapters: Adapters,
) -> None:
    turn = await searched(adapters, "What do whales eat?", strategy="hierarchical", top_k=10)
    assert turn.hits[0].chunk.document_id == "whales"
    assert {s.chunk_id for ranked in turn.lists for s in ranked.found} == {
        chunk.chunk_id
        for chunk in the_chunks(turn.collection)
        if chunk.document_id != "secret"  # type: ignore[arg-type]
    }


async def test_given_sequential_then_the_document_is_read_in_order(adapters: Adapters) -> None:
    turn = await searched(adapters, "Tell me about whales", strategy="sequential", top_k=20)
    assert texts(turn) == TEXTS["whales"]


async def test_given_a_summary_then_the_document_of_that_name_is_read_in_order(
    adapters: Adapters,
) -> None:
    turn = await answered(adapters, "Summarise the document about ships.")
    assert texts(turn) == TEXTS["ships"]
    assert turn.answer is not None
    assert not turn.answer.refused


async def test_given_a_summary_of_what_no_document_is_called_then_it_is_searched(
    adapters: Adapters,
) -> None:
    turn = await answered(adapters, "Summarise the document about volcanoes.")
    assert turn.plan.strategy == "hybrid"


async def test_given_a_summary_then_no_document_is_read_that_the_asker_may_not(
    adapters: Adapters,
) -> None:
    turn = await answered(adapters, "Summarise the secret document.")
    assert not set(texts(turn)) & set(TEXTS["secret"])


async def test_given_a_question_for_all_documents_then_each_that_says_it_is_found_once(
    adapters: Adapters,
) -> None:
    turn = await answered(adapters, "How many documents mention whales?")
    assert {hit.chunk.document_id for hit in turn.hits} == {"whales"}
    assert turn.answer is not None
    assert turn.answer.text.splitlines()[0] == "Documents (1):"
    assert "board" not in turn.answer.text


async def test_given_a_reader_of_more_then_more_documents_are_counted(adapters: Adapters) -> None:
    board = Principal(groups=("board",))
    ask = Ask("How many documents mention whales?", principal=board, cache=False)
    turn = await Engine(adapters, Recipes(Settings()).answer_recipe).answer(ask)
    assert turn.answer is not None
    assert turn.answer.text.splitlines()[0] == "Documents (2):"


async def test_given_another_language_then_the_english_passage_is_first(
    adapters: Adapters,
) -> None:
    turn = await searched(adapters, "Welche Tiere singen Lieder?", top_k=3)
    assert texts(turn)[0] == TEXTS["whales"][2]


@pytest.mark.conforms("RAG engine v1", "Adaptive RAG", "ITERATIVE: at most 3 rounds")
async def test_given_iterative_then_what_the_first_round_names_is_asked_next(
    adapters: Adapters,
) -> None:
    question = "What was the job of the captain of the ship built in Glasgow in 1871?"
    turn = await searched(adapters, question, strategy="iterative", top_k=2)
    assert set(texts(turn)) == {TEXTS["ships"][0], TEXTS["ships"][1]}
    assert len({ranked.query for ranked in turn.lists}) > 1


async def test_given_chunks_then_the_next_question_adds_their_names_and_nothing_known() -> None:
    chunks = [a_chunk("The Meridian sailed from Glasgow to Oslo.")]
    following = hop("Where was the Meridian built?", chunks)
    assert following == "Where was the Meridian built? Glasgow Oslo"
    assert hop("Glasgow to Oslo Meridian sailed the", chunks) == ""


async def test_given_a_code_then_its_words_find_it_whatever_its_meaning(adapters: Adapters) -> None:
    turn = await searched(adapters, "QX-4471-B", wanted=SearchOptions(min_similarity=0.9))
    assert texts(turn)[0] == TEXTS["ships"][2]


@pytest.mark.conforms("Query pipeline", "Settings", "rag.similarity_threshold")
@pytest.mark.conforms("V5", "3. Context Filter", "What is less like the question goes")
async def test_given_a_least_similarity_then_what_is_unlike_the_question_goes(
    adapters: Adapters,
) -> None:
    every = await searched(adapters, "What do whales eat?")
    some = await searched(adapters, "What do whales eat?", wanted=SearchOptions(min_similarity=0.5))
    assert 0 < len(some.hits) < len(every.hits)
    assert {hit.confidence for hit in every.hits} >= {"high", "low"}
    for hit in every.hits:
        assert hit.similarity is not None
        assert hit.dense is not None
        assert hit.similarity == pytest.approx(min(1, max(0, hit.dense / 0.8)))


async def test_given_nothing_like_the_question_then_the_reader_decides_unless_the_request_does(
    adapters: Adapters,
) -> None:
    question = "What do whales eat?"
    settings = Settings(rag=RagSettings(similarity_threshold=0.99))
    recipe = Recipes(settings).search_recipe
    kept = await Engine(adapters, recipe).answer(Ask(question, strategy="dense"))
    every = await searched(adapters, question, strategy="dense")
    assert texts(kept) == texts(every)
    wanted = SearchOptions(min_similarity=0.99)
    assert not (await searched(adapters, question, strategy="dense", wanted=wanted)).hits


@pytest.mark.conforms("Query pipeline", "Settings", "Below .40 only what words find stays")
async def test_given_the_least_similarity_is_strict_then_only_what_words_find_stays_below_it(
    adapters: Adapters,
) -> None:
    question = "What do whales eat?"
    settings = Settings(
        rag=RagSettings(similarity_threshold=0.99), stages={"deduplicate": {"strict": True}}
    )
    engine = Engine(adapters, Recipes(settings).search_recipe)
    assert not (await engine.answer(Ask(question, strategy="dense"))).hits
    found = (await engine.answer(Ask(question, strategy="hybrid"))).hits
    assert found
    assert all(hit.bm25 for hit in found)


async def test_given_a_caller_who_may_not_read_it_then_no_strategy_brings_it(
    adapters: Adapters,
) -> None:
    question = "Whose are the whales of the secret bay?"
    board = Principal(groups=("board",))
    found = await searched(adapters, question, principal=board)
    assert texts(found)[0] == TEXTS["secret"][0]
    for strategy in ("dense", "bm25", "hybrid", "hierarchical", "sequential", "iterative"):
        turn = await searched(
            adapters,
            question,
            strategy=strategy,
            wanted=SearchOptions(unit="section"),
            principal=Principal(user="eve", groups=()),
        )
        assert "secret" not in {hit.chunk.document_id for hit in turn.hits}


async def test_given_neighbours_then_each_hit_is_wider_and_still_its_documents_text(
    adapters: Adapters,
) -> None:
    whole = " ".join(TEXTS["whales"]).replace(". ", ".\n")
    turn = await searched(
        adapters, "Which animals sing songs?", top_k=1, wanted=SearchOptions(neighbours=1)
    )
    [hit] = turn.hits
    assert hit.chunk.text == whole[hit.chunk.start : hit.chunk.end]
    assert hit.chunk.text == "\n".join(TEXTS["whales"][1:])


async def test_given_sections_then_a_hit_holds_its_section_and_no_other(adapters: Adapters) -> None:
    turn = await searched(
        adapters, "Which animals sing songs?", top_k=2, wanted=SearchOptions(unit="section")
    )
    assert turn.hits[0].chunk.text == "\n".join(TEXTS["whales"][2:])
    assert len({hit.chunk.text for hit in turn.hits}) == len(turn.hits)


async def test_given_one_passage_a_document_then_the_number_asked_for_counts_documents(
    adapters: Adapters,
) -> None:
    question = "What do whales eat?"
    one = SearchOptions(per_document=1)

    plain = (await searched(adapters, question, top_k=3)).hits
    counted = (await searched(adapters, question, top_k=3, wanted=one)).hits

    assert {hit.chunk.document_id for hit in plain} == {"whales"}
    assert counted[0].chunk.document_id == "whales"
    assert len({hit.chunk.document_id for hit in counted}) == len(counted) == 3
    assert counted[0].chunk == plain[0].chunk


async def test_given_a_filter_then_nothing_else_is_found(adapters: Adapters) -> None:
    turn = await searched(adapters, "whales", where=eq("document_id", "cats"))
    assert {hit.chunk.document_id for hit in turn.hits} == {"cats"}


async def test_given_an_unknown_collection_then_a_clear_error(adapters: Adapters) -> None:
    with pytest.raises(UnknownCollection, match="nowhere"):
        await searched(adapters, "whales", collection="nowhere")


@pytest.mark.conforms("V5", "Future 3", "Late interaction reranks (outside the chats)")
async def test_given_no_stored_token_vectors_then_they_are_computed(adapters: Adapters) -> None:
    turn = await searched(adapters, "Which animals sing songs?")
    assert turn.hits[0].rerank == pytest.approx(max(h.rerank or 0 for h in turn.hits))
    [trace] = [t for t in turn.trace if t.stage == "rerank"]
    assert "late interaction" in trace.reason


async def test_given_no_reranking_then_the_fused_order_stands(adapters: Adapters) -> None:
    turn = await searched(adapters, "Which animals sing songs?", wanted=SearchOptions(rerank=False))
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


async def test_given_a_reranker_that_breaks_then_the_fused_order_stands(adapters: Adapters) -> None:
    plain = await searched(
        adapters, "Which animals sing songs?", wanted=SearchOptions(rerank=False)
    )
    turn = await searched(replace(adapters, reranker=Broken()), "Which animals sing songs?")
    assert texts(turn) == texts(plain)
    assert {t.stage: t.status for t in turn.trace}["reranker"] == "failed"


async def test_given_a_reranker_that_breaks_then_what_the_question_names_still_counts() -> None:
    hits = [a_hit("Install it so.", chunk_id=n, title=f"Tern {n}", path=n, score=s)
            for n, s in (("29", 0.8), ("30", 0.9))]  # fmt: skip
    collection = Collection("default", "default", "m", "f", 3, "en")
    asked = "How is Tern 29 installed?"
    turn = Turn(Ask(asked), queries=(asked,), hits=tuple(hits), collection=collection)
    step, _ = await ran(Rerank(editions=False), turn, reranker=Broken())
    assert [hit.chunk.title for hit in step.turn.hits] == ["Tern 29"]
    assert step.turn.left_out == ("30",)
    assert [(t.stage, t.status, t.inside) for t in step.turn.trace] == [
        ("reranker", "failed", "rerank"),
        ("subject", "done", "rerank"),
    ]


async def test_given_editions_that_cannot_be_compared_then_the_reranker_still_counts() -> None:
    hits = [a_hit("Songs of whales.", chunk_id=n, document_id=n, chunk_index=3, path=f"/g-{n}.md")
            for n in ("1.0", "2.0")]  # fmt: skip
    collection = Collection("default", "default", "m", "f", 3, "en")
    turn = Turn(Ask("q"), queries=("q",), hits=tuple(hits), collection=collection)
    step, _ = await ran(Rerank(), turn, reranker=Liking(), index=None)
    assert [hit.rerank for hit in step.turn.hits] == [pytest.approx(0.8)] * 2
    assert ("subject", "failed") in {(t.stage, t.status) for t in step.turn.trace}


async def test_given_a_reranker_then_its_weight_decides_and_the_rest_stays_behind(
    adapters: Adapters,
) -> None:
    plain = await searched(
        adapters, "Which animals sing songs?", wanted=SearchOptions(rerank=False)
    )
    turn = await searched(replace(adapters, reranker=Backwards()), "Which animals sing songs?")
    assert texts(turn)[0] == texts(plain)[-1]
    scores = [hit.score for hit in turn.hits]
    assert scores == sorted(scores, reverse=True)


class Liking:
    """A reranker that likes all passages alike, with all the weight."""

    name = "liking"

    async def judge(self, *given: Any) -> Judgement:
        return Judgement(np.full(len(given[2]), 0.8, dtype=np.float32), 1.0, "it says so")


@pytest.mark.conforms("Query pipeline", "Step 7", "Penalties hold after reranking")
async def test_given_a_reranker_then_kinds_that_rarely_answer_keep_their_penalty() -> None:
    kinds = {"normal": 0.8, "glossary": 0.56, "credits": 0.48, "toc": 0.4}
    hits = tuple(a_hit(kind, chunk_id=kind, kind=kind) for kind in reversed(kinds))
    collection = Collection("default", "default", "m", "f", 3, "en")
    turn = Turn(Ask("q"), queries=("q",), hits=hits, collection=collection)
    step, _ = await ran(Rerank(), turn, reranker=Liking())
    assert {hit.chunk.kind: round(hit.score, 4) for hit in step.turn.hits} == kinds
    assert [hit.chunk.kind for hit in step.turn.hits] == list(kinds)


def _shown(stage: Stage) -> tuple[Stage, ...]:
    return stage.inner if stage.name == "rounds" else (stage,)


async def test_given_levels_then_every_recipe_can_run_and_search_is_its_beginning() -> None:
    recipes = Recipes(Settings())
    for level in LEVELS:
        recipe = recipes.answer_recipe(Ask("q", level=level))
        names = [stage.name for item in recipe.stages for stage in _shown(item)]
        names.remove("give_verified")  # A search is not answered.
        *found, last = [stage.name for stage in recipes.of("search", level).stages]
        assert found == names[: len(found)]
        assert last == "tell_unread"
        assert last in names


async def test_given_the_same_text_in_two_documents_then_a_search_shows_both_and_an_answer_one(
    adapters: Adapters,
) -> None:
    collection = await adapters.catalog.collection("default", "default")
    assert collection
    copy = a_chunk(
        TEXTS["cats"][1], chunk_id="00000000-0000-0000-0001-000000000000", document_id="copy"
    )
    embedder = adapters.embedders.find_indexing(collection)
    await adapters.index.upsert(
        collection, [copy], await embedder.embed_passages([copy.searchable])
    )
    try:
        question = "When does a cat purr?"
        found = [hit.chunk.document_id for hit in (await searched(adapters, question)).hits]
        assert {"cats", "copy"} <= set(found[:2])
        answered: list[Hit] = list(
            (await Engine(adapters, Recipes(Settings()).answer_recipe).answer(Ask(question))).hits
        )
        assert sum(hit.chunk.text == copy.text for hit in answered) == 1
    finally:
        await adapters.index.delete(collection, eq("document_id", "copy"))
