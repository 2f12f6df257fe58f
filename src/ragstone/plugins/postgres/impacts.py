"""Which chunks can be among the best for a question: the words of each by how much they weigh.

An index holds each word of a chunk together with a level of its weight, as one number. From the
scores of a few chunks that hold the heaviest words follows which levels of which words every better
chunk must hold. The index finds the chunks that hold them all, and only those are read and scored:
the best are the same as if all were.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

from ragstone.index.bm25 import K1

FUNCTION = "ragstone_impacts"

LEVELS = 16
"""Steps of a weight; part of the form of the tables."""

MAX_SCORE = K1 + 1
"""The largest weight of a word in a chunk."""

STEP = MAX_SCORE / LEVELS

SHARES = (0, 0, 0, 0.01, 0.07, 0.145, 0.215, 0.23, 0.17, 0.09, 0.04, 0.02, 0.008, 0.001, 5e-4, 5e-4)
"""How many of the chunks with a word hold it at each level, measured on chunks of the default size.
They say what is read first, not what is found."""

CONDITIONS = 6
"""Conditions of one statement, at most."""

TOGETHER = 500
"""Impacts of all of them: with more the index compares longer than it saves."""

COMMON = 6
"""So many of the commonest words are left out of conditions, in every combination up to three."""

MAX_WORDS = 32
"""Words of a question above which every chunk with one is scored: the index compares each chunk
with all words of a condition, and takes longer for them than the scores do."""

MAX_ALONE = 100
"""Chunks that may have one word of a question and no other, and are read all the same."""

CLAUSES = 6
"""So many words' chunks have to hold another word, at most: each is compared by all of them."""

CAREFUL = 1 - 1e-5
"""Weights in the index are rounded to about seven digits."""

DEFINITION = f"""
CREATE OR REPLACE FUNCTION {FUNCTION}(words sparsevec) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 100000 AS $$BEGIN RETURN (
  SELECT pg_catalog.array_agg(
    ((pg_catalog.split_part(pair, ':', 1)::int8 - 1) * {LEVELS}) + LEAST({LEVELS - 1},
      pg_catalog.floor(pg_catalog.split_part(pair, ':', 2)::float8 * {LEVELS} / {MAX_SCORE}))::int8)
  FROM pg_catalog.unnest(pg_catalog.string_to_array(
    pg_catalog.btrim(pg_catalog.split_part(words::text, '/', 1), '{{}}'), ',')) AS pair
  WHERE pair <> ''
); END$$"""
"""What the index is over: the words of a sparse vector with the levels of their weights. Its cost
keeps the planner from computing them for a search, which takes longer than to score a chunk."""

Impacts = frozenset[int]
"""Words with levels, as the index holds them; of a condition, those of which a chunk holds one."""


@dataclass(frozen=True, slots=True)
class WordStep:
    """The next levels of a word, from the top; `gain` is what a chunk without them scores less."""

    word: int
    impacts: Impacts
    gain: float
    chunks: float


class Impact:
    """What can be worth how much for one question.

    `weights` are what a word's weight in a chunk is multiplied with; `held`, the chunks with it.
    """

    def __init__(self, weights: Mapping[int, float], held: Mapping[int, int]) -> None:
        self._held = held
        self._largest = {word: weight * MAX_SCORE for word, weight in weights.items()}
        self._common = sorted(weights, key=lambda word: -held[word])
        steps = [step for word in weights for step in _steps(word, weights[word], held[word])]
        self._steps = sorted(steps, key=lambda step: -step.gain / (step.chunks + 1))

    def heaviest(self, chunks: int) -> Impacts:
        """Impacts of about so many chunks, those that are worth most for each chunk that is read;
        none where there are hardly more chunks with a word at all."""
        found: set[int] = set()
        left = float(chunks)
        for step in self._steps:
            found |= step.impacts
            left -= step.chunks
            if left <= 0:
                return frozenset(found)
        return frozenset()

    def others(self, impacts: Impacts) -> list[list[int]]:
        """Sets of words of which a chunk holds one each, unless it has nothing of the question but
        a word that many chunks of `impacts` have: two words are worth more than such a one."""
        chunks: dict[int, float] = defaultdict(float)
        for impact in impacts:
            word, level = divmod(impact, LEVELS)
            chunks[word] += self._held[word] * SHARES[level]
        most = sorted(chunks, key=lambda word: -chunks[word])[:CLAUSES]
        many = [word for word in most if chunks[word] > MAX_ALONE]
        return [found for item in many if (found := [w for w in self._common if w != item])]

    def conditions(self, score: float) -> list[Impacts]:
        """Return what every chunk of at least `score` meets, most selective first."""
        found = [
            made
            for left_out in self._list_omissions()
            if (made := self._condition(left_out, score))
        ]
        chosen: list[Impacts] = []
        for _, impacts in sorted(found, key=lambda item: item[0]):
            if not any(impacts >= item for item in chosen):
                chosen.append(impacts)
        sizes = accumulate(len(impacts) for impacts in chosen)
        fitting = sum(size <= TOGETHER for size in sizes)
        return chosen[: min(CONDITIONS, max(1, fitting))]

    def _list_omissions(self) -> Iterable[Sequence[int]]:
        for number in range(4):
            yield from combinations(self._common[:COMMON], number)
        for number in range(4, min(len(self._common), 2 * COMMON)):
            yield self._common[:number]

    def _condition(self, left_out: Sequence[int], score: float) -> tuple[float, Impacts] | None:
        """Return which impacts of the other words one needs, if those left out have all they can
        have; None where they may be enough."""
        missing = score * CAREFUL - sum(self._largest[word] for word in left_out)
        if missing <= 0:
            return None
        others = set(self._common) - set(left_out)
        worth = sum(self._largest[word] for word in others)
        chunks, found = 0.0, set[int]()
        for step in self._steps:
            if worth < missing:
                break
            if step.word in others:
                worth -= step.gain
                chunks += step.chunks
                found |= step.impacts
        return chunks, frozenset(found)


def _steps(word: int, weight: float, held: int) -> Iterable[WordStep]:
    """The levels of a word from the top, joined so that each step gains less for a chunk read."""
    top = LEVELS
    while top:
        costs = [held * sum(SHARES[low:top]) for low in range(top)]
        low = max(range(top), key=lambda low: (top - low) / (costs[low] + 1))
        yield WordStep(
            word,
            frozenset(word * LEVELS + level for level in range(low, top)),
            weight * STEP * (top - low),
            costs[low],
        )
        top = low
