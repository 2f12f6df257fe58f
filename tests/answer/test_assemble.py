"""Parts of the stage that fail leave the passages as they are."""

from typing import Any

from ragstone.answer.assemble import Assemble
from ragstone.core.answer import Instructions
from ragstone.core.errors import ModelUnavailable, StateUnavailable
from ragstone.core.turn import Ask, Plan, Turn
from ragstone.ports import Profile
from tests.engine.adapters import ran
from tests.engine.completer import Replies
from tests.engine.samples import a_hit

LONG = tuple(a_hit(f"Chapter {n}. " + "The sea is wide. " * 200, chunk_id=str(n)) for n in range(8))
TURN = Turn(
    Ask("Summarize it."), question="Summarize it.", hits=LONG, plan=Plan(strategy="sequential")
)
SMALL = Profile(context_window=4000, tier="small")


class NoTemplates:
    """`ports.Templates` that cannot be read."""

    async def texts(self, tenant: str = "") -> Any:
        raise StateUnavailable("gone")


async def test_given_more_than_the_window_then_summaries_of_its_parts_are_read() -> None:
    step, _ = await ran(Assemble(), TURN, completer=Replies("The sea. [1]"), profile=SMALL)
    assert "The sea. [1]" in step.turn.instructions.digest
    assert [(item.stage, item.inside) for item in step.turn.trace] == [
        ("sum_up", "assemble"),
        ("build_prompt", "assemble"),
    ]
    assert step.turn.trace[0].calls > 1


async def test_given_parts_that_cannot_be_summed_up_then_the_passages_that_fit_are_read() -> None:
    model = Replies(ModelUnavailable("down"))
    step, _ = await ran(Assemble(), TURN, completer=model, profile=SMALL)
    assert step.turn.passages
    assert [(item.stage, item.status) for item in step.turn.trace] == [
        ("sum_up", "failed"),
        ("build_prompt", "done"),
    ]


async def test_given_prompts_that_cannot_be_read_then_the_passages_are_there_without() -> None:
    step, _ = await ran(Assemble(), TURN, templates=NoTemplates())
    assert step.turn.passages
    assert step.turn.instructions == Instructions()
    assert [(item.stage, item.status) for item in step.turn.trace] == [("build_prompt", "failed")]


async def test_given_a_form_of_its_own_then_no_part_is_summed_up() -> None:
    model = Replies("The sea. [1]")
    await ran(Assemble(sums_up=False), TURN, completer=model, profile=SMALL)
    assert model.asked == []
