"""What the pronouns of a conversation stand for: the most salient mention that agrees with them.

A small form of centering (Grosz, Joshi and Weinstein 1995; Lappin and Leass 1994): mentions weigh
by where they stand, lose half of it with every turn, and gain when a pronoun takes them up.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ragstone.understand.mentions import Kind, Mention, kind_of_name

Pronoun = Literal["he", "she", "they", "it"]

AGREES: Mapping[Pronoun, tuple[Kind, ...]] = {
    "he": ("man", "person", "name"),
    "she": ("woman", "person", "name"),
    "they": ("many", "name", "person", "thing", "man", "woman"),
    "it": ("thing", "name", "many"),
}
"""Kinds that a pronoun can mean, the likeliest first."""

SURE: Mapping[Pronoun, tuple[Kind, ...]] = {
    "he": ("man",),
    "she": ("woman",),
    "they": ("many",),
    "it": ("thing",),
}
"""Kinds that a pronoun can mean when it was used before anything was named that it can mean: then
what a later answer names is rather something else."""

LESS_LIKELY = 0.8
"""Share of its weight that a mention keeps for every step down that list."""

FADING = 0.6
"""Share of its weight that a mention keeps from turn to turn."""

SUBJECT, NAMED, PHRASE = 4.0, 3.0, 1.5
"""Weights: what the conversation is about, a name and a noun phrase in a question."""

ANSWERED = 0.5
"""Share of the weight for a mention in an answer; each further one weighs a tenth less."""

TAKEN_UP = 3.0
"""The weight that a pronoun adds to its antecedent."""

LEAST = 0.2
"""A mention of less weight is forgotten."""


@dataclass(frozen=True, slots=True)
class Entity:
    """Something the conversation speaks of, by its longest name."""

    name: str
    kind: Kind
    weight: float
    proper: bool
    subject: bool = False


@dataclass(frozen=True, slots=True)
class Salience:
    """Everything that has been mentioned, with its weight. Immutable: each step makes a new one.

    `waiting` are pronouns that were used before anything was named that they can mean.
    """

    entities: tuple[Entity, ...] = ()
    waiting: frozenset[Pronoun] = frozenset()

    def about(self, subject: str) -> "Salience":
        """With what the whole conversation is about; it never fades away entirely."""
        if not subject:
            return self
        entity = Entity(subject, kind_of_name(subject), SUBJECT, True, True)
        return replace(self, entities=(*self.entities, entity))

    def faded(self) -> "Salience":
        """A turn later."""
        kept = (
            replace(one, weight=max(one.weight * FADING, 1.0 if one.subject else 0.0))
            for one in self.entities
        )
        return replace(self, entities=tuple(one for one in kept if one.weight >= LEAST))

    def asked(self, mentioned: Iterable[Mention]) -> "Salience":
        """After a question that mentions these."""
        state = self
        for mention in mentioned:
            state = state._with_mention(mention, NAMED if mention.proper else PHRASE)
        return state

    def answered(self, named: Iterable[Mention], asks_who: bool = False) -> "Salience":
        """After an answer that names these. Where it was asked who, the first new name is a person,
        and as salient as if the question had named it."""
        state, told = self, not asks_who
        for place, mention in enumerate(named):
            if any(one.name.casefold() == mention.text.casefold() for one in self._common_nouns()):
                continue
            weight = NAMED * ANSWERED * 0.9**place
            if not told and not any(same(one.name, mention.text) for one in self.entities):
                kind = "person" if mention.kind == "name" else mention.kind
                told, weight, mention = True, SUBJECT, replace(mention, kind=kind)
            state = state._with_mention(mention, weight)
        return state

    def _common_nouns(self) -> list[Entity]:
        """Entities that are not names, even where a sentence capitalizes them."""
        return [one for one in self.entities if not one.proper]

    def meant(self, pronoun: Pronoun) -> Entity | None:
        """What the pronoun stands for."""
        kinds = AGREES[pronoun]
        if pronoun in self.waiting:
            kinds = tuple(kind for kind in kinds if kind in SURE[pronoun])
        fitting = [
            one
            for one in self.entities
            if one.kind in kinds and (one.proper or one.kind != "many" or pronoun == "they")
        ]
        return max(
            fitting, key=lambda one: one.weight * LESS_LIKELY ** kinds.index(one.kind), default=None
        )

    def topic(self) -> Entity | None:
        """What the conversation is about now; names before phrases."""
        return max(self.entities, key=lambda one: one.weight, default=None)

    def without(self, pronoun: Pronoun) -> "Salience":
        """After the pronoun stood for nothing that is known."""
        return replace(self, waiting=self.waiting | {pronoun})

    def taken_up(self, entity: Entity, pronoun: Pronoun) -> "Salience":
        """After the pronoun stood for the entity, whose kind it may tell."""
        known: dict[Pronoun, Kind] = {"he": "man", "she": "woman"}
        kind = known.get(pronoun, entity.kind)
        if entity.kind == "name" and pronoun in ("it", "they"):
            kind = "thing" if pronoun == "it" else "many"
        told = replace(entity, kind=kind, weight=entity.weight + TAKEN_UP)
        entities = tuple(told if one is entity else one for one in self.entities)
        return Salience(entities, self.waiting - {pronoun})

    def _with_mention(self, mention: Mention, weight: float) -> "Salience":
        for one in self.entities:
            if same(one.name, mention.text):
                longer = mention.proper and len(mention.text) > len(one.name) and not one.subject
                kind = mention.kind if one.kind == "name" else one.kind
                heavier = replace(
                    one,
                    name=mention.text if longer else one.name,
                    weight=one.weight + weight,
                    kind=kind,
                )
                return replace(
                    self, entities=tuple(heavier if e is one else e for e in self.entities)
                )
        fresh = Entity(mention.text, mention.kind, weight, mention.proper)
        return replace(self, entities=(*self.entities, fresh))


def same(one: str, other: str) -> bool:
    """Whether two names are of the same: equal, or all words of one are in the other."""
    a, b = (set(name.casefold().split()) for name in (one, other))
    return a <= b or b <= a
