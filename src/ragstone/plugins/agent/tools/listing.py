"""Tools as a gateway lists them, made fit to be offered to a chat model."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragstone.core.tool import Tool
from ragstone.language.unicode import replace_surrogates

NAME_CHARS = 64
"""Longest name of a tool that OpenAI's API takes."""

DESCRIPTION_CHARS = 1000
SCHEMA_CHARS = 10_000
"""A tool whose arguments take more to describe is not offered."""

_ODD = re.compile(r"[^a-zA-Z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Listed:
    """The tools by the names that they are offered under, and what those mean at the gateway."""

    tools: tuple[Tool, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


def collect_tools(found: Sequence[Any], read_only: Collection[str] = ()) -> Listed:
    """The tools of MCP's list that can be offered, each under a name of its own. Those whose names
    are `read_only` change nothing, whatever they say."""
    tools, names = list[Tool](), dict[str, str]()
    for item in found:
        schema = item.input_schema
        name = _ODD.sub("_", item.name)[:NAME_CHARS]
        if not name or name in names or len(json.dumps(schema, default=str)) > SCHEMA_CHARS:
            continue
        description = replace_surrogates(" ".join((item.description or "").split()))[
            :DESCRIPTION_CHARS
        ]
        changes = False if item.name in read_only else _changes(item.annotations)
        tools.append(Tool(name, description, schema, changes))
        names[name] = item.name
    return Listed(tuple(tools), names)


def _changes(annotations: Any) -> bool | None:
    """Whether a tool says that it changes anything, None where it says neither."""
    if annotations is None:
        return None
    if annotations.destructive_hint:
        return True
    return None if annotations.read_only_hint is None else not annotations.read_only_hint
