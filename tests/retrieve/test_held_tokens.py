"""Token vectors are read once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from ragstone.core.records import Collection
from ragstone.retrieve.held_tokens import HeldTokens

COLLECTION = Collection("default", "notes", "minilm", "f1", 384, "en")


class Index:
    """Has the vectors of every chunk but `none`."""

    def __init__(self) -> None:
        self.read: list[Sequence[str]] = []

    async def tokens(self, collection: Collection, ids: Sequence[str]) -> dict[str, bytes]:
        self.read.append(tuple(ids))
        return {text: f"{collection.fingerprint}{text}".encode() for text in ids if text != "none"}


def held(most: int = 1000) -> tuple[HeldTokens, Index]:
    index = Index()
    return HeldTokens(cast(Any, index), most), index


async def test_given_chunks_that_were_read_then_only_the_others_are() -> None:
    tokens, index = held()
    assert await tokens.of(COLLECTION, ["a", "none"]) == {"a": b"f1a"}
    assert await tokens.of(COLLECTION, ["a", "b"]) == {"a": b"f1a", "b": b"f1b"}
    assert await tokens.of(COLLECTION, ["b", "a"]) == {"a": b"f1a", "b": b"f1b"}
    assert index.read == [("a", "none"), ("b",)]


async def test_given_another_embedder_or_tenant_then_they_are_read_anew() -> None:
    tokens, _ = held()
    await tokens.of(COLLECTION, ["a"])
    other = replace(COLLECTION, fingerprint="f2")
    assert await tokens.of(other, ["a"]) == {"a": b"f2a"}


async def test_given_more_than_there_is_room_for_then_the_oldest_goes() -> None:
    tokens, index = held(most=6)
    for item in ("a", "b", "c", "c", "b", "a"):
        await tokens.of(COLLECTION, [item])
    assert index.read == [("a",), ("b",), ("c",), ("a",)]
