"""The data of an answer: what its author is told, its text, its sources, what they say of it.

Scores lie in 0..1 unless a field says otherwise; positions are characters (code points) counted
from 0 with the end excluded; pages count from 1.
"""

import math
from dataclasses import dataclass
from typing import Literal

from ragstone.core.tool import ToolCall


@dataclass(frozen=True, slots=True)
class Computed:
    """A figure or rows that a query over a document's table gave.

    `sentence` is the one of the answer that states it, `sql` the query, or in words which comments
    were counted, `table` the name that it has there, `columns` and `rows` what it returned (the
    first rows, as texts), `used` how many rows of the document it was computed from. `recomputed`
    says that a second computation, which is not SQL, gave the same. Where it is one of single
    cells, `sql` is the arithmetic, and `places` are where these stand in the document.
    """

    sentence: str
    sql: str
    table: str
    document_id: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    used: int
    recomputed: bool = False
    places: tuple[tuple[int, int], ...] = ()


Finish = Literal["stop", "length", "refused", "blocked", "cancelled", "error"]
Confidence = Literal["high", "medium", "low"]
LEVELS: tuple[tuple[Confidence, float], ...] = (("high", 0.85), ("medium", 0.5), ("low", 0.0))
"""The least confidence of each level. It is a probability, and most have more than the least: of
the answers of high confidence nine in ten are right."""


def confidence_level(confidence: float) -> Confidence:
    """Return a confidence (0..1) in a word."""
    return next(level for level, least in LEVELS if confidence >= least)


def log_odds(probability: float, least: float) -> float:
    """Return the logarithm of the odds; what is nearer to 0 or 1 than `least` counts as that."""
    kept = min(max(probability, least), 1 - least)
    return math.log(kept / (1 - kept))


def probability(odds: float) -> float:
    """Return the probability of the log-odds `odds`; those beyond 30 count as 30."""
    return 1 / (1 + math.exp(-min(max(odds, -30.0), 30.0)))


CUT_SHORT = "The search for this answer was cut short"


def cut_short_sentence(why: str) -> str:
    """What an answer says of itself that a limit ended the work on; it claims nothing else."""
    return f"{CUT_SHORT} ({why}): it is made from what was found until then."


Layout = Literal["sources", "references", "context", "last"]
Label = Literal["supported", "partly", "contradicted", "unsupported", "no_claim"]
StatementKind = Literal["gap", "disagreement", "announcement"]
"""What a sentence of an answer may be that claims nothing of what the documents are on: it says
that the sources lack something, or that they disagree, or what follows."""


@dataclass(frozen=True, slots=True)
class Instructions:
    """What the answerer is told besides the sources: what stands before them (`opening`), how to
    answer, which stands with the question (`text`), and what a refusal says.

    `notes` is what was thought of the sources before, or of an earlier answer; `thinks` lets a
    model that can reason at length by itself do so. `sums_up` says how surely (0..1) the sources
    are what is to be summed up, in order; 0 where nothing is. `asked` are the user's own words,
    where the question is not asked in them. `layout` is how a prompt shows the sources: each in a
    fence before the conversation or behind it, or as chat-core's references. `digest` are summaries
    of all parts of the sources, which are then too long to be read. `excerpts` says that the
    sources are single sentences of what is to be summed up, those that tell most of it. `alone`
    says that nobody answers if this answerer does not, so that it may take its time. `lists` says
    that the sources are those of all documents that say what was asked, the best of each. `varies`
    lets a model answer at the temperature of its profile, however high that is. `questions` are
    those of a message that asks several, for an answerer that reads one at a time.
    """

    text: str = ""
    no_answer: str = ""
    opening: str = ""
    notes: str = ""
    thinks: bool = False
    sums_up: float = 0.0
    asked: str = ""
    layout: Layout = "sources"
    digest: str = ""
    excerpts: bool = False
    alone: bool = False
    lists: bool = False
    varies: bool = False
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CitedSpan:
    """A stretch of a document that a sentence of the answer leans on, with its text."""

    start: int
    end: int
    page: int | None
    snippet: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that the answer cites. `start` and `end` are the supporting span's place in the
    document, `snippet` its text; `spans` are those of all the sentences that cite it, in order.
    `score` is the source's, `similarity` (0..1) the likeness of the span to what it is cited for,
    `confidence` (0..1) how sure the citation is."""

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
    similarity: float = 0.0
    confidence: float = 0.0
    spans: tuple[CitedSpan, ...] = ()

    @property
    def span(self) -> CitedSpan:
        """The supporting span by itself."""
        return CitedSpan(self.start, self.end, self.page, self.snippet)


MarkerState = Literal["unchecked", "supported", "elsewhere", "unsupported"]


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker `[n]` at `start` to `end` in the answer's text, and what of which source it is for.

    Its source is `supported` to say the sentence; or another source says it (`elsewhere`); or none
    does. `citation` is of the source that does, else of the one whose number it has.
    """

    start: int
    end: int
    number: int
    citation: Citation
    state: MarkerState = "unchecked"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the documents say of one sentence of the answer, which stands at `start` to `end` in
    its text. `confidence` (0..1) is how sure the label is; `citation` has the sentence of a source
    that comes nearest to it; `reason` is what decided."""

    sentence: str
    label: Label
    confidence: float
    citation: Citation | None = None
    start: int = 0
    end: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost, summed over every model call of the question. `cost` is in US dollars,
    None where the price of a call is unknown. `counted` is false where the server of a call did not
    say what it took."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    cost: float | None = None
    counted: bool = True

    @property
    def total_tokens(self) -> int:
        """Tokens of questions and answers together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        unknown = any(item.calls and item.cost is None for item in (self, other))
        known = self.cost is not None or other.cost is not None
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            (self.cost or 0.0) + (other.cost or 0.0) if known and not unknown else None,
            self.counted and other.counted,
        )


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """Whether the passages were enough for the answer: the share (0..1) of the question's words
    that they speak of, whether they contradict each other, and what none of them speaks of."""

    is_sufficient: bool
    coverage_score: float
    has_conflicts: bool = False
    missing_aspects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """One of the two things that are said of an answer: that the sources say it, or that it is
    what was asked. `holds` says whether, `confidence` (0..1) how likely it does: low where it does
    not."""

    holds: bool
    confidence: float

    @property
    def level(self) -> Confidence:
        """The confidence in a word."""
        return confidence_level(self.confidence)


@dataclass(frozen=True, slots=True)
class Verification:
    """Who answers for an answer that a person has written or checked, since when, and until when
    (seconds since 1970), None for no end."""

    by: str
    at: float
    until: float | None = None


@dataclass(frozen=True, slots=True)
class GeneratedAnswer:
    """The text as the client saw it, with `[n]` markers.

    `supported` states that the sources say all of it, `answers` that it is what was asked; each is
    None where nobody looked, as for a refusal, which claims nothing. `confidence` (0..1) is how
    likely both hold, None if nothing is known of it.

    `markers` are those of the text, in order; `citations` have each cited source once.
    `check_failure` says why the check of it failed, empty where it did not. `note` is a sentence
    for the reader of how it came about, such as that the chat model did not answer.

    `used` are the sources that the model says it used, `suggested` the questions it suggests.
    `groundedness_score` (0..1) is the share of its claims that the documents support, None if
    that was not checked; `is_grounded` whether that is enough. A `held` text has not been sent
    yet, and is not until it is checked. `calls` are of the client's tools: the answer follows
    when the client has sent what they returned. `computed` is the query that it is the result of,
    where it is one. `is_json` says that the text is JSON, in which nothing is a marker. `verified`
    is set of an answer that a person answers for, which nothing was generated for.
    """

    text: str = ""
    citations: tuple[Citation, ...] = ()
    finish: Finish = "stop"
    model: str = ""
    confidence: float | None = None
    used: tuple[int, ...] = ()
    suggested: tuple[str, ...] = ()
    is_grounded: bool | None = None
    groundedness_score: float | None = None
    held: bool = False
    sufficiency: Sufficiency | None = None
    calls: tuple[ToolCall, ...] = ()
    supported: Statement | None = None
    answers: Statement | None = None
    computed: Computed | None = None
    markers: tuple[Marker, ...] = ()
    check_failure: str = ""
    note: str = ""
    is_json: bool = False
    verified: Verification | None = None

    @property
    def confidence_level(self) -> Confidence | None:
        """The confidence in a word."""
        return None if self.confidence is None else confidence_level(self.confidence)

    @property
    def rejected(self) -> bool:
        """Whether its own check says that the sources do not support it."""
        return self.is_grounded is False

    @property
    def refused(self) -> bool:
        """Whether this says that the documents do not hold the answer."""
        return self.finish == "refused"
