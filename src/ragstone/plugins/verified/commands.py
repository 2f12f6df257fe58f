"""`ragstone verified`: answers that a person has verified."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import format_time, out_json, print_text, show_list
from ragstone.cli.running import command
from ragstone.core.errors import InputError
from ragstone.core.turn import Principal

if TYPE_CHECKING:
    from ragstone.plugins.verified.contract import SourcePlace, VerifiedAnswer, VerifiedService
    from ragstone.service import Service

app = typer.Typer(
    add_completion=False,
    help="Answers that a person has verified: they are given first.",
    no_args_is_help=True,
)

Id = Annotated[str, typer.Argument(metavar="ID", help="As 'ragstone verified list' shows it.")]


@command(app, "list")
async def list_(
    service: "Service", collection: opt.Collection = "default", as_json: opt.AsJson = False
) -> int:
    """List the verified answers of a collection, and whether they are given now."""
    found = await _operations(service).list_all(Principal(), collection)
    return show_list(
        "answers",
        found,
        as_json,
        ("id", "state", "owner", "until", "question", "answer"),
        [
            (item.id, item.state, item.owner, format_end(item), item.wordings[0], item.text[:60])
            for item in found
        ],
        "There are no verified answers. 'ragstone verified add' writes one.",
    )


@command(app)
async def add(
    service: "Service",
    text: Annotated[str, typer.Argument(metavar="ANSWER", help="[1] cites the first source.")],
    question: Annotated[
        list[str], typer.Option("--question", help="A question it answers; may be repeated.")
    ],
    source: Annotated[
        list[str],
        typer.Option(
            "--source", metavar="PATH[#FROM-TO]", help="A document it stands on; may be repeated."
        ),
    ],
    collection: opt.Collection = "default",
    readers: Annotated[
        str, typer.Option(metavar="NAMES", help="group:hr,user:ada; who may read all if absent.")
    ] = "",
    owner: Annotated[str, typer.Option(metavar="NAME", help="Who answers for it.")] = "",
    until: Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="The first day without.")] = "",
    id: Annotated[str, typer.Option("--id", help="Instead of this one.")] = "",
    as_json: opt.AsJson = False,
) -> int:
    """Verify an answer: it is given first, to who may read it and all its sources."""
    from ragstone.core.readers import parse_readers

    made = await _operations(service).put(
        Principal(),
        collection,
        text,
        question,
        [parse_place(item) for item in source],
        readers=parse_readers([readers]) if readers else (),
        owner=owner,
        expires_at=_day(until) if until else None,
        id=id,
    )
    if as_json:
        out_json(made)
    else:
        print_text(f"Verified answer {made.id} is given from now on.")
    return 0


@command(app)
async def remove(service: "Service", id: Id, collection: opt.Collection = "default") -> int:
    """Remove a verified answer."""
    await _operations(service).remove(Principal(), collection, id)
    print_text(f"Removed {id}.")
    return 0


@command(app)
async def review(
    service: "Service",
    collection: opt.Collection = "default",
    limit: Annotated[int, typer.Option(min=1, max=5_000, help="Newest of each kind.")] = 500,
    as_json: opt.AsJson = False,
) -> int:
    """List questions that were refused or whose answers were disliked, alike ones together."""
    found = await _operations(service).review(Principal(), collection, limit)
    return show_list(
        "groups",
        found,
        as_json,
        ("times", "question", "comment"),
        [
            (
                len(group.questions),
                group.question,
                next((item.comment for item in group.questions if item.comment), ""),
            )
            for group in found
        ],
        "No question was refused or its answer disliked, as far as that is kept.",
    )


def format_end(answer: "VerifiedAnswer") -> str:
    """Until when an answer counts."""
    return format_time(answer.expires_at) if answer.expires_at is not None else "-"


def parse_place(text: str) -> "SourcePlace":
    """Return a source as it is typed. Raises InputError."""
    from ragstone.plugins.verified.contract import SourcePlace

    path, sign, span = text.rpartition("#")
    start, dash, end = span.partition("-")
    if not sign:
        return SourcePlace(text)
    if not (dash and start.isdecimal() and end.isdecimal()):
        raise InputError(f"A source is given as PATH or PATH#FROM-TO, but {text[:100]!r} is not.")
    return SourcePlace(path, int(start), int(end))


def _day(text: str) -> float:
    """Return the first second of a day of this machine's clock. Raises InputError."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").timestamp()
    except ValueError as error:
        raise InputError(f"A day is given as YYYY-MM-DD, but {text[:100]!r} is not.") from error


def _operations(service: "Service") -> "VerifiedService":
    from ragstone.plugins.verified.contract import VERIFIED

    return VERIFIED.of(service)
