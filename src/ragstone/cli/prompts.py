"""The `ragstone prompts` commands: what chat models are told, in versions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.running import context_settings, run

if TYPE_CHECKING:
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


@app.command("list")
def list_(context: Context, tenant: Tenant = "", as_json: opt.AsJson = False) -> None:
    """List the prompts: what each is for, where it comes from, and its version."""
    run(context_settings(context), lambda service: _list(service, tenant, as_json))


@app.command()
def show(
    context: Context,
    name: Name,
    version: Annotated[int, typer.Option(min=0, help="An earlier version; 0 is what holds.")] = 0,
    tenant: Tenant = "",
    as_json: opt.AsJson = False,
) -> None:
    """Print a prompt."""
    run(context_settings(context), lambda service: _show(service, name, tenant, version, as_json))


@app.command()
def edit(
    context: Context,
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
) -> None:
    """Make a new version of a prompt, from a file or in $EDITOR."""
    run(context_settings(context), lambda service: _edit(service, name, tenant, file))


@app.command()
def versions(
    context: Context, name: Name, tenant: Tenant = "", as_json: opt.AsJson = False
) -> None:
    """List the versions of a prompt, the newest first."""
    run(context_settings(context), lambda service: _versions(service, name, tenant, as_json))


@app.command()
def diff(
    context: Context,
    name: Name,
    old: Annotated[
        int | None, typer.Argument(min=0, metavar="[OLD]", help="A version; 0 is what is below.")
    ] = None,
    new: Annotated[int | None, typer.Argument(min=0, metavar="[NEW]", help="Another one.")] = None,
    tenant: Tenant = "",
) -> None:
    """Show how two versions differ; without any, the newest and the one before."""
    run(context_settings(context), lambda service: _diff(service, name, tenant, old, new))


@app.command()
def rollback(
    context: Context,
    name: Name,
    version: Annotated[int, typer.Argument(min=1, metavar="VERSION", help="Which one.")],
    tenant: Tenant = "",
) -> None:
    """Make an earlier version the newest again."""
    run(context_settings(context), lambda service: _rollback(service, name, tenant, version))


@app.command()
def reset(context: Context, name: Name, tenant: Tenant = "") -> None:
    """Go back to the prompt that stands below: of all tenants, of the file, or shipped."""
    run(context_settings(context), lambda service: _reset(service, name, tenant))


async def _list(service: "Service", tenant: str, as_json: bool) -> int:
    from ragstone.cli.show import out_json, table
    from ragstone.service import wire

    found = await service.prompts.list_all(tenant)
    if as_json:
        out_json({"prompts": [wire.dump(item) for item in found]})
        return 0
    rows = [(item.name, item.source, str(item.version or ""), item.help) for item in found]
    table(("prompt", "from", "version", "what it is for"), rows)
    return 0


async def _show(service: "Service", name: str, tenant: str, version: int, as_json: bool) -> int:
    from ragstone.cli.show import out_json, print_text
    from ragstone.service import wire

    found = await service.prompts.get(name, tenant, version)
    if as_json:
        out_json(wire.dump(found))
    else:
        print_text(found.text, end="" if found.text.endswith("\n") else "\n")
    return 0


async def _edit(service: "Service", name: str, tenant: str, file: str) -> int:
    from ragstone.cli.show import print_text

    before = (await service.prompts.get(name, tenant)).text
    text = _read(file) if file else _edit_text(before)
    if text.strip() == before.strip():
        print_text("Nothing was changed.")
        return 0
    made = await service.prompts.put(name, text, tenant, WHO)
    print_text(f"{made.name} has version {made.version} now.")
    return 0


def _edit_text(text: str) -> str:
    """The text as it is after $VISUAL or $EDITOR was closed."""
    import os
    import shlex
    import subprocess
    import tempfile

    from ragstone.core.errors import InputError

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
    import sys

    from ragstone.core.errors import InputError

    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not in UTF-8.") from error
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}).") from error


async def _versions(service: "Service", name: str, tenant: str, as_json: bool) -> int:
    from datetime import datetime

    from ragstone.cli.show import out_json, print_text, table
    from ragstone.service import wire

    found = await service.prompts.versions(name, tenant)
    if as_json:
        out_json({"versions": [wire.dump(item) for item in found]})
    elif not found:
        print_text("It was never changed.")
    else:
        rows = [
            (
                str(item.version),
                datetime.fromtimestamp(item.updated_at).strftime("%Y-%m-%d %H:%M:%S"),
                item.who,
                f"{len(item.text):,} characters" if item.text else "reset",
            )
            for item in found
        ]
        table(("version", "when", "who", "text"), rows)
    return 0


async def _diff(
    service: "Service", name: str, tenant: str, old: int | None, new: int | None
) -> int:
    from ragstone.cli.show import print_text

    if new is None:
        found = await service.prompts.versions(name, tenant)
        new = found[0].version if found else 0
    old = max(new - 1, 0) if old is None else old
    print_text(await service.prompts.diff(name, tenant, old, new) or "They are the same.")
    return 0


async def _rollback(service: "Service", name: str, tenant: str, version: int) -> int:
    from ragstone.cli.show import print_text

    made = await service.prompts.rollback(name, tenant, version, WHO)
    print_text(f"{made.name} is as it was in version {version}.")
    return 0


async def _reset(service: "Service", name: str, tenant: str) -> int:
    from ragstone.cli.show import print_text

    made = await service.prompts.reset(name, tenant, WHO)
    print_text(f"{made.name} is the {made.source} one again.")
    return 0
