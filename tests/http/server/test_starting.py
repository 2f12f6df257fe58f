"""A start loads what every server needs, and nothing that only some settings or files ask for."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, signal, sys
from pathlib import Path
from ragstone.http import server
from ragstone.settings import load

def ready(line):
    print(*(name for name in sys.argv[2:] if name in sys.modules))
    os.kill(os.getpid(), signal.SIGTERM)

server.serve(load(None, ragstone_data=Path(sys.argv[1]), **{"server.port": 0}), ready)
"""

OTHER_SETTINGS = {
    "anthropic", "httpx2", "jwt", "openai", "opentelemetry.sdk", "psycopg", "pydantic_ai",
    "pymongo", "qdrant_client", "redis", "xllamacpp",
}  # fmt: skip
FIRST_FILE = {
    "charset_normalizer", "docx", "lxml", "openpyxl", "pptx", "psutil", "pypdfium2", "trafilatura",
}  # fmt: skip
FIRST_QUESTION = {"onnxruntime", "tokenizers"}
FIRST_CLIENT = {"mcp"}
AN_OLD_DATABASE = {"alembic"}
LATER = OTHER_SETTINGS | FIRST_FILE | FIRST_QUESTION | FIRST_CLIENT | AN_OLD_DATABASE


def loaded(data: Path, names: set[str]) -> set[str]:
    """Which modules a server on `data` has loaded when it listens."""
    run = [sys.executable, "-c", PROGRAM, str(data), *sorted(names)]
    return set(subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())


def test_given_default_settings_then_a_first_start_loads_no_more_than_it_needs(
    tmp_path: Path,
) -> None:
    needed = {"fastapi", "ragstone.store.sql.sqlite"}
    assert loaded(tmp_path, LATER | needed) == needed
