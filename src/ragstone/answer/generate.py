"""Says the answer, piece by piece."""

from contextlib import aclosing
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.answer.pre_answer_gate import GATE_SECONDS, answer_without_model
from ragstone.answer.reason import THINKING_SECONDS, think
from ragstone.answer.reply import Reply
from ragstone.answer.voting import Voting, answer_by_vote
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.errors import RagstoneError, Unavailable
from ragstone.core.events import Note, Token
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step, nowhere, run_part
from ragstone.ports import Adapters, Answerer


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
        False,
        description="Whether at the temperature of the model's profile; else at most .2.",
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
        """The step with the answer that is known without the model, if there is one."""
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
        """The answer that wins the vote."""
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
