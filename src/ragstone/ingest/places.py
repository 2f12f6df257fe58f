"""Places of documents on the disk: a file's path, or below an archive's path that of a member."""

import os
from pathlib import Path

ARCHIVE = ".zip"
"""The ending of files that are folders of their members."""


def is_archive(name: str) -> bool:
    """Whether a file of this name is a folder of its members."""
    return name.lower().endswith(ARCHIVE)


def find_archive(place: str | Path) -> str:
    """The archive on the disk that a place is in, empty for one that is not a member's."""
    path = os.fspath(place)
    if ARCHIVE not in path.lower():
        return ""
    while (above := os.path.dirname(path)) != path:
        path = above
        if is_archive(path) and os.path.isfile(path):
            return path
    return ""


def find_file(place: str | Path) -> Path:
    """The file on the disk that holds what is at a place."""
    return Path(find_archive(place) or place)


def split_member(place: Path) -> tuple[str, str]:
    """The archive on the disk that a member's place is in, and its path there, with slashes."""
    archive = find_archive(place)
    return archive, place.relative_to(archive).as_posix()


def is_hidden(name: str) -> bool:
    """Whether a member of an archive is hidden, or what macOS keeps beside the files."""
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))
