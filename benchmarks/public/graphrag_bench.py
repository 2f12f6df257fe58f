"""GraphRAG-Bench, medical (Xiang et al., 2025, arXiv 2506.05690): one long text, four kinds.

The data is in https://github.com/GraphRAG-Bench/GraphRAG-Benchmark. The text is one file of a
million characters, as there. Their accuracy is judged by a model, and ROUGE-L is computed with
stems; what is right here is what covers the reference answer. Creative questions are not asked:
they want text written.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.public.runner import Task, ask_all, clone, outcome_rows, spread, time_row
from benchmarks.row import Row

KINDS = ("Fact Retrieval", "Complex Reasoning", "Contextual Summarize")
QUESTIONS = 60


def run() -> Iterator[Row]:
    url = "https://github.com/GraphRAG-Bench/GraphRAG-Benchmark"
    folder = clone("GraphRAG-Benchmark", url) / "Datas"
    [corpus] = json.loads((folder / "Corpus" / "medical.json").read_text(encoding="utf-8"))
    rows = json.loads((folder / "Questions" / "medical_questions.json").read_text(encoding="utf-8"))
    documents: dict[str, str | Path] = {"medical/medical.txt": corpus["context"]}
    tasks = [
        Task(kind.lower(), row["question"], "medical", reference=row["answer"])
        for kind in KINDS
        for row in spread([row for row in rows if row["question_type"] == kind], QUESTIONS)
    ]
    replies = ask_all("graphrag_bench", documents, tasks)
    yield from outcome_rows("GraphRAG-Bench medical", replies)
    note = f"{len(tasks)} of {len(rows)} questions, evenly spread within each kind"
    yield time_row("GraphRAG-Bench medical", replies, note)
