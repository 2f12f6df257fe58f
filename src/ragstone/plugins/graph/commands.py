"""`ragstone graph`: what documents name, and what is named together."""

from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import out_json, print_text, table
from ragstone.cli.running import Context, context_settings, run
from ragstone.core.turn import Principal
from ragstone.core.wording import format_count

if TYPE_CHECKING:
    from ragstone.plugins.graph.contract import GraphView
    from ragstone.service import Service

SUMMARIES = 5
"""Themes whose summaries are printed."""

app = typer.Typer(
    add_completion=False, help="Look at a collection's entity graph.", no_args_is_help=True
)


@app.callback()
def _group() -> None:
    """Without this, Typer would make a group of one command that command."""


@app.command()
def show(
    context: Context,
    entity: Annotated[
        str, typer.Argument(metavar="[ENTITY]", help="A name; without one, what is named most.")
    ] = "",
    collection: opt.Collection = "default",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most lines of each kind.")] = 20,
    as_json: opt.AsJson = False,
) -> None:
    """Print what most documents name, or where a name stands and what is named with it."""
    from ragstone.plugins.graph.contract import GRAPH

    async def action(service: "Service") -> int:
        graph = GRAPH.of(service)
        found = await graph.show(Principal(), collection, entity=entity, limit=limit)
        if as_json:
            out_json(found)
        else:
            _print(found)
        return 0

    run(context_settings(context), action)


def _print(found: "GraphView") -> None:
    if found.entity:
        also = f" (also {', '.join(found.spellings)})" if found.spellings else ""
        print_text(f"{found.entity}{also}")
        rows = [(place.kind, place.name, _where(place.path, place.page)) for place in found.places]
        table(("as", "name", "where"), rows)
        print_text()
        if found.relations:
            said = [
                (
                    f"{relation.entity} {relation.said} {relation.other}",
                    _where(relation.path, relation.page),
                )
                for relation in found.relations
            ]
            table(("relation", "where"), said)
            print_text()
    if found.named:
        head = "named with it" if found.entity else "named"
        table(("chunks", head), [(item.chunks, item.name) for item in found.named])
    elif not found.entity:
        print_text("Nothing is named.")
    if found.themes:
        print_text()
        table(("passages", "theme"), [(theme.passages, theme.title) for theme in found.themes])
        for theme in found.themes[:SUMMARIES]:
            if theme.summary:
                print_text()
                print_text(f"{theme.title}: {theme.summary}")
    if found.waiting:
        print_text(
            f"Not read for the graph yet: {format_count(found.waiting, 'document')}. The setting "
            "rag.knowledge_graph_enabled switches it on."
        )


def _where(path: str, page: int | None) -> str:
    return f"{path}, page {page}" if page else path
