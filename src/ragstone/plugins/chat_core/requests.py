"""What clients of chat-core send, and what it means to Ragstone."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from ragstone.core.caller import Caller
from ragstone.core.filters import METADATA, AnyOf, Filter
from ragstone.core.tool import Picture
from ragstone.core.turn import Ask, SearchOptions, SearchType
from ragstone.http.bodies import Name, NullableBody, Text

DEFAULT_TOP_K = 100
DEFAULT_TEMPERATURE = 0.2
DEFAULT_ORGANISATION = "GO_RAG"
SEARCHES = " Accepted for compatibility by gpt and vision, which search nothing."
AGENT = " Accepted for compatibility by the addresses other than pa, which call no tools."
GATEWAY = " Accepted for compatibility by the addresses other than rag and pa."

Values = Annotated[list[Name], Field(max_length=1000)]


class SessionChatRequest(NullableBody):
    """The body of POST /v2/{search_type}/query, whose address decides what answers."""

    collection_name: Name = Field(
        "default", description="Which documents to answer from." + SEARCHES
    )
    query: Text = Field(description="The question.")
    room_id: Name = Field("", description="The conversation; without one nothing is remembered.")
    user_id: Name = Field("", description="The client's own account; it widens no permission.")
    search_type: SearchType | None = Field(
        None, description="Accepted for compatibility: the address counts."
    )
    mcp_org: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,64}$")] = Field(
        DEFAULT_ORGANISATION, description="Whose tools of the gateway may be called." + GATEWAY
    )
    use_paragraph: bool = Field(
        False, description="Answer from paragraphs instead of chunks." + SEARCHES
    )
    metadata_filter_key: Name | None = Field(
        None, description="A key of the documents' metadata." + SEARCHES
    )
    metadata_filter_values: Values | None = Field(
        None,
        description="What it may be; none, or no key, filters nothing. Of a conversation only the "
        "turns with the same values are remembered.",
    )
    top_k: int = Field(
        DEFAULT_TOP_K,
        ge=1,
        le=1000,
        description="Passages to find; the best that fit are used." + SEARCHES,
    )
    temperature: float = Field(DEFAULT_TEMPERATURE, ge=0, le=2, description="Sampling.")
    is_test: bool = Field(False, description="Keep nothing of this question.")
    approves: bool = Field(
        False,
        description="Whether calls of tools that change anything wait for an approval." + AGENT,
    )

    def ask(self, search_type: SearchType, caller: Caller, id: str) -> Ask:
        """Return the question of this caller."""
        return Ask(
            question=self.query,
            principal=caller.principal,
            collection=self.collection_name or "default",
            search_type=search_type,
            user_id=self.user_id,
            room=self.room_id or None,
            top_k=self.top_k,
            where=self._filter(),
            classes=tuple(self.metadata_filter_values or ()),
            wanted=SearchOptions(unit="paragraph" if self.use_paragraph else None),
            temperature=self.temperature if "temperature" in self.model_fields_set else None,
            organisation=self.mcp_org or DEFAULT_ORGANISATION,
            searches_by_tool=search_type == "rag",
            cache=not self.is_test,
            keeps=not self.is_test,
            id=id,
            approves=self.approves,
            profile="chat_core",
        )

    def _filter(self) -> Filter | None:
        if not self.metadata_filter_key or not self.metadata_filter_values:
            return None
        return AnyOf(f"{METADATA}{self.metadata_filter_key}", tuple(self.metadata_filter_values))


class VisionRequest(SessionChatRequest):
    """The body of POST /v2/vision/query."""

    images: list[str] = Field(
        min_length=1, max_length=100, description="PNG, JPEG, GIF or WebP, as data URLs or base64."
    )

    def build_ask(self, pictures: tuple[Picture, ...], caller: Caller, id: str) -> Ask:
        """Return the question about the pictures, which documents do not answer."""
        return replace(self.ask("gpt", caller, id), pictures=pictures)
