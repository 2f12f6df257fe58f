"""Which of the HTTP dialects answer."""

from pydantic import Field

from ragstone.settings.section import Section


class DialectSettings(Section):
    """One switch for each dialect; the routes of one that is off do not exist."""

    chat_core: bool = Field(True, description="`/v2/{rag,gpt,pa}/query`.")
    pipeline: bool = Field(True, description="Chat completions with `mode`.")
    rag_v1: bool = Field(True, description="`/api/v1/rag/*`.")
    plone: bool = Field(True, description="`@rag-ask` and its kin, below any path of a site.")
    chats: bool = Field(True, description="`/chat/{chat_id}/*`.")
    openai: bool = Field(True, description="`/v1/*`.")
    retrieval: bool = Field(True, description="`/api/v1/retrieval/*`.")
    mcp: bool = Field(True, description="Tools for agents at `/mcp`.")
