"""A node of a document's tree of summaries, as the index holds it beside the document's chunks.

A node is a chunk of the kind "summary" with the revision, readers and metadata of its document, so
it comes and goes with that and is found by nobody else. Its text is what it says, its `start` and
`end` the stretch of the document that it sums up; all else of it is a `SummaryNode`, as JSON in the
chunk's `layout`.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass

from ragstone.core.chunk import SUMMARY, Chunk


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
