"""Which tools search documents, and what a search is told besides its query (chat-core's names)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragstone.core.filters import METADATA, And, AnyOf, Filter
from ragstone.core.foreign_passages import from_kdb
from ragstone.core.tool import Tool
from ragstone.core.turn import Ask, Hit, Plan

QUERY = "query"
COLLECTION = "collection_name"
FILTER_KEY = "metadata_filter_key"
FILTER_VALUES = "match_values"
INJECTED = (COLLECTION, FILTER_KEY, FILTER_VALUES, "top_k", "use_paragraph")
"""What the request decides, and never the chat model."""

EMPTY: tuple[Any, ...] = ([], {}, "")
"""The data of a search that found nothing; of a text there is none."""


def is_search(tool: Tool) -> bool:
    """Tell whether the tool searches documents as the knowledge base's search does, and does not
    say that it changes anything."""
    names = _properties(tool)
    return tool.changes is not True and QUERY in names and COLLECTION in names


def read_hits(data: Any, ask: Ask, plan: Plan, most_chars: int) -> tuple[Hit, ...]:
    """Return the passages in what a tool returned, if that is a result of the knowledge base, or a
    list of them."""
    data = [data] if isinstance(data, dict) else data
    if not isinstance(data, list):
        return ()
    most = ask.top_k or plan.top_k
    try:
        hits = [from_kdb(row, ask, i) for i, row in enumerate(data[:most])]
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()
    return tuple(_cut(hit, most_chars) for hit in hits)


def _cut(hit: Hit, most: int) -> Hit:
    chunk = hit.chunk
    if len(chunk.text) <= most:
        return hit
    return replace(hit, chunk=replace(chunk, text=chunk.text[:most], end=chunk.start + most))


def parameters(ask: Ask, plan: Plan) -> dict[str, Any] | None:
    """Return what every search of this question is told; None if its filter cannot be said so."""
    key, values = "", list[Any]()
    if ask.where is not None:
        found = _equals(ask.where)
        if found is None:
            return None
        key, values = found.field.removeprefix(METADATA), list(found.values)
    return {
        COLLECTION: ask.collection,
        FILTER_KEY: key,
        FILTER_VALUES: values,
        "top_k": ask.top_k or plan.top_k,
        "use_paragraph": ask.wanted.unit == "paragraph",
    }


def tool_for_model(tool: Tool) -> Tool:
    """Return the tool as the chat model sees it: without the arguments that are set for it."""
    schema = dict(tool.parameters)
    schema["properties"] = {k: v for k, v in _properties(tool).items() if k not in INJECTED}
    schema["required"] = [name for name in _required_names(tool) if name not in INJECTED]
    return replace(tool, parameters=schema)


def inject_arguments(
    tool: Tool, asked: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a search: the model's, and what the request decides."""
    taken = _properties(tool)
    arguments = {k: v for k, v in asked.items() if k not in INJECTED}
    given = {k: v for k, v in known.items() if k in taken}
    if not known[FILTER_KEY]:
        # A server may take an empty filter for one that nothing meets.
        for name in (FILTER_KEY, FILTER_VALUES):
            if name not in _required_names(tool):
                given.pop(name, None)
    return {**arguments, **given}


def _equals(where: Filter) -> AnyOf | None:
    """Return the filter as one condition on the metadata, if it is that."""
    while isinstance(where, And) and len(where.parts) == 1:
        where = where.parts[0]
    if isinstance(where, AnyOf) and where.field.startswith(METADATA):
        return where
    return None


def _properties(tool: Tool) -> Mapping[str, Any]:
    found = tool.parameters.get("properties")
    return found if isinstance(found, Mapping) else {}


def _required_names(tool: Tool) -> list[str]:
    found = tool.parameters.get("required")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
