"""Answers what asks for a whole document from its tree of summaries, where it is too long to be
read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.chunk import (
    MADE,
    SUMMARY,
    Chunk,
    SummaryNode,
    TellingSentence,
    Tree,
    whole_trees,
)
from ragstone.core.document import STRUCK
from ragstone.core.filters import And, AnyOf, eq, reader_filter
from ragstone.core.records import Collection
from ragstone.core.turn import Hit, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.markers import MAX_NUMBER, neutralize_markers, renumber_markers
from ragstone.language.sentences import Span
from ragstone.language.tokens import Count, share_budget
from ragstone.plugins.graph.summaries.tree import (
    MIN_CHUNKS,
    excerpt_text,
    in_order,
    sentences_of_few,
)
from ragstone.ports import Adapters
from ragstone.recipes.stages import AddedStage, RecipeKey
from ragstone.retrieve.expand import narrow_chunk

AROUND = 15
"""Tokens that stand around each passage in a prompt."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A node as it is read: how deep it stands below the root, what it says, the chunks that the
    numbers in that name, and its best sentences, the best first."""

    depth: int
    text: str
    cited: tuple[int, ...]
    said: Sequence[TellingSentence]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be summed up of one document: the chunks that the asker may read, by their
    indexes, and the nodes of its tree, in their order at each depth."""

    chunks: Mapping[int, Chunk]
    nodes: Sequence[_Node]
    whole: bool

    @property
    def deepest(self) -> int:
        return max(node.depth for node in self.nodes)

    def nodes_at_depth(self, depth: int) -> list[_Node]:
        """Return the nodes so deep, or as deep as there are."""
        return [node for node in self.nodes if node.depth == min(depth, self.deepest)]


class Traverse(Stage):
    """From the roots of the trees down, level by level, as far as there is room. The passages are
    the sentences that the summaries consist of, each in its chunk, so that a citation leads to
    where it stands. Summaries of a chat model go to the answerer as they are, where that is a chat
    model too, with the chunks that they name.

    Only what the search has read is summed up: where a section is asked for, that section.
    """

    name: ClassVar[str] = "traverse"
    needs: ClassVar[frozenset[str]] = frozenset({"hits", "plan"})
    gives: ClassVar[frozenset[str]] = frozenset({"hits"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    context_tokens: int = Field(3000, ge=1, description="Most tokens of passages in one prompt.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        plan, collection = turn.plan, turn.collection
        if plan.tree == "off" or plan.strategy != "sequential" or not turn.hits:
            return Step(turn, "skipped", "nothing long is to be summed up")
        if collection is None:
            return Step(turn, "skipped", "the passages are of a retrieval service")
        share = share_budget(adapters.profile.context_window, adapters.profile.tier).passages
        room = share if adapters.chat else min(self.context_tokens, share)
        read = _read(turn)
        if _fits((chunk.text for own in read.values() for chunk in own.values()), room, adapters):
            return Step(turn, "skipped", "all of it is read at once")
        trees = await _trees(turn, collection, adapters, list(read))
        wanted = [
            one for name, own in read.items() if (one := _choose_wanted(own, trees.get(name)))
        ]
        if len(wanted) < len(read):
            return Step(turn, "skipped", f"{len(read) - len(wanted)} documents have no tree")
        if adapters.chat and (digested := _use_summary(turn, wanted, room, adapters.count)):
            return digested
        hits = list(_choose_hits(wanted, room, adapters.count))
        if not hits:
            return Step(turn, "skipped", "no sentence of it tells more than others")
        # In the order of reading: that of the documents, then of their chunks.
        turn = replace(turn, hits=tuple(hits), plan=replace(plan, excerpts=True))
        return Step(turn, f"{len(hits)} sentences of {len(wanted)} trees", "from the roots down")


def _read(turn: Turn) -> dict[str, dict[int, Chunk]]:
    """Return the chunks that the search has read of the documents that were found, by revision, in
    the documents' order."""
    found: dict[str, dict[int, Chunk]] = {}
    for hit in turn.hits:
        found.setdefault(hit.chunk.revision, {})[hit.chunk.chunk_index] = hit.chunk
    for chunk in turn.chunks.values():
        if chunk.revision in found and chunk.kind not in (*MADE, STRUCK):
            found[chunk.revision][chunk.chunk_index] = chunk
    order = sorted(found.items(), key=lambda item: (next(iter(item[1].values())).path, item[0]))
    return {name: dict(sorted(own.items())) for name, own in order}


def _fits(texts: Iterator[str], room: int, adapters: Adapters) -> bool:
    """Whether all texts have at most so many tokens together; no more are counted than needed."""
    for text in texts:
        room -= adapters.count(text)
        if room < 0:
            return False
    return True


async def _trees(
    turn: Turn, collection: Collection, adapters: Adapters, revisions: Sequence[str]
) -> Mapping[str, Tree]:
    """Return the complete trees of these versions, of which the asker may read all."""
    those = (AnyOf("revision", tuple(revisions)), eq("kind", SUMMARY))
    found: list[Chunk] = []
    async for batch in adapters.index.scan(
        collection, And((reader_filter(turn.ask.principal), *those))
    ):
        found += batch
    return whole_trees(found)


def _choose_wanted(own: Mapping[int, Chunk], tree: Tree | None) -> _Wanted | None:
    """Return what is wanted of a document; None for a long one without a tree."""
    if tree is None:
        if len(own) >= MIN_CHUNKS:
            return None
        said = sentences_of_few(list(own.values()))
        return _Wanted(own, [_Node(0, "", (), said)], True)
    root = tree[len(tree) - 1][0]
    whole = all(index in own for index in range(root.first, root.last + 1))
    nodes = [
        _Node(root.level - node.level, chunk.text, node.cited, _keep_sentences(node, own))
        for _, (node, chunk) in sorted(tree.items())
    ]
    return _Wanted(own, nodes, whole)


def _keep_sentences(node: SummaryNode, own: Mapping[int, Chunk]) -> list[TellingSentence]:
    return [sentence for sentence in node.said if sentence.chunk_index in own]


def _choose_hits(wanted: Sequence[_Wanted], room: int, count: Count) -> Iterator[Hit]:
    """The sentences of the upper nodes before those of lower ones, of each node the best before
    the next, as many as there is room for: where not all of a rank fit, some at equal distances."""
    ranked: dict[tuple[int, int], list[tuple[int, TellingSentence]]] = {}
    known: set[tuple[int, int]] = set()
    for place, document in enumerate(wanted):
        for depth in range(document.deepest + 1):
            for node in document.nodes_at_depth(depth):
                for rank, sentence in enumerate(node.said):
                    if (place, sentence.start) not in known:
                        known.add((place, sentence.start))
                        ranked.setdefault((depth, rank), []).append((place, sentence))
    chosen: dict[tuple[int, int], tuple[TellingSentence, float]] = {}
    for number, (_, group) in enumerate(sorted(ranked.items())):
        group.sort(key=lambda entry: (entry[0], entry[1].start))
        needed = [
            AROUND + count(excerpt_text(entry, wanted[place].chunks[entry.chunk_index]))
            for place, entry in group
        ]
        score = 1 - number / len(ranked)
        taken = _spread(needed, room)
        for at in taken:
            place, one = group[at]
            chosen[place, one.start] = one, score
            room -= needed[at]
        if len(taken) < len(group):
            break
    for (place, _), (sentence, score) in sorted(chosen.items(), key=lambda item: item[0]):
        chunk = wanted[place].chunks[sentence.chunk_index]
        span = Span(sentence.start - chunk.start, sentence.end - chunk.start)
        yield Hit(narrow_chunk(chunk, span), score)


def _spread(needed: Sequence[int], room: int) -> list[int]:
    """Which of a row of texts of so many tokens are taken: all, or some at equal distances."""
    if sum(needed) <= room:
        return list(range(len(needed)))
    most = min(len(needed), room * len(needed) // sum(needed))
    taken: list[int] = []
    for place in (number * len(needed) // most for number in range(most)):
        if needed[place] <= room:
            taken.append(place)
            room -= needed[place]
    return taken


def _use_summary(turn: Turn, wanted: Sequence[_Wanted], room: int, count: Count) -> Step | None:
    """Return the turn with what a chat model has said of the deepest level that there is room for,
    and the chunks that it names; None where no chat model did, or not of what is wanted alone."""
    if not all(item.whole for item in wanted) or not any(n.cited for w in wanted for n in w.nodes):
        return None
    best: list[tuple[int, str, list[int]]] | None = None
    for depth in range(max(item.deepest for item in wanted) + 1):
        texts = [
            (place, *_number_node(node, item.chunks))
            for place, item in enumerate(wanted)
            for node in item.nodes_at_depth(depth)
        ]
        if sum(count(text) for _, text, _ in texts) > room:
            break
        best = texts
    if best is None:
        return None
    named = list(dict.fromkeys((place, item) for place, _, cited in best for item in cited))
    number = {item: place for place, item in enumerate(named[:MAX_NUMBER], 1)}
    said = []
    for place, text, cited in best:
        new = {
            old: number[place, item] for old, item in enumerate(cited, 1) if (place, item) in number
        }
        said.append(renumber_markers(text, new))
    hits = tuple(Hit(wanted[place].chunks[item], 1.0) for place, item in number)
    turn = replace(turn, hits=hits, digest="\n\n".join(said))
    return Step(turn, f"{len(best)} summaries, {len(hits)} passages named", "from the roots down")


def _number_node(node: _Node, chunks: Mapping[int, Chunk]) -> tuple[str, list[int]]:
    """Return what a node says with numbers, and the chunks that these name, from 1."""
    if node.cited:
        return node.text, list(node.cited)
    said = in_order(node.said)
    lines = [
        f"{neutralize_markers(excerpt_text(item, chunks[item.chunk_index]))} [{number}]"
        for number, item in enumerate(said, 1)
    ]
    return "\n".join(lines), [item.chunk_index for item in said]


def _make(key: RecipeKey) -> Traverse | None:
    rag = key.settings.rag
    # What an agent has gathered is no document in order.
    if rag.tree == "off" or not key.answers_alone:
        return None
    return Traverse(context_tokens=rag.context_tokens)


PLACE = AddedStage(Traverse, before="assemble", make=_make)
