"""Ways in which a file of a data directory breaks."""

import os
import random
import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

FEW = 8
READ = 200_000
"""Bytes at the beginning of a file, where what it holds stands: the rest of Edge's are holes."""


def truncate(file: Path) -> None:
    """It ends within what it holds."""
    os.truncate(file, _held(file) // 2)


def flip(file: Path) -> None:
    """Some bits of what it holds are others."""
    chosen = random.Random(file.name)
    with file.open("r+b") as opened:
        data = opened.read(READ)
        places = [at for at, byte in enumerate(data) if byte] or list(range(len(data)))
        for at in chosen.sample(places, min(FEW, len(places))):
            opened.seek(at)
            opened.write(bytes([data[at] ^ (1 << chosen.randrange(8))]))


def empty(file: Path) -> None:
    os.truncate(file, 0)


def remove(file: Path) -> None:
    file.unlink()


def other_version(file: Path) -> None:
    """A program that does not exist yet wrote it."""
    if file.name == "state.sqlite":
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
    elif file.suffix == ".sqlite":
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("CREATE TABLE later (id TEXT)")
            connection.execute("PRAGMA user_version = 9999")
    else:
        raw = file.read_bytes()
        file.write_bytes(re.sub(rb"\d+", b"9999", raw[:READ]) + raw[READ:])


DAMAGES: Mapping[str, Callable[[Path], None]] = {
    "truncated": truncate,
    "flipped": flip,
    "emptied": empty,
    "missing": remove,
    "newer": other_version,
}


def _held(file: Path) -> int:
    """Where the last byte that is not 0 stands, of the first ones."""
    with file.open("rb") as opened:
        return len(opened.read(READ).rstrip(b"\0"))


def kinds(data: Path) -> list[Path]:
    """One file of each kind: Edge keeps equal ones for every field of a chunk."""
    seen: dict[str, Path] = {}
    for file in sorted(path for path in data.rglob("*") if path.is_file()):
        name = str(file.relative_to(data))
        name = re.sub(r"payload_index/[^/]*-([a-z]+)(?=/)", r"payload_index/\1", name)
        name = re.sub(r"segments/[^/]+", "segment", name)
        seen.setdefault(name, file)
    return [file.relative_to(data) for file in seen.values()]
