"""What a stored turn was answered from, and who reads what came from it."""

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import chain

LONGEST = 600
"""Characters of its text, which stands in indexes of databases."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a turn was answered from, its conversation included: the ids of collections, and for
    each document that is not for everyone the groups of the asker that may read it."""

    collections: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()

    def __or__(self, other: "Provenance") -> "Provenance":
        return Provenance(
            tuple(sorted({*self.collections, *other.collections})),
            tuple(sorted({*self.groups, *other.groups})),
        )

    @property
    def text(self) -> str:
        """The same for the same origin, as stores keep it."""
        return json.dumps([self.collections, self.groups], separators=(",", ":"))

    def short(self) -> "Provenance":
        """The same if its text is short enough for an index; else one that fewer may read."""
        groups = Provenance(
            self.collections, tuple((one,) for one in sorted(set(chain(*self.groups))))
        )
        nobody = Provenance(self.collections, (("",),) if self.groups else ())
        shorter = (self, groups, nobody, replace(nobody, collections=("",)))
        return next(one for one in shorter if len(one.text) <= LONGEST)

    @classmethod
    def of(cls, text: str) -> "Provenance | None":
        """The inverse; None for what an earlier version kept, or what cannot be read."""
        try:
            collections, groups = json.loads(text)
            return cls(tuple(map(str, collections)), tuple(tuple(map(str, one)) for one in groups))
        except (ValueError, TypeError):
            return None


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads what is kept of conversations: the names of the collections that it reaches, and
    its names as documents allow them. None is all."""

    collections: Collection[str] | None = None
    names: Collection[str] | None = None
