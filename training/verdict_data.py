"""Claims with a label, made from data whose licence allows to train on it.

Real ones: the claims of WiCE and SciFact. Made ones: sentences of SQuAD 2 and XQuAD passages,
shortened, turned around or merged, and questions with their answers, are supported; the same with
another number, name, word or polarity, or beside passages that do not hold them, are not.
"""

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.language.quantities import quantities
from ragstone.language.sentences import sentences
from ragstone.plugins.evaluation.dataset import read_rows
from ragstone.verify.evidence import terms

LANGUAGES = ("de", "es", "zh", "ru", "tr", "vi")
"""The languages of XQuAD that are trained on beside English; the others are held out."""

MAX_SOURCES = 6
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_DIGITS = re.compile(r"(?<![\d.,])\d+(?![\d.,]*\d)")
_IS = re.compile(r"\b(is|was|are|were|can|could|will|would|has been|have been|had been)\b(?! not)")
_VERB = re.compile(r"\b(ist|war|sind|waren|wurde|wurden|es|era|fue|son|fueron)\b")
_OPENER = re.compile(r"^(who|what|which [a-z]+|what [a-z]+)\b (?=\w+(?:s|ed)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Example:
    """`kind` says where it comes from; `group` names what must not stand on both sides of a
    split."""

    sources: tuple[str, ...]
    title: str
    claim: str
    supported: bool
    kind: str
    group: str


def is_held_out(group: str) -> bool:
    """Whether a group belongs to the half that no weights are tuned on: by a hash of its id."""
    return hashlib.blake2b(group.encode(), digest_size=2).digest()[0] % 2 == 1


def wice(data: Path) -> Iterator[Example]:
    """Yield claims of Wikipedia beside the web pages that they cite."""
    for row in read_rows(data / "wice" / "dev" / "examples.jsonl.gz"):
        yield Example(
            (row["source"],),
            "",
            row["response"],
            row["label"] == "supported",
            "wice",
            row["id"].split("#")[0],
        )


def scifact(data: Path) -> Iterator[Example]:
    """Read scientific claims beside abstracts; what an abstract does not decide is not
    supported."""
    corpus = {row["id"]: row for row in read_rows(data / "scifact" / "corpus.jsonl.gz")}
    for row in read_rows(data / "scifact" / "dev" / "queries.jsonl.gz"):
        labels = {item["doc"]: item["label"] for item in row["evidence"]}
        for document in row["relevant"]:
            entry = corpus[document]
            right = labels.get(document) == "SUPPORT"
            yield Example(
                (entry["text"],), entry["title"], row["query"], right, "scifact", document
            )


def make_claims(data: Path, seed: int = 1, each: int = 1) -> Iterator[Example]:
    """Yield claims made of passages and of questions about them."""
    chance = random.Random(seed)
    for directory in (data / "squad2_dev", *(data / "xquad" / name for name in LANGUAGES)):
        maker = _Maker(directory, chance)
        yield from maker.from_sentences(each)
        yield from maker.from_questions(each)


class _Maker:
    """Makes claims from one set of passages."""

    def __init__(self, directory: Path, chance: random.Random) -> None:
        self._chance = chance
        self._kind = "made" if directory.name == "squad2_dev" else f"made-{directory.name}"
        self._rows = list(read_rows(directory / "corpus.jsonl.gz"))
        self._by_id = {row["id"]: row for row in self._rows}
        self._questions = list(read_rows(directory / "dev" / "queries.jsonl.gz"))

    def from_sentences(self, each: int) -> Iterator[Example]:
        for row in self._rows:
            spans = [row["text"][s.start : s.end] for s in sentences(row["text"])]
            spans = [span for span in spans if 15 <= len(span) <= 400]
            for _ in range(each if len(spans) > 1 else 0):
                place = self._chance.randrange(len(spans) - 1)
                yield from self._of_sentence(row, spans, place)

    def _of_sentence(self, row: dict[str, Any], spans: list[str], place: int) -> Iterator[Example]:
        one, after = spans[place], spans[place + 1]
        kept = self._chance.choice((one, *_shorter(one), _turn_clauses(one), f"{one} {after}"))
        yield self._example(row, kept, True)
        base = self._chance.choice((one, kept))
        ways: tuple[Callable[[str, str], str | None], ...] = (
            self._other_number,
            self._other_name,
            self._negated,
            self._other_part,
        )
        for way in self._chance.sample(ways, len(ways)):
            changed = way(base, row["text"])
            if changed and changed != base:
                yield self._example(row, changed, False)
                break
        yield self._example(row, self._chance.choice((one, kept)), False, without=True)

    def from_questions(self, each: int) -> Iterator[Example]:
        answers = [q["answers"][0] for q in self._questions if q["answers"]]
        for question in self._chance.sample(
            self._questions, min(len(self._questions), each * len(self._rows))
        ):
            row = self._by_id.get(question["relevant"][0]) if question["relevant"] else None
            if row is None:
                continue
            if question["answers"]:
                right = min(question["answers"], key=len)
                yield self._example(row, state_answer(question["query"], right), True)
                wrong = self._wrong(right, row["text"], answers)
                if wrong:
                    yield self._example(row, state_answer(question["query"], wrong), False)
            else:
                names = _NAME.findall(row["text"]) or answers
                yield self._example(
                    row, state_answer(question["query"], self._chance.choice(names)), False
                )

    def _wrong(self, right: str, text: str, answers: Sequence[str]) -> str | None:
        """An answer of the same sort: another number of the passage, another name, another's."""
        if quantities(right):
            return self._other_number(right, text)
        others = [name for name in _NAME.findall(text) if name not in right and right not in name]
        pool = others if others and right[:1].isupper() else list(answers)
        found = self._chance.choice(pool)
        return found if found.casefold() not in right.casefold() else None

    def _other_number(self, text: str, passage: str) -> str | None:
        found = list(_DIGITS.finditer(text))
        if not found:
            return None
        one = self._chance.choice(found)
        near = [n for n in _DIGITS.findall(passage) if n not in text]
        made_up = str(int(one.group()[:12]) + self._chance.choice((-3, -1, 1, 2, 7, 10)))
        other = self._chance.choice(near) if near and self._chance.random() < 0.4 else made_up
        return text[: one.start()] + other.lstrip("-") + text[one.end() :]

    def _other_name(self, text: str, passage: str) -> str | None:
        found = list(_NAME.finditer(text))
        if not found:
            return None
        one = self._chance.choice(found)
        near = [name for name in _NAME.findall(passage) if name not in text]
        far = _NAME.findall(self._chance.choice(self._rows)["text"])
        pool = near if near and self._chance.random() < 0.5 else far
        return text[: one.start()] + self._chance.choice(pool) + text[one.end() :] if pool else None

    def _negated(self, text: str, passage: str) -> str | None:
        for pattern, after in ((_IS, " not"), (_VERB, "")):
            found = pattern.search(text)
            if found and pattern is _IS:
                return text[: found.end()] + after + text[found.end() :]
            if found:
                word = " nicht" if found.group() in _GERMAN else ""
                start = found.start() if not word else found.end()
                return text[:start] + (word or "no ") + text[start:]
        if self._kind == "made-zh":
            found = re.search("是|在|有|会|能", text)
            return text[: found.start()] + "不" + text[found.start() :] if found else None
        return None

    def _other_part(self, text: str, passage: str) -> str | None:
        """The sentence with a clause of another passage's sentence instead of its last one."""
        other = self._chance.choice(self._rows)["text"]
        parts, others = re.split(r"[,，;]", text), re.split(r"[,，;.。]", other)
        tail = self._chance.choice(others).strip()
        if len(parts) < 2 or len(tail) < 8 or tail in passage:
            return None
        return ",".join(parts[:-1]) + ", " + tail + "."

    def _example(
        self, row: dict[str, Any], claim: str, supported: bool, without: bool = False
    ) -> Example:
        """Return the claim beside its passage and others, or beside others only."""
        place = self._rows.index(row)
        near = [r["text"] for r in self._rows[max(0, place - 6) : place + 7] if r is not row]
        far = [r["text"] for r in self._chance.sample(self._rows, 3) if r is not row]
        count = self._chance.randint(1 if without else 0, MAX_SOURCES - 1)
        others = self._chance.sample(near + far, min(count, len(near + far)))
        sources = others if without else [row["text"], *others]
        self._chance.shuffle(sources)
        group = f"{self._kind} {row.get('title') or row['id'].split('-')[0]}"
        return Example(tuple(sources), "", claim, supported, self._kind, group)


_GERMAN = frozenset(["ist", "war", "sind", "waren", "wurde", "wurden"])


def state_answer(question: str, answer: str) -> str:
    """Return a question and its answer as one statement."""
    bare = question.strip().rstrip("?？ ¿").lstrip("¿")
    if _OPENER.match(bare):
        return _OPENER.sub(f"{answer} ", bare, count=1) + "."
    return f"{bare}: {answer}."


def _shorter(text: str) -> list[str]:
    """The sentence without what stands in brackets, and without its last or middle clause."""
    made_shorter = [re.sub(r"\s?\([^)]*\)", "", text)]
    parts = re.split(r"(?<=[,，;]) ?", text)
    if len(parts) > 1:
        made_shorter.append("".join(parts[:-1]).rstrip(",，; ") + text[-1])
    if len(parts) > 2:
        made_shorter.append(f"{parts[0]} {parts[-1]}")
    return [item for item in made_shorter if len(terms(item)) > 2]


def _turn_clauses(text: str) -> str:
    """The sentence with its first clause at its end."""
    first, comma, rest = text.rstrip(".。").partition(", ")
    return f"{rest[0].upper()}{rest[1:]}, {first}." if comma and len(rest) > 10 else text
