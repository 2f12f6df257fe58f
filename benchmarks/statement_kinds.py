"""What in an answer claims nothing of the documents, in nine languages: is it told from claims?

`statement_kinds.json` has for each language two passages that contradict each other and a third;
statements that they do, right beside these two and wrong beside one of them and the third;
announcements, headings, courtesies and questions; and claims that no passage supports, some of
people who disagree. The weights of `ragstone.verify.reading_judge` were not made from them.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.citations import make_passage
from benchmarks.row import Row
from ragstone.build import open_adapters
from ragstone.core.answer import GeneratedAnswer, Label
from ragstone.core.turn import Ask, Turn
from ragstone.engine.stage import nowhere
from ragstone.ports import Adapters
from ragstone.settings import LlmSettings, Settings
from ragstone.verify.check import Check
from ragstone.verify.cite import Cite

STATEMENTS = Path(__file__).parent / "statement_kinds.json"


def run() -> Iterator[Row]:
    groups = json.loads(STATEMENTS.read_text(encoding="utf-8"))
    found = asyncio.run(judge(groups))
    count = len(groups)
    for what, least in (
        ("Announcements, headings and questions that claim nothing", 0.9),
        ("Claims that no source supports that count as claims", 0.95),
        ("Sources that disagree, as the answer says, found", 0.9),
        ("Sources that do not disagree, as the answer says, found", 0.9),
    ):
        right = found[what]
        share = sum(right) / len(right)
        yield Row(what, share, least=least, note=f"{len(right)} in {count} languages")


async def judge(groups: Sequence[dict[str, list[str]]]) -> dict[str, list[bool]]:
    """For each figure, which statements are judged right."""
    silent, claimed, agreed, denied = list[bool](), list[bool](), list[bool](), list[bool]()
    with TemporaryDirectory() as data:
        # Nobody calls the model: what it said is given.
        llm = LlmSettings(model="some", base_url="http://127.0.0.1:9/v1")
        async with open_adapters(Settings(ragstone_data=Path(data), llm=llm)) as (adapters, _, _):
            for group in groups:
                question, first, second = str(group["question"]), *group["passages"]
                apart, alike = (first, second), (first, str(group["other"]))
                for text in (*group["announcements"], *group["questions"]):
                    silent.append(await label(adapters, question, text, apart) == "no_claim")
                for text in group["claims"]:
                    found = await label(adapters, question, text, apart)
                    claimed.append(found not in ("no_claim", "supported"))
                for text in group["disagreements"]:
                    agreed.append(await label(adapters, question, text, apart) == "supported")
                    denied.append(await label(adapters, question, text, alike) == "unsupported")
    return {
        "Announcements, headings and questions that claim nothing": silent,
        "Claims that no source supports that count as claims": claimed,
        "Sources that disagree, as the answer says, found": agreed,
        "Sources that do not disagree, as the answer says, found": denied,
    }


async def label(adapters: Adapters, question: str, text: str, passages: Sequence[str]) -> Label:
    """Return the label of a sentence that follows another in an answer."""
    held = tuple(make_passage(number, passage) for number, passage in enumerate(passages, 1))
    said = f"{passages[0]} [1]\n\n{text}"
    turn = Turn(Ask(question), question, passages=held, answer=GeneratedAnswer(said))
    turn = (await Cite().run(turn, adapters, nowhere)).turn
    turn = (await Check(asks_model=False).run(turn, adapters, nowhere)).turn
    return turn.verdicts[-1].label
