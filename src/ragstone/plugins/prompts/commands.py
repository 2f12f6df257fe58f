"""The `ragstone prompts` commands: what chat models are told, in versions."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import format_time, out_json, print_text, show_list
from ragstone.cli.running import command
from ragstone.core.errors import InputError

if TYPE_CHECKING:
    from ragstone.plugins.prompts.contract import PromptService
    from ragstone.service import Service

app = typer.Typer(
    help="Prompts: what chat models are told.", add_completion=False, no_args_is_help=True
)

Context = typer.Context
Name = Annotated[str, typer.Argument(metavar="NAME", help="Like answer, or answer.de.")]
Tenant = Annotated[
    str, typer.Option("--tenant", metavar="NAME", help="Whose prompt; without, that of all.")
]
WHO = "local"


@command(app, "list")
async def list_(service: "Service", tenant: Tenant = "", as_json: opt.AsJson = False) -> int:
    """List the prompts: what each is for, where it comes from, and its version."""
    found = await _operations(service).list_all(tenant)
    rows = ((item.name, item.source, str(item.version or ""), item.help) for item in found)
    head = ("prompt", "from", "version", "what it is for")
    return show_list("prompts", found, as_json, head, rows, "There are no prompts.")


@command(app)
async def show(
    service: "Service",
    name: Name,
    version: Annotated[int, typer.Option(min=0, help="An earlier version; 0 is what holds.")] = 0,
    tenant: Tenant = "",
    as_json: opt.AsJson = False,
) -> int:
    """Print a prompt."""
    found = await _operations(service).get(name, tenant, version)
    if as_json:
        out_json(found)
    else:
        print_text(found.text, end="" if found.text.endswith("\n") else "\n")
    return 0


@command(app)
async def edit(
    service: "Service",
    name: Name,
    file: Annotated[
        str,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="The text, - for standard input; without one, $EDITOR opens.",
        ),
    ] = "",
    tenant: Tenant = "",
) -> int:
    """Make a new version of a prompt, from a file or in $EDITOR."""
    before = (await _operations(service).get(name, tenant)).text
    text = _read(file) if file else _edit_text(before)
    if text.strip() == before.strip():
        print_text("Nothing was changed.")
        return 0
    made = await _operations(service).put(name, text, tenant, WHO)
    print_text(f"{made.name} has version {made.version} now.")
    return 0


@command(app)
async def versions(
    service: "Service", name: Name, tenant: Tenant = "", as_json: opt.AsJson = False
) -> int:
    """List the versions of a prompt, the newest first."""
    found = await _operations(service).versions(name, tenant)
    rows = (
        (
            str(item.version),
            format_time(item.updated_at, seconds=True),
            item.who,
            f"{len(item.text):,} characters" if item.text else "reset",
        )
        for item in found
    )
    head = ("version", "when", "who", "text")
    return show_list("versions", found, as_json, head, rows, "It was never changed.")


@command(app)
async def diff(
    service: "Service",
    name: Name,
    old: Annotated[
        int | None, typer.Argument(min=0, metavar="[OLD]", help="A version; 0 is what is below.")
    ] = None,
    new: Annotated[int | None, typer.Argument(min=0, metavar="[NEW]", help="Another one.")] = None,
    tenant: Tenant = "",
) -> int:
    """Show how two versions differ; without any, the newest and the one before."""
    if new is None:
        found = await _operations(service).versions(name, tenant)
        new = found[0].version if found else 0
    old = max(new - 1, 0) if old is None else old
    print_text(await _operations(service).diff(name, tenant, old, new) or "They are the same.")
    return 0


@command(app)
async def rollback(
    service: "Service",
    name: Name,
    version: Annotated[int, typer.Argument(min=1, metavar="VERSION", help="Which one.")],
    tenant: Tenant = "",
) -> int:
    """Make an earlier version the newest again."""
    made = await _operations(service).rollback(name, tenant, version, WHO)
    print_text(f"{made.name} is as it was in version {version}.")
    return 0


@command(app)
async def reset(service: "Service", name: Name, tenant: Tenant = "") -> int:
    """Go back to the prompt that stands below: of all tenants, of the file, or shipped."""
    made = await _operations(service).reset(name, tenant, WHO)
    print_text(f"{made.name} is the {made.source} one again.")
    return 0


def _edit_text(text: str) -> str:
    """Return the text as it is after $VISUAL or $EDITOR was closed."""
    import shlex
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prompt.txt"
        file.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)  # noqa: S603
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise InputError(f"The editor {editor!r} failed; name one in EDITOR.") from error
        return _read(str(file))


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not in UTF-8.") from error
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}).") from error


def _operations(service: "Service") -> "PromptService":
    from ragstone.plugins.prompts.contract import PROMPTS

    return PROMPTS.of(service)
