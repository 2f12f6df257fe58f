"""English pronouns in a question, replaced by their antecedents."""

import re
from dataclasses import dataclass

from ragstone.understand.antecedents import Entity, Pronoun, Salience, same
from ragstone.understand.mentions import function_words, mentions, names, speaks_of_somebody

_PRONOUN = re.compile(
    r"\b(?:(?P<he>he|him|his)|(?P<she>she|her|hers)|(?P<they>they|them|their|theirs)"
    r"|(?P<it>it|its))\b",
    re.IGNORECASE,
)
_GROUPS: tuple[Pronoun, ...] = ("he", "she", "they", "it")
_EMPTY_IT = re.compile(
    r"\b(?:is|was|isn['’]t|be|makes?|find) it (?:\w+ )?(?:\w+ )?(?:to|that|if|for|when|true)\b"
    r"|\bit(?:['’]s| is| was| would be| might be) (?:\w+ )?(?:an? )?\w+ (?:to|that|if|for|when)\b"
    r"|\bit (?:rain\w*|snow\w*|seems?|turns? out|depends|appears)\b"
    r"|\b(?:does|did|will|would) it take\b|\bwhat time is it\b|\b(?:make|get|that['’]s) it\b",
    re.IGNORECASE,
)
"""Where `it` stands for nothing: is it true that, it rains, how long does it take."""
_CLAUSE = re.compile(
    r"[,;.?!:]\s|\b(?:and|but|or|if|when|because|so|since|while|after|before|that|who|which|"
    r"although|then)\b",
    re.IGNORECASE,
)
_POSSESSIVE = frozenset({"his", "their", "its"})
_WITHIN = {
    "he": ("man", "person", "name"),
    "she": ("woman", "person", "name"),
    "they": ("many", "name"),
    "it": ("thing",),
}
"""Kinds of a mention in the question itself that a later pronoun of it means."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The question with names for pronouns, the salience after it, and the antecedents."""

    text: str
    state: Salience
    meant: tuple[Entity, ...]


def resolved(question: str, state: Salience) -> Resolved:
    """Replace the first pronoun of each kind by its antecedent in `state`.

    Later ones of the same kind then have it before them. One that means something in the question
    itself is left, and so is one that nothing agrees with.
    """
    own = names(question)
    empty = [match.span() for match in _EMPTY_IT.finditer(question)]
    done: set[Pronoun] = set()
    pieces: list[str] = []
    meant: list[Entity] = []
    end = 0
    for match in _PRONOUN.finditer(question):
        pronoun = next(group for group in _GROUPS if match.group(group))
        if pronoun in done or any(a <= match.start() < b for a, b in empty):
            continue
        done.add(pronoun)
        if _has_antecedent(question[: match.start()], pronoun):
            continue
        entity = state.meant(pronoun)
        if entity is None:
            state = state.without(pronoun)
        elif not any(same(entity.name, one.text) for one in own):
            state = state.taken_up(entity, pronoun)
            meant.append(entity)
            pieces += [question[end : match.start()], _replacement(match, question, entity)]
            end = match.end()
    return Resolved("".join([*pieces, question[end:]]), state, tuple(meant))


def _has_antecedent(before: str, pronoun: Pronoun) -> bool:
    """Whether a pronoun has its antecedent earlier in the same question.

    A name of a person in the same clause may be it; anything else must stand in an earlier clause.
    """
    clause = 0
    for match in _CLAUSE.finditer(before):
        clause = match.start()
    kinds = _WITHIN[pronoun]
    if pronoun in ("they", "it"):
        return any(one.kind in kinds for one in mentions(before[:clause]))
    return speaks_of_somebody(before) or any(
        one.kind in kinds and (one.kind != "name" or " " in one.text or clause)
        for one in mentions(before)
    )


def _replacement(pronoun: re.Match[str], question: str, entity: Entity) -> str:
    """The entity in the pronoun's place: `his` becomes `Frank Zappa's`."""
    name = entity.name if entity.proper else f"the {entity.name}"
    word = pronoun.group().casefold()
    if word in _POSSESSIVE or (word == "her" and _noun_follows(question[pronoun.end() :])):
        return name + ("'" if name.endswith("s") else "'s")
    return name


def _noun_follows(rest: str) -> bool:
    follower = re.match(r"\s+([\w'’-]+)", rest)
    return bool(follower) and follower.group(1).casefold() not in function_words()  # type: ignore[union-attr]
