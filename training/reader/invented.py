"""Claims and questions about invented things, made by templates in six languages.

A passage says the same kinds of facts of two to four things; a claim gives one thing what belongs
to another, or asks for what only another has. Only who reads which fact belongs to which thing can
tell. A fact is said in several ways, so that the right claim seldom repeats the passage.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ragstone.language.polarity import YES_NO
from training.reader.example import Example, Place, Verdict, answer_with_words

MONTHS = ("January", "March", "May", "June", "August", "October", "December")
LETTERS = "ABCDEFGHKLMPRSTVXZ"
TERMS = (6, 12, 18, 24, 30, 36, 48, 60)
PERIODS = (5, 7, 10, 14, 20, 21, 28, 30, 42, 60, 90)
"""Of warranties in months, of notice in days."""

RULES = 0.15
"""Of so many passages is what they say a rule with exceptions."""

PRONOUNS = 0.3
"""Beside so many passages is a claim whose subject is a pronoun."""

WHETHER = 0.3
"""Beside so many is a question for yes or no, where its form is known."""

IN_COLUMN = {"€": "eur", "euros": "eur", "Euro": "eur", "%": "percent", "°C": "celsius"}
"""What a unit is called in the name of a column."""

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
    """Makes examples; `chance` decides which. Around the facts of some passages stand real English
    sentences of `around`."""

    def __init__(self, chance: random.Random, around: Sequence[str] = ()) -> None:
        self._chance = chance
        self._around = around

    def examples(self, count: int) -> Iterator[Example]:
        """Yield those of `count` passages: two to five each."""
        languages = list(_templates()["languages"].values())
        shares = [item["share"] for item in languages]
        for _ in range(count):
            language = self._chance.choices(languages, shares)[0]
            english = language is _templates()["languages"]["en"]
            around = self._around if english and self._chance.random() < 0.3 else ()
            scene = _Scene(self._chance, language, around)
            yield from scene.rules() if self._chance.random() < RULES else scene.examples()


class _Scene:
    """A passage about some things in one language, and what is claimed and asked of them."""

    def __init__(
        self, chance: random.Random, language: Mapping[str, Any], around: Sequence[str]
    ) -> None:
        self._chance = chance
        self._language = language
        self._around = around

    def examples(self) -> Iterator[Example]:
        pick = self._chance
        kind = pick.choice(self._language["things"])
        every = [Relation(**item) for item in kind["relations"]]
        relations = pick.sample(every, min(len(every), pick.randint(1, 4)))
        names = self._things(kind["names"], pick.choice((1, 2, 2, 3, 4)))
        facts: list[_Fact] = []
        for relation in relations:
            values: list[str] = []
            while len(values) < len(names):
                value = self._value(relation.value)
                if value not in values:
                    values.append(value)
            facts += [_Fact(relation, n, v) for n, v in zip(names, values, strict=True)]
        stated, missing = self._stated(facts)
        passage = self._passage(stated, names)
        fact = pick.choice(stated)
        yield self._claim(fact, fact.value, passage, Verdict.SUPPORTED)
        others = [f for f in stated if f.relation is fact.relation and f is not fact]
        near = others and pick.random() < 0.75
        wrong = pick.choice(others).value if near else self._value(fact.relation.value)
        if wrong != fact.value:
            yield self._claim(fact, wrong, passage, Verdict.CONTRADICTED)
        if pick.random() < PRONOUNS:
            yield from self._of_pronoun(fact, passage)
        if pick.random() < WHETHER:
            yield from self._asked_whether(fact, wrong, passage)
        asked = pick.random() < 0.7
        if asked:
            yield self._question(fact, passage, fact.value)
        left_out = pick.choice(missing) if missing else None
        other = left_out and next((f for f in stated if f.relation is left_out.relation), None)
        if left_out and other:
            yield self._claim(left_out, other.value, passage, Verdict.NOT_SAID)
            if asked:
                yield self._question(left_out, passage, None)
        yield from self._of_nothing(
            fact, passage, [item for item in every if item not in relations], asked
        )

    def _of_pronoun(self, fact: _Fact, passage: str) -> Iterator[Example]:
        """What is claimed of "it": the passage cannot say of what, but whether it says that."""
        forms = [item for item in fact.relation.said if item.startswith("{a}")]
        if not forms or not self._language["pronouns"]:
            return
        subject = self._chance.choice(self._language["pronouns"])
        form = self._chance.choice(forms)
        other = self._value(fact.relation.value)
        for value, verdict in (
            (fact.value, Verdict.SUPPORTED),
            (other, Verdict.SUPPORTED if other in passage else Verdict.CONTRADICTED),
        ):
            text = form.format(a=subject, v=value) + str(self._language["stop"])
            start = text.find(value)
            wrong = ((start, start + len(value)),) if verdict is not Verdict.SUPPORTED else ()
            yield Example("pronouns", text, passage, verdict=verdict, wrong=wrong)

    def _asked_whether(self, fact: _Fact, wrong: str, passage: str) -> Iterator[Example]:
        """Yield the verb before the subject in German; "¿...?" and "Est-ce que ...?"."""
        form = self._chance.choice(fact.relation.said)
        if self._language["whether"] == "verb":
            found = re.match(r"\{a\} (\w+) (.+)", form)
            if not found:
                return
            form = f"{found[1].capitalize()} {{a}} {found[2]}?"
        elif self._language["whether"]:
            form = self._language["whether"].format(form)
        else:
            return
        claim = self._claim(fact, fact.value, passage, Verdict.SUPPORTED)
        if wrong != fact.value and self._chance.random() < 0.5:
            claim = self._claim(fact, wrong, passage, Verdict.CONTRADICTED)
        value = fact.value if claim.verdict is Verdict.SUPPORTED else wrong
        question = form.format(a=fact.thing, v=value)
        yield from answer_with_words(claim, question, YES_NO[self._language["code"]])

    def rules(self) -> Iterator[Example]:
        """Yield a passage that says what holds and what holds for some: a claim or question that
        names the exception is not about the rule, nor the other way round."""
        pick = self._chance
        rule = pick.choice(self._language["rules"])
        cases = pick.sample(rule["conditions"], min(len(rule["conditions"]), pick.randint(1, 3)))
        values: list[str] = []
        while len(values) <= len(cases):
            value = self._value(rule["value"])
            if value not in values:
                values.append(value)
        by_case: dict[str, str] = dict(zip(["", *cases], values, strict=True))
        lines = [self._of_rule(rule, case, value) for case, value in by_case.items()]
        if pick.random() < 0.3:
            lines.reverse()
        if pick.random() < 0.3:
            lines.insert(
                pick.randint(0, len(lines)),
                pick.choice(self._around or self._language["filler"]),
            )
        passage = str(self._language["gap"]).join(lines)
        for case in pick.sample(list(by_case), 2):
            value, other = by_case[case], pick.choice([v for k, v in by_case.items() if k != case])
            for said, verdict in ((value, Verdict.SUPPORTED), (other, Verdict.CONTRADICTED)):
                text = self._of_rule(rule, case, said)
                start = text.find(said)
                wrong = ((start, start + len(said)),) if verdict is not Verdict.SUPPORTED else ()
                yield Example("rules", text, passage, verdict=verdict, wrong=wrong)
            asked = pick.choice(rule["asked_special" if case else "asked"]).format(c=case)
            place = passage.index(value)
            span = (place, place + len(value)) if passage.count(value) == 1 else None
            yield Example("rules", asked, passage, question=True, answers=True, span=span)

    def _of_rule(self, rule: Mapping[str, Any], case: str, value: str) -> str:
        forms = rule["special" if case else "general"]
        text: str = self._chance.choice(forms).format(c=case, v=value)
        return text[0].upper() + text[1:]

    def _of_nothing(
        self, fact: _Fact, passage: str, others: Sequence[Relation], asked: bool
    ) -> Iterator[Example]:
        """Yield what the passage says of nothing, though of this thing it says something like it:
        when it was opened, where it is asked when it was built."""
        alike = [item for item in others if item.value == fact.relation.value]
        if not others or self._chance.random() < 0.25:
            return
        relation = self._chance.choice(alike or others)
        unsaid = _Fact(relation, fact.thing, fact.value)
        if alike:
            yield self._claim(unsaid, fact.value, passage, Verdict.NOT_SAID)
        if asked:
            yield self._question(unsaid, passage, None)

    def _stated(self, facts: list[_Fact]) -> tuple[list[_Fact], list[_Fact]]:
        """Return the facts that the passage says, and those that it does not: one, or about half of
        them, so that what is said of one thing is not said of the next."""
        if len(facts) == 1:
            return facts, []
        count = 1 if self._chance.random() < 0.4 else max(1, len(facts) // 2)
        missing = self._chance.sample(facts, count)
        return [fact for fact in facts if fact not in missing], missing

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
        if value is not None:
            said = value if value in passage else _number(value)
            if said and passage.count(said) == 1:
                span = (passage.index(said), passage.index(said) + len(said))
        answers = value is not None
        text = text[0].upper() + text[1:]
        return Example("invented", text, passage, question=True, answers=answers, span=span)

    def _sentence(self, fact: _Fact, value: str) -> str:
        text: str = self._chance.choice(fact.relation.said).format(a=fact.thing, v=value)
        return text[0].upper() + text[1:] + str(self._language["stop"])

    def _passage(self, facts: list[_Fact], names: list[str]) -> str:
        """Return a table, records with the names of the columns, a list, or sentences."""
        way = self._chance.random()
        if 0.12 <= way < 0.24:
            by_name = {name: [f for f in facts if f.thing == name] for name in names}
            key = self._chance.choice(("", "name: ", "Name: ", "item: ", "Property: "))
            apart = self._chance.random() < 0.5
            gap = self._chance.choice(("; ", "; ", ", ", "\n"))
            return ("\n\n" if gap == "\n" else "\n").join(
                gap.join([key + name, *(self._cell(f, apart) for f in held)])
                for name, held in by_name.items()
                if held
            )
        if way < 0.12:
            labels = list(dict.fromkeys(fact.relation.label for fact in facts))
            cells = {(fact.thing, fact.relation.label): fact.value for fact in facts}
            rows = [" | ".join(["", *labels]).strip()]
            for name in names:
                rows.append(
                    " | ".join([name, *(cells.get((name, label), "-") for label in labels)])
                )
            return "\n".join(rows)
        if way < 0.7:
            self._chance.shuffle(facts)
        if way < 0.3:
            return "\n".join(f"- {f.thing}: {f.relation.label} {f.value}" for f in facts)
        lines = [self._sentence(fact, fact.value) for fact in facts]
        if self._chance.random() < 0.5:
            filler = self._chance.choice(self._language["filler"])
            lines.insert(self._chance.randint(0, len(lines)), filler)
        for _ in range(self._chance.randint(1, 4) if self._around else 0):
            lines.insert(self._chance.randint(0, len(lines)), self._chance.choice(self._around))
        return str(self._language["gap"]).join(lines)

    def _cell(self, fact: _Fact, apart: bool) -> str:
        """`price_eur: 89.00` where units stand in the columns' names, or `Price: 89 euros`."""
        number = _number(fact.value)
        unit = fact.value[len(number) :].strip()
        unit = IN_COLUMN.get(unit, unit)
        if not (apart and number and unit.isalpha()):
            return f"{self._column(fact)}: {fact.value}"
        cents = ".00" if unit == "eur" and "." not in number else ""
        column = f"{fact.relation.label}_{unit}".casefold().replace(" ", "_")
        return f"{column}: {number}{cents}"

    def _column(self, fact: _Fact) -> str:
        """Return the name of a column as people write it, and as programs do."""
        label = fact.relation.label
        return label.casefold().replace(" ", "_") if self._chance.random() < 0.4 else label

    def _things(self, forms: list[str], count: int) -> list[str]:
        found: list[str] = []
        form = self._chance.choice(forms)
        while len(found) < count:
            if "{" not in form or self._chance.random() < 0.15:
                form = self._chance.choice(forms)
            made = form.replace("{n}", self._word()).replace("{p}", self._person())
            while "{d}" in made:
                made = made.replace("{d}", str(self._chance.randint(1, 9)), 1)
            if made not in found:
                found.append(made)
        return found

    def _word(self) -> str:
        if self._language["words"] and self._chance.random() < 0.7:
            return str(self._chance.choice(self._language["words"]))
        return invent_name(self._chance)

    def _value(self, kind: str) -> str:
        pick = self._chance
        months, days = self._language["units"]
        gap = self._language["gap"]
        words = _templates()["values"]
        if kind in ("material", "licence", "language", "role", "colour"):
            return str(pick.choice(words[kind]))
        made: dict[str, Callable[[], str]] = {
            "metres": lambda: f"{pick.randint(3, 900)} m",
            "percent": lambda: f"{pick.randint(1, 60)}.{pick.randint(0, 9)} %",
            "minutes": lambda: f"{pick.randint(20, 200)} minutes",
            "seconds": lambda: f"{pick.choice((1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120))} seconds",
            "hours": lambda: (
                f"{pick.randint(6, 11)}:{pick.choice((0, 3))}0 to {pick.randint(15, 22)}:00"
            ),
            "hours_of": lambda: f"{pick.randint(2, 48)} hours",
            "degrees": lambda: f"{pick.randint(-40, 90)} °C",
            "memory": lambda: (
                f"{pick.choice((1, 2, 4, 8, 16, 32, 50, 64, 100, 512))} {pick.choice(('MB', 'GB'))}"
            ),
            "port": lambda: str(pick.choice((pick.randint(1024, 9999), pick.randint(80, 990)))),
            "version": lambda: f"{pick.randint(1, 12)}.{pick.randint(0, 14)}",
            "option": self._option,
            "command": lambda: (
                f"{pick.choice(('apt', 'pip', 'npm', 'make', 'systemctl', self._word().lower()))} "
                f"{pick.choice(('install', 'start', 'upgrade', 'remove', 'run', 'init', 'sync'))} "
                f"{self._word().lower()}"
            ),
            "file": lambda: (
                f"/{pick.choice(('etc', 'var/log', 'opt', 'srv'))}/{self._word().lower()}"
                f".{pick.choice(('conf', 'toml', 'yaml', 'ini', 'log'))}"
            ),
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

    def _option(self) -> str:
        words = self._chance.sample(_templates()["values"]["option"], 2)
        if self._chance.random() < 0.5:
            return f"--{'-'.join(words)}"
        return f"{words[0].upper()}_{words[1].upper()}=1"

    def _person(self) -> str:
        if self._language["persons"]:
            return str(self._chance.choice(self._language["persons"]))
        return " ".join(self._chance.choice(names) for names in _templates()["persons"])


def invent_name(chance: random.Random) -> str:
    """Make a name that nothing has: a word, or a letter and a number, as of a model."""
    if chance.random() < 0.2:
        return f"{chance.choice(LETTERS)}{chance.choice(('', '-'))}{chance.randint(2, 990)}"
    return "".join(chance.choice(syllables) for syllables in _templates()["syllables"])


def _number(value: str) -> str:
    """Return the number that a value begins with."""
    found = re.match(r"-?\d+(?:\.\d+)?(?= ?[^\d.: ])", value)
    return found[0] if found else ""
