"""Stores the search and the answer in the cache for the next equal question."""

from ragstone.core.turn import Turn
from ragstone.ports import Adapters, Cache, Kept


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
    """Whether the hits come from a complete search for this question."""
    # A search ends with this stage; passages of an agent or a tree come without it.
    return bool(turn.hits) and any(traced.stage == "expand" for traced in turn.trace)


def _reason_not_kept(turn: Turn, adapters: Adapters) -> str:
    """Why the answer is not kept; empty if it is."""
    answer, recalled = turn.answer, turn.recalled
    if recalled is None or not recalled.answer_scope or recalled.content == "answer":
        return "the cache did not look for an answer, or has it"
    if answer is None or answer.finish != "stop" or answer.calls or not answer.text.strip():
        return "it is not a whole answer"
    if answer.rejected:
        return "the sources do not support it"
    return "" if answer.model == adapters.answerer.name else "another model stood by"
