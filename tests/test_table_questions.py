"""Answers to questions over tables are judged as a reader would judge them."""

import json
from typing import Any

import pytest

from benchmarks.table_questions import DATA, HALVES, judge

CARS = "mfr: Audi; model: R8; hp: 430; msrp: 115900"


def make_question(kind: str, *right: str, others: tuple[str, ...] = ()) -> dict[str, Any]:
    refuse = not right
    return {"kind": kind, "right": list(right), "others": list(others), "refuse": refuse}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (make_question("lookup", "115900"), CARS),
        (make_question("lookup", "115900"), "It costs $115,900."),
        (make_question("lookup", "1983-12-10"), "On December 10, 1983."),
        (make_question("lookup", "日本|Japan"), "这是日本。"),
        (make_question("average", "312834.07"), "Der Durchschnitt ist 312.834,07."),
        (make_question("share", "34.27"), "That is 34.3 %."),
        (make_question("sum", "-2.48"), "They lost 2.48 together."),
        (make_question("yes_no", "no"), "Nein, sie ist niedriger."),
        (
            make_question("list", "S7", "R8"),
            f"2 rows match.\n- {CARS}\n- mfr: Audi; model: S7; hp: 1",
        ),
    ],
)
def test_a_right_answer_is_found_whatever_its_form(question: dict[str, Any], answer: str) -> None:
    assert judge(question, answer)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (make_question("count", "430"), CARS),
        (make_question("count", "8"), "There are 7.9 of them."),
        (
            make_question("lookup", "431"),
            "mfr: Audi; model: S7; hp: 450\nmfr: A; model: B; hp: 431",
        ),
        (make_question("yes_no", "yes"), CARS),
        (make_question("list", "R8", others=("S7",)), f"{CARS}\nmfr: Audi; model: S7; hp: 450"),
        (make_question("lookup", "8"), ""),
        (make_question("unanswerable"), CARS),
        (make_question("lookup", "Model S"), "mfr: Audi; model: S7; hp: 450"),
    ],
    ids=[
        "a number of a row",
        "another number",
        "a later row",
        "a row",
        "too many",
        "nothing",
        "no answer",
        "a part of a word",
    ],
)
def test_what_only_looks_right_is_not(question: dict[str, Any], answer: str) -> None:
    assert not judge(question, answer)


@pytest.mark.parametrize("half", HALVES)
def test_each_question_has_a_table_of_its_half_and_an_answer_or_none(half: str) -> None:
    sources = json.loads((DATA / "sources.json").read_bytes())
    lines = (DATA / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()

    for question in map(json.loads, lines):
        assert sources[question["table"]]["half"] == half
        assert bool(question["right"]) == bool(question["sql"]) == (not question["refuse"])
        if question["right"]:
            assert judge(question, " and ".join(question["right"]))
