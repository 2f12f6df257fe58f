"""Answers, judges the answer, and tries again with another query until it is good enough."""

import asyncio
import time
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.answer.stream import AnswerStream
from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Checked, Event, Sources, Token
from ragstone.core.turn import Level, Turn
from ragstone.engine.recipe import BudgetedCompleter
from ragstone.engine.runner import run_stages
from ragstone.engine.stage import Emit, Stage, Step, prompt, run_part
from ragstone.language.code_blocks import fence_text
from ragstone.language.json_answer import json_answer, json_values
from ragstone.language.language import detect, language_name
from ragstone.models.prompt import compose
from ragstone.ports import Adapters, Support
from ragstone.verify.claims import answer_sentences
from ragstone.verify.verdicts import build_verdict, weigh_answer

CRITERIA = ("relevance", "accuracy", "completeness", "clarity", "citation_quality")
LONGEST_QUERY = 500
LONGEST_ADVICE = 1_000


@dataclass(frozen=True, slots=True)
class AnswerJudgement:
    """The mean of the criteria (0..1), what to search next and what to do better, empty for
    nothing."""

    score: float
    query: str = ""
    advice: str = ""


def parse_judgement(said: str) -> AnswerJudgement | None:
    """Return what a reply says; None for one without all criteria."""
    for value in json_values(said):
        if not isinstance(value, dict):
            continue
        points = [value.get(name) for name in CRITERIA]
        numbers = [float(point) for point in points if isinstance(point, int | float)]
        if len(numbers) == len(CRITERIA) and all(0 <= number <= 100 for number in numbers):
            score = sum(numbers) / (100 * len(numbers))
            query = _line(value.get("query"), LONGEST_QUERY)
            return AnswerJudgement(score, query, _line(value.get("advice"), LONGEST_ADVICE))
    return None


def _line(value: object, most: int) -> str:
    return " ".join(value.split())[:most] if isinstance(value, str) else ""


REPLY_TOKENS = 300
LOCAL = "the answer's confidence"


async def judgement(turn: Turn, adapters: Adapters) -> tuple[AnswerJudgement, str, Usage]:
    """Return the judgement of the turn's answer, the name of the judge, and the usage."""
    answer = turn.answer or GeneratedAnswer()
    local = AnswerJudgement(answer.confidence or 0.0, _aspect_query(turn, answer))
    model = adapters.evaluator or adapters.completer
    if model is None:
        return local, LOCAL, Usage()
    task = await prompt(turn, adapters, "judge_answer", criteria=", ".join(CRITERIA))
    # It begins as the answer's prompt did, which a server that keeps beginnings has read.
    asked = f"{turn.question}\n\n{fence_text('answer', answer.text)}"
    rules, text = compose(turn.passages, asked, replace(turn.instructions, text=task))
    try:
        said = await model.complete(rules, text, REPLY_TOKENS)
    except RagstoneError as error:
        return local, f"{LOCAL}; {model.name} did not judge: {error}", Usage()
    found = parse_judgement(said.text)
    if found is None:
        return local, f"{LOCAL}; {model.name} gave no judgement", said.usage
    return found, said.model or model.name, said.usage


def _aspect_query(turn: Turn, answer: GeneratedAnswer) -> str:
    """Return a query for the aspects that no passage covers."""
    missing = answer.sufficiency.missing_aspects if answer.sufficiency else ()
    return " ".join(missing)


HELD = (Sources, Token, Checked)
"""Events that wait until the best answer is known."""


@dataclass(frozen=True, slots=True)
class _RoundResult:
    """One round: its turn, the judgement of its answer, the name of the judge, and its number."""

    turn: Turn
    said: AnswerJudgement
    by: str
    number: int


ROUNDS: tuple[Level, ...] = ("enhanced", "maximum")
"""Levels whose answers are judged and tried again."""


class Rounds(Stage):
    """Self-RAG: up to `most` rounds to the score `enough`; the best answer leaves, whole.

    A chat model judges by five criteria and says what to search next and what to do better.
    Without one the answer's confidence is its score, and what nothing spoke of is searched next.
    """

    name: ClassVar[str] = "rounds"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "plan", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"passages", "answer", "verdicts"})
    fails: ClassVar[Literal["open", "closed"]] = "closed"

    timeout: float = Field(600.0, gt=0, description="Seconds that all rounds may take.")
    most: int = Field(3, ge=1, le=10, description="Rounds at most.")
    enough: float = Field(0.7, ge=0, le=1, description="Score from which no further round follows.")
    seconds: float = Field(60.0, gt=0, description="Seconds after which no further round begins.")
    tokens: int = Field(50_000, ge=1, description="Tokens after which no further round begins.")

    every_level: bool = Field(
        False, description="Whether answers of the levels basic and standard are judged too."
    )
    asks_first: bool = Field(
        False,
        description="Whether the chat model is asked first if documents are needed; what needs "
        "none it answers by itself, unless only what sources support may leave.",
    )

    def judges(self, level: Level) -> bool:
        """Tell whether answers of this level are judged unless the request says otherwise."""
        return self.every_level or level in ROUNDS

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        if self.asks_first and not any(getattr(stage, "strict", False) for stage in self.inner):
            gate = await run_part(
                self, "retrieval_gate", turn, answer_without_documents(turn, adapters, emit)
            )
            if gate.leaves:
                return gate
            turn = gate.turn
        started = time.monotonic()
        best: _RoundResult | None = None
        asked = turn
        scores: list[float] = []
        limit = ""
        for number in range(1, self.most + 1):
            try:
                tried = await self._round(asked, adapters, emit, number)
            except RagstoneError:
                if best is None:
                    raise
                break
            scores.append(tried.said.score)
            best = tried if best is None or tried.said.score > best.said.score else best
            spent = tried.turn.usage.total_tokens
            late = time.monotonic() - started > self.seconds or spent > self.tokens
            model = adapters.completer
            if isinstance(model, BudgetedCompleter) and model.refusal:
                late, limit = True, f"; {model.refusal}"
            calls = tried.turn.answer is not None and tried.turn.answer.calls
            enough = tried.said.score >= self.enough or bool(calls)
            following = None if late or enough else _next_turn(asked, tried)
            if following is None or number == self.most:
                asked = tried.turn
                break
            asked = following
        if best is None:
            raise AssertionError("the first round ends with an answer or an error")
        found = replace(
            best.turn,
            usage=asked.usage,
            trace=asked.trace,
            iteration=best.number,
            max_iterations=self.most,
            scores=tuple(scores),
        )
        return await _send_best(found, best, number, limit, emit)

    async def _round(self, turn: Turn, adapters: Adapters, emit: Emit, number: int) -> _RoundResult:
        async def quiet(event: Event) -> None:
            if not isinstance(event, HELD):
                await emit(event)

        label = str if number == 1 else f"{{}} {number}".format
        turn = await run_stages(self.inner, turn, adapters, quiet, self.name, label)
        said, by = AnswerJudgement(0.0), "nobody"

        async def judge() -> Step:
            nonlocal said, by
            said, by, usage = await judgement(turn, adapters)
            decision = "skipped" if by == LOCAL else f"score {said.score:.2f}"
            return Step(replace(turn, usage=turn.usage + usage), decision, by)

        step = await run_part(self, label("judge_answer"), turn, judge(), self.timeout)
        return _RoundResult(step.turn, said, by, number)


def _next_turn(asked: Turn, tried: _RoundResult) -> Turn | None:
    """Return the question with one more query, or with what the next answer should do better, and
    what has been spent; None if there is nothing new to try."""
    said = tried.said
    new = said.query.casefold() not in {"", *(query.casefold() for query in asked.queries)}
    if not new and not said.advice:
        return None
    return replace(
        asked.also_asking(said.query) if new else asked,
        parts=asked.parts or new,
        grades=tried.turn.grades,
        advice=said.advice,
        usage=tried.turn.usage,
        trace=tried.turn.trace,
        recalled=None,
    )


async def _send_best(turn: Turn, best: _RoundResult, rounds: int, limit: str, emit: Emit) -> Step:
    """Return the best answer, to the client; `limit` is what ended the rounds."""
    answer = replace(turn.answer or GeneratedAnswer(), held=False)
    await emit(Sources(turn.passages))
    if turn.verdicts:
        await emit(Checked(turn.verdicts, answer.groundedness_score))
    if answer.text:
        await emit(Token(answer.text))
    reason = f"judged by {best.by}{limit}"
    return Step(
        replace(turn, answer=answer), f"{rounds} rounds, score {best.said.score:.2f}", reason
    )


MAX_QUESTION_CHARS = 1_000
NEED_TOKENS, ANSWER_TOKENS = 40, 600
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
            said = await judge.complete(rules, question, NEED_TOKENS)
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
