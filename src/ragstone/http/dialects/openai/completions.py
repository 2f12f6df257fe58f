"""`/v1/completions`, which OpenAI calls legacy: a prompt in place of messages."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, field_validator, model_validator

from ragstone.core.answer import Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Event
from ragstone.core.limits import MAX_STOPS
from ragstone.core.turn import Turn
from ragstone.http.bodies import Name, StrictBody
from ragstone.http.dialects.openai.answers import Completion
from ragstone.http.dialects.openai.requests import (
    LONGEST_USER,
    ChatRequest,
    StreamOptions,
    decode_tokens,
    refuse,
)
from ragstone.http.streaming import Transcript

Object = dict[str, Any]

_REFUSED = {
    "echo": ((None, False), "the prompt is not repeated; leave it out"),
    "suffix": ((None, ""), "text is not filled in; leave it out"),
    "best_of": ((None, 1), "only one answer can be given; leave it out"),
    "n": ((None, 1), "only one answer can be given; leave it out"),
    "logprobs": ((None, 0), "the probabilities of tokens are not known; leave it out"),
    "logit_bias": ((None, {}), "tokens cannot be weighed; leave it out"),
}


class CompletionRequest(StrictBody):
    """The body of POST /v1/completions, with the collection that is asked at its end."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={
            "example": {"model": "ragstone", "prompt": "How long does a charge last?"}
        },
    )

    model: Name
    prompt: Any = Field(description="A question: a text, or its tokens (cl100k_base).")
    max_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, ge=0, le=1)
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    stop: Name | Annotated[list[Name], Field(max_length=MAX_STOPS)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: Annotated[str, Field(max_length=LONGEST_USER)] | None = None
    collection: Name | None = Field(None, description="Which documents to answer from.")

    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, given: Any) -> Any:
        if isinstance(given, dict):
            refuse(given, _REFUSED)
        return given

    @field_validator("prompt")
    @classmethod
    def _one_text(cls, given: Any) -> str:
        prompt = given[0] if isinstance(given, list) and len(given) == 1 else given
        if isinstance(prompt, list) and prompt and all(type(item) is int for item in prompt):
            prompt = decode_tokens(prompt)
        if not isinstance(prompt, str):
            raise ValueError("only one prompt can be answered: send a text, or its tokens")
        return prompt

    def chat(self) -> ChatRequest:
        """Return the chat request that means the same."""
        fields = self.model_dump(exclude={"prompt"}, exclude_none=True)
        messages = [{"role": "user", "content": self.prompt}]
        return ChatRequest.model_validate({**fields, "messages": messages})


class LegacyCompletion(Transcript):
    """Makes the objects of a legacy completion of those of the chat completion."""

    def __init__(self, completion: Completion) -> None:
        self._completion = completion

    def whole(self, turn: Turn) -> Object:
        """Return the answer in one piece."""
        made = self._completion.whole(turn)
        (choice,) = made["choices"]
        return _as_text(made, choice["message"]["content"] or "", choice["finish_reason"])

    def encode(self, event: Event) -> list[Object]:
        """`streaming.Transcript`."""
        made = []
        for chunk in self._completion.encode(event):
            if not chunk["choices"]:
                made.append({**chunk, "object": "text_completion"})
                continue
            (choice,) = chunk["choices"]
            text, finish = choice["delta"].get("content") or "", choice["finish_reason"]
            if text or finish:
                made.append(_as_text(chunk, text, finish))
        return made

    def encode_failure(self, error: RagstoneError, used: Usage) -> Object:
        """`streaming.Transcript`."""
        return self._completion.encode_failure(error, used)


def _as_text(made: Object, text: str, finish: str | None) -> Object:
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
    return {**made, "object": "text_completion", "choices": [choice]}
