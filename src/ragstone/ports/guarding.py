"""The ports of the guard: which topics a question touches, and what is kept of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ragstone.core.document import BlockSpan
from ragstone.core.intent import IntentName, SmallTalkKind
from ragstone.core.records import BlockedQuestion, Topic, TopicMatch


class TopicStore(Protocol):
    """Keeps each tenant's topics, their vectors, and the questions that they blocked.

    Methods raise StateUnavailable and StorageFull.
    """

    async def tenants(self) -> Mapping[str, Sequence[Topic]]:
        """Return the topics of every tenant that has any, by term."""
        ...

    async def number(self) -> int:
        """Return another one whenever a topic was put or removed, by whatever server."""
        ...

    async def put(self, topics: Sequence[Topic]) -> None:
        """Keep all of `topics` or none; one that has the id of a known one replaces it, and its
        vectors go."""
        ...

    async def remove(self, ids: Sequence[str]) -> None: ...

    async def vectors(self, tenant: str, fingerprint: str) -> Mapping[str, bytes]:
        """Return what `keep_vectors` was given for the tenant's topics, by topic id."""
        ...

    async def keep_vectors(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None: ...

    async def record(self, blocked: BlockedQuestion, keep_days: int) -> None:
        """Keep a blocked question, and forget those older than `keep_days`."""
        ...

    async def list_blocked(self, tenant: str, limit: int) -> list[BlockedQuestion]:
        """Return the newest blocked questions first."""
        ...


class Topics(Protocol):
    """Each tenant's forbidden topics, ready to be compared with questions."""

    async def list_all(self, tenant: str) -> Sequence[Topic]:
        """Return the tenant's topics, by term."""
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
        """Return the newest blocked questions first."""
        ...


@dataclass(frozen=True, slots=True)
class EvidenceSource:
    """A text that claims are compared with, the title and headings it stands under, and the blocks
    that it consists of, none where they are not known."""

    text: str
    title: str = ""
    blocks: tuple[BlockSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement without markers, and the numbers (from 0) of the sources that it names."""

    text: str
    cited: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """How likely (0..1) the sources support a claim, and where: `start` to `end` in the source of
    the number `source`, which is None where nothing could be compared. `contradicted` is how likely
    (0..1) that source, or surely another one, says otherwise, 0 for not likely; `unsaid` how likely
    that source says neither, as the reader alone has it. `cited` are those by each source that the
    claim names, in its order."""

    probability: float
    source: int | None = None
    start: int = 0
    end: int = 0
    contradicted: float = 0.0
    unsaid: float = 0.0
    cited: tuple["Support", ...] = ()


class Checker(Protocol):
    """Compares claims with sources, without a chat model."""

    async def support(
        self, claims: Sequence[Claim], sources: Sequence[EvidenceSource]
    ) -> list[Support]:
        """Return the support of each claim. Raises ModelUnavailable if the reader cannot be
        opened."""
        ...


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a text is like: `small_talk` is how likely it is small talk (0..1), and of which kind;
    `name` the likeliest intent if it is a question, `confidence` how likely (0..1)."""

    small_talk: float
    kind: SmallTalkKind
    name: IntentName
    confidence: float


class IntentExamples(Protocol):
    """Compares a text with examples of intents."""

    def knows(self, language: str) -> bool:
        """Tell whether there are examples in this language; "" is an unknown one."""
        ...

    async def likeness(self, text: str) -> Likeness: ...

    async def aclose(self) -> None: ...
