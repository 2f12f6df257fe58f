"""`ragstone eval grounding`: is what a response claims told from what its source does not say?

The response's score is that of `verify.groundedness.response_score`, over its sentences. Without a
chat model, and without one sentence of the source being embedded.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.build import checker, open_reader
from ragstone.core.errors import InputError
from ragstone.plugins.evaluation import measures
from ragstone.plugins.evaluation.dataset import read_rows, spread
from ragstone.ports import Checker, Claim, EvidenceSource
from ragstone.settings import load
from ragstone.verify.claims import answer_sentences
from ragstone.verify.groundedness import MIN_SUPPORT, response_score

_SUPPORTED = (
    "supported support supports entailment entailed entails consistent faithful grounded true yes "
    "1 correct pass attributable benign questionable"
)
_NOT = (
    "not_supported unsupported partially_supported partly partial refuted refutes contradicted "
    "contradict contradicts contradiction neutral not_entailment inconsistent unfaithful "
    "hallucinated hallucination unwanted ungrounded false no 0 incorrect fail not_attributable "
    "nei not_enough_info"
)
_RIGHT, _WRONG = frozenset(_SUPPORTED.split()), frozenset(_NOT.split())
_INVERSE = ("hallucinated", "is_hallucination", "hallucination")
_DIRECT = ("supported", "label", "verdict", "grounded", "is_supported", "worst_label")


@dataclass(frozen=True, slots=True)
class GroundingRow:
    """A response, its source, and whether the source supports all of it."""

    id: str
    source: str
    response: str
    supported: bool


async def evaluate(file: Path, limit: int | None = None) -> dict[str, float | None]:
    """Return the measures by name. `auroc` takes supported ones for right; `balanced_accuracy` and
    `f1` (of supported) are those of the threshold that ships."""
    return await measure_grounding(spread(rows(file), limit))


async def measure_grounding(given: Sequence[GroundingRow]) -> dict[str, float | None]:
    """Return the measures of these rows."""
    scores, seconds = [], []
    async with open_reader(load()) as reader:
        local = checker(reader)
        await score(local, GroundingRow("", "Warm up the checker.", "Warm the checker up.", True))
        for row in given:
            started = time.perf_counter()
            scores.append(await score(local, row))
            seconds.append(time.perf_counter() - started)
    right = [row.supported for row in given]
    said = [item >= MIN_SUPPORT for item in scores]
    return {
        "auroc": measures.auroc(scores, right),
        "balanced_accuracy": measures.balanced_accuracy(said, right),
        "f1": measures.f1(said, right),
        "p50_ms": 1000 * measures.percentile(seconds, 0.5),
        "rows": len(given),
    }


async def score(checker: Checker, row: GroundingRow) -> float:
    """Tell how well the source supports the response, 0..1."""
    claims = [
        Claim(sentence.text) for sentence in answer_sentences(row.response) if sentence.claims
    ]
    found = await checker.support(claims, [EvidenceSource(row.source)])
    return response_score([item.probability for item in found])


def rows(file: Path) -> list[GroundingRow]:
    """Return the rows of a file; raises InputError for one that lacks something."""
    return [_row(row, number) for number, row in enumerate(read_rows(file), start=1)]


def _row(row: Any, number: int) -> GroundingRow:
    if not isinstance(row, Mapping):
        raise InputError(f"Row {number} is not a JSON object with source, response and label.")
    source = _text(row, ("source", "sources", "context", "document", "premise", "passages"))
    response = _text(row, ("response", "claim", "answer", "summary", "hypothesis"))
    supported = label(row)
    if source is None or response is None or supported is None:
        lacking = [
            name
            for name, value in (
                ("source", source),
                ("response or claim", response),
                ("label, supported or hallucinated", supported),
            )
            if value is None
        ]
        raise InputError(f"Row {number} has no usable {' and no usable '.join(lacking)}.")
    return GroundingRow(str(row.get("id", number)), source, response, supported)


def _text(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the first of these fields that has a text, or a list of texts."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return "\n".join(value)
    return None


def label(row: Mapping[str, Any]) -> bool | None:
    """Tell whether a row says that its response is supported; None if it does not say."""
    for name in _INVERSE:
        said = _label_value(row.get(name))
        if said is not None:
            return (
                said if isinstance(row.get(name), str) and _names_verdict(row[name]) else not said
            )
    for name in _DIRECT:
        said = _label_value(row.get(name))
        if said is not None:
            return said
    return None


def _label_value(value: Any) -> bool | None:
    """Return the truth value of a label: a word, a boolean, or a number (true from 0.5)."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value >= 0.5
    if isinstance(value, str):
        word = _plain(value)
        return True if word in _RIGHT else False if word in _WRONG else None
    return None


def _names_verdict(value: str) -> bool:
    """Tell whether a text names a verdict rather than yes or no."""
    return _plain(value) not in {"true", "false", "yes", "no", "1", "0"}


def _plain(value: str) -> str:
    return value.strip().casefold().replace(" ", "_").replace("-", "_")
