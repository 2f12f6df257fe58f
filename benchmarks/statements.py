"""Sentences of answers, half of them subtly false: how many verdicts are right, with which help?

`answer_statements.json` has statements in five languages over passages of strangers, as a good
model would write them: paraphrases, summaries, conclusions, sums, translations and gaps, and as
many with another name, number or reason, a negation, a wider scope, an added clause or a wrong
number of a source. Each is read beside its passage and four others, once by the reader alone and
once with a chat model that is always right, where the product asks it.
"""

import asyncio
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.citations import make_passage
from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.build import open_adapters
from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.turn import Ask, Passage, Turn
from ragstone.engine.stage import nowhere
from ragstone.plugins.evaluation.measures import balanced_accuracy
from ragstone.ports import Adapters, Said
from ragstone.settings import LlmSettings, Settings
from ragstone.verify.check import Check
from ragstone.verify.cite import Cite

STATEMENTS = Path(__file__).parent / "answer_statements.json"
OTHERS = 4
"""Passages beside the one that a statement is about."""

WRONG_NUMBER = "wrong citation"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, the question that it is in answer to, and what it is read beside."""

    language: str
    kind: str
    text: str
    right: bool
    question: str
    passages: tuple[Passage, ...]

    @property
    def answer(self) -> GeneratedAnswer:
        number = 2 if self.kind == WRONG_NUMBER else 1
        return GeneratedAnswer(f"{self.text} [{number}]")


class KnowingJudge:
    """A chat model that knows which statements are true."""

    name = "knows"

    def __init__(self, statements: list[Statement]) -> None:
        self.asked = 0
        self._known = {
            statement.text.strip(" .。"): statement.right or statement.kind == WRONG_NUMBER
            for statement in statements
        }

    async def complete(self, rules: str, text: str, max_tokens: int) -> Said:
        claims = json.loads(text)["claims"]
        self.asked += len(claims)
        told = {
            number: "supported" if self._known[said.strip(" .。")] else "unsupported"
            for number, said in claims.items()
        }
        return Said(json.dumps(told), usage=Usage(calls=1))


def run() -> Iterator[Row]:
    statements = read_statements()
    local, judged, asked = asyncio.run(measure(statements))
    right = [statement.right for statement in statements]
    note = f"{len(right)} in 5 languages, {sum(right)} true"
    for what, passed, least in (
        ("by the reader", local, 0.88),
        (f"with a perfect judge, asked of {asked}", judged, 0.95),
    ):
        found = balanced_accuracy(passed, right) or 0
        yield Row(f"Sentences of answers {what}, balanced accuracy", found, least=least, note=note)
    for name, passed in (("reader", local), ("judge", judged)):
        shares = defaultdict(list)
        for statement, passes in zip(statements, passed, strict=True):
            shares[f"{statement.kind}, {'true' if statement.right else 'false'}"].append(
                passes is statement.right
            )
            shares[statement.language].append(passes is statement.right)
        for kind, found_right in sorted(shares.items()):
            share = sum(found_right) / len(found_right)
            note = f"{len(found_right)} sentences"
            yield Row(f"{name}: {kind}", share, note=note, detail=True)


async def measure(statements: list[Statement]) -> tuple[list[bool], list[bool], int]:
    """Which statements pass without a chat model and with one, and of how many that was asked."""
    judge = KnowingJudge(statements)
    with TemporaryDirectory() as data:
        # Nobody calls the model: what it said is given.
        llm = LlmSettings(model="some", base_url="http://127.0.0.1:9/v1")
        async with open_adapters(Settings(ragstone_data=Path(data), llm=llm)) as (adapters, _, _):
            local = [
                await passes(statement, Check(asks_model=False), adapters)
                for statement in statements
            ]
            helped = replace(adapters, completer=judge)
            judged = [await passes(statement, Check(), helped) for statement in statements]
    return local, judged, judge.asked


async def passes(statement: Statement, check: Check, adapters: Adapters) -> bool:
    """Tell whether nothing is said against a statement."""

    ask = Ask(statement.question)
    turn = Turn(ask, ask.question, passages=statement.passages, answer=statement.answer)
    turn = (await Cite().run(turn, adapters, nowhere)).turn
    step = await check.run(turn, adapters, nowhere)
    return all(verdict.label in ("supported", "no_claim") for verdict in step.turn.verdicts)


def read_statements() -> list[Statement]:
    groups = json.loads(STATEMENTS.read_text(encoding="utf-8"))
    texts = {
        group["source"]: passages_of(folder)[id]
        for group in groups
        for folder, _, id in [group["source"].partition(":")]
    }
    found = []
    for group in groups:
        near = [g["source"] for g in groups if g["language"] == group["language"]]
        others = [source for source in near if source != group["source"]][:OTHERS]
        passages = tuple(
            make_passage(number, texts[source])
            for number, source in enumerate((group["source"], *others), 1)
        )
        for right in (True, False):
            for kind, text, *asked in group["true" if right else "false"]:
                question = asked[0] if asked else group["question"]
                found.append(Statement(group["language"], kind, text, right, question, passages))
    return found


@cache
def passages_of(folder: str) -> Mapping[str, str]:
    """Return the passages of a set, by their ids."""
    with gzip.open(eval_data() / folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {row["id"].rpartition(":")[2]: row["text"] for row in map(json.loads, lines)}
