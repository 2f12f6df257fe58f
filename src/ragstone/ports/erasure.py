"""The port that erases a user from the state."""

from collections.abc import Sequence
from typing import Protocol

from ragstone.core.turn import Principal
from ragstone.ports.jobs import Job


class Erasure(Protocol):
    """What the state keeps of users. Methods raise StateUnavailable and StorageFull, and can be run
    again after any of them was cut off."""

    async def jobs(self, whose: Principal) -> Sequence[Job]:
        """The jobs of a user, with their parts."""
        ...

    async def delete(self, whose: Principal, user_id: str | None, jobs: Sequence[Job]) -> int:
        """Delete these jobs and every row of the user, or of one of its accounts, and what was made
        of documents that are gone; how many blocked questions were among them."""
        ...

    async def rewrite(self) -> None:
        """Leave nothing of deleted rows in the files. Takes long; nobody writes meanwhile."""
        ...
