"""`python -m benchmarks [NAME...]`: run benchmarks and write their figures.

All of them go to `benchmarks/results/results.md`, those with a bound to `docs/measured.md`, those
of peers to `docs/compared.md`, and ten to the README. `python -m benchmarks formats FOLDER...`
prints how the files of folders are read.

Each benchmark is a module here with `run() -> Iterable[Row]`. A row without a bound is shown; a
row that misses its bound makes the command fail.
"""

import importlib
import json
import sys
import time
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from benchmarks import formats
from benchmarks.compared import write_compared
from benchmarks.row import Row

Rows = dict[str, list[dict[str, object]]]
"""The stored rows of each benchmark."""

NAMES = (
    "startup",
    "retrieval",
    "answers",
    "several_questions",
    "cross_lingual",
    "english",
    "multilingual",
    "intents",
    "rewriting",
    "guard",
    "agent",
    "spelling",
    "grounding",
    "citations",
    "refusals",
    "statements",
    "statement_kinds",
    "json_fields",
    "reader",
    "graph",
    "multi_hop",
    "comments",
    "compression",
    "ingest",
    "parsing",
    "pdf",
    "ocr",
    "latency",
    "cache",
    "settings",
    "concurrency",
    "conversations",
    "chat",
    "streaming",
    "slow_model",
    "kill9",
    "jobs",
    "installed_size",
    "token_counts",
    "markers",
)
APART = {
    "code_size": "python -m benchmarks code_size",
    "listings": "python -m benchmarks listings",
    "files": "python -m benchmarks files",
    "large": "RAGSTONE_LARGE_FILES=FOLDER python -m benchmarks large",
    "million": "python -m benchmarks million",
    "postgres": "python -m benchmarks postgres",
    "workers": "python -m benchmarks workers",
    "shared": "python -m benchmarks shared",
    "hidden": "python -m benchmarks hidden",
    "backups": "python -m benchmarks backups",
    "moves": "python -m benchmarks moves",
    "sources": "python -m benchmarks sources",
    "slow_backup": "python -m benchmarks slow_backup",
    "sizes": "python -m benchmarks sizes",
    "per_document": "python -m benchmarks per_document",
    "peers": "nox -s peers",
    "peers.documents": "python -m benchmarks peers.documents",
    "peers.replies": "EXAM_MODEL=FILE.gguf python -m benchmarks peers.replies",
    "peers.rights": "python -m benchmarks peers.rights",
    "fuzz": "nox -s fuzz",
    "hostile": "python -m benchmarks hostile",
    "late_interaction": "python -m benchmarks late_interaction",
    "prefix_cache": "python -m benchmarks prefix_cache",
    "prompts": "python -m benchmarks prompts",
    "ablations": "python -m benchmarks ablations",
    "exam": "EXAM_MODEL=FILE.gguf python -m benchmarks exam",
    "slow": "python -m benchmarks slow",
    "how_to": "python -m benchmarks how_to",
    "tree": "RAGSTONE_TREE_FILES=FOLDER python -m benchmarks tree",
    "tables": "RAGSTONE_TABLE_FILES=FOLDER python -m benchmarks tables",
    "table_questions": "RAGSTONE_PUBLIC_DATA=FOLDER python -m benchmarks table_questions",
    "formats": "RAGSTONE_FORMAT_FILES=FOLDER python -m benchmarks formats",
    **{
        f"public.{name}": f"RAGSTONE_PUBLIC_DATA=FOLDER python -m benchmarks public.{name}"
        for name in (
            "rgb",
            "financebench",
            "mtrag",
            "xquad",
            "graphrag_bench",
            "tatqa",
            "clapnq",
            "mmlongbench",
        )
    },
}
"""Benchmarks that run only when they are named (an hour each), and the command that does it."""

HEADLINES = {
    ("startup", "`ragstone serve` until /ready answers, median of 3"),
    ("retrieval", "nDCG@10, squad2_dev, default settings"),
    ("answers", "an accepted answer is in the first two sentences, squad2_dev"),
    ("answers", "refusal AUROC, squad2_dev's questions over scifact"),
    ("grounding", "Supported claims told from others, AUROC"),
    ("cache", "Cache: false hits on 351 pairs with one thing changed"),
    ("latency", "Resident memory at 100,000 chunks"),
    ("latency", "Added before the answerer's first token at 100,000 chunks, p50"),
    ("kill9", "Index equal to the undisturbed one, chunk for chunk"),
    ("installed_size", "Installed size of the default set-up"),
}
"""The figures that the README shows: a benchmark, and what its row measures."""

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "results.json"
README = HERE.parent / "README.md"
MEASURED = HERE.parent / "docs" / "measured.md"
COMPARED = HERE.parent / "docs" / "compared.md"
BEGIN, END = "<!-- measured -->\n", "<!-- /measured -->"


def main(names: list[str]) -> int:
    if names[:1] == ["formats"] and len(names) > 1:
        return formats.main(names[1:])
    unknown = [name for name in names if find_spec(f"benchmarks.{name}") is None]
    if unknown:
        print(f"Not a benchmark: {', '.join(unknown)}. Choose from: {', '.join((*NAMES, *APART))}.")
        return 2
    stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    missed = 0
    for name in names or NAMES:
        started = time.monotonic()
        rows = {data["what"]: data for data in stored.get(name, [])}
        for row in importlib.import_module(f"benchmarks.{name}").run():
            missed += not row.met
            print(row.line(), flush=True)
            rows[row.what] = asdict(row)
            stored[name] = list(rows.values())
            RESULTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        print(f"  {name} took {time.monotonic() - started:.0f} s", flush=True)
    write_tables(stored)
    return missed


def write_tables(stored: Rows) -> None:
    """Write all rows into results.md, and between the marks of the pages what each shows."""
    RESULTS.with_suffix(".md").write_text(table(stored), encoding="utf-8")
    for page, shown in pages(stored):
        text = between_marks(page.read_text(encoding="utf-8"), shown)
        page.write_text(text, encoding="utf-8")


def pages(stored: Rows) -> list[tuple[Path, str]]:
    """Return the pages that show figures, and what stands between the marks of each."""
    return [
        (MEASURED, table(list_bounded(stored))),
        (README, table(headlines(stored))),
        (COMPARED, write_compared(stored)),
    ]


def list_bounded(stored: Rows) -> Rows:
    """Return the rows of `docs/measured.md`: those with a bound that are no details."""
    return {name: [row for row in rows if _is_shown(row)] for name, rows in stored.items()}


def _is_shown(row: dict[str, object]) -> bool:
    has_bound = row["least"] is not None or row["most"] is not None
    return has_bound and not row["detail"]


def headlines(stored: Rows) -> Rows:
    """Return the rows of the README."""
    return {
        name: [row for row in rows if (name, row["what"]) in HEADLINES]
        for name, rows in stored.items()
    }


def between_marks(page: str, shown: str) -> str:
    """The page with another table between its marks; raises ValueError if it has no marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"The page has no {BEGIN.strip()} with {END} after it.")
    return f"{before}{begin}{shown}{end}{after}"


def table(stored: Rows) -> str:
    """Every stored row as Markdown."""
    lines = ["| what | measured | bound | reproduce |", "| --- | --- | --- | --- |"]
    for name in (*NAMES, *APART):
        command = APART.get(name, f"python -m benchmarks {name}")
        for data in stored.get(name, []):
            row = Row(**data)  # type: ignore[arg-type]
            bound = row.bound_shown + ("" if row.met else ", missed")
            lines.append(f"| {row.what} | {row.shown} | {bound} | `{command}` |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
