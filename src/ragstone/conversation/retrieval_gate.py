"""Whether a request needs documents at all: what is about the conversation is answered from it."""

import asyncio
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from ragstone.answer.stream import AnswerStream
from ragstone.core.answer import GeneratedAnswer, Usage, Verdict
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Checked, Token
from ragstone.core.turn import Message, Turn
from ragstone.engine.prompts import prompt
from ragstone.engine.stage import Emit, Step
from ragstone.language.code_blocks import fence_text
from ragstone.language.json_answer import json_answer
from ragstone.language.words import content_word_set
from ragstone.ports import Adapters, Checker, Claim, Completer, EvidenceSource
from ragstone.verify.claims import answer_sentences
from ragstone.verify.verdicts import build_verdict, weigh_answer

MAX_PHRASE_CHARS = 120
"""A longer request says more than such a phrase does."""


def is_about_conversation(request: str) -> bool:
    """Whether the request is only about the conversation."""
    said = unicodedata.normalize("NFC", request[: MAX_PHRASE_CHARS + 1]).replace("’", "'")
    if len(said) > MAX_PHRASE_CHARS:
        return False
    plain = " ".join(said.casefold().strip(" \t\n.,!?¿¡。，！？…").replace(",", " ").split())
    return bool(_phrases().fullmatch(plain))


@cache
def _phrases() -> re.Pattern[str]:
    file = files("ragstone.conversation").joinpath("data/about_conversation.json")
    every = [p for some in json.loads(file.read_text(encoding="utf-8")).values() for p in some]
    return re.compile("|".join(f"(?:{phrase})" for phrase in every))


MAX_MESSAGES = 20
MAX_MESSAGE_CHARS = 2_000
"""What the chat model reads of the conversation: its last messages, and the beginning of each."""

MIN_REPEATED = 0.5
"""The share of the answer's words that were said before; some only say who said it."""

MAX_REQUEST_CHARS = 1_000
REPLY_TOKENS, ANSWER_TOKENS = 40, 600

DOCUMENTS = "DOCUMENTS"
"""What the model replies where the conversation is not enough."""

MODEL_SECONDS = 20.0
"""What one call may take."""


async def answer_from_conversation(
    turn: Turn, adapters: Adapters, emit: Emit, asks_model: bool = False
) -> Step:
    """Answer what is about the conversation from it: "Put that in one sentence."

    A phrase is recognised by rules; with `asks_model` the chat model is asked about others. Where
    the conversation does not hold the answer, the documents are searched, as for every question of
    fact.
    """
    model, checker = adapters.completer, adapters.checker
    said = [item for item in turn.ask.history if item.role != "system"][-MAX_MESSAGES:]
    if model is None or not said:
        return Step(turn, "skipped", "nothing was said before" if model else "no chat model")
    why = "a phrase" if is_about_conversation(turn.ask.question) else ""
    try:
        if not why and asks_model:
            needed, usage = await _needs_documents(turn, said, adapters, model)
            turn = replace(turn, usage=turn.usage + usage)
            why = "" if needed else model.name
        if not why:
            return Step(turn, "documents", "it is not about the conversation")
        text, usage = await _conversation_answer(turn, said, adapters, model)
    except (RagstoneError, TimeoutError) as error:
        return Step(turn, "documents", f"{model.name} did not say: {error}")
    turn = replace(turn, usage=turn.usage + usage)
    answer, verdicts = await _check_answer(GeneratedAnswer(text, model=model.name), said, checker)
    if not (answer.is_grounded and _repeats_conversation(text, said)):
        return Step(turn, "documents", "the conversation does not hold the answer")
    await emit(Checked(verdicts, answer.groundedness_score))
    await emit(Token(text))
    turn = replace(turn, answer=answer, verdicts=verdicts)
    return Step(turn, "the conversation", f"by {why}", leaves=True)


async def _needs_documents(
    turn: Turn, said: Sequence[Message], adapters: Adapters, model: Completer
) -> tuple[bool, Usage]:
    """Whether the chat model says that documents are needed; they are if it is not clear."""
    rules = await prompt(turn, adapters, "need")
    async with asyncio.timeout(MODEL_SECONDS):
        reply = await model.complete(rules, _model_question(turn, said), REPLY_TOKENS)
    value = json_answer(reply.text)
    free = isinstance(value, dict) and value.get("documents") is False
    return not free, reply.usage


async def _conversation_answer(
    turn: Turn, said: Sequence[Message], adapters: Adapters, model: Completer
) -> tuple[str, Usage]:
    """The answer from the conversation, empty where that is not enough."""
    rules = await prompt(turn, adapters, "need_answer", documents=DOCUMENTS)
    async with asyncio.timeout(MODEL_SECONDS):
        reply = await model.complete(rules, _model_question(turn, said), ANSWER_TOKENS)
    stream = AnswerStream(())
    text = (stream.feed(reply.text) + stream.end()).strip()
    return ("" if DOCUMENTS in text else text), reply.usage


def _model_question(turn: Turn, said: Sequence[Message]) -> str:
    lines = "\n".join(f"{message.role}: {message.text[:MAX_MESSAGE_CHARS]}" for message in said)
    request = turn.ask.question[:MAX_REQUEST_CHARS]
    return f"{fence_text('conversation', lines)}\n{fence_text('request', request)}"


def _repeats_conversation(text: str, said: Sequence[Message]) -> bool:
    """Whether most words of the answer are in the conversation: an answer of a single word makes no
    claim that could be checked otherwise."""
    words = content_word_set(text)
    known = frozenset[str]().union(*(content_word_set(message.text) for message in said))
    return bool(words) and len(words & known) >= MIN_REPEATED * len(words)


async def _check_answer(
    answer: GeneratedAnswer, said: Sequence[Message], checker: Checker
) -> tuple[GeneratedAnswer, tuple[Verdict, ...]]:
    """The answer and its verdicts from the messages, which are not sources that it could cite."""
    sentences = answer_sentences(answer.text)
    claims = [Claim(sentence.text) for sentence in sentences if sentence.claims]
    found = iter(await checker.support(claims, [EvidenceSource(message.text) for message in said]))
    verdicts = tuple(
        build_verdict(sentence, replace(next(found), source=None) if sentence.claims else None, ())
        for sentence in sentences
    )
    return weigh_answer(answer, verdicts), verdicts
