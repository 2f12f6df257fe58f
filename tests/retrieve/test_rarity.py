"""Rarity: what is in every chunk is worth little, what is in few is worth much."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.ports import ChunkIndex
from ragstone.retrieve.sampled_rarity import Rarity, SampledRarity
from tests.engine.samples import a_chunk
from tests.hashing import HashingEmbedder, OneEmbedder

COMMON, RARE, UNSEEN = 1, 2, 3
SAMPLE = Rarity.of([[COMMON, COMMON, RARE], *([[COMMON]] * 999)])


def test_given_a_sample_then_rarer_tokens_have_higher_idf() -> None:
    common, rare, unseen = SAMPLE.idf([COMMON, RARE, UNSEEN])
    assert 0 <= common < 0.01
    assert common < rare < unseen


def test_given_rare_tokens_then_the_question_is_specific_and_else_topical() -> None:
    assert SAMPLE.specificity([RARE, UNSEEN]) == 1
    assert SAMPLE.specificity([COMMON] * 5) == 0
    assert 0 < SAMPLE.specificity([COMMON, COMMON, RARE]) < 1


def test_given_nothing_to_count_then_the_question_is_taken_as_specific() -> None:
    assert SAMPLE.specificity([]) == 1
    assert Rarity.of([]).specificity([RARE]) == 1


@given(
    st.lists(st.lists(st.integers(0, 20), max_size=8), max_size=30), st.lists(st.integers(0, 25))
)
def test_specificity_lies_in_0_to_1(texts: list[list[int]], asked: list[int]) -> None:
    assert 0 <= Rarity.of(texts).specificity(asked) <= 1


@pytest.mark.parametrize("sampled", [1, 10, 1000])
def test_given_a_token_in_every_text_then_its_idf_is_near_0(sampled: int) -> None:
    assert Rarity.of([[COMMON]] * sampled).idf([COMMON])[0] < 0.3


@pytest.mark.parametrize(
    ("counts", "languages"),
    [
        ({}, set()),
        ({"": 5}, set()),
        ({"en": 99, "de": 1}, {"en", "de"}),
        ({"en": 500, "de": 300, "is": 3}, {"en", "de"}),
    ],
)
async def test_the_languages_are_those_of_more_than_a_few_passages(
    counts: dict[str, int], languages: set[str]
) -> None:
    chunks = [a_chunk("x", language=name) for name, count in counts.items() for _ in range(count)]

    async def scan(*_: Any, **__: Any) -> AsyncIterator[list[Chunk]]:
        if chunks:
            yield chunks

    embedder = HashingEmbedder()
    index = cast(ChunkIndex, SimpleNamespace(scan=scan))
    collection = Collection("default", "c", embedder.name, embedder.fingerprint, 32, "mul")
    assert await SampledRarity(index, OneEmbedder(embedder)).languages(collection) == languages
