"""The `ragstone eval` commands on sets with a corpus of their own, which they index apart. Those on
the user's documents are in `set_commands`."""

import json
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import typer
from typer.core import TyperGroup

from ragstone.registry import Extension, Registry, summary

if TYPE_CHECKING:
    from ragstone.settings import Settings


class Measures(TyperGroup):
    """The commands of this file, and one for each measure that another package adds."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *MEASURES.others]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = super().get_command(ctx, cmd_name)
        return _build_command(cmd_name) if known is None and cmd_name in MEASURES.others else known


app = typer.Typer(
    help="Measure retrieval and answers on a set of questions.", add_completion=False, cls=Measures
)

Directory = Annotated[
    Path, typer.Argument(help="Folder with corpus.jsonl and <split>/queries.jsonl; .gz too.")
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


History = Annotated[
    bool, typer.Option("--history", help="Ask each question after what was said before it.")
]


@app.command()
def retrieval(
    directory: Directory,
    split: Split = "dev",
    strategy: Strategy = "default",
    limit: Limit = None,
    as_json: AsJson = False,
    history: History = False,
) -> None:
    """Does the right document come first? nDCG, recall, hit rate, MRR and times."""
    from ragstone.plugins.evaluation.retrieval import evaluate
    from ragstone.settings import load

    chosen = None if strategy == "default" else strategy
    _show(evaluate(directory, load(), split, chosen, limit, history), as_json)


@app.command()
def answers(
    directory: Directory,
    split: Split = "dev",
    strategy: Strategy = "default",
    limit: Limit = None,
    as_json: AsJson = False,
    off_corpus: OffCorpus = None,
    history: History = False,
) -> None:
    """Does the answer hold what it should, and is the unanswerable refused?"""
    from ragstone.plugins.evaluation.answering import evaluate
    from ragstone.settings import load

    chosen = None if strategy == "default" else strategy
    _show(evaluate(directory, load(), split, chosen, limit, off_corpus, history), as_json)


@app.command()
def confidence(
    directory: Directory,
    split: Split = "dev",
    limit: Limit = None,
    as_json: AsJson = False,
    off_corpus: OffCorpus = None,
) -> None:
    """Is the confidence of answers true? A table of it, and the calibration error."""
    from ragstone.plugins.evaluation import calibration
    from ragstone.plugins.evaluation.answering import record_answers
    from ragstone.settings import load

    async def measure() -> Mapping[str, float | None]:
        records = await record_answers(directory, load(), split, None, limit, off_corpus)
        for line in calibration.format_steps(calibration.reliability(records)):
            typer.echo(line)
        typer.echo()
        return calibration.measure(records)

    _show(measure(), as_json)


@app.command()
def intents(
    file: Annotated[Path, typer.Argument(help="Lines of JSON with text and intent; .gz too.")],
    questions: Annotated[
        Path | None,
        typer.Option(help="Lines of JSON with query: questions that are no small talk."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Is small talk recognised, and no question taken for it? Rules and examples alone."""
    from ragstone.plugins.evaluation.intents import evaluate
    from ragstone.settings import load

    _show(evaluate(file, load(), questions), as_json)


@app.command()
def rewrite(
    file: Annotated[
        Path, typer.Argument(help="Lines of JSON with history, question and rewrite; .gz too.")
    ],
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Do follow-ups become the questions that people make of them? Token F1 against theirs."""
    from ragstone.plugins.evaluation.rewriting import evaluate
    from ragstone.settings import load

    _show(evaluate(file, load(), limit), as_json)


@app.command()
def cache(
    file: Annotated[Path, typer.Argument(help="Lines of JSON with a, b and same; .gz too.")],
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Is another question's answer never given, and how often is an equal one found?"""
    from ragstone.plugins.evaluation.cache import evaluate
    from ragstone.settings import load

    _show(evaluate(file, load(), limit), as_json)


@app.command()
def guard(
    file: Annotated[
        Path, typer.Argument(help="Lines of JSON with text and label (safe or unsafe); .gz too.")
    ],
    topics: Annotated[
        Path | None, typer.Option(help="CSV of topics, instead of the list of Ragstone's own.")
    ] = None,
    errors: Annotated[
        bool, typer.Option("--errors", help="Print the questions that were judged wrongly.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Does the guard block what it should, and nothing else? Shares of safe and unsafe rows."""
    from ragstone.plugins.evaluation.guarding import evaluate
    from ragstone.settings import load

    async def measure() -> Mapping[str, float | None]:
        measures, judged = await evaluate(file, load(), topics)
        for item in judged:
            if errors and not item.right:
                ruling, topic = item.ruling, item.ruling.match
                near = f"{topic.match} {topic.topic.term} {topic.score:.2f}" if topic else "none"
                said = "blocked" if ruling.blocked else "allowed"
                typer.echo(f"{said} ({near}; {ruling.rule}): {item.text}")
        return measures

    _show(measure(), as_json)


@app.command()
def spelling(
    file: Annotated[Path, typer.Argument(help="Lines of JSON with wrong and right; .gz too.")],
    clean: Annotated[
        list[Path] | None,
        typer.Option(help="Questions that nothing is wrong with: queries.jsonl of a set; .gz too."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Are misspelt words of questions put right, and are right ones left alone?"""
    from ragstone.plugins.evaluation.spelling import evaluate

    _show(evaluate(file, clean or ()), as_json)


@app.command()
def typos(
    directory: Directory, split: Split = "dev", limit: Limit = 500, as_json: AsJson = False
) -> None:
    """What does one misspelling a question cost, and what does correcting it recover?"""
    from ragstone.plugins.evaluation.typos import evaluate
    from ragstone.settings import load

    _show(evaluate(directory, load(), split, limit), as_json)


@app.command()
def grounding(
    file: Annotated[
        Path,
        typer.Argument(help="Lines of JSON with source, response or claim, and label; .gz too."),
    ],
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Is what a response claims told from what its source does not say? Without a chat model."""
    from ragstone.plugins.evaluation.grounding import evaluate

    _show(evaluate(file, limit), as_json)


def _show(work: Coroutine[Any, Any, Mapping[str, float | None]], as_json: bool) -> None:
    import asyncio

    measured = asyncio.run(work)
    if as_json:
        typer.echo(json.dumps(measured))
        return
    width = max(map(len, measured))
    for name, value in measured.items():
        shown = "-" if value is None else f"{value:.4g}"
        typer.echo(f"{name:<{width}}  {shown}")


class Measure(Protocol):
    """A measure of another package: figures by name, from a file that it reads as it likes, over at
    most `limit` of its rows. Raises InputError for a file that it cannot read."""

    async def __call__(
        self, file: Path, settings: "Settings", limit: int | None, /
    ) -> Mapping[str, float | None]: ...


MEASURES: Registry[Measure] = Registry(
    "ragstone.measures",
    "measure",
    {
        own.__name__: Extension(own, summary(own))
        for own in (command.callback for command in app.registered_commands)
        if own
    },
)
"""Measures by their command. Ours are commands with options of their own."""


def _build_command(name: str) -> Any:
    """The command of a measure of another package; the package is imported when it is run."""

    def command(
        file: Annotated[Path, typer.Argument(help="What it measures on.")],
        limit: Limit = None,
        as_json: AsJson = False,
    ) -> None:
        _show(_run_measure(name, file, limit), as_json)

    one = typer.Typer(add_completion=False, rich_markup_mode=None)
    one.command(name, help=f"A measure of the package {MEASURES[name].package}.")(command)
    return typer.main.get_command(one)


async def _run_measure(name: str, file: Path, limit: int | None) -> Mapping[str, float | None]:
    from ragstone.settings import load

    measure, settings = MEASURES.get(name), load()
    with MEASURES.explain_errors(name):
        figures = await measure(file, settings, limit)
        return {name: None if figure is None else float(figure) for name, figure in figures.items()}
