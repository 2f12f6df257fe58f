"""How-to questions, questions in other languages and questions without an answer, over the
descriptions of installed packages, answered without a chat model.

An answer is right if it holds what `how_to_questions.jsonl` wants: the command or the code as it
stands in the description. Packages that are not installed are left out with their questions.
"""

import asyncio
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_string
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from benchmarks.row import Row
from ragstone import build
from ragstone.core.events import Done
from ragstone.core.turn import Ask
from ragstone.service import IngestRequest
from ragstone.settings import CacheSettings, Settings

QUESTIONS = Path(__file__).with_name("how_to_questions.jsonl")

PACKAGES = (
    "orjson", "tqdm", "openai", "pypdfium2", "croniter", "nodeenv", "dateparser", "rich",
    "pytest-timeout", "python-dotenv", "redis", "ruff", "typer", "tokenizers", "httpx-sse",
    "psutil", "uvloop", "colorlog", "charset-normalizer", "watchfiles", "threadpoolctl",
    "markdown-it-py", "courlan", "pathspec", "requests-toolbelt", "pymongo", "qdrant-client",
    "uvicorn", "portalocker", "huggingface_hub", "sse-starlette", "tld", "identify", "distro",
    "jusText", "htmldate", "cfgv", "tzlocal", "tomlkit", "aiosqlite", "httpx", "requests",
    "pgvector",
)  # fmt: skip
"""Those whose descriptions are read."""


@dataclass(frozen=True)
class _Question:
    """`holds` is a regular expression of the answer, empty where there is none; the description of
    `package` has it."""

    kind: str
    text: str
    holds: str
    package: str


def run() -> Iterator[Row]:
    yield from asyncio.run(_measure())


async def _measure() -> list[Row]:
    rows = map(json.loads, QUESTIONS.read_text(encoding="utf-8").splitlines())
    questions = [_Question(**row) for row in rows]
    right: dict[str, list[bool]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory, "descriptions")
        written = _list_packages(folder)
        settings = Settings(
            ragstone_data=Path(directory, "data"), cache=CacheSettings(enabled=False)
        )
        async with build.open(settings) as service:
            async for _ in service.ingest(IngestRequest((str(folder),))):
                pass
            for question in questions:
                if question.package in written or not question.holds:
                    async for event in service.ask(Ask(question.text)):
                        last = event
                    assert isinstance(last, Done)
                    right[question.kind].append(_is_right(question, last))
    return [
        Row(f"{kind} right", sum(own) / len(own), f"of {len(own)}", detail=True)
        for kind, own in right.items()
    ]


def _list_packages(folder: Path) -> set[str]:
    """Return the packages whose descriptions stand in the folder now."""
    folder.mkdir()
    return {name for name in PACKAGES if _write(name, folder)}


def _write(name: str, folder: Path) -> bool:
    """Write the description of a package; False where it is not installed or has none."""
    try:
        found = message_from_string(distribution(name).read_text("METADATA") or "")
    except PackageNotFoundError:
        return False
    text = str(found.get_payload())
    plain = "rst" in str(found.get("Description-Content-Type", "rst"))
    folder.joinpath(f"{name}{'.rst' if plain else '.md'}").write_text(text, encoding="utf-8")
    return bool(text.strip())


def _is_right(question: _Question, done: Done) -> bool:
    answer = done.turn.answer
    refused = answer is None or answer.finish == "refused"
    if refused or answer is None:
        return not question.holds
    return (
        bool(question.holds) and re.search(question.holds, answer.text, re.IGNORECASE) is not None
    )
