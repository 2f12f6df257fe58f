"""Questions of two steps, over a real index with the bundled English model."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from ragstone.build import open_adapters
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Principal, Strategy, Turn
from ragstone.engine.engine import Engine
from ragstone.ports import Adapters
from ragstone.recipes.recipe import Recipes
from ragstone.settings import CacheSettings, Settings
from tests.engine.samples import a_chunk

PASSAGES = [
    ("Marlow House", "Marlow House is a hall of residence of Ardent College. It has 90 rooms."),
    ("Ardent College", "Keldale has been its home since 1874. Tuition is free."),
    ("Tern Pavilion", "Tern Pavilion was given to the town by Ilse Vandermeer."),
    (
        "Ilse Vandermeer",
        "Rotterdam was where her parents sold tea, and where she came into the world.",
    ),
    ("The Lantern (opera)", "The Lantern was first performed in 1911, in three acts."),
    ("Odette Marchetti", "Odette Marchetti sang the title role of The Lantern at its premiere."),
    *(
        (f"{name} University", f"{name} University is in the city of {name}, and has {n} halls.")
        for n, name in enumerate(("Brent", "Dunmoor", "Esk", "Farrow", "Gale", "Hexton", "Iver"), 2)
    ),
    *(
        (f"{name} House", f"{name} House is a house in the city of {name}. It has {n} rooms.")
        for n, name in enumerate(("Kirk", "Lorne", "Mere", "Nairn", "Oban", "Perth", "Quorn"), 60)
    ),
    *(
        (f"{name} Park", f"{name} Park was opened by the mayor. The park was given a pond in {n}.")
        for n, name in enumerate(("Rose", "Stone", "Trent", "Ure", "Vale", "Wear", "Yare"), 1950)
    ),
]
CLOSED = "Ilse Vandermeer"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def adapters(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Adapters]:
    data: Path = tmp_path_factory.mktemp("hops")
    settings = Settings(ragstone_data=data, cache=CacheSettings(enabled=False))
    async with open_adapters(settings) as (adapters, _, _):
        embedder = adapters.embedders.choose("en")
        collection = Collection(
            "default", "default", embedder.name, embedder.fingerprint, embedder.dimensions, "en"
        )
        await adapters.index.create(collection)
        await adapters.catalog.put_collection(collection)
        chunks = [
            a_chunk(
                text,
                chunk_id=f"00000000-0000-0000-0000-{number:012}",
                document_id=f"d{number}",
                title=title,
                path=f"/{number}.txt",
                collection=collection.id,
                allowed=("group:board",) if title == CLOSED else ("*",),
            )
            for number, (title, text) in enumerate(PASSAGES)
        ]
        vectors = await embedder.embed_passages([chunk.searchable for chunk in chunks])
        await adapters.index.upsert(collection, chunks, vectors)
        yield adapters


pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

BOARD = Principal(groups=("board",))


async def searched(
    adapters: Adapters,
    question: str,
    principal: Principal = BOARD,
    strategy: Strategy | None = None,
    seeds: int = 5,
) -> Turn:
    settings = Settings(stages={"rerank": {"seeds": seeds}})
    engine = Engine(adapters, Recipes(settings).search_recipe)
    return await engine.answer(Ask(question, principal, strategy=strategy, cache=False))


def titles(turn: Turn, most: int = 5) -> list[str]:
    return [hit.chunk.title for hit in turn.hits[:most]]


async def test_given_a_question_of_two_steps_then_what_the_first_names_is_found_too(
    adapters: Adapters,
) -> None:
    question, needed = "Marlow House is part of an institution in which city?", "Ardent College"
    assert needed in titles(await searched(adapters, question))
    assert needed not in titles(await searched(adapters, question, seeds=0))


async def test_given_a_passage_that_only_points_back_then_it_is_found_too(
    adapters: Adapters,
) -> None:
    found = titles(await searched(adapters, "Who sang in the opera of 1911 in three acts?"))
    assert {"The Lantern (opera)", "Odette Marchetti"} <= set(found)


async def test_given_a_passage_that_the_asker_may_not_read_then_no_name_leads_to_it(
    adapters: Adapters,
) -> None:
    question = "In which city was the person born who gave Tern Pavilion to the town?"
    assert CLOSED in titles(await searched(adapters, question), 100)
    assert CLOSED not in titles(await searched(adapters, question, Principal()), 100)


async def test_given_a_passage_about_something_else_then_no_name_leads_back_to_it(
    adapters: Adapters,
) -> None:
    turn = await searched(adapters, "What does 1.txt say of Keldale?")
    assert titles(turn, 100) == ["Ardent College"]


async def test_given_a_title_that_the_question_says_then_it_comes_first(adapters: Adapters) -> None:
    turn = await searched(adapters, "Is Ardent College older than Brent University?")
    assert set(titles(turn, 2)) == {"Ardent College", "Brent University"}


@pytest.mark.parametrize("question", ["How many halls has Gale University?", "Who gave the pond?"])
async def test_given_any_question_then_the_first_keep_their_places_and_scores_fall(
    adapters: Adapters, question: str
) -> None:
    with_names = await searched(adapters, question)
    alone = await searched(adapters, question, seeds=0)
    assert titles(with_names, 1) == titles(alone, 1)
    scores = [hit.score for hit in with_names.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize("strategy", ["dense", "bm25"])
async def test_given_a_plain_strategy_then_its_order_is_left_alone(
    adapters: Adapters, strategy: Strategy
) -> None:
    turn = await searched(adapters, "Marlow House moved to which city?", strategy=strategy)
    assert "multi_hop" not in [item.stage for item in turn.trace]
