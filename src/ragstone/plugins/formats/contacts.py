"""Contacts (vCard) and calendars (iCalendar): a row for each person, appointment and task.

Both are lines of a name, parameters and a value (RFC 6350, RFC 5545), which may be folded.
"""

import quopri
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from ragstone.core.errors import EmptyDocument
from ragstone.ingest.document import Parsed
from ragstone.ingest.formats.decode import decode_file
from ragstone.ingest.formats.tables import table_blocks
from ragstone.ingest.formats.types import Format

_NAME = re.compile(r"(?:[\w-]+\.)?([A-Za-z][\w-]*)")
_PARAMETER = re.compile(r';([\w-]+)(?:=((?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*))?')
_ESCAPED = re.compile(r"\\([nN\\,;:])")
_PARTS = re.compile(r"(?<!\\);")
_STAMP = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?\d\d)?(Z?).*)?$")
_DAYS = {"MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday",
         "SA": "Saturday", "SU": "Sunday"}  # fmt: skip
_EVERY = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year",
          "HOURLY": "hour", "MINUTELY": "minute", "SECONDLY": "second"}  # fmt: skip
_NO_KIND = {"PREF", "VOICE", "INTERNET", "X400"}
_PEOPLE = {"ORGANIZER": "Organizer", "ATTENDEE": "Attendees"}
_KINDS = {"VEVENT": "Event", "VTODO": "Task", "VJOURNAL": "Entry"}
_CALENDAR = {
    "SUMMARY": "", "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "COMPLETED": "Completed",
    "LOCATION": "Place", "RRULE": "Repeats", "EXDATE": "Except", "STATUS": "Status",
    "PRIORITY": "Priority", **_PEOPLE, "CATEGORIES": "Categories", "URL": "Web",
    "DESCRIPTION": "Description", "COMMENT": "Comment",
}  # fmt: skip
_CONTACT = {
    "FN": "Name", "NICKNAME": "Nickname", "ORG": "Organisation", "TITLE": "Title",
    "ROLE": "Role", "TEL": "Phone", "EMAIL": "Email", "ADR": "Address", "URL": "Web",
    "IMPP": "Messages", "BDAY": "Birthday", "ANNIVERSARY": "Anniversary", "RELATED": "Related",
    "CATEGORIES": "Categories", "NOTE": "Note",
}  # fmt: skip
_COLUMNS = [*_CONTACT.values(), *_KINDS.values(), *_CALENDAR.values()]
_STAMPS = {"DTSTART", "DTEND", "DUE", "COMPLETED", "EXDATE", "BDAY", "ANNIVERSARY"}


@dataclass(frozen=True, slots=True)
class _Line:
    """A property: its name in capitals, its parameters, and its value as it is written."""

    name: str
    parameters: Mapping[str, str]
    value: str

    @property
    def text(self) -> str:
        """The value as a text in one line."""
        plain = _ESCAPED.sub(lambda match: " " if match[1] in "nN" else match[1], self.value)
        return " ".join(plain.split())

    @property
    def parts(self) -> list[str]:
        """The filled parts of a value that has several."""
        parts = (_Line(self.name, {}, part).text for part in _PARTS.split(self.value))
        return [part for part in parts if part]


def parse_contacts(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read the contacts of a vCard file. Raises UnreadableDocument, EmptyDocument."""
    cards = [card for _, card in _components(_lines(decode_file(path)), {"VCARD"})]
    for card in cards:
        # Old ones have no name but the parts of it, the family's first.
        if not any(line.name == "FN" for line in card):
            parts = (part for line in card if line.name == "N" for part in line.parts[1::-1])
            card.append(_Line("FN", {}, " ".join(parts)))
    return _table(path, "", [_record(map(_contact, card)) for card in cards])


def parse_calendar(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read the entries of a calendar file. Raises UnreadableDocument, EmptyDocument."""
    lines = list(_lines(decode_file(path)))
    title = next((line.text for line in lines if line.name == "X-WR-CALNAME"), "")
    found = _components(lines, _KINDS)
    return _table(path, title, [
        _record((name or _KINDS[kind], value) for name, value in map(_appointment, own))
        for kind, own in found
    ])  # fmt: skip


def _record(found: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[str]]:
    """Return the values of a component by the names of their columns."""
    record: dict[str, list[str]] = {}
    for name, value in found:
        if value:
            record.setdefault(name, []).append(value)
    return record


def _table(path: Path, title: str, records: Sequence[Mapping[str, Sequence[str]]]) -> Parsed:
    """Return a row for each record, with a column for each name that one of them has."""
    places = {name: place for place, name in enumerate(_COLUMNS)}
    used = {name for record in records for name in record}
    names = sorted(used, key=lambda name: (places[name.partition(" (")[0]], name))
    if not names:
        raise EmptyDocument(f"{path.name} holds no entries.")
    rows = [
        [", ".join(dict.fromkeys(record.get(name, ()))) for name in names] for record in records
    ]
    return Parsed(title, table_blocks([names, *rows], 1, merged=()))


def _contact(line: _Line) -> tuple[str, str]:
    """Return the column and text of a property of a contact."""
    name = _CONTACT.get(line.name)
    if name is None:
        return "", ""
    if line.name in _STAMPS:
        return name, _stamp(line)
    kinds = [kind for kind in line.parameters.get("TYPE", "").upper().split(",")
             if kind and kind not in _NO_KIND]  # fmt: skip
    kind = f" ({', '.join(dict.fromkeys(kinds)).lower()})" if kinds else ""
    value = ", ".join(line.parts) if line.name in ("ADR", "ORG") else line.text
    return name + kind, value.removeprefix("tel:").removeprefix("mailto:")


def _appointment(line: _Line) -> tuple[str, str]:
    """Return the column and text of a property of an event or task."""
    name = _CALENDAR.get(line.name, "")
    if line.name not in _CALENDAR:
        return name, ""
    if line.name in _STAMPS:
        return name, _stamp(line)
    if line.name == "RRULE":
        return name, _rule(line.value)
    if line.name in _PEOPLE:
        address = re.sub("(?i)^mailto:", "", line.text)
        said = line.parameters.get("CN", "")
        return name, f"{said} <{address}>" if said and said != address else address
    return name, line.text.capitalize() if line.name == "STATUS" else line.text


def _stamp(line: _Line) -> str:
    """Dates and times as people write them: with the zone, and the last day of what takes days."""
    return ", ".join(_moment(line, item) for item in line.value.split(","))


def _moment(line: _Line, value: str) -> str:
    match = _STAMP.match(value.strip())
    if match is None:
        return value.strip()
    year, month, day, hour, minute, utc = match.groups()
    if hour is not None:
        zone = "UTC" if utc else line.parameters.get("TZID", "")
        return f"{year}-{month}-{day} {hour}:{minute} {zone}".strip()
    try:
        last = date(int(year), int(month), int(day))
    except ValueError:
        return value.strip()
    # The end of an event of days is the day behind it.
    return str(last - timedelta(days=1) if line.name == "DTEND" else last)


def _rule(value: str) -> str:
    """Tell how often something repeats, in words."""
    parts = dict(part.split("=", 1) for part in value.upper().split(";") if "=" in part)
    unit, number = _EVERY.get(parts.get("FREQ", ""), ""), parts.get("INTERVAL", "1")
    if not unit:
        return value
    said = f"every {unit}" if number == "1" else f"every {number} {unit}s"
    days = [
        re.sub(r"(-?\d*)([A-Z]{2})", lambda day: f"{day[1]} {_DAYS.get(day[2], day[2])}", item)
        for item in parts.get("BYDAY", "").split(",")
        if item
    ]
    if days:
        said += f" on {', '.join(' '.join(day.split()) for day in days)}"
    if until := _STAMP.match(parts.get("UNTIL", "")):
        said += f" until {until[1]}-{until[2]}-{until[3]}"
    return said + (f", {parts['COUNT']} times" if "COUNT" in parts else "")


def _components(lines: Iterable[_Line], kinds: Iterable[str]) -> Iterator[tuple[str, list[_Line]]]:
    """The components of these kinds with their own properties, without those of what is in them."""
    wanted, inside = set(kinds), list[str]()
    found: list[_Line] = []
    for line in lines:
        if line.name == "BEGIN":
            inside.append(line.value.strip().upper())
            if inside[-1] in wanted:
                found = []
        elif line.name == "END" and inside:
            kind = inside.pop()
            if kind in wanted:
                yield kind, found
        elif inside and inside[-1] in wanted:
            found.append(line)


def _lines(text: str) -> Iterator[_Line]:
    """Yield the properties, unfolded."""
    parts: list[str] = []
    for line in [*text.splitlines(), ""]:
        if parts and line[:1] in (" ", "\t"):
            parts.append(line[1:])
        elif parts and parts[-1].endswith("=") and "QUOTED-PRINTABLE" in parts[0].upper():
            parts[-1] = parts[-1][:-1]
            parts.append(line)
        else:
            whole = "".join(parts)
            if match := _NAME.match(whole):
                yield from _property(match[1].upper(), whole, match.end())
            parts = [line]


def _property(name: str, line: str, start: int) -> Iterator[_Line]:
    parameters: dict[str, str] = {}
    while match := _PARAMETER.match(line, start):
        start = match.end()
        # In old contacts a kind stands alone: TEL;WORK.
        key, value = (match[1].upper(), match[2]) if match[2] is not None else ("TYPE", match[1])
        value = value.replace('"', "")
        parameters[key] = f"{parameters[key]},{value}" if key in parameters else value
    if line[start : start + 1] != ":":
        return
    value = line[start + 1 :]
    encoding = parameters.get("ENCODING", parameters.get("TYPE", "")).upper()
    if "QUOTED-PRINTABLE" in encoding:
        data = quopri.decodestring(value.encode("utf-8", "replace"))
        value = data.decode(_charset(parameters.get("CHARSET", "utf-8")), "replace")
    elif encoding in ("B", "BASE64") or value.startswith("data:"):
        return  # A picture or a key.
    yield _Line(name, parameters, value)


def _charset(name: str) -> str:
    try:
        "".encode(name)
    except LookupError:
        return "utf-8"
    return name


VCARD = Format("text/vcard", parse_contacts, whole=True)
CALENDAR = Format("text/calendar", parse_calendar, whole=True)
