"""`python -m benchmarks [NAME...]`: run benchmarks and write `benchmarks/results/results.md`.

Each benchmark is a module here with `run() -> Iterable[Row]`. A row without a bound is shown; a
row that misses its bound makes the command fail.
"""

import importlib
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.row import Row

NAMES = (
    "startup",
    "retrieval",
    "answers",
    "cross_lingual",
    "intents",
    "rewriting",
    "guard",
    "spelling",
    "grounding",
    "ingest",
    "pdf",
    "latency",
    "cache",
    "settings",
    "concurrency",
    "conversations",
    "chat",
    "streaming",
    "kill9",
    "jobs",
    "installed_size",
    "token_counts",
    "markers",
)
APART = {
    "million": "python -m benchmarks million",
    "peers": "make bench-peers",
    "fuzz": "make fuzz",
}
"""Benchmarks that run only when they are named (an hour each), and the command that does it."""

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "results.json"


def main(names: list[str]) -> int:
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


def write_tables(stored: dict[str, list[dict[str, object]]]) -> None:
    """All rows into results.md, and into the README those with a bound that are no details."""
    RESULTS.with_suffix(".md").write_text(table(stored), encoding="utf-8")
    short = {name: [row for row in rows if _short(row)] for name, rows in stored.items()}
    _into_readme(table(short))


def _short(row: dict[str, object]) -> bool:
    bounded = row["least"] is not None or row["most"] is not None
    return bounded and not row["detail"]


def _into_readme(shown: str) -> None:
    """Put the table between its marks in the README."""
    readme = HERE.parent / "README.md"
    before, begin, rest = readme.read_text(encoding="utf-8").partition("<!-- measured -->\n")
    _, end, after = rest.partition("<!-- /measured -->")
    readme.write_text(f"{before}{begin}{shown}{end}{after}", encoding="utf-8")


def table(stored: dict[str, list[dict[str, object]]]) -> str:
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
