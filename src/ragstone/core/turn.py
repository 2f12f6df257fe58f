"""The data of one question on its way to an answer: frozen, and the only state there is.

Every stage receives a `Turn` and returns a new one made with `dataclasses.replace`.
Scores lie in 0..1 unless a field says otherwise; times are seconds; positions are characters
(code points) counted from 0 with the end excluded; pages count from 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from ragstone.core.answer import Confidence, GeneratedAnswer, Instructions, Usage, Verdict
from ragstone.core.chunk import EVERYONE, Chunk
from ragstone.core.document import BlockSpan, cut_blocks
from ragstone.core.intent import Analysis, Intent
from ragstone.core.readers import Provenance
from ragstone.core.tool import Picture, Tool, ToolStep

if TYPE_CHECKING:
    from ragstone.core.filters import Filter
    from ragstone.core.records import Collection
    from ragstone.language.late_interaction import EncodedQuestion

Level = Literal["basic", "standard", "enhanced", "maximum"]
LEVELS: tuple[Level, ...] = ("basic", "standard", "enhanced", "maximum")
Strategy = Literal[
    "dense",
    "bm25",
    "hybrid",
    "fusion",
    "two_stage",
    "hierarchical",
    "sequential",
    "iterative",
    "graph",
    "graph_low",
    "graph_high",
]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
Fusion = Literal["scores", "ranks"]
PLAIN: frozenset[Strategy] = frozenset({"dense", "bm25", "sequential"})
"""Strategies whose order is left alone."""

TreeUse = Literal["off", "traversal", "collapsed"]
Preference = Literal["accuracy", "speed"]
Rewriting = Literal[
    "auto", "none", "multi", "hyde", "step_back", "decompose", "keywords", "combined"
]
Mode = Literal["simple", "advanced", "precise"]
Unit = Literal["chunk", "paragraph", "section"]
SearchType = Literal["rag", "gpt", "pa", "voc"]
Status = Literal["done", "failed", "timeout", "skipped"]


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. A credential makes it; a request parameter never widens it.

    `user` is empty for whoever has no credential, `collections` are all that the credential may
    touch, None for every one of the tenant's.
    """

    tenant: str = "default"
    user: str = "local"
    groups: tuple[str, ...] = ()
    collections: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a chunk's `allowed` list is compared with."""
        user = (f"user:{self.user}",) if self.user else ()
        return (EVERYONE, *user, *(f"group:{group}" for group in self.groups))


@dataclass(frozen=True, slots=True)
class Message:
    """One earlier message of the conversation."""

    role: Literal["user", "assistant", "system"]
    text: str


def _option(help: str, least: float | None = None, most: float | None = None) -> Any:
    """A field that is None unless asked for, with its help and its bounds for every way in."""
    return field(default=None, metadata={"help": help, "least": least, "most": most})


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How a request wants its passages found; None leaves it to the plan.

    The least likeness is on the same scale for every embedder. What is beyond the most passages of
    one document makes room for other documents.
    """

    fusion: Fusion | None = _option("Combine meaning and words by these.")
    dense_weight: float | None = _option("Share of meaning against words.", 0, 1)
    rerank: bool | None = _option("Whether the best candidates are compared again.")
    min_similarity: float | None = _option("Least likeness to the question.", 0, 1)
    diversity: float | None = _option("Prefer different passages.", 0, 1)
    unit: Unit | None = _option("What a passage is.")
    neighbours: int | None = _option("Chunks on either side that come along.", 0, 10)
    rewrite: Rewriting | None = _option("In which other words it is searched too.")
    per_document: int | None = _option("Most passages of one document; 0 is no bound.", 0, 1000)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a chat model picks its words besides the temperature; None leaves it to the model. They
    are OpenAI's names; `top_k`, which OpenAI does not know, goes to servers that do."""

    top_p: float | None = None
    top_k: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    seed: int | None = None
    parallel_tool_calls: bool | None = None


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """An answer that is one JSON object, of this schema if there is one."""

    name: str = "answer"
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as a dialect understood it. `cache` allows to answer it as an equal question was
    answered before, and to keep the answer for the next one. `mode` is how the answer is worded.

    `collection` is the name that was asked for, `collection_id` which one that was, empty for
    whichever has the name when the question is answered.

    `search_type` is what it is answered from: documents (rag), the conversation alone (gpt),
    documents and tools (pa), or customers' comments (voc). `user_id` is who asks by the
    client's own account, which tells conversations apart and never widens what the principal may
    read. `classes` are the values of the metadata filter that the request set. `reasons` wants the
    answer reasoned out first, `verifies` wants it judged and tried again, `votes` wants several
    answers compared; None leaves that to the level.

    `pictures` are looked at with the question. `tools` are the client's own, which the chat model
    may call: one of them at least if `tool_choice` is required, or the one that it names. `steps`
    are the calls that it made for this question, with what they returned.
    `guidance` is what the client's program wants of how is answered (its system messages): our own
    rules stand above it. `json` wants the answer as JSON, which only a chat model can write.
    `organisation` is whose tools of the MCP gateway may be called, and `searches_by_tool` that
    documents are searched by its search, where it has one. With `one_session` the room's
    turns of every search type are remembered, else those of this one. `keeps` allows to keep
    anything of it: the conversation, the statistics, the answer for the next one. `idempotent` is
    of a question that may be asked again when it was cut off: then nothing is kept, nor is what an
    attempt of the same `id` has kept already. `profile` is the dialect whose document's numbers
    are the defaults, empty for ours. `approves` says that somebody reads the events as they come,
    and approves or declines calls of tools that change anything; else these are declined.
    `streams` says that the answer's text is sent as it comes; what is sent whole at the end can
    still be corrected.
    """

    question: str
    principal: Principal = Principal()
    collection: str = "default"
    level: Level = "standard"
    prefer: Preference | None = None
    mode: Mode | None = None
    strategy: Strategy | None = None
    top_k: int | None = None
    wanted: SearchOptions = SearchOptions()
    where: "Filter | None" = None
    history: tuple[Message, ...] = ()
    room: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    id: str = ""
    cache: bool = True
    search_type: SearchType = "rag"
    user_id: str = ""
    classes: tuple[str, ...] = ()
    reasons: bool | None = None
    verifies: bool | None = None
    votes: bool | None = None
    pictures: tuple[Picture, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_choice: str = ""
    steps: tuple[ToolStep, ...] = ()
    organisation: str = ""
    searches_by_tool: bool = False
    one_session: bool = False
    keeps: bool = True
    idempotent: bool = False
    collection_id: str = ""
    profile: str = ""
    guidance: str = ""
    sampling: Sampling = Sampling()
    json: JsonFormat | None = None
    approves: bool = False
    streams: bool = True


IN_ORDER = 2000
"""Chunks that are read in order at most, of one document or of all that are summed up."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How this question will be answered: what the router decided, with defaults from settings.

    `candidates` are taken from each search, the best `reranked` of them are compared again, and
    `top_k` go on. `feedback` lets the first passages found refine a topical question. `rewrites`
    are the queries searched where the question is rewritten, itself included. `verifies` lets the
    chat model grade the passages, also where the answer is not judged. `sums_up` are the
    words that name the document of which a summary is wanted, empty for whichever there is, None
    where none is wanted; `sums_up_all` says that without such a name every document is meant. The
    fields that `SearchOptions` has too mean the same. `tree` is how trees of summaries are used:
    for what is to be summed up (traversal), and to find passages too (collapsed). `excerpts` says
    that the passages are the sentences that such a tree chose, in their order. `late_weight` is
    what late interaction counts against meaning and words together, where there is an index of it.
    `lists_documents` is what all documents are wanted for that say it, empty where none are.
    """

    strategy: Strategy = "hybrid"
    candidates: int = 100
    top_k: int = 10
    fusion: Fusion = "scores"
    dense_weight: float = 0.4
    feedback: bool = True
    rerank: bool = True
    reranked: int = 50
    min_similarity: float = 0.0
    diversity: float = 0.0
    unit: Unit = "chunk"
    neighbours: int = 0
    edges: bool = False
    rewrite: Rewriting = "auto"
    rewrites: int = 3
    verifies: bool = False
    sums_up: str | None = None
    sums_up_all: bool = False
    tree: TreeUse = "off"
    late_weight: float = 0.5
    excerpts: bool = False
    per_document: int = 0
    lists_documents: str = ""


@dataclass(frozen=True, slots=True)
class Scored:
    """A chunk's id with a score, in the scale of the list that it came from."""

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class RankedList:
    """What one search returned, best first. `source` is dense (cosine), bm25 (unbounded), feedback
    (the cosine to a question refined by what it found first), order (of a document), graph (the
    share of a walk over an entity graph, 0..1) or service (the scores of a retrieval service,
    0..1, which are kept)."""

    source: Literal["dense", "bm25", "late", "feedback", "order", "graph", "themes", "service"]
    query: str
    found: tuple[Scored, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk.

    `score` (0..1) orders the hits of one question: 1 is what the best candidate by every measure
    would have. `similarity` (0..1) compares across questions and embedders: 0 is the likeness of
    unrelated texts, 1 of nearly equal ones; `confidence` puts it in words. `dense` is the plain
    cosine, `bm25` the plain word score (unbounded), `rerank` what the reranker said (0..1).
    """

    chunk: Chunk
    score: float
    dense: float | None = None
    bm25: float | None = None
    rerank: float | None = None
    similarity: float | None = None
    confidence: Confidence | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A numbered source as the answerer sees it. `text` may be the chunk's, cut to the budget.
    `day` is from when its document counts, in ISO form, empty where that is not known."""

    number: int
    text: str
    hit: Hit
    day: str = ""

    @property
    def blocks(self) -> tuple[BlockSpan, ...]:
        """What `text` consists of; nothing where the chunk's is not known, or is shortened."""
        chunk = self.hit.chunk
        if not chunk.text.startswith(self.text):
            return ()
        return cut_blocks(chunk.blocks, 0, len(self.text))


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the cache says of this question. `content` is what it had: the whole answer, what the
    search found, or nothing; `question` is the one that asks the same, `likeness` (0..1) that of
    their vectors. What comes of this question may be kept in the scopes under `encoded`; a scope
    is empty where it may not."""

    content: Literal["answer", "search", ""] = ""
    question: str = ""
    likeness: float = 0.0
    answer_scope: str = ""
    search_scope: str = ""
    encoded: "EncodedQuestion | None" = None


@dataclass(frozen=True, slots=True)
class Subquery:
    """One of several questions that a message asks, searched by itself.

    `hits` are None until it is known what it finds; `cached` says that the cache knew. What is
    found may be kept under `encoded`, where there is one.
    """

    question: str
    hits: tuple[Hit, ...] | None = None
    cached: bool = False
    encoded: "EncodedQuestion | None" = None


@dataclass(frozen=True, slots=True)
class StageTrace:
    """What one stage did: the trace is a tuple of these. `inside` names the stage that ran it,
    whose own seconds hold these. `calls` of chat models took so many tokens of prompts and replies
    and cost so many US dollars, None where a price is unknown; what they bought is the decision."""

    stage: str
    seconds: float
    status: Status
    decision: str = ""
    reason: str = ""
    inside: str = ""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None

    @property
    def usage_text(self) -> str:
        """What the stage took of chat models, for people; empty for nothing."""
        if not self.calls:
            return ""
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        tokens = f"{self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out"
        return ", ".join((calls, tokens, *(() if self.cost is None else (f"${self.cost:.4f}",))))


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and everything known about it so far.

    `question` is what is asked, by itself and spelt right; `original` is how it was spelt, empty if
    that is the same; `queries` are what is searched for it,
    itself first; `parts` says that the others ask for parts of the answer, not for the same in
    other words; `subqueries` are the questions of a message that asks several, each searched by
    itself; `imagined` are passages that are searched by meaning only. `whole` says that the
    question means the same in any conversation; one that is not must not be answered from memory.
    `left_out` are the ids of chunks of documents about something else, which nothing brings back.
    `notes` are sentences for the reader that are no part of the answer. `unread` is the answer that
    says why a file which the question names could not be read.
    `remembered` is what the turns were answered from that the conversation gives it.
    `digest` are summaries of all parts of what is too long to be read at once, with the numbers of
    its passages. `iteration` of at most `max_iterations` rounds is the one whose answer this is,
    and `scores` (0..1) are the judgements of all that were taken.
    `called` are the tools that were called for it, and `cut_short` says which limit ended that
    early, empty where none did. `grades` (0..10, by chunk) are the chat model's
    of the passages, `advice` is what it said should be better in the next answer.
    """

    ask: Ask
    question: str = ""
    original: str = ""
    intent: Intent | None = None
    analysis: Analysis | None = None
    plan: Plan = Plan()
    whole: bool = True
    queries: tuple[str, ...] = ()
    parts: bool = False
    subqueries: tuple[Subquery, ...] = ()
    imagined: tuple[str, ...] = ()
    collection: "Collection | None" = None
    encoded: "EncodedQuestion | None" = None
    recalled: Recalled | None = None
    feedback: float = 0.0
    lists: tuple[RankedList, ...] = ()
    chunks: Mapping[str, Chunk] = field(default_factory=dict)
    hits: tuple[Hit, ...] = ()
    left_out: tuple[str, ...] = ()
    grades: Mapping[str, float] = field(default_factory=dict)
    advice: str = ""
    passages: tuple[Passage, ...] = ()
    instructions: Instructions = Instructions()
    answer: GeneratedAnswer | None = None
    verdicts: tuple[Verdict, ...] = ()
    usage: Usage = Usage()
    trace: tuple[StageTrace, ...] = ()
    called: tuple[ToolStep, ...] = ()
    cut_short: str = ""
    notes: tuple[str, ...] = ()
    unread: str = ""
    digest: str = ""
    iteration: int = 1
    max_iterations: int = 1
    scores: tuple[float, ...] = ()
    remembered: Provenance | None = None

    @property
    def rewritten(self) -> str:
        """In which words it is searched: the passage imagined for it; else the question by itself
        or spelt right; else, where it was asked like that, the first of its other wordings."""
        if self.imagined:
            return self.imagined[0]
        asked = self.question or self.ask.question
        if asked != " ".join(self.ask.question.split()):
            return asked
        return next((query for query in self.queries if query != asked), asked)

    @property
    def is_searched(self) -> bool:
        """Whether what a search would find is known."""
        if self.recalled is not None and self.recalled.content == "search":
            return True
        return bool(self.subqueries) and all(
            subquery.hits is not None for subquery in self.subqueries
        )

    def also_asking(self, query: str) -> "Turn":
        """Return the turn before another search, which searches this query too."""
        more = (*self.subqueries, Subquery(query)) if self.subqueries else ()
        queries = (*self.queries, query)
        return replace(self, queries=queries, subqueries=more, recalled=None)

    @property
    def seconds(self) -> float:
        """What the stages took together."""
        return sum(traced.seconds for traced in self.trace if not traced.inside)
