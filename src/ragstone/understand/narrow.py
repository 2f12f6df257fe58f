"""Takes `key:value` terms out of the question, and searches only documents that have them."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragstone.core.filters import METADATA, And, AnyOf, Filter, Scalar, is_within_bounds
from ragstone.core.metadata import parse_value
from ragstone.core.turn import Principal, Turn
from ragstone.engine.stage import Step
from ragstone.ports import Adapters, find_collection

Sign = Literal["", ">", ">=", "<", "<="]

MAX_TERMS = 20
"""Terms of one question; further ones stay words."""

_TERM = re.compile(
    r"""(?<!\S)(?P<key>[^\W\d][\w.\-]{0,99}):(?P<sign>>=|<=|>|<|)"""
    r"""(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]\S*))(?=\s|$)"""
)
_CLOSING = re.compile(r"[?!,;.]+$")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class MetadataTerm:
    """One `key:value` of a question. `text` is the value without quotes; `start` and `end` are its
    place in the question, and `after` are marks of the sentence behind it."""

    key: str
    sign: Sign
    text: str
    start: int
    end: int
    after: str = ""


def terms(question: str, known: Collection[str]) -> list[MetadataTerm]:
    """Return the terms of a question whose keys are `known`, with the key's own spelling.

    A key is compared without case. "Note: text" and "http://x" are none unless documents have such
    a key, and nothing is one without a value right behind the colon.
    """
    spelt = {key.casefold(): key for key in sorted(known, reverse=True)}
    found: list[MetadataTerm] = []
    for match in _TERM.finditer(question):
        key = spelt.get(match["key"].casefold())
        if key is None or len(found) == MAX_TERMS:
            continue
        quoted = match["quoted"]
        plain = match["plain"] or ""
        text = plain if quoted is None else quoted
        after = ""
        if quoted is None and (closing := _CLOSING.search(text)):
            text, after = text[: closing.start()], closing[0]
        if text.strip() and not text.startswith("//"):
            found.append(
                MetadataTerm(key, _sign(match["sign"]), text.strip(), *match.span(), after)
            )
    return found


def remove_terms(question: str, found: Sequence[MetadataTerm]) -> str:
    """Return the question without its terms; their values where nothing else is left of it."""
    if not found:
        return question
    left, at = list[str](), 0
    for term in found:
        left += [question[at : term.start].rstrip() if term.after else question[at : term.start]]
        left += [term.after]
        at = term.end
    text = " ".join("".join([*left, question[at:]]).split())
    return text if _WORD.search(text) else " ".join(term.text for term in found)


def build_filter(found: Sequence[MetadataTerm], values: Mapping[str, Collection[Scalar]]) -> Filter:
    """Return the filter of all terms: of one key any of the values that are named, within all
    bounds that are given; of every key. What no document has is met by none."""
    parts = []
    for key in dict.fromkeys(term.key for term in found):
        mine = [term for term in found if term.key == key]
        named = [term for term in mine if not term.sign]
        bounds = [term for term in mine if term.sign]
        kept = tuple(
            value
            for value in values.get(key, ())
            if (not named or any(_names(term.text, value) for term in named))
            and all(_compares(term, value) for term in bounds)
        )
        parts.append(AnyOf(f"{METADATA}{key}", kept))
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _names(text: str, value: Scalar) -> bool:
    """Tell whether a term means a value: the same number or truth value; of a text some words in
    order, without case, or the beginning of a date."""
    if isinstance(value, bool):
        return text.casefold() == ("true" if value else "false")
    if isinstance(value, int | float):
        spelt = parse_value(text)
        return isinstance(spelt, int | float) and not isinstance(spelt, bool) and spelt == value
    if re.match(r"\d{4}-\d{2}", value) and value.startswith(text):
        return True
    wanted, held = _WORD.findall(text.casefold()), _WORD.findall(value.casefold())
    if not wanted:
        return text.casefold() == value.casefold()
    return any(held[at : at + len(wanted)] == wanted for at in range(len(held) - len(wanted) + 1))


def _compares(term: MetadataTerm, value: Scalar) -> bool:
    """Tell whether a value lies where the term's sign says: numbers with numbers, texts with texts,
    of which dates may be cut short."""
    bound: Scalar = term.text if isinstance(value, str) else parse_value(term.text)
    if isinstance(bound, bool):
        return False
    if isinstance(value, bool) or isinstance(value, str) != isinstance(bound, str):
        return False
    match term.sign:
        case ">=":
            return is_within_bounds(value, bound, None)
        case "<=":
            return is_within_bounds(value, None, bound)
        case ">":
            return not is_within_bounds(value, None, bound)
        case _:
            return not is_within_bounds(value, bound, None)


def _sign(sign: str) -> Sign:
    match sign:
        case ">" | ">=" | "<" | "<=":
            return sign
    return ""


async def narrow(turn: Turn, adapters: Adapters) -> Step:
    """Narrow the search to what the question's terms name.

    Only keys count that a document has which the caller may read. A filter of the request holds
    besides: terms make what is searched smaller, never larger.
    """
    # What was asked decides, whatever a follow-up was made of.
    asked = " ".join(turn.ask.question.split())
    if ":" not in asked:
        return Step(turn, "skipped", "no term such as key:value")
    if adapters.external_retriever is not None:
        return Step(turn, "skipped", "a retrieval service has no keys to compare with")
    collection = await find_collection(adapters.catalog, turn.ask)
    if collection is None:
        return Step(turn, "skipped", "there is no such collection")
    place, whose = (collection.tenant, collection.id), turn.ask.principal
    known = await adapters.catalog.metadata_keys(*place)
    readable = {key for key, some in known.items() if any(_may(whose, item) for item in some)}
    found = terms(asked, readable)
    if not found:
        return Step(turn, "skipped", "no term with a key that documents have")
    counted = await adapters.catalog.metadata_values(*place, {term.key for term in found})
    values = {
        key: [item.value for item in some if _may(whose, item.allowed)]
        for key, some in counted.items()
    }
    where = build_filter(found, values)
    ask = replace(turn.ask, where=And((turn.ask.where, where)) if turn.ask.where else where)
    narrowed = replace(
        turn,
        ask=ask,
        question=remove_terms(turn.question, terms(turn.question, readable)),
        queries=tuple(remove_terms(query, terms(query, readable)) for query in turn.queries),
    )
    told = ", ".join(f"{term.key}:{term.sign}{term.text}" for term in found)
    return Step(narrowed, "narrowed", told)


def _may(whose: Principal, allowed: Sequence[str]) -> bool:
    return not set(whose.names).isdisjoint(allowed)
