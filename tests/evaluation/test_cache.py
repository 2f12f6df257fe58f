"""The measures of the cache."""

import gzip
import json
from pathlib import Path

import pytest

from ragstone.core.errors import InputError
from ragstone.plugins.evaluation.cache import QuestionPair, evaluate, measure_pairs, pairs
from ragstone.settings import Settings

ROWS = [
    ("How do I reset my password?", "How can I reset my password?", True),
    ("How do I reset my password?", "How can I reset your device?", False),
    ("What is the capital of France?", "What is the capital of Germany?", False),
    ("How can I earn more?", "Which jobs are paid well?", True),
]


def test_given_hits_then_their_measures() -> None:
    found = measure_pairs([QuestionPair(*row) for row in ROWS], [True, True, False, False])
    assert found["precision"] == 0.5
    assert found["recall"] == 0.5
    assert found["hit_rate"] == 0.5


def test_given_no_hit_then_there_is_no_precision() -> None:
    assert measure_pairs([QuestionPair(*ROWS[0])], [False])["precision"] is None
    assert measure_pairs([QuestionPair(*ROWS[1])], [False])["recall"] is None


@pytest.mark.parametrize("packed", [False, True])
async def test_given_a_file_then_its_pairs_are_asked(tmp_path: Path, packed: bool) -> None:
    lines = "".join(json.dumps({"a": a, "b": b, "same": same}) + "\n" for a, b, same in ROWS)
    file = tmp_path / ("pairs.jsonl.gz" if packed else "pairs.jsonl")
    file.write_bytes(gzip.compress(lines.encode()) if packed else lines.encode())
    found = await evaluate(file, Settings())
    assert found == {"pairs": 4, "hits": 1, "precision": 1.0, "recall": 0.5, "hit_rate": 0.25}


@pytest.mark.parametrize("content", ["nothing", '{"a": 1}\n', "[]\n"])
def test_given_another_file_then_the_error_says_what_is_wanted(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / "f").write_text(content)
    with pytest.raises(InputError, match="a, b and same"):
        pairs(tmp_path / "f")
    with pytest.raises(InputError):
        pairs(tmp_path / "missing.gz")
