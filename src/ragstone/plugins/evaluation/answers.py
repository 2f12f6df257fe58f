"""Measures of answers: does an accepted answer lie in what was said, is silence honest?"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ragstone.plugins.evaluation import measures

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}，。、；：？！“”‘’（）《》「」【】…·]")
_UNSPACED = re.compile(r"([\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])")


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One question: accepted answers, and the sentences that were returned, without markers.

    `stranger` is one of another set's, which this corpus was never meant to answer.
    """

    answers: tuple[str, ...]
    sentences: tuple[str, ...]
    refused: bool
    confidence: float | None
    answerable: bool
    stranger: bool = False


def measure(records: Sequence[AnswerRecord], surely: float = 0.0) -> dict[str, float | None]:
    """Return the measures by name; None where no question allows one.

    contains_1 and contains_2: the share of answerable questions of which an accepted answer lies
    in the first, in the first two sentences. f1: tokens of the first sentence against the best
    accepted answer, as SQuAD counts them. refusal_auroc: that an unanswerable question has a lower
    confidence than an answerable one. Where strangers were asked, they are the unanswerable ones;
    the set's own, which look alike, are then in the measures whose names end in _own. foreseen_*:
    the shares whose confidence is under `surely`, at which a chat model is not even asked.
    """
    held = [r for r in records if r.answerable and r.answers]
    answerable = [r for r in records if r.answerable]
    strangers = [r for r in records if r.stranger]
    own = [r for r in records if not r.answerable and not r.stranger]
    found = {
        "queries": len(records),
        "contains_1": _mean([_contains(r, 1) for r in held]),
        "contains_2": _mean([_contains(r, 2) for r in held]),
        "f1": _mean([_f1(r) for r in held]),
        "refused_answerable": _mean([float(r.refused) for r in answerable]),
        "foreseen_answerable": _low_confidence_share(answerable, surely),
        "foreseen_unanswerable": _low_confidence_share(strangers or own, surely),
        **_refusal_measures(strangers or own, answerable),
    }
    if strangers and own:
        apart = _refusal_measures(own, answerable)
        found |= {f"{name}_own": value for name, value in apart.items()}
    return found


def _low_confidence_share(records: Sequence[AnswerRecord], surely: float) -> float | None:
    return _mean([float((r.confidence or 0.0) < surely) for r in records])


def _refusal_measures(
    unanswerable: Sequence[AnswerRecord], answerable: Sequence[AnswerRecord]
) -> dict[str, float | None]:
    return {
        "refused_unanswerable": _mean([float(r.refused) for r in unanswerable]),
        "refusal_auroc": auroc(
            [1 - (r.confidence or 0) for r in unanswerable],
            [1 - (r.confidence or 0) for r in answerable],
        ),
    }


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float | None:
    """The probability that a positive scores above a negative, ties half; None without either."""
    right = [True] * len(positives) + [False] * len(negatives)
    return measures.auroc([*positives, *negatives], right)


def normalise_answer(text: str) -> str:
    """As SQuAD compares: lower case, no punctuation, no articles; unspaced scripts by character."""
    text = _PUNCTUATION.sub(" ", text.lower())
    text = _UNSPACED.sub(r" \1 ", text)
    return " ".join(_ARTICLES.sub(" ", text).split())


def token_f1(said: str, wanted: str) -> float:
    """Tell how much two texts share of their words, as SQuAD counts them (0..1)."""
    return _overlap(normalise_answer(said).split(), normalise_answer(wanted).split())


def is_right(record: AnswerRecord) -> bool:
    """Whether an accepted answer lies in what was said, or nothing was said where there is none."""
    if not record.answerable:
        return record.refused
    return bool(_contains(record, len(record.sentences)))


def _contains(record: AnswerRecord, sentences: int) -> float:
    said = f" {normalise_answer(' '.join(record.sentences[:sentences]))} "
    accepted = [normalise_answer(answer) for answer in record.answers]
    return float(any(answer and f" {answer} " in said for answer in accepted))


def _f1(record: AnswerRecord) -> float:
    said = normalise_answer(record.sentences[0]).split() if record.sentences else []
    return max(_overlap(said, normalise_answer(answer).split()) for answer in record.answers)


def _overlap(said: Sequence[str], accepted: Sequence[str]) -> float:
    common = sum((Counter(said) & Counter(accepted)).values())
    if not common:
        return 0.0
    precision, recall = common / len(said), common / len(accepted)
    return 2 * precision * recall / (precision + recall)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
