"""Recognises what is asked: terms, intent, and what needs no documents, which ends here."""

import asyncio
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import ClassVar

from pydantic import Field

from ragstone.answer.stream import AnswerStream
from ragstone.core.answer import GeneratedAnswer, Usage, Verdict
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Checked, Token
from ragstone.core.intent import Intent
from ragstone.core.turn import Message, Turn
from ragstone.engine.stage import Emit, Stage, Step, prompt, run_part
from ragstone.language.code_blocks import fence_text
from ragstone.language.json_answer import json_answer
from ragstone.language.language import detect
from ragstone.language.words import content_word_set
from ragstone.ports import Adapters, Checker, Claim, Completer, EvidenceSource, Likeness
from ragstone.understand import small_talk
from ragstone.understand.intents import NAMES, parse_intent
from ragstone.understand.narrow import narrow
from ragstone.understand.question_kinds import by_rules
from ragstone.understand.small_talk import SmallTalk
from ragstone.verify.claims import answer_sentences
from ragstone.verify.verdicts import build_verdict, weigh_answer

NAME = "small talk"
"""Stands for the model's name in an answer that needed none."""

DOUBTFUL = 0.5
"""From here up to the threshold, small talk is a question for the chat model."""

UNKNOWN = Intent("factual", 0.5, 1)
"""What a question is taken for that nothing recognises."""

BY_MODEL = 0.8
"""Confidence in what the chat model says."""

READ_CHARS = 1000
"""What the chat model reads of a question; rules and examples read less."""

REPLY_TOKENS = 40


@dataclass(frozen=True, slots=True)
class _Guess:
    """An intent, which small talk if it is, whether a model should be asked, and the reason."""

    intent: Intent
    talk: SmallTalk | None = None
    unsure: bool = False
    reason: str = ""


class Classify(Stage):
    """Takes terms such as `year:2024` out of the question (`narrow`), and recognises its intent
    (`intent`): by rules, by examples, and by the chat model where those are unsure.

    Small talk is answered with a fixed reply in its language, and what is about the conversation
    from it (`retrieval_gate`), without a search. If only terms fail, the question does too: they
    may keep out what is not wanted.
    """

    name: ClassVar[str] = "classify"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"ask", "question", "queries", "intent"})

    timeout: float = Field(90.0, gt=0, description="Seconds that the stage may take.")
    answers: bool = Field(
        True,
        description="Whether small talk, and what is about the conversation, is answered; else it "
        "is searched.",
    )
    asks_model: bool = Field(
        True, description="Whether the chat model is asked where rules and examples are unsure."
    )
    asks_documents: bool = Field(
        False, description="Whether it is asked if documents are needed, where no phrase says so."
    )
    threshold: float = Field(
        0.75, ge=0, le=1, description="How sure examples must be of an intent."
    )
    model_timeout: float = Field(10.0, gt=0, description="Seconds that the chat model may take.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        terms = await run_part(self, "narrow", turn, narrow(turn, adapters), fails="closed")
        step = await run_part(
            self, "intent", terms.turn, self._recognise(terms.turn, adapters, emit)
        )
        if step.leaves or not self.answers:
            return step
        work = answer_from_conversation(step.turn, adapters, emit, self.asks_documents)
        gate = await run_part(self, "retrieval_gate", step.turn, work)
        return gate if gate.leaves else replace(step, turn=gate.turn)

    async def _recognise(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        """Return the step with the intent, which is small talk's answer where it is that."""
        guess = await self._guess(turn, adapters)
        if guess.unsure and self.asks_model and adapters.completer:
            turn, guess = await self._model_intent(turn, guess, adapters, adapters.completer)
        turn = replace(turn, intent=guess.intent)
        decision = f"{guess.intent.name}, {guess.intent.confidence:.2f}"
        if guess.talk is None or guess.intent.name != "small_talk":
            return Step(turn, decision, guess.reason)
        text = small_talk.reply(guess.talk.kind, guess.talk.language)
        await emit(Token(text))
        intent = replace(guess.intent, talk=guess.talk.kind)
        answered = replace(turn, intent=intent, answer=GeneratedAnswer(text, model=NAME))
        return Step(answered, decision, f"{guess.reason}: {guess.talk.kind}", leaves=True)

    async def _guess(self, turn: Turn, adapters: Adapters) -> _Guess:
        """Guess the intent by layers 0 and 1, without a chat model."""
        if self.answers and (talk := small_talk.match_small_talk(turn.ask.question)):
            return _Guess(Intent("small_talk"), talk, reason="rules")
        question = small_talk.without_opening(turn.question) or turn.question
        language = detect(question)
        intent = by_rules(question, language, continues=_continues(turn))
        talks = self.answers and not _is_follow_up(intent) and small_talk.possible(question)
        like: Likeness | None = None
        if adapters.intents.knows(language) and (talks or intent is None):
            like = await adapters.intents.likeness(question)
        talk = SmallTalk(like.kind if like else "help", language or small_talk.FALLBACK)
        share = like.small_talk if like and talks else 0.0
        if share >= self.threshold:
            found = Intent("small_talk", share, 1)
            return _Guess(found, talk, reason="examples")
        if intent:
            return _Guess(intent, talk, share >= DOUBTFUL, "rules")
        if like and like.confidence >= self.threshold:
            return _Guess(Intent(like.name, like.confidence, 1), talk, reason="examples")
        return _Guess(UNKNOWN, talk, unsure=True, reason="nothing recognised it")

    async def _model_intent(
        self, turn: Turn, guess: _Guess, adapters: Adapters, model: Completer
    ) -> tuple[Turn, _Guess]:
        """Ask the chat model, which is layer 2. Any failure keeps the guess."""
        before = [m.text for m in turn.ask.history if m.role == "user"][-1:]
        asked = {"before": before, "message": [turn.question]}
        read = {name: "".join(texts)[:READ_CHARS] for name, texts in asked.items()}
        text = json.dumps(read, ensure_ascii=False)
        rules = await prompt(turn, adapters, "intent", kinds=", ".join(NAMES))
        try:
            async with asyncio.timeout(self.model_timeout):
                said = await model.complete(rules, text, REPLY_TOKENS)
        except (RagstoneError, TimeoutError) as error:
            failed = str(error) or "it took too long"
            return turn, replace(
                guess, reason=f"{guess.reason}; {model.name} did not say: {failed}"
            )
        turn = replace(turn, usage=turn.usage + said.usage)
        name = parse_intent(said.text)
        if name is None or not self._is_plausible(name, turn):
            return turn, replace(guess, reason=f"{guess.reason}; {model.name} named no intent")
        return turn, replace(guess, intent=Intent(name, BY_MODEL, 2), reason=model.name)

    def _is_plausible(self, name: str, turn: Turn) -> bool:
        """Tell whether the model's intent is possible: a long text is a question, and a follow-up
        needs a conversation."""
        if name == "small_talk":
            return self.answers and len(turn.question) <= small_talk.MAX_CHARS
        return name != "follow_up" or _continues(turn)


def _continues(turn: Turn) -> bool:
    """Tell whether something was said before."""
    return any(message.role != "system" for message in turn.ask.history)


def _is_follow_up(intent: Intent | None) -> bool:
    """Tell whether the question is a follow-up, which can look like small talk."""
    return intent is not None and intent.name == "follow_up"


MAX_PHRASE_CHARS = 120
"""A longer request says more than such a phrase does."""


def is_about_conversation(request: str) -> bool:
    """Tell whether the request is only about the conversation."""
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
ANSWER_TOKENS = 600

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
    """Tell whether the chat model says that documents are needed; they are if it is not clear."""
    rules = await prompt(turn, adapters, "need")
    async with asyncio.timeout(MODEL_SECONDS):
        reply = await model.complete(rules, _model_question(turn, said), REPLY_TOKENS)
    value = json_answer(reply.text)
    free = isinstance(value, dict) and value.get("documents") is False
    return not free, reply.usage


async def _conversation_answer(
    turn: Turn, said: Sequence[Message], adapters: Adapters, model: Completer
) -> tuple[str, Usage]:
    """Return the answer from the conversation, empty where that is not enough."""
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
    """Tell whether most words of the answer are in the conversation: an answer of a single word
    makes no claim that could be checked otherwise."""
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
