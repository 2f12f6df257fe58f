"""Reads what is to be summed up part by part, where a chat model cannot read it at once."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ragstone.core.answer import Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Note
from ragstone.core.turn import Hit, Turn
from ragstone.engine.stage import Emit, Step, prompt
from ragstone.language.code_blocks import fence_text
from ragstone.language.language import detect, language_name
from ragstone.language.markers import (
    MAX_NUMBER,
    citation_numbers,
    neutralize_markers,
    normalise_markers,
    renumber_markers,
)
from ragstone.language.tokens import cut_to_budget, share_budget
from ragstone.ports import Adapters, Completer

REPLY_TOKENS = 500
"""Tokens of the summary of one part."""

MIN_PART = 4
"""A part holds at least so many times the tokens of its summary, so that each round shortens."""


PARALLEL = 4
"""Parts that are read at a time."""


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A text with the numbers of the passages that it is from."""

    text: str
    numbers: tuple[int, ...]


async def sum_up(turn: Turn, adapters: Adapters, emit: Emit) -> Step:
    """Map and reduce: the chat model sums up every part in order, then the summaries, until they
    fit its window together. Their markers name the passages, which the answer can so cite.

    Where all of it fits at once, or there is no chat model, nothing is done. Raises what the model
    fails with.
    """
    if turn.digest:
        return Step(turn, "skipped", "it is summed up already")
    model = adapters.completer
    lists = bool(turn.plan.lists_documents)
    if turn.plan.strategy != "sequential" or lists or model is None or not turn.hits:
        return Step(turn, "skipped", "nothing long is to be summed up by a chat model")
    hits = in_reading_order(turn)
    room = share_budget(adapters.profile.context_window, adapters.profile.tier).passages
    texts = [
        _Numbered(f"[{n}] {_head(hit)}{neutralize_markers(hit.chunk.text)}", (n,))
        for n, hit in enumerate(hits, 1)
    ]
    if sum(adapters.count(text.text) for text in texts) <= room:
        return Step(replace(turn, hits=hits), "skipped", "all of it is read at once")
    most = max(room, MIN_PART * REPLY_TOKENS)
    parts = list(_parts(texts, most, adapters))
    await emit(Note("sum_up", f"Reading {len(hits):,} passages in {len(parts)} parts."))
    rules = await prompt(turn, adapters, "sum_up", language=language_name(detect(turn.question)))
    usage, rounds = Usage(), 0
    while rounds == 0 or sum(adapters.count(text.text) for text in texts) > room:
        texts, spent = await _summarize_parts(turn.question, parts, rules, model)
        usage, rounds = usage + spent, rounds + 1
        if len(parts) == 1:
            break
        parts = list(_parts(texts, most, adapters))
    turn = _use_summaries(turn, hits, texts)
    said = f"{len(hits)} passages in {rounds} rounds, {len(turn.hits)} of them named"
    return Step(replace(turn, usage=turn.usage + usage), said, model.name)


async def _summarize_parts(
    question: str, parts: Sequence[Sequence[_Numbered]], rules: str, model: Completer
) -> tuple[list[_Numbered], Usage]:
    """Return the summary of each part, and what they took; raises what the first failed with."""
    free = asyncio.Semaphore(PARALLEL)

    async def summarize_part(part: Sequence[_Numbered]) -> tuple[_Numbered, Usage]:
        texts = "\n\n".join(item.text for item in part)
        asked = f"{fence_text('part', texts)}\n{fence_text('request', question)}"
        async with free:
            said = await model.complete(rules, asked, REPLY_TOKENS)
        if not said.text.strip():
            raise RagstoneError(f"{model.name} gave no summary of a part.")
        known = {number for item in part for number in item.numbers}
        text = normalise_markers(said.text.strip(), known.__contains__)
        named = tuple(sorted(known.intersection(citation_numbers(text)))) or part[0].numbers[:1]
        return _Numbered(text, named), said.usage

    tasks = [asyncio.create_task(summarize_part(part)) for part in parts]
    try:
        done = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    return [text for text, _ in done], sum((spent for _, spent in done), Usage())


def in_reading_order(turn: Turn) -> tuple[Hit, ...]:
    """Return the hits as they stand in their documents."""
    placed = turn.lists[0].found if turn.lists else ()
    order = {scored.chunk_id: place for place, scored in enumerate(placed)}
    return tuple(sorted(turn.hits, key=lambda hit: order.get(hit.chunk.chunk_id, len(order))))


def _parts(
    texts: Sequence[_Numbered], most: int, adapters: Adapters
) -> Iterator[Sequence[_Numbered]]:
    """Group consecutive texts of at most so many tokens together; cut one that has more."""
    part: list[_Numbered] = []
    left = most
    for text in texts:
        needed = adapters.count(text.text)
        if part and needed > left:
            yield part
            part, left = [], most
        if needed > most:
            text = replace(text, text=cut_to_budget(text.text, most, adapters.count))
        part.append(text)
        left -= needed
    if part:
        yield part


def _use_summaries(turn: Turn, hits: Sequence[Hit], texts: Sequence[_Numbered]) -> Turn:
    """The turn with the summaries, and the passages that they name, numbered from 1 in order."""
    named = sorted({number for item in texts for number in item.numbers})[:MAX_NUMBER]
    new = {number: place for place, number in enumerate(named, 1)}
    digest = "\n\n".join(
        f"{item.text} [{new[item.numbers[0]]}]" if not _has_citation(text, new) else text
        for item in texts
        for text in [renumber_markers(item.text, new)]
    )
    return replace(turn, hits=tuple(hits[number - 1] for number in named), digest=digest)


def _has_citation(text: str, new: Mapping[int, int]) -> bool:
    return not set(citation_numbers(text)).isdisjoint(new.values())


def _head(hit: Hit) -> str:
    """Return what stands over a passage that begins a section."""
    chunk = hit.chunk
    return "" if chunk.chunk_index else f"{chunk.title or chunk.path}\n"
