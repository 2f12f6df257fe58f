"""`ragstone graph`: what documents name, and what is named together."""

from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.running import Context, run, settings_of
from ragstone.core.turn import Principal

if TYPE_CHECKING:
    from ragstone.service import Service
    from ragstone.service.graph import GraphView

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
    from ragstone.cli.show import out_json
    from ragstone.service import wire

    async def shown(service: "Service") -> int:
        found = await service.graph.show(Principal(), collection, entity=entity, limit=limit)
        if as_json:
            out_json(wire.dump(found))
        else:
            _print(found)
        return 0

    run(settings_of(context), shown)


def _print(found: "GraphView") -> None:
    from ragstone.cli.show import out, table

    if found.entity:
        also = f" (also {', '.join(found.spellings)})" if found.spellings else ""
        out(f"{found.entity}{also}")
        rows = [(one.kind, one.name, _where(one.path, one.page)) for one in found.places]
        table(("as", "name", "where"), rows)
        out()
        if found.relations:
            said = [
                (f"{one.entity} {one.said} {one.other}", _where(one.path, one.page))
                for one in found.relations
            ]
            table(("relation", "where"), said)
            out()
    if found.named:
        head = "named with it" if found.entity else "named"
        table(("chunks", head), [(one.chunks, one.name) for one in found.named])
    elif not found.entity:
        out("Nothing is named.")
    if found.themes:
        out()
        table(("passages", "theme"), [(one.passages, one.title) for one in found.themes])
        for one in found.themes[:SUMMARIES]:
            if one.summary:
                out()
                out(f"{one.title}: {one.summary}")
    if found.waiting:
        out(
            f"{found.waiting:,} documents are not read for the graph yet. A collection has one "
            "where rag.knowledge_graph_enabled is true."
        )


def _where(path: str, page: int | None) -> str:
    return f"{path}, page {page}" if page else path
