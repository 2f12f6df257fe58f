"""`ragstone cache`: what the semantic cache has done, and how to empty it."""

from typing import TYPE_CHECKING

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import one_line, out_json, print_text
from ragstone.cli.running import command

if TYPE_CHECKING:
    from ragstone.service import Service

app = typer.Typer(help="Look at the semantic cache, or empty it.", add_completion=False)


@command(app)
async def stats(service: "Service", as_json: opt.AsJson = False) -> int:
    """Show how many questions are known, and how many were answered from them."""
    figures = await service.cache_figures()
    if as_json:
        out_json(figures)
        return 0
    asked = figures.hits + figures.misses
    rows = [
        ("Cache", figures.where if figures.available else f"{figures.where} (does not answer)"),
        ("Entries", f"{figures.entries:,}"),
        ("Hits", f"{figures.hits:,} of {asked:,} questions"),
        ("Saved", f"{figures.saved_seconds:,.1f} s"),
    ]
    if figures.where == "off":
        rows = rows[:1]
    for name, value in rows:
        print_text(f"{name + ':':<9}{one_line(value)}")
    return 0


@command(app)
async def clear(service: "Service", as_json: opt.AsJson = False) -> int:
    """Forget every question."""
    return _show_count(await service.clear_cache(), "forgotten", as_json)


@command(app)
async def rebuild(service: "Service", as_json: opt.AsJson = False) -> int:
    """Read the questions anew from where they are stored, without those that have ended."""
    return _show_count(await service.rebuild_cache(), "in the cache", as_json)


def _show_count(count: int, done: str, as_json: bool) -> int:
    if as_json:
        out_json({"entries": count})
    else:
        print_text(f"{count:,} {'entry' if count == 1 else 'entries'} {done}.")
    return 0
