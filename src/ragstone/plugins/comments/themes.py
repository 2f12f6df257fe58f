"""What comments are about: clusters of vectors, each named by the words that tell it apart."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragstone.language.words import STOPWORDS, is_paired, stem
from ragstone.plugins.comments.comments import CustomerComment
from ragstone.ports import Vectors

MIN_COMMENTS = 3
"""Comments of a theme; fewer are named by no theme."""

MAX_THEMES = 12
ROUNDS = 30
NAMED_BY = 3
"""Words of a theme's name at most."""

SEED = 7


@dataclass(frozen=True, slots=True)
class Theme:
    """Comments that are alike: their places, those nearest to what they have in common first."""

    name: str
    places: tuple[int, ...]


def find_themes(
    comments: Sequence[CustomerComment], vectors: Vectors, topic: str = ""
) -> list[Theme]:
    """Return the themes of comments, the most frequent first; the same for the same comments in the
    same order. The words of a `topic` that all speak of name none."""
    if len(comments) < 2 * MIN_COMMENTS:
        return []
    spread = vectors - vectors.mean(axis=0)
    lengths = np.linalg.norm(spread, axis=1, keepdims=True)
    spread = spread / np.maximum(lengths, 1e-9)
    most = max(2, min(MAX_THEMES, round((len(comments) / 2) ** 0.5)))
    groups, centres = _cluster(spread, most)
    known = _spell_words(topic)
    texts = [
        {word: form for word, form in _spell_words(comment.text).items() if word not in known}
        for comment in comments
    ]
    everywhere = Counter(word for text in texts for word in text)
    found = []
    for number, centre in enumerate(centres):
        places = np.flatnonzero(groups == number)
        if len(places) < MIN_COMMENTS:
            continue
        name = _name([texts[at] for at in places], everywhere, len(texts))
        nearest = places[np.argsort(-(spread[places] @ centre), kind="stable")]
        if name:
            found.append(Theme(name, tuple(int(at) for at in nearest)))
    return sorted(found, key=lambda item: (-len(item.places), item.name))


def _cluster(rows: Vectors, most: int) -> tuple[NDArray[np.int64], Vectors]:
    """Return the group of each row (n,), and the groups' centres, by spherical k-means from centres
    that lie far from each other."""
    chance = np.random.default_rng(SEED)
    centres = rows[[int(np.argmax(rows @ rows.mean(axis=0)))]]
    while len(centres) < most:
        far = np.maximum(0.0, 1 - (rows @ centres.T).max(axis=1)) ** 2
        if not far.sum():
            break
        centres = np.vstack((centres, rows[chance.choice(len(rows), p=far / far.sum())]))
    groups = np.full(len(rows), -1)
    for _ in range(ROUNDS):
        nearest = np.argmax(rows @ centres.T, axis=1)
        if (nearest == groups).all():
            break
        groups = nearest
        sums = np.stack([rows[groups == at].sum(axis=0) for at in range(len(centres))])
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(norms > 0, sums / np.maximum(norms, 1e-9), centres)
    return groups, centres


def _spell_words(text: str) -> dict[str, str]:
    """The words of a comment that may name a theme, by their stem, as they are spelt there."""
    found: dict[str, str] = {}
    for word in text.casefold().replace("’", "'").split():
        plain = word.strip(".,;:!?()[]\"'„“”«»…。，！？、")
        if is_paired(plain):
            found.update({plain[at : at + 2]: plain[at : at + 2] for at in range(len(plain) - 1)})
        elif len(plain) > 2 and plain not in STOPWORDS and plain.isalpha():
            found.setdefault(stem(plain), plain)
    return found


def _name(own: Sequence[dict[str, str]], everywhere: Counter[str], total: int) -> str:
    """Return the words that are frequent in these comments and rare in the others, in at least two
    of them, weighed as in class-based TF-IDF."""
    counts = Counter(word for item in own for word in item)
    weights = {
        word: count * np.log(1 + total / everywhere[word])
        for word, count in counts.items()
        if count > 1
    }
    best = sorted(weights, key=lambda word: (-weights[word], word))[:NAMED_BY]
    spelt = {word: Counter(item[word] for item in own if word in item) for word in best}
    return ", ".join(min(spelt[word], key=lambda item: (-spelt[word][item], item)) for word in best)
