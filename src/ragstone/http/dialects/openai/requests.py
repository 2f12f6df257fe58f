"""What clients send to the OpenAI-compatible API, and what it means to Ragstone."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator

from ragstone.core.conversation import room_name, user_name
from ragstone.core.errors import InputError, InvalidRoom, UnknownModel
from ragstone.core.limits import MOST_MESSAGES, MOST_STOPS
from ragstone.core.tool import Tool
from ragstone.core.turn import LEVELS, Ask, Level, Mode, Preference, Rewriting, SearchOptions
from ragstone.http.bodies import Name, StrictBody
from ragstone.http.dialects.openai.messages import (
    ChatMessage,
    OfferedTool,
    asked,
    history,
    looked_at,
    steps,
)
from ragstone.http.responses import well_formed

CHAT_MODELS: dict[str, Level] = {
    "ragstone": "standard",
    **{f"ragstone-{level}": level for level in LEVELS},
}
"""The models of chat completions: one per level, and a plain name for the usual one."""

MAX_INPUTS = 2048
LONGEST_USER = 4096
"""Of a name that tells accounts apart only with a room, where it must be shorter."""


def _valid_room(name: str) -> str:
    try:
        return room_name(name)
    except InvalidRoom as error:
        raise ValueError(error.message) from error


RoomId = Annotated[str, AfterValidator(_valid_room)]


class StreamOptions(StrictBody):
    """Options of a streamed answer."""

    include_usage: bool | None = None


class ChatRequest(StrictBody):
    """The body of POST /v1/chat/completions, with ten fields of ours at the end."""

    model: Name
    messages: list[ChatMessage] = Field(min_length=1, max_length=MOST_MESSAGES)
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stop: Name | Annotated[list[Name], Field(max_length=MOST_STOPS)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    user: Annotated[str, Field(max_length=LONGEST_USER)] | None = None
    tools: list[OfferedTool] | None = Field(None, max_length=128)
    tool_choice: Literal["none", "auto", "required"] | dict[str, Any] | None = None

    room: RoomId | None = Field(None, description="The conversation to continue and to keep it in.")
    conversation: RoomId | None = Field(None, description="The same, as other APIs call it.")
    collection: Name | None = Field(None, description="Which documents to answer from.")
    level: Level | None = Field(None, description="How much work to spend; overrides the model.")
    top_k: int | None = Field(None, ge=1, le=100, description="Passages to answer from.")
    prefer: Preference | None = Field(None, description="What counts more: accuracy or speed.")
    mode: Mode | None = Field(None, description="How the answer is worded.")
    rewrite: Rewriting | None = Field(None, description="In which other words to search it too.")
    trace: bool | None = Field(None, description="Whether to return what each stage did.")
    cache: bool | None = Field(
        None, description="Whether an equal question's answer will do; false wants a fresh one."
    )

    @field_validator("n")
    @classmethod
    def _check_n(cls, n: int | None) -> int | None:
        if n not in (None, 1):
            raise ValueError("only one answer can be given; leave n out or set it to 1")
        return n

    @property
    def wants_usage(self) -> bool:
        """Whether a stream is to end with a chunk of usage."""
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def user_id(self) -> str:
        """The client's account, which tells rooms of the same name apart; raises InvalidRoom."""
        kept = self.room or self.conversation
        return user_name(self.user or "") if kept else ""

    def ask(self, id: str) -> Ask:
        """The question; raises UnknownModel, and InputError for a conversation without one."""
        before, question, after = asked(self.messages)
        stop = [self.stop] if isinstance(self.stop, str) else self.stop or []
        pictures = looked_at(question)
        return Ask(
            question=question.text,
            collection=self.collection or "default",
            # What is in an image stands in no document.
            search_type="gpt" if pictures else "rag",
            level=self.level or _model_level(self.model),
            top_k=self.top_k,
            prefer=self.prefer,
            mode=self.mode,
            wanted=SearchOptions(rewrite=self.rewrite),
            history=tuple(history(before)),
            room=self.room or self.conversation,
            user_id=self.user_id,
            temperature=self.temperature,
            max_tokens=self.max_completion_tokens or self.max_tokens,
            stop=tuple(text for text in stop if text),
            cache=self.cache is not False,
            tools=self._offered_tools(),
            tool_choice=self._choice(),
            pictures=pictures,
            steps=steps(after),
            id=id,
        )

    def _offered_tools(self) -> tuple[Tool, ...]:
        if self.tool_choice == "none":
            return ()
        return tuple(one.tool() for one in self.tools or ())

    def _choice(self) -> str:
        """required, the name of a tool, or nothing; raises InputError."""
        if not isinstance(self.tool_choice, dict):
            return "required" if self.tool_choice == "required" else ""
        function = self.tool_choice.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        if name not in {one.function.name for one in self.tools or ()}:
            raise InputError("tool_choice names none of the tools.")
        return str(name)


class EmbeddingRequest(StrictBody):
    """The body of POST /v1/embeddings."""

    model: Name
    input: Any = Field(description="A text, or a list of texts.")
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = Field(None, ge=1)
    user: Annotated[str, Field(max_length=LONGEST_USER)] | None = None

    @field_validator("input")
    @classmethod
    def _texts(cls, given: Any) -> list[str]:
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not texts:
            raise ValueError("give a text or a list of texts")
        if any(isinstance(text, int | list) for text in texts):
            raise ValueError("token numbers are not supported; give the text itself")
        if not all(isinstance(text, str) and text for text in texts):
            raise ValueError("every text must be a string that is not empty")
        if len(texts) > MAX_INPUTS:
            raise ValueError(f"at most {MAX_INPUTS:,} texts in one request")
        return [well_formed(text) for text in texts]


def _model_level(model: str) -> Level:
    if model not in CHAT_MODELS:
        raise UnknownModel(f"There is no chat model {model!r}; use {', '.join(CHAT_MODELS)}.")
    return CHAT_MODELS[model]
