"""What of a question the passages speak of at all."""

from collections.abc import Sequence

from ragstone.language.words import STOPWORDS, content_word_set, words

ENOUGH = 0.6
"""Share of the question's content words from which passages can be sufficient."""

MOST_ASPECTS = 5


def coverage(question: str, texts: Sequence[str]) -> tuple[float, tuple[str, ...]]:
    """The share (0..1) of the question's content words that stand in the texts, and the words that
    do not, as they are asked, neighbours together; 1 for a question without any."""
    held = frozenset[str]().union(*map(content_word_set, texts))
    wanted, missing = 0, 0
    aspects: list[list[str]] = [[]]
    for piece in question.split():
        meant = [word for word in words(piece) if word not in STOPWORDS]
        lacking = [word for word in meant if word not in held]
        wanted += len(meant)
        missing += len(lacking)
        if meant and len(lacking) == len(meant):
            aspects[-1].append(piece.strip(".,;:!?()\"'“”„«»¿¡？。，"))
        elif aspects[-1]:
            aspects.append([])
    named = tuple(dict.fromkeys(" ".join(one) for one in aspects if one))
    return (1 - missing / wanted if wanted else 1.0), named[:MOST_ASPECTS]
