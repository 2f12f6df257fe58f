"""The measures of a run, by setting, and what changed between two runs."""

from collections.abc import Callable, Sequence
from statistics import fmean

from ragstone.core.answer import confidence_level
from ragstone.core.evaluation import (
    AskSetting,
    ConfidenceStep,
    Outcome,
    OutcomeChange,
    SettingFigures,
)
from ragstone.evaluation.answers import normalised, token_f1
from ragstone.evaluation.calibration import error_of, steps_of
from ragstone.evaluation.measures import percentile
from ragstone.evaluation.sets.judging import cites_expected

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
    """The measures of each setting; None where no question allows one.

    right: the share of what could be judged. refused_answerable and answered_unanswerable: the
    shares of such questions. source_cited, source_found: of the questions that expect a document,
    those whose answer cites one, and whose search found one among the first five; mrr: 1 / place
    of the first. f1: words in common with the best accepted answer. supported: the mean share of
    an answer's claims that the documents support. calibration_error: the mean gap between
    confidence and the share that is right. wrong_but_sure: the share that is wrong with high
    confidence. tokens: of the mean question; cost: of all, in US dollars.
    """
    return tuple(
        _of_one(setting.name, [one for one in outcomes if one.setting == place])
        for place, setting in enumerate(settings)
    )


def _of_one(name: str, given: Sequence[Outcome]) -> SettingFigures:
    judged = [one for one in given if one.right is not None]
    answerable = [one for one in judged if one.question.answerable]
    unanswerable = [one for one in judged if not one.question.answerable]
    placed = [one for one in answerable if one.question.sources]
    worded = [one for one in answerable if one.question.answers]
    steps = steps_of(
        [(one.confidence or 0.0, one.right is True) for one in judged if _is_answer(one)]
    )
    costs = [one.cost for one in given if one.cost is not None]
    seconds = [one.seconds for one in given if not one.error]
    measures: dict[str, float | None] = {
        "questions": float(len(given)),
        "judged": float(len(judged)),
        "right": _share(judged, lambda one: one.right is True),
        "refused_answerable": _share(answerable, lambda one: one.reason == "refused"),
        "answered_unanswerable": _share(unanswerable, lambda one: one.reason == "answered"),
        "source_cited": _share(placed, cites_expected),
        "source_found": _share(placed, lambda one: (one.found_at or 99) <= 5),
        "mrr": _mean([1 / one.found_at if one.found_at else 0.0 for one in placed]),
        "f1": _mean([_best_f1(one) for one in worded]),
        "supported": _mean([one.supported for one in given if one.supported is not None]),
        "confidence": _mean([one.confidence for one in given if _is_answer(one)]),
        "calibration_error": error_of(steps),
        "wrong_but_sure": _share(judged, lambda one: not one.right and _is_sure(one)),
        "p50_seconds": percentile(seconds, 0.5) if seconds else None,
        "p95_seconds": percentile(seconds, 0.95) if seconds else None,
        "tokens": _mean([float(one.tokens) for one in given]),
        "cost": sum(costs) if costs else None,
    }
    shown = tuple(ConfidenceStep(one.low, one.answers, one.right) for one in steps)
    return SettingFigures(name, measures, shown)


def changes(
    before: Sequence[Outcome],
    after: Sequence[Outcome],
    settings_before: Sequence[AskSetting],
    settings_after: Sequence[AskSetting],
) -> list[OutcomeChange]:
    """Questions that are right in one of two runs only, with settings of the same name."""
    names = {place: setting.name for place, setting in enumerate(settings_before)}
    known = {(names[one.setting], one.question.question): one.right for one in before}
    found = []
    for one in after:
        name = settings_after[one.setting].name
        was = known.get((name, one.question.question), one.right)
        if was != one.right:
            found.append(OutcomeChange(one.question.question, name, was, one.right, one.number))
    return found


def _is_answer(one: Outcome) -> bool:
    return one.confidence is not None and one.finish in ("stop", "length")


def _is_sure(one: Outcome) -> bool:
    return _is_answer(one) and confidence_level(one.confidence or 0.0) == "high"


def _best_f1(one: Outcome) -> float:
    said = normalised(one.text)
    return max(token_f1(said, accepted) for accepted in one.question.answers)


def _share(given: Sequence[Outcome], holds: Callable[[Outcome], bool]) -> float | None:
    return fmean(float(holds(one)) for one in given) if given else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return fmean(known) if known else None
