"""Whether a request needs documents at all: what is about the conversation is answered from it."""

import asyncio
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.answer.stream import AnswerStream
from ragstone.core.answer import GeneratedAnswer, Usage, Verdict
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Checked, Token
from ragstone.core.turn import Message, Turn
from ragstone.engine.prompts import prompt
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.fences import fence_text
from ragstone.language.json_answer import json_answer
from ragstone.language.words import content_word_set
from ragstone.ports import Adapters, Checker, Claim, Completer, EvidenceSource
from ragstone.verify.claims import answer_sentences
from ragstone.verify.verdicts import verdict, weigh_answer

MOST_CHARS = 120
"""A longer request says more than such a phrase does."""


def about_conversation(request: str) -> bool:
    """Whether the request is only about the conversation."""
    said = unicodedata.normalize("NFC", request[: MOST_CHARS + 1]).replace("’", "'")
    if len(said) > MOST_CHARS:
        return False
    plain = " ".join(said.casefold().strip(" \t\n.,!?¿¡。，！？…").replace(",", " ").split())
    return bool(_phrases().fullmatch(plain))


@cache
def _phrases() -> re.Pattern[str]:
    file = files("ragstone.conversation").joinpath("data/about_conversation.json")
    every = [p for some in json.loads(file.read_text(encoding="utf-8")).values() for p in some]
    return re.compile("|".join(f"(?:{phrase})" for phrase in every))


MESSAGES = 20
MESSAGE_CHARS = 2_000
"""What the chat model reads of the conversation: its last messages, and the beginning of each."""

SAID = 0.5
"""The share of the answer's words that were said before; some only say who said it."""

ASKED_CHARS = 1_000
REPLY_TOKENS, ANSWER_TOKENS = 40, 600

DOCUMENTS = "DOCUMENTS"
"""What the model replies where the conversation is not enough."""


class RetrievalGate(Stage):
    """Self-RAG's first question. Phrases of seven languages recognise a request about the
    conversation; where the level wants it, the chat model is asked about any other. The chat model
    then answers from the conversation, and the answer leaves only if what was said supports all of
    it; in every other case documents are searched, as for every question of fact.
    """

    name: ClassVar[str] = "retrieval_gate"
    needs: ClassVar[frozenset[str]] = frozenset({"question"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    answers: bool = Field(True, description="Whether such requests are answered; else searched.")
    asks_model: bool = Field(
        False, description="Whether the chat model is asked where no phrase is recognised."
    )
    model_timeout: float = Field(20.0, gt=0, description="Seconds that one call may take.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        model, checker = adapters.completer, adapters.checker
        said = [item for item in turn.ask.history if item.role != "system"][-MESSAGES:]
        if not self.answers or not said:
            return Step(turn, "documents", "nothing was said before" if self.answers else "")
        if model is None:
            return Step(turn, "documents", "there is no chat model")
        why = "a phrase" if about_conversation(turn.ask.question) else ""
        try:
            if not why and self.asks_model:
                needed, usage = await self._needs_documents(turn, said, adapters, model)
                turn = replace(turn, usage=turn.usage + usage)
                why = "" if needed else model.name
            if not why:
                return Step(turn, "documents", "it is not about the conversation")
            text, usage = await self._conversation_answer(turn, said, adapters, model)
        except (RagstoneError, TimeoutError) as error:
            return Step(turn, "documents", f"{model.name} did not say: {error}")
        turn = replace(turn, usage=turn.usage + usage)
        answer, verdicts = await _check_answer(
            GeneratedAnswer(text, model=model.name), said, checker
        )
        if not (answer.is_grounded and _repeats_conversation(text, said)):
            return Step(turn, "documents", "the conversation does not hold the answer")
        await emit(Checked(verdicts, answer.groundedness_score))
        await emit(Token(text))
        turn = replace(turn, answer=answer, verdicts=verdicts)
        return Step(turn, "the conversation", f"by {why}", leaves=True)

    async def _needs_documents(
        self, turn: Turn, said: Sequence[Message], adapters: Adapters, model: Completer
    ) -> tuple[bool, Usage]:
        """Whether the chat model says that documents are needed; they are if it is not clear."""
        rules = await prompt(turn, adapters, "need")
        async with asyncio.timeout(self.model_timeout):
            reply = await model.complete(rules, _model_question(turn, said), REPLY_TOKENS)
        value = json_answer(reply.text)
        free = isinstance(value, dict) and value.get("documents") is False
        return not free, reply.usage

    async def _conversation_answer(
        self, turn: Turn, said: Sequence[Message], adapters: Adapters, model: Completer
    ) -> tuple[str, Usage]:
        """The answer from the conversation, empty where that is not enough."""
        rules = await prompt(turn, adapters, "need_answer", documents=DOCUMENTS)
        async with asyncio.timeout(self.model_timeout):
            reply = await model.complete(rules, _model_question(turn, said), ANSWER_TOKENS)
        stream = AnswerStream(())
        text = (stream.feed(reply.text) + stream.end()).strip()
        return ("" if DOCUMENTS in text else text), reply.usage


def _model_question(turn: Turn, said: Sequence[Message]) -> str:
    lines = "\n".join(f"{message.role}: {message.text[:MESSAGE_CHARS]}" for message in said)
    request = turn.ask.question[:ASKED_CHARS]
    return f"{fence_text('conversation', lines)}\n{fence_text('request', request)}"


def _repeats_conversation(text: str, said: Sequence[Message]) -> bool:
    """Whether most words of the answer are in the conversation: an answer of a single word makes no
    claim that could be checked otherwise."""
    words = content_word_set(text)
    known = frozenset[str]().union(*(content_word_set(message.text) for message in said))
    return bool(words) and len(words & known) >= SAID * len(words)


async def _check_answer(
    answer: GeneratedAnswer, said: Sequence[Message], checker: Checker
) -> tuple[GeneratedAnswer, tuple[Verdict, ...]]:
    """The answer and its verdicts from the messages, which are not sources that it could cite."""
    sentences = answer_sentences(answer.text)
    claims = [Claim(sentence.text) for sentence in sentences if sentence.claims]
    found = iter(await checker.support(claims, [EvidenceSource(message.text) for message in said]))
    verdicts = tuple(
        verdict(sentence, replace(next(found), source=None) if sentence.claims else None, ())
        for sentence in sentences
    )
    return weigh_answer(answer, verdicts), verdicts
