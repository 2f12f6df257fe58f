"""Questions on the topic of a text that it does not answer, and texts with tables, by program.

Two ways make an answerable question unanswerable: a name in it becomes another one of the same
article, or the documents that answer it are left out. `office` writes the papers of invented
organisations, with questions that they answer and neighbours that they do not.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragstone.plugins.evaluation.dataset import CorpusPassage, Question

_NAME = re.compile(r"(?<=[a-z,] )(?:[A-Z][a-z'’-]+)(?: (?:of |the )?[A-Z][a-z'’-]+){0,3}")
_YEAR = re.compile(r"\b1[0-9]\d\d\b|\b20[0-2]\d\b")


def swap_names(questions: Sequence[Question], chance: random.Random) -> Iterator[Question]:
    """Yield questions with a name or a year of another question of the same article."""
    names, years = defaultdict(set), defaultdict(set)
    for question in questions:
        names[_article(question)].update(_NAME.findall(question.text))
        years[_article(question)].update(_YEAR.findall(question.text))
    for question in questions:
        for pattern, known in ((_YEAR, years), (_NAME, names)):
            found = pattern.search(question.text)
            others = sorted(known[_article(question)] - set(pattern.findall(question.text)))
            if found and others:
                text = (
                    question.text[: found.start()]
                    + chance.choice(others)
                    + question.text[found.end() :]
                )
                yield replace(
                    question, id=f"{question.id}-swapped", text=text, answers=(), answerable=False
                )
                break


def name_papers(questions: Sequence[Question], chance: random.Random) -> Iterator[Question]:
    """Yield questions that name whose papers are asked, which the papers need not say
    themselves."""
    for question in questions:
        house = (
            f"{chance.choice(PLACES)} {chance.choice(('Group', 'Institute', 'Software', 'Ltd'))}"
        )
        text = question.text.rstrip(" ?？")
        asked = chance.choice((f"{text} at {house}?", f"{text} in {house.split()[0]}?"))
        yield replace(question, id=f"{question.id}-housed", text=asked)


def _article(question: Question) -> str:
    return min(question.relevant, default=question.id).rsplit("-", 1)[0]


PLACES = [
    "Aldmere",
    "Brackley",
    "Corvin",
    "Dunmoor",
    "Estrel",
    "Falkirk",
    "Grenholm",
    "Harwick",
    "Inverlea",
    "Jarrow",
]
FIRST = [
    "Anna",
    "Boris",
    "Clara",
    "Dmitri",
    "Elena",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kira",
    "Luis",
    "Mina",
    "Nils",
    "Olga",
]
LAST = [
    "Abel",
    "Brandt",
    "Costa",
    "Dahl",
    "Evers",
    "Fink",
    "Grau",
    "Holm",
    "Iversen",
    "Jansen",
    "Klein",
    "Lund",
    "Moss",
    "Nagy",
    "Otto",
]
KINDS = ("library", "clinic", "school", "museum", "foundry", "brewery", "shipyard", "nursery")
GOODS = ("pump", "lamp", "valve", "ladder", "kettle", "drill", "cabinet", "heater", "scale")
COLUMNS = {
    "price": "What is the price of the {row}?",
    "weight": "How much does the {row} weigh?",
    "warranty": "How long is the warranty of the {row}?",
    "supplier": "Who supplies the {row}?",
    "stock": "How many {row}s are in stock?",
    "location": "Where is the {row} kept?",
}
STAFF = {
    "role": "What is the role of {row}?",
    "phone": "What is the phone number of {row}?",
    "office": "In which room is {row}?",
    "start": "When did {row} start?",
    "manager": "Who is the manager of {row}?",
}
FACTS = {
    "opened": ("The {it} opened in {v}.", "When did the {it} open?"),
    "director": ("{v} is the director of the {it}.", "Who is the director of the {it}?"),
    "budget": ("The annual budget of the {it} is {v} euros.", "What is the budget of the {it}?"),
    "employees": ("The {it} employs {v} people.", "How many people work at the {it}?"),
    "hours": ("Visitors are admitted from {v}.", "When are visitors admitted to the {it}?"),
    "notice": ("The notice period is {v} weeks.", "How long is the notice period at the {it}?"),
    "leave": ("Parental leave of {v} weeks is paid.", "How many weeks of parental leave are paid?"),
    "parking": ("A parking permit costs {v} euros a year.", "How much is a parking permit?"),
    "insurance": ("The building is insured by {v} Mutual.", "Who insures the building?"),
    "backup": ("Backups are kept for {v} days.", "For how many days are backups kept?"),
    "password": ("Passwords have to have {v} characters.", "How long must a password be?"),
    "training": ("New employees get {v} days of training.", "How long is the training?"),
}
_SAID_OF_ALL = ("opened", "director", "budget", "employees")


def office(count: int, chance: random.Random) -> tuple[list[CorpusPassage], list[Question]]:
    """Papers of `count` organisations, and questions of them. A column, a row or a fact that is
    asked for and not there stands in the papers of another organisation, or in none."""
    papers, questions = [], []
    for number in range(count):
        it = f"{PLACES[number % len(PLACES)]} {KINDS[number // len(PLACES) % len(KINDS)]}"
        for made, asked in (
            _facts(it, number, chance),
            _table(it, number, chance, GOODS, COLUMNS, "Inventory", "Item"),
            _table(it, number, chance, _people(chance), STAFF, "Staff", "Name"),
        ):
            papers.append(made)
            questions += asked
    return papers, questions


def _facts(it: str, number: int, chance: random.Random) -> tuple[CorpusPassage, list[Question]]:
    id_ = f"o{number}-facts"
    told = chance.sample(sorted(FACTS), 7)
    lines, questions = [], []
    for fact, (says, asks) in FACTS.items():
        value = _value(fact, chance)
        if fact in told:
            lines.append(says.format(it=it, v=value))
        text = asks.format(it=it)
        if it not in text:
            text = f"{text[:-1]} at the {it}?"
        questions.append(_question(f"{id_}-{fact}", text, id_, value if fact in told else ""))
    chance.shuffle(lines)
    middle = len(lines) // 2
    body = f"{' '.join(lines[:middle])}\n\n## Rules\n\n{' '.join(lines[middle:])}"
    return CorpusPassage(id_, f"Handbook of the {it}", body), questions


def _table(
    it: str,
    number: int,
    chance: random.Random,
    rows: Sequence[str],
    columns: dict[str, str],
    title: str,
    key: str,
) -> tuple[CorpusPassage, list[Question]]:
    id_ = f"o{number}-{title}"
    shown = chance.sample(rows, 6)
    there = [item for item in columns if item in chance.sample(sorted(columns), len(columns) - 2)]
    lines = [f"| {key} | {' | '.join(there)} |", "| --- " * (1 + len(there)) + "|"]
    questions = []
    for row in rows:
        values = {column: _value(column, chance) for column in columns}
        if row in shown:
            lines.append(f"| {row} | {' | '.join(values[c] for c in there)} |")
        for column in chance.sample(sorted(columns), 2):
            known = row in shown and column in there
            text = columns[column].format(row=row)[:-1] + f" at the {it}?"
            questions.append(
                _question(f"{id_}-{row}-{column}", text, id_, values[column] if known else "")
            )
    return CorpusPassage(id_, f"{title} of the {it}", "\n".join(lines)), questions


def _question(id_: str, text: str, paper: str, value: str) -> Question:
    return Question(id_, text, frozenset({paper}), (value,) if value else (), bool(value))


def _people(chance: random.Random) -> list[str]:
    return [f"{first} {last}" for first, last in zip(FIRST, chance.sample(LAST, 15), strict=True)]


def _value(column: str, chance: random.Random) -> str:
    if column in ("director", "supplier", "manager", "insurance"):
        return f"{chance.choice(FIRST)} {chance.choice(LAST)}"
    if column in ("opened", "start"):
        return str(chance.randint(1900, 2024))
    if column == "hours":
        return (
            f"{chance.randint(6, 11)}:{chance.choice(('00', '30'))} to {chance.randint(15, 21)}:00"
        )
    if column in ("location", "office"):
        return f"{chance.choice('ABCDEF')}{chance.randint(100, 399)}"
    if column == "role":
        return chance.choice(("porter", "archivist", "accountant", "welder", "nurse", "cook"))
    units = {"price": " euros", "weight": " kg", "warranty": " months"}
    most = {"budget": 900_000, "phone": 99_999, "employees": 900, "price": 900}.get(column, 90)
    return f"{chance.randint(most // 9, most)}{units.get(column, '')}"
