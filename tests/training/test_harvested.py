"""Labelled sets become examples whose labels still hold."""

import json
import lzma
import random
from pathlib import Path
from typing import Any

import pytest

from training.reader.example import Example, Verdict
from training.reader.harvested import (
    add_clauses,
    choose_rows,
    examples,
    is_held_out,
    make_check,
    make_shard,
    read_rows,
)
from training.reader.real import Maker

TABLE = "Trains\nLine: A; Stops: 12; Since: 1912\nLine: B; Stops: 9; Since: 1912"
LONG = " ".join(f"The mill number {number} was built in the valley." for number in range(40))


def make_row(kind: str, text: str, passage: str, label: str, **others: Any) -> dict[str, Any]:
    row = {"kind": kind, "text": text, "passage": passage, "label": label, "group": text}
    return {"answers": [], "start": None, **row, **others}


def make_examples(*rows: dict[str, Any]) -> list[Example]:
    maker = Maker(Path(), held=False, seed=1)
    return list(examples("set", rows, maker, random.Random(1)))


def write_set(folder: Path, *rows: dict[str, Any]) -> Path:
    file = folder / "some_en.jsonl.xz"
    with lzma.open(file, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    return file


def test_an_answer_is_where_it_was_marked_not_where_it_stands_first() -> None:
    start = TABLE.rindex("1912")
    row = make_row(
        "table_question", "Since when does line B run?", TABLE, "answered", answers=["1912"]
    )

    found = make_examples({**row, "start": start})

    spans = [(example.passage, example.span) for example in found if example.span]
    assert spans
    for passage, span in spans:
        line = passage[: span[1]].splitlines()[-1]
        assert line == "Line: B; Stops: 9; Since: 1912"


def test_a_computed_answer_has_no_place_and_its_passage_is_whole() -> None:
    row = make_row("table_question", "How many stops are there?", TABLE, "answered", answers=["21"])

    (found,) = make_examples(row)

    assert (found.passage, found.answers, found.span) == (TABLE, True, None)


def test_a_long_table_is_not_asked_what_no_row_of_it_answers() -> None:
    table = "\n".join(f"Line: {number}; Stops: {number}" for number in range(80))
    asked = {"answers": ["79"], "start": table.rindex("79")}
    row = make_row("table_question", "Which line has the most stops?", table, "answered", **asked)

    assert make_examples(row) == []


@pytest.mark.parametrize(
    ("label", "wanted"), [("supported", Verdict.SUPPORTED), ("contradicted", Verdict.NOT)]
)
def test_beside_a_part_of_a_long_passage_a_contradiction_is_only_not_borne_out(
    label: str, wanted: Verdict
) -> None:
    found = make_examples(make_row("claim", "The mill was built in the valley.", LONG, label))

    assert [example.verdict for example in found] == [wanted]
    assert len(found[0].passage) < len(LONG)


def test_a_question_without_an_answer_is_answered_nowhere() -> None:
    row = make_row("question", "Who owned the mill?", LONG, "unanswered")

    assert {example.answers for example in make_examples(row)} == {False}


def test_of_pairs_that_differ_are_kept_twice_as_many_as_of_those_that_do_not() -> None:
    same = [make_row("pair", f"It rains {n}", f"Rain falls {n}", "same") for n in range(10)]
    different = [make_row("pair", f"It snows {n}", "Sun", "different") for n in range(200)]

    found = [example.verdict for example in make_examples(*same, *different)]

    assert found.count(Verdict.SUPPORTED) == 10
    assert 10 <= found.count(Verdict.NOT) <= 35


def test_a_row_that_also_belongs_to_a_held_out_document_is_on_neither_side(tmp_path: Path) -> None:
    groups = [f"g{n}" for n in range(100)]
    held = next(g for g in groups if is_held_out(f"some_en.jsonl.xz {g}"))
    learned = next(g for g in groups if not is_held_out(f"some_en.jsonl.xz {g}"))
    row = make_row("question", "Who?", TABLE, "unanswered", group=learned)
    file = write_set(tmp_path, row, {**row, "also_group": held})

    assert list(read_rows(file, held=False)) == [row]
    assert list(read_rows(file, held=True)) == []


def test_all_rows_of_a_chosen_document_are_taken() -> None:
    rows = [make_row("pair", str(n), "", "same", group=n // 10) for n in range(100)]

    chosen = choose_rows(rows, 25, random.Random(2))

    assert len(chosen) == 30
    assert len({row["group"] for row in chosen}) == 3


def test_an_added_clause_is_marked_and_not_borne_out() -> None:
    claims = [
        Example("s", f"Town {n} has a bridge over the river.", "", verdict=Verdict.SUPPORTED)
        for n in range(3)
    ] + [Example("s", "It closed after the great flood in spring.", "", verdict=Verdict.SUPPORTED)]

    found = list(add_clauses(claims, random.Random(1)))

    assert {example.verdict for example in found} == {Verdict.NOT}
    for example in found:
        ((start, end),) = example.wrong or ()
        assert example.text[start:end] == " after the great flood in spring"


def test_a_shard_and_the_check_are_of_other_documents(tmp_path: Path) -> None:
    texts = [f"The mill of village {n} was built in {1800 + n}. It is old." for n in range(60)]
    rows = [
        make_row("claim", f"The mill of village {n} is old.", text, "supported", group=n)
        for n, text in enumerate(texts)
    ]
    write_set(tmp_path, *rows)

    learned = {example.passage for example in make_shard(tmp_path, 0)} & set(texts)
    checked = {example.passage for example in make_check(tmp_path)} & set(texts)

    assert learned
    assert checked
    assert not learned & checked
