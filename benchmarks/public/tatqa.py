"""TAT-QA (Zhu et al., ACL 2021), development set: a table and paragraphs of a financial report.

The data is in https://github.com/NExTplusplus/TAT-QA. Each report is a web page, asked alone, as
there: what is to be computed (42 in 100) is a row of its own.
"""

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.public.runner import Task, ask_all, clone, outcome_rows, spread, time_row
from benchmarks.row import Row

QUESTIONS = 200


def run() -> Iterator[Row]:
    folder = clone("TAT-QA", "https://github.com/NExTplusplus/TAT-QA") / "dataset_raw"
    reports = json.loads((folder / "tatqa_dataset_dev.json").read_text(encoding="utf-8"))
    documents: dict[str, str | Path] = {}
    tasks = []
    for report in reports:
        path = f"reports/{report['table']['uid']}.html"
        documents[path] = build_page(report)
        tasks += [_task(path, question) for question in report["questions"]]
    chosen = spread(tasks, QUESTIONS)
    replies = ask_all("tatqa", documents, chosen)
    yield from outcome_rows("TAT-QA dev", replies)
    yield time_row("TAT-QA dev", replies, f"{len(chosen)} of {len(tasks)} questions, evenly spread")


def build_page(report: dict[str, Any]) -> str:
    paragraphs = [f"<p>{escape(item['text'])}</p>" for item in report["paragraphs"]]
    rows = [
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in report["table"]["table"]
    ]
    body = "\n".join([*paragraphs, "<table>", *rows, "</table>"])
    return f"<!doctype html><html><body><main>\n{body}\n</main></body></html>"


def _task(path: str, question: dict[str, Any]) -> Task:
    answer = question["answer"]
    parts = answer if isinstance(answer, list) else [answer]
    computed = question["answer_type"] in ("arithmetic", "count")
    return Task(
        "to be computed" if computed else f"{question['answer_type']} of {question['answer_from']}",
        question["question"],
        "reports",
        tuple((str(part),) for part in parts),
        within=(path,),
    )
