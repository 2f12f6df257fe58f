"""The data of one question on its way to an answer: frozen, and the only state there is.

Every stage receives a `Turn` and returns a new one made with `dataclasses.replace`.
Scores lie in 0..1 unless a field says otherwise; times are seconds; positions are characters
(code points) counted from 0 with the end excluded; pages count from 1.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ragstone.filters import Filter

Level = Literal["basic", "standard", "enhanced", "maximum"]
LEVELS: tuple[Level, ...] = ("basic", "standard", "enhanced", "maximum")
Strategy = Literal["dense", "bm25", "hybrid"]
STRATEGIES: tuple[Strategy, ...] = ("dense", "bm25", "hybrid")
Status = Literal["done", "failed", "timeout", "skipped"]
Finish = Literal["stop", "length", "refused", "cancelled", "error"]

EVERYONE = "*"
"""The name that every principal of a tenant has."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. A credential makes it; a request parameter never widens it."""

    tenant: str = "default"
    user: str = "local"
    groups: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a chunk's `allowed` list is compared with."""
        return (EVERYONE, f"user:{self.user}", *(f"group:{group}" for group in self.groups))


@dataclass(frozen=True, slots=True)
class Message:
    """One earlier message of the conversation."""

    role: Literal["user", "assistant", "system"]
    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as a dialect understood it."""

    question: str
    principal: Principal = Principal()
    collection: str = "default"
    level: Level = "standard"
    strategy: Strategy | None = None
    top_k: int | None = None
    where: "Filter | None" = None
    history: tuple[Message, ...] = ()
    room: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """How this question will be answered: what the router decided, with defaults from settings."""

    strategy: Strategy = "hybrid"
    candidates: int = 100
    top_k: int = 10
    dense_weight: float = 0.4


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document, as the index holds it.

    `text` is exactly the document's text from `start` to `end`. `allowed` are principal names.
    `modified` is the document's time of change in seconds since 1970. `section` is the path of
    headings above the chunk. `kind` is normal, table, glossary, toc, credits, faq, question or
    summary.
    """

    chunk_id: str
    document_id: str
    version: int
    chunk_index: int
    text: str
    title: str
    path: str
    tenant: str
    collection: str
    start: int
    end: int
    page: int | None = None
    section: tuple[str, ...] = ()
    kind: str = "normal"
    language: str = ""
    media_type: str = ""
    modified: float = 0.0
    allowed: tuple[str, ...] = (EVERYONE,)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def revision(self) -> str:
        """The version of the document that this chunk belongs to, as one keyword."""
        return revision(self.document_id, self.version)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders above `path`, nearest last: `/a` and `/a/b` for `/a/b/c`."""
        parts = self.path.strip("/").split("/")[:-1]
        return tuple("/" + "/".join(parts[: i + 1]) for i in range(len(parts)))

    @property
    def heading(self) -> str:
        """Title and section, the context that the embedding and BM25 see before the text."""
        return " > ".join(dict.fromkeys(part for part in (self.title, *self.section) if part))

    @property
    def searchable(self) -> str:
        """What is embedded and tokenized: the heading, then the text."""
        return f"{self.heading}\n{self.text}" if self.heading else self.text

    def payload(self) -> dict[str, Any]:
        """Every field as JSON values, with the derived ones that filters use."""
        data = asdict(self)
        data["metadata"] = dict(self.metadata)
        for name in ("section", "allowed"):
            data[name] = list(data[name])
        data["revision"] = self.revision
        data["folders"] = list(self.folders)
        return data

    @classmethod
    def from_payload(cls, data: Mapping[str, Any]) -> "Chunk":
        """The inverse of `payload`; unknown fields are ignored."""
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        for name in ("section", "allowed"):
            if name in known:
                known[name] = tuple(known[name])
        return cls(**known)


def revision(document_id: str, version: int) -> str:
    """The keyword that names one version of one document."""
    return f"{document_id}@{version}"


@dataclass(frozen=True, slots=True)
class Scored:
    """A chunk's id with a score, in the scale of the list that it came from."""

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class RankedList:
    """What one search returned, best first. `source` is dense (cosine) or bm25 (unbounded)."""

    source: Literal["dense", "bm25"]
    query: str
    found: tuple[Scored, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk. `score` is the fused one (0..1); `dense` a cosine; `bm25` unbounded."""

    chunk: Chunk
    score: float
    dense: float | None = None
    bm25: float | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A numbered source as the answerer sees it. `text` may be the chunk's, cut to the budget."""

    number: int
    text: str
    hit: Hit


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that the answer cites. `start` and `end` are the supporting span's place in the
    document, `snippet` its text."""

    number: int
    document_id: str
    chunk_id: str
    title: str
    path: str
    page: int | None
    section: tuple[str, ...]
    start: int
    end: int
    snippet: str
    score: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the documents say of one sentence of the answer."""

    sentence: str
    label: Literal["supported", "partly", "contradicted", "unsupported", "no_claim"]
    confidence: float
    citation: Citation | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost, summed over every model call of the question. `cost` is in US dollars,
    None where the price is unknown."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    cost: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        costs = [c for c in (self.cost, other.cost) if c is not None]
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            sum(costs) if costs else None,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """The text as the client saw it, with `[n]` markers. `confidence` is 0..1, None if unknown."""

    text: str = ""
    citations: tuple[Citation, ...] = ()
    finish: Finish = "stop"
    model: str = ""
    confidence: float | None = None

    @property
    def refused(self) -> bool:
        """Whether this says that the documents do not hold the answer."""
        return self.finish == "refused"


@dataclass(frozen=True, slots=True)
class Traced:
    """What one stage did: the trace is a tuple of these."""

    stage: str
    seconds: float
    status: Status
    decision: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and everything known about it so far."""

    ask: Ask
    plan: Plan = Plan()
    queries: tuple[str, ...] = ()
    lists: tuple[RankedList, ...] = ()
    chunks: Mapping[str, Chunk] = field(default_factory=dict)
    hits: tuple[Hit, ...] = ()
    passages: tuple[Passage, ...] = ()
    answer: Answer | None = None
    verdicts: tuple[Verdict, ...] = ()
    usage: Usage = Usage()
    trace: tuple[Traced, ...] = ()
