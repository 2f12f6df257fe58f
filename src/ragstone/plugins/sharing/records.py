"""The data of shared conversations and of notes. Times are seconds since 1970."""

from dataclasses import dataclass

from ragstone.core.conversation import StoredTurn


@dataclass(frozen=True, slots=True)
class Share:
    """A conversation that its user shows to others: the turns that ended until `until`. Who knows
    the `id` can ask for it."""

    id: str
    user: str
    room: str
    user_id: str
    until: float


@dataclass(frozen=True, slots=True)
class SharedConversation:
    """What a reader sees of it: `turns` from the oldest on. The `withheld` ones behind them stand
    on what this reader may not read; the title is empty where any is withheld, as it may name
    that."""

    user: str
    title: str
    until: float
    turns: tuple[StoredTurn, ...]
    withheld: int


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer as it was when it was kept, with its question and evidence, and what its user
    writes about it."""

    id: str
    comment: str
    at: float
    turn: StoredTurn
