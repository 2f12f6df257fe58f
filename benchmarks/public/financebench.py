"""FinanceBench (Islam et al., 2023, arXiv 2311.11944): questions over filings of companies.

The data is in https://github.com/patronus-ai/financebench. Each question is asked of its filing
alone and of all filings together, as there with a vector store for each filing and with one for
all. Many answers are to be computed or judged, which the documents' own sentences cannot do.
"""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.public.runner import (
    Task,
    ask_all,
    clone,
    outcome_rows,
    read_lines,
    spread,
    time_row,
)
from benchmarks.row import Row

FILINGS = 10


def run() -> Iterator[Row]:
    folder = clone("financebench", "https://github.com/patronus-ai/financebench")
    rows = read_lines(folder / "data" / "financebench_open_source.jsonl")
    files = {row["doc_name"]: folder / "pdfs" / f"{row['doc_name']}.pdf" for row in rows}
    chosen = spread(sorted(name for name, file in files.items() if file.exists()), FILINGS)
    documents: dict[str, str | Path] = {f"filings/{n}.pdf": files[n] for n in chosen}
    tasks = []
    for store in ("of its filing", "of all filings"):
        for row in rows:
            if row["doc_name"] in chosen:
                tasks.append(_task(store, row))
    replies = ask_all("financebench", documents, tasks)
    yield from outcome_rows("FinanceBench", replies)
    note = f"{len(tasks) // 2} of {len(rows)} questions, {len(chosen)} of {len(files)} filings"
    yield time_row("FinanceBench", replies, note)


def _task(store: str, row: dict) -> Task:
    path = f"filings/{row['doc_name']}.pdf"
    is_figure = row["question_type"] == "metrics-generated"
    return Task(
        f"{'figures' if is_figure else 'prose'} {store}",
        row["question"],
        "filings",
        accepted=((row["answer"],),) if is_figure else (),
        reference="" if is_figure else row["answer"],
        # Their pages count from 0.
        sources=frozenset(f"{path}#{e['evidence_page_num'] + 1}" for e in row["evidence"]),
        within=(path,) if store == "of its filing" else (),
    )
