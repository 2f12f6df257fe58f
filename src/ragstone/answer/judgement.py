"""How good an answer is, and what to search next."""

from dataclasses import dataclass, replace

from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.turn import Turn
from ragstone.engine.prompts import prompt
from ragstone.language.code_blocks import fence_text
from ragstone.language.json_answer import json_values
from ragstone.models.prompt import compose
from ragstone.ports import Adapters

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


def parse_judgement(said: str) -> AnswerJudgement | None:
    """What a reply says; None for one without all criteria."""
    for value in json_values(said):
        if not isinstance(value, dict):
            continue
        points = [value.get(name) for name in CRITERIA]
        numbers = [float(point) for point in points if isinstance(point, int | float)]
        if len(numbers) == len(CRITERIA) and all(0 <= number <= 100 for number in numbers):
            score = sum(numbers) / (100 * len(numbers))
            query = _line(value.get("query"), LONGEST_QUERY)
            return AnswerJudgement(score, query, _line(value.get("advice"), LONGEST_ADVICE))
    return None


def _line(value: object, most: int) -> str:
    return " ".join(value.split())[:most] if isinstance(value, str) else ""


REPLY_TOKENS = 300
LOCAL = "the answer's confidence"


async def judgement(turn: Turn, adapters: Adapters) -> tuple[AnswerJudgement, str, Usage]:
    """The judgement of the turn's answer, the name of the judge, and the usage."""
    answer = turn.answer or GeneratedAnswer()
    local = AnswerJudgement(answer.confidence or 0.0, _aspect_query(turn, answer))
    model = adapters.evaluator or adapters.completer
    if model is None:
        return local, LOCAL, Usage()
    task = await prompt(turn, adapters, "judge_answer", criteria=", ".join(CRITERIA))
    # It begins as the answer's prompt did, which a server that keeps beginnings has read.
    asked = f"{turn.question}\n\n{fence_text('answer', answer.text)}"
    rules, text = compose(turn.passages, asked, replace(turn.instructions, text=task))
    try:
        said = await model.complete(rules, text, REPLY_TOKENS)
    except RagstoneError as error:
        return local, f"{LOCAL}; {model.name} did not judge: {error}", Usage()
    found = parse_judgement(said.text)
    if found is None:
        return local, f"{LOCAL}; {model.name} gave no judgement", said.usage
    return found, said.model or model.name, said.usage


def _aspect_query(turn: Turn, answer: GeneratedAnswer) -> str:
    """A query for the aspects that no passage covers."""
    missing = answer.sufficiency.missing_aspects if answer.sufficiency else ()
    return " ".join(missing)
