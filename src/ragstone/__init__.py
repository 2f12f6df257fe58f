"""Ragstone answers questions from your own documents and shows where every sentence comes from.

    import ragstone

    with ragstone.Client("./data") as rag:
        rag.ingest("~/contracts")
        print(rag.ask("When does the lease end?"))

`AsyncClient` is the same for asyncio. What is listed in `__all__` is the Python API; docs/python.md
explains it.
"""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

# ONNX Runtime keeps events with an id of this machine and sends them to its maker, unless this
# says otherwise before it is loaded. Processes that this one starts inherit it.
_SILENT = "ORT_DISABLE_TELEMETRY"
_told_too_late = "onnxruntime" in sys.modules and os.environ.get(_SILENT) != "1"
os.environ[_SILENT] = "1"

if TYPE_CHECKING:
    from ragstone import errors as errors
    from ragstone import filters as filters
    from ragstone.api.answer import Answer as Answer
    from ragstone.api.client import AnswerEvent as AnswerEvent
    from ragstone.api.client import AsyncClient as AsyncClient
    from ragstone.api.params import AskParams as AskParams
    from ragstone.api.params import SearchParams as SearchParams
    from ragstone.api.sync import Client as Client
    from ragstone.core.answer import Statement as Statement
    from ragstone.core.answer import Usage as Usage
    from ragstone.core.answer import Verdict as Verdict
    from ragstone.core.conversation import Room as Room
    from ragstone.core.conversation import StoredTurn as StoredTurn
    from ragstone.core.errors import RagstoneError as RagstoneError
    from ragstone.core.events import AgentStep as AgentStep
    from ragstone.core.events import Checked as Checked
    from ragstone.core.events import Note as Note
    from ragstone.core.events import Rewritten as Rewritten
    from ragstone.core.events import Sources as Sources
    from ragstone.core.events import StageEnded as StageEnded
    from ragstone.core.events import StageStarted as StageStarted
    from ragstone.core.events import Thinking as Thinking
    from ragstone.core.events import Token as Token
    from ragstone.core.records import Document as Document
    from ragstone.core.source import Source as Source
    from ragstone.service import CollectionSummary as CollectionSummary
    from ragstone.service import Overview as Overview
    from ragstone.service import Progress as Progress
    from ragstone.service.jobs import JobView as JobView
    from ragstone.service.reading import DocumentText as DocumentText

__version__ = "0.1.0"

_PLACES = {
    "ragstone.core.answer": ("Statement", "Usage", "Verdict"),
    "ragstone.api.answer": ("Answer",),
    "ragstone.api.client": ("AnswerEvent", "AsyncClient"),
    "ragstone.api.params": ("AskParams", "SearchParams"),
    "ragstone.api.sync": ("Client",),
    "ragstone.core.conversation": ("StoredTurn", "Room"),
    "ragstone.core.errors": ("RagstoneError",),
    "ragstone.core.events": (
        "AgentStep",
        "Checked",
        "Note",
        "Rewritten",
        "Sources",
        "StageEnded",
        "StageStarted",
        "Thinking",
        "Token",
    ),
    "ragstone.core.records": ("Document",),
    "ragstone.service": ("CollectionSummary", "Overview", "Progress"),
    "ragstone.service.jobs": ("JobView",),
    "ragstone.service.reading": ("DocumentText",),
    "ragstone.core.source": ("Source",),
}
"""Where the names come from: none is imported before it is used."""

_MODULES = {"errors": "ragstone.errors", "filters": "ragstone.filters"}

__all__ = sorted(
    ["__version__", *_MODULES, *(name for names in _PLACES.values() for name in names)]
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    for place, names in _PLACES.items():
        if name in names:
            return getattr(import_module(place), name)
    raise AttributeError(f"module 'ragstone' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
