"""`ragstone eval rewrite` on files of both kinds."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import InputError
from ragstone.plugins.evaluation.rewriting import evaluate, exchanges, subject
from ragstone.settings import Settings
from ragstone.understand.follow_up import Exchange


def a_file(place: Path, *rows: dict[str, Any]) -> Path:
    file = place / "rewrites.jsonl.gz"
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    return file


async def test_given_a_part_of_a_question_then_its_rewrite_is_nearer_to_the_human_one(
    tmp_path: Path,
) -> None:
    row = {
        "history": ["Who heads Surgery?", "Dr Sands."],
        "question": "And Maternity?",
        "rewrite": "Who heads Maternity?",
    }
    found = await evaluate(a_file(tmp_path, row), Settings())
    assert found["f1"] == 1
    assert found["f1_unrewritten"] == pytest.approx(2 / 5)


async def test_given_questions_only_then_none_is_taken_for_an_answer(tmp_path: Path) -> None:
    rows = [
        {"history": history, "question": "And Maternity?", "rewrite": "Who heads Maternity?"}
        for history in (["Who heads Surgery?"], ["Who heads Surgery?", "hello"])
    ]
    assert (await evaluate(a_file(tmp_path, *rows), Settings()))["f1"] == 1


async def test_given_no_rows_then_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no rows"):
        await evaluate(a_file(tmp_path), Settings())


def test_given_messages_with_roles_then_they_are_exchanges() -> None:
    history = [{"role": "user", "text": "a"}, {"role": "agent", "text": "b"}]
    assert exchanges(history, answered=True) == [Exchange("a", "b")]


@pytest.mark.parametrize(
    ("title", "said"),
    [(["Hugo (film)", "Reception"], "Hugo"), ("INXS", "INXS"), (None, ""), ([], "")],
)
def test_given_a_title_then_its_first_part_is_the_subject(title: Any, said: str) -> None:
    assert subject(title) == said
