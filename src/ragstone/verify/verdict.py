"""Whether sources support a claim: a logistic regression over `support`, and a few rules.

Its weights are `data/verdict.json`, made by `python -m training.verdict_weights`. A sentence
quoted as it stands needs no weighing, and one that is quoted up to some place is not in conflict
with what comes after it. Between languages words cannot be compared; there the meanings of
sentences are, if the embedder knows both languages.
"""

import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np

from ragstone.language.language import detect
from ragstone.language.polarity import negation_moved
from ragstone.language.sentences import Span, sentences
from ragstone.ports import Claim, Embedder, EvidenceSource, Support
from ragstone.verify import support as features
from ragstone.verify.claims import plain
from ragstone.verify.evidence import Evidence, Floats
from ragstone.verify.terms import terms

WEIGHTS = "verdict.json"

QUOTED = 0.99
"""The probability of a sentence that stands in a source word for word."""

IN_CONFLICT = 0.2
"""The most that a claim gets which differs from the nearest sentence in a number, a name or a
negation and in little else."""

UNSTATED = 0.45
"""The most that a claim gets whose number no source states."""

EVEN = 0.5
"""The probability of a claim of which words tell nothing."""

NEAR_QUOTE = 0.85
"""The share of a claim's words, in their order, that make it a changed quotation."""

ALIGNED = 0.5
"""The share of a claim that a sentence must hold to be about the same."""

FOREIGN = 0.35
"""A claim of whose words the sources hold less may be in another language."""

MOST_COMPARED = 24
"""Sentences whose meaning is compared with a claim's."""

MIDDLE, SLOPE = 0.72, 14.0
"""The likeness (0..1) of sentences of two languages at which one supports the other as likely as
not, and how steeply that rises (XQuAD: translations .83, their neighbours .64, at the median)."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sources as sentences: where each stands, and what each says by itself."""

    sentences: Evidence
    places: tuple[tuple[int, Span], ...]
    quotes: dict[str, int]


class LocalChecker:
    """`ports.Checker`."""

    async def support(
        self, claims: Sequence[Claim], sources: Sequence[EvidenceSource], embedder: Embedder | None
    ) -> list[Support]:
        evidence, found = await asyncio.to_thread(_weigh_claims, claims, sources)
        if embedder is None or not embedder.multilingual or not evidence.places:
            return found
        foreign = [i for i, one in enumerate(found) if _is_other_language(claims[i], one, evidence)]
        return (
            await _weigh_by_meaning(claims, found, foreign, evidence, embedder)
            if foreign
            else found
        )


def evidence_of(sources: Sequence[EvidenceSource]) -> Sentences:
    """Cut the sources into sentences."""
    places = tuple((number, s) for number, one in enumerate(sources) for s in sentences(one.text))
    texts = [sources[number].text[span.start : span.end] for number, span in places]
    quotes: dict[str, int] = {}
    for place, text in enumerate(texts):
        quotes.setdefault(_quotable(text), place)
    titles = [_title(sources[number]) for number, _ in places]
    return Sentences(Evidence.of(texts, titles), places, quotes)


_PAGE_TITLE = "(meta data) TITLE:"
"""How a web page that was made text begins."""


def _title(source: EvidenceSource) -> str:
    if source.title or not source.text.startswith(_PAGE_TITLE):
        return source.title
    return source.text.split("\n", 1)[0].removeprefix(_PAGE_TITLE)


def _quotable(text: str) -> str:
    """A sentence as it is compared with a quotation: in one line, without layout."""
    return " ".join(plain(text).split()).strip(" .。,，;；")


def _weigh_claims(
    claims: Sequence[Claim], sources: Sequence[EvidenceSource]
) -> tuple[Sentences, list[Support]]:
    evidence = evidence_of(sources)
    return evidence, [_lines_quoted(one, sources) or _support(one, evidence) for one in claims]


def _lines_quoted(claim: Claim, sources: Sequence[EvidenceSource]) -> Support | None:
    """The support of several lines, such as code, that stand in a source as they are."""
    if "\n" not in claim.text:
        return None
    for number, source in enumerate(sources):
        start = source.text.find(claim.text)
        if start >= 0:
            return Support(QUOTED, number, start, start + len(claim.text))
    return None


def _support(claim: Claim, evidence: Sentences) -> Support:
    quoted = evidence.quotes.get(_quotable(claim.text))
    if quoted is not None:
        return _support_at(evidence, quoted, QUOTED)
    cited = [row for row, (number, _) in enumerate(evidence.places) if number in claim.cited]
    own = terms(claim.text)
    found = features.support(claim.text, own, evidence.sentences, cited)
    if found is None:
        return Support(0.0)
    conflict = _conflict(found, claim.text, evidence.sentences.texts[found.best])
    likely, most = _probability(found), 1.0
    if conflict:
        likely = min(likely, IN_CONFLICT)
    if conflict == "number" or found["quantities_missing"]:
        most = UNSTATED
    aligned = found.held >= ALIGNED
    likely = min(likely, most)
    if not claim.by_words:
        return replace(_support_at(evidence, found.best, EVEN), held=found["all"])
    placed = _support_at(evidence, found.best, likely) if found.held else Support(likely)
    return replace(placed, conflict=conflict if aligned else "", held=found["all"], most=most)


def _support_at(evidence: Sentences, row: int, probability: float) -> Support:
    number, span = evidence.places[row]
    return Support(probability, number, span.start, span.end)


def _conflict(found: features.SupportFeatures, claim: str, source: str) -> str:
    """What the best sentence says otherwise, where it says the rest in the same order."""
    near = found["order"] >= NEAR_QUOTE
    replaced = found["quantity_replaced"] and (near or found["quantities_missing"])
    if replaced or found.exchanged:
        return "number"
    if not near or _begins(source, claim):
        return ""
    if found["negated"] or negation_moved(claim, source):
        return "negation"
    if found["opposed"]:
        return "opposite"
    return "name" if found["name_replaced"] and found["names_missing"] else ""


def _begins(source: str, claim: str) -> bool:
    """Whether the source's sentence begins with the claim, word for word."""
    whole, part = _quotable(source), _quotable(claim)
    return whole.startswith(part) and not whole[len(part) : len(part) + 1].isalnum()


def _probability(found: features.SupportFeatures) -> float:
    weights, constant = _model()
    return 1 / (1 + math.exp(-float(found.values @ weights) - constant))


@cache
def _model() -> tuple[Floats, float]:
    file = files("ragstone.verify").joinpath(f"data/{WEIGHTS}")
    model = json.loads(file.read_text(encoding="utf-8"))
    weights = [model["weights"][name] for name in features.FEATURES]
    return np.array(weights, np.float32), float(model["constant"])


def _is_other_language(claim: Claim, found: Support, evidence: Sentences) -> bool:
    """Whether claim and sources are in two languages, so that their words say nothing."""
    if found.held >= FOREIGN:
        return False
    language = detect(claim.text)
    there = detect(" ".join(evidence.sentences.texts[:5]))
    return bool(language and there) and language != there


async def _weigh_by_meaning(
    claims: Sequence[Claim],
    found: Sequence[Support],
    foreign: Sequence[int],
    evidence: Sentences,
    embedder: Embedder,
) -> list[Support]:
    """The support of the `foreign` claims by likeness of meaning; numbers still count."""
    texts = evidence.sentences.texts[:MOST_COMPARED]
    vectors = await embedder.embed_queries([*(claims[i].text for i in foreign), *texts])
    low, high = embedder.cosines
    likeness = (vectors[: len(foreign)] @ vectors[len(foreign) :].T - low) / (high - low)
    compared = list(found)
    for row, i in enumerate(foreign):
        best = int(likeness[row].argmax())
        likely = 1 / (1 + math.exp(-SLOPE * (float(likeness[row, best]) - MIDDLE)))
        lacks = evidence.sentences.lacks(terms(claims[i].text).quantities)
        most = UNSTATED if lacks else 1.0
        compared[i] = replace(_support_at(evidence, best, min(likely, most)), most=most)
    return compared
