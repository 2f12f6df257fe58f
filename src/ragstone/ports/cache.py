"""The port of the semantic cache."""

from dataclasses import dataclass
from typing import Literal, Protocol

from ragstone.core.answer import GeneratedAnswer, Verdict
from ragstone.core.turn import Hit, Passage
from ragstone.ports.embedding import Vectors

Content = Literal["answer", "search"]


@dataclass(frozen=True, slots=True)
class Kept:
    """What is known of a question: its `hits`, or its `answer` with the passages it was made from.

    `seconds` is what it took, and what a hit saves. `ttl` are the seconds that the entry lives
    after its last use, or after it was kept where it does not `renew`.
    """

    question: str
    hits: tuple[Hit, ...] = ()
    passages: tuple[Passage, ...] = ()
    answer: GeneratedAnswer | None = None
    verdicts: tuple[Verdict, ...] = ()
    seconds: float = 0.0
    ttl: float = 300.0
    renews: bool = True


@dataclass(frozen=True, slots=True)
class Near:
    """An entry whose question is near: `cosine` is that of the vectors."""

    id: str
    question: str
    cosine: float


@dataclass(frozen=True, slots=True)
class CacheFigures:
    """`entries` there are now; `hits`, `misses` and the `saved_seconds` since it was last cleared,
    or, in this process, since the process began. `where` says what keeps them; `available` is
    whether it answers, and `shared` whether the figures are of all processes."""

    where: str = "off"
    available: bool = False
    entries: int = 0
    hits: int = 0
    misses: int = 0
    saved_seconds: float = 0.0
    shared: bool = False


class Cache(Protocol):
    """Questions with what was found or answered, in scopes that do not see each other.

    A scope is a text that stands for everything besides the question that the result depends on.
    No method raises when the store fails: there is nothing to be found then, and the log says why.
    """

    async def near(self, scope: str, vector: Vectors, least: float, limit: int) -> list[Near]:
        """Return entries of the scope with at least this cosine, nearest first."""
        ...

    async def exact(self, scope: str, question: str) -> Near | None:
        """Return the scope's entry of exactly this question, which may be gone already."""
        ...

    async def take(self, scope: str, entry: Near) -> Kept | None:
        """What is kept, which counts as a hit and renews an entry that does; None if it is gone."""
        ...

    async def count_miss(self) -> None:
        """Count a question that nothing was found for."""
        ...

    async def keep(self, scope: str, vector: Vectors, kept: Kept) -> None:
        """Keep this; when there are too many entries, the tenth that would end first goes. The
        same question of the same scope is replaced."""
        ...

    async def figures(self) -> CacheFigures: ...

    async def clear(self) -> int:
        """Forget everything; how many entries went."""
        ...

    async def rebuild(self) -> int:
        """Read the entries anew from where they are stored, without those that have ended; how
        many there are."""
        ...

    def resize(self, max_entries: int) -> None:
        """Keep at most so many entries from now on."""
        ...

    async def aclose(self) -> None: ...
