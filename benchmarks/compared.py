"""The tables of `docs/compared.md`, made of the stored rows of `benchmarks.peers`."""

import re
from collections.abc import Iterable, Mapping, Sequence

Stored = Mapping[str, Sequence[Mapping[str, object]]]

PLACES = {"filings": "page", "office": "file"}


def write_compared(stored: Stored) -> str:
    """All tables as Markdown, with headings; a table whose benchmark never ran is left out."""
    speed = _by_what(stored.get("peers", ()))
    files = _by_what(stored.get("peers.documents", ()))
    rights = _by_what(stored.get("peers.rights", ()))
    replies = _by_what(stored.get("peers.replies", ()))
    sizes = ("4,000", "100,000")
    query = "A hybrid query at {} chunks without its embedding, p50"
    index = "An index of {} chunks that are embedded, built in"
    found = {f"query at {size}": query.format(size) for size in sizes}
    found |= {f"index of {size}": index.format(size) for size in sizes}
    parts = _table("`nox -s peers`", found, speed)
    for name, place in PLACES.items():
        start = f"Files, {name},"
        found = {
            f"right {place} first": f"{start} right {place} first",
            "in the first 5": f"{start} right {place} in the first 5",
            "answer in the first 5": f"{start} answer in the first 5",
            "words of these": f"{start} words of the first 5",
            "files not read": f"{start} files not read",
            "indexing, processor": f"{start} processor time of indexing",
            "memory": f"{start} most memory of indexing",
        }
        parts += _table(f"`peers.documents`, {name}", found, files)
        answers = ("answered right", "refused wrongly", "refused what nothing answers")
        found = {what: f"{start} {what}" for what in (*answers, "cites the right page")}
        parts += _table(f"answers, {name}", found, files)
    start = "Rights, not allowed among five"
    found = {
        "not allowed, no filter": f"{start}, no filter",
        "not allowed, filter": start,
        "allowed, filter": "Rights, allowed among five",
    }
    parts += _table("`peers.rights`, notes among five", found, rights)
    found = {
        "unanswerable, refused": "Replies, refused what nothing answers",
        "answerable, right": "Replies, right",
        "answerable, refused": "Replies, refused wrongly",
    }
    parts += _table("`peers.replies`", found, replies)
    return "\n".join(parts)


def _by_what(rows: Iterable[Mapping[str, object]]) -> dict[tuple[str, str], str]:
    """Return what a row says, by what it measures and of whom."""
    found = {}
    for row in rows:
        what, _, who = str(row["what"]).rpartition(": ")
        note, value, unit = str(row["note"]), row["value"], str(row["unit"])
        number = f"{value:,.0f}" if isinstance(value, float) and value >= 100 else f"{value:.3g}"
        # A share says of how many it is: "7 of 14".
        share = re.fullmatch(r"(?:\d+ )?(of \d+)", note)
        if share:
            found[what, who] = note if share.start(1) else f"{number} {note}"
        else:
            found[what, who] = f"{number} {unit}".strip()
    return found


def _table(
    title: str, columns: Mapping[str, str], found: Mapping[tuple[str, str], str]
) -> list[str]:
    """List whoever has a figure in the first column, in the order of the rows."""
    first = next(iter(columns.values()))
    sides = list(dict.fromkeys(who for what, who in found if what == first))
    if not sides:
        return []
    lines = [f"| {title} | {' | '.join(columns)} |", "| --- |" + " --- |" * len(columns)]
    for who in sides:
        # What indexing took is one figure for all searches of a side.
        side, _, _ = who.partition(", ")
        cells = [found.get((what, who), found.get((what, side), "–")) for what in columns.values()]
        lines.append(f"| {who} | {' | '.join(cells)} |")
    return [*lines, ""]
