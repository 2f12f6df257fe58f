"""The `ragstone topics` commands: the list of what is not answered, and what it blocked."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import format_time, out_json, print_text, show_list
from ragstone.cli.running import command, context_settings, run
from ragstone.core.wording import format_count

if TYPE_CHECKING:
    from ragstone.core.records import Topic
    from ragstone.service import Service

app = typer.Typer(
    help="Forbidden topics: what questions are not answered.",
    add_completion=False,
    no_args_is_help=True,
)

Tenant = Annotated[str, typer.Option("--tenant", metavar="NAME", help="Whose topics.")]
Context = typer.Context


@command(app, "list")
async def list_(
    service: "Service",
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print what 'ragstone topics import' reads.")
    ] = False,
    tenant: Tenant = "default",
    as_json: opt.AsJson = False,
) -> int:
    """List the topics."""
    from ragstone.guard.topic_file import write_csv

    found = await service.topics(tenant)
    if as_csv and not as_json:
        print_text(write_csv(found), end="")
        return 0
    rows = ((t.term, "; ".join(t.synonyms), len(t.examples), t.language) for t in found)
    head = ("term", "synonyms", "examples", "language")
    empty = "There are no forbidden topics; add one with 'ragstone topics add'."
    return show_list("topics", found, as_json, head, rows, empty)


@app.command()
def add(
    context: Context,
    term: Annotated[str, typer.Argument(metavar="TERM", help="The word or phrase.")],
    synonym: Annotated[
        list[str] | None, typer.Option("--synonym", help="Another word for it; may be repeated.")
    ] = None,
    example: Annotated[
        list[str] | None,
        typer.Option("--example", help="A question that is forbidden; may be repeated."),
    ] = None,
    language: Annotated[str, typer.Option(help="An ISO 639-1 code, for people.")] = "",
    note: Annotated[str, typer.Option(help="A remark, for people.")] = "",
    tenant: Tenant = "default",
) -> None:
    """Add a topic, or replace the one of this term."""
    from ragstone.guard.topic_file import topic

    run(
        context_settings(context),
        lambda service: _put_topics(
            service, tenant, [topic(tenant, term, synonym or (), example or (), language, note)]
        ),
    )


@command(app)
async def remove(
    service: "Service",
    terms: Annotated[list[str], typer.Argument(metavar="TERM...", help="Terms or ids.")],
    tenant: Tenant = "default",
) -> int:
    """Remove topics; all of those named or, if one is unknown, none."""
    print_text(f"{format_count(await service.remove_topics(tenant, terms), 'topic')} removed.")
    return 0


@app.command("import")
def import_(
    context: Context,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="CSV with term, synonyms, examples, language, note."),
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="The list that comes with Ragstone instead.")
    ] = False,
    tenant: Tenant = "default",
) -> None:
    """Add the topics of a CSV file; all of them or, if a line is wrong, none."""
    if (file is None) is not example:
        raise typer.BadParameter("name a file or give --example, but not both")
    run(context_settings(context), lambda service: _import(service, tenant, file))


@app.command("example")
def example_() -> None:
    """Print the list that comes with Ragstone, to be changed and imported."""
    from ragstone.guard.topic_file import example_list

    print_text(example_list(), end="")


@command(app, "blocked")
async def show_blocked(
    service: "Service",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Most questions to show.")] = 50,
    tenant: Tenant = "default",
    as_json: opt.AsJson = False,
) -> int:
    """Show the questions that were blocked, the newest first."""
    found = await service.list_blocked(tenant, limit)
    rows = (
        (format_time(b.at), b.user, b.term, b.match, b.score, b.decided_by, b.question)
        for b in found
    )
    head = ("when", "user", "topic", "match", "score", "by", "question")
    return show_list("blocked", found, as_json, head, rows, "No question was blocked.")


@command(app)
async def check(
    service: "Service",
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What would be asked.")],
    tenant: Tenant = "default",
    as_json: opt.AsJson = False,
) -> int:
    """Say whether a question would be blocked, and why. Nothing is answered or kept."""
    ruling = await service.check_topics(tenant, question)
    if as_json:
        out_json(ruling)
        return 0
    verdict = "blocked" if ruling.blocked else "allowed"
    if ruling.match is None:
        print_text(f"{verdict}: no topic is near")
    else:
        match = ruling.match
        near = f"{match.match} match of {match.topic.term!r}, score {match.score:.2f}"
        print_text(f"{verdict}: {near}; {ruling.rule or 'no rule'}, decided by {ruling.decided_by}")
    return 0


async def _put_topics(service: "Service", tenant: str, topics: "Sequence[Topic]") -> int:
    added = await service.put_topics(tenant, topics)
    print_text(f"{format_count(added, 'topic')} added, {len(topics) - added:,} replaced.")
    return 0


async def _import(service: "Service", tenant: str, file: Path | None) -> int:
    from ragstone.guard.topic_file import example_list, read_csv, read_file

    text = example_list() if file is None else read_file(file)
    return await _put_topics(service, tenant, read_csv(text, tenant))
