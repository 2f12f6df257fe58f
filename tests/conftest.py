"""What suites of several folders run against, and which tests `make test-fast` leaves out."""

from pathlib import Path

import pytest

from tests.conformance.postgres_server import postgres
from tests.databases import all_postgres_databases, open_state, postgres_databases, state

__all__ = ["all_postgres_databases", "open_state", "postgres", "postgres_databases", "state"]

HERE = Path(__file__).parent

WITH_SERVERS = ("backup", "conformance", "dialects", "e2e", "server", "terminal")
"""Folders whose tests start servers or whole Ragstones."""

LONG = (
    "ingest/test_chunk.py",
    "ingest/test_handed.py",
    "ingest/test_parse_text.py",
    "ingest/test_pipeline.py",
    "ingest/test_plone_sync.py",
    "library/test_function_calling.py",
    "models/test_chat.py",
    "models/test_embedders.py",
    "models/test_failures.py",
    "models/test_gguf.py",
    "models/test_standing_by.py",
    "stages/test_recall.py",
    "stages/test_searching.py",
    "state/test_move.py",
    "test_conversations.py",
    "test_remote.py",
)
"""Files elsewhere whose tests do, or read a lot."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        place = item.path.relative_to(HERE)
        if place.parts[0] in WITH_SERVERS or place.as_posix() in LONG:
            item.add_marker("slow")
