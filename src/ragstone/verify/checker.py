"""Whether sources support a claim: a model reads the claim beside the places nearest to it.

The reader decides. Of a source that is longer than what it reads, the share of the claim's words
that the whole source holds counts too, the more the longer it is: a claim may rest on several
places. Both are weighed with `data/support.json`, which `python -m training.support_weights` makes.
"""

import asyncio
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from operator import mul

from ragstone.core.answer import log_odds, probability
from ragstone.core.document import find_missing_lead
from ragstone.language.quantities import Quantity, quantities, states
from ragstone.language.sentences import sentences, whole_sentences
from ragstone.ports import Claim, EvidenceSource, Pair, PairReader, PairReading, Support
from ragstone.verify.evidence import Evidence, EvidencePlace, common_share
from ragstone.verify.groundedness import MIN_SUPPORT
from ragstone.verify.reading_judge import load_weights

# Of more quantities of one unit so many sums can be made that one of them fits by chance, unless
# it is large.
MAX_VALUES, MIN_LARGE = 12, 10_000

MAX_SUMMANDS = 6
"""Neighbours that are summed up, as those of a list are."""

NUMBER = re.compile(r"\d+(?:[.,'’\u00a0\u202f]\d+)*")


@dataclass(frozen=True, slots=True)
class Sum:
    """A result, and how it is written: "63 - 42"."""

    result: Quantity
    shown: str


def compute_numbers(claim: str, passage: str) -> str | None:
    """Return the claim with each number that the passage does not state as it is computed from
    numbers of the passage; None if there is none, or one that cannot be."""
    # A reader of pieces of words takes a computed number for another one, so it is computed here.
    stated = quantities(passage)
    missing = [quantity for quantity in quantities(claim) if not states(stated, quantity)]
    if not missing:
        return None
    known = list(_sums(stated))
    shown = dict[float, str]()
    for quantity in missing:
        found = next((each for each in known if states([each.result], quantity)), None)
        if found is None:
            return None
        shown.update(dict.fromkeys(quantity.values, found.shown))

    def as_computed(match: re.Match[str]) -> str:
        values = [value for quantity in quantities(match.group()) for value in quantity.values]
        return next((shown[value] for value in values if value in shown), match.group())

    return NUMBER.sub(as_computed, claim)


def _sums(stated: Sequence[Quantity]) -> Iterator[Sum]:
    """Yield what follows from quantities of one unit: of any two their sum and difference, of
    neighbours their sum; and the months between two of a year."""
    groups = defaultdict[str, list[float]](list)
    for item in (*stated, *_year_months(stated)):
        groups[item.unit] += (value for value in item.values if value not in groups[item.unit])
    for unit, values in groups.items():
        for value, shown in _results(values):
            if len(values) <= MAX_VALUES or value >= MIN_LARGE:
                result = replace(_PLAIN, values=frozenset((round(value, 6),)), unit=unit)
                yield Sum(result, shown)


def _results(values: Sequence[float]) -> Iterator[tuple[float, str]]:
    """Yield the sums and differences of values, and how each is written."""
    for large, small in combinations(sorted(values, reverse=True), 2):
        yield large - small, f"{large:.12g} - {small:.12g}"
        yield large + small, f"{large:.12g} + {small:.12g}"
    for start in range(len(values)):
        for end in range(start + 3, min(len(values), start + MAX_SUMMANDS) + 1):
            some = values[start:end]
            yield sum(some), " + ".join(f"{value:.12g}" for value in some)


def _year_months(stated: Sequence[Quantity]) -> Iterator[Quantity]:
    """The months of a year ("May 2013"), counted from the year 0."""
    for first, second in pairwise(stated):
        for month, year in ((first, second), (second, first)):
            if month.unit == "month" and not year.unit and max(year.values) > 1000:
                count = 12 * max(year.values) + max(month.values)
                yield replace(_PLAIN, values=frozenset((count,)), unit="months")


_PLAIN = Quantity(frozenset((0.0,)))


WEIGHTS = "support.json"

QUOTED = 0.99
"""The probability of what stands in a source word for word."""

PLACES = 3
"""Sources that a claim is read beside which cites none, or none that supports it."""

MAX_CITED = 6
"""Sources that it cites which are read."""

REACH = 400
"""Characters before and after the nearest sentence that are read with it."""

FOREIGN = 0.2
"""A claim of whose words no source holds so much may be in another language. Then it is read beside
whole sources, as words do not tell where it is supported."""

ALIKE = 0.85
"""The share (Dice) of common words from which two sentences say the same but for their numbers."""

OTHER_NUMBER = 0.2
"""The most that a claim gets which is a sentence of the source with another number: a reader of
pieces of words takes 48.6 and 46.8 for much the same."""

COMPUTED = 2.0
"""What counts for a claim whose numbers follow from the source's, in log-odds: of wrong numbers one
in fifteen does so by chance, of right sums nearly all."""

MAX_NARROWED = 24
"""Sentences of such a source of which the one that supports is looked for."""

MIN_PROBABILITY = 0.001
"""Probabilities nearer to 0 or 1 than this count as this."""

WINDOW, MAX_SOURCE = 600, 20_000
"""Characters of a source: those that are read, about, and those from which longer ones count as
these."""

CONTRADICTED, SURELY = 0.5, 0.9
"""How likely the source that supports an unsupported claim most says otherwise, and how likely any
other does, from which it is called contradicted."""


class ReadingChecker:
    """`ports.Checker`. What a source says word for word is not read; what the reader cannot read
    (`PairReading.readable`) is not supported."""

    def __init__(self, reader: PairReader) -> None:
        self._reader = reader

    async def support(
        self, claims: Sequence[Claim], sources: Sequence[EvidenceSource]
    ) -> list[Support]:
        plans = await asyncio.to_thread(_plan, claims, sources)
        await self._read(plans, sources)
        for plan in plans:
            plan.add_sources()
        await self._read(plans, sources)
        return [plan.support() for plan in plans]

    async def _read(self, plans: Sequence["_Plan"], sources: Sequence[EvidenceSource]) -> None:
        """Read what the plans want to be read, and add to them what it supports."""
        wanted = [(plan, place) for plan in plans for place in plan.unread]
        pairs = [build_pair(plan.claim, place, sources) for plan, place in wanted]
        sums = {
            number: replace(pair, text=text)
            for number, pair in enumerate(pairs)
            if (text := compute_numbers(pair.text, pair.passage))
        }
        readings = await self._reader.read([*pairs, *sums.values()])
        in_sums = dict(zip(sums, readings[len(pairs) :], strict=True))
        for number, (plan, place) in enumerate(wanted):
            support = weigh(place, readings[number], sources)
            if number in in_sums:
                support = _weigh_sum(support, weigh(place, in_sums[number], sources))
            if place.source_share is None:
                support = await self._narrow(plan.claim, support, sources)
            if support.source is not None and number not in in_sums:
                sentence = sources[support.source].text[support.start : support.end]
                if states_other_number(plan.claim.text, sentence):
                    likely = min(support.probability, OTHER_NUMBER)
                    otherwise = max(support.contradicted, 1 - OTHER_NUMBER)
                    support = replace(support, probability=likely, contradicted=otherwise)
            plan.found[place.source] = support
        for plan in plans:
            plan.unread = []

    async def _narrow(
        self, claim: Claim, support: Support, sources: Sequence[EvidenceSource]
    ) -> Support:
        """Return the support by a whole source at the sentence of it that supports most."""
        if support.source is None:
            return support
        source = sources[support.source]
        spans = sentences(source.text)[:MAX_NARROWED]
        if len(spans) < 2:
            return support
        pairs = [Pair(claim.text, source.text[s.start : s.end], source.title) for s in spans]
        likely = [reading.supported for reading in await self._reader.read(pairs)]
        span = spans[max(range(len(spans)), key=likely.__getitem__)]
        return replace(support, start=span.start, end=span.end)


@dataclass(slots=True)
class _Plan:
    """How a claim is looked for: the places that are to be read, the sources that are left, the
    nearest first, and what has been found in each source."""

    claim: Claim
    unread: list[EvidencePlace]
    left: list[EvidencePlace]
    found: dict[int, Support]

    def add_sources(self) -> None:
        """Read further sources where those that the claim cites do not support it."""
        cited = [self.found[n] for n in self.claim.cited if n in self.found]
        if cited and all(item.probability < MIN_SUPPORT for item in self.found.values()):
            self.unread = self.left[:PLACES]

    def support(self) -> Support:
        """Return the best support, one by a source that the claim cites where both support it."""
        cited = tuple(self.found.get(n, Support(0.0)) for n in self.claim.cited)
        best = max(self.found.values(), key=lambda item: item.probability, default=Support(0.0))
        own = max(cited, key=lambda item: item.probability, default=best)
        best = own if own.probability >= MIN_SUPPORT else best
        otherwise = max((item.contradicted for item in self.found.values()), default=0.0)
        if otherwise >= SURELY:
            best = replace(best, contradicted=otherwise)
        return replace(best, cited=cited)


def _plan(claims: Sequence[Claim], sources: Sequence[EvidenceSource]) -> list[_Plan]:
    """Return of each claim the support that needs no reading, and what is read for it."""
    evidence = Evidence(sources)
    plans = []
    for claim in claims:
        found = {
            number: Support(QUOTED, number, place.start, place.end)
            for number, place in evidence.quotations(claim.text).items()
        }
        nearest = evidence.nearest(claim)
        unread = [
            place
            for place in places_to_read(claim, nearest, sources)
            if place.source not in found and (not found or place.source in claim.cited)
        ]
        if _is_foreign(nearest):
            nearest = _whole_sources(range(len(sources)), sources)
        known = {*found, *(place.source for place in unread)}
        left = [place for place in nearest if place.source not in known]
        plans.append(_Plan(claim, unread, left, found))
    return plans


def places_to_read(
    claim: Claim, nearest: Sequence[EvidencePlace], sources: Sequence[EvidenceSource]
) -> list[EvidencePlace]:
    """Return the nearest place, and those of the sources that the claim cites."""
    if _is_foreign(nearest):
        numbers = claim.cited[:MAX_CITED] or range(len(sources))[:PLACES]
        return _whole_sources(numbers, sources)
    others = [place for place in nearest[1:] if place.source in claim.cited]
    return [nearest[0], *others[:MAX_CITED]]


def _is_foreign(nearest: Sequence[EvidencePlace]) -> bool:
    """Tell whether words do not tell where a claim is supported."""
    return not nearest or (nearest[0].source_share or 0) < FOREIGN


def _whole_sources(
    numbers: Sequence[int], sources: Sequence[EvidenceSource]
) -> list[EvidencePlace]:
    return [EvidencePlace(n, 0, len(sources[n].text)) for n in numbers if sources[n].text]


def build_pair(claim: Claim, place: EvidencePlace, sources: Sequence[EvidenceSource]) -> Pair:
    """Return the claim beside the sentences about a place, with the line that introduces them."""
    source = sources[place.source]
    start, end = whole_sentences(source.text, place.start, place.end, REACH)
    lead = find_missing_lead(source.text, source.blocks, start, end)
    passage = f"{lead}\n{source.text[start:end]}".lstrip()
    return Pair(copy_numbers(claim.text, passage), passage, source.title)


def copy_numbers(text: str, passage: str) -> str:
    """Return `text` with its numbers as `passage` writes them: 4500 as 4,500, and 12.50 as 12,50.
    What a number is, a reader of pieces of words knows by its spelling alone."""
    stated: dict[float, str] = {}
    for match in NUMBER.finditer(passage):
        for quantity in quantities(match.group()):
            stated.update(dict.fromkeys(quantity.values, match.group()))

    def as_stated(match: re.Match[str]) -> str:
        values = [value for item in quantities(match.group()) for value in item.values]
        return next((stated[value] for value in values if value in stated), match.group())

    return text if not stated else NUMBER.sub(as_stated, text)


def states_other_number(claim: str, sentence: str) -> bool:
    """Tell whether a claim is a sentence of the source but for a number."""
    stated = quantities(sentence)
    if not stated or common_share(claim, sentence) < ALIKE:
        return False
    return any(not states(stated, number) for number in quantities(claim))


def weigh(place: EvidencePlace, reading: PairReading, sources: Sequence[EvidenceSource]) -> Support:
    """Return the support by a place. Nothing that cannot be read supports."""
    if not reading.readable:
        return Support(0.0)
    given = features(reading, place, len(sources[place.source].text))
    weights = load_weights(WEIGHTS, NAMES)
    return Support(
        probability(sum(map(mul, weights, given))),
        place.source,
        place.start,
        place.end,
        reading.contradicted if reading.contradicted > CONTRADICTED else 0.0,
        reading.not_said,
    )


def _weigh_sum(support: Support, in_sums: Support) -> Support:
    """Return the support of a claim whose numbers follow from the source's, as it is written and
    with the sums in their places: the reader cannot compute, and may be surer of either."""
    best = max(support, in_sums, key=lambda item: item.probability)
    odds = log_odds(best.probability, MIN_PROBABILITY) + COMPUTED
    return replace(best, probability=probability(odds), contradicted=0.0)


NAMES = ("supported", "words_beyond", "beyond", "constant")
"""Of the weights: log-odds by the reader; the share of the claim's words that the whole source
holds, times the logarithm of how many times longer it is than what is read; and that logarithm."""


def features(reading: PairReading, place: EvidencePlace, characters: int) -> tuple[float, ...]:
    """Return what is weighed, in the order of `NAMES`; `characters` are the source's."""
    supported = log_odds(reading.supported, MIN_PROBABILITY)
    if place.source_share is None:
        return supported, 0.0, 0.0, 1.0
    beyond = max(0.0, math.log(min(max(characters, 1), MAX_SOURCE) / WINDOW))
    return supported, beyond * place.source_share, beyond, 1.0
