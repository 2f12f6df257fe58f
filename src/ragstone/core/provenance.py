"""What a stored turn was answered from, and who reads what came from it."""

import base64
import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from uuid import UUID

MAX_CHARS = 1_500
"""Characters of its text, which stands in indexes of databases."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a turn was answered from, its conversation included: the ids of collections, for each
    document that is not for everyone the groups of the asker that may read it, and the ids of
    documents, whose readers may be others by now."""

    collections: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    documents: tuple[str, ...] = ()

    def __or__(self, other: "Provenance") -> "Provenance":
        return Provenance(
            tuple(sorted({*self.collections, *other.collections})),
            tuple(sorted({*self.groups, *other.groups})),
            tuple(sorted({*self.documents, *other.documents})),
        )

    @property
    def text(self) -> str:
        """The same for the same origin, as stores keep it."""
        parts: list[object] = [self.collections, self.groups]
        if self.documents:
            parts.append(_pack(self.documents))
        return json.dumps(parts, separators=(",", ":"))

    def short(self) -> "Provenance":
        """The same if its text is short enough for an index; else one that fewer may read."""
        groups = replace(self, groups=tuple((group,) for group in sorted(set(chain(*self.groups)))))
        closed = self.groups or self.documents
        nobody = Provenance(self.collections, (("",),) if closed else ())
        shorter = (self, groups, nobody, replace(nobody, collections=("",)))
        return next(item for item in shorter if len(item.text) <= MAX_CHARS)

    @classmethod
    def read(cls, text: str) -> "Provenance | None":
        """Return the inverse; None for what an earlier version kept, or what cannot be read."""
        try:
            collections, groups, *more = json.loads(text)
            return cls(
                tuple(map(str, collections)),
                tuple(tuple(map(str, group)) for group in groups),
                _unpack(more[0]) if more else (),
            )
        except (ValueError, TypeError):
            return None


BYTES = 16
"""Of a document's id."""


def catalog_ids(ids: Iterable[str]) -> tuple[str, ...]:
    """Return those of these that are ids as the catalog and indexes give them; an external
    retriever has others."""
    found = set()
    for id in ids:
        with suppress(ValueError):
            found.add(str(UUID(id)))
    return tuple(sorted(found))


def _pack(ids: Iterable[str]) -> str:
    return base64.urlsafe_b64encode(b"".join(UUID(id).bytes for id in ids)).decode()


def _unpack(text: str) -> tuple[str, ...]:
    data = base64.urlsafe_b64decode(text)
    return tuple(
        str(UUID(bytes=data[start : start + BYTES])) for start in range(0, len(data), BYTES)
    )


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads what is kept of conversations: the names of the collections that it reaches, and
    its names as documents allow them. None is all."""

    collections: Collection[str] | None = None
    names: Collection[str] | None = None
