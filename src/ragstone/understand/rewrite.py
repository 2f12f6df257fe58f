"""Searches a question in other words too."""

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.answer import Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Rewritten
from ragstone.core.turn import Level, Mode, Rewriting, Subquery, Turn
from ragstone.engine.stage import Emit, Stage, Step, prompt
from ragstone.language.code_blocks import fence_text
from ragstone.language.json_answer import parse_lines, parse_list
from ragstone.language.language import language_name
from ragstone.language.words import content_words
from ragstone.ports import Adapters, Completer
from ragstone.understand.route import DEMANDING
from ragstone.understand.subquestions import keywords, separate_questions, subquestions

LINE_TOKENS = 200
PASSAGE_TOKENS = 300
"""Most tokens of an answer."""

MAX_QUERY_CHARS = 400
"""Characters of a query; a longer line is not a query."""

SHORTEST_PASSAGE = 20
LONGEST_PASSAGE = 2000
MAX_PARTS = 4
MAX_TERMS = 12


async def alternatives(
    completer: Completer, rules: str, question: str, count: int, temperature: float = 0.0
) -> tuple[list[str], Usage]:
    """At most `count` other ways to ask the same; raises ModelUnavailable."""
    said = await completer.complete(rules, _question_block(question), LINE_TOKENS, temperature)
    return _usable(parse_lines(said.text), question)[:count], said.usage


async def imagine_passage(
    completer: Completer, rules: str, question: str, temperature: float = 0.0
) -> tuple[list[str], Usage]:
    """Return a passage that could answer (Gao et al., "Precise Zero-Shot Dense Retrieval without
    Relevance Labels", 2022); raises ModelUnavailable."""
    said = await completer.complete(rules, _question_block(question), PASSAGE_TOKENS, temperature)
    text = " ".join(said.text.split())[:LONGEST_PASSAGE]
    return [text] if len(text) >= SHORTEST_PASSAGE else [], said.usage


async def broader(
    completer: Completer, rules: str, question: str, temperature: float = 0.0
) -> tuple[list[str], Usage]:
    """Return a question about the background (Zheng et al., "Take a Step Back", 2023); raises
    ModelUnavailable."""
    said = await completer.complete(rules, _question_block(question), LINE_TOKENS, temperature)
    return _usable(parse_lines(said.text), question)[:1], said.usage


async def parts(
    completer: Completer, rules: str, question: str, temperature: float = 0.0
) -> tuple[list[str], Usage]:
    """Ask for 2 to 4 simpler questions; raises ModelUnavailable."""
    said = await completer.complete(rules, _question_block(question), LINE_TOKENS, temperature)
    found = parse_list(said.text, "queries") or [
        line for line in parse_lines(said.text) if line[-1] in "?？"
    ]
    usable = _usable(found, question)[:MAX_PARTS]
    return usable if len(usable) > 1 else [], said.usage


async def terms(
    completer: Completer, rules: str, question: str, temperature: float = 0.0
) -> tuple[list[str], Usage]:
    """Ask for key terms with synonyms, as one query; raises ModelUnavailable."""
    said = await completer.complete(rules, _question_block(question), LINE_TOKENS, temperature)
    found = [
        item.strip() for line in parse_lines(said.text) for item in re.split(r"[,;，、]", line)
    ]
    short = [item for item in dict.fromkeys(found) if item and len(item.split()) <= 5]
    query = " ".join(short[:MAX_TERMS])
    return ([query[:MAX_QUERY_CHARS]] if query else []), said.usage


def _question_block(question: str) -> str:
    return fence_text("question", question)


def _usable(found: Sequence[str], question: str) -> list[str]:
    """Return queries that are short enough and are not the question again."""
    same = question.casefold().strip(" ?？.")
    return [
        text
        for text in found
        if 1 < len(text) <= MAX_QUERY_CHARS
        and text.casefold().strip(" ?？.") != same
        and text[0] not in "{[<"
    ]


log = logging.getLogger(__name__)

SHORT = 5
"""A question of fewer words that carry meaning is searched with an imagined passage."""

EAGER: tuple[Level, ...] = ("enhanced", "maximum")
"""Levels at which `auto` rewrites."""

_ABSTRACT = re.compile(
    r"^(?:why|how|explain|describe|discuss|what (?:does|do) .* mean|warum|wie|erkläre|pourquoi|"
    r"comment|por qué|cómo|为什么|如何|怎么|왜|어떻게|なぜ)",
    re.IGNORECASE,
)


COMBINED: tuple[Rewriting, ...] = ("multi", "hyde", "step_back")


@dataclass(frozen=True, slots=True)
class Added:
    """Further queries, imagined passages, and why there are none."""

    queries: tuple[str, ...] = ()
    imagined: tuple[str, ...] = ()
    usage: Usage = Usage()
    reason: str = ""

    def __add__(self, other: "Added") -> "Added":
        return Added(
            (*self.queries, *other.queries),
            (*self.imagined, *other.imagined),
            self.usage + other.usage,
            "; ".join(filter(None, (self.reason, other.reason))),
        )


class Rewrite(Stage):
    """Adds the queries that the plan asks for; the question itself is always searched first."""

    name: ClassVar[str] = "rewrite"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "plan", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"queries"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    model_timeout: float = Field(
        10.0, gt=0, description="Seconds that the chat model may take before the search goes on."
    )
    expands: bool = Field(False, description="Whether auto searches every question in other words.")
    only_advanced: bool = Field(
        False, description="Whether it does so only where the mode is advanced."
    )
    imagines: bool = Field(
        False, description="Whether auto searches a vague question with an imagined passage."
    )
    imagines_from: int = Field(
        0,
        ge=0,
        description="Characters from which it does so, for any question and no shorter one; 0 "
        "leaves it to whether the question is vague.",
    )
    mode: Mode = Field("simple", description="How it is answered unless the question asks.")
    temperature: float = Field(
        0.0, ge=0, le=2, description="Sampling temperature of other words and imagined passages."
    )
    parts_temperature: float = Field(
        0.0, ge=0, le=2, description="Sampling temperature where a question is taken apart."
    )
    adds_terms: bool = Field(
        False, description="Whether auto searches every question by further terms."
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        step = await self._step(turn, adapters)
        if step.turn.queries != turn.queries or step.turn.imagined or turn.original:
            await emit(Rewritten(step.turn.rewritten, step.turn.queries))
        return step

    async def _step(self, turn: Turn, adapters: Adapters) -> Step:
        if turn.recalled and turn.recalled.content:
            return Step(turn, "skipped", "what it would find is known")
        if turn.subqueries:
            return Step(turn, "skipped", "each of its questions is searched by itself")
        wanted = turn.plan.rewrite
        is_free = wanted in ("auto", "combined") and adapters.completer is None
        if is_free and turn.whole and (parts := separate_questions(turn.question)):
            plan, several = replace(turn.plan, rewrite="decompose"), tuple(map(Subquery, parts))
            return Step(replace(turn, plan=plan, subqueries=several), "decompose", "; ".join(parts))
        methods = self._methods(turn, adapters.completer is not None)
        used: Rewriting = "combined" if methods[1:] else next(iter(methods), "none")
        turn = replace(turn, plan=replace(turn.plan, rewrite=used))
        if not methods:
            return Step(turn, "skipped", "the plan does not ask for it")
        if wanted == "hyde" and turn.ask.wanted.rewrite != "hyde" and not vague(turn.question):
            return Step(turn, "skipped", "the question is specific enough")
        added = await asyncio.gather(
            *(self._rewritten(method, turn, adapters) for method in methods)
        )
        found = sum(added[1:], added[0])
        turn, said = replace(turn, usage=turn.usage + found.usage), ", ".join(methods)
        if not found.queries and not found.imagined:
            return Step(turn, f"{said}, skipped", found.reason or "nothing to add")
        queries = tuple(dict.fromkeys((*turn.queries, *found.queries)))
        turn = replace(
            turn,
            queries=queries,
            imagined=found.imagined,
            parts=turn.parts or "decompose" in methods,
        )
        return Step(turn, said, "; ".join([*found.queries, *found.imagined]) + found.reason)

    def _methods(self, turn: Turn, has_model: bool) -> tuple[Rewriting, ...]:
        """Return the ways in which the question is rewritten, at once."""
        asked, question = turn.plan.rewrite, turn.question
        if asked == "combined" and has_model:
            return COMBINED
        expands = self.expands and not self.only_advanced
        eager = turn.ask.level in EAGER or turn.plan.strategy == "fusion" or expands
        whole = asked == "combined"
        method = choose_rewriting("auto" if whole else asked, eager or whole, question, has_model)
        methods = [method] if method != "none" else []
        if asked == "auto" and has_model:
            fits = self._fits_length(turn) if self.imagines_from else vague(question)
            advanced = (turn.ask.mode or self.mode) == "advanced"
            methods += ["hyde"] * (self.imagines and fits)
            methods += ["multi"] * (self.expands and advanced)
            methods += ["keywords"] * self.adds_terms
        return tuple(dict.fromkeys(methods))

    def _fits_length(self, turn: Turn) -> bool:
        """Tell whether the question is long enough for an imagined passage; where a preference is
        named, complexity decides as well."""
        easy = turn.analysis is None or turn.analysis.complexity < DEMANDING
        wanted = turn.ask.prefer is None or not easy
        return wanted and len(turn.question) >= self.imagines_from

    async def _rewritten(self, method: Rewriting, turn: Turn, adapters: Adapters) -> Added:
        failure = f"{method} needs a chat model"
        if adapters.completer:
            try:
                async with asyncio.timeout(self.model_timeout):
                    apart = method == "decompose"
                    temperature = self.parts_temperature if apart else self.temperature
                    found = await _model_rewrites(
                        method, turn, adapters, adapters.completer, temperature
                    )
                if found.queries or found.imagined:
                    return found
                failure = f"{adapters.completer.name} gave nothing usable"
                log.warning("%s for a rewrite (%s)", failure, method)
                return replace(by_rules(method, turn.question, failure), usage=found.usage)
            except (RagstoneError, TimeoutError) as error:
                failure = str(error) or f"no answer in {self.model_timeout:g} s"
                log.warning("A question was not rewritten (%s): %s", method, failure)
        return by_rules(method, turn.question, failure)


def choose_rewriting(asked: Rewriting, eager: bool, question: str, has_model: bool) -> Rewriting:
    """Return the method that `auto` means: none unless the level or the strategy is `eager`; then
    other words where there is a chat model, else the parts of a compound question."""
    if asked != "auto":
        return asked
    if not eager:
        return "none"
    if has_model:
        return "multi"
    return "decompose" if subquestions(question) else "none"


def vague(question: str) -> bool:
    """Tell whether a question is short or abstract, so that it shares few words with its answer."""
    return len(set(content_words(question))) < SHORT or _ABSTRACT.match(question) is not None


def by_rules(method: Rewriting, question: str, failure: str) -> Added:
    """Return what needs no chat model: the parts of a compound question, and its key words."""
    if method == "decompose":
        found: Sequence[str] = subquestions(question)
        reason = "" if found else "it is one question"
    elif method == "keywords":
        said = keywords(question)
        found = [said] if said and said != question else []
        reason = "" if found else "it is key words already"
    else:
        found, reason = (), failure
    return Added(tuple(found), reason=reason)


async def _model_rewrites(
    method: Rewriting, turn: Turn, adapters: Adapters, model: Completer, temperature: float
) -> Added:
    question, count = turn.question, turn.plan.rewrites - 1
    # Documents are found by words of their own language, whichever the question is in.
    language = language_name(turn.collection.language if turn.collection else "")
    rules = await prompt(turn, adapters, f"rewrite.{method}", count=str(count), language=language)
    if method == "hyde":
        found, usage = await imagine_passage(model, rules, question, temperature)
        return Added(imagined=tuple(found), usage=usage)
    if method == "multi":
        found, usage = await alternatives(model, rules, question, count, temperature)
    elif method == "step_back":
        found, usage = await broader(model, rules, question, temperature)
    elif method == "decompose":
        found, usage = await parts(model, rules, question, temperature)
    else:
        found, usage = await terms(model, rules, question, temperature)
    return Added(tuple(found), usage=usage)
