"""What clients send to the OpenAI-compatible API, and what it means to Ragstone.

Texts that come as tokens: OpenAI's own clients for embeddings send these.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator

from ragstone.core.conversation import room_name, user_name
from ragstone.core.errors import InputError, InvalidRoom, UnknownModel
from ragstone.core.limits import MAX_MESSAGES, MAX_STOPS
from ragstone.core.tool import Tool
from ragstone.core.turn import (
    LEVELS,
    Ask,
    JsonFormat,
    Level,
    Mode,
    Preference,
    Rewriting,
    Sampling,
    SearchOptions,
)
from ragstone.http.bodies import Name, StrictBody, Text
from ragstone.http.dialects.openai.messages import (
    ChatMessage,
    OfferedTool,
    guidance,
    history,
    question_images,
    split_question,
    steps,
)
from ragstone.http.responses import well_formed
from ragstone.language.json_answer import schema_error

ENCODING = "cl100k_base"
"""That of OpenAI's embedding models, which clients take for models that they do not know."""

MAX_TOKENS = 100_000
"""Tokens of one text."""


def decode_tokens(tokens: list[Any]) -> str:
    """Return the text of tokens; raises ValueError."""
    if not tokens or len(tokens) > MAX_TOKENS or not all(type(token) is int for token in tokens):
        raise ValueError(f"the tokens of a text are 1 to {MAX_TOKENS:,} whole numbers")
    tokenizer = _tokenizer()
    if tokenizer is None:
        raise ValueError(
            "tokens need the extra ragstone[tokens] on the server; give the texts themselves "
            "(LangChain: check_embedding_ctx_length=False)"
        )
    try:
        return str(tokenizer.decode_lossy(tokens))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"these are no tokens of {ENCODING}") from error


@cache
def _tokenizer() -> Any:
    try:
        from splintr import Tokenizer
    except ImportError:
        return None
    return Tokenizer.from_pretrained(ENCODING)


CHAT_MODELS: dict[str, Level] = {
    "ragstone": "standard",
    **{f"ragstone-{level}": level for level in LEVELS},
}
"""The models of chat completions: one per level, and a plain name for the usual one."""

CHAT_EXAMPLE: dict[str, Any] = {
    "model": "ragstone",
    "messages": [{"role": "user", "content": "How long does a full battery charge last?"}],
}
EMBEDDING_EXAMPLE: dict[str, Any] = {"model": "all-MiniLM-L6-v2", "input": ["One text."]}

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


class JsonSchema(StrictBody):
    """The schema of an answer in JSON."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: Text | None = None
    json_schema: dict[str, Any] | None = Field(None, alias="schema")
    strict: bool | None = None

    @field_validator("json_schema")
    @classmethod
    def _is_schema(cls, given: dict[str, Any] | None) -> dict[str, Any] | None:
        if given is not None and (wrong := schema_error(given)):
            raise ValueError(f"this is not a JSON schema: {wrong}")
        return given


class ResponseFormat(StrictBody):
    """Whether the answer is text or JSON."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None

    @model_validator(mode="after")
    def _has_its_schema(self) -> "ResponseFormat":
        if self.type == "json_schema" and self.json_schema is None:
            raise ValueError("json_schema needs a json_schema with a name and a schema")
        return self

    @property
    def json_format(self) -> JsonFormat | None:
        """The form of the answer; None for text."""
        if self.type == "text":
            return None
        if self.json_schema is None:
            return JsonFormat()
        return JsonFormat(self.json_schema.name, self.json_schema.json_schema)


REFUSED: Mapping[str, tuple[Any, str]] = {
    "logprobs": ((None, False), "the probabilities of tokens are not known; leave it out"),
    "top_logprobs": ((None, 0), "the probabilities of tokens are not known; leave it out"),
    "logit_bias": ((None, {}), "tokens cannot be weighed; leave it out"),
    "audio": ((None,), "answers are text; leave it out"),
    "modalities": ((None, ["text"]), "answers are text; leave it out, or send ['text']"),
    "functions": ((None, []), "functions have become tools; send them as tools"),
    "function_call": ((None, "none", "auto"), "functions have become tools; use tool_choice"),
    "store": ((None, False), "chat completions are not stored; send a room to keep a conversation"),
    "web_search_options": ((None,), "the web is not searched, only the documents; leave it out"),
    "background": ((None, False), "there are no answers in the background; leave it out"),
}
"""What OpenAI's API has and this one has not: with which values it means nothing, and what is said
to any other."""


class RefusedField(ValueError):
    """A field that cannot be had."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field} cannot be had: {why}")
        self.field = field


def refuse(given: Mapping[str, Any], refused: Mapping[str, tuple[Any, str]] = REFUSED) -> None:
    """Raise RefusedField for one that has a value other than a harmless one."""
    for name, (harmless, why) in refused.items():
        if given.get(name) not in harmless:
            raise RefusedField(name, why)


class ChatRequest(StrictBody):
    """The body of POST /v1/chat/completions, with twelve fields of ours at the end."""

    model_config = ConfigDict(strict=True, json_schema_extra={"example": CHAT_EXAMPLE})

    model: Name
    messages: list[ChatMessage] = Field(min_length=1, max_length=MAX_MESSAGES)
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stop: Name | Annotated[list[Name], Field(max_length=MAX_STOPS)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    user: Annotated[str, Field(max_length=LONGEST_USER)] | None = None
    tools: list[OfferedTool] | None = Field(None, max_length=128)
    tool_choice: Literal["none", "auto", "required"] | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    top_p: float | None = Field(None, ge=0, le=1)
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    top_k: int | None = Field(
        None, ge=-1, le=1_000_000, description="Of the chat model's sampling, as vLLM has it."
    )

    room: RoomId | None = Field(None, description="The conversation to continue and to keep it in.")
    conversation: RoomId | None = Field(None, description="The same, as other APIs call it.")
    collection: Name | None = Field(None, description="Which documents to answer from.")
    level: Level | None = Field(None, description="How much work to spend; overrides the model.")
    passages: int | None = Field(None, ge=1, le=100, description="Passages to answer from.")
    prefer: Preference | None = Field(None, description="What counts more: accuracy or speed.")
    mode: Mode | None = Field(None, description="How the answer is worded.")
    rewrite: Rewriting | None = Field(None, description="In which other words to search it too.")
    list_sources: bool | None = Field(
        None, description="Whether the answer ends with a list of what it cites."
    )
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

    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, given: Any) -> Any:
        if isinstance(given, dict):
            refuse(given)
        return given

    @property
    def wants_json(self) -> bool:
        """Whether the answer is to be JSON."""
        return self.response_format is not None and self.response_format.json_format is not None

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
        before, question, after = split_question(self.messages)
        stop = [self.stop] if isinstance(self.stop, str) else self.stop or []
        pictures = question_images(question)
        return Ask(
            question=question.text,
            collection=self.collection or "default",
            # What is in an image stands in no document.
            search_type="gpt" if pictures else "rag",
            level=self.level or _model_level(self.model),
            top_k=self.passages,
            prefer=self.prefer,
            mode=self.mode,
            wanted=SearchOptions(rewrite=self.rewrite),
            history=tuple(history(before)),
            guidance=guidance(self.messages),
            sampling=Sampling(
                top_p=self.top_p,
                top_k=self.top_k if self.top_k and self.top_k > 0 else None,
                frequency_penalty=self.frequency_penalty,
                presence_penalty=self.presence_penalty,
                seed=self.seed,
                parallel_tool_calls=self.parallel_tool_calls,
            ),
            json=self._json(bool(pictures)),
            room=self.room or self.conversation,
            user_id=self.user_id,
            temperature=self.temperature,
            max_tokens=self.max_completion_tokens or self.max_tokens,
            stop=tuple(text for text in stop if text),
            cache=self.cache is not False,
            tools=self._read_tools(),
            tool_choice=self._choice(),
            pictures=pictures,
            steps=steps(after),
            id=id,
        )

    def _json(self, pictures: bool) -> JsonFormat | None:
        """Return the wanted form of JSON; raises InputError where it cannot be had."""
        wanted = self.response_format.json_format if self.response_format else None
        if wanted is not None and pictures:
            raise InputError("What is said of an image cannot be JSON: leave response_format out.")
        return wanted

    def _read_tools(self) -> tuple[Tool, ...]:
        if self.tool_choice == "none":
            return ()
        return tuple(tool.tool() for tool in self.tools or ())

    def _choice(self) -> str:
        """required, the name of a tool, or nothing; raises InputError."""
        if not isinstance(self.tool_choice, dict):
            return "required" if self.tool_choice == "required" else ""
        function = self.tool_choice.get("function")
        name = function.get("name") if isinstance(function, dict) else self.tool_choice.get("name")
        if name not in {tool.function.name for tool in self.tools or ()}:
            raise InputError("tool_choice names none of the tools. Name one of them.")
        return str(name)


class EmbeddingRequest(StrictBody):
    """The body of POST /v1/embeddings."""

    model_config = ConfigDict(strict=True, json_schema_extra={"example": EMBEDDING_EXAMPLE})

    model: Name
    input: Any = Field(
        description="A text or a list of texts, or the tokens (cl100k_base) of one or several."
    )
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = Field(None, ge=1)
    user: Annotated[str, Field(max_length=LONGEST_USER)] | None = None

    @field_validator("input")
    @classmethod
    def _texts(cls, given: Any) -> list[str]:
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not texts:
            raise ValueError("give a text or a list of texts")
        if len(texts) > MAX_INPUTS and not isinstance(texts[0], int):
            raise ValueError(f"at most {MAX_INPUTS:,} texts in one request")
        if all(isinstance(item, int) for item in texts):
            texts = [decode_tokens(texts)]
        elif all(isinstance(item, list) for item in texts):
            texts = [decode_tokens(item) for item in texts]
        if not all(isinstance(text, str) and text for text in texts):
            raise ValueError("every text must be a string that is not empty")
        return [well_formed(text) for text in texts]


def _model_level(model: str) -> Level:
    if model not in CHAT_MODELS:
        raise UnknownModel(f"There is no chat model {model!r}; use {', '.join(CHAT_MODELS)}.")
    return CHAT_MODELS[model]
