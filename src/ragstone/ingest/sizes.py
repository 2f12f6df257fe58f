"""How large a file may be, which is told before it is opened."""

from pathlib import Path
from typing import Protocol

from ragstone.core.errors import ConfigError, EmptyDocument, TooLarge, UnreadableDocument
from ragstone.ingest.formats.types import FORMATS

MEGABYTE = 1 << 20


class SizeSettings(Protocol):
    """The settings for how large a file may be; see IngestSettings."""

    @property
    def max_file_mb(self) -> int: ...
    @property
    def max_memory_mb(self) -> int: ...


def check_size(path: Path, size: int, whole: bool, settings: SizeSettings) -> None:
    """Raise TooLarge for a file with more bytes than one of its format may have; `whole`: it is
    read whole."""
    name = "max_memory_mb" if whole else "max_file_mb"
    limit = settings.max_memory_mb if whole else settings.max_file_mb
    if size > limit * MEGABYTE:
        raise TooLarge(
            f"{path.name} has {size / MEGABYTE:,.0f} MB; the limit is {limit:,} MB "
            f"(INGEST__{name.upper()}). Split the file, or raise the limit."
        )


def check_before_hashing(path: Path, size: int, settings: SizeSettings) -> None:
    """Raise for a file that is not worth its hash: it is empty, or larger than any may be. The
    parser's process checks the others, as looking up a format loads its parser.

    Raises EmptyDocument, TooLarge.
    """
    if not size:
        raise EmptyDocument(f"{path.name} is empty (0 bytes).")
    if size <= max(settings.max_file_mb, settings.max_memory_mb) * MEGABYTE:
        return
    try:
        whole = FORMATS.get(path.suffix.lower().removeprefix(".")).whole
    except ConfigError as error:
        raise UnreadableDocument(f"{path.name} cannot be read. {error.message}") from error
    check_size(path, size, whole, settings)
