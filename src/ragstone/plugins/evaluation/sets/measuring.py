"""The measures of a run, by setting, and what changed between two runs."""

from collections.abc import Callable, Sequence
from statistics import fmean

from ragstone.core.answer import confidence_level
from ragstone.plugins.evaluation.answers import normalise_answer, token_f1
from ragstone.plugins.evaluation.calibration import calibration_error, reliability_steps
from ragstone.plugins.evaluation.contract import (
    AskSetting,
    ConfidenceStep,
    Outcome,
    OutcomeChange,
    SettingFigures,
)
from ragstone.plugins.evaluation.measures import percentile
from ragstone.plugins.evaluation.sets.judging import cites_expected

SHARES = (
    "right",
    "refused_answerable",
    "answered_unanswerable",
    "source_cited",
    "source_found",
    "supported",
    "confidence",
    "calibration_error",
    "wrong_but_sure",
)
"""Measures that are shares of something, in the order in which they are shown."""
BETTER_LOW = frozenset(
    {
        "refused_answerable",
        "answered_unanswerable",
        "calibration_error",
        "wrong_but_sure",
        "p50_seconds",
        "p95_seconds",
        "tokens",
        "cost",
    }
)
"""Measures that are better when they are lower."""


def figures(
    settings: Sequence[AskSetting], outcomes: Sequence[Outcome]
) -> tuple[SettingFigures, ...]:
    """Return the measures of each setting; None where no question allows one.

    right: the share of what could be judged. refused_answerable and answered_unanswerable: the
    shares of such questions. source_cited, source_found: of the questions that expect a document,
    those whose answer cites one, and whose search found one among the first five; mrr: 1 / place
    of the first. f1: words in common with the best accepted answer. supported: the mean share of
    an answer's claims that the documents support. calibration_error: the mean gap between
    confidence and the share that is right. wrong_but_sure: the share that is wrong with high
    confidence. tokens: of the mean question; cost: of all, in US dollars.
    """
    return tuple(
        _of_one(setting.name, [outcome for outcome in outcomes if outcome.setting == place])
        for place, setting in enumerate(settings)
    )


def _of_one(name: str, given: Sequence[Outcome]) -> SettingFigures:
    judged = [outcome for outcome in given if outcome.right is not None]
    answerable = [item for item in judged if item.question.answerable]
    unanswerable = [item for item in judged if not item.question.answerable]
    placed = [item for item in answerable if item.question.sources]
    worded = [item for item in answerable if item.question.answers]
    steps = reliability_steps(
        [(item.confidence or 0.0, item.right is True) for item in judged if _is_answer(item)]
    )
    costs = [outcome.cost for outcome in given if outcome.cost is not None]
    seconds = [outcome.seconds for outcome in given if not outcome.error]
    measures: dict[str, float | None] = {
        "questions": float(len(given)),
        "judged": float(len(judged)),
        "right": _share(judged, lambda item: item.right is True),
        "refused_answerable": _share(answerable, lambda item: item.reason == "refused"),
        "answered_unanswerable": _share(unanswerable, lambda item: item.reason == "answered"),
        "source_cited": _share(placed, cites_expected),
        "source_found": _share(placed, lambda item: (item.found_at or 99) <= 5),
        "mrr": _mean([1 / item.found_at if item.found_at else 0.0 for item in placed]),
        "f1": _mean([_best_f1(item) for item in worded]),
        "supported": _mean(
            [outcome.supported for outcome in given if outcome.supported is not None]
        ),
        "confidence": _mean([outcome.confidence for outcome in given if _is_answer(outcome)]),
        "calibration_error": calibration_error(steps),
        "wrong_but_sure": _share(judged, lambda item: not item.right and _is_sure(item)),
        "p50_seconds": percentile(seconds, 0.5) if seconds else None,
        "p95_seconds": percentile(seconds, 0.95) if seconds else None,
        "tokens": _mean([float(outcome.tokens) for outcome in given]),
        "cost": sum(costs) if costs else None,
    }
    shown = tuple(ConfidenceStep(step.low, step.answers, step.right) for step in steps)
    return SettingFigures(name, measures, shown)


def changes(
    before: Sequence[Outcome],
    after: Sequence[Outcome],
    settings_before: Sequence[AskSetting],
    settings_after: Sequence[AskSetting],
) -> list[OutcomeChange]:
    """Return questions that are right in one of two runs only, with settings of the same name."""
    names = {place: setting.name for place, setting in enumerate(settings_before)}
    known = {
        (names[outcome.setting], outcome.question.question): outcome.right for outcome in before
    }
    found = []
    for outcome in after:
        name = settings_after[outcome.setting].name
        was = known.get((name, outcome.question.question), outcome.right)
        if was != outcome.right:
            found.append(
                OutcomeChange(outcome.question.question, name, was, outcome.right, outcome.number)
            )
    return found


def _is_answer(outcome: Outcome) -> bool:
    return outcome.confidence is not None and outcome.finish in ("stop", "length")


def _is_sure(outcome: Outcome) -> bool:
    return _is_answer(outcome) and confidence_level(outcome.confidence or 0.0) == "high"


def _best_f1(outcome: Outcome) -> float:
    said = normalise_answer(outcome.text)
    return max(token_f1(said, accepted) for accepted in outcome.question.answers)


def _share(given: Sequence[Outcome], holds: Callable[[Outcome], bool]) -> float | None:
    return fmean(float(holds(outcome)) for outcome in given) if given else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
