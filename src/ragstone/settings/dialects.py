"""Which of the HTTP dialects answer."""

from pydantic import Field

from ragstone.settings.section import Names, Section


class DialectSettings(Section):
    """The HTTP APIs for clients of other systems, OpenAI's and MCP among them."""

    off: Names = Field(
        (),
        description="Dialects that do not answer, by comma: openai (`/v1/*`), mcp, chat_core, "
        "pipeline, rag_v1, plone, chats, retrieval, and those of other packages. The routes of one "
        "that is off do not exist.",
    )
