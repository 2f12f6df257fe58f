"""Requests of the VoiceHelper document to `/api/v1/rag`, translated to questions."""

import logging
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ragstone.answer.citation_list import ListFormat
from ragstone.core.caller import Caller
from ragstone.core.errors import InputError
from ragstone.core.tool import Tool
from ragstone.core.turn import Ask, Level, Preference, Rewriting, SearchOptions
from ragstone.http.bodies import StrictBody, Text
from ragstone.http.dialects.strategies import StrategyName, find_strategy
from ragstone.http.identity import narrow_principal
from ragstone.http.responses import well_formed

log = logging.getLogger(__name__)

DEFAULT = "default"
METHODS: dict[str, Rewriting] = {
    "multi": "multi",
    "hyde": "hyde",
    "none": "none",
    "decompose": "decompose",
    "decomposition": "decompose",
    "expand": "keywords",
    "expansion": "keywords",
    "step_back": "step_back",
    "step-back": "step_back",
    "auto": "auto",
}
"""The document's methods, and those that it names beside them."""

COMPARING: Rewriting = "multi"
"""How a question is searched by HYBRID, the document's strategy for what several places answer."""

GENERATE_TOKENS = 1000
"""Longest answer of /generate, in tokens, unless the operator sets one; that of /query is the
profile's."""

MAX_QUERIES = 50


def _valid_query(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty; write what you want to know")
    return well_formed(text)


Query = Annotated[str, AfterValidator(_valid_query), Field(min_length=1, max_length=5000)]
ShortQuery = Annotated[str, AfterValidator(_valid_query), Field(min_length=1, max_length=2000)]
Id = Annotated[Text, Field(min_length=1, max_length=64)]
Name = Annotated[Text, Field(min_length=1, max_length=255)]
Collection = Annotated[Name | None, Field(description="Which documents to answer from.")]


class FunctionSpec(StrictBody):
    """A function that the model may call, as OpenAI's API spells it."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: Text = Field("", max_length=4096)
    parameters: dict[str, Any] = Field({"type": "object", "properties": {}})


class FunctionName(StrictBody):
    """The one function that must be called."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")


class _Search(StrictBody):
    """How any query wants to be searched and answered, beside what the document prints."""

    level: Level = Field("standard", description="How much work to spend.")
    strategy: StrategyName | None = None
    prefer: Preference | None = Field(None, description="What counts more: accuracy or speed.")
    self_rag: bool | None = Field(
        None, description="Whether the answer is judged and tried again; the settings decide."
    )

    def search_fields(self, rewrite: Rewriting | None) -> dict[str, Any]:
        """Return these fields as `Ask` has them; `rewrite` is what the request names besides."""
        wanted = find_strategy(self.strategy)
        hybrid = COMPARING if wanted.strategy == "hybrid" else None
        return {
            "level": self.level,
            "strategy": wanted.strategy,
            "prefer": self.prefer,
            "verifies": wanted.verifies if self.self_rag is None else self.self_rag,
            "wanted": SearchOptions(rewrite=rewrite or wanted.rewrite or hybrid),
        }


class _How(_Search):
    """What queries of a batch share."""

    tenant_id: Name | None = Field(None, description="Narrows; never widens what may be read.")
    rewrite_method: Name = Field(
        "multi", description="multi, hyde, none, decompose, expand, step_back, or auto."
    )
    top_k: int = Field(10, ge=1, le=50, description="Passages for each query.")
    include_citations: bool = Field(True, description="Whether to return the sources cited.")
    citation_format: ListFormat = Field(
        "markdown",
        description="How formatted_citations is written: markdown, html or plain. Accepted for "
        "compatibility in a stream, which has only citations.",
    )
    collection: Collection = None


class RagRequest(_How):
    """The body of POST /api/v1/rag/generate and /generate/stream."""

    query: Query
    stream: bool = Field(
        False,
        description="Whether to answer as /generate/stream does, where it is accepted for "
        "compatibility.",
    )
    functions: list[FunctionSpec] | None = Field(None, max_length=64)
    function_call: str | FunctionName | None = None

    def ask(
        self,
        caller: Caller,
        id: str,
        streamed: bool = False,
        max_tokens: int | None = GENERATE_TOKENS,
    ) -> Ask:
        """The question. A stream that names no method is not rewritten, so that it begins sooner.

        Raises Forbidden, UnknownCollection, InputError.
        """
        collection = self.collection or DEFAULT
        principal = narrow_principal(caller, collection, self.tenant_id)
        return Ask(
            question=self.query,
            principal=principal,
            collection=collection,
            top_k=self.top_k,
            **self.search_fields(self._rewrite(streamed)),
            max_tokens=max_tokens,
            tools=self._read_tools(),
            tool_choice=self._choice(),
            id=id,
            profile="rag_v1",
            streams=streamed,
        )

    def _rewrite(self, streamed: bool) -> Rewriting | None:
        """Return the method that the request names, else that of its strategy, else the default."""
        if "rewrite_method" in self.model_fields_set:
            return _method(self.rewrite_method)
        if self.strategy:
            return None
        return "none" if streamed else _method(self.rewrite_method)

    def _read_tools(self) -> tuple[Tool, ...]:
        """Return the functions that may be called."""
        if self.function_call == "none":
            return ()
        return tuple(Tool(f.name, f.description, f.parameters) for f in self.functions or ())

    def _choice(self) -> str:
        """required, the name of a function, or nothing; raises InputError."""
        given = self.function_call
        choice = given.name if isinstance(given, FunctionName) else given or "auto"
        if not self.functions or choice in ("auto", "none"):
            return ""
        if choice != "required" and choice not in {function.name for function in self.functions}:
            raise InputError("function_call names none of the functions. Name one of them.")
        return choice


class BatchRequest(_How):
    """The body of POST /api/v1/rag/batch: texts, or bodies of /generate; what is set beside them
    holds for those that do not say otherwise."""

    queries: list[Any] = Field(min_length=1, max_length=MAX_QUERIES)

    def request(self, query: Any) -> RagRequest:
        """Return one of them; raises pydantic's ValidationError."""
        shared = {name: getattr(self, name) for name in self.model_fields_set - {"queries"}}
        own = query if isinstance(query, dict) else {"query": query}
        return RagRequest.model_validate({**shared, **own})


class QueryRequest(_Search):
    """The body of POST /api/v1/rag/query and /query-stream."""

    query: ShortQuery
    conversation_id: Id | None = Field(None, description="Whose history the question belongs to.")
    tenant_id: Id | None = Field(None, description="Narrows; never widens what may be read.")
    mode: Literal["simple", "advanced", "precise"] = "simple"
    top_k: int = Field(5, ge=1, le=20, description="Passages to answer from.")
    temperature: float = Field(0.7, ge=0, le=2)
    include_sources: bool = Field(True, description="Whether to return sources and citations.")
    collection: Collection = None

    def ask(self, caller: Caller, id: str, streamed: bool = False) -> Ask:
        """Return the question; raises Forbidden, UnknownCollection."""
        collection = self.collection or DEFAULT
        principal = narrow_principal(caller, collection, self.tenant_id)
        return Ask(
            question=self.query,
            principal=principal,
            collection=collection,
            mode=self._get_field("mode"),
            top_k=self._get_field("top_k"),
            **self.search_fields(None),
            room=self.conversation_id,
            temperature=self._get_field("temperature"),
            id=id,
            profile="rag_v1",
            streams=streamed,
        )

    def _get_field(self, name: str) -> Any:
        """Return a field that the request has; the settings' default is that of the profile."""
        return getattr(self, name) if name in self.model_fields_set else None


def _method(name: str) -> Rewriting:
    method = METHODS.get(name)
    if method is None:
        log.warning("The rewrite_method %.50r is unknown; the query is not rewritten", name)
    return method or "none"
