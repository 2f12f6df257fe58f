"""XQuAD (Artetxe et al., ACL 2020): the same questions and paragraphs in twelve languages.

The data is in https://github.com/google-deepmind/xquad. Questions of each language are asked over
its own paragraphs and over the English ones, where the answer is the English one. There systems
were given the paragraph; here it is to be found among all 240.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.public.runner import Task, ask_all, clone, outcome_rows, spread, time_row
from benchmarks.row import Row

LANGUAGES = ("en", "de", "es", "ru", "zh", "ar", "hi")
QUESTIONS = 30


def run() -> Iterator[Row]:
    folder = clone("xquad", "https://github.com/google-deepmind/xquad")
    documents: dict[str, str | Path] = {}
    asked: dict[str, dict[str, dict[str, Any]]] = {}
    for language in LANGUAGES:
        asked[language] = {}
        articles = json.loads((folder / f"xquad.{language}.json").read_text(encoding="utf-8"))
        for number, article in enumerate(articles["data"]):
            for part, paragraph in enumerate(article["paragraphs"]):
                path = f"{language}/{number}-{part}.txt"
                documents[path] = paragraph["context"]
                asked[language] |= {q["id"]: q | {"path": path} for q in paragraph["qas"]}
    tasks = []
    for language in LANGUAGES:
        for over in dict.fromkeys((language, "en")):
            for key in spread(sorted(asked[language]), QUESTIONS):
                truth = asked[over][key]
                texts = tuple(answer["text"] for answer in truth["answers"])
                kind = f"{language} over {over}"
                question = asked[language][key]["question"]
                tasks.append(Task(kind, question, over, (texts,), "", frozenset([truth["path"]])))
    replies = ask_all("xquad", documents, tasks)
    yield from outcome_rows("XQuAD", replies)
    yield time_row("XQuAD", replies, f"{QUESTIONS} of 1,190 questions of each pair, evenly spread")
