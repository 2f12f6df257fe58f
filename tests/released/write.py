"""Write a data directory as this version leaves it: `python -m tests.released.write`.

To be run once for each release, with the schema in the name of its file, so that later versions are
tested on what people have.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from ragstone.store.sql.migrations import REVISIONS

HERE = Path(__file__).parent
DOCUMENTS = HERE.parents[1] / "examples" / "documents"

COMMANDS = (
    ("ingest", str(DOCUMENTS)),
    ("ingest", "-c", "minutes", str(DOCUMENTS / "minutes-2025-04-09.txt")),
    ("topics", "add", "merger"),
    ("ask", "--room", "kitchen", "How long does the battery of the Lantern 3 last?"),
    ("keys", "create", "a program", "-c", "default", "-c", "reports"),
    ("settings", "set", "rag.top_k", "4", "--scope", "collection:default/default"),
    ("settings", "set", "rag.top_k", "3", "--scope", "collection:default/reports"),
)

with tempfile.TemporaryDirectory() as folder:
    data = Path(folder, "data")
    for command in COMMANDS:
        program = "import sys; from ragstone.cli import main; main()"
        run = [sys.executable, "-c", program, "--data", str(data), *command]
        subprocess.run(run, check=True)
    with tarfile.open(HERE / f"data-{REVISIONS[-1]}.tar.xz", "w:xz") as packed:
        packed.add(data, "data")
