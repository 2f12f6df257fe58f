"""Who may read a document: everyone, single users, and groups, by their names; and why.

What a stored turn was answered from, and who reads what came from it.
"""

import base64
import json
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal
from uuid import UUID

from ragstone.core.chunk import EVERYONE
from ragstone.core.errors import InputError


def parse_readers(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the readers that texts such as "group:hr,user:ada" and "everyone" name, each once.

    Raises InputError for a text that names none.
    """
    names = [name.strip() for text in texts for name in text.split(",")]
    readers = tuple(dict.fromkeys(EVERYONE if name == "everyone" else name for name in names))
    check_readers(readers)
    return readers


def check_readers(readers: object) -> None:
    """Raise InputError unless this is a list of names of readers; an empty one names nobody, and
    leaves them as they are."""
    if isinstance(readers, str) or not isinstance(readers, Iterable):
        raise InputError(f"Not a valid list of readers: {str(readers)[:100]!r}. {_NAMES}")
    for name in readers:
        if not _is_reader(name):
            raise InputError(f"Not a valid reader: {str(name)[:100]!r}. {_NAMES}")


_NAMES = "Use '*' for everyone, 'user:NAME' or 'group:NAME'."


MAX_CHARS = 1_000
"""Characters of a reader's name."""


def _is_reader(name: object) -> bool:
    if not isinstance(name, str) or len(name) > MAX_CHARS:
        return False
    # They would break lines of headers and logs, where names stand.
    if any(unicodedata.category(char) == "Cc" for char in name):
        return False
    kind, _, of = name.partition(":")
    return name == EVERYONE or (kind in ("user", "group") and bool(of.strip()))


@dataclass(frozen=True, slots=True)
class FolderReaders:
    """The readers that a folder of a collection gives to what is in it or deeper.

    `folder` is a path in the collection, empty for the collection itself, whose readers are those
    of documents of which nothing else is said. `file` is where the folder's ragstone.yaml stands,
    empty for readers that an administrator has set; those hold instead of all that files of this
    folder and of folders above say. No `readers` are as if there were no rule.
    """

    folder: str
    readers: tuple[str, ...]
    file: str = ""


ReasonKind = Literal["document", "told", "folder", "file", "collection", "default"]


@dataclass(frozen=True, slots=True)
class ReadersReason:
    """Something that says who may read a document, and whom.

    `kind`: document (an administrator has set them for it), told (they were given with it when it
    came in), folder (set for the folder `place`), file (of the ragstone.yaml in `place`),
    collection (its default), default (nothing was said: everyone).
    """

    kind: ReasonKind
    readers: tuple[str, ...]
    place: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedReaders:
    """Who may read a document, and why: whom each of the `reasons` in turn let remain."""

    allowed: tuple[str, ...]
    reasons: tuple[ReadersReason, ...]


def resolve_readers(
    path: str, own: tuple[str, ...], fixed: bool, rules: Sequence[FolderReaders]
) -> ResolvedReaders:
    """Find out who may read the document at `path`.

    Args:
        path: Its path in the collection.
        own: The readers that it was given itself, none if none were.
        fixed: An administrator has set them, so they hold whatever its folders say.
        rules: Those of the collection.

    Returns:
        The readers, nobody where a folder and what is in it have no name in common. Files only take
        away: what a ragstone.yaml says holds within what the folders above say, and what was told
        of the document within all of those. So neither a copied folder nor a careless
        `--readers everyone` opens what was closed.
    """
    if fixed and own:
        return ResolvedReaders(own, (ReadersReason("document", own),))
    said = {(rule.folder, bool(rule.file)): rule for rule in rules if rule.readers}
    allowed: tuple[str, ...] = ()
    reasons: list[ReadersReason] = []
    for folder in list_folders(path) if said else ():
        if rule := said.get((folder, False)):
            allowed, reasons = rule.readers, [ReadersReason("folder", rule.readers, folder)]
        elif rule := said.get((folder, True)):
            allowed = intersect_readers(allowed, rule.readers) if reasons else rule.readers
            reasons.append(ReadersReason("file", rule.readers, folder))
    if own:
        allowed = intersect_readers(allowed, own) if reasons else own
        reasons.append(ReadersReason("told", own))
    if not reasons:
        rule = said.get(("", False))
        allowed = rule.readers if rule else (EVERYONE,)
        reasons.append(ReadersReason("collection" if rule else "default", allowed))
    return ResolvedReaders(allowed, tuple(reasons))


def normalize_folder(folder: str) -> str:
    """Return the path of a folder of a collection, empty for the collection itself."""
    place = folder.strip("/")
    return f"/{place}" if place else ""


def list_folders(path: str) -> list[str]:
    """The folders above a path, the outermost first, and the path itself, which may be one."""
    parts = path.strip("/").split("/")
    return ["/" + "/".join(parts[: number + 1]) for number in range(len(parts))]


def is_subset(readers: Iterable[str], others: Iterable[str]) -> bool:
    """Tell whether these let in nobody whom the others do not."""
    held = set(others)
    return EVERYONE in held or held.issuperset(readers)


def intersect_readers(outer: Sequence[str], inner: Sequence[str]) -> tuple[str, ...]:
    """Return the names that both let in."""
    # Everyone within the outer ones is the outer ones.
    if EVERYONE in inner:
        return tuple(outer)
    return tuple(name for name in inner if EVERYONE in outer or name in outer)


LONGEST_NAMES = 1_500
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
        return next(item for item in shorter if len(item.text) <= LONGEST_NAMES)

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
