"""How good an answer is, and what to search next."""

from ragstone.answer import Answer, Usage
from ragstone.errors import RagstoneError
from ragstone.ports import Kit
from ragstone.stages.prompts import prompt
from ragstone.text.fences import fenced
from ragstone.text.judgement import CRITERIA, Judged, judged
from ragstone.turn import Turn

REPLY_TOKENS = 300
PASSAGE_CHARS = 1_000
LOCAL = "the answer's confidence"


async def judgement(turn: Turn, kit: Kit) -> tuple[Judged, str, Usage]:
    """What is to be said of the turn's answer, who says so, and what that took."""
    answer = turn.answer or Answer()
    local = Judged(answer.confidence or 0.0, _missing(turn, answer))
    if kit.completer is None:
        return local, LOCAL, Usage()
    rules = await prompt(turn, kit, "judge_answer", criteria=", ".join(CRITERIA))
    try:
        said = await kit.completer.complete(rules, _asked(turn, answer), REPLY_TOKENS)
    except RagstoneError as error:
        return local, f"{LOCAL}; {kit.completer.name} did not judge: {error}", Usage()
    found = judged(said.text)
    if found is None:
        return local, f"{LOCAL}; {kit.completer.name} gave no judgement", said.usage
    return found, kit.completer.name, said.usage


def _missing(turn: Turn, answer: Answer) -> str:
    """A query for what no passage speaks of."""
    missing = answer.sufficiency.missing_aspects if answer.sufficiency else ()
    return " ".join(missing)


def _asked(turn: Turn, answer: Answer) -> str:
    sources = "\n".join(f"[{p.number}] {p.text[:PASSAGE_CHARS]}" for p in turn.passages)
    parts = {"question": turn.question, "sources": sources, "answer": answer.text}
    return "\n".join(fenced(name, text) for name, text in parts.items())
