"""A walk over entities and chunks: near before far, rare before frequent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.plugins.graph.entities import EntityMention
from ragstone.plugins.graph.walk import same_entities, walk_graph


def mention(chunk: int, entity: str, count: int = 1, same: str = "") -> EntityMention:
    return EntityMention("d@1", chunk, entity, entity.title(), "name", count, same)


def ids(*chunks: int) -> dict[tuple[str, int], str]:
    return {("d@1", chunk): f"c{chunk}" for chunk in chunks}


CHAIN = [
    mention(0, "meridian"),
    mention(1, "meridian"),
    mention(1, "thornbury"),
    mention(2, "thornbury"),
    mention(2, "oslo"),
    mention(3, "oslo"),
]


def test_given_a_chain_of_names_then_nearer_chunks_come_first_with_the_way_to_them() -> None:
    found = walk_graph(CHAIN[:-1], {"meridian": 1.0}, {}, ids(0, 1, 2))
    assert {item.chunk_id: item.path for item in found} == {
        "c0": ("Meridian",),
        "c1": ("Meridian",),
        "c2": ("Meridian", "Thornbury"),
    }
    assert found[-1].chunk_id == "c2"
    assert sum(item.score for item in found) == pytest.approx(1)


def test_given_nothing_to_begin_at_then_nothing_is_found() -> None:
    assert walk_graph(CHAIN, {}, {}, ids(0, 1, 2, 3)) == []
    assert walk_graph([], {"meridian": 1.0}, {}, {}) == []


def test_given_a_chunk_that_was_found_then_what_it_names_leads_on() -> None:
    found = walk_graph(CHAIN, {}, {("d@1", 3): 1.0}, ids(0, 1, 2, 3))
    assert [item.chunk_id for item in found][:2] == ["c3", "c2"]


def test_given_a_frequent_and_a_rare_entity_then_the_rare_one_leads() -> None:
    frequent = [mention(chunk, "england") for chunk in range(10)]
    rare = [mention(0, "rudder bolt"), mention(10, "rudder bolt")]
    found = walk_graph([*frequent, *rare], {}, {("d@1", 0): 1.0}, ids(*range(11)))
    assert [item.chunk_id for item in found][:2] == ["c0", "c10"]


def test_given_names_for_the_same_then_they_are_one_entity() -> None:
    alike = [
        mention(0, "world health organization", same="WHO"),
        mention(0, "WHO", same="world health organization"),
        mention(1, "WHO"),
    ]
    assert len(set(same_entities(alike).values())) == 1
    found = walk_graph(alike, {"world health organization": 1.0}, {}, ids(0, 1))
    assert {item.chunk_id for item in found} == {"c0", "c1"}


CHUNKS, NAMES = st.integers(0, 6), st.sampled_from(["a", "b", "c", "d"])
EDGES = st.dictionaries(st.tuples(CHUNKS, NAMES), st.integers(1, 5), max_size=20)


@given(EDGES, st.sets(CHUNKS), st.dictionaries(NAMES, st.floats(0.1, 1)))
def test_given_any_mentions_then_chunks_that_may_not_be_read_have_no_part(
    edges: dict[tuple[int, str], int], readable: set[int], named: dict[str, float]
) -> None:
    every = [mention(chunk, name, count) for (chunk, name), count in edges.items()]
    own = [item for item in every if item.chunk_index in readable]
    assert walk_graph(every, named, {}, ids(*readable)) == walk_graph(
        own, named, {}, ids(*readable)
    )


@given(EDGES, st.dictionaries(NAMES, st.floats(0.1, 1), min_size=1), st.randoms())
def test_given_mentions_in_any_order_then_the_walk_is_the_same(
    edges: dict[tuple[int, str], int], named: dict[str, float], random: object
) -> None:
    every = [mention(chunk, name, count) for (chunk, name), count in edges.items()]
    mixed = list(every)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    here = ids(*range(7))
    assert walk_graph(mixed, named, {}, here) == walk_graph(every, named, {}, here)
