"""A command: `ragstone longest` prints the documents with the most chunks."""

from typing import TYPE_CHECKING

import typer

from ragstone.cli import options as opt
from ragstone.cli.running import Context, context_settings, run
from ragstone.core.turn import Principal

if TYPE_CHECKING:
    from ragstone.service import Service

app = typer.Typer(help="Print the documents with the most chunks.", invoke_without_command=True)


@app.callback()
def longest(context: Context, collection: opt.Collection = "default") -> None:
    """Print the documents with the most chunks."""
    run(context_settings(context), lambda service: _print(service, collection))


async def _print(service: "Service", collection: str) -> int:
    documents = await service.documents(Principal(), collection)
    for document in sorted(documents, key=lambda item: -item.chunks)[:10]:
        typer.echo(f"{document.chunks:6} {document.path}")
    return 0
