"""What every command prints with: text made safe for a terminal, tables, JSON, times."""

import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ragstone.core.turn import Principal

if TYPE_CHECKING:
    from ragstone.service import Service

_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str) -> str:
    """Text without the characters that steer a terminal or reorder what it shows."""
    return "".join(c for c in text if c in "\n\t" or not _steers(c))


def _steers(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cs") or c in _BIDI


def one_line(text: str) -> str:
    """Clean text with every run of white space as one space."""
    return clean(" ".join(text.split()))


def print_text(text: str = "", end: str = "\n") -> None:
    """Print to standard output at once."""
    print(clean(text), end=end, flush=True)


def err(text: str) -> None:
    """Print one line to standard error."""
    print(one_line(text), file=sys.stderr, flush=True)


async def tell_collections_to_come(
    service: "Service", tenant: str, granted: Sequence[str] | None
) -> None:
    """Say on standard error which of the granted collections are not there yet: a name may be a
    slip."""
    known = await service.collections(Principal(tenant), operator=True) if granted else []
    for name in sorted({*(granted or ())} - {item.name for item in known}):
        err(f"There is no collection {name!r} yet; it is reached as soon as there is.")


def out_json(value: Any) -> None:
    """Print what the service returns as JSON; in ASCII, so that it steers no terminal either."""
    print(json.dumps(value, indent=2, default=_dump), flush=True)


def _dump(value: object) -> object:
    from ragstone.service import wire  # 0.5 s that --help need not pay

    return wire.dump(value)


def show_list(
    name: str,
    items: Sequence[object],
    as_json: bool,
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    empty: str,
) -> int:
    """Print a list as a JSON object under `name`, as a table, or the sentence `empty`."""
    if as_json:
        out_json({name: list(items)})
    elif not items:
        print_text(empty)
    else:
        table(head, list(rows))
    return 0


def format_time(at: float, seconds: bool = False) -> str:
    """A time, given in seconds since 1970, as this machine's clock shows it."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M" + (":%S" if seconds else ""))


def duration(seconds: float) -> str:
    """Seconds as minutes or hours."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def value_text(value: object) -> str:
    """A value of metadata as a person writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def omit_name(path: str, reason: str) -> str:
    """Why a file failed, without its name, which stands before it."""
    return reason.removeprefix(f"{path.rpartition('/')[2]} ")


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print columns, numbers to the right."""
    cells = [[one_line(str(cell)) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    columns = list(zip(*rows, strict=True)) or [()] * len(head)
    right = [bool(c) and all(isinstance(cell, int | float) for cell in c) for c in columns]
    for row in cells:
        aligned = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        )
        print_text("  ".join(aligned).rstrip())
