"""The `ragstone conversations` commands: what was asked in which room, and how to forget it."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import format_time, one_line, out_json, print_text, table
from ragstone.cli.running import command, confirm, context_settings, fail, run
from ragstone.core.turn import Principal
from ragstone.core.wording import format_count

if TYPE_CHECKING:
    from ragstone.core.conversation import ConversationKey, StoredTurn
    from ragstone.core.turn import Principal
    from ragstone.service import Service

app = typer.Typer(
    help="Conversations: list, show, rename, export and delete them.",
    add_completion=False,
    no_args_is_help=True,
)

Context = typer.Context
Room = Annotated[str, typer.Argument(metavar="ROOM", help="The room id.")]
User = Annotated[str, typer.Option("--user", metavar="NAME", help="Whose conversations.")]
Account = Annotated[
    str, typer.Option("--user-id", metavar="ID", help="The client's own account of the user.")
]
AnyAccount = Annotated[
    str | None, typer.Option("--user-id", metavar="ID", help="Only this account of the client.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")]
Limit = Annotated[int, typer.Option(min=1, max=500, help="Most to show.")]
Offset = Annotated[int, typer.Option(min=0, help="How many of the newest to pass over.")]


@command(app, "list")
async def list_(
    service: "Service",
    user: User = "local",
    user_id: AnyAccount = None,
    limit: Limit = 50,
    offset: Offset = 0,
    as_json: opt.AsJson = False,
) -> int:
    """List conversations, the newest first."""
    found = await service.conversations.rooms(_principal(user), user_id, limit, offset)
    if as_json:
        out_json({"conversations": found.rooms, "total": found.total})
    elif not found.rooms:
        print_text("There are no conversations here.")
    else:
        rows = [
            (r.room, r.user_id, r.turns, format_time(r.updated_at), r.title) for r in found.rooms
        ]
        table(("room", "account", "turns", "last", "title"), rows)
        if found.total > offset + len(rows):
            print_text(f"{found.total:,} in all; see the next with --offset {offset + len(rows)}.")
    return 0


@command(app)
async def show(
    service: "Service",
    room: Room,
    user: User = "local",
    user_id: Account = "",
    limit: Limit = 20,
    offset: Offset = 0,
    as_json: opt.AsJson = False,
) -> int:
    """Show the last turns of a conversation, with their sources."""
    found = await service.conversations.entries(
        _conversation_key(user, room, user_id), limit, offset
    )
    return _show(found, as_json)


@command(app)
async def rename(
    service: "Service",
    room: Room,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What to call it.")],
    user: User = "local",
    user_id: Account = "",
) -> int:
    """Give a conversation another title."""
    print_text(await service.conversations.rename(_conversation_key(user, room, user_id), title))
    return 0


@command(app)
async def export(
    service: "Service",
    room: Room,
    form: Annotated[
        Literal["json", "markdown", "docx"], typer.Option("--format", help="What to write.")
    ] = "markdown",
    file: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Instead of printing it.")
    ] = None,
    user: User = "local",
    user_id: Account = "",
) -> int:
    """Write a whole conversation: JSON with everything, or Markdown or Word with its sources."""
    if form == "docx" and file is None:
        fail("A Word file is not printed. Say where to write it: --output FILE.")
    text = await service.conversations.export(_conversation_key(user, room, user_id), form)
    if form == "docx":
        return _write(base64.b64decode(text), file)
    return _write(text.encode("utf-8", "replace"), file)


@app.command("import")
def import_(
    context: Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON: blocks, or an export.")],
    user: User = "local",
) -> None:
    """Add the turns of a file to the rooms that they name; all or, if one is wrong, none."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not in UTF-8"
        fail(f"{file} cannot be read ({reason}).")

    async def action(service: "Service") -> int:
        added = await service.conversations.take_in(_principal(user), text)
        print_text(f"{format_count(added, 'turn')} added.")
        return 0

    run(context_settings(context), action)


@app.command()
def delete(
    context: Context, room: Room, user: User = "local", user_id: Account = "", yes: Yes = False
) -> None:
    """Delete a conversation with all its turns."""
    if not yes:
        confirm(f"Delete the conversation {room!r}?")

    async def action(service: "Service") -> int:
        await service.conversations.delete(_conversation_key(user, room, user_id))
        print_text("Deleted.")
        return 0

    run(context_settings(context), action)


@app.command("forget-user")
def forget_user(
    context: Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="Whom to forget.")],
    user_id: AnyAccount = None,
    yes: Yes = False,
    as_json: opt.AsJson = False,
) -> None:
    """Erase a user: conversations, statistics, documents that only they may read, jobs and keys.

    The cache does not know who asked, so all of it goes.
    """
    if not yes:
        confirm(f"Delete everything of the user {user!r}?")
    run(context_settings(context), lambda s: _forget(s, user, user_id, as_json))


def _principal(user: str) -> "Principal":
    return Principal(user=user)


def _conversation_key(user: str, room: str, user_id: str) -> "ConversationKey":
    from ragstone.core.conversation import conversation_key

    return conversation_key(_principal(user), room, user_id)


def _show(found: "list[StoredTurn]", as_json: bool) -> int:
    from ragstone.cli.show import show_sources
    from ragstone.core.conversation import dump_turn
    from ragstone.core.source import citation_sources

    if as_json:
        turns = [
            {"at": turn.at, "block": dump_turn(turn.block), "notes": turn.notes} for turn in found
        ]
        out_json({"turns": turns})
        return 0
    for turn in reversed(found):
        print_text(f"> {one_line(turn.question)}  ({format_time(turn.at)})\n")
        if turn.block.status != "done":
            print_text("(failed)" if turn.block.is_error else "(cut off)")
        print_text(turn.block.result.final_response)
        show_sources(citation_sources(turn.notes.answer.citations))
        print_text()
    return 0


def _write(content: bytes, file: Path | None) -> int:
    if file is None:
        print_text(content.decode(), end="")
        return 0
    try:
        file.write_bytes(content)
    except OSError as error:
        fail(f"{file} cannot be written ({error.strerror}).")
    return 0


async def _forget(service: "Service", user: str, user_id: str | None, as_json: bool) -> int:
    gone = await service.conversations.forget(_principal(user), user_id)
    if as_json:
        out_json(gone)
    else:
        print_text(
            f"Deleted: {format_count(gone.rooms, 'conversation')} with "
            f"{format_count(gone.turns, 'turn')}, statistics of {format_count(gone.days, 'day')}, "
            f"{format_count(gone.blocked, 'blocked question')}, "
            f"{format_count(gone.cached, 'question')} of the cache, "
            f"{format_count(gone.documents, 'document')}, {format_count(gone.jobs, 'job')}, "
            f"{format_count(gone.keys, 'key')}."
        )
    return 0
