"""Is an answer the one that was expected? By its words and sources, without a chat model."""

import re
from collections.abc import Sequence

from ragstone.core.answer import Citation, GeneratedAnswer
from ragstone.core.chunk import Chunk
from ragstone.core.turn import Turn
from ragstone.plugins.evaluation.answers import normalise_answer, token_f1
from ragstone.plugins.evaluation.contract import FoundPassage, Outcome, Reason, SetQuestion

LIKE_THE_LIKED = 0.5
"""The least token F1 with a good answer at which another one counts as it: half of the words of
both are common, as of two wordings of one statement."""
LIKE_THE_DISLIKED = 0.8
"""The least one at which an answer counts as the bad one again. It is higher: a right answer to the
same question shares words with a wrong one."""

MAX_FOUND = 10
"""Passages of a search that are kept of an outcome."""
DEPTH = 10
"""Documents among which the expected one is looked for."""
LONGEST_KEPT = 20_000
"""Characters of an answer that are kept."""

_MARKER = re.compile(r"\s*\[\d+\]")
_PAGE = re.compile(r"#page=(\d+)$")


def outcome(number: int, setting: int, question: SetQuestion, turn: Turn) -> Outcome:
    """Return what came of a question that ended."""
    answer = turn.answer or GeneratedAnswer(finish="error")
    found = _list_found(turn)
    right, reason = judge_answer(question, answer, keep_cited(found))
    return Outcome(
        number=number,
        setting=setting,
        question=question,
        text=answer.text[:LONGEST_KEPT],
        finish=answer.finish,
        right=right,
        reason=reason,
        confidence=answer.confidence,
        supported=answer.groundedness_score,
        verdicts=tuple(verdict.label for verdict in turn.verdicts),
        found_at=find_rank(question, found),
        found=tuple(
            passage for place, passage in enumerate(found) if place < MAX_FOUND or passage.cited
        ),
        model=answer.model,
        strategy=turn.plan.strategy,
        queries=turn.queries,
        seconds=turn.seconds,
        tokens=turn.usage.total_tokens,
        cost=turn.usage.cost,
        trace=turn.trace,
    )


def build_failed_outcome(number: int, setting: int, question: SetQuestion, error: str) -> Outcome:
    """Return what came of a question that could not be answered at all."""
    return Outcome(number, setting, question, "", "error", False, "failed", error=error)


def judge_answer(
    question: SetQuestion, answer: GeneratedAnswer, sources: Sequence[FoundPassage]
) -> tuple[bool | None, Reason]:
    """Tell whether the answer is right, None where nothing was expected; and if not, why."""
    silent = answer.finish in ("refused", "blocked")
    if not question.answerable:
        return (True, "") if silent else (False, "answered")
    expects = question.answers or question.sources or question.liked
    if silent:
        # Nothing is known of a question whose answer was only said to be bad.
        return (False, "refused") if expects else (None, "")
    text = _MARKER.sub("", answer.text)
    if question.answers and not _holds(text, question.answers):
        return False, "other_answer"
    if question.sources and not any(_is_one(source, question.sources) for source in sources):
        return False, "other_source"
    if question.liked and not question.answers and not _like(text, question.liked, LIKE_THE_LIKED):
        return False, "unlike_the_liked"
    if question.disliked and _like(text, question.disliked, LIKE_THE_DISLIKED):
        return False, "like_the_disliked"
    return (True, "") if expects else (None, "")


def cites_expected(item: Outcome) -> bool:
    """Tell whether the answer leans on a document that its question expects."""
    return any(_is_one(passage, item.question.sources) for passage in keep_cited(item.found))


def keep_cited(found: Sequence[FoundPassage]) -> list[FoundPassage]:
    """Return those that the answer leans on."""
    return [passage for passage in found if passage.cited]


def find_rank(question: SetQuestion, found: Sequence[FoundPassage]) -> int | None:
    """Return the place of the first expected document among the first documents that were found."""
    documents: dict[str, int] = {}
    for passage in found:
        place = documents.setdefault(passage.document_id, len(documents) + 1)
        if place <= DEPTH and _is_one(passage, question.sources):
            return place
    return None


def _holds(text: str, accepted: Sequence[str]) -> bool:
    said = f" {normalise_answer(text)} "
    return any(item and f" {item} " in said for item in map(normalise_answer, accepted))


def _like(text: str, other: str, least: float) -> bool:
    return token_f1(text, _MARKER.sub("", other)) >= least


def _is_one(passage: FoundPassage, expected: Sequence[str]) -> bool:
    return any(_names(text, passage) for text in expected)


def _names(expected: str, passage: FoundPassage) -> bool:
    page = _PAGE.search(expected)
    if page and passage.page != int(page[1]):
        return False
    name = _PAGE.sub("", expected).casefold().strip("/")
    path = passage.path.casefold().strip("/")
    return bool(name) and (
        path == name
        or path.endswith(f"/{name}")
        or name in (passage.document_id.casefold(), passage.title.casefold())
    )


def _list_found(turn: Turn) -> list[FoundPassage]:
    """Return what was found, best first, and what the answer cites beside that."""
    citations = turn.answer.citations if turn.answer else ()
    leaned = {citation.chunk_id: citation for citation in reversed(citations)}
    listed = [
        _place(leaned.get(hit.chunk.chunk_id, hit.chunk), hit.score, hit.chunk.chunk_id in leaned)
        for hit in turn.hits
    ]
    known = {hit.chunk.chunk_id for hit in turn.hits}
    others = [_place(item, item.score, True) for id, item in leaned.items() if id not in known]
    return [*listed, *others]


def _place(at: Chunk | Citation, score: float, cited: bool) -> FoundPassage:
    return FoundPassage(at.document_id, at.title, at.path, at.page, at.start, at.end, score, cited)
