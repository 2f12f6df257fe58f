"""The HTTP dialects by name: each turns requests into questions, and events into its answers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter

from ragstone.registry import Extension, Registry
from ragstone.service import Service
from ragstone.settings import Settings


@dataclass(frozen=True, slots=True)
class DialectParts:
    """The dependencies of a dialect's routes. Every request to them has passed the guards."""

    service: Service
    settings: Settings


def dialects(parts: DialectParts, ours: bool) -> Iterable[APIRouter]:
    """Return the routes of the dialects that are switched on: ours, or those of other packages. One
    of another package that is broken is left out, and the log says why. Raises ConfigError for a
    setting that names none."""
    off = parts.settings.dialects.off
    for name in off:
        DIALECTS[name]
    on = [name for name in (DIALECTS.ours if ours else DIALECTS.others) if name not in off]
    return DIALECTS.make_usable(on, "The server goes on without it.", parts).values()


DIALECTS: Registry[APIRouter] = Registry(
    "ragstone.dialects",
    "dialect",
    {
        "openai": Extension("ragstone.http.dialects.openai.routes:router", "/v1/*"),
        "mcp": Extension("ragstone.http.mcp.routes:router", "/mcp, if the extra mcp is installed"),
    },
    makes=APIRouter,
)
"""Dialects by their names, made of `DialectParts`."""

MIDDLEWARE: Registry[Any] = Registry("ragstone.middleware", "middleware", {}, makes=object)
"""What stands before the guards and the routes, by name, made of `DialectParts`: it makes an ASGI
application of one. None where nothing is wanted."""
