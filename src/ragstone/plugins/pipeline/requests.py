"""Requests of the query pipeline, translated to questions."""

from typing import Annotated, Literal

from pydantic import Field

from ragstone.core.caller import Caller
from ragstone.core.errors import InputError
from ragstone.core.filters import path_filter
from ragstone.core.turn import Ask, Level, SearchOptions, SearchType
from ragstone.http.bodies import Name, NullableBody, Text
from ragstone.http.dialects.pictures import pictures
from ragstone.http.dialects.strategies import StrategyName, find_strategy

Mode = Literal["chat", "general", "agent", "vision"]

ANSWERED_FROM: dict[Mode, SearchType] = {
    "chat": "rag",
    "general": "gpt",
    "agent": "pa",
    "vision": "gpt",
}
"""What each mode answers from: documents, the conversation alone, documents and tools."""


class PipelineRequest(NullableBody):
    """The body of a chat completion."""

    message: Text = Field(description="The user's question.")
    session_id: Name | None = Field(None, description="The conversation that it belongs to.")
    mode: Mode = Field("chat", description="Documents, no documents, tools too, or images.")
    collection_filter: Name | Annotated[list[Name], Field(max_length=100)] | None = Field(
        None, description="Which collection to search."
    )
    folder_id: Annotated[Text, Field(max_length=4096)] | None = Field(
        None, description="A folder of the collection, by its path."
    )
    intelligence_level: Level = Field("standard", description="How much work to spend.")
    strategy: StrategyName | None = None
    temperature_override: float | None = Field(None, ge=0, le=2, description="Sampling.")
    enable_cot: bool | None = Field(None, description="Whether it is reasoned out first.")
    enable_verification: bool | None = Field(None, description="Whether the answer is judged.")
    ensemble_voting: bool | None = Field(None, description="Whether several answers vote.")
    images: list[str] = Field(
        [], max_length=100, description="For mode vision: data URLs or base64."
    )
    stream: bool = Field(False, description="Whether the answer comes as events.")
    mcp_org: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,64}$")] = Field(
        "", description="For mode agent: whose tools of the gateway may be called."
    )
    approves: bool = Field(
        False,
        description="For mode agent with stream: whether calls of tools that change anything wait "
        "for an approval.",
    )

    def ask(self, caller: Caller, id: str) -> Ask:
        """Return the question of this caller; raises InputError, TooLarge."""
        if self.images and self.mode != "vision":
            raise InputError("Images are looked at in the mode vision.")
        if self.mode == "vision" and not self.images:
            raise InputError("The mode vision needs images: data URLs or base64 in images.")
        wanted = find_strategy(self.strategy)
        return Ask(
            question=self.message,
            principal=caller.principal,
            collection=self._collection(),
            level=self.intelligence_level,
            search_type=ANSWERED_FROM[self.mode],
            strategy=wanted.strategy,
            wanted=SearchOptions(rewrite=wanted.rewrite),
            where=path_filter(self.folder_id) if self.folder_id else None,
            room=self.session_id or None,
            temperature=self.temperature_override,
            reasons=self.enable_cot,
            verifies=wanted.verifies or self.enable_verification,
            votes=self.ensemble_voting,
            pictures=pictures(self.images),
            one_session=True,
            organisation=self.mcp_org,
            # Who gets the answer in one piece sees no call that waits.
            approves=self.approves and self.stream,
            id=id,
            profile="pipeline",
            streams=self.stream,
        )

    def _collection(self) -> str:
        named = self.collection_filter
        names = [named] if isinstance(named, str) else named or []
        if len(names) > 1:
            raise InputError("A question is answered from one collection; name one of them.")
        return (names[0] if names else "") or "default"
