"""What a server holds after hostile files: `python -m benchmarks hostile`.

HOSTILE_FILES=100 sends so many instead of 1,000. Some of them hold text, of which the index grows:
it is deleted before memory is measured. The processes that read files are not counted: they end by
themselves. Nor are the pages of mapped files, which the system takes back when it needs memory.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.common import RAGSTONE, own_mb, resident_mb
from benchmarks.row import Row
from ragstone.service.server_file import SERVER_FILE, find_server
from tests.e2e.processes import environment, serving
from tests.ingest import hostile_files

FILES = int(os.environ.get("HOSTILE_FILES", "1000"))
KINDS = (
    hostile_files.nested_forms,
    hostile_files.many_attributes,
    hostile_files.deep_elements,
    hostile_files.deep_json,
    hostile_files.long_word,
    hostile_files.dots,
    hostile_files.letters,
)
FIRST = 5
"""Files of each kind before memory is measured for the first time."""

LIMITS = {"INGEST__PARSE_SECONDS": "5", "INGEST__PARSE_MEMORY_MB": "256"}


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "data").mkdir()
        with serving(root / "data", **LIMITS):
            process = _process(root / "data")
            # What is loaded with the first files stays loaded, in each of the threads.
            _ingest(root, "first", FIRST * len(KINDS))
            before = own_mb(process)
            _ingest(root, "others", FILES)
            after, resident = own_mb(process), resident_mb(process)
            assert find_server(root / "data"), "the server has ended"
        what = f"Memory of a server after {FILES:,} hostile files"
        yield Row(f"{what}, as a share of before", after / before, most=1.1)
        yield Row(f"{what}", after, "MB", detail=True)
        yield Row(f"{what}, with the pages of mapped files", resident, "MB", detail=True)


def _process(data: Path) -> int:
    return int(json.loads((data / SERVER_FILE).read_text())["pid"])


def _ingest(root: Path, name: str, count: int) -> None:
    """Ingest hostile files in turns, each in a folder of its own, and forget what they held."""
    for number in range(count):
        folder = root / name / str(number)
        folder.mkdir(parents=True)
        KINDS[number % len(KINDS)](folder)
    variables = environment(root / "data")
    command = [RAGSTONE, "ingest", str(root / name)]
    subprocess.run(command, env=variables, capture_output=True, check=False)
    delete = [RAGSTONE, "delete", "--all", "--yes"]
    subprocess.run(delete, env=variables, capture_output=True, check=True)
