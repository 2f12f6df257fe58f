"""Claims and questions about invented things, made by templates in six languages.

A passage says the same kinds of facts of two to four things; a claim gives one thing what belongs
to another, or asks for what only another has. Only who reads which fact belongs to which thing can
tell. A fact is said in several ways, so that the right claim seldom repeats the passage.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from training.reader.example import Example, Place, Verdict

MONTHS = ("January", "March", "May", "June", "August", "October", "December")
LETTERS = "ABCDEFGHKLMPRSTVXZ"
TERMS = (6, 12, 18, 24, 30, 36, 48, 60)
PERIODS = (5, 7, 10, 14, 20, 21, 28, 30, 42, 60, 90)
"""Of warranties in months, of notice in days."""

TEMPLATES = Path(__file__).parent / "invented.json"


@dataclass(frozen=True, slots=True)
class Relation:
    """Ways to state it and to ask for it, with {a} for the thing and {v} for the value, and its
    name in a table. `value` is the kind of value."""

    value: str
    label: str
    said: Sequence[str]
    asked: Sequence[str]


@cache
def _templates() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(TEMPLATES.read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True, slots=True)
class _Fact:
    relation: Relation
    thing: str
    value: str


class Inventor:
    """Makes examples; `chance` decides which."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def examples(self, count: int) -> Iterator[Example]:
        """Those of `count` passages: two to five each."""
        languages = list(_templates()["languages"].values())
        shares = [one["share"] for one in languages]
        for _ in range(count):
            yield from _Scene(self._chance, self._chance.choices(languages, shares)[0]).examples()


class _Scene:
    """A passage about some things in one language, and what is claimed and asked of them."""

    def __init__(self, chance: random.Random, language: Mapping[str, Any]) -> None:
        self._chance = chance
        self._language = language

    def examples(self) -> Iterator[Example]:
        pick = self._chance
        kind = pick.choice(self._language["things"])
        relations = pick.sample(kind["relations"], min(len(kind["relations"]), pick.randint(1, 3)))
        names = self._things(kind["names"], pick.randint(2, 4))
        facts: list[_Fact] = []
        for relation in (Relation(**one) for one in relations):
            values: list[str] = []
            while len(values) < len(names):
                value = self._value(relation.value)
                if value not in values:
                    values.append(value)
            facts += [_Fact(relation, n, v) for n, v in zip(names, values, strict=True)]
        left_out = pick.choice(facts)
        stated = [fact for fact in facts if fact is not left_out]
        passage = self._passage(stated, names)
        fact = pick.choice(stated)
        yield self._claim(fact, fact.value, passage, Verdict.SUPPORTED)
        others = [f for f in stated if f.relation is fact.relation and f is not fact]
        near = others and pick.random() < 0.75
        wrong = pick.choice(others).value if near else self._value(fact.relation.value)
        if wrong != fact.value:
            yield self._claim(fact, wrong, passage, Verdict.CONTRADICTED)
        other = next((f for f in stated if f.relation is left_out.relation), None)
        if other:
            yield self._claim(left_out, other.value, passage, Verdict.NOT_SAID)
        if pick.random() < 0.6:
            yield self._question(fact, passage, fact.value)
            if other:
                yield self._question(left_out, passage, None)

    def _claim(self, fact: _Fact, value: str, passage: str, verdict: Verdict) -> Example:
        if self._chance.random() < 0.12:
            text = f"{self._chance.choice(fact.relation.asked).format(a=fact.thing)} {value}"
        else:
            text = self._sentence(fact, value)
        wrong: tuple[Place, ...] | None = ()
        if verdict is not Verdict.SUPPORTED:
            start = text.casefold().find(value.casefold())
            wrong = ((start, start + len(value)),) if start >= 0 else None
        return Example("invented", text, passage, verdict=verdict, wrong=wrong)

    def _question(self, fact: _Fact, passage: str, value: str | None) -> Example:
        text = self._chance.choice(fact.relation.asked).format(a=fact.thing)
        span = None
        if value is not None and passage.count(value) == 1:
            span = (passage.index(value), passage.index(value) + len(value))
        answers = value is not None
        text = text[0].upper() + text[1:]
        return Example("invented", text, passage, question=True, answers=answers, span=span)

    def _sentence(self, fact: _Fact, value: str) -> str:
        text: str = self._chance.choice(fact.relation.said).format(a=fact.thing, v=value)
        return text[0].upper() + text[1:] + str(self._language["stop"])

    def _passage(self, facts: list[_Fact], names: list[str]) -> str:
        """A table, a list, or sentences."""
        way = self._chance.random()
        if way < 0.18:
            labels = list(dict.fromkeys(fact.relation.label for fact in facts))
            cells = {(fact.thing, fact.relation.label): fact.value for fact in facts}
            rows = [" | ".join(["", *labels]).strip()]
            for name in names:
                rows.append(" | ".join([name, *(cells.get((name, one), "-") for one in labels)]))
            return "\n".join(rows)
        if way < 0.7:
            self._chance.shuffle(facts)
        if way < 0.3:
            return "\n".join(f"- {f.thing}: {f.relation.label} {f.value}" for f in facts)
        lines = [self._sentence(fact, fact.value) for fact in facts]
        if self._chance.random() < 0.5:
            filler = self._chance.choice(self._language["filler"])
            lines.insert(self._chance.randint(0, len(lines)), filler)
        return str(self._language["gap"]).join(lines)

    def _things(self, forms: list[str], count: int) -> list[str]:
        found: list[str] = []
        form = self._chance.choice(forms)
        while len(found) < count:
            if "{" not in form or self._chance.random() < 0.15:
                form = self._chance.choice(forms)
            made = form.replace("{n}", self._word())
            while "{d}" in made:
                made = made.replace("{d}", str(self._chance.randint(1, 9)), 1)
            if made not in found:
                found.append(made)
        return found

    def _word(self) -> str:
        """A name that nothing has: a word, or letters and a number, as of a model."""
        pick = self._chance
        if self._language["words"] and pick.random() < 0.7:
            return str(pick.choice(self._language["words"]))
        if pick.random() < 0.2:
            dash = pick.choice(("", "-"))
            return f"{pick.choice(LETTERS)}{dash}{pick.randint(2, 990)}"
        return "".join(pick.choice(syllables) for syllables in _templates()["syllables"])

    def _value(self, kind: str) -> str:
        pick = self._chance
        months, days = self._language["units"]
        gap = self._language["gap"]
        made: dict[str, Callable[[], str]] = {
            "company": lambda: self._word() + pick.choice(self._language["firms"]),
            "person": self._person,
            "place": lambda: str(pick.choice(self._language["places"])),
            "year": lambda: str(pick.randint(1880, 2024)),
            "date": lambda: (
                f"{pick.randint(1, 28)} {pick.choice(MONTHS)} {pick.randint(2015, 2026)}"
            ),
            "count": lambda: str(pick.choice((pick.randint(10, 990), pick.randint(10, 99) * 100))),
            "bar": lambda: f"{pick.randint(2, 60)} bar",
            "kg": lambda: f"{pick.randint(2, 400)} kg",
            "money": lambda: f"{pick.randint(1, 90)}.{pick.randint(0, 9)} million euros",
            "price": lambda: f"{pick.randint(5, 990)}{self._language['money']}",
            "months": lambda: f"{pick.choice(TERMS)}{gap}{months}",
            "days": lambda: f"{pick.choice(PERIODS)}{gap}{days}",
        }
        return made[kind]()

    def _person(self) -> str:
        if self._language["persons"]:
            return str(self._chance.choice(self._language["persons"]))
        return " ".join(self._chance.choice(names) for names in _templates()["persons"])
