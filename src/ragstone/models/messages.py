"""A question with everything around it as pydantic-ai's messages, and tools as its definitions."""

import base64
from collections.abc import Sequence

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from ragstone.core.tool import Tool, ToolStep
from ragstone.core.turn import Ask, Message


def messages(ask: Ask, before: Sequence[Message], system: str) -> list[ModelMessage]:
    """The system's text, the conversation, the question, and the tool calls made for it."""
    made: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(system)])]
    for message in before:
        if message.role == "user":
            made.append(ModelRequest(parts=[UserPromptPart(message.text)]))
        else:
            made.append(ModelResponse(parts=[TextPart(message.text)]))
    made.append(ModelRequest(parts=[UserPromptPart(_question(ask))]))
    for step in ask.steps:
        made += _step(step)
    return made


def definitions(tools: Sequence[Tool]) -> list[ToolDefinition]:
    """The tools as a model is offered them."""
    return [
        ToolDefinition(
            name=tool.name,
            parameters_json_schema=dict(tool.parameters),
            description=tool.description or None,
            # Schemas are somebody else's: nothing is to be asked of them that they do not promise.
            strict=False,
        )
        for tool in tools
    ]


def _question(ask: Ask) -> str | list[UserContent]:
    if not ask.pictures:
        return ask.question
    shown = (
        BinaryContent(base64.b64decode(picture.base64), media_type=picture.media_type)
        for picture in ask.pictures
    )
    return [ask.question, *shown]


def _step(step: ToolStep) -> list[ModelMessage]:
    text = [TextPart(step.text)] if step.text else []
    calls = [ToolCallPart(call.name, call.arguments, call.id) for call in step.calls]
    results = [ToolReturnPart(result.name, result.text, result.call_id) for result in step.results]
    return [ModelResponse(parts=[*text, *calls]), ModelRequest(parts=results)]
