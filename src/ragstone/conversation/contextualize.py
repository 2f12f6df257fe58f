"""Reads the question and the conversation before it: what it asks by itself."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.conversation.reach import join_origins, select_readable
from ragstone.core.answer import Usage
from ragstone.core.conversation import conversation_key
from ragstone.core.errors import (
    EmptyQuestion,
    QuestionTooLong,
    RagstoneError,
    StateUnavailable,
    Unavailable,
)
from ragstone.core.events import Note, Rewritten
from ragstone.core.readers import Provenance, Reader
from ragstone.core.turn import Ask, Message, Subquery, Turn
from ragstone.engine.stage import Emit, Stage, Step, prompt, run_part
from ragstone.language.code_blocks import fence_text
from ragstone.language.json_answer import parse_list
from ragstone.language.language import detect
from ragstone.language.tokens import Count, Tier, share_budget
from ragstone.language.words import STOPWORDS, content_words, words
from ragstone.ports import Adapters, Completer, find_collection
from ragstone.understand.follow_up import Exchange, standalone
from ragstone.understand.small_talk import match_small_talk

log = logging.getLogger(__name__)

QUESTION_CHARS = 500
ANSWER_CHARS = 700
"""Characters of an earlier message that the model is shown."""

ANSWER_TOKENS = 300
MAX_QUERIES = 4

MAX_REWRITE_CHARS = 400
LONGER = 3
"""A rewrite may have so many characters, or so many times those of the question."""


async def standalone_by_model(
    completer: Completer, rules: str, question: str, before: Sequence[Exchange]
) -> tuple[list[str], Usage]:
    """The questions that the model makes of `question`, those that can be true to it; and the cost.

    `rules` are the prompt `rewrite_query`. Raises ModelUnavailable.
    """
    said = await completer.complete(rules, _conversation(question, before), ANSWER_TOKENS)
    context = " ".join(f"{exchange.question} {exchange.answer}" for exchange in before)
    found = [item for item in parse_list(said.text, "queries") if faithful(item, question, context)]
    return found[:MAX_QUERIES], said.usage


def _conversation(question: str, before: Sequence[Exchange]) -> str:
    """Return the conversation and the message, each in a fence."""
    told = [
        f"user: {exchange.question[:QUESTION_CHARS]}\nassistant: {exchange.answer[:ANSWER_CHARS]}"
        for exchange in before
    ]
    return f"{fence_text('conversation', chr(10).join(told))}\n\n{fence_text('message', question)}"


def faithful(rewrite: str, question: str, context: str) -> bool:
    """Tell whether a rewrite can mean what was asked: not absurdly long, about words that were
    said, and about some of the question's own where it has several."""
    if len(rewrite) > max(MAX_REWRITE_CHARS, LONGER * len(question)):
        return False
    said = set(content_words(rewrite))
    own = {word for word in words(question) if word not in STOPWORDS}
    if len(own) > 1:
        return not said.isdisjoint(own)
    return not said.isdisjoint([*content_words(context), *words(question)])


class Contextualize(Stage):
    """Checks the question, remembers the last turns of its room (`memory`), and makes a follow-up a
    question of its own: by the chat model, else by rules. Whatever fails there leaves the question
    as it was asked."""

    name: ClassVar[str] = "contextualize"
    needs: ClassVar[frozenset[str]] = frozenset({"ask"})
    gives: ClassVar[frozenset[str]] = frozenset({"ask", "question", "queries"})

    timeout: float = Field(45.0, gt=0, description="Seconds that the stage may take.")
    remembers: int = Field(
        15, ge=0, description="Most turns that are remembered; 0 leaves it to the model's size."
    )
    since: float = Field(0.0, description="Turns before this time (s since 1970) are left out.")
    required: bool = Field(
        False, description="Whether a question is refused where the conversation cannot be read."
    )
    max_question_chars: int = Field(20_000, ge=1, description="Longest question, in characters.")
    rewriting: bool = Field(True, description="Whether follow-ups are rewritten.")
    rewriting_by: Literal["auto", "rules", "llm"] = Field(
        "auto", description="Who does: rules, the chat model, or by its size the one or the other."
    )
    rules_stand_in: bool = Field(
        True,
        description="Whether rules rewrite where the chat model failed; else the question is used "
        "as it was asked.",
    )
    turns: int = Field(4, ge=1, description="Earlier questions that a follow-up may refer to.")
    model_timeout: float = Field(
        10.0, gt=0, description="Seconds that the chat model may take before rules do it."
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        history = load_history(
            turn, adapters, emit, turns=self.remembers, since=self.since, required=self.required
        )
        step = await run_part(self, "memory", turn, history, MEMORY_SECONDS, "closed")
        step = await self._step(step.turn, adapters)
        await emit(Rewritten(step.turn.question, step.turn.queries))
        return step

    async def _step(self, turn: Turn, adapters: Adapters) -> Step:
        question = " ".join(turn.ask.question.split())
        if not question:
            raise EmptyQuestion
        if len(question) > self.max_question_chars:
            raise QuestionTooLong(len(question), self.max_question_chars)
        turn = replace(turn, question=question, queries=(question,))
        before = exchanges(turn.ask.history)[-self.turns :]
        if not before:
            return Step(turn, "as asked", "nothing was said before")
        if match_small_talk(question):
            return Step(turn, "as asked", "it is no question")
        try:
            return await self._follow_up(turn, adapters, before)
        except Exception:
            log.exception("A follow-up could not be rewritten; the question goes on as asked")
            return Step(replace(turn, whole=False), "as asked", "rewriting broke; see the log")

    async def _follow_up(self, turn: Turn, adapters: Adapters, before: Sequence[Exchange]) -> Step:
        collection = await find_collection(adapters.catalog, turn.ask)
        embedders = adapters.embedders
        embedder = (
            embedders.find_indexing(collection)
            if collection
            else embedders.choose(detect(turn.question))
        )
        by_rules = await standalone(turn.question, before, embedder)
        if not self.rewriting:
            whole = by_rules.text == turn.question and by_rules.whole
            return Step(replace(turn, whole=whole), "as asked", "rewriting is turned off")
        failure = ""
        if adapters.completer and self._uses_model(adapters.profile.tier):
            rules = await prompt(turn, adapters, "rewrite_query")
            found, usage, failure = await self._model_rewrite(
                turn.question, adapters.completer, rules, before
            )
            turn = replace(turn, usage=turn.usage + usage)
            if found:
                turn = _set_questions(turn, found)
                return Step(
                    turn, f"asked as {turn.question!r}", f"{adapters.completer.name} says so"
                )
            if not self.rules_stand_in:
                whole = by_rules.text == turn.question and by_rules.whole
                return Step(replace(turn, whole=whole), "as asked", failure)
        text = by_rules.text
        queries = (text, f"{by_rules.context} {text}") if by_rules.context else (text,)
        changed = f"asked as {text!r}" if text != turn.question else "as asked"
        leans = "it leans on what was said before" if queries[1:] else "it stands by itself"
        return Step(
            replace(turn, question=text, queries=queries, whole=by_rules.whole),
            changed,
            f"{failure}; {leans}" if failure else leans,
        )

    def _uses_model(self, tier: Tier) -> bool:
        """Tell whether a chat model of this size rewrites: a small one does it worse than rules."""
        if self.rewriting_by == "auto":
            return tier in ("medium", "large")
        return self.rewriting_by == "llm"

    async def _model_rewrite(
        self, question: str, model: Completer, rules: str, before: Sequence[Exchange]
    ) -> tuple[list[str], Usage, str]:
        """Return the chat model's rewrites, their usage, and why there are none."""
        stand_in = "by rules" if self.rules_stand_in else "as it was asked"
        try:
            async with asyncio.timeout(self.model_timeout):
                found, usage = await standalone_by_model(model, rules, question, before)
        except (RagstoneError, TimeoutError) as error:
            why = str(error) or f"no answer in {self.model_timeout:g} s"
            log.warning("%s did not rewrite a follow-up: %s", model.name, why)
            return [], Usage(), f"{stand_in}, as the chat model failed: {why}"
        if not found:
            log.warning("%s gave no usable rewrite of a follow-up", model.name)
            return [], usage, f"{stand_in}, as the chat model gave no usable question"
        return found, usage, ""


def _set_questions(turn: Turn, questions: Sequence[str]) -> Turn:
    """The turn that asks these questions: all of them are its question, and each is searched."""
    several = tuple(Subquery(question) for question in questions) if questions[1:] else ()
    return replace(turn, question=" ".join(questions), queries=tuple(questions), subqueries=several)


def exchanges(history: Iterable[Message]) -> list[Exchange]:
    """Return the user's questions with the answers that followed."""
    found: list[Exchange] = []
    for message in history:
        if message.role == "user":
            found.append(Exchange(message.text))
        elif message.role == "assistant" and found:
            last = found[-1]
            found[-1] = Exchange(last.question, f"{last.answer} {message.text}".strip())
    return found


MEMORY_SECONDS, STORE_SECONDS = 15.0, 10.0
"""What reading the conversation may take, and the store of that."""


async def load_history(
    turn: Turn,
    adapters: Adapters,
    emit: Emit,
    *,
    turns: int = 15,
    since: float = 0.0,
    required: bool = False,
) -> Step:
    """Load the last turns of the room: as many as a model of this size keeps in mind, within its
    share of the window. A question that brings its own history keeps that.

    Args:
        turns: Most turns; 0 leaves it to the model's size.
        since: Turns before this time (s since 1970) are left out.
        required: Whether a conversation that cannot be read is an error.

    Raises:
        StateUnavailable: It cannot be read, and is required.
    """
    ask = turn.ask
    if not ask.room:
        return Step(turn, "skipped", "the question names no room")
    if not ask.principal.user:
        return Step(turn, "skipped", "nobody without a credential has conversations")
    if ask.history:
        return Step(turn, "as given", "the request brings what was said before")
    share = share_budget(adapters.profile.context_window, adapters.profile.tier)
    most = min(share.turns, turns or share.turns)
    try:
        async with asyncio.timeout(STORE_SECONDS):
            said, origin = await _read_history(ask, most, since, adapters)
    except (Unavailable, TimeoutError) as error:
        if required:
            raise StateUnavailable(
                "The conversation cannot be read now. Try again soon."
            ) from error
        note = "What was said before in this conversation cannot be read now."
        await emit(Note("memory", note))
        return Step(replace(turn, whole=False), "nothing", str(error) or "it took too long")
    kept = select_recent(said, share.history, adapters.count)
    left_out = f", {len(said) - len(kept)} did not fit" if len(kept) < len(said) else ""
    reason = f"at most {most} turns and {share.history} tokens{left_out}"
    turn = replace(turn, ask=replace(ask, history=tuple(kept)), remembered=origin)
    return Step(turn, f"{len(kept)} messages", reason)


async def _read_history(
    ask: Ask, most: int, since: float, adapters: Adapters
) -> tuple[Sequence[Message], Provenance]:
    """Return the turns that the asker may read, and what those of the room were answered from."""
    who, store = ask.principal, adapters.conversations
    here = conversation_key(who, ask.room or "", ask.user_id)
    known = await store.origins(who, ask.user_id, here.room)
    reader = Reader(who.collections, who.names)
    mine = await select_readable(known, reader, adapters.catalog, who.tenant) or []
    if not mine:
        return (), Provenance()
    said = await store.history(
        here, None if ask.one_session else ask.search_type, ask.classes, most, since, origins=mine
    )
    return said, join_origins(mine)


def select_recent(said: Sequence[Message], tokens: int, counted: Count) -> Sequence[Message]:
    """The last turns that fit in so many tokens; the newest always stays, and a turn stays whole.

    What answers the question cuts the newest to its share.
    """
    begins = len(said)
    left = tokens
    for at in range(len(said) - 1, -1, -1):
        left -= counted(said[at].text)
        if said[at].role == "user":
            if left < 0 and begins < len(said):
                break
            begins = at
    return said[begins:]
