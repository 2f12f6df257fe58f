"""Conversations: whose they are, what is kept of a turn, and what a list of them shows.

Times are seconds since 1970.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, TypeAdapter, ValidationError

from ragstone.core.answer import Citation, GeneratedAnswer, Usage, Verdict
from ragstone.core.chunk import EVERYONE
from ragstone.core.errors import InvalidBlock, InvalidRoom
from ragstone.core.faults import describe_fault
from ragstone.core.foreign_passages import references
from ragstone.core.readers import LONGEST_NAMES as MAX_CHARS
from ragstone.core.readers import Provenance, catalog_ids
from ragstone.core.source import cite_passage
from ragstone.core.turn import Ask, Principal, StageTrace, Turn

VERSION: Literal["v3"] = "v3"


def _iso(text: str) -> str:
    if text:
        datetime.fromisoformat(text)
    return text


_Text = Annotated[str, BeforeValidator(lambda given: "" if given is None else given)]
"""Clients write null for the content of a message that only calls tools."""

_Time = Annotated[_Text, AfterValidator(_iso)]
_Objects = Annotated[
    tuple[Mapping[str, Any], ...], BeforeValidator(lambda given: () if given is None else given)
]


@dataclass(frozen=True, slots=True)
class TurnMessage:
    """One message. `tool_calls` are what an assistant wants done, `tool_call_id` and `name` say
    which of them a tool's message answers."""

    role: Literal["user", "assistant", "system", "tool"]
    content: _Text = ""
    tool_calls: _Objects = ()
    tool_call_id: _Text = ""
    name: _Text = ""
    created_at: _Time = ""

    @property
    def works(self) -> bool:
        """Whether this is work on an answer, a tool's result or a call of one, and no answer."""
        return self.role == "tool" or (self.role == "assistant" and bool(self.tool_calls))


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """Tokens of every model call of the turn."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


@dataclass(frozen=True, slots=True)
class SearchDecision:
    """What was searched."""

    rewritten_query: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How the turn ended; `final_response` is what was said, also if that is only a part."""

    type: Literal["done", "error"] = "done"
    final_response: _Text = ""
    references: _Objects = ()
    usage: TurnUsage = TurnUsage()
    search_decision: SearchDecision = SearchDecision()


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """One turn. `status` is idle while it is worked on, and stays so if the client left.
    `block_classes` are the values of its metadata filter, `is_tool_block` says that tools were
    called in it."""

    version: Literal["v3"] = VERSION
    status: Literal["done", "error", "idle"] = "done"
    block_classes: tuple[str, ...] = ()
    search_type: Literal["rag", "gpt", "pa", "voc"] = "rag"
    conversations: tuple[TurnMessage, ...] = ()
    room_id: str = ""
    chat_id: str = ""
    user_id: str = ""
    is_tool_block: bool = False
    is_error: bool = False
    result: TurnResult = TurnResult()

    @property
    def is_working(self) -> bool:
        """Whether this is an unfinished turn that calls tools."""
        return self.is_tool_block and self.status == "idle"

    def without_tool_calls(self) -> "ConversationTurn":
        """Without the calls of tools and what they said: of those only the answer is kept."""
        kept = tuple(message for message in self.conversations if not message.works)
        return replace(self, conversations=kept)


def dump_turn(block: ConversationTurn) -> dict[str, Any]:
    """Return a block as JSON values, with every field."""
    dumped: dict[str, Any] = _adapter(ConversationTurn).dump_python(block, mode="json")
    return dumped


def load_turn(data: object) -> ConversationTurn:
    """Return the inverse, from JSON values or JSON text; raises InvalidBlock."""
    if isinstance(data, str | bytes):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise InvalidBlock("Not a valid conversation block: send it as JSON.") from error
    try:
        return cast(ConversationTurn, _adapter(ConversationTurn).validate_python(data))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:100] or "the block"
        raise InvalidBlock(
            f"Not a valid conversation block: {where}: {describe_fault(first)}."
        ) from error


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


LONGEST_NAME = 255
MAX_NEAREST = 3
"""Passages that are kept of a refused question,"""
CITATION_CHARS = 240
"""and characters of each."""
TITLE_CHARS = 80
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """One room of one user. `user` is the principal's, `user_id` the client's own account."""

    tenant: str
    user: str
    room: str
    user_id: str = ""


@dataclass(frozen=True, slots=True)
class Notes:
    """What is known of a turn besides its block. `nearest` are the passages that came nearest to
    a question that was refused, each with its beginning."""

    collection: str = "default"
    level: str = "standard"
    answer: GeneratedAnswer = GeneratedAnswer()
    verdicts: tuple[Verdict, ...] = ()
    usage: Usage = Usage()
    trace: tuple[StageTrace, ...] = ()
    nearest: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A stored turn; `at` is when it ended. `origin` is None where it is not known."""

    block: ConversationTurn
    notes: Notes = Notes()
    at: float = 0.0
    origin: Provenance | None = None

    @property
    def question(self) -> str:
        """What the user asked."""
        asked = (message.content for message in self.block.conversations if message.role == "user")
        return next(asked, "")

    @property
    def answer(self) -> str:
        """What was answered, with its markers."""
        return self.block.result.final_response


@dataclass(frozen=True, slots=True)
class Room:
    """A conversation in a list. `turns` counts all of them, `errors` those that failed."""

    room: str
    user_id: str
    title: str
    turns: int
    errors: int
    created_at: float
    updated_at: float


@dataclass(frozen=True, slots=True)
class Rooms:
    """Some of a user's conversations, the newest first, of `total`."""

    rooms: tuple[Room, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was deleted of a user: so many of each."""

    rooms: int = 0
    turns: int = 0
    days: int = 0
    blocked: int = 0
    cached: int = 0
    documents: int = 0
    jobs: int = 0
    keys: int = 0


def conversation_key(principal: Principal, room: str, user_id: str = "") -> ConversationKey:
    """Return a room of the principal; raises InvalidRoom for names that no store can keep."""
    return ConversationKey(principal.tenant, principal.user, room_name(room), user_name(user_id))


def room_name(name: str) -> str:
    """Return the id of a room as it is; raises InvalidRoom."""
    if not name.strip():
        raise InvalidRoom("The room id is empty. Name the conversation, or leave it out.")
    return _check_name(name, "room id")


def user_name(name: str) -> str:
    """Return the id of a user as it is; raises InvalidRoom."""
    return _check_name(name, "user id")


def title(text: str) -> str:
    """Return a title in one line of at most 80 characters."""
    line = " ".join(_FORBIDDEN.sub(" ", text).split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


def _check_name(name: str, what: str) -> str:
    if len(name) > LONGEST_NAME:
        raise InvalidRoom(
            f"The {what} has {len(name):,} characters; the limit is {LONGEST_NAME}. Shorten it."
        )
    if _FORBIDDEN.search(name):
        raise InvalidRoom(
            f"The {what} holds control characters or halves of characters. Leave them out."
        )
    return name


def entry(turn: Turn, now: float, tools: Sequence[TurnMessage] = ()) -> StoredTurn:
    """What is kept of a turn that has ended. `tools` are calls of tools and what they said."""
    answer, ask, used = turn.answer or GeneratedAnswer(finish="error"), turn.ask, turn.usage
    left = answer.finish == "cancelled"
    failed = answer.finish == "error" or (left and not answer.text)
    asked = TurnMessage("user", ask.question, created_at=iso(now - turn.seconds))
    said = [TurnMessage("assistant", answer.text, created_at=iso(now))] if answer.text else []
    block = ConversationTurn(
        status="error" if failed else "idle" if left else "done",
        block_classes=ask.classes,
        search_type=ask.search_type,
        conversations=(asked, *tools, *said),
        room_id=ask.room or "",
        chat_id=ask.id,
        user_id=ask.user_id,
        is_tool_block=bool(tools),
        is_error=failed,
        result=TurnResult(
            "error" if failed else "done",
            answer.text,
            tuple(references(turn)),
            TurnUsage(used.prompt_tokens, used.completion_tokens, used.total_tokens),
            SearchDecision(turn.queries),
        ),
    )
    return StoredTurn(block, turn_notes(turn, ask, answer), now, turn_origin(turn))


def turn_origin(turn: Turn) -> Provenance:
    """What a turn was answered from. One from the conversation alone has only what that had."""
    ask, collection = turn.ask, turn.collection
    id = ask.collection_id or (collection.id if collection else "")
    reached = (id,) if id and ask.search_type != "gpt" else ()
    chunks = [hit.chunk for hit in (*turn.hits, *(passage.hit for passage in turn.passages))]
    mine = set(ask.principal.names)
    everybody = {EVERYONE, f"user:{ask.principal.user}"}
    needed = {tuple(sorted(mine & set(chunk.allowed))) for chunk in chunks}
    groups = tuple(sorted(item for item in needed if item and not everybody & set(item)))
    documents = catalog_ids(chunk.document_id for chunk in chunks)
    own, before = Provenance(reached, groups, documents), turn.remembered or Provenance()
    # The documents of a long conversation are those of its other turns, which are kept with them.
    whole = own | before
    fits = len(whole.text) <= MAX_CHARS
    return (whole if fits else own | replace(before, documents=())).short()


def turn_notes(turn: Turn, ask: Ask, answer: GeneratedAnswer) -> Notes:
    """Return what is known of the turn besides its block."""
    nearest = turn.passages[:MAX_NEAREST] if answer.refused else ()
    return Notes(
        ask.collection,
        ask.level,
        answer,
        turn.verdicts,
        turn.usage,
        turn.trace,
        tuple(
            cite_passage(passage, passage.text[:CITATION_CHARS], chunk.page, chunk.start, chunk.end)
            for passage in nearest
            for chunk in [passage.hit.chunk]
        ),
    )


def iso(at: float) -> str:
    """Return a time as ISO 8601, in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def seconds(time: str) -> float:
    """Return the inverse of `iso`; a time without a zone is in UTC."""
    at = datetime.fromisoformat(time)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
