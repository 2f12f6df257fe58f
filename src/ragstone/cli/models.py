"""`ragstone models`: whether the chat models do what Ragstone needs."""

from contextlib import aclosing
from typing import TYPE_CHECKING

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import one_line, out_json, print_text
from ragstone.cli.running import command

if TYPE_CHECKING:
    from ragstone.core.records import ModelCheck
    from ragstone.service import Service

app = typer.Typer(
    help="Chat models: whether they work.", add_completion=False, no_args_is_help=True
)


@app.callback()
def main() -> None:
    """Keep `check` a command of its own, though it is the only one."""


@command(app)
async def check(service: "Service", as_json: opt.AsJson = False) -> int:
    """Try what the chat models have to do; status 1 if one fails at something."""
    done: list[ModelCheck] = []
    async with aclosing(service.check_models()) as checks:
        async for check in checks:
            if not as_json and check.model not in {item.model for item in done}:
                print_text(one_line(check.model))
            if not as_json:
                print_text(f"  {check.check:<8} {check.state:<8} {one_line(check.said)}")
            done.append(check)
    if as_json:
        out_json({"checks": done})
    return int(any(check.state == "failed" for check in done))
