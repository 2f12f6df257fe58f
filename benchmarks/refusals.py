"""Refusals in a model's own words: how many are found, and how many answers are called one?

`refusals.json` has passages in six languages, each with a question that it leaves open and a reply
that says so, and with another question and a reply that denies something as the passage does. The
weights of `ragstone.verify.reading_judge` were not made from them.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.citations import make_passage
from benchmarks.row import Row
from ragstone.build import open_adapters
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.events import Event
from ragstone.core.turn import Ask, Turn
from ragstone.ports import Adapters
from ragstone.settings import LlmSettings, Settings
from ragstone.verify.check import Check

REPLIES = Path(__file__).parent / "refusals.json"


def run() -> Iterator[Row]:
    rows: list[dict[str, str]] = json.loads(REPLIES.read_text(encoding="utf-8"))
    found, false = asyncio.run(count(rows))
    languages = len({row["language"] for row in rows})
    note = f"{len(rows)} in {languages} languages"
    yield Row("Refusals in own words found", found / len(rows), least=0.97, note=note)
    note = f"{len(rows)} that deny something"
    yield Row("Answers called refusals", false / len(rows), most=0.03, note=note)


async def count(rows: list[dict[str, str]]) -> tuple[int, int]:
    """Return the refusals that are found, and the answers that are taken for one."""
    with TemporaryDirectory() as data:
        # Nobody calls the model: what it said is given.
        llm = LlmSettings(model="some", base_url="http://127.0.0.1:9/v1")
        async with open_adapters(Settings(ragstone_data=Path(data), llm=llm)) as (adapters, _, _):
            found = [
                await is_refused(adapters, r["passage"], r["question"], r["gap"]) for r in rows
            ]
            false = [
                await is_refused(adapters, r["passage"], r["other_question"], r["denial"])
                for r in rows
            ]
    return sum(found), sum(false)


async def is_refused(adapters: Adapters, passage: str, question: str, reply: str) -> bool:
    async def drop(event: Event) -> None:
        """The verdicts are in the turn."""

    passages = (make_passage(1, passage),)
    turn = Turn(Ask(question), question, passages=passages, answer=GeneratedAnswer(reply))
    answer = (await Check(asks_model=False).run(turn, adapters, drop)).turn.answer
    return answer is not None and answer.refused


if __name__ == "__main__":
    for row in run():
        print(row.what, row.shown)
