"""The ports that answer and remember."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ragstone.core.answer import Finish, Instructions, StatementKind, Usage
from ragstone.core.records import By, Report, Use
from ragstone.core.tool import Tool, ToolCall
from ragstone.core.turn import Ask, Passage, Principal, Turn
from ragstone.language.tokens import Family, Tier
from ragstone.ports.guarding import Support


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a chat model.

    `context_window` is in tokens, for prompt and answer together. A `temperature` (0..2) of None
    says that the model takes no sampling settings; a `top_p` (0..1) of None leaves it to the
    server. `thinking_tokens` are allowed to a reply on top of a limit that does not hold them, for
    a model that reasons first. `vision` says that it can look at pictures. Prices are in US dollars
    for a million tokens, None where the published ones hold. A `tokenizer` of None is not known.
    """

    context_window: int = 8192
    temperature: float | None = 0.3
    top_p: float | None = None
    tier: Tier = "small"
    thinking_tokens: int = 0
    input_price: float | None = None
    output_price: float | None = None
    vision: bool = False
    tokenizer: Family | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of an answer as it comes. The last one has `finish`; any may have `usage`.

    `model` is who says it, where that is not the one that was asked, and `reason` why, for the
    trace; `note` is a sentence for the reader. `calls` are the tools that it wants called. One that
    `restarts` begins the answer anew: what was said before it has not left, and does not count.
    """

    text: str = ""
    thinking: str = ""
    finish: Finish | None = None
    usage: Usage = Usage()
    confidence: float | None = None
    model: str = ""
    reason: str = ""
    note: str = ""
    calls: tuple[ToolCall, ...] = ()
    restarts: bool = False


@runtime_checkable
class Answerer(Protocol):
    """Answers from numbered passages, with `[n]` markers in the text."""

    @property
    def name(self) -> str: ...

    def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        """Stream the answer; raises ModelUnavailable or Busy, possibly after some text."""
        ...

    async def ready(self) -> str | None:
        """What is to be known of its endpoints; raises ModelUnavailable unless one answers."""
        ...

    async def aclose(self) -> None: ...


class Answerability(Protocol):
    """Tells, without a chat model, whether passages hold an answer at all."""

    @property
    def name(self) -> str: ...

    async def likelihood(self, ask: Ask, passages: Sequence[Passage]) -> float:
        """Tell how likely (0..1) the passages hold what answers the question of `ask`."""
        ...


class AnswerJudge(Protocol):
    """Tells, without a chat model, whether an answer is what was asked. That is another question
    than whether the sources support it, which is `Checker`'s."""

    async def answers(self, ask: Ask, said: str, passages: Sequence[Passage]) -> float:
        """Tell how likely (0..1) `said`, which cites `passages` by their numbers, is what the
        question of `ask` wants to know."""
        ...

    async def read_answering(self, question: str, sentences: Sequence[str]) -> Sequence[float]:
        """Return the log-odds that each sentence, whatever its sources, answers the question."""
        ...

    async def kinds(
        self,
        question: str,
        sentences: Sequence[str],
        supports: Sequence[Support],
        passages: Sequence[str],
    ) -> list[StatementKind | None]:
        """Return the kind of each sentence of an answer to `question` from these passages, None for
        a claim; `supports` are what the passages say of each."""
        ...


class History(Protocol):
    """The sums of finished turns: per day (UTC), user, room and model."""

    async def save(self, turn: Turn) -> None:
        """Add the turn to the sums."""
        ...

    async def report(self, tenant: str, days: int) -> Report:
        """Return the sums of a tenant for today (UTC) and the days before it, `days` in all."""
        ...

    async def use(self, tenant: str, days: int, by: By, user: str | None = None) -> list[Use]:
        """The sums over these days by day, user, account, room or model, of one user or of all."""
        ...

    async def forget(self, principal: Principal, user_id: str | None) -> int:
        """Delete the sums of a principal, or of one of its accounts; of how many days."""
        ...


@runtime_checkable
class Completer(Protocol):
    """A chat model for the work around an answer."""

    @property
    def name(self) -> str: ...

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        """Return what the model says to `text` under `rules`, whole and without its thoughts.

        Raises ModelUnavailable, Busy.
        """
        ...


@runtime_checkable
class Priced(Protocol):
    """A chat model that knows what it takes."""

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Return US dollars for so many tokens, None where the price is unknown."""
        ...


@runtime_checkable
class Conversing(Protocol):
    """A chat model that answers from the conversation, looks at pictures and calls tools."""

    @property
    def name(self) -> str: ...

    @property
    def profile(self) -> Profile: ...

    def converse(self, ask: Ask, rules: str) -> AsyncGenerator[Said, None]:
        """Stream what the model says next under `rules`: to the question with its history and
        pictures, or to what its calls of `ask.tools` returned (`ask.steps`).

        Raises ModelUnavailable or Busy, possibly after some text.
        """
        ...


@dataclass(frozen=True, slots=True)
class Returned:
    """What a tool returned: its text, and its data where it sent any as JSON. `failed` says that
    the tool reported an error, which the text is about; `length` is how many characters the text
    had before it was cut."""

    text: str
    data: Any = None
    failed: bool = False
    length: int = 0


CALL_SECONDS = 30.0
"""How long one call of a tool may take: what people wait for an answer leaves room for few such."""

RESULT_CHARS = 8000
"""Characters of one result of a tool that are read."""


class ToolSession(Protocol):
    """One connection to the tools."""

    @property
    def tools(self) -> Sequence[Tool]: ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Returned:
        """Call one of the tools; raises ToolsUnavailable."""
        ...


class Toolbox(Protocol):
    """The tools of a gateway, of which each organisation has its own."""

    def session(self, organisation: str) -> AbstractAsyncContextManager[ToolSession]:
        """Connect; entering raises ToolsUnavailable."""
        ...


class Approvals(Protocol):
    """Calls of tools that wait until who asked approves or declines them."""

    async def decision(
        self, principal: Principal, id: str, seconds: float, ask: Callable[[], Awaitable[None]]
    ) -> bool | None:
        """Return what the principal decides within `seconds` about the call of this id, None for
        nothing. `ask` tells it, once the decision can come."""
        ...

    async def decide(self, principal: Principal, id: str, approved: bool) -> None:
        """Approve or decline a call of the principal's; raises UnknownApproval where none waits."""
        ...
