"""A follow-up as a question of its own, by rules."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.text.antecedents import Entity, Pronoun, Salience, same
from ragstone.text.mentions import function_words, mentions, names, vocabulary
from ragstone.text.words import content_words

@dataclass(frozen=True, slots=True)
class Exchange:
    question: str
    answer: str = ""

@dataclass(frozen=True, slots=True)
class FollowUp:
    text: str
    context: str = ""
    reason: str = ""

_PRONOUN = re.compile(
    r"\b(?P<he>he|him|his)\b|\b(?P<she>she|her|hers)\b|\b(?P<they>they|them|their|theirs)\b"
    r"|\b(?P<it>it|its)\b",
    re.IGNORECASE,
)
_EXPLETIVE = re.compile(
    r"\b(?:is|was|isn['’]t|be|makes?|find) it (?:\w+ly )?(?:\w+ )?(?:to|that|if|for|when|true|possible)\b"
    r"|\bit(?:['’]s| is| was)? (?:rain\w*|snow\w*|seems?|turns? out|depends|appears)\b"
    r"|\bit(?:['’]s| is| was| would be| might be) (?:\w+ly )?(?:an? )?\w+ (?:to|that|if|for|when)\b"
    r"|\b(?:does|did|will|would) it take\b|\bwhat time is it\b|\bmake it\b|\b(?:get|that['’]s) it\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;.?!:]\s|\b(?:and|but|or|if|when|because|so|since|while|after|before|that|who|which|although|then)\b",
    re.IGNORECASE,
)
_POSSESSIVE = frozenset(("his", "their", "its"))

def resolved(question: str, state: Salience) -> tuple[str, Salience, list[Entity]]:
    """The question with its pronouns replaced by what they stand for."""
    done: dict[str, bool] = {}
    pieces: list[str] = []
    meant: list[Entity] = []
    end = 0
    own = names(question)
    expletives = [m.span() for m in _EXPLETIVE.finditer(question)]
    for match in _PRONOUN.finditer(question):
        pronoun: Pronoun = match.lastgroup  # type: ignore[assignment]
        if pronoun in done or any(a <= match.start() < b for a, b in expletives):
            continue
        if _inside(question, match.start(), pronoun):
            done[pronoun] = True
            continue
        entity = state.meant(pronoun)
        if entity is None:
            continue
        if any(same(entity.name, one.text) for one in own):
            done[pronoun] = True
            continue
        done[pronoun] = True
        state = state.taken_up(entity, pronoun)
        meant.append(entity)
        pieces += [question[end : match.start()], _form(question, match, entity)]
        end = match.end()
    return "".join([*pieces, question[end:]]), state, meant

def _form(question: str, match: re.Match[str], entity: Entity) -> str:
    word, rest = match.group().casefold(), question[match.end():]
    name = entity.name if entity.proper else f"the {entity.name}"
    possessive = word in _POSSESSIVE or (word == "her" and _noun_follows(rest))
    if possessive:
        return name + ("'" if name.endswith("s") else "'s")
    return name

def _noun_follows(rest: str) -> bool:
    follower = re.match(r"\s+([\w'’-]+)", rest)
    return bool(follower) and follower.group(1).casefold() not in function_words()

def _inside(question: str, place: int, pronoun: Pronoun) -> bool:
    """Whether the question itself holds what the pronoun stands for."""
    before = question[:place]
    clause = None
    for clause in _CLAUSE.finditer(before): pass
    head = before[: clause.start()] if clause else ""
    kinds = {"he": ("man", "person", "name"), "she": ("woman","person","name"), "they": ("many","name"), "it": ("thing",)}[pronoun]
    found = [m for m in mentions(head) if m.kind in kinds and (pronoun != "it" or True)]
    if pronoun in ("he", "she"):
        found = [m for m in mentions(before) if m.kind in kinds and (m.kind != "name" or " " in m.text or clause)]
    return bool(found)

def state_after(exchanges: Sequence[Exchange], subject: str = "") -> tuple[Salience, str]:
    state = Salience().about(subject)
    last = ""
    for one in exchanges:
        state = state.faded()
        last, state, _ = resolved(one.question, state)
        state = state.asked(mentions(one.question))
        if one.answer and not refusal(one.answer):
            state = state.answered(names(one.answer))
    return state, last

_REFUSAL = re.compile(r"\b(?:sorry|apologi[sz]e|(?:do|does|did)(?: not|n['’]t) (?:\w+ )?(?:have|know|hold|provide|include|contain|mention)|(?:cannot|can['’]?t|unable to) (?:find|answer)|no (?:specific )?information|CANNOTANSWER)\b", re.I)
def refusal(answer: str) -> bool:
    return bool(_REFUSAL.search(answer[:200]))

def standalone(question: str, exchanges: Sequence[Exchange], subject: str = "") -> FollowUp:
    if not exchanges and not subject:
        return FollowUp(question)
    state, last = state_after(exchanges, subject)
    text, state, meant = resolved(question, state.faded())
    return FollowUp(text, last, "pronoun" if meant else "")
