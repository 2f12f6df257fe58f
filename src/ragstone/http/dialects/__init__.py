"""The HTTP dialects by name: each turns requests into questions, and events into its answers."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import APIRouter

from ragstone.core.errors import ConfigError
from ragstone.registry import Extension, Registry
from ragstone.service import Service
from ragstone.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DialectParts:
    """The dependencies of a dialect's routes. Every request to them has passed the guards."""

    service: Service
    settings: Settings


def dialects(parts: DialectParts, ours: bool) -> Iterator[APIRouter]:
    """The routes of the dialects that are switched on: ours, or those of other packages. One of
    another package that is broken is left out, and the log says why."""
    for name in DIALECTS.ours if ours else DIALECTS.others:
        if not parts.settings.dialects.is_on(name):
            continue
        try:
            yield DIALECTS.make(name, parts)
        except ConfigError as error:
            if ours:
                raise
            log.warning("%s The server goes on without it.", error)


DIALECTS: Registry[APIRouter] = Registry(
    "ragstone.dialects",
    "dialect",
    {
        "openai": Extension("ragstone.http.dialects.openai.routes:router", "/v1/*"),
        "mcp": Extension("ragstone.http.mcp.routes:router", "/mcp, if the extra mcp is installed"),
    },
    makes=APIRouter,
)
"""Dialects by their switch among the settings, made of `DialectParts`."""
