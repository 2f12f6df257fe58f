"""Answers a question of common knowledge without documents, and says that no source supports it."""

import asyncio
from dataclasses import replace

from ragstone.answer.stream import AnswerStream
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Checked, Token
from ragstone.core.turn import Turn
from ragstone.engine.prompts import prompt
from ragstone.engine.stage import Emit, Step
from ragstone.language.code_blocks import fence_text
from ragstone.language.json_answer import json_answer
from ragstone.language.language import detect, language_name
from ragstone.ports import Adapters, Support
from ragstone.verify.claims import answer_sentences
from ragstone.verify.verdicts import build_verdict, weigh_answer

MAX_QUESTION_CHARS = 1_000
REPLY_TOKENS, ANSWER_TOKENS = 40, 600
MODEL_SECONDS = 20.0
"""What one call may take."""


async def answer_without_documents(turn: Turn, adapters: Adapters, emit: Emit) -> Step:
    """Ask the chat model whether documents are needed, and answer from what it knows if not.

    They are needed if it is not clear. Each sentence of such an answer is unsupported.
    """
    judge, model = adapters.evaluator or adapters.completer, adapters.completer
    if judge is None or model is None:
        return Step(turn, "skipped", "no chat model")
    question = fence_text("question", turn.question[:MAX_QUESTION_CHARS])
    try:
        async with asyncio.timeout(MODEL_SECONDS):
            rules = await prompt(turn, adapters, "need_first")
            said = await judge.complete(rules, question, REPLY_TOKENS)
            turn = replace(turn, usage=turn.usage + said.usage)
            needed = json_answer(said.text)
            if not (isinstance(needed, dict) and needed.get("documents") is False):
                return Step(turn, "documents", f"by {judge.name}")
            language = language_name(detect(turn.question))
            rules = await prompt(turn, adapters, "conversation", language=language)
            limit = turn.ask.max_tokens or ANSWER_TOKENS
            said = await model.complete(rules, turn.question, limit)
    except (RagstoneError, TimeoutError) as error:
        return Step(turn, "documents", f"{model.name} did not say: {error}")
    turn = replace(turn, usage=turn.usage + said.usage)
    stream = AnswerStream(())
    text = (stream.feed(said.text) + stream.end()).strip()
    if not text:
        return Step(turn, "documents", f"{model.name} said nothing")
    verdicts = tuple(
        build_verdict(item, Support(0.0) if item.claims else None, ())
        for item in answer_sentences(text)
    )
    answer = weigh_answer(GeneratedAnswer(text, model=model.name), verdicts)
    await emit(Checked(verdicts, answer.groundedness_score))
    await emit(Token(text))
    turn = replace(turn, answer=answer, verdicts=verdicts)
    return Step(turn, "no documents", f"by {judge.name}", leaves=True)
