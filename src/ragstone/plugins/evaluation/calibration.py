"""Whether the confidence of answers is true: of those at .8, are eight in ten right?"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ragstone.core.answer import confidence_level
from ragstone.plugins.evaluation.answers import AnswerRecord, is_right

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
    """Return the answers by steps of confidence. A refusal is no answer."""
    return reliability_steps(
        [(_sure(record), is_right(record)) for record in _keep_answered(records)]
    )


def reliability_steps(answers: Sequence[tuple[float, bool]]) -> list[Reliability]:
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


def calibration_error(steps: Sequence[Reliability]) -> float | None:
    """Return the mean gap between confidence and the share that is right, over the steps, by their
    answers; None without any."""
    answers = sum(step.answers for step in steps)
    gaps = sum(step.answers * abs(step.confidence - step.right) for step in steps)
    return gaps / answers if answers else None


def measure(records: Sequence[AnswerRecord]) -> dict[str, float | None]:
    """Return the measures by name; None where no question allows one.

    calibration_error: `calibration_error` the steps of `reliability`. high: the share of answers
    of high
    confidence; high_right: of these, the share that is right; high_wrong: of all questions, the
    share that got a wrong answer of high confidence, where one that should have been refused is
    wrong.
    """
    answered = _keep_answered(records)
    high = [record for record in answered if confidence_level(_sure(record)) == "high"]
    right = [float(is_right(record)) for record in answered]
    good = [float(is_right(item)) for item in high]
    return {
        "queries": len(records),
        "answered": len(answered),
        "right": fmean(right) if right else None,
        "confidence": fmean(map(_sure, answered)) if answered else None,
        "calibration_error": calibration_error(reliability(records)),
        "high": len(high) / len(answered) if answered else None,
        "high_right": fmean(good) if good else None,
        "high_wrong": (len(good) - sum(good)) / len(records) if records else None,
    }


def format_steps(rows: Sequence[Reliability]) -> list[str]:
    """Return the steps as lines, with a bar that is as long as the share that is right."""
    head = f"{'confidence':<12}{'answers':>8}{'mean':>7}{'right':>7}"
    return [head] + [
        f"{row.low:.1f} to {row.high:.1f}  {row.answers:>8}{row.confidence:>7.2f}{row.right:>7.2f}"
        f"  {'#' * round(20 * row.right)}"
        for row in rows
    ]


def _keep_answered(records: Sequence[AnswerRecord]) -> list[AnswerRecord]:
    return [record for record in records if not record.refused and record.confidence is not None]


def _sure(record: AnswerRecord) -> float:
    return record.confidence or 0.0
