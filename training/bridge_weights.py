"""Makes `models/data/bridge.npz`: `python -m training.bridge_weights`.

Linear maps from vectors of multilingual-e5-small to those that all-MiniLM-L6-v2 gives to the same
text in English, by ridge regression: one for questions, one for passages. English texts teach both
spaces, translated questions and passages that the language is to be ignored. Read from
RAGSTONE_EVAL_DATA: questions of squad2_dev, hotpotqa, musique and CLINC150, sentences of hotpotqa's
passages, and every other passage of XQuAD with its questions, so that the others measure the maps.
The documentation of Python's standard library is the technical prose. Takes ten minutes.
"""

import ast
import asyncio
import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from pydoc_data import topics

import numpy as np

import ragstone.models
from benchmarks.common import eval_data
from ragstone.language.late_interaction import Floats
from ragstone.language.sentences import sentences
from ragstone.models.minilm import MiniLm
from ragstone.models.multilingual import MultilingualE5

LANGUAGES = ("en", "de", "es", "zh", "ru", "ar", "tr", "hi")
QUESTIONS = {"squad2_dev": 3500, "hotpotqa": 800, "musique": 800}
UTTERANCES, DOCSTRINGS = 2500, 4500
LENGTHS = (80, 150, 300, 600)
"""Characters of the technical texts, so that short and long ones are mapped."""

TRANSLATED, TRANSLATED_PASSAGE = 2.0, 5.0
"""The weights of a translated question and passage against an English text. With one map for both,
what passages gain questions over English ones lose."""

RIDGE = 0.5


def main() -> None:
    asyncio.run(made())


async def made() -> None:
    rng = random.Random(7)
    questions, passages = list(english_questions(rng)), list(english_passages(rng))
    wide, narrow = MultilingualE5(), MiniLm()
    given = [await wide.embed_queries(questions), await wide.embed_passages(passages)]
    wanted = [await narrow.embed_passages(questions), await narrow.embed_passages(passages)]
    weights = [np.ones(len(item)) for item in wanted]
    english = given[1:], wanted[1:], weights[1:]
    translated = translations("dev/queries.jsonl.gz", "query")
    target = await narrow.embed_passages(translated["en"])
    for language in LANGUAGES:
        given.append(await wide.embed_queries(translated[language]))
        wanted.append(target)
        weights.append(np.full(len(target), TRANSLATED))
    for_questions = ridge(np.concatenate(given), np.concatenate(wanted), np.concatenate(weights))
    given, wanted, weights = english
    translated = translations("corpus.jsonl.gz", "text")
    target = await narrow.embed_passages(translated["en"])
    for language in LANGUAGES:
        given.append(await wide.embed_passages(translated[language]))
        wanted.append(target)
        weights.append(np.full(len(target), TRANSLATED_PASSAGE))
    for_passages = ridge(np.concatenate(given), np.concatenate(wanted), np.concatenate(weights))
    np.savez_compressed(
        Path(ragstone.models.__file__).parent / "data" / "bridge.npz",
        questions=for_questions.astype(np.float16),
        passages=for_passages.astype(np.float16),
    )


def ridge(given: Floats, wanted: Floats, weights: Floats) -> Floats:
    """Return the map (dimensions + 1, dimensions) whose last row is added to every vector."""
    wide = np.hstack([given, np.ones((len(given), 1), np.float32)]).astype(np.float64)
    scaled = (wide * weights[:, None]).T
    found: Floats = np.linalg.solve(scaled @ wide + RIDGE * np.eye(wide.shape[1]), scaled @ wanted)
    return found


def english_questions(rng: random.Random) -> Iterator[str]:
    for name, number in QUESTIONS.items():
        texts = [row["query"] for row in rows(f"{name}/dev/queries.jsonl.gz")]
        yield from rng.sample(texts, min(number, len(texts)))
    yield from rng.sample([row["text"] for row in rows("clinc150/train.jsonl.gz")], UTTERANCES)


def english_passages(rng: random.Random) -> Iterator[str]:
    for row in rows("hotpotqa/corpus.jsonl.gz"):
        said = sentences(row["text"])
        for number in (1, 2, 4):
            first = rng.randrange(max(1, len(said) - number + 1))
            chosen = said[first : first + number]
            yield row["text"][chosen[0].start : chosen[-1].end] if chosen else row["text"]
    technical = list(docstrings())
    for text in rng.sample(technical, min(DOCSTRINGS, len(technical))):
        yield text[: rng.choice(LENGTHS)]


def docstrings() -> Iterator[str]:
    for file in sorted(Path(ast.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                yield " ".join((ast.get_docstring(node) or file.stem).split())
    for topic in topics.topics.values():
        yield from (" ".join(part.split()) for part in re.split(r"\n\s*\n", topic) if part.strip())


def translations(file: str, field: str) -> dict[str, Sequence[str]]:
    """By language the same texts of XQuAD in the same order: every other passage, or the questions
    about these."""
    found: dict[str, dict[str, str]] = {}
    for language in LANGUAGES:
        found[language] = {
            row["id"].partition(":")[2]: row[field]
            for row in rows(f"xquad/{language}/{file}")
            if passage(row.get("relevant", [row["id"]])[0]) % 2 == 0
        }
    common = sorted(set.intersection(*(set(item) for item in found.values())))
    return {language: [own[id] for id in common] for language, own in found.items()}


def passage(relevant: str) -> int:
    """Return a number of the passage: "de:12-3" is the third of the twelfth article."""
    article, _, number = relevant.partition(":")[2].partition("-")
    return int(article) + int(number)


def rows(name: str) -> list[dict[str, str]]:
    with gzip.open(eval_data() / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


if __name__ == "__main__":
    main()
