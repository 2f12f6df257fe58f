"""Answers a question as an equal one was answered before.

What a result depends on besides the question is its scope; only entries of one scope are compared.

Stores the search and the answer in the cache for the next equal question.
"""

import asyncio
import hashlib
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

from pydantic import Field

from ragstone import __version__
from ragstone.cache.same_question import Mode, compare, least
from ragstone.core.events import Checked, Sources, Token
from ragstone.core.records import Collection
from ragstone.core.turn import Recalled, Subquery, Turn
from ragstone.engine.stage import Emit, Stage, Step, own_texts
from ragstone.language.language import detect
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.ports import Adapters, Cache, Edition, Embedder, Kept, LateEmbedder, find_collection

ASKER = frozenset(
    {"question", "principal", "history", "room", "id", "cache", "user_id", "keeps", "collection_id"}
)
"""Fields of an Ask that change no result, or are in the scope in another form."""

ANSWER = frozenset({"temperature", "max_tokens", "stop", "guidance", "sampling", "json"})
"""Fields that change the answer but not the search. Every other field changes both."""


def scopes(
    turn: Turn, collection: Collection, edition: Edition, recipe: str, model: str
) -> tuple[str, str]:
    """Return the scopes of the whole answer and of what the search finds.

    Who asks is in them as the tenant and the names that open some document of the collection:
    principals who share these can read the same. The edition is another one as soon as a document
    that could have been used changes, so an entry is never found again after that. A collection
    is in them by its id: another name changes nothing, and another collection of its name has none.
    """
    ask = turn.ask
    asked = {field.name: getattr(ask, field.name) for field in fields(ask)}
    asked["collection"] = collection.id
    found: list[Any] = [
        __version__,
        recipe,
        ask.principal.tenant,
        edition.stamp,
        sorted(edition.readers.intersection(ask.principal.names)),
        sorted((name, repr(asked[name])) for name in asked.keys() - ASKER - ANSWER),
    ]
    answered = [model, sorted((name, repr(asked[name])) for name in ANSWER)]
    return _hash("answer", *found, *answered), _hash("search", *found)


def external_scope(turn: Turn, recipe: str, embedder: str) -> str:
    """Return the scope of what somebody else's retrieval service finds. It is told the tenant and
    the filters and nothing else of who asks, so it finds the same for all of a tenant; `recipe`
    holds its address, `embedder` the fingerprint of what compares the questions."""
    ask = turn.ask
    asked = sorted((field.name, repr(getattr(ask, field.name))) for field in fields(ask))
    asked = [(name, value) for name, value in asked if name not in ASKER | ANSWER]
    return _hash("external", __version__, recipe, embedder, ask.principal.tenant, asked)


def depends_on_history(turn: Turn) -> bool:
    """Tell whether the answer may depend on what was said before.

    The search does not: it reads the question alone.
    """
    return bool(turn.ask.history)


def _hash(*parts: Any) -> str:
    text = repr(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).hexdigest()


MAX_COMPARED = 20
"""The nearest questions that are compared word by word."""

_NO_COLLECTION = "there is no such collection"


class Recall(Stage):
    """Looks for a question of the same scope that asks the same: whose answer is this one's, or
    whose passages are. It is no more than a memory, so it fails open."""

    name: ClassVar[str] = "recall"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"recalled"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    timeout: float = Field(2.0, gt=0, description="Seconds that the stage may take.")
    recipe: str = Field("", description="Stands for all settings that a result depends on.")
    answers: bool = Field(True, description="Whether whole answers may be recalled.")
    mode: Mode = Field("adaptive", description="How alike two questions must be.")
    least: float = Field(0.0, ge=0, le=1, description="And at least so alike, in any mode.")
    external: bool = Field(
        False, description="Whether what a retrieval service finds is kept for an entry's time."
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        ask = turn.ask
        cache = adapters.cache
        if why_not := self._skip_reason(turn, adapters):
            return Step(turn, "skipped", why_not)
        told = sorted((await own_texts(turn, adapters)).items())
        recipe = f"{self.recipe} {self.answers} {adapters.reranker.name} {told}"
        if adapters.external_retriever is not None:
            embedder = adapters.embedders.choose(detect(turn.question) or "en")
            search = external_scope(turn, recipe, embedder.fingerprint)
            return await self._look(turn, cache, "", search, embedder, emit)
        collection = await find_collection(adapters.catalog, ask)
        if collection is None:
            return Step(turn, "skipped", _NO_COLLECTION)
        edition = await adapters.catalog.edition(collection.tenant, collection.id)
        if edition is None:
            return Step(turn, "skipped", _NO_COLLECTION)
        embedder = adapters.embedders.find_indexing(collection)
        answer, search = scopes(turn, collection, edition, recipe, adapters.answerer.name)
        if not self.answers or depends_on_history(turn):
            answer = ""
        turn = replace(turn, collection=collection)
        return await self._look(turn, cache, answer, search, embedder, emit)

    async def _look(
        self, turn: Turn, cache: Cache, answer: str, search: str, embedder: Embedder, emit: Emit
    ) -> Step:
        """Look in the scopes of the whole answer, empty for none, and of what a search finds."""
        if turn.subqueries:
            return await self._recall_each(turn, cache, search, embedder)
        found = await _take_exact(cache, answer or search, turn.question)
        if found:
            return await _recall_step(turn, found, Recalled(answer_scope=answer), emit)
        encoded = await _encode(embedder, turn.question)
        # What is found with the help of what was said before is not this question's alone.
        alone = len(turn.queries) == 1 and not depends_on_history(turn)
        kept = search if alone else ""
        recalled = Recalled(answer_scope=answer, search_scope=kept, encoded=encoded)
        for scope in filter(None, (answer, search)):
            found = await self._find_equal(cache, scope, turn.question, embedder, encoded)
            if found:
                return await _recall_step(turn, found, recalled, emit)
        await cache.count_miss()
        return Step(replace(turn, recalled=recalled), "unknown", "no equal question was asked")

    async def _recall_each(self, turn: Turn, cache: Cache, scope: str, embedder: Embedder) -> Step:
        """Return what the cache knows of each question of a message that asks several."""
        several = await asyncio.gather(
            *(
                self._recall_subquery(subquery, cache, scope, embedder)
                for subquery in turn.subqueries
            )
        )
        known = sum(item.cached for item in several)
        for _ in range(len(several) - known):
            await cache.count_miss()
        return Step(
            replace(turn, subqueries=tuple(several), recalled=Recalled(search_scope=scope)),
            f"{known} of {len(several)} questions" if known else "unknown",
        )

    async def _recall_subquery(
        self, subquery: Subquery, cache: Cache, scope: str, embedder: Embedder
    ) -> Subquery:
        found = await _take_exact(cache, scope, subquery.question)
        if found:
            return replace(subquery, hits=found.kept.hits, cached=True)
        encoded = await _encode(embedder, subquery.question)
        found = await self._find_equal(cache, scope, subquery.question, embedder, encoded)
        if found:
            return replace(subquery, hits=found.kept.hits, cached=True)
        return replace(subquery, encoded=encoded)

    def _skip_reason(self, turn: Turn, adapters: Adapters) -> str:
        """Tell why the cache is not searched for this question; empty if it is."""
        if not turn.ask.cache:
            return "the request wants a fresh answer"
        if adapters.external_retriever is not None and not self.external:
            return "a retrieval service does not say when its documents change"
        if not turn.whole:
            return "the question may mean something else in another conversation"
        return ""

    async def _find_equal(
        self, cache: Cache, scope: str, question: str, embedder: Embedder, encoded: EncodedQuestion
    ) -> "_CachedMatch | None":
        """Return the nearest entry with an equivalent question, and the likeness of the vectors."""
        unrelated = embedder.cosines[0]
        nearest = max(self.least, least(self.mode))
        cosine = unrelated + nearest * (1 - unrelated)
        for near in await cache.near(scope, encoded.vector, cosine, MAX_COMPARED):
            likeness = (near.cosine - unrelated) / (1 - unrelated)
            if compare(question, near.question, likeness, self.mode).same:
                kept = await cache.take(scope, near)
                if kept is not None and not _is_rejected(kept):
                    return _CachedMatch(near.question, likeness, kept)
        return None


@dataclass(frozen=True, slots=True)
class _CachedMatch:
    """The cached question, its likeness to the new one, and its entry."""

    question: str
    likeness: float
    kept: Kept


async def _take_exact(cache: Cache, scope: str, question: str) -> _CachedMatch | None:
    """Return the entry of a question in the same words; no vector is needed."""
    near = await cache.exact(scope, question)
    kept = await cache.take(scope, near) if near else None
    return _CachedMatch(question, 1.0, kept) if kept and not _is_rejected(kept) else None


def _is_rejected(kept: Kept) -> bool:
    """Tell whether its own check rejected the answer, which earlier versions kept all the same."""
    return kept.answer is not None and kept.answer.rejected


async def _recall_step(turn: Turn, found: _CachedMatch, recalled: Recalled, emit: Emit) -> Step:
    kept = found.kept
    content: Literal["answer", "search"] = "answer" if kept.answer else "search"
    said = replace(recalled, content=content, question=found.question, likeness=found.likeness)
    turn = replace(turn, recalled=said)
    # Not in its words: somebody else may have asked it.
    reason = f"asks the same as an earlier question, likeness {found.likeness:.3f}"
    if kept.answer is None:
        return Step(replace(turn, hits=kept.hits), f"{len(kept.hits)} passages", reason)
    await emit(Sources(kept.passages))
    await emit(Token(kept.answer.text))
    if kept.verdicts:
        await emit(Checked(kept.verdicts, kept.answer.groundedness_score))
    hits = tuple(passage.hit for passage in kept.passages)
    turn = replace(
        turn, hits=hits, passages=kept.passages, answer=kept.answer, verdicts=kept.verdicts
    )
    return Step(turn, "the whole answer", reason, leaves=True)


async def _encode(embedder: Embedder, question: str) -> EncodedQuestion:
    if isinstance(embedder, LateEmbedder):
        return await embedder.embed_question(question)
    return EncodedQuestion((await embedder.embed_queries([question]))[0])


async def remember(turn: Turn, adapters: Adapters, ttl: float) -> str:
    """Keep a whole answer and the passages of a question that the cache did not know.

    What was cut off, refused, made while a stage failed, answered by a model that stood by, or
    rejected by its own check is not kept. An entry lives `ttl` seconds after its last use.

    Returns:
        Why the answer is not kept; empty if it is.
    """
    recalled, cache = turn.recalled, adapters.cache
    if recalled is None:
        return "the cache was not asked"
    if any(traced.status in ("failed", "timeout") for traced in turn.trace):
        return "a stage failed"
    external = adapters.external_retriever is not None
    if external and turn.collection is not None:
        return "the local index stood by for the retrieval service"
    if turn.subqueries:
        await _keep_each(turn, recalled.search_scope, cache, ttl, not external)
        return "it answers several questions"
    if recalled.encoded is None:
        return "the cache was not asked"
    if recalled.search_scope and _is_searched(turn):
        found = Kept(
            turn.question, hits=turn.hits, seconds=turn.seconds, ttl=ttl, renews=not external
        )
        await cache.keep(recalled.search_scope, recalled.encoded.vector, found)
    if why := _reason_not_kept(turn, adapters):
        return why
    answered = Kept(
        turn.question,
        passages=turn.passages,
        answer=turn.answer,
        verdicts=turn.verdicts,
        seconds=turn.seconds,
        ttl=ttl,
    )
    await cache.keep(recalled.answer_scope, recalled.encoded.vector, answered)
    return ""


async def _keep_each(turn: Turn, scope: str, cache: Cache, ttl: float, renews: bool) -> None:
    """Keep what was found for each question of a message that asks several."""
    for item in turn.subqueries:
        if item.hits and not item.cached and item.encoded is not None:
            found = Kept(
                item.question, hits=item.hits, seconds=turn.seconds, ttl=ttl, renews=renews
            )
            await cache.keep(scope, item.encoded.vector, found)


def _is_searched(turn: Turn) -> bool:
    """Tell whether the hits come from a complete search for this question."""
    # A search ends with this stage; passages of an agent or a tree come without it.
    return bool(turn.hits) and any(traced.stage == "expand" for traced in turn.trace)


def _reason_not_kept(turn: Turn, adapters: Adapters) -> str:
    """Tell why the answer is not kept; empty if it is."""
    answer, recalled = turn.answer, turn.recalled
    if recalled is None or not recalled.answer_scope or recalled.content == "answer":
        return "the cache did not look for an answer, or has it"
    if answer is None or answer.finish != "stop" or answer.calls or not answer.text.strip():
        return "it is not a whole answer"
    if answer.rejected:
        return "the sources do not support it"
    return "" if answer.model == adapters.answerer.name else "another model stood by"
