import gzip
import json
from pathlib import Path

import pytest

from ragstone.core.errors import InputError
from ragstone.plugins.evaluation.intents import evaluate
from ragstone.settings import load

ROWS = [
    {"text": "hello there", "intent": "greeting"},
    {"text": "thanks a lot", "intent": "thank_you"},
    {"text": "what is my account balance", "intent": "balance"},
]


def written(path: Path, rows: list[dict[str, str]]) -> Path:
    text = "\n".join(map(json.dumps, rows))
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


async def test_given_labelled_texts_and_questions_then_recall_and_false_ones_are_measured(
    tmp_path: Path,
) -> None:
    file = written(tmp_path / "intents.jsonl.gz", ROWS)
    asked = [{"query": "Who built the bridge?"}, {"query": "hello"}]
    questions = written(tmp_path / "queries.jsonl", asked)

    found = await evaluate(file, load(), questions)

    assert found["smalltalk_recall"] == 1
    assert found["smalltalk_false"] == 0.5
    assert found["others_false"] == 0
    assert (found["p95_ms"] or 0) > 0


async def test_given_no_questions_then_the_other_rows_stand_for_them(tmp_path: Path) -> None:
    found = await evaluate(written(tmp_path / "intents.jsonl", ROWS), load())

    assert found["smalltalk_false"] == found["others_false"] == 0


@pytest.mark.parametrize("content", ["no json", '{"text": "no intent"}', "[1]"])
async def test_given_a_file_that_is_none_then_it_says_so(tmp_path: Path, content: str) -> None:
    file = tmp_path / "intents.jsonl"
    file.write_text(content, encoding="utf-8")

    with pytest.raises(InputError, match=r"intents\.jsonl cannot be read"):
        await evaluate(file, load())
