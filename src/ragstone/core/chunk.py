"""A piece of a document, as the index holds it and a question finds it.

A node of a document's tree of summaries, as the index holds it beside the document's chunks.

A node is a chunk of the kind "summary" with the revision, readers and metadata of its document, so
it comes and goes with that and is found by nobody else. Its text is what it says, its `start` and
`end` the stretch of the document that it sums up; all else of it is a `SummaryNode`, as JSON in the
chunk's `layout`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field, replace
from operator import attrgetter
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from ragstone.core.code_spans import delete_spans, span_marks
from ragstone.core.document import (
    BlockSpan,
    cut_blocks,
    decode_blocks,
    encode_blocks,
    find_missing_lead,
    join_blocks,
)

EVERYONE = "*"
"""The name that every principal of a tenant has."""

QUESTION = "question"
"""The kind of a hypothetical question, which helps to find the chunk that answers it and is not
text of its document."""

SUMMARY = "summary"
"""The kind of a node of a document's tree of summaries (`summary_node`)."""

MADE = (QUESTION, SUMMARY)
"""Kinds of what was made of a document and is not text of it."""

_VERSION = 14
"""Where an id, as of RFC 9562, has its version. Those of chunks are of version 5."""

_OF_QUESTIONS = "9abcde"
"""Versions that no id has: a question's id is that of its chunk but for the version, so that what
an index finds leads to the chunk without reading anything."""

_OF_SUMMARIES = "f"
"""Another one, so that it is known what a search finds."""

MAX_QUESTIONS = len(_OF_QUESTIONS)
"""Hypothetical questions of one chunk."""


def question_id(chunk_id: str, number: int) -> str:
    """Return the id of the question of this number, from 0, about a chunk."""
    return f"{chunk_id[:_VERSION]}{_OF_QUESTIONS[number]}{chunk_id[_VERSION + 1 :]}"


def answer_id(chunk_id: str) -> str:
    """Return the id of the chunk that a question is about; any other id as it is."""
    if len(chunk_id) == 36 and chunk_id[_VERSION] in _OF_QUESTIONS:
        return f"{chunk_id[:_VERSION]}5{chunk_id[_VERSION + 1 :]}"
    return chunk_id


def summary_id(document_id: str, version: int, number: int) -> str:
    """Return the same id for the same node of the tree of a version, so that writing it again
    replaces it."""
    made = str(uuid5(NAMESPACE_URL, f"{document_id}@{version}/summary#{number}"))
    return f"{made[:_VERSION]}{_OF_SUMMARIES}{made[_VERSION + 1 :]}"


def is_summary_id(chunk_id: str) -> bool:
    """Tell whether this is the id of a summary."""
    return len(chunk_id) == 36 and chunk_id[_VERSION] == _OF_SUMMARIES


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document, as the index holds it.

    `collection` is the collection's id in an index, and its name in what a question finds.
    `text` is exactly the document's text from `start` to `end`. `allowed` are principal names.
    `modified` is the document's time of change in seconds since 1970. `section` is the path of
    headings above the chunk. `kind` is normal, table, glossary, toc, credits, faq, struck, question
    or summary. `layout` holds `blocks` as text (`document.encode_blocks`): few chunks are looked at
    so closely that they are decoded. Of a summary it holds its node (`summary_node.SummaryNode`).
    `subject` is what the document is about and its title does not say: product, version, company,
    year, model.
    """

    chunk_id: str
    document_id: str
    version: int
    chunk_index: int
    text: str
    title: str
    path: str
    tenant: str
    collection: str
    start: int
    end: int
    page: int | None = None
    section: tuple[str, ...] = ()
    kind: str = "normal"
    language: str = ""
    media_type: str = ""
    modified: float = 0.0
    allowed: tuple[str, ...] = (EVERYONE,)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    layout: str = ""
    subject: str = ""

    @property
    def blocks(self) -> tuple[BlockSpan, ...]:
        """What `text` consists of, counted in it; none where that is not known."""
        return () if self.kind == SUMMARY else decode_blocks(self.layout)

    @property
    def revision(self) -> str:
        """The version of the document that this chunk belongs to, as one keyword."""
        return revision(self.document_id, self.version)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders above `path`, nearest last: `/a` and `/a/b` for `/a/b/c`."""
        parts = self.path.strip("/").split("/")[:-1]
        return tuple("/" + "/".join(parts[: i + 1]) for i in range(len(parts)))

    @property
    def heading(self) -> str:
        """Title and section, the context that the embedding and BM25 see before the text."""
        return " > ".join(dict.fromkeys(part for part in (self.title, *self.section) if part))

    @property
    def searchable(self) -> str:
        """What is embedded and tokenized: subject, heading, captions of tables, what introduces
        the list that the text begins in, then the text without the marks of code."""
        captions = dict.fromkeys(block.label for block in self.blocks if block.kind == "table")
        lead = find_missing_lead(self.text, self.blocks, 0, len(self.text)).split("\n")
        context = " > ".join(p for p in (self.subject, self.heading, *captions, *lead) if p)
        text = delete_spans(self.text, self.code_marks())
        return f"{context}\n{text}" if context else text

    def code_marks(self) -> Iterator[tuple[int, int]]:
        """Yield where the marks of code spans stand in the text, in order; code blocks have none,
        nor has a text whose blocks are not known."""
        for block in self.blocks if "`" in self.text else ():
            if block.kind != "code":
                yield from span_marks(self.text, block.start, block.end)

    def with_collection(self, name: str) -> "Chunk":
        """The chunk with the name of its collection instead of the id, as a question finds it.

        A question does this for a hundred chunks, and `replace` takes three times as long.
        """
        values: list[Any] = [*_BEFORE_COLLECTION(self), name, *_AFTER_COLLECTION(self)]
        return Chunk(*values)

    def payload(self) -> dict[str, Any]:
        """Return every field as JSON values, with the derived ones that filters use."""
        data: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        data["metadata"] = dict(self.metadata)
        for name in ("section", "allowed"):
            data[name] = list(data[name])
        data["revision"] = self.revision
        data["folders"] = list(self.folders)
        return data

    @classmethod
    def from_payload(cls, data: Mapping[str, Any]) -> "Chunk":
        """Return the inverse of `payload`; unknown fields are ignored."""
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        for name in ("section", "allowed"):
            if name in known:
                known[name] = tuple(known[name])
        return cls(**known)


_FIELDS = tuple(Chunk.__dataclass_fields__)
_BEFORE_COLLECTION = attrgetter(*_FIELDS[: _FIELDS.index("collection")])
_AFTER_COLLECTION = attrgetter(*_FIELDS[_FIELDS.index("collection") + 1 :])


def join_chunks(chunks: Iterable[Chunk]) -> tuple[str, tuple[BlockSpan, ...]]:
    """Return the text of chunks of one document in their order, and its blocks, none where those of
    a chunk are not known: text that two share stands once, and what was left out between them is
    space again."""
    parts, length, known = list[str](), 0, True
    blocks: list[BlockSpan] = []
    last: Chunk | None = None
    for chunk in chunks:
        if last and chunk.end <= last.end:
            continue
        space = _separator(last, chunk) if last else ""
        shared = max(0, last.end - chunk.start) if last else 0
        length += len(space)
        own = cut_blocks(chunk.blocks, shared, len(chunk.text), length)
        if blocks and own:
            own = (*join_blocks([blocks.pop()], own[:1]), *own[1:])
        blocks += own
        known = known and bool(chunk.blocks)
        parts += [space, chunk.text[shared:]]
        length += len(parts[-1])
        last = chunk
    return "".join(parts), tuple(blocks) if known else ()


def merge_chunks(first: Chunk, second: Chunk) -> Chunk:
    """Return two chunks of one document as one, which begins as the first."""
    text, blocks = join_chunks((first, second))
    return replace(first, text=text, end=max(first.end, second.end), layout=encode_blocks(blocks))


def _separator(first: Chunk, second: Chunk) -> str:
    """Join by line ends, but for the space at which a sentence was parted from the next one."""
    missing = second.start - first.end
    if missing != 1 or not first.blocks or not second.blocks:
        return "\n" * missing
    before, after = first.blocks[-1], second.blocks[0]
    new_item = after.kind == "item" and second.text.startswith(after.label or " ")
    return " " if before.kind == after.kind and not new_item else "\n"


def chunk_id(document_id: str, version: int, number: int) -> str:
    """Return the same id for the same place in a version, so that writing it again replaces it."""
    return str(uuid5(NAMESPACE_URL, f"{document_id}@{version}#{number}"))


def revision(document_id: str, version: int) -> str:
    """Return the keyword that names one version of one document."""
    return f"{document_id}@{version}"


@dataclass(frozen=True, slots=True)
class TellingSentence:
    """A sentence of a document, by its chunk and its place in the document's text."""

    chunk_index: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SummaryNode:
    """What is known of a node besides its text.

    `number` counts the nodes of a tree of `count` from 0, those of the lowest level first: the root
    is the last. `level` is 1 above chunks. It sums up the chunks `first` to `last`, by the nodes
    `children` above the lowest level. `said` are the sentences that tell most of it, best first, at
    most one of each child. `cited` are the chunks that the numbers in its text name, from 1; a text
    of the document's own sentences has no numbers, and none is cited. `recipe` is of what the tree
    was made, the same in all nodes of one; `key` is the hash of what a chat model was shown, empty
    where none made the text.
    """

    number: int
    count: int
    level: int
    first: int
    last: int
    children: tuple[int, ...]
    said: tuple[TellingSentence, ...]
    recipe: str
    cited: tuple[int, ...] = ()
    key: str = ""

    def encode(self) -> str:
        """As JSON; see `decode`."""
        return json.dumps(astuple(self), separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "SummaryNode":
        """Return the inverse of `encode`."""
        number, count, level, first, last, children, said, recipe, cited, key = json.loads(text)
        return cls(
            number,
            count,
            level,
            first,
            last,
            tuple(children),
            tuple(TellingSentence(*item) for item in said),
            recipe,
            tuple(cited),
            key,
        )


Tree = Mapping[int, tuple[SummaryNode, Chunk]]
"""The nodes of one tree by number, each with the chunk that holds it."""


def whole_trees(chunks: Iterable[Chunk]) -> dict[str, Tree]:
    """Return the trees that are complete among the nodes in `chunks`, by revision: one that is
    being written is not, nor is one of which an earlier one has left something."""
    found: dict[str, dict[int, tuple[SummaryNode, Chunk]]] = {}
    for chunk in chunks:
        if chunk.kind == SUMMARY:
            node = SummaryNode.decode(chunk.layout)
            found.setdefault(chunk.revision, {})[node.number] = (node, chunk)
    return {item: tree for item, tree in found.items() if _is_whole(tree)}


def _is_whole(tree: Tree) -> bool:
    made = {(node.recipe, node.count) for node, _ in tree.values()}
    return len(made) == 1 and len(tree) == next(iter(made))[1]
