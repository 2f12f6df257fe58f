"""Themes are communities of what is named together; they hold what they were made of, and nothing
depends on the order in which it was read."""

import random

import pytest

from ragstone.plugins.graph.communities import communities, own_sentences
from ragstone.plugins.graph.entities import EntityMention, EntityRelation
from tests.knowledge.graph.graphs import a_chunk

SEA = ("meridian", "ada thornbury", "bergen harbour", "rudder bolt")
SKY = ("observatory", "niels holm", "comet", "telescope")


def mentions(revision: str, chunk: int, *names: str) -> list[EntityMention]:
    return [EntityMention(revision, chunk, name, name.title(), "name") for name in names]


def two_worlds() -> list[EntityMention]:
    found: list[EntityMention] = []
    for number in range(4):
        found += mentions("a@1", number, *SEA[: 2 + number % 3], "england")
        found += mentions("b@1", number, *SKY[: 2 + number % 3], "england")
    return found


def test_given_two_worlds_then_each_is_a_theme_of_its_own_passages() -> None:
    themes = communities(two_worlds(), [], '["*"]')
    by_revisions = {theme.revisions: theme for theme in themes}
    assert {"meridian", "ada thornbury"} <= {e.entity for e in by_revisions["a@1",].entities}
    assert {"observatory", "niels holm"} <= {e.entity for e in by_revisions["b@1",].entities}
    assert all(len(theme.passages) >= 2 and theme.audience == '["*"]' for theme in themes)


def test_given_mentions_in_any_order_then_the_themes_are_the_same() -> None:
    every = two_worlds()
    told = [EntityRelation("a@1", 0, "meridian", "ada thornbury", "led by")]
    first = communities(every, told, "x")
    for seed in range(5):
        mixed = list(every)
        random.Random(seed).shuffle(mixed)
        assert communities(mixed, told, "x") == first


def test_given_relations_then_what_they_join_is_one_theme() -> None:
    joined = ("meridian", "observatory", "niels holm")
    every = two_worlds() + mentions("a@1", 9, *joined)

    def together(told: list[EntityRelation]) -> bool:
        themes = communities(every, told, "x")
        return any({*joined} <= {e.entity for e in theme.entities} for theme in themes)

    told = [
        EntityRelation("a@1", 9, "meridian", other, f"sees {number}")
        for number in range(40)
        for other in joined[1:]
    ]
    assert not together([])
    assert together(told)


@pytest.mark.parametrize("few", [[], mentions("a@1", 0, *SEA), mentions("a@1", 0, "one", "two")])
def test_given_too_little_then_there_is_no_theme(few: list[EntityMention]) -> None:
    assert communities(few, [], "x") == []


def test_given_other_passages_or_readers_then_the_theme_is_another_one() -> None:
    one = communities(two_worlds(), [], "x")
    other = communities([m for m in two_worlds() if m.chunk_index != 3], [], "x")
    foreign = communities(two_worlds(), [], "y")
    ids = {theme.id for theme in (*one, *other, *foreign)}
    assert len(ids) == len(one) + len(other) + len(foreign)


def test_given_passages_then_the_summary_is_of_their_own_sentences() -> None:
    texts = [
        "The ship Meridian left Bergen with Ada Thornbury on board. It rained.",
        "Ada Thornbury steered the ship Meridian back to Bergen in March. Nobody slept.",
        "The ship Meridian was sold in Bergen after Ada Thornbury had died there.",
    ]
    summary = own_sentences([a_chunk(text, document_id=text[:5]) for text in texts])
    assert summary
    assert all(
        any(part.strip() in text for text in texts) for part in summary.split(". ") if part.strip()
    )
