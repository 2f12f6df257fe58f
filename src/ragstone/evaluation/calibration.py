"""Whether the confidence of answers is true: of those at .8, are eight in ten right?"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ragstone.core.answer import confidence_level
from ragstone.evaluation.answers import AnswerRecord, is_right

STEPS = 10


@dataclass(frozen=True, slots=True)
class Reliability:
    """The answers whose confidence is from `low` to `high`: how many, their mean confidence, and
    the share that is right."""

    low: float
    high: float
    answers: int
    confidence: float
    right: float


def reliability(records: Sequence[AnswerRecord]) -> list[Reliability]:
    """The answers by steps of confidence. A refusal is no answer."""
    return steps_of([(_sure(one), is_right(one)) for one in _answered(records)])


def steps_of(answers: Sequence[tuple[float, bool]]) -> list[Reliability]:
    """Answers, each with its confidence and whether it is right, by steps of a tenth of confidence;
    steps without any are left out."""
    steps: dict[int, list[tuple[float, bool]]] = {}
    for sure, right in answers:
        steps.setdefault(min(int(sure * STEPS), STEPS - 1), []).append((sure, right))
    return [
        Reliability(
            step / STEPS,
            (step + 1) / STEPS,
            len(own),
            fmean(sure for sure, _ in own),
            fmean(float(right) for _, right in own),
        )
        for step, own in sorted(steps.items())
    ]


def error_of(steps: Sequence[Reliability]) -> float | None:
    """The mean gap between confidence and the share that is right, over the steps, by their
    answers; None without any."""
    answers = sum(one.answers for one in steps)
    gaps = sum(one.answers * abs(one.confidence - one.right) for one in steps)
    return gaps / answers if answers else None


def measure(records: Sequence[AnswerRecord]) -> dict[str, float | None]:
    """The measures by name; None where no question allows one.

    calibration_error: `error_of` the steps of `reliability`. high: the share of answers of high
    confidence; high_right: of these, the share that is right; high_wrong: of all questions, the
    share that got a wrong answer of high confidence, where one that should have been refused is
    wrong.
    """
    answered = _answered(records)
    high = [one for one in answered if confidence_level(_sure(one)) == "high"]
    right = [float(is_right(one)) for one in answered]
    good = [float(is_right(one)) for one in high]
    return {
        "queries": len(records),
        "answered": len(answered),
        "right": fmean(right) if right else None,
        "confidence": fmean(map(_sure, answered)) if answered else None,
        "calibration_error": error_of(reliability(records)),
        "high": len(high) / len(answered) if answered else None,
        "high_right": fmean(good) if good else None,
        "high_wrong": (len(good) - sum(good)) / len(records) if records else None,
    }


def shown(rows: Sequence[Reliability]) -> list[str]:
    """The steps as lines, with a bar that is as long as the share that is right."""
    head = f"{'confidence':<12}{'answers':>8}{'mean':>7}{'right':>7}"
    return [head] + [
        f"{one.low:.1f} to {one.high:.1f}  {one.answers:>8}{one.confidence:>7.2f}{one.right:>7.2f}"
        f"  {'#' * round(20 * one.right)}"
        for one in rows
    ]


def _answered(records: Sequence[AnswerRecord]) -> list[AnswerRecord]:
    return [one for one in records if not one.refused and one.confidence is not None]


def _sure(record: AnswerRecord) -> float:
    return record.confidence or 0.0
