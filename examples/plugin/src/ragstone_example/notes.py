"""A kind of source: the notes in one JSON file, each a document."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from pydantic import Field

from ragstone.core.errors import DocumentError, SourceUnavailable
from ragstone.core.sync import SourceItem
from ragstone.ports.sources import SourceKind, SourceOptions, SourceParts


class NotesOptions(SourceOptions):
    """Options of a file of notes."""

    file: str = Field(description='The file: {"name": {"text": ..., "readers": ["group:hr"]}}.')


class Notes:
    """`ports.sources.ItemSource` of a file of notes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._notes: dict[str, dict[str, object]] = {}

    async def check(self) -> None:
        try:
            self._notes = json.loads(await asyncio.to_thread(self._file.read_text))
        except (OSError, ValueError) as error:
            raise SourceUnavailable(f"{self._file} cannot be read as JSON.") from error

    async def list_items(self, checkpoint: str) -> AsyncIterator[SourceItem]:
        for name, note in self._notes.items():
            readers = tuple(note.get("readers", ()))  # type: ignore[call-overload]
            yield SourceItem(name, version=str(note["text"]), path=f"{name}.txt", readers=readers)

    async def list_keys(self) -> AsyncIterator[str]:
        for name in self._notes:
            yield name

    def get_checkpoint(self) -> str:
        return ""  # The file does not tell what has changed: every run lists all of it.

    async def fetch(self, item: SourceItem, target: BinaryIO) -> None:
        if item.key not in self._notes:
            raise DocumentError("The note is gone.")
        target.write(str(self._notes[item.key]["text"]).encode())

    async def aclose(self) -> None:
        """Nothing is open."""


def open_notes(parts: SourceParts[NotesOptions]) -> Notes:
    return Notes(Path(parts.options.file))


NOTES = SourceKind("Notes in a JSON file.", NotesOptions, open_notes, of_server=True)
