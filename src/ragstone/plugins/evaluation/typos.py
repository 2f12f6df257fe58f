"""`ragstone eval typos`: what one misspelling a question costs, and what correcting it recovers."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from random import Random
from string import ascii_lowercase

from ragstone.core.errors import InputError
from ragstone.engine.engine import Engine
from ragstone.language.unicode import find_plain_words
from ragstone.language.words import STOPWORDS
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.dataset import Question
from ragstone.plugins.evaluation.indexed import index_passages
from ragstone.plugins.evaluation.retrieval import measure_retrieval
from ragstone.recipes.recipe import Recipes
from ragstone.settings import Settings, SpellingSettings

MIN_LETTERS = 5
"""Letters of a word that is misspelt."""

MEASURE = "recall@5"


async def evaluate(
    directory: Path, settings: Settings, split: str = "dev", limit: int | None = 500
) -> dict[str, float]:
    """Recall of the first five documents: of clean questions, with one misspelling in each, and
    with the misspelling corrected; `recovered` is the share of the loss that is made good."""
    asked = dataset.questions(directory, split, None)
    asked = [item for item in asked if item.answerable and item.relevant]
    asked = list(dataset.spread(asked, limit))
    if not asked:
        raise InputError(f"No question of {directory}/{split} has a relevant document.")
    wrong = [replace(item, text=misspelt(item.text)) for item in asked]
    entries = dataset.corpus(directory)
    async with index_passages(entries, settings) as index:
        words = set().union(*(find_plain_words(f"{entry.title} {entry.text}") for entry in entries))
        await index.adapters.vocabulary.add(index.collection, words)

        async def recall(questions: Sequence[Question], corrected: bool) -> dict[str, float]:
            spelling = SpellingSettings(enabled=corrected)
            recipes = Recipes(settings.model_copy(update={"spelling": spelling}))
            async with aclosing(Engine(index.adapters, recipes.search_recipe)) as engine:
                return await measure_retrieval(engine, questions)

        clean, kept = await recall(asked, False), await recall(asked, True)
        typos, found = await recall(wrong, False), await recall(wrong, True)
    lost = clean[MEASURE] - typos[MEASURE]
    return {
        "questions": len(asked),
        "clean": clean[MEASURE],
        "clean_corrected": kept[MEASURE],
        "typos": typos[MEASURE],
        "corrected": found[MEASURE],
        "recovered": (found[MEASURE] - typos[MEASURE]) / lost if lost > 0 else 1.0,
        "p50_ms_off": typos["p50_ms"],
        "p50_ms_on": found["p50_ms"],
    }


def misspelt(question: str) -> str:
    """Return the question with one letter of one word wrong: always the same one."""
    random = Random(question)  # noqa: S311 - nothing secret
    words = question.split(" ")
    long = [place for place, word in enumerate(words) if _can_misspell(word)]
    if not long:
        return question
    place = random.choice(long)
    word = words[place]
    letters = word.rstrip(".,;:?!")
    words[place] = _misspell(letters, random) + word[len(letters) :]
    return " ".join(words)


def _can_misspell(word: str) -> bool:
    letters = word.rstrip(".,;:?!")
    plain = letters.isascii() and letters.isalpha() and letters[1:].islower()
    return plain and len(letters) >= MIN_LETTERS and letters.lower() not in STOPWORDS


def _misspell(word: str, random: Random) -> str:
    """Substitution, deletion, insertion or transposition, each as likely."""
    while True:
        at = random.randrange(len(word))
        letter = random.choice(ascii_lowercase)
        found = random.choice(
            (
                word[:at] + letter + word[at + 1 :],
                word[:at] + word[at + 1 :],
                word[:at] + letter + word[at:],
                word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :],
            )
        )
        if found.lower() != word.lower():
            return found
