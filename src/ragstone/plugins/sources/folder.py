"""A folder of the server's machine as a source."""

import os
from pathlib import Path

from pydantic import Field, field_validator

from ragstone.core.errors import SourceUnavailable
from ragstone.ingest import file_threads
from ragstone.ports.sources import SourceKind, SourceOptions, SourceParts


class FolderOptions(SourceOptions):
    """Options of a folder."""

    path: str = Field(description="The folder on the server's machine, from / on.")

    @field_validator("path")
    @classmethod
    def _check_absolute(cls, path: str) -> str:
        if not os.path.isabs(path):
            raise ValueError("the path must be absolute, such as /srv/handbook")
        return path


class LocalFolder:
    """`ports.sources.FolderSource` of a folder that is there already."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def check(self) -> None:
        if not await file_threads.run([self._folder], _is_readable, self._folder):
            raise SourceUnavailable(
                f"{self._folder} is not a folder that can be read here: if it is a share, mount it "
                "again. Its documents stay."
            )

    async def update(self) -> Path:
        return self._folder

    async def aclose(self) -> None:
        """`ports.sources.FolderSource`."""


def _is_readable(folder: Path) -> bool:
    try:
        with os.scandir(folder):
            return True
    except OSError:
        return False


def open_folder(parts: SourceParts[FolderOptions]) -> LocalFolder:
    """Make the source."""
    return LocalFolder(Path(parts.options.path))


FOLDER = SourceKind("A folder of the server's machine.", FolderOptions, open_folder, of_server=True)
