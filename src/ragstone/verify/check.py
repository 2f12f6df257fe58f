"""A verdict on every sentence or field of the answer: do the documents support it, and where?"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.answer import (
    Computed,
    GeneratedAnswer,
    Label,
    Marker,
    StatementKind,
    Usage,
    Verdict,
    cut_short_sentence,
)
from ragstone.core.errors import CheckUnavailable, ModelUnavailable, RagstoneError
from ragstone.core.events import Checked, Note, Token
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step, nowhere, prompt
from ragstone.language.polarity import read_yes_no, yes_no
from ragstone.ports import Adapters, Answerer, Claim, EvidenceSource, Support
from ragstone.verify.cite import Cite, add_field_citations, build_citation
from ragstone.verify.claims import Sentence, answer_sentences, strip_layout
from ragstone.verify.groundedness import groundedness
from ragstone.verify.json_fields import json_sentences, name_fields
from ragstone.verify.markers import (
    clauses_at_markers,
    correct_markers,
    judge_marker,
    remove_markers,
    replace_markers,
    report_markers,
)
from ragstone.verify.quoting import NOTE, find_contradiction, quote_documents
from ragstone.verify.score import MIN_ANSWERS
from ragstone.verify.sufficiency import do_passages_disagree
from ragstone.verify.verdicts import (
    UNCLEAR,
    UNDECIDED,
    apply_second_opinion,
    build_verdict,
    is_rejected,
    judge_claims,
    remove_unsupported,
    weigh_answer,
)

LACKING = "It says that the sources lack something."
ANNOUNCED = "It announces what follows."
CONFLICT = "It says that the sources disagree, and two of them do."
NO_CONFLICT = "It says that the sources disagree, and no two of them do."

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _CheckResult:
    """The verdicts on sentences and markers, the chat model's usage, the reason for the trace,
    whether the answer refuses in words of its own, and what the chat model is to be asked about."""

    verdicts: tuple[Verdict, ...]
    markers: tuple[Marker, ...] = ()
    usage: Usage = Usage()
    reason: str = ""
    refuses: bool = False
    unsure: tuple[tuple[Sentence, Support], ...] = ()


class Check(Stage):
    """Compares each sentence with the passages, and asks the chat model where that is unsure.

    The verdicts follow the answer, which has left already.
    """

    name: ClassVar[str] = "check"
    needs: ClassVar[frozenset[str]] = frozenset({"answer", "passages"})
    gives: ClassVar[frozenset[str]] = frozenset({"verdicts"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    asks_model: bool = Field(
        True, description="Whether the chat model is asked where the comparison is unsure."
    )
    model_timeout: float = Field(15.0, gt=0, description="Seconds that the chat model may take.")
    quotes: bool = Field(
        True,
        description="Whether the documents' own sentences answer where the chat model contradicts "
        "them.",
        exclude=True,
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        step = await self._check_turn(turn, adapters, emit)
        before, after = (item.answer.text if item.answer else "" for item in (turn, step.turn))
        if _is_sent(turn) and len(after) > len(before):
            await emit(Token(after[len(before) :]))
        await emit(_event(step.turn))
        return step

    def recover(self, turn: Turn, failure: RagstoneError) -> Turn:
        answer = turn.answer or GeneratedAnswer()
        return replace(turn, answer=replace(answer, check_failure=failure.message))

    async def _check_turn(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        """Return the turn with verdicts."""
        answer, sent = turn.answer or GeneratedAnswer(), _is_sent(turn)
        asks = self.asks_model and adapters.completer is not None
        found = await self._read(answer, turn, adapters, asks)
        quoted, why = await self._quote(turn, found.verdicts, adapters)
        if quoted:
            await emit(Note(self.name, NOTE))
            turn, answer = quoted, quoted.answer or answer
            # Who contradicted the documents is not asked whether they support it.
            found = await self._read(answer, turn, adapters, asks=False)
        else:
            found = await self._ask_model(found, turn, adapters)
        found = replace(found, reason="; ".join(filter(None, (why, found.reason))))
        if found.refuses:
            turn = replace(turn, verdicts=found.verdicts)
            turn = turn if sent else remove_markers(turn)
            answer = replace(turn.answer or answer, finish="refused", citations=(), markers=())
            turn = replace(turn, answer=weigh_answer(answer, turn.verdicts))
            return Step(turn, "refused", "the answer says that the sources lack what was asked")
        answer = replace_markers(answer, found.markers, turn.passages)
        if answer.is_json:
            answer = add_field_citations(answer, found.verdicts)
            verdicts = await asyncio.to_thread(name_fields, answer, found.verdicts)
            found = replace(found, verdicts=verdicts)
        turn = replace(turn, answer=answer, verdicts=found.verdicts, usage=turn.usage + found.usage)
        turn = report_markers(turn) if sent else correct_markers(turn)
        turn = replace(turn, answer=weigh_answer(turn.answer or answer, turn.verdicts))
        claims = [item for item in turn.verdicts if item.label != "no_claim"]
        supported = sum(claim.label == "supported" for claim in claims)
        wrong = sum(marker.state == "elsewhere" for marker in found.markers)
        decision = (
            f"{supported} of {len(claims)} claims supported, groundedness "
            f"{groundedness(turn.verdicts):.2f}"
        )
        if wrong:
            decision += f", {wrong} wrong citations {'found' if sent else 'corrected'}"
        if quoted:
            decision += ", quoted the documents"
        return Step(turn, decision, found.reason)

    async def _quote(
        self, turn: Turn, verdicts: Sequence[Verdict], adapters: Adapters
    ) -> tuple[Turn | None, str]:
        """The turn that the documents' own sentences answer, where the chat model contradicts them
        and they are surely what was asked; and for the trace why so, or why not."""
        answer, extractive = turn.answer or GeneratedAnswer(), adapters.answerable
        against = find_contradiction(verdicts)
        if not (self.quotes and isinstance(extractive, Answerer)) or answer.is_json:
            return None, ""
        if answer.model == extractive.name or against is None:
            return None, ""
        source = f"source {against.citation.number}" if against.citation else "a source"
        quoted = await quote_documents(turn, extractive, _is_sent(turn))
        why = f"{answer.model} contradicts {source} ({against.confidence:.2f})"
        why += f"; the documents' own sentences answer with {quoted.likely:.2f}"
        if quoted.turn is None:
            return None, f"{why}, too little to replace it"
        return (await Cite().run(quoted.turn, adapters, nowhere)).turn, why

    async def _read(
        self, answer: GeneratedAnswer, turn: Turn, adapters: Adapters, asks: bool
    ) -> _CheckResult:
        """What the reader finds, and where the chat model `asks`, what that is to be asked."""
        if answer.is_json:
            said = await asyncio.to_thread(json_sentences, answer, turn.ask.json)
        else:
            said = answer_sentences(answer.text)
        whether = None if answer.refused or answer.is_json else _yes_or_no_claim(said, turn)
        if whether:
            said[0] = replace(said[0], claims=True)
        if answer.refused:
            said = [replace(item, claims=False) for item in said]
        if turn.cut_short:
            # The sentence that the time was up is said of the answer, not of the documents.
            end = answer.text.rfind(cut_short_sentence(turn.cut_short))
            said = [
                replace(item, claims=item.claims and (end < 0 or item.start < end)) for item in said
            ]
        claims = [item for item in said if item.claims and not _is_computed(item, answer)]
        sources = [EvidenceSource(p.text, p.hit.chunk.heading, p.blocks) for p in turn.passages]
        # Fields of JSON have no markers, so that each may rest on any source.
        unmarked = [passage.number for passage in turn.passages] if answer.is_json else []
        asked = [
            whether
            if whether and claim is said[0]
            else _claim(claim.statement or claim.text, claim.cited or unmarked, turn)
            for claim in claims
        ]
        clauses = [
            clause
            for claim in claims
            for clause in clauses_at_markers(answer.markers, answer.text, claim)
        ]
        parts = [_claim(item.text, item.numbers, turn) for item in clauses]
        supports = await adapters.checker.support([*asked, *parts], sources)
        found = supports[: len(asked)]
        spans = [
            *((claim.start, claim.end) for claim in claims),
            *((c.start, c.end) for c in clauses),
        ]
        read = list(zip(spans, [*asked, *parts], supports, strict=True))
        markers = tuple(
            judge_marker(
                marker,
                [(said, by) for (start, end), said, by in read if start <= marker.start < end],
                turn.passages,
            )
            for marker in answer.markers
        )
        places = iter(found)
        verdicts = [
            _verdict_on_computed(item, answer.computed, turn)
            if item.claims and answer.computed and _is_computed(item, answer)
            else build_verdict(item, next(places) if item.claims else None, turn.passages)
            for item in said
        ]
        supporting = {
            claim.start: by
            for claim, by in zip(claims, found, strict=True)
            if not (whether and claim is said[0])
        }
        verdicts, refuses = await _find_kinds(verdicts, supporting, turn, adapters)
        if refuses and not answer.is_json:
            return _CheckResult(tuple(verdicts), refuses=True)
        if asks:
            told = {item.start for item in verdicts if item.label == "no_claim" or item.reason}
            unsure = tuple(
                (replace(claim, text=beside.text), support)
                for claim, beside, support in zip(claims, asked, found, strict=True)
                if _is_in_bounds(support, UNDECIDED) and claim.start not in told
            )
            return _CheckResult(tuple(verdicts), markers, unsure=unsure)
        if whether and _is_in_bounds(found[0], UNCLEAR):
            verdicts[0] = build_verdict(said[0], None, turn.passages)
        return _CheckResult(tuple(verdicts), markers)

    async def _ask_model(self, found: _CheckResult, turn: Turn, adapters: Adapters) -> _CheckResult:
        """Return what was found, with the chat model's verdicts on the undecided claims."""
        model = adapters.completer
        if not found.unsure or model is None:
            return found
        rules = await prompt(turn, adapters, "judge_claims")
        try:
            async with asyncio.timeout(self.model_timeout):
                labels, usage = await judge_claims(model, rules, turn, found.unsure)
        except (ModelUnavailable, TimeoutError) as error:
            return replace(found, reason=f"{model.name} did not judge: {error}")
        verdicts = list(found.verdicts)
        for (claim, _), label in zip(found.unsure, labels, strict=True):
            at = next(i for i, item in enumerate(verdicts) if item.start == claim.start)
            if label is not None:
                verdicts[at] = apply_second_opinion(verdicts[at], *label, model.name)
        judged = sum(label is not None for label in labels)
        changed = sum(a.label != b.label for a, b in zip(found.verdicts, verdicts, strict=True))
        reason = f"{model.name} judged {judged} of {len(found.unsure)} and changed {changed}"
        return replace(found, verdicts=tuple(verdicts), usage=usage, reason=reason)


class CheckHeld(Check):
    """Checks an answer that has not left yet, and sends it: the verdicts first, then the text.

    If that fails, the answer is not sent. With `strict`, what the documents do not support is
    taken out of it; if nothing is left, the answer is that there is none. So it is if a field of
    JSON would have to be taken out.
    """

    fails: ClassVar[Literal["open", "closed"]] = "closed"

    strict: bool = Field(False, description="Whether unsupported sentences are taken out.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        try:
            step = await self._check_turn(turn, adapters, emit)
        except RagstoneError:
            raise
        # Whatever else breaks, an answer that nobody checked must not leave.
        except Exception as error:
            log.exception("The check of an answer broke; the answer is not sent")
            raise CheckUnavailable from error
        answer = step.turn.answer or GeneratedAnswer()
        out = sum(map(is_rejected, step.turn.verdicts)) if self.strict else 0
        if out:
            turn = remove_unsupported(step.turn)
            step = replace(step, turn=turn, decision=f"{step.decision}, {out} taken out")
            of = "fields, and the answer with them" if answer.is_json else "sentences"
            await emit(Note(self.name, f"Taken out, as no document supports it: {out} {of}."))
        await emit(_event(step.turn))
        answer = replace(step.turn.answer or GeneratedAnswer(), held=False)
        if answer.text:
            await emit(Token(answer.text))
        return replace(step, turn=replace(step.turn, answer=answer))


async def _find_kinds(
    verdicts: list[Verdict], supports: Mapping[int, Support], turn: Turn, adapters: Adapters
) -> tuple[list[Verdict], bool]:
    """Return the verdicts in which what says that the sources lack something, or what follows,
    claims nothing, and what says that they disagree is as true as that; and whether the answer
    refuses: it begins with what they lack, and what else it claims is true and not what was asked.
    `supports` are of the sentences from these places on."""
    answer = turn.answer or GeneratedAnswer()
    # Of several questions one may be refused, in these words.
    refusal = turn.instructions.no_answer
    verdicts = [
        _apply_kind(item, "gap" if item.sentence == refusal else None, False) for item in verdicts
    ]
    unsure = [
        item
        for item in verdicts
        if item.start in supports
        and supports[item.start].probability < SURE
        and len(item.sentence) <= MAX_GAP
    ]
    judge = adapters.judge
    # Extractive answers never say so in other words, and need no model for it in memory.
    if judge is None or adapters.chat is None or not unsure:
        return verdicts, False
    found = await judge.kinds(
        turn.question,
        [item.sentence for item in unsure],
        [supports[item.start] for item in unsure],
        [passage.text for passage in turn.passages],
    )
    kinds = {item.start: kind for item, kind in zip(unsure, found, strict=True) if kind}
    if answer.is_json:
        # A field says nothing of the sources but that they lack it.
        kinds = {start: kind for start, kind in kinds.items() if kind == "gap"}
    conflict = False
    if "disagreement" in kinds.values():
        cited = {marker.number for marker in answer.markers}
        passages = [passage for passage in turn.passages if passage.number in cited]
        # An answer that cites fewer than two does not say which ones disagree.
        compared = passages if len(passages) > 1 else turn.passages[:MAX_DISAGREEING]
        conflict = await do_passages_disagree(compared, adapters.checker)
    verdicts = [_apply_kind(item, kinds.get(item.start), conflict) for item in verdicts]
    claims = [item for item in verdicts if item.label != "no_claim" or item.reason == LACKING]
    rest = [claim for claim in claims if claim.reason != LACKING]
    begins = bool(claims) and claims[0].reason == LACKING
    refuses = begins and all(item.label == "supported" for item in rest)
    if refuses and rest:
        ask = replace(turn.ask, question=turn.question)
        refuses = await judge.answers(ask, answer.text, turn.passages) < MIN_ANSWERS
    return verdicts, refuses


def _apply_kind(verdict: Verdict, kind: StatementKind | None, conflict: bool) -> Verdict:
    """Return the verdict on a sentence of this kind, where the sources disagree or do not."""
    if kind is None:
        return verdict
    if kind == "disagreement":
        label: Label = "supported" if conflict else "unsupported"
        reason = CONFLICT if conflict else NO_CONFLICT
        return replace(verdict, label=label, confidence=CONFLICT_SURE, reason=reason)
    reason = LACKING if kind == "gap" else ANNOUNCED
    return replace(verdict, label="no_claim", confidence=1.0, citation=None, reason=reason)


def _is_sent(turn: Turn) -> bool:
    """Tell whether the answer's text has left already."""
    return turn.ask.streams and not (turn.answer is not None and turn.answer.held)


def _event(turn: Turn) -> Checked:
    return Checked(turn.verdicts, turn.answer.groundedness_score if turn.answer else None)


def _is_in_bounds(support: Support, bounds: tuple[float, float]) -> bool:
    low, high = bounds
    return low <= support.probability <= high


def _yes_or_no_claim(said: Sequence[Sentence], turn: Turn) -> Claim | None:
    """What a yes or no that the answer begins with claims, if it does: what was asked. It rests on
    what the next sentence rests on. Without a chat model it is judged only where it is clear."""
    if not said or read_yes_no(said[0].text) is None or not yes_no(turn.question):
        return None
    cited = said[0].cited or (said[1].cited if len(said) > 1 else ())
    return _claim(f"{turn.question} {said[0].text}", cited, turn)


SURE = 0.95
"""The probability from which a sentence is not read as one that says what the sources lack."""

MAX_GAP = 300
"""Characters of a sentence that may say what the sources lack: longer ones say more than that."""

MAX_DISAGREEING = 4
"""Passages that are compared where an answer says that sources disagree, and not which."""

CONFLICT_SURE = 0.85
"""How sure it is that sources disagree, or do not: what a comparison of sentences tells."""

COMPUTED, RAN = 0.99, 0.8
"""How likely the sources support a figure that two computations from their rows gave, and one that
the only query did."""


def _is_computed(sentence: Sentence, answer: GeneratedAnswer) -> bool:
    """Tell whether a sentence states what was computed, as it was."""
    known = answer.computed
    return (
        known is not None and bool(sentence.text) and sentence.text in strip_layout(known.sentence)
    )


def _verdict_on_computed(sentence: Sentence, known: Computed, turn: Turn) -> Verdict:
    """Return the verdict on what was computed: it stands in no source, and follows from the rows
    that the sentence cites, which the answer quotes."""
    number = next(iter(sentence.cited), 0)
    passage = next((item for item in turn.passages if item.number == number), None)
    sure = COMPUTED if known.recomputed else RAN
    return Verdict(
        sentence.text,
        "supported",
        sure,
        build_citation(passage, 0, len(passage.text), sure) if passage else None,
        sentence.start,
        sentence.end,
        f"computed: {known.sql}",
    )


def _claim(text: str, cited: Sequence[int], turn: Turn) -> Claim:
    places = {passage.number: place for place, passage in enumerate(turn.passages)}
    return Claim(text, tuple(places[n] for n in cited if n in places))
