"""`ragstone readers`: who may read documents, and why."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import one_line, out_json, print_text
from ragstone.cli.running import Context, command, context_settings, fail, run
from ragstone.core.chunk import EVERYONE
from ragstone.core.errors import RagstoneError
from ragstone.core.turn import Principal

if TYPE_CHECKING:
    from ragstone.core.readers import ReadersReason
    from ragstone.service import Service

app = typer.Typer(
    add_completion=False, help="Say and show who may read documents.", no_args_is_help=True
)

INHERIT = "inherit"

Names = Annotated[
    str,
    typer.Argument(
        metavar="NAMES", help="group:hr,user:ada or everyone; 'inherit' for those of above."
    ),
]


@command(app)
async def show(
    service: "Service",
    path: Annotated[str, typer.Argument(help="A path as 'ragstone documents' shows it, or an id.")],
    collection: opt.Collection = "default",
    as_json: opt.AsJson = False,
) -> int:
    """Show who may read a document, or one that would come to this path, and why."""
    view = await service.readers.explain(Principal(), collection, path, admin=True)
    if as_json:
        out_json(view)
        return 0
    print_text(f"{one_line(view.path)}{'' if view.exists else ' (no document yet)'}")
    print_text(f"  may be read by: {format_readers(view.readers) if view.readers else 'nobody'}")
    for reason in view.reasons:
        print_text(f"  {format_reason(reason)}: {format_readers(reason.readers)}")
    return 0


@app.command("set")
def give(
    context: Context,
    names: Names,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH...]", help="Paths or ids of documents, or folders."),
    ] = None,
    below: Annotated[
        str, typer.Option(metavar="FOLDER", help="Only documents in this folder or deeper.")
    ] = "",
    having: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="KEY=VALUE", help="Only those with this metadata."),
    ] = None,
    collection: opt.Collection = "default",
) -> None:
    """Set the readers of documents at once, without reading their files again."""
    from ragstone.core.metadata import parse_pairs

    readers = parse_names(names)
    try:
        metadata = parse_pairs(having or ())
    except RagstoneError as error:
        fail(error.message)

    async def change(service: "Service") -> int:
        count = await service.readers.give(
            Principal(), collection, readers, paths=paths or None, below=below, having=metadata
        )
        print_text(
            f"{count:,} {'document' if count == 1 else 'documents'}: {format_readers(readers)}."
        )
        return 0

    run(context_settings(context), change)


@app.command()
def folder(
    context: Context,
    path: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder of the collection.")],
    names: Names,
    collection: opt.Collection = "default",
) -> None:
    """Set the readers of a folder, for what is in it and for what comes."""
    if not path.strip("/"):
        raise typer.BadParameter("give the whole collection's readers with 'readers default'")
    run(context_settings(context), _set_folder(collection, path, names))


@app.command()
def default(context: Context, names: Names, collection: opt.Collection = "default") -> None:
    """Set the readers of a collection, for documents of which nothing else is said; it may be still
    to come."""
    run(context_settings(context), _set_folder(collection, "", names))


@command(app)
async def folders(
    service: "Service", collection: opt.Collection = "default", as_json: opt.AsJson = False
) -> int:
    """List the folders that have readers of their own."""
    rules = await service.readers.folders(Principal(), collection)
    if as_json:
        out_json({"folders": rules})
        return 0
    for rule in rules:
        by = "its ragstone.yaml" if rule.by == "file" else "an administrator"
        place = one_line(rule.folder) or "the collection"
        print_text(f"{place}: {format_readers(rule.readers)} (by {by})")
    if not rules:
        print_text("No folder has readers of its own.")
    return 0


def _set_folder(collection: str, path: str, names: str) -> "Callable[[Service], Awaitable[int]]":
    readers = parse_names(names)

    async def change(service: "Service") -> int:
        await service.readers.set_folder(Principal(), collection, path, readers)
        place = one_line(path) or f"The collection {one_line(collection)}"
        print_text(f"{place}: {format_readers(readers)}.")
        return 0

    return change


def parse_names(names: str) -> tuple[str, ...]:
    """The readers that a command names, none for 'inherit'."""
    from ragstone.core.readers import parse_readers

    if names == INHERIT:
        return ()
    try:
        return parse_readers([names])
    except RagstoneError as error:
        fail(error.message)


def format_readers(readers: "tuple[str, ...]") -> str:
    """Readers in words."""
    names = ("everyone" if name == EVERYONE else name for name in readers)
    return one_line(", ".join(names)) or "none of their own"


def format_reason(reason: "ReadersReason") -> str:
    """What says who may read a document."""
    return {
        "document": "set for the document",
        "told": "told with the document",
        "folder": f"set for the folder {reason.place}",
        "file": f"ragstone.yaml of the folder {reason.place}",
        "collection": "default of the collection",
        "default": "nothing else is said",
    }[reason.kind]
