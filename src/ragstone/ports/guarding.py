"""The ports of the guard: which topics a question touches, and what is kept of them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ragstone.core.records import BlockedQuestion, Topic, TopicMatch


class TopicStore(Protocol):
    """Keeps each tenant's topics, their vectors, and the questions that they blocked.

    Methods raise StateUnavailable and StorageFull.
    """

    async def tenants(self) -> Mapping[str, Sequence[Topic]]:
        """The topics of every tenant that has any, by term."""
        ...

    async def number(self) -> int:
        """Another one whenever a topic was put or removed, by whatever server."""
        ...

    async def put(self, topics: Sequence[Topic]) -> None:
        """Keep all of `topics` or none; one that has the id of a known one replaces it, and its
        vectors go."""
        ...

    async def remove(self, ids: Sequence[str]) -> None: ...

    async def vectors(self, tenant: str, fingerprint: str) -> Mapping[str, bytes]:
        """What `keep_vectors` was given for the tenant's topics, by topic id."""
        ...

    async def keep_vectors(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None: ...

    async def record(self, blocked: BlockedQuestion, keep_days: int) -> None:
        """Keep a blocked question, and forget those older than `keep_days`."""
        ...

    async def list_blocked(self, tenant: str, limit: int) -> list[BlockedQuestion]:
        """The newest blocked questions first."""
        ...


class Topics(Protocol):
    """Each tenant's forbidden topics, ready to be compared with questions."""

    async def list_all(self, tenant: str) -> Sequence[Topic]:
        """The tenant's topics, by term."""
        ...

    async def reload(self) -> None:
        """Read every tenant's topics anew from the store. Raises StateUnavailable."""
        ...

    async def find_named(self, tenant: str, texts: Sequence[str]) -> list[list[TopicMatch]]:
        """The topics whose words stand in each text, a normal form of `language.phrases.normal`."""
        ...

    async def alike(
        self, tenant: str, texts: Sequence[str], least: float
    ) -> list[list[TopicMatch]]:
        """The topics that mean something like each text, best first, from a score of `least`.

        Raises ModelUnavailable.
        """
        ...

    async def put(self, tenant: str, topics: Sequence[Topic]) -> None:
        """Take all of `topics` up, or none. Raises ModelUnavailable, StateUnavailable."""
        ...

    async def remove(self, tenant: str, ids: Sequence[str]) -> None: ...

    async def record(self, blocked: BlockedQuestion) -> None:
        """Keep a blocked question for review."""
        ...

    async def list_blocked(self, tenant: str, limit: int) -> list[BlockedQuestion]:
        """The newest blocked questions first."""
        ...
