"""The port that keeps what happened to single questions, for a while."""

from collections.abc import Sequence
from typing import Protocol

from ragstone.core.records import QuestionTrace, StageUse


class Traces(Protocol):
    """Traces of questions. Methods raise StateUnavailable and StorageFull."""

    async def keep(self, trace: QuestionTrace, days: int) -> None:
        """Keep one, and forget those older than `days`."""
        ...

    async def get(self, tenant: str, id: str) -> QuestionTrace | None: ...

    async def latest(
        self,
        tenant: str,
        limit: int,
        before: float | None = None,
        user: str | None = None,
        origins: Sequence[str] | None = None,
    ) -> Sequence[QuestionTrace]:
        """The newest first, of one user or all; older than `before` (seconds since 1970); of one
        of the `origins` unless that is None."""
        ...

    async def origins(self, tenant: str) -> list[str]:
        """The different origins of the tenant's traces."""
        ...

    async def stages(
        self, tenant: str, since: float, origins: Sequence[str] | None = None
    ) -> Sequence[StageUse]:
        """How long each stage took for the traces that are kept, of one of the `origins` unless
        that is None, in the order of the recipe."""
        ...
