"""Shortening a passage to the sentences that matter for a question."""

import math
from collections import Counter
from collections.abc import Sequence

from ragstone.text.sentences import sentences
from ragstone.text.tokens import Count, count
from ragstone.text.words import content_words


def compressed(
    question: str, texts: Sequence[str], ratio: float, counted: Count = count
) -> list[str]:
    """Each text with the sentences that hold most of the question's words, by rarity, in their
    order, in about `ratio` (0..1) of its tokens; its best sentence always stays, whole.

    Where the question's words say nothing, a text's first sentences stay.
    """
    split = [[text[s.start : s.end] for s in sentences(text)] for text in texts]
    held = Counter(word for one in split for said in one for word in set(content_words(said)))
    most = max(held.values(), default=1)
    weights = {
        word: math.log(1 + most / held[word]) for word in set(content_words(question)) & held.keys()
    }
    return [
        _shortened(text, said, weights, ratio, counted)
        for text, said in zip(texts, split, strict=True)
    ]


def _shortened(
    text: str, said: Sequence[str], weights: dict[str, float], ratio: float, counted: Count
) -> str:
    if ratio >= 1 or len(said) < 2:
        return text
    worth = [sum(weights.get(word, 0.0) for word in set(content_words(one))) for one in said]
    left = ratio * counted(text)
    kept: set[int] = set()
    for place in sorted(range(len(said)), key=lambda i: (-worth[i], i)):
        needed = counted(said[place])
        if kept and (needed > left or (any(worth) and not worth[place])):
            continue
        kept.add(place)
        left -= needed
    return "\n".join(said[place] for place in sorted(kept))
