"""What is kept in the cache, and what never is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ragstone.cache.recall import _take_exact, remember
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.turn import Ask, Recalled, Turn
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.ports import Kept
from ragstone.verify.check import Check
from tests.engine.adapters import a_kit, ran
from tests.engine.samples import a_passage
from tests.local_checker import local_checker

PASSAGE = a_passage(1, "The salary of the director is 90,000 euros in the year 2020.")
TRUE, FALSE = (f"The salary of the director is {n} euros in the year 2020. [1]" for n in
               ("90,000", "99,000"))  # fmt: skip


class Memory:
    """A cache that only counts what it keeps."""

    def __init__(self) -> None:
        self.kept: list[Kept] = []

    async def keep(self, scope: str, vector: Any, kept: Kept) -> None:
        self.kept.append(kept)


class Author:
    name = "scripted"


async def remembered(text: str, **changes: Any) -> tuple[Sequence[Kept], str]:
    """What is kept of a checked answer, and why not more."""
    answer = GeneratedAnswer(text, model="scripted", **changes)
    turn = Turn(Ask("What?"), question="What?", passages=(PASSAGE,), answer=answer)
    checked, _ = await ran(Check(), turn, checker=local_checker())
    encoded = EncodedQuestion(np.zeros(3, np.float32))
    recalled = Recalled(answer_scope="here", encoded=encoded)
    memory = Memory()
    turn = replace(checked.turn, recalled=recalled)
    why = await remember(turn, a_kit(cache=memory, answerer=Author()), ttl=300.0)
    return memory.kept, why


async def test_given_an_answer_that_the_sources_support_then_it_is_kept() -> None:
    kept, _ = await remembered(TRUE)
    assert [item.answer.text for item in kept if item.answer] == [TRUE]


async def test_given_an_answer_that_its_own_check_rejected_then_it_is_not_kept() -> None:
    kept, reason = await remembered(FALSE)
    assert not kept
    assert reason == "the sources do not support it"


@pytest.mark.parametrize("finish", ["length", "refused", "blocked"])
async def test_given_no_whole_answer_then_it_is_not_kept(finish: str) -> None:
    kept, _ = await remembered(TRUE, finish=finish)
    assert not kept


class OldMemory:
    """A cache that still has what an earlier version kept."""

    def __init__(self, grounded: bool | None) -> None:
        answer = GeneratedAnswer(FALSE, is_grounded=grounded)
        self.entry = Kept("What?", passages=(PASSAGE,), answer=answer)

    async def exact(self, scope: str, question: str) -> str:
        return question

    async def take(self, scope: str, near: str) -> Kept:
        return self.entry


@pytest.mark.parametrize(("grounded", "found"), [(False, False), (True, True), (None, True)])
async def test_given_a_rejected_answer_in_the_cache_then_it_is_not_recalled(
    grounded: bool | None, found: bool
) -> None:
    memory: Any = OldMemory(grounded)
    assert (await _take_exact(memory, "here", "What?") is not None) is found
