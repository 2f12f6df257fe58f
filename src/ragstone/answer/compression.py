"""Shortening a passage to the sentences that matter for a question."""

import math
from collections import Counter
from collections.abc import Sequence

from ragstone.language.sentences import Span, sentences
from ragstone.language.tokens import Count, count
from ragstone.language.words import content_words


def compressed(
    question: str, texts: Sequence[str], ratio: float, counted: Count = count
) -> list[str]:
    """Each text with the sentences that hold most of the question's words, by rarity, in their
    order, in about `ratio` (0..1) of its tokens; its best sentence always stays, whole. A line ends
    where sentences are left out.

    Where the question's words say nothing, a text's first sentences stay.
    """
    split = [sentences(text) for text in texts]
    words = [
        [frozenset(content_words(text[s.start : s.end])) for s in said]
        for text, said in zip(texts, split, strict=True)
    ]
    held = Counter(word for said in words for one in said for word in one)
    most = max(held.values(), default=1)
    asked = held.keys() & set(content_words(question))
    weights = {word: math.log(1 + most / held[word]) for word in asked}
    worth = [[sum(weights.get(word, 0.0) for word in one) for one in said] for said in words]
    return [
        _shortened(text, said, own, ratio, counted)
        for text, said, own in zip(texts, split, worth, strict=True)
    ]


def _shortened(
    text: str, said: Sequence[Span], worth: Sequence[float], ratio: float, counted: Count
) -> str:
    if ratio >= 1 or len(said) < 2:
        return text
    left = ratio * counted(text)
    telling = any(worth)
    kept: set[int] = set()
    for place in sorted(range(len(said)), key=lambda i: (-worth[i], i)):
        needed = counted(text[said[place].start : said[place].end])
        if kept and (needed > left or (telling and not worth[place])):
            continue
        kept.add(place)
        left -= needed
    runs: list[tuple[int, int]] = []
    for place in sorted(kept):
        begin = runs.pop()[0] if place - 1 in kept else said[place].start
        runs.append((begin, said[place].end))
    return "\n".join(text[begin:end] for begin, end in runs)
