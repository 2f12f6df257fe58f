"""What the work around an answer may take of a chat model."""

import pytest

from ragstone.core.answer import Usage
from ragstone.core.errors import ModelUnavailable
from ragstone.engine.recipe import CallBudget, within_budget
from ragstone.ports import Said
from tests.engine.adapters import a_kit


class Model:
    """A chat model that counts its calls."""

    name = "model"

    def __init__(self) -> None:
        self.calls = 0

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        self.calls += 1
        return Said("yes", usage=Usage(90, 10, 1))


@pytest.mark.parametrize(
    "budget", [CallBudget(2, 10_000), CallBudget(9, 150)], ids=["calls", "tokens"]
)
async def test_a_question_takes_no_more_than_its_budget(budget: CallBudget) -> None:
    model = Model()
    completer = within_budget(a_kit(completer=model), budget).completer
    assert completer is not None
    for _ in range(2):
        await completer.complete("", "", 1)

    with pytest.raises(ModelUnavailable, match="budget"):
        await completer.complete("", "", 1)

    assert model.calls == 2


async def test_each_question_has_its_own_budget() -> None:
    kit = a_kit(completer=Model())
    for _ in range(2):
        completer = within_budget(kit, CallBudget(1, 1_000)).completer
        assert completer is not None
        assert (await completer.complete("", "", 1)).text == "yes"
