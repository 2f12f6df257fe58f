"""The messages and tools of OpenAI's API: the question, and its tool calls."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from ragstone.core.errors import InputError, TooLarge
from ragstone.core.tool import ANY_ARGUMENTS, Picture, Tool, ToolCall, ToolResult, ToolStep
from ragstone.core.turn import Message
from ragstone.http.addresses import without_source_list
from ragstone.http.bodies import StrictBody, Text
from ragstone.http.dialects.pictures import of_urls


class ImageUrl(StrictBody):
    """Where an image is: in the URL itself."""

    url: str = Field(description="PNG, JPEG, GIF or WebP as a data URL; nothing is fetched.")
    detail: str | None = Field(None, description="Not used: the model decides.")


class ContentPart(StrictBody):
    """A part of a message's content: text, or an image."""

    type: str = Field(description="text or image_url.")
    text: Text | None = None
    image_url: ImageUrl | None = None


def _kind(content: Any) -> str:
    return "parts" if isinstance(content, list) else "text"


# Told apart by hand, as an error in a part would else be reported as "should be a text".
Content = Annotated[
    Annotated[Text, Tag("text")] | Annotated[list[ContentPart], Tag("parts")], Discriminator(_kind)
]


class CalledFunction(StrictBody):
    """A call that a model requests: function and arguments."""

    name: Text
    arguments: Text = "{}"


class MessageToolCall(StrictBody):
    """A call of a tool in a message of the assistant."""

    id: Text
    function: CalledFunction


class ChatMessage(StrictBody):
    """One message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content | None = None
    tool_calls: list[MessageToolCall] | None = None
    tool_call_id: Text | None = None

    @property
    def text(self) -> str:
        """The content's text, without its images; raises InputError for any other part."""
        if not isinstance(self.content, list):
            return self.content or ""
        other = [part.type for part in self.content if part.type not in ("text", "image_url")]
        if other:
            raise InputError(
                f"A message holds a part of type {other[0][:50]!r}; only the types text and "
                "image_url can be answered."
            )
        return "\n".join(part.text or "" for part in self.content if part.type == "text")

    @property
    def images(self) -> list[str]:
        """The addresses of the content's images, empty where one has none."""
        parts = self.content if isinstance(self.content, list) else []
        found = (part.image_url for part in parts if part.type == "image_url")
        return [image.url if image else "" for image in found]

    @property
    def only_text(self) -> str:
        """The content as text; raises InputError if a part is something else."""
        if self.images:
            raise InputError(
                f"A message of the role {self.role} holds an image_url; "
                "images belong into messages of the role user."
            )
        return self.text


class Function(StrictBody):
    """A function as a client offers it."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: Text | None = Field(None, max_length=10_000)
    parameters: dict[str, Any] | None = None


class OfferedTool(StrictBody):
    """A tool that the client can run."""

    type: Literal["function"]
    function: Function

    def tool(self) -> Tool:
        """Return the tool as chat models are offered it."""
        one = self.function
        return Tool(one.name, one.description or "", one.parameters or dict(ANY_ARGUMENTS))


def split_question(
    messages: Sequence[ChatMessage],
) -> tuple[Sequence[ChatMessage], ChatMessage, Sequence[ChatMessage]]:
    """Return the messages before the question, the question, and the calls of tools for it.

    Raises InputError for a conversation that ends in neither a question nor the result of a call.
    """
    if messages[-1].role not in ("user", "tool"):
        raise InputError(
            "The last message must have the role user; it is the question. "
            "After calls of tools, it has the role tool."
        )
    users = [place for place, message in enumerate(messages) if message.role == "user"]
    if not users:
        raise InputError("The conversation holds no message of the role user. Add the question.")
    return messages[: users[-1]], messages[users[-1]], messages[users[-1] + 1 :]


def steps(messages: Sequence[ChatMessage]) -> tuple[ToolStep, ...]:
    """Return the calls of tools for a question with their results; raises InputError for a result
    of no call, and for a call without its result."""
    made: list[ToolStep] = []
    for message in messages:
        if message.tool_calls:
            called = ((item.id, item.function) for item in message.tool_calls)
            calls = tuple(ToolCall(id, what.name, what.arguments) for id, what in called)
            made.append(ToolStep(calls, text=message.only_text))
        elif message.role == "tool":
            made[-1:] = [_with_result(made[-1] if made else ToolStep(()), message)]
    for step in made:
        if {call.id for call in step.calls} != {result.call_id for result in step.results}:
            raise InputError(
                "A call of a tool has no message of the role tool with its result. Add it."
            )
    return tuple(made)


def _with_result(step: ToolStep, message: ChatMessage) -> ToolStep:
    names = {call.id: call.name for call in step.calls}
    call_id = message.tool_call_id or ""
    if call_id not in names:
        raise InputError(
            "A message of the role tool belongs to no call before it. Correct its tool_call_id."
        )
    result = ToolResult(call_id, names[call_id], message.only_text)
    return ToolStep(step.calls, (*step.results, result), step.text)


def question_images(question: ChatMessage) -> tuple[Picture, ...]:
    """The images of the question; raises InputError for what is none, as OpenAI's servers do."""
    try:
        return of_urls(question.images)
    except TooLarge as error:
        raise InputError(error.message) from error


def history(messages: Sequence[ChatMessage]) -> list[Message]:
    """Return what was said before. Calls of tools for earlier questions are left out, and so are
    their images, which clients send again with every question."""
    roles: dict[str, Literal["user", "assistant"]] = {"user": "user", "assistant": "assistant"}
    known = [message for message in messages if message.role in roles]
    return [Message(roles[m.role], text) for m in known if (text := _message_text(m))]


def guidance(messages: Sequence[ChatMessage]) -> str:
    """What the client's program wants of the answer: its messages of system and developer."""
    said = (message.only_text for message in messages if message.role in ("system", "developer"))
    return "\n\n".join(text for text in said if text.strip())


def _message_text(message: ChatMessage) -> str:
    """The text of a message; an answer without the list of its sources, which is nothing said."""
    return without_source_list(message.text) if message.role == "assistant" else message.text
