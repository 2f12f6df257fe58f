"""From a question over names to passages, and never over what the asker may not read."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragstone.core.chunk import EVERYONE
from ragstone.core.filters import EVERYTHING, And, AnyOf, Filter, Not, eq, matches, reader_filter
from ragstone.core.turn import Principal
from ragstone.plugins.graph.communities import can_be_made
from ragstone.plugins.graph.entity_graph import OF_OTHERS
from ragstone.store.sql.database import Database
from tests.databases import DatabaseOpener
from tests.knowledge.graph.graphs import EVA, Graphs, open_graphs

BOARD = Principal(user="ann", groups=("board",))


@pytest.fixture
async def graphs(state: Database, tmp_path: Path) -> AsyncIterator[Graphs]:
    async with open_graphs(state, tmp_path) as opened:
        yield opened


async def test_given_a_question_then_two_hops_over_names_lead_to_what_its_words_do_not(
    graphs: Graphs,
) -> None:
    await graphs.write("ship", "The ship Meridian was led by Ada Thornbury.")
    await graphs.write("person", "Then Ada Thornbury was born in Bergen.")
    await graphs.write("other", "The ship Aurora was led by Niels Holm.")
    await graphs.read()
    found = await graphs.related("Where was the captain of the Meridian born?")
    assert await graphs.places(found) == [("ship", 0), ("person", 0)]
    assert found[1].path == ("Meridian", "Ada Thornbury")


async def test_given_a_name_in_other_case_or_misspelt_then_it_is_the_same_entity(
    graphs: Graphs,
) -> None:
    await graphs.write("ship", "The ship Meridian was led by Ada Thornbury of NASA.")
    await graphs.read()
    for question in ("meridian?", "MERIDIAN", "What of Ada Thornburry?", "who works at nasa"):
        assert await graphs.documents(question) == ["ship"], question
    assert await graphs.documents("What of Zebedee?") == []


async def test_given_another_name_for_the_same_then_either_leads_to_both(graphs: Graphs) -> None:
    await graphs.write("a", "In it the World Health Organization (WHO) is named.")
    await graphs.write("b", "He works for WHO in Oslo.")
    await graphs.read()
    assert set(await graphs.documents("the World Health Organization")) == {"a", "b"}


@pytest.mark.parametrize(
    ("language", "texts", "question"),
    [
        (
            "zh",
            ("《红楼梦》的作者是曹雪芹。", "曹雪芹在南京。曹雪芹的家。"),
            "《红楼梦》的作者在哪里?",
        ),
        (
            "ko",
            ("삼성전자는 회장이 이재용. 삼성전자의 이재용은.", "이재용은 서울. 이재용의 집."),
            "삼성전자의 회장은?",
        ),
        (
            "de",
            ("Das Werk „Der Zauberberg“ ist von Thomas Mann.", "Dann zog Thomas Mann um."),
            "Wo lebte der Autor von „Der Zauberberg“?",
        ),
    ],
)
async def test_given_another_language_then_two_hops_lead_on(
    graphs: Graphs, language: str, texts: tuple[str, str], question: str
) -> None:
    for number, text in enumerate(texts):
        await graphs.write(f"d{number}", text, language=language)
    await graphs.read()
    assert await graphs.documents(question) == ["d0", "d1"]


async def test_given_what_was_found_then_its_names_lead_on_too(graphs: Graphs) -> None:
    await graphs.write("ship", "The ship Meridian was led by Ada Thornbury.")
    await graphs.write("person", "Then Ada Thornbury was born in Bergen.")
    await graphs.read()
    [ship] = [item.chunk_id for item in await graphs.related("Meridian", limit=1)]
    assert await graphs.documents("nothing that is named", found=[ship]) == ["ship", "person"]


async def test_given_an_entity_of_many_chunks_then_it_leads_nowhere(graphs: Graphs) -> None:
    await graphs.write("ship", "The ship Meridian lay in Oslo.")
    await graphs.write("many", *("They came to Oslo." for _ in range(OF_OTHERS)))
    await graphs.read()
    assert await graphs.documents("the Meridian") == ["ship"]
    assert set(await graphs.documents("Oslo")) == {"ship", "many"}


async def test_given_a_filter_then_neither_results_nor_ways_lie_outside_of_it(
    graphs: Graphs,
) -> None:
    await graphs.write("a", "The ship Meridian was led by Ada Thornbury.")
    await graphs.write("b", "Then Ada Thornbury met Niels Holm.", kind="glossary")
    await graphs.write("c", "Then Niels Holm went to Bergen.")
    await graphs.read()
    assert await graphs.documents("the Meridian") == ["a", "b"]
    found = await graphs.related("Ada Thornbury")
    assert await graphs.places(found) != []
    assert set(await graphs.documents("Ada Thornbury")) == {"a", "b", "c"}
    normal = eq("kind", "normal")
    assert set(await graphs.documents("Ada Thornbury", where=normal)) == {"a"}


async def test_given_a_way_over_what_may_not_be_read_then_it_is_none(graphs: Graphs) -> None:
    await graphs.write("a", "The ship Meridian was led by Ada Thornbury.")
    await graphs.write("b", "Then Ada Thornbury met Niels Holm.", allowed=("group:board",))
    await graphs.write("c", "Then Niels Holm went to Bergen.")
    await graphs.read()
    assert set(await graphs.documents("Ada Thornbury", BOARD)) == {"a", "b", "c"}
    assert await graphs.documents("Ada Thornbury") == ["a"]
    await graphs.write("b", "Then Ada Thornbury met Niels Holm.")
    await graphs.read()
    assert set(await graphs.documents("Ada Thornbury")) == {"a", "b", "c"}


NAMES = ("Ada Thornbury", "Niels Holm", "Oslo Harbour", "Blue Whale", "Meridian Line", "Eve Stone")
GROUPS = ("red", "green", "blue")
TEXTS = ("He saw {0} near {1}.", "Then {0} met {1} and {2}.", "All of {2} is of {0}.")


@pytest.mark.parametrize("seed", range(4))
async def test_given_any_documents_then_a_principal_finds_what_it_would_find_without_the_others(
    state: Database, open_state: DatabaseOpener, tmp_path: Path, seed: int
) -> None:
    r = random.Random(seed)
    principals = [
        Principal(user=r.choice("uvw"), groups=tuple(r.sample(GROUPS, r.randint(0, 2))))
        for _ in range(4)
    ]
    documents = []
    for number in range(14):
        texts = [r.choice(TEXTS).format(*r.sample(NAMES, 3)) for _ in range(r.randint(1, 3))]
        allowed = r.choice(
            [(EVERYONE,), (), (f"group:{r.choice(GROUPS)}",), (f"user:{r.choice('uvw')}",)]
        )
        documents.append((f"d{number}", texts, allowed))
    async with open_graphs(state, tmp_path / "all") as graphs:
        for id, texts, allowed in documents:
            await graphs.write(id, *texts, allowed=allowed)
        await graphs.read()
        for number, principal in enumerate(principals):
            folder = tmp_path / str(number)
            folder.mkdir()
            mine = [document for document in documents if set(principal.names) & set(document[2])]
            async with open_state(folder) as own, open_graphs(own, folder) as alone:
                for id, texts, allowed in mine:
                    await alone.write(id, *texts, allowed=allowed)
                await alone.read()
                assert await seen(graphs, principal) == await seen(alone, principal)


async def seen(graphs: Graphs, principal: Principal) -> list[object]:
    """All that a principal gets of a graph."""
    named = await graphs.mentions.most_named(graphs.collection, principal.names, 99)
    return [named, *[await graphs.related(name, principal) for name in NAMES]]


async def test_given_a_chunk_of_the_index_that_says_otherwise_then_the_index_decides(
    graphs: Graphs,
) -> None:
    await graphs.write("a", "The ship Meridian was led by Ada Thornbury.")
    await graphs.read()
    [chunk_id] = [item.chunk_id for item in await graphs.related("Meridian")]
    where = And((reader_filter(EVA), Not(AnyOf("document_id", ("a",)))))
    chunks = await graphs.index.fetch(graphs.collection, [chunk_id])
    assert not matches(where, chunks[chunk_id].payload())
    assert await graphs.related("Meridian", where=where) == []


@pytest.mark.skipif(not can_be_made(), reason="networkx is part of the extra `graph`")
async def test_given_a_filter_then_only_passages_inside_it_are_found_over_themes(
    graphs: Graphs,
) -> None:
    for number in range(4):
        await graphs.write(f"d{number}", f"So Ada Thornbury met Niels Holm in Bergen on {number}.")
    await graphs.write("secret", "So Ada Thornbury met Niels Holm in Bergen.", allowed=("user:x",))
    await graphs.read()

    async def themed(question: str, where: Filter) -> list[str]:
        inside = And((reader_filter(EVA), where))
        found = await graphs.graph.find_themed(
            graphs.collection, EVA.names, inside, [question], {}, 20
        )
        return sorted(document for document, _ in await graphs.places(found))

    everything = ["d0", "d1", "d2", "d3"]
    assert await themed("What of Ada Thornbury?", EVERYTHING) == everything
    assert await themed("What of Ada Thornbury?", eq("document_id", "d2")) == ["d2"]
    assert await themed("What of whales?", EVERYTHING) == []
