"""MMLongBench-Doc (Ma et al., NeurIPS 2024, arXiv 2407.01523): questions over long PDFs.

The data is in https://github.com/mayubo2333/MMLongBench-Doc. Each question is asked of its document
alone, as there. What stands in charts and figures is a row of its own: the default set-up reads
text and tables.
"""

import json
from ast import literal_eval
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.public.runner import Task, ask_all, clone, outcome_rows, spread, time_row
from benchmarks.row import Row

DOCUMENTS = 12


def run() -> Iterator[Row]:
    folder = clone("MMLongBench-Doc", "https://github.com/mayubo2333/MMLongBench-Doc") / "data"
    rows = json.loads((folder / "samples.json").read_text(encoding="utf-8"))
    files = {row["doc_id"]: folder / "documents" / row["doc_id"] for row in rows}
    chosen = spread(sorted(name for name, file in files.items() if file.exists()), DOCUMENTS)
    documents: dict[str, str | Path] = {f"long/{name}": files[name] for name in chosen}
    tasks = [_task(row) for row in rows if row["doc_id"] in chosen]
    replies = ask_all("mmlongbench", documents, tasks)
    yield from outcome_rows("MMLongBench-Doc", replies)
    note = f"{len(tasks)} of {len(rows)} questions, {len(chosen)} of {len(files)} documents"
    yield time_row("MMLongBench-Doc", replies, note)


def _task(row: dict[str, Any]) -> Task:
    path = f"long/{row['doc_id']}"
    is_list = row["answer_format"] == "List"
    parts = literal_eval(row["answer"]) if is_list else [row["answer"]]
    answerable = row["answer"] != "Not answerable"
    is_text = {"Chart", "Figure"}.isdisjoint(literal_eval(row["evidence_sources"]))
    return Task(
        "text and tables" if is_text or not answerable else "charts and figures",
        row["question"],
        "long",
        tuple((str(part),) for part in parts) if answerable else (),
        sources=frozenset(f"{path}#{page}" for page in literal_eval(row["evidence_pages"])),
        within=(path,),
    )
