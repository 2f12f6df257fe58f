"""Answers a question as an equal one was answered before."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.events import Checked, Sources, Token
from ragstone.ports import Cache, Embedder, Kept, Kit, LateEmbedder, Near
from ragstone.stage import Emit, Stage, Step
from ragstone.stages.caching import depends_on_history, scopes
from ragstone.text.late_interaction import EncodedQuestion
from ragstone.text.same_question import Mode, compare, least
from ragstone.turn import Recalled, Turn

COMPARED = 20
"""The nearest questions that are compared word by word."""


class Recall(Stage):
    """Looks for a question of the same scope that asks the same: whose answer is this one's, or
    whose passages are. It is no more than a memory, so it fails open."""

    name: ClassVar[str] = "recall"
    needs: ClassVar[frozenset[str]] = frozenset({"question"})
    gives: ClassVar[frozenset[str]] = frozenset({"recalled"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    timeout: float = Field(2.0, gt=0, description="Seconds that the stage may take.")
    recipe: str = Field("", description="Stands for all settings that a result depends on.")
    answers: bool = Field(True, description="Whether whole answers may be recalled.")
    mode: Mode = Field("adaptive", description="How alike two questions must be.")

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        ask = turn.ask
        if kit.cache is None or kit.elsewhere is not None or not ask.cache:
            return Step(turn, "skipped", _why_not(turn, kit))
        collection = await kit.catalog.collection(ask.principal.tenant, ask.collection)
        edition = await kit.catalog.edition(ask.principal.tenant, ask.collection)
        if collection is None or edition is None:
            return Step(turn, "skipped", "there is no such collection")
        embedder = kit.embedders.of(collection)
        encoded = await _encoded(embedder, turn.question)
        answer, search = scopes(
            turn, edition, f"{self.recipe} {kit.reranker.name}", kit.answerer.name
        )
        if not self.answers or depends_on_history(turn):
            answer = ""
        recalled = Recalled(answer_scope=answer, search_scope=search, encoded=encoded)
        for scope in filter(None, (answer, search)):
            found = await self._equal(kit.cache, scope, turn.question, embedder, encoded)
            if found:
                near, likeness, kept = found
                content: Literal["answer", "search"] = "answer" if kept.answer else "search"
                recalled = replace(
                    recalled, content=content, question=near.question, likeness=likeness
                )
                turn = replace(turn, collection=collection, recalled=recalled)
                return await _recalled(turn, kept, emit)
        await kit.cache.missed()
        return Step(replace(turn, recalled=recalled), "unknown", "no equal question was asked")

    async def _equal(
        self, cache: Cache, scope: str, question: str, embedder: Embedder, encoded: EncodedQuestion
    ) -> tuple[Near, float, Kept] | None:
        """The nearest entry whose question asks the same, and how alike the vectors are."""
        unrelated = embedder.cosines[0]
        cosine = unrelated + least(self.mode) * (1 - unrelated)
        for near in await cache.near(scope, encoded.vector, cosine, COMPARED):
            likeness = (near.cosine - unrelated) / (1 - unrelated)
            if compare(question, near.question, likeness, self.mode).same:
                kept = await cache.take(scope, near)
                if kept is not None:
                    return near, likeness, kept
        return None


async def _recalled(turn: Turn, kept: Kept, emit: Emit) -> Step:
    recalled = turn.recalled or Recalled()
    reason = f"asks the same as {recalled.question!r}, likeness {recalled.likeness:.3f}"
    if kept.answer is None:
        return Step(replace(turn, hits=kept.hits), f"{len(kept.hits)} passages", reason)
    await emit(Sources(kept.passages))
    await emit(Token(kept.answer.text))
    if kept.verdicts:
        await emit(Checked(kept.verdicts))
    hits = tuple(passage.hit for passage in kept.passages)
    turn = replace(
        turn, hits=hits, passages=kept.passages, answer=kept.answer, verdicts=kept.verdicts
    )
    return Step(turn, "the whole answer", reason, leaves=True)


async def _encoded(embedder: Embedder, question: str) -> EncodedQuestion:
    if isinstance(embedder, LateEmbedder):
        return await embedder.embed_question(question)
    return EncodedQuestion((await embedder.embed_queries([question]))[0])


def _why_not(turn: Turn, kit: Kit) -> str:
    if kit.cache is None:
        return "the cache is off"
    if not turn.ask.cache:
        return "the request wants a fresh answer"
    return "a retrieval service does not say when its documents change"
