"""Claims and questions about invented facts whose reading takes a step.

Two values stand in one sentence; some people may what others may not; a limit holds for a number
that is not said; things are compared; a value was replaced; the line above a list says what holds
for its items; a number is spelled otherwise, or its digits are exchanged. `reasoned.json` has the
sentences by language: {n}, {a} and {b} are names, {s} is who or what is spoken of, {v} a value, and
a step names its other slots itself.
"""

import calendar
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ragstone.language.polarity import YES_NO
from training.reader.example import Example, Place, Verdict, answer_with_words
from training.reader.invented import TERMS, invent_name

SENTENCES = Path(__file__).parent / "reasoned.json"
MONTHS = calendar.month_name[1:]
COUNTED = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
MARKS = ("- ", "- ", "* ", "• ", "・", "1. ", "(1) ", "")
"""What stands before the items of a list; of numbered ones the first."""

RANGES = {"count": (1000, 99_999), "price": (1000, 99_999), "money": (11, 999)}
"""The numbers that are spelled: as they are, in cents, in tenths of a million."""
FEW = (2, 6)
"""Weeks or years, so that a word can say how many."""

Language = Mapping[str, Any]


@cache
def load_languages() -> Mapping[str, Language]:
    languages: Mapping[str, Language] = json.loads(SENTENCES.read_text(encoding="utf-8"))
    return {code: {"code": code, **language} for code, language in languages.items()}


class Reasoner:
    """Makes examples; `chance` decides which."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def examples(self, count: int) -> Iterator[Example]:
        """Yield at least `count` examples, those of one passage together."""
        languages = list(load_languages().values())
        shares = [language["share"] for language in languages]
        made = 0
        while made < count:
            language = self._chance.choices(languages, shares)[0]
            ways = [self._pairs] * 2 + [self._rules] * 2 + [self._numbers] * 2 + [self._lists] * 3
            ways += [self._steps] * min(6, len(language["steps"]))
            for example in self._chance.choice(ways)(language):
                made += 1
                yield example

    def _pairs(self, language: Language) -> Iterator[Example]:
        """Claim both values of a sentence, and each of what has the other."""
        pick, kind = self._chance, "reasoned pair"
        form = pick.choice(language["pairs"])
        x, y = map(str, self._values(form["value"]))
        named = isinstance(form["of"], str)
        things = language["things"] if form["of"] == "things" else ["{n}"]
        a, b = self._name_two(things) if named else form["of"]
        slots = {"a": a, "b": b, "x": x, "y": y}
        said = capitalize(form["said"].format(**slots))
        passage = self._passage(language, [said])
        for thing, value, other, slot in ((a, x, y, "{x}"), (b, y, x, "{y}")):
            about = {"t": thing, "tl": thing[:1].lower() + thing[1:]}
            yield claim(kind, form["claim"].format(v=value, **about), passage, Verdict.SUPPORTED)
            false = form["claim"].format(v=other, **about)
            yield claim(kind, false, passage, Verdict.CONTRADICTED, other)
            if pick.random() < 0.5:
                before = form["said"].partition(slot)[0].format(**slots)
                start = passage.index(said) + len(before)
                span = start, start + len(value)
                yield question(kind, form["asked"].format(**about), passage, span)
        missing = pick.choice(things).format(n=invent_name(pick))
        if named and missing not in passage and pick.random() < 0.4:
            yield question(kind, form["asked"].format(t=missing, tl=missing), passage)
            unsaid = form["claim"].format(t=missing, v=pick.choice((x, y)))
            yield claim(kind, unsaid, passage, Verdict.NOT_SAID)

    def _rules(self, language: Language) -> Iterator[Example]:
        """Say what one group may and maybe what another may not, with yes and no before it."""
        pick, kind = self._chance, "reasoned rule"
        people = pick.sample(language["people"], 2)
        *deeds, asked = pick.choice(language["deeds"])
        first = pick.randrange(2)
        ruled = list(zip(people, (first, 1 - first), strict=True))[: pick.choice((1, 2, 2))]
        lines = [capitalize(deeds[side].format(s=who)) for who, side in ruled]
        passage = self._passage(language, lines)
        for (who, side), line in zip(ruled, lines, strict=True):
            for said in (0, 1):
                text = deeds[said].format(s=who)
                if pick.random() < 0.6:
                    text = language["yes_no"][said] + text
                verdict = Verdict.SUPPORTED if said == side else Verdict.CONTRADICTED
                yield claim(kind, text, passage, verdict)
            if pick.random() < 0.5:
                yield question(kind, asked.format(s=who), passage, find_place(line, passage))
        if len(ruled) == 1:
            yield question(kind, asked.format(s=people[1]), passage)
            unsaid = pick.choice(deeds).format(s=people[1])
            yield claim(kind, unsaid, passage, Verdict.NOT_SAID)

    def _steps(self, language: Language) -> Iterator[Example]:
        """Claim what follows from a limit, a comparison, a change or a delay, and what does not."""
        pick = self._chance
        kinds = sorted({form["kind"] for form in language["steps"]})
        wanted = pick.choice(kinds)
        form = pick.choice([form for form in language["steps"] if form["kind"] == wanted])
        kind = f"reasoned {wanted}"
        slots = self._slots(language) | {"what": pick.choice(form.get("what", [""]))}
        said = capitalize(pick.choice(form["said"]).format(**slots))
        passage = self._passage(language, [said])
        for name, verdict in (("right", Verdict.SUPPORTED), ("wrong", Verdict.CONTRADICTED)):
            for text in pick.sample(form[name], 2):
                yield claim(kind, text.format(**slots), passage, verdict)
        span = find_place(form.get("answer", said).format(**slots), passage)
        yield question(kind, pick.choice(form["asked"]).format(**slots), passage, span)

    def _slots(self, language: Language) -> dict[str, object]:
        """Draw what the sentences of all steps name."""
        pick = self._chance
        low, high = sorted(pick.sample(range(2, 90), 2))
        over = pick.randint(high + 1, high + 40)
        opens = pick.randint(6, 12)
        shuts = pick.randint(opens + 3, 21)
        minor = pick.randint(3, 14)
        a, b = self._name_two(language["things"])
        x, y = self._values("price")
        year, month = pick.randint(2005, 2026), pick.randint(0, 11)
        late, other = pick.sample(range(1, 1 + len(COUNTED)), 2)
        return {
            "n": invent_name(pick),
            "a": a,
            "b": b,
            "x": x,
            "y": y,
            "less": a if x < y else b,
            "more": b if x < y else a,
            "most": max(x, y),
            "gap": abs(x - y),
            "low": low,
            "high": high,
            "inside": pick.randint(low, high),
            "outside": pick.choice((pick.randint(0, low - 1), over)),
            "over": over,
            "opens": opens,
            "shuts": shuts,
            "during": pick.randint(opens, shuts - 1),
            "closed": pick.choice((pick.randint(1, opens - 1), pick.randint(shuts + 1, 23))),
            "minor": minor,
            "newer": f"3.{pick.randint(minor, minor + 4)}",
            "older": pick.choice((f"3.{pick.randint(0, minor - 1)}", "2.7")),
            "year": year,
            "before": year - 1,
            "planned": f"{MONTHS[month]} {year}",
            "moved": f"{MONTHS[(month + late) % 12]} {year + (month + late) // 12}",
            "late": f"{COUNTED[late - 1]} month{'s' * (late > 1)}",
            "other": f"{COUNTED[other - 1]} month{'s' * (other > 1)}",
        }

    def _lists(self, language: Language) -> Iterator[Example]:
        """Claim of items what the line above their list says of them, and its opposite.

        Beside the list may stand one under a line that says the opposite; a list may be of one item
        alone, as where a long one was cut, and its items may stand below names of their kinds.
        """
        pick, kind = self._chance, "reasoned list"
        form = pick.choice(language["lists"])
        asked = pick.choice(form["asked"])
        items = [item for group in form["items"].values() for item in group]
        pick.shuffle(items)
        side = pick.randrange(2)
        # Of what must be there together a list of one item says nothing.
        size = pick.randint(2, 4) if "both" in form else pick.choice((1, 1, 2, 3, 4, 5))
        lists = [(side, items[:size])]
        if "both" not in form and pick.random() < 0.4:
            lists.append((1 - side, items[size : size + pick.randint(1, 3)]))
        passage = self._list_passage(language, form, lists)
        for stated, listed in lists:
            item = pick.choice(listed)
            said = pick.choice(form["said"])
            yield claim(kind, said[stated].format(s=item), passage, Verdict.SUPPORTED)
            yield claim(kind, said[1 - stated].format(s=item), passage, Verdict.CONTRADICTED)
            verdict = Verdict.CONTRADICTED if stated else Verdict.SUPPORTED
            yield from answer_with_words(
                claim(kind, said[0].format(s=item), passage, verdict),
                capitalize(asked.format(s=item)),
                YES_NO[language["code"]],
            )
            if pick.random() < 0.5:
                yield question(kind, asked.format(s=item), passage, find_place(item, passage))
        if "both" in form:
            a, b = pick.sample(lists[0][1], 2)
            verdict = Verdict.SUPPORTED if side else Verdict.CONTRADICTED
            yield claim(kind, pick.choice(form["both"]).format(a=a, b=b), passage, verdict)
        elif pick.random() < 0.5:
            unsaid = items[-1]
            text = pick.choice(pick.choice(form["said"])).format(s=unsaid)
            yield claim(kind, text, passage, Verdict.NOT_SAID)
            yield question(kind, asked.format(s=unsaid), passage)

    def _list_passage(
        self, language: Language, form: Mapping[str, Any], lists: Sequence[tuple[int, list[str]]]
    ) -> str:
        pick = self._chance
        mark, capital = pick.choice(MARKS), pick.random() < 0.4
        named = len(form["items"]) > 1 and pick.random() < 0.25
        blocks = []
        for side, listed in lists:
            lines = [pick.choice(form["no" if side else "yes"])]
            if pick.random() < 0.2:
                lines = [f"{pick.choice(language['filler'])} {lines[0]}"]
            count = 0
            for group, members in form["items"].items():
                held = [item for item in listed if item in members]
                if named and held:
                    lines.append(f"{MARKS[0]}{group}:")
                for item in held:
                    count += 1
                    shown = capitalize(item) if capital else item
                    lines.append("  " * named + mark.replace("1", str(count)) + shown)
            blocks.append("\n".join(lines))
        if pick.random() < 0.3:
            blocks.insert(pick.choice((0, len(blocks))), pick.choice(language["filler"]))
        return pick.choice(("\n\n", "\n\n", "\n")).join(blocks)

    def _numbers(self, language: Language) -> Iterator[Example]:
        """Claim a number in each spelling, and one with its digits exchanged."""
        pick, kind = self._chance, "reasoned number"
        form = pick.choice(language["numbers"])
        value = pick.randint(*RANGES.get(form["kind"], FEW))
        false = self._exchanged(value)
        right, wrong = (spell(number, form["spelled"], language) for number in (value, false))
        a, b = self._name_two(["{n}"])
        way = pick.randrange(len(right))
        lines = [pick.choice(form["said"]).format(n=a, v=right[way])]
        if pick.random() < 0.4:
            lines.append(pick.choice(form["said"]).format(n=b, v=wrong[way]))
        passage = self._passage(language, lines)
        for text in right:
            said = pick.choice(form["said"]).format(n=a, v=text)
            yield claim(kind, said, passage, Verdict.SUPPORTED)
        for text in pick.sample(wrong, 2):
            said = pick.choice(form["said"]).format(n=a, v=text)
            yield claim(kind, said, passage, Verdict.CONTRADICTED, text)

    def _exchanged(self, value: int) -> int:
        """Exchange two digits that stand side by side; for few weeks or years draw others."""
        if value <= FEW[1]:
            return self._chance.choice([n for n in range(FEW[0], FEW[1] + 1) if n != value])
        digits = str(value)
        places = [
            i
            for i in range(len(digits) - 1)
            if digits[i] != digits[i + 1] and (i or digits[1] != "0")
        ]
        if not places:
            return value + 1
        i = self._chance.choice(places)
        return int(digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :])

    def _name_two(self, forms: Sequence[str]) -> tuple[str, str]:
        form = self._chance.choice(forms)
        a = b = ""
        while a == b:
            a, b = (form.format(n=invent_name(self._chance)) for _ in range(2))
        return a, b

    def _values(self, kind: str) -> tuple[int, int]:
        """Draw two different values, the smaller one first where their order says something."""
        pick = self._chance
        several: dict[str, Sequence[int]] = {
            "price": [pick.randint(2, most) for most in (99, 99, 999, 999, 4999, 4999)] + [20, 100],
            "months": TERMS,
            "hour": range(12, 24),
            "year": range(1880, 2027),
            "small": range(1, 60),
            "falling": range(1, 900),
        }
        x, y = pick.sample(sorted(set(several[kind])), 2)
        if (kind == "small" and x > y) or (kind == "falling" and x < y):
            x, y = y, x
        return x, y

    def _passage(self, language: Language, lines: Sequence[str]) -> str:
        """Put the lines between some that say nothing of it."""
        pick, lines = self._chance, list(lines)
        for _ in range(pick.choice((0, 0, 1, 2, 3))):
            lines.insert(pick.randint(0, len(lines)), pick.choice(language["filler"]))
        return ("" if language["code"] in ("zh", "ja") else " ").join(lines)


def claim(kind: str, text: str, passage: str, verdict: Verdict, wrong: str = "") -> Example:
    """Make a claim; `wrong` is what of its text the passage does not bear out, if known."""
    text = capitalize(text)
    places: tuple[Place, ...] | None = () if verdict is Verdict.SUPPORTED else None
    if wrong:
        start = text.rindex(wrong)
        places = ((start, start + len(wrong)),)
    return Example(kind, text, passage, verdict=verdict, wrong=places)


def question(kind: str, text: str, passage: str, span: Place | None = None) -> Example:
    """Make a question that the passage answers in `span`, or does not answer."""
    return Example(kind, capitalize(text), passage, True, answers=span is not None, span=span)


def spell(value: int, forms: Sequence[str], language: Language) -> list[str]:
    """Write a number in each of the forms."""
    point = f"{value / 100:.2f}"
    slots = {
        "plain": value,
        "grouped": f"{value:,}".replace(",", language["grouping"]),
        "point": point,
        "comma": point.replace(".", ","),
        "tenths": f"{value / 10:g}".replace(".", language["decimal"]),
        "full": f"{value * 100_000:,}".replace(",", language["grouping"]),
        "myriads": value * 10,
        "few": value,
        "word": language["words"][value - FEW[0]] if value <= FEW[1] else "",
        "days": value * 7,
        "months": value * 12,
    }
    return [form.format(**slots) for form in forms]


def find_place(part: str, passage: str) -> Place:
    found = re.search(rf"(?<!\d){re.escape(part)}(?!\d)", passage, re.IGNORECASE)
    if found is None:
        raise ValueError(f"Not in the passage: {part}")
    return found.span()


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
