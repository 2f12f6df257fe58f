"""The one loop that runs stages: of a recipe, and those that stand inside another stage."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import groupby

from ragstone.core.answer import Finish, GeneratedAnswer
from ragstone.core.events import Event, StageEnded, StageStarted, Token
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, attempt
from ragstone.ports import Adapters


class Run:
    """One turn on its way through stages: `turn` is how far it came, also when a stage fails or is
    cancelled.

    `inside` names the stage that runs these, for the trace, and `label` says how the trace names
    each of them; only the stages of a recipe tell of their start and end.
    """

    def __init__(
        self,
        turn: Turn,
        adapters: Adapters,
        emit: Emit,
        inside: str = "",
        label: Callable[[str], str] = str,
    ) -> None:
        self.turn = turn
        self._adapters = adapters
        self._emit = emit
        self._inside = inside
        self._label = label
        self._said: list[str] = []

    async def through(self, stages: Sequence[Stage]) -> None:
        """Run the stages, or as many as it takes until one of them leaves.

        Stages that search wait for each other's questions together, and are left out where it is
        known what they would find. Raises the error of a closed stage.
        """
        for searches, several in groupby(stages, lambda item: item.searches):
            if searches and self.turn.is_searched:
                continue
            async with self._adapters.searching if searches else nullcontext():
                for stage in several:
                    if await self._run_stage(stage):
                        return

    def finish(self, finish: Finish) -> None:
        """End the turn with the text sent so far as its answer; held text is dropped."""
        turn = self._turn_with_partial()
        answer = turn.answer or GeneratedAnswer()
        answer = GeneratedAnswer() if answer.held else answer
        self.turn = replace(turn, answer=replace(answer, finish=finish))

    async def _run_stage(self, stage: Stage) -> bool:
        """Run one stage; True if it ends the run."""
        told = not self._inside
        if told:
            await self._emit(StageStarted(stage.name))
        ended = await attempt(stage, self.turn, self._adapters, self._report)
        turn = ended.step.turn if ended.step else self._turn_with_partial()
        if ended.failure:
            turn = stage.recover(turn, ended.failure)
            turn = replace(turn, usage=ended.failure.used or turn.usage)
        self._said.clear()
        traced = ended.traced
        if not told:
            traced = replace(traced, stage=self._label(traced.stage), inside=self._inside)
        self.turn = replace(turn, trace=(*turn.trace, traced))
        if told:
            await self._emit(StageEnded(traced))
        if ended.failure and stage.fails == "closed":
            raise ended.failure
        return ended.step is not None and ended.step.leaves

    async def _report(self, event: Event) -> None:
        """Send an event on, and keep its text in case the stage does not return."""
        if isinstance(event, Token):
            self._said.append(event.text)
        await self._emit(event)

    def _turn_with_partial(self) -> Turn:
        """The turn with the sent text added to its answer, so that a partial answer is kept."""
        if not self._said:
            return self.turn
        answer = self.turn.answer or GeneratedAnswer()
        text = "" if answer.held else answer.text
        answer = replace(answer, text=text + "".join(self._said), held=False)
        return replace(self.turn, answer=answer)


async def run_stages(
    stages: Sequence[Stage],
    turn: Turn,
    adapters: Adapters,
    emit: Emit,
    inside: str,
    label: Callable[[str], str] = str,
) -> Turn:
    """The turn that stages inside another make of `turn`; raises what a closed one failed with."""
    run = Run(turn, adapters, emit, inside, label)
    await run.through(stages)
    return run.turn
