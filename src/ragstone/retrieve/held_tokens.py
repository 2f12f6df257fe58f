"""Token vectors read from the index once, where several parts of one question want the same."""

from collections import OrderedDict
from collections.abc import Sequence

from ragstone.core.records import Collection
from ragstone.ports import ChunkIndex

MAX_BYTES = 32 * 1024 * 1024
"""The most bytes held: the chunks of the last questions."""

Key = tuple[str, str, str, str]


class HeldTokens:
    """Reads packed token vectors, and holds those that were read last.

    A chunk's id stands for one version of its text and the collection's fingerprint for one
    embedder, so a held value never becomes stale.
    """

    def __init__(self, index: ChunkIndex, most_bytes: int = MAX_BYTES) -> None:
        self._index = index
        self._most = most_bytes
        self._held: OrderedDict[Key, bytes] = OrderedDict()
        self._bytes = 0

    async def of(self, collection: Collection, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the packed vectors by chunk; the index may have none of some."""
        found = {text: self._held.get(_key(collection, text)) for text in ids}
        held = {item: packed for item, packed in found.items() if packed is not None}
        missing = [item for item in found if item not in held]
        read = await self._index.tokens(collection, missing) if missing else {}
        for item, packed in (held | read).items():
            self._keep(_key(collection, item), packed)
        return held | read

    async def find_pending(self, collection: Collection, ids: Sequence[str]) -> set[str]:
        """Return those of these chunks that an ingest has still to embed."""
        return set(ids) - (await self._index.vectors(collection, ids)).keys()

    def _keep(self, key: Key, packed: bytes) -> None:
        self._bytes += len(packed) - len(self._held.pop(key, b""))
        self._held[key] = packed
        while self._bytes > self._most:
            self._bytes -= len(self._held.popitem(last=False)[1])


def _key(collection: Collection, chunk_id: str) -> Key:
    return collection.tenant, collection.id, collection.fingerprint, chunk_id
