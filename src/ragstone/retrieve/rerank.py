"""Ranks the best candidates a second time, by a closer look at the question.

Passages for a question that one cannot answer: what the best ones name is looked for too.

A question of several steps names only where it begins: "Toad Hall is in a university of which
city?" finds Toad Hall, which names the university, whose own passage says the city and shares
hardly a word with the question. So the names that the best passages bring in are searched for by
words, together with those words of the question that the passage leaves unsaid, and a passage that
holds such a name is raised by three things: it is about the name (its title is that), it says what
is unsaid, and few others hold the name. Bridging entities are what HotpotQA (Yang et al., 2018) and
MuSiQue (Trivedi et al., 2022) call them; no model is asked, and one more search by words is made.

The first passages keep their places, so that a question that one passage answers loses nothing.
"""

import math
import re
from collections import Counter
from collections.abc import Collection as Several
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ragstone.core.chunk import Chunk
from ragstone.core.filters import CURRENT_TEXT, And
from ragstone.core.records import Collection
from ragstone.core.turn import PLAIN, Hit, Turn
from ragstone.engine.stage import Emit, Stage, Step, run_part
from ragstone.language.mentions import names
from ragstone.language.words import STOPWORDS, inverse_document_frequency, words
from ragstone.ports import Adapters, Judgement, Search
from ragstone.retrieve.penalties import score_share
from ragstone.retrieve.searching import visible
from ragstone.retrieve.subject import respect_subject

RERANKER_WEIGHT = 0.7
"""The share of the score for a model that reads question and passage together. The rest stays with
the search, as no model is better on every kind of text; late interaction has a share of its own."""


class Rerank(Stage):
    """Blends the reranker's scores with the fused ones, as much as the reranker trusts itself.

    Then passages about something else than the question names are left out or lowered (`subject`),
    and what the best of the rest name is looked for too (`multi_hop`). Where one of these fails,
    the others do their part.
    """

    name: ClassVar[str] = "rerank"
    needs: ClassVar[frozenset[str]] = frozenset({"hits", "plan", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"hits", "left_out"})
    fails: ClassVar[Literal["open", "closed"]] = "open"
    searches: ClassVar[bool] = True

    by: Literal["model", "reader"] = Field("model", description="What compares them.")

    timeout: float = Field(65.0, gt=0, description="Seconds that the stage may take.")
    editions: bool = Field(
        True, description="Whether other editions than the wanted one are left out or lowered."
    )

    seeds: int = Field(
        5, ge=0, le=20, description="The best passages whose names are followed; 0 for none."
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        step = await run_part(self, "reranker", turn, self._compare(turn, adapters))
        work = respect_subject(step.turn, adapters, self.editions)
        ranked = (await run_part(self, "subject", step.turn, work)).turn
        work = self._follow_names(ranked, adapters)
        return replace(step, turn=(await run_part(self, "multi_hop", ranked, work)).turn)

    async def _follow_names(self, turn: Turn, adapters: Adapters) -> Step:
        return await MultiHop(self.seeds).run(turn, adapters)

    async def _compare(self, turn: Turn, adapters: Adapters) -> Step:
        """Return the step with the scores of the reranker."""
        if not turn.plan.rerank or turn.collection is None or len(turn.hits) < 2:
            return Step(turn, "skipped", "the plan does not ask for it")
        best, rest = turn.hits[: turn.plan.reranked], turn.hits[turn.plan.reranked :]
        reranker = adapters.reranker
        if self.by == "reader" and adapters.reading_reranker is not None:
            reranker = adapters.reading_reranker
        judged = await reranker.judge(
            turn.collection, turn.queries[0], [hit.chunk for hit in best], turn.encoded
        )
        turn = replace(turn, usage=turn.usage + judged.usage)
        if not judged.weight:
            return Step(turn, "skipped", judged.reason)
        hits = (*_blend_scores(best, judged), *_scale_scores(rest, 1 - judged.weight))
        moved = sum(a.chunk is not b.chunk for a, b in zip(turn.hits[:10], hits, strict=False))
        return Step(
            replace(turn, hits=hits),
            f"{len(best)} candidates, {moved} of the first {min(10, len(hits))} moved",
            f"{reranker.name} has {judged.weight:.0%} of the score; {judged.reason}",
        )


def _blend_scores(hits: tuple[Hit, ...], judged: Judgement) -> list[Hit]:
    fused = np.array([hit.score for hit in hits])
    known = ~np.isnan(judged.scores)
    said = np.where(known, judged.scores, fused)
    kept = np.array([score_share(hit.chunk) for hit in hits])
    penalised = np.where(known, judged.scores * kept, fused)
    scores = (1 - judged.weight) * fused + judged.weight * penalised
    blended = [
        replace(hit, score=float(score), rerank=float(own) if sure else None)
        for hit, score, own, sure in zip(hits, scores, said, known, strict=True)
    ]
    return sorted(blended, key=lambda hit: (-hit.score, hit.chunk.chunk_id))


def _scale_scores(hits: tuple[Hit, ...], share: float) -> list[Hit]:
    """Return the hits that were not reranked, with their share of the score."""
    return [replace(hit, score=hit.score * share) for hit in hits]


NAMED = 0.35
"""What a passage gains whose title the question says, by the best score."""

ABOUT, UNSAID, RARE = 0.54, 1.2, 0.36
"""What a passage gains, by the best score, that is about a name that a better one brings in; that
says all that is unsaid; and that alone holds the name. Flat around these values
(`benchmarks/results/notes.md`)."""

KEPT = 3
"""The best passages that keep their places."""

MAX_FOUND = 8
"""Passages looked at for each that is followed."""

MAX_NAMES = 16
"""Names that are followed from one passage."""

_BRACKETS = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")
"""What tells things of one name apart at the end of a title."""


@dataclass(frozen=True, slots=True)
class MultiHop:
    """Looks for what the best passages name and the question does not, and raises passages that say
    what is still unsaid."""

    seeds: int
    """The best passages whose names are followed; 0 for none."""

    async def run(self, turn: Turn, adapters: Adapters) -> Step:
        """Return the part of the stage `rerank` that does so."""
        collection = turn.collection
        if collection is None or turn.plan.strategy in PLAIN or not turn.hits or not self.seeds:
            return Step(turn, "skipped", "what one search finds is wanted")
        question = _Question.of(turn.queries[0])
        hits = _with_named(question, turn.hits)
        seeds = [one for hit in hits[: self.seeds] if (one := _Seed.of(question, hit, hits))]
        if not seeds:
            return Step(replace(turn, hits=tuple(hits)), "skipped", "no passage names anything new")
        found = await self._search(turn, collection, adapters, seeds)
        ranked, raised = self._rank(hits, seeds, found)
        followed = list(dict.fromkeys(name for seed in seeds for name in seed.names))
        return Step(
            replace(turn, hits=tuple(ranked)),
            f"{raised} passages raised, {len(ranked) - len(hits)} of them new",
            f"{len(followed)} names followed",
        )

    async def _search(
        self, turn: Turn, collection: Collection, adapters: Adapters, seeds: Sequence["_Seed"]
    ) -> list[list[Chunk]]:
        """For every seed the chunks that share most words with what it brings in and leaves out;
        nothing that the asker may not read."""
        async with adapters.catalog.snapshot(collection) as hidden:
            where = And((visible(turn.ask, hidden), CURRENT_TEXT))
            searches = [Search(seed.query) for seed in seeds]
            lists = await adapters.index.search(collection, searches, where, MAX_FOUND)
            known = {hit.chunk.chunk_id: hit.chunk for hit in turn.hits}
            ids = dict.fromkeys(item.chunk_id for ranked in lists for item in ranked.found)
            new = [item for item in ids if item not in known and item not in turn.left_out]
            read = await adapters.index.fetch(collection, new) if new else {}
        chunks = known | {id: chunk.with_collection(collection.name) for id, chunk in read.items()}
        return [
            [chunks[s.chunk_id] for s in items.found if s.chunk_id in chunks] for items in lists
        ]

    def _rank(
        self, hits: Sequence[Hit], seeds: Sequence["_Seed"], found: Sequence[Sequence[Chunk]]
    ) -> tuple[list[Hit], int]:
        """Return the hits with what was found among them, and how many were raised."""
        pool = {chunk.chunk_id: chunk for chunks in found for chunk in chunks}
        said = {id: _chunk_words(chunk) for id, chunk in pool.items()}
        rarity = _rarity({word for seed in seeds for word in seed.unsaid}, said.values())
        best = max(hit.score for hit in hits)
        gains: dict[str, float] = {}
        for seed, chunks in zip(seeds, found, strict=True):
            for id, gain in seed.gains(chunks, said, rarity).items():
                gains[id] = max(gains.get(id, 0.0), gain * seed.hit.score)
        first, rest = list(hits[:KEPT]), hits[KEPT:]
        limit = min((hit.score for hit in first), default=best)
        stays = {hit.chunk.chunk_id for hit in first}
        known = {hit.chunk.chunk_id: hit for hit in rest}
        raised = [known.get(id, Hit(pool[id], 0.0)) for id in gains if id not in stays]
        scored = [(hit.score + gains[hit.chunk.chunk_id], hit) for hit in raised]
        scored += [(hit.score, hit) for hit in rest if hit.chunk.chunk_id not in gains]
        scored.sort(key=lambda item: (-item[0], item[1].chunk.chunk_id))
        return [*first, *(_rescore(hit, min(limit, score)) for score, hit in scored)], len(raised)


@dataclass(frozen=True, slots=True)
class _Question:
    """A question's words in order, with a space at either end, and those that carry meaning."""

    said: str
    content: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "_Question":
        """Read a question."""
        found = words(text)
        content = tuple(dict.fromkeys(word for word in found if word not in STOPWORDS))
        return cls(f" {' '.join(found)} ", content)

    def holds(self, name: str) -> bool:
        """Tell whether the question says all words of a name that carry meaning."""
        return _content(name) <= set(self.content)


@dataclass(frozen=True, slots=True)
class _Seed:
    """A passage that is followed: the names that it brings in and the question's words that it
    leaves unsaid, both as `language.words` compares them."""

    hit: Hit
    names: tuple[str, ...]
    unsaid: tuple[str, ...]

    @classmethod
    def of(cls, question: _Question, hit: Hit, hits: Sequence[Hit]) -> "_Seed | None":
        """Return what follows from a passage: its names by capitals, or where it has none the
        titles of `hits` that it says; None if all of them are the question's."""
        chunk = hit.chunk
        said = _chunk_words(chunk)
        written = (" ".join(words(item.text)) for item in names(chunk.text))
        if chunk.text == chunk.text.casefold():
            titles = (_title_words(other.chunk.title) for other in hits)
            written = (
                title for title in titles if len(_content(title)) > 1 and f" {title} " in said
            )
        named = dict.fromkeys((_title_words(chunk.title), *written))
        new = [name for name in named if _content(name) and not question.holds(name)]
        if not new:
            return None
        unsaid = tuple(word for word in question.content if f" {word} " not in said)
        return cls(hit, tuple(new[:MAX_NAMES]), unsaid)

    @property
    def query(self) -> str:
        """What is searched for by words."""
        return " ".join(dict.fromkeys((*self.unsaid, *" ".join(self.names).split())))

    def gains(
        self, chunks: Sequence[Chunk], said: Mapping[str, str], rarity: Mapping[str, float]
    ) -> dict[str, float]:
        """Return what each chunk of another document gains that holds one of the names."""
        held = {
            item.chunk_id: [name for name in self.names if f" {name} " in said[item.chunk_id]]
            for item in chunks
        }
        holders = Counter(name for some in held.values() for name in some)
        whole = sum(rarity.get(word, 1.0) for word in self.unsaid)
        gains = {}
        for chunk in chunks:
            mine = held[chunk.chunk_id]
            if not mine or chunk.document_id == self.hit.chunk.document_id:
                continue
            about = _title_words(chunk.title) in mine
            text = said[chunk.chunk_id]
            told = sum(rarity.get(word, 1.0) for word in self.unsaid if f" {word} " in text)
            rare = max(1 / (1 + math.log(holders[name])) for name in mine)
            gains[chunk.chunk_id] = (
                ABOUT * about + UNSAID * (told / whole if whole else 0.0) + RARE * rare
            )
        return gains


def _rescore(hit: Hit, score: float) -> Hit:
    return hit if hit.score == score else replace(hit, score=score)


def _with_named(question: _Question, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits, those raised whose title the question says."""
    best = max(hit.score for hit in hits)
    raised = [
        replace(hit, score=min(1.0, hit.score + NAMED * best))
        if _names_title(question, hit.chunk)
        else hit
        for hit in hits
    ]
    return sorted(raised, key=lambda hit: -hit.score)


def _names_title(question: _Question, chunk: Chunk) -> bool:
    title = _title_words(chunk.title)
    return len(_content(title)) > 1 and f" {title} " in question.said


@lru_cache(4096)
def _title_words(title: str) -> str:
    return _join_words(_BRACKETS.sub("", title)).strip()


@lru_cache(4096)
def _content(name: str) -> frozenset[str]:
    return frozenset(word for word in name.split() if word not in STOPWORDS)


def _chunk_words(chunk: Chunk) -> str:
    """Return the words of a chunk and its title in order, with a space at either end."""
    return _join_words(f"{chunk.heading}\n{chunk.text}")


@lru_cache(4096)
def _join_words(text: str) -> str:
    return f" {' '.join(words(text))} "


def _rarity(unsaid: Iterable[str], texts: Several[str]) -> dict[str, float]:
    """Tell how rare each of these words is among the texts; none of those that no text says."""
    held = {word: sum(f" {word} " in text for text in texts) for word in unsaid}
    return {
        word: inverse_document_frequency(len(texts), count) for word, count in held.items() if count
    }
