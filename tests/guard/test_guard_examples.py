"""The rules on questions in three languages, with the list that comes with Ragstone.

`ragstone eval guard tests/stages/data/guard.jsonl` measures the same with the embedding models;
here, without them, only what the words say counts.
"""

import json
from pathlib import Path

import pytest

from ragstone.guard.asking import classify_asking
from ragstone.guard.topic_file import example_list, read_csv
from ragstone.language.phrases import Phrases, normalize

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "guard.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def phrases() -> Phrases:
    topics = read_csv(example_list(), "default")
    return Phrases(phrase for topic in topics for phrase in (topic.term, *topic.synonyms))


def blocked(phrases: Phrases, question: str) -> bool:
    form = normalize(question)
    return (
        classify_asking(form, [(item.start, item.end) for item in phrases.find(form)]).verdict
        == "block"
    )


@pytest.mark.parametrize(
    ("question", "forbidden"),
    [
        ("Who is the executive?", True),
        ("Executive appointment procedure", False),
        ("How much is the salary?", True),
        ("How to apply for salary", False),
        ("person", True),
        ("executive", True),
    ],
)
@pytest.mark.conforms("chat-core", "4.3", "Block and allow criteria by example")
def test_the_examples_of_the_design(phrases: Phrases, question: str, forbidden: bool) -> None:
    assert blocked(phrases, question) is forbidden


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_nineteen_of_twenty_are_right(phrases: Phrases, language: str) -> None:
    rows = [row for row in ROWS if row["language"] == language]
    right = [blocked(phrases, row["text"]) is (row["label"] == "unsafe") for row in rows]
    assert len(rows) >= 80
    assert sum(right) / len(right) >= 0.95
