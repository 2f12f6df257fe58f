"""What happens while a question is answered: one typed union, the same for every client.

A stream of events ends with exactly one `Done` or `Failed`.
"""

from dataclasses import dataclass
from typing import Literal

from ragstone.core.answer import Verdict
from ragstone.core.errors import RagstoneError
from ragstone.core.source import Source, passage_sources
from ragstone.core.turn import Passage, StageTrace, Turn


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage began."""

    stage: str


@dataclass(frozen=True, slots=True)
class StageEnded:
    """A stage ended: how long it took, what it decided, and why."""

    traced: StageTrace


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for the reader that is not part of the answer."""

    stage: str
    text: str


def correction_notice(question: str) -> str:
    """Return what a reader is told when the question's spelling was corrected to this."""
    return f"Showing results for “{question}”."


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning that the model shows; not part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """In which words the question is searched; the question itself is always among `queries`."""

    text: str
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """The numbered sources that the answer may cite, before its first token.

    `found` is how many passages the search found; a chat model may get fewer of them.
    """

    passages: tuple[Passage, ...]
    found: int = 0

    @property
    def sources(self) -> tuple[Source, ...]:
        """The passages as sources, of which nothing is cited yet."""
        return passage_sources(self.passages)


@dataclass(frozen=True, slots=True)
class Token:
    """The next piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A verdict on every sentence of the answer, and how much of it is supported (0..1).

    It follows the answer, or precedes it where nothing leaves unchecked.
    """

    verdicts: tuple[Verdict, ...]
    score: float | None = None


AgentState = Literal["calling", "waiting", "declined", "done", "failed"]


@dataclass(frozen=True, slots=True)
class AgentStep:
    """A call of a tool by the agent, each time that its state changes.

    `id` is the call's: `approve` takes it while the call is `waiting` for an approval, which it
    does for `seconds`; of an ended call, `seconds` is how long it took. `arguments` are as the chat
    model wrote them, `said` is what came of the call, for people.
    """

    id: str
    tool: str
    state: AgentState
    arguments: str = ""
    said: str = ""
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """The state in words, for people."""
        match self.state:
            case "calling":
                return f"Calling {self.tool}..."
            case "waiting":
                return f"{self.tool} needs your approval within {self.seconds:g} s."
        return f"{self.tool}: {self.said}"


@dataclass(frozen=True, slots=True)
class Done:
    """The end: the whole turn, with answer, citations, usage and trace."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class Failed:
    """The end when a closed stage failed; `turn.answer` holds what had been said."""

    error: RagstoneError
    turn: Turn


Event = (
    StageStarted
    | StageEnded
    | Note
    | Thinking
    | Rewritten
    | Sources
    | Token
    | Checked
    | AgentStep
    | Done
    | Failed
)
