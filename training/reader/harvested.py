"""Examples made from labelled sets in one common form: questions, claims and pairs of sentences.

A set is a file `*.jsonl.xz`. A line has `kind` ("question", "claim", both also with "table_" before
them, or "pair"), `text`, `passage` (a pair's second sentence; a table has a line for each row),
`label`, `answers`, `start` (where the first answer stands in the passage, if it does), and `group`
and maybe `also_group`, the documents that must be on one side of the split. One document in twelve
is only measured on.
"""

import hashlib
import json
import lzma
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from training.reader.example import Example, Place, Verdict
from training.reader.real import Maker, Passages, near_windows, words_of
from training.reader.reasoned import Reasoner
from training.reader.swaps import is_cjk

Row = dict[str, Any]

HELD_OUT = 12
"""One document in so many is held out."""
ROWS = 1500
"""Most rows of each set in a shard, those of its last document added."""
OFTEN = 10
"""A shard holds one in so many rows of a small set: if it were whole in each, so that it is read
over and over, the figures of held-out rows fell."""
SENTENCES = 250
"""Sentences of each set that become claims in a shard."""
ADDED = 60
"""Clauses of each set that are added to true claims in a shard."""
REASONED = 6000
"""Invented examples in a shard."""
CHECKED = 500
"""Most examples of each set that are measured on; of the invented ones more."""
MAX_WHOLE = 900
"""Characters of a passage that is read whole, where nobody marked what of it bears the label."""
MAX_CLAIMED = 700

LABELS = {
    "supported": Verdict.SUPPORTED,
    "contradicted": Verdict.CONTRADICTED,
    "not_said": Verdict.NOT_SAID,
    "same": Verdict.SUPPORTED,
    "different": Verdict.NOT,
}
OVER_ROWS = re.compile(
    r"\b(most|least|highest|lowest|first|last|longest|shortest|largest|smallest|biggest|total"
    r"|how many|number of|before|after|next|previous|average|difference|more|less|fewer|only|top"
    r"|same|oldest|newest|earliest|latest|greater|higher|lower|best|worst|sum|max|maximum|minimum"
    r"|consecutive|both|all|other|besides)\b",
    re.IGNORECASE,
)
"""What is in questions of a table that no single row answers."""
CLAUSE = re.compile(
    r"(?:,? (?:for|in|on|during|after|before|until|since|without|within|because|unless|if|when"
    r"|although|except|including|also|and|but|as well as)\b[^.;:]{8,60})[.]?$"
)


def make_shard(folder: Path, shard: int) -> Iterator[Example]:
    """Yield the examples of one shard: other documents and changes than those of the others."""
    chance = random.Random(9000 + shard)
    for file in sorted(folder.glob("*.jsonl.xz")):
        whole = list(read_rows(file, held=False))
        rows = choose_rows(whole, min(ROWS, len(whole) // OFTEN), chance)
        name = file.name.removesuffix(".jsonl.xz")
        maker = Maker(folder, held=False, seed=7000 + shard)
        yield from examples(name, rows, maker, chance)
        if rows[0]["kind"] in ("question", "claim"):
            texts = [row for row in passages_of(rows) if len(row["text"]) > 80]
            stated = list(maker.of_sentences(Passages(name, texts[:400]), SENTENCES))
            yield from stated
            if name.endswith("_en"):
                yield from add_clauses(stated, chance)
    yield from Reasoner(random.Random(600 + shard)).examples(REASONED)


def make_check(folder: Path) -> Iterator[Example]:
    """Yield some of every set from documents that are held out, and invented ones."""
    chance = random.Random(9000)
    for file in sorted(folder.glob("*.jsonl.xz")):
        rows = choose_rows(list(read_rows(file, held=True)), 2 * CHECKED, chance)
        name = file.name.removesuffix(".jsonl.xz")
        made = list(examples(name, rows, Maker(folder, held=True, seed=7000), chance))
        for example in chance.sample(made, min(CHECKED, len(made))):
            yield replace(example, kind=name)
    yield from Reasoner(random.Random(31)).examples(900)


def read_rows(file: Path, held: bool) -> Iterator[Row]:
    """Yield the rows of a set on one side of the split; a row of two sides is on neither."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            groups = {str(row["group"]), str(row.get("also_group") or row["group"])}
            if {is_held_out(f"{file.name} {group}") for group in groups} == {held}:
                yield row


def is_held_out(group: str) -> bool:
    digest = hashlib.blake2b(f"h {group}".encode(), digest_size=2).digest()
    return digest[0] % HELD_OUT == 0


def choose_rows(rows: Sequence[Row], count: int, chance: random.Random) -> list[Row]:
    """Choose all rows of so many documents that there are at least `count`, or all."""
    by_group: dict[str, list[Row]] = {}
    for row in rows:
        by_group.setdefault(str(row["group"]), []).append(row)
    chosen: list[Row] = []
    for group in chance.sample(sorted(by_group), len(by_group)):
        if len(chosen) < count:
            chosen += by_group[group]
    return chosen


def passages_of(rows: Sequence[Row]) -> list[Row]:
    """Return each passage once, as `Passages` takes them."""
    groups = {row["passage"]: str(row["group"]) for row in rows}
    return [{"id": text, "text": text, "group": group} for text, group in groups.items()]


def examples(
    name: str, rows: Sequence[Row], maker: Maker, chance: random.Random
) -> Iterator[Example]:
    """Yield the examples of some rows of a set."""
    asked = [row for row in rows if row["kind"].endswith("question") and not is_over_rows(row)]
    yield from of_questions(name, asked, maker)
    same = sum(row["label"] == "same" for row in rows)
    different = sum(row["label"] == "different" for row in rows)
    for row in rows:
        if row["kind"].endswith("claim"):
            yield from of_claim(name, row)
        elif row["kind"] == "pair":
            # Of pairs that say something else there are many more than of the others.
            if row["label"] == "different" and chance.random() * different > 2 * same:
                continue
            text, passage = chance.sample((row["text"], row["passage"]), 2)
            yield Example(f"pair {name}", text, passage, verdict=LABELS[row["label"]])


def is_over_rows(row: Row) -> bool:
    """Whether no window of a long table answers a question that compares or counts its rows."""
    is_long = row["kind"].startswith("table") and len(row["passage"]) > MAX_WHOLE
    return is_long and bool(OVER_ROWS.search(row["text"]))


def of_questions(name: str, rows: Sequence[Row], maker: Maker) -> Iterator[Example]:
    """Yield questions beside windows with and without the answer, and answers as claims."""
    questions = []
    for row in rows:
        answers = [answer for answer in row["answers"] if answer.strip()]
        is_answered = row["label"] == "answered"
        if is_answered and row["start"] is None:
            # The answer is computed, or yes or no.
            if len(row["passage"]) <= MAX_WHOLE:
                yield Example(f"whole {name}", row["text"], row["passage"], True, answers=True)
        elif not is_answered or (answers and row["passage"].startswith(answers[0], row["start"])):
            questions.append(
                {
                    "query": row["text"],
                    "relevant": [row["passage"]],
                    "answers": answers if is_answered else [],
                    "answerable": is_answered,
                    "start": row["start"],
                }
            )
    tables = bool(rows) and rows[0]["kind"].startswith("table")
    found = Passages(name, passages_of(rows), questions, split_lines if tables else None)
    yield from maker.of_questions(found, len(questions))
    yield from maker.of_near(found, len(questions) // 2)
    yield from maker.of_answers(found, len(questions) // 2)
    yield from maker.of_unanswerable(found, len(questions) // 3)


def split_lines(table: str) -> list[Place]:
    return [match.span() for match in re.finditer(r"\S.*", table)]


def of_claim(name: str, row: Row) -> Iterator[Example]:
    """Yield a claim beside its passage; of a long one beside the part that shares its words."""
    text, passage, verdict = row["text"], row["passage"], LABELS[row["label"]]
    is_table = row["kind"].startswith("table")
    longest = MAX_WHOLE if is_table else MAX_CLAIMED // (3 if is_cjk(passage[:200]) else 1)
    if len(passage) <= longest:
        wrong = () if verdict is Verdict.SUPPORTED else None
        yield Example(name, text, passage, verdict=verdict, wrong=wrong)
    elif not is_table:
        near = "".join(near_windows(text, passage, 1))
        if len(words_of(text) & words_of(near)) >= 0.6 * len(words_of(text)):
            # Another part may say otherwise, so that only what is supported is sure.
            kept = verdict if verdict is Verdict.SUPPORTED else Verdict.NOT
            yield Example(f"{name} long", text, near, verdict=kept)


def add_clauses(claims: Sequence[Example], chance: random.Random) -> Iterator[Example]:
    """Yield true claims with a clause of another one behind them, which nothing bears out."""
    true = [claim for claim in claims if claim.verdict is Verdict.SUPPORTED]
    clauses = [match[0].rstrip(".") for claim in true if (match := CLAUSE.search(claim.text))]
    made = 0
    for claim in true:
        if made == ADDED or not clauses:
            return
        clause = chance.choice(clauses)
        words = words_of(clause)
        shared = len(words & words_of(claim.passage))
        if claim.text.endswith(".") and len(claim.text) <= 220 and shared * 3 <= len(words) > 2:
            made += 1
            end = len(claim.text) - 1
            yield replace(
                claim,
                kind="added",
                text=f"{claim.text[:-1]}{clause}.",
                verdict=Verdict.NOT,
                wrong=((end, end + len(clause)),),
            )
