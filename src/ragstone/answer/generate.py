"""Says the answer, piece by piece.

Several answers to one question, and which of them to believe.

Self-consistency (Wang et al., 2022) takes the answer that most samples agree on. Answers here are
sentences, so agreement is not that of their words but whether each one's claims are supported by
the others, as `ports.Checker` compares claims with sources; and an answer must be supported by the
passages most of all.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from statistics import fmean
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.answer.pre_answer_gate import GATE_SECONDS, answer_without_model
from ragstone.answer.reason import THINKING_SECONDS, think
from ragstone.answer.reply import Reply
from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.errors import ModelUnavailable, RagstoneError, Unavailable
from ragstone.core.events import Note, Token
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step, nowhere, run_part
from ragstone.ports import Adapters, Answerer, Checker, Claim, EvidenceSource
from ragstone.verify.check import Check
from ragstone.verify.claims import answer_sentences
from ragstone.verify.groundedness import likelihood

log = logging.getLogger(__name__)

GROUNDED, AGREED = 0.6, 0.4
"""What support by the passages and by the other answers weigh."""

UNKNOWN = 0.5
"""The support of an answer that claims nothing, such as a mere yes."""


@dataclass(frozen=True, slots=True)
class Voting:
    """`samples` of the one model where no ensemble is configured, all but the first at a
    `temperature` of at least this; so many answers at a time, each in at most so many seconds."""

    samples: int = 3
    temperature: float = 0.7
    concurrency: int = 4
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Vote:
    """The answer chosen, the citations of no source that were left out of it, what all answers
    took, and for the trace how each one scored."""

    answer: GeneratedAnswer
    dropped: tuple[int, ...]
    usage: Usage
    decision: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Member:
    """One answer, or why there is none."""

    name: str
    usage: Usage
    answer: GeneratedAnswer | None = None
    dropped: tuple[int, ...] = ()
    failure: RagstoneError | None = None


@dataclass(frozen=True, slots=True)
class _ScoredAnswer:
    """How far (0..1) the passages and the other answers support an answer."""

    grounded: float
    agreed: float

    @property
    def score(self) -> float:
        return GROUNDED * self.grounded + AGREED * self.agreed


async def answer_by_vote(turn: Turn, answerer: Answerer, adapters: Adapters, how: Voting) -> Vote:
    """Ask all members, or the answerer several times where there are none, and choose; raises what
    the first failed with if every one fails."""
    members = await _ask_members(turn, answerer, adapters, how)
    usage = sum((member.usage for member in members), Usage())
    given = [member for member in members if member.answer is not None]
    if not given:
        raise members[0].failure or ModelUnavailable("No member of the ensemble answered.")
    checked = [
        await _check(turn, item.answer, adapters) for item in given if item.answer is not None
    ]
    answers = [answer for answer, _ in checked]
    scores = await _scores(checked, adapters.checker)
    best = max(range(len(given)), key=lambda i: (scores[i].score, -i))
    told = [
        f"{item.name}: grounded {s.grounded:.2f}, agreed {s.agreed:.2f}"
        for item, s in zip(given, scores, strict=True)
    ]
    told += [f"{member.name} failed: {member.failure}" for member in members if member.failure]
    decision = f"answer {best + 1} of {len(given)} chosen"
    return Vote(answers[best], given[best].dropped, usage, decision, "; ".join(told))


async def _ask_members(
    turn: Turn, answerer: Answerer, adapters: Adapters, how: Voting
) -> list[_Member]:
    """Return the answers of all members, in order."""
    members: Sequence[Answerer] = adapters.ensemble or [answerer] * how.samples
    turns = asyncio.Semaphore(how.concurrency)

    async def ask(number: int, member: Answerer) -> _Member:
        async with turns:
            varied = bool(number) and not adapters.ensemble
            return await _answer(turn, member, how.temperature if varied else None, how.seconds)

    return list(await asyncio.gather(*(ask(i, item) for i, item in enumerate(members))))


async def _answer(
    turn: Turn, member: Answerer, temperature: float | None, seconds: float
) -> _Member:
    """Return one member's answer; its failure is its own."""
    reply = Reply(turn, member.name, True, nowhere)
    ask = replace(turn.ask, question=turn.question)
    if temperature is not None:
        ask = replace(ask, temperature=max(temperature, ask.temperature or 0.0))
    failure: RagstoneError | None = None
    try:
        async with (
            asyncio.timeout(seconds),
            aclosing(member.answer(ask, turn.passages, turn.instructions)) as stream,
        ):
            async for said in stream:
                await reply.add(said)
    except RagstoneError as error:
        failure = error
    except TimeoutError:
        failure = ModelUnavailable(f"{member.name} did not answer in {seconds:g} seconds.")
    except Exception as error:
        log.exception("A member of the ensemble broke")
        failure = ModelUnavailable(f"{member.name} broke: {type(error).__name__}.")
    if failure:
        return _Member(member.name, reply.usage, failure=failure)
    await reply.end()
    answer = reply.answer()
    return _Member(answer.model, reply.usage, answer, reply.stream.dropped)


async def _check(
    turn: Turn, answer: GeneratedAnswer, adapters: Adapters
) -> tuple[GeneratedAnswer, float]:
    """Return the answer, which is a refusal if it says in its own words that the sources lack what
    was asked, and the mean probability that they support its claims."""
    asked = replace(turn, answer=replace(answer, held=True))
    found = (await Check(asks_model=False, quotes=False).run(asked, adapters, nowhere)).turn
    likely = [likelihood(verdict) for verdict in found.verdicts if verdict.label != "no_claim"]
    if found.answer and found.answer.refused:
        answer = replace(answer, finish="refused")
    return answer, fmean(likely) if likely else UNKNOWN


async def _scores(
    checked: Sequence[tuple[GeneratedAnswer, float]], checker: Checker
) -> list[_ScoredAnswer]:
    """Tell how well each answer is supported, by how far the passages support it. A refusal is as
    right as the other answers are badly grounded, and agrees with other refusals alone."""
    if len(checked) == 1:
        return [_ScoredAnswer(UNKNOWN, UNKNOWN) for _ in checked]
    answers = [answer for answer, _ in checked]
    grounded = [share for _, share in checked]
    claims = [_claims(item) for item in answers]
    said = [share for answer, share in checked if not answer.refused]
    silent = 1 - fmean(said) if said else 1.0
    scores = []
    for i, answer in enumerate(answers):
        pairs = [
            await _agreement(checker, answers, claims, i, j) for j in range(len(answers)) if j != i
        ]
        scores.append(_ScoredAnswer(silent if answer.refused else grounded[i], fmean(pairs)))
    return scores


async def _agreement(
    checker: Checker,
    answers: Sequence[GeneratedAnswer],
    claims: Sequence[list[Claim]],
    i: int,
    j: int,
) -> float:
    """Tell how far two answers support each other."""
    if answers[i].refused or answers[j].refused:
        return float(answers[i].refused and answers[j].refused)
    return fmean(
        [
            await _support(checker, claims[first], [_source(claims[other])])
            for first, other in ((i, j), (j, i))
        ]
    )


async def _support(
    checker: Checker, claims: Sequence[Claim], sources: Sequence[EvidenceSource]
) -> float:
    """Return the mean probability that the sources support the claims."""
    if not claims:
        return UNKNOWN
    return fmean(item.probability for item in await checker.support(claims, sources))


def _claims(answer: GeneratedAnswer) -> list[Claim]:
    return [Claim(sentence.text) for sentence in answer_sentences(answer.text) if sentence.claims]


def _source(claims: Sequence[Claim]) -> EvidenceSource:
    return EvidenceSource("\n".join(claim.text for claim in claims))


class Generate(Stage):
    """Streams the answer from the passages; what was said before a failure is kept.

    What the model means for the program, citations of no source and links to anywhere else are
    taken out; sentences without a marker get one where a passage supports them. With `holds`,
    neither text nor thoughts leave: the stage that checks the answer sends it.

    A chat model is spared what is known without it (`pre_answer_gate`), and thinks before it
    answers where that is wanted (`reason`); where one of the two fails, it is left out.

    Where the request or the level wants a vote, several answers are made, and the one that the
    passages and the other answers support most leaves, whole.
    """

    name: ClassVar[str] = "generate"
    timeout_setting: ClassVar[str] = "LLM__TIMEOUT"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "passages", "instructions"})
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})

    holds: bool = Field(False, description="Whether the text waits until it is checked.")
    spares: bool = Field(True, description="Whether the model is not asked what is known.")
    compares_faqs: bool = Field(
        False, description="Whether it is asked if a FAQ asks the same in other words."
    )
    thinks: Literal["never", "asked", "always", "at length"] = Field(
        "asked", description="When it thinks first: a request's own wish counts but for never."
    )
    tells_thoughts: bool = Field(True, description="Whether what it thinks first may leave.")
    votes: bool | None = Field(
        None,
        description="Whether several answers vote at the level maximum, unless the request says; "
        "None where several models are named for it.",
    )
    varies: bool = Field(
        False, description="Whether at the temperature of the model's profile; else at most .2."
    )
    stands_by: bool = Field(
        True, description="Whether another answers where the chat model cannot.", exclude=True
    )
    voting: Voting = Field(Voting(), description="How they do.", exclude=True)

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        if turn.answer and turn.answer.text:
            return Step(turn, "skipped", "it is answered already")
        if self.spares:
            step = await self._spare_model(turn, adapters, emit)
            if step.turn.answer and step.turn.answer.text:
                return step
            turn = step.turn
        if self._thinks(turn):
            told = emit if self.tells_thoughts else nowhere
            work = think(turn, adapters, told, self.thinks == "at length")
            turn = (await run_part(self, "reason", turn, work, THINKING_SECONDS)).turn
        turn = replace(turn, instructions=replace(turn.instructions, varies=self.varies))
        answerer = adapters.answerer
        if not self.stands_by and isinstance(adapters.chat, Answerer):
            answerer = adapters.chat
            turn = replace(turn, instructions=replace(turn.instructions, alone=True))
        if self._votes(turn, adapters):
            try:
                return await self._answer_by_vote(turn, answerer, adapters, emit)
            except Unavailable:
                if not self.stands_by:
                    raise
        return await self._answer(turn, answerer, emit)

    async def _spare_model(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        """Return the step with the answer that is known without the model, if there is one."""
        work = answer_without_model(turn, adapters, self.compares_faqs)
        step = await run_part(self, "pre_answer_gate", turn, work, GATE_SECONDS)
        answer = step.turn.answer
        if not (answer and answer.text):
            return step
        if not self.holds:
            await emit(Token(answer.text))
        return replace(step, turn=replace(step.turn, answer=replace(answer, held=self.holds)))

    def _thinks(self, turn: Turn) -> bool:
        if self.thinks == "never":
            return False
        asked = turn.ask.reasons
        return self.thinks != "asked" if asked is None else asked

    def _votes(self, turn: Turn, adapters: Adapters) -> bool:
        wanted = turn.ask.votes
        if wanted is None:
            votes = bool(adapters.ensemble) if self.votes is None else self.votes
            wanted = votes and turn.ask.level == "maximum"
        return wanted and adapters.completer is not None and bool(turn.passages)

    async def _answer(self, turn: Turn, answerer: Answerer, emit: Emit) -> Step:
        reply = Reply(turn, answerer.name, self.holds, emit)
        asked = replace(turn.ask, question=turn.question)
        try:
            answers = answerer.answer(asked, turn.passages, turn.instructions)
            async with aclosing(answers) as stream:
                async for said in stream:
                    await reply.add(said)
        except RagstoneError as error:
            error.used = turn.usage + reply.usage
            await reply.end()
            raise
        await reply.end()
        await _report(reply.stream.dropped, emit)
        answer = reply.answer()
        turn = replace(turn, answer=answer, usage=turn.usage + reply.usage)
        said_by = f"{answer.model}, {reply.usage.completion_tokens} tokens"
        return Step(turn, answer.finish, f"{said_by}; {reply.why}" if reply.why else said_by)

    async def _answer_by_vote(
        self, turn: Turn, answerer: Answerer, adapters: Adapters, emit: Emit
    ) -> Step:
        """Return the answer that wins the vote."""
        vote = await answer_by_vote(turn, answerer, adapters, self.voting)
        await _report(vote.dropped, emit)
        if vote.answer.note:
            await emit(Note(self.name, vote.answer.note))
        answer: GeneratedAnswer = replace(vote.answer, held=self.holds)
        if answer.text and not self.holds:
            await emit(Token(answer.text))
        turn = replace(turn, answer=answer, usage=turn.usage + vote.usage)
        return Step(turn, f"{answer.finish}, {vote.decision}", vote.reason)


async def _report(dropped: tuple[int, ...], emit: Emit) -> None:
    """Say which citations were left out."""
    if wrong := ", ".join(map(str, dropped)):
        note = f"Left out citations of sources that there are not: {wrong}."
        await emit(Note(Generate.name, note))
