"""What a chat model says of an answer by five criteria, as the VoiceHelper document judges it."""

from dataclasses import dataclass

from ragstone.language.json_answer import json_values

CRITERIA = ("relevance", "accuracy", "completeness", "clarity", "citation_quality")
LONGEST_QUERY = 500
LONGEST_ADVICE = 1_000


@dataclass(frozen=True, slots=True)
class AnswerJudgement:
    """The mean of the criteria (0..1), what to search next and what to do better, empty for
    nothing."""

    score: float
    query: str = ""
    advice: str = ""


def judged(said: str) -> AnswerJudgement | None:
    """What a reply says; None for one without all criteria."""
    for value in json_values(said):
        if not isinstance(value, dict):
            continue
        points = [value.get(name) for name in CRITERIA]
        numbers = [float(one) for one in points if isinstance(one, int | float)]
        if len(numbers) == len(CRITERIA) and all(0 <= one <= 100 for one in numbers):
            score = sum(numbers) / (100 * len(numbers))
            query = _line(value.get("query"), LONGEST_QUERY)
            return AnswerJudgement(score, query, _line(value.get("advice"), LONGEST_ADVICE))
    return None


def _line(value: object, most: int) -> str:
    return " ".join(value.split())[:most] if isinstance(value, str) else ""
