"""The `ragstone eval` commands. They use a throw-away index, never the user's."""

import asyncio
import json
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

app = typer.Typer(help="Measure retrieval and answers on a set of questions.", add_completion=False)


Directory = Annotated[
    Path, typer.Argument(help="Folder with corpus.jsonl.gz and <split>/queries.jsonl.gz.")
]
Split = Annotated[str, typer.Option(help="Which questions: the folder's name.")]
Strategy = Annotated[
    Literal["default", "bm25", "dense", "hybrid"],
    typer.Option(help="How to search; default is what the settings and the level say."),
]
Limit = Annotated[int | None, typer.Option(min=1, help="At most so many questions.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")]
OffCorpus = Annotated[
    Path | None, typer.Option(help="Ask another set's questions, which this corpus cannot answer.")
]


@app.command()
def retrieval(
    directory: Directory,
    split: Split = "dev",
    strategy: Strategy = "default",
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Does the right document come first? nDCG, recall, hit rate, MRR and times."""
    from ragstone.evaluation.retrieval import evaluate
    from ragstone.settings import load

    chosen = None if strategy == "default" else strategy
    _show(evaluate(directory, load(), split, chosen, limit), as_json)


@app.command()
def answers(
    directory: Directory,
    split: Split = "dev",
    strategy: Strategy = "default",
    limit: Limit = None,
    as_json: AsJson = False,
    off_corpus: OffCorpus = None,
) -> None:
    """Does the answer hold what it should, and is the unanswerable refused?"""
    from ragstone.evaluation.answering import evaluate
    from ragstone.settings import load

    chosen = None if strategy == "default" else strategy
    _show(evaluate(directory, load(), split, chosen, limit, off_corpus), as_json)


@app.command()
def cache(
    file: Annotated[Path, typer.Argument(help="JSON lines with a, b and same.")],
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Is another question's answer never given, and how often is an equal one found?"""
    from ragstone.evaluation.cache import evaluate
    from ragstone.settings import load

    _show(evaluate(file, load(), limit), as_json)


def _show(work: Coroutine[Any, Any, Mapping[str, float | None]], as_json: bool) -> None:
    measured = asyncio.run(work)
    if as_json:
        typer.echo(json.dumps(measured))
        return
    width = max(map(len, measured))
    for name, value in measured.items():
        shown = "-" if value is None else f"{value:.4g}"
        typer.echo(f"{name:<{width}}  {shown}")
