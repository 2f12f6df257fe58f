"""Sections of the settings that plugins and other packages add, and the names of other systems'
documents, which they may have too."""

from collections.abc import Mapping
from functools import cache
from typing import ClassVar, Self

from pydantic import BaseModel

from ragstone.registry import Registry
from ragstone.settings.aliases import ALIASES, Alias
from ragstone.settings.section import Section


class AddedSection(Section):
    """A section of a plugin or a package: its fields, each with a default and a description, are
    settings like those of the core."""

    at_run_time: ClassVar[frozenset[str]] = frozenset()
    """Fields that can change while the server runs, for everyone, a dialect, a tenant or a
    collection; the others are read at the start."""

    aliases: ClassVar[tuple[Alias, ...]] = ()
    """What documents of other systems call these settings."""

    @classmethod
    def of(cls, settings: BaseModel) -> Self:
        """Return the section in `settings`; its defaults where those were made without it."""
        return next((part for _, part in settings if isinstance(part, cls)), None) or cls()


ADDED_SECTIONS: Registry[type[AddedSection]] = Registry(
    "ragstone.settings", "section of the settings", {}, is_a=type
)
"""Sections by their names, which are the first part of the names of their settings."""


@cache
def added_sections() -> Mapping[str, type[AddedSection]]:
    """Return the sections by name. A package's that is broken, or has the name of one of ours, is
    left out, and the log says why."""
    from ragstone.settings.all import Settings

    def load(name: str) -> type[AddedSection]:
        if name in Settings.model_fields:
            raise ValueError("Ragstone has settings of that name")
        section = ADDED_SECTIONS.get(name)
        if not issubclass(section, AddedSection):
            raise TypeError(f"{section.__name__} is not an AddedSection")
        return section

    return ADDED_SECTIONS.keep_usable(ADDED_SECTIONS, "Its settings are unknown.", load)


@cache
def find_aliases() -> tuple[Alias, ...]:
    """Return the names of documents: those of the core, and those of sections that are added or
    would be, if their plugin were not switched off."""
    off = (item.load() for item in ADDED_SECTIONS.switched_off.values())
    sections = (*added_sections().values(), *off)
    return (*ALIASES, *(alias for section in sections for alias in section.aliases))


@cache
def aliases_by_name() -> Mapping[str, Alias]:
    """By their names in lower case, as `LLM_PROVIDER` is also V5's `llm_provider`; those that count
    most come first."""
    return {item.name.lower(): item for item in find_aliases()}
