"""The figures of the spelling correction count what they say."""

import gzip
import json
from pathlib import Path

import pytest

from ragstone.core.errors import InputError
from ragstone.plugins.evaluation.spelling import evaluate
from ragstone.plugins.evaluation.typos import misspelt


def lines(file: Path, rows: list[dict[str, object]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return file


async def test_given_words_and_questions_then_fixed_kept_and_altered_are_counted(
    tmp_path: Path,
) -> None:
    words = [("goverment", "government"), ("qzxkjv", "house"), ("house", "house")]
    pairs = lines(tmp_path / "pairs.jsonl.gz", [{"wrong": w, "right": r} for w, r in words])
    asked = ["Who built the harbour?", "What did the goverment say?", "Where is the accomodation?"]
    queries = [{"id": str(i), "query": text} for i, text in enumerate(asked)]
    clean = lines(tmp_path / "set" / "dev" / "queries.jsonl.gz", list(queries))
    lines(tmp_path / "set" / "corpus.jsonl.gz", [{"id": "1", "text": "The goverment said so."}])
    found = await evaluate(pairs, [clean])
    assert (found["misspelt"], found["fixed"], found["kept"]) == (2, 0.5, 1)
    assert found["right"] == pytest.approx(2 / 3)
    assert (found["clean"], found["questions"]) == (2, 3)
    assert found["altered"] == 0.5
    assert found["altered_knowing_corpus"] == pytest.approx(1 / 3)
    assert found["altered_any"] == pytest.approx(2 / 3)


async def test_given_no_such_words_then_it_is_said_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lines of JSON with wrong and right"):
        await evaluate(tmp_path / "none.jsonl.gz")


def test_given_a_question_then_one_long_word_is_misspelt_and_always_alike() -> None:
    question = "Who was the duke in the battle of Hastings?"
    typed = misspelt(question)
    assert typed == misspelt(question)
    changed = [a for a, b in zip(question.split(" "), typed.split(" "), strict=True) if a != b]
    assert len(changed) == 1
    assert len(changed[0].rstrip("?")) >= 5
    assert misspelt("QX-4471 of it?") == "QX-4471 of it?"
