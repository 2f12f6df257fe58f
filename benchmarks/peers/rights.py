"""What is found by somebody who may read one note in twenty: `python -m benchmarks peers.rights`.

Twenty notes that are for the board alone are asked for word by word; five passages are wanted. The
peers search once as their first examples do, then with a filter for everyone's notes; Ragstone once
without being told who asks, then for somebody of another group.
"""

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.peers.compare import PEERS_PYTHON, QUIET, ROOT
from benchmarks.peers.documents import TXTAI_PYTHON, check_environments
from benchmarks.peers.rights_texts import ASKED, FIRST, QUESTIONS, READERS, TEXTS
from benchmarks.row import Row
from ragstone import build
from ragstone.core.turn import Ask, Principal
from ragstone.service import IngestRequest
from ragstone.settings import Settings


def run() -> Iterator[Row]:
    check_environments()
    for who, row in asyncio.run(find_own()).items():
        yield Row(f"Rights, not allowed among five{who}: Ragstone", row[0])
        yield Row(f"Rights, allowed among five{who}: Ragstone", row[1])
    for module, python in (("rights_side", PEERS_PYTHON), ("rights_txtai", TXTAI_PYTHON)):
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder, "found.json")
            command = [str(python), "-W", "ignore", "-m", f"benchmarks.peers.{module}", str(result)]
            subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **QUIET})
            found = json.loads(result.read_text(encoding="utf-8"))
        for who, leaks in found.items():
            yield Row(f"Rights, not allowed among five, no filter: {who}", leaks["plain"])
            if isinstance(leaks["filtered"], str):
                yield Row(f"Rights, filters: {who}", 0, note=leaks["filtered"])
                continue
            yield Row(f"Rights, not allowed among five: {who}", leaks["filtered"])
            yield Row(f"Rights, allowed among five: {who}", leaks["filtered given"])


async def find_own() -> dict[str, tuple[float, float]]:
    """Of the first passages of a search, how many are not everyone's, and how many are; where
    nobody is named, and for somebody."""
    found = {}
    with tempfile.TemporaryDirectory() as place:
        folders = {reader: Path(place, reader) for reader in ("everyone", "board")}
        for number, (text, reader) in enumerate(zip(TEXTS, READERS, strict=True)):
            folders[reader].mkdir(exist_ok=True)
            (folders[reader] / f"{number}.txt").write_text(text, encoding="utf-8")
        async with build.open(Settings(ragstone_data=Path(place, "data"))) as service:
            for reader, allowed in (("everyone", ()), ("board", ("group:board",))):
                request = IngestRequest((str(folders[reader]),), allowed=allowed)
                async for _ in service.ingest(request):
                    pass
            eva = Principal(user="eva", groups=("staff",))
            for who, principal in ((", no filter", Principal()), ("", eva)):
                asked = [Ask(TEXTS[q], principal=principal, top_k=FIRST) for q in QUESTIONS]
                hits = [hit for ask in asked for hit in (await service.search(ask)).hits[:FIRST]]
                names = [int(Path(hit.chunk.path).stem) for hit in hits]
                secret = sum(READERS[name] != "everyone" for name in names)
                found[who] = secret / ASKED, (len(hits) - secret) / ASKED
    return found
