"""Shortened passages: is the answer still in them, and is it still given?

Ours keeps whole sentences that hold the question's words. It is compared with the beginning of each
passage, and with words kept one by one by how rare they are, the question's first. LLMLingua, which
chooses words by a language model's probabilities, needs torch and is not measured here.

Answers are those without a chat model (RAG__COMPRESSION), of BENCH_ANSWERS questions (300).
"""

import asyncio
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.answer.assemble import compressed
from ragstone.evaluation import dataset
from ragstone.evaluation.answering import evaluate
from ragstone.language.tokens import count, cut
from ragstone.language.words import content_word_set, words
from ragstone.settings import load

QUESTIONS = 1_000
RATIOS = (0.5, 0.3)

Shorten = Callable[[str, str, float], str]


def run() -> Iterator[Row]:
    corpus = {one.id: one.text for one in dataset.corpus(eval_data() / "squad2_dev")}
    asked = [
        one
        for one in dataset.questions(eval_data() / "squad2_dev", "dev", 2 * QUESTIONS)
        if one.answerable and one.answers and one.relevant
    ][:QUESTIONS]
    held = Counter(word for text in corpus.values() for word in set(words(text)))
    tells = {word: math.log(len(corpus) / times) for word, times in held.items()}
    ways: Mapping[str, Shorten] = {
        "our compression": lambda question, text, ratio: compressed(question, [text], ratio)[0],
        "the beginning": lambda _, text, ratio: cut(text, int(ratio * count(text)), count),
        "telling words": lambda question, text, ratio: telling(question, text, ratio, tells),
    }
    for ratio in RATIOS:
        for name, shorten in ways.items():
            kept = sent = whole = 0
            for one in asked:
                text = corpus[min(one.relevant)]
                short = shorten(one.text, text, ratio)
                said = " ".join(words(short))
                kept += any(" ".join(words(answer)) in said for answer in one.answers)
                sent, whole = sent + count(short), whole + count(text)
            yield Row(
                f"The answer is still in the passage: {name} to {ratio:g}, squad2_dev",
                kept / len(asked),
                note=f"{len(asked):,} questions, {sent / whole:.0%} of the tokens",
                detail=name != "our compression",
            )
    yield from answers()


def answers() -> Iterator[Row]:
    """How many answers are right where their passages are shortened, and how many are refused."""
    limit = int(os.environ.get("BENCH_ANSWERS", "300"))
    for ratio in (1.0, *RATIOS):
        settings = load()
        rag = settings.rag.model_copy(update={"compression": ratio})
        changed = settings.model_copy(update={"rag": rag})
        found = asyncio.run(evaluate(eval_data() / "squad2_dev", changed, limit=limit))
        refused = found["refused_answerable"] or 0.0
        yield Row(
            f"An accepted answer is in the first two sentences, passages to {ratio:g}, squad2_dev",
            found["contains_2"] or 0.0,
            note=f"of {limit:,} questions, {refused:.1%} of those with an answer refused",
        )


def telling(question: str, text: str, ratio: float, tells: Mapping[str, float]) -> str:
    """The words that tell most, the question's first, in their order, in that share of tokens."""
    asked = content_word_set(question)
    parts = text.split()

    def worth(place: int) -> float:
        own = words(parts[place])
        known = max((tells.get(word, 0.0) for word in own), default=0.0)
        return known + 100.0 * bool(asked & content_word_set(parts[place]))

    left, kept = ratio * count(text), set[int]()
    for place in sorted(range(len(parts)), key=worth, reverse=True):
        needed = count(parts[place])
        if needed <= left:
            kept.add(place)
            left -= needed
    return " ".join(parts[place] for place in sorted(kept))
