"""How busy the connections to a database are."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class PoolUse:
    """The connections of this process to a database: how many are `used` now, how many there may
    be at `most`, and how much work waits for one, as far as that is known."""

    name: str
    used: int
    most: int
    waiting: int = 0


@runtime_checkable
class Pooled(Protocol):
    """An adapter that takes its connections out of a pool."""

    def pool_use(self) -> PoolUse: ...
