"""`ragstone eval spelling`: are misspelt words put right, and are right ones left alone?

Every word of the set stands in a question, of `CARRIERS` in turn. A clean question is one whose
every word is in a dictionary or in a document of its own set (`corpus.jsonl` two folders above
the questions): what people type has misspellings too, about one question in 50 of squad2_dev.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from ragstone.core.errors import InputError
from ragstone.language.dictionary import english
from ragstone.language.unicode import find_plain_words
from ragstone.plugins.evaluation import dataset
from ragstone.understand.misspelling import one_edit
from ragstone.understand.question_words import inflections, unknown_words
from ragstone.understand.spelling import Corpus, Corrected, correct

CARRIERS = (
    "What does the document say about {} in this context?",
    "Where does the report mention {} for the first time?",
    "How was {} described by the people who were there?",
    "Which part of the text is about {} and nothing else?",
    "Why is {} so important for the rest of the story?",
)
QUESTIONS = 2000

Pair = tuple[str, str]


async def evaluate(file: Path, clean: Sequence[Path] = ()) -> dict[str, float | None]:
    """`fixed`: the share of the misspelt words that come out right; `kept`: of the right ones that
    stay; `right`: of all. `altered`: the share of clean questions that are changed, if nothing is
    known of the collection; `altered_knowing_corpus`: of all questions, if its words are.
    """
    english().candidates("warm")
    found: dict[str, float | None] = {**_correction_measures(pairs(file)), "altered": None}
    parts = [_alteration_counts(path) for path in clean]
    if parts:
        sums = {name: sum(part[name] for part in parts) for name in parts[0]}
        found |= {
            "altered": sums["altered"] / max(1, sums["clean"]),
            "altered_knowing_corpus": sums["altered_knowing"] / max(1, sums["questions"]),
            "altered_any": sums["altered_any"] / max(1, sums["questions"]),
            "clean": sums["clean"],
            "questions": sums["questions"],
        }
    return found


def pairs(file: Path) -> list[Pair]:
    """The wrong and the right words of a file, gzipped or not; InputError if it cannot be read."""
    try:
        return [(row["wrong"], row["right"]) for row in dataset.read_rows(file) if row]
    except (InputError, KeyError, TypeError) as error:
        raise InputError(
            f"{file} cannot be read ({error}). Give lines of JSON with wrong and right."
        ) from error


def _correction_measures(words: Sequence[Pair]) -> dict[str, float]:
    fixed: list[bool] = []
    kept: list[bool] = []
    started = time.perf_counter()
    for number, (wrong, right) in enumerate(words):
        carrier = CARRIERS[number % len(CARRIERS)]
        found = _correct_alone(carrier.format(wrong)).text
        good = found.lower() == carrier.format(right).lower()
        (kept if wrong.lower() == right.lower() else fixed).append(good)
    seconds = time.perf_counter() - started
    return {
        "misspelt": len(fixed),
        "fixed": sum(fixed) / max(1, len(fixed)),
        "kept": sum(kept) / max(1, len(kept)),
        "right": (sum(fixed) + sum(kept)) / max(1, len(words)),
        "ms": 1000 * seconds / max(1, len(words)),
    }


def _alteration_counts(queries: Path) -> dict[str, int]:
    """Tell how many of the questions are clean, and how many are changed in either case."""
    split = queries.parent
    questions = dataset.questions(split.parent, split.name, QUESTIONS)
    corpus = _words(split.parent)
    counts = dict.fromkeys(("questions", "clean", "altered", "altered_any", "altered_knowing"), 0)
    for question in questions:
        unknown = {word.word for word in unknown_words(question.text, english())}
        changed = bool(_correct_alone(question.text).changes)
        clean = corpus is None or unknown <= corpus
        counts["questions"] += 1
        counts["clean"] += clean
        counts["altered"] += clean and changed
        counts["altered_any"] += changed
        if corpus is not None:
            counts["altered_knowing"] += bool(_correct_with_corpus(question.text, corpus).changes)
    return counts


def _words(directory: Path) -> frozenset[str] | None:
    """Return every word of the set's documents, None if it has none."""
    if not dataset.dataset_file(directory, "corpus").exists():
        return None
    entries = dataset.corpus(directory)
    return frozenset().union(
        *(find_plain_words(f"{entry.title} {entry.text}") for entry in entries)
    )


def _correct_alone(question: str) -> Corrected:
    """Return the question corrected with the dictionary alone."""
    return correct(question, unknown_words(question, english()), english())


def _correct_with_corpus(question: str, corpus: frozenset[str]) -> Corrected:
    """Return the question corrected with a corpus of these words."""
    unknown = unknown_words(question, english())
    near = {item.word: sorted(corpus & one_edit(item.word)) for item in unknown}
    forms = {item.word for item in unknown if corpus & inflections(item.word)}
    return correct(question, unknown, english(), Corpus(dict.fromkeys(corpus | forms, 1), near))
