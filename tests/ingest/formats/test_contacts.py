"""Contacts and calendars: a row for each entry, as people say it."""

from pathlib import Path

import pytest

from ragstone.core.errors import EmptyDocument
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings

CALENDAR = """BEGIN:VCALENDAR
X-WR-CALNAME:Team
BEGIN:VTIMEZONE
TZID:Europe/Berlin
BEGIN:STANDARD
DTSTART:19701025T030000
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
SUMMARY:Board meeting
DTSTART;TZID=Europe/Berlin:20260302T100000
DTEND;TZID=Europe/Berlin:20260302T113000
LOCATION:Room 4\\, second floor
ORGANIZER;CN="Berg, Ada":mailto:ada@example.org
ATTENDEE;CN=Jo:mailto:jo@example.org
ATTENDEE:MAILTO:sam@example.org
RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;UNTIL=20261231T000000Z
DESCRIPTION:Bring the figures.\\nNo coffee
  before ten.
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
BEGIN:VEVENT
SUMMARY:Trade fair
DTSTART;VALUE=DATE:20260504
DTEND;VALUE=DATE:20260507
STATUS:CANCELLED
END:VEVENT
BEGIN:VTODO
SUMMARY:Order badges
DUE:20260401T080000Z
END:VTODO
END:VCALENDAR
"""

CONTACTS = """BEGIN:VCARD
VERSION:3.0
N:Berg;Ada;;;
FN:Ada Berg
ORG:Ferry Works;Engines
item1.TEL;TYPE=WORK,VOICE:+49 30 1234
EMAIL;TYPE=INTERNET:ada@example.org
ADR;TYPE=WORK:;;Quay 3;Kiel;;24103;Germany
PHOTO;ENCODING=b;TYPE=JPEG:AAAA
 BBBB
BDAY:1984-02-29
END:VCARD
BEGIN:VCARD
VERSION:2.1
N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=
=B6rg
TEL;CELL:0170 99
END:VCARD
"""


def read(path: Path, text: str) -> tuple[str, list[str]]:
    path.write_text(text, encoding="utf-8")
    parsed = parse(path, IngestSettings())
    return parsed.title, "\n".join(block.text for block in parsed.blocks).splitlines()


def test_an_event_says_when_where_with_whom_and_how_often(tmp_path: Path) -> None:
    title, rows = read(tmp_path / "a.ics", CALENDAR)
    assert title == "Team"
    assert rows == [
        "Event: Board meeting; Start: 2026-03-02 10:00 Europe/Berlin; "
        "End: 2026-03-02 11:30 Europe/Berlin; Place: Room 4, second floor; "
        "Repeats: every 2 weeks on Monday, Wednesday until 2026-12-31; "
        "Organizer: Berg, Ada <ada@example.org>; Attendees: Jo <jo@example.org>, sam@example.org; "
        "Description: Bring the figures. No coffee before ten.",
        "Event: Trade fair; Start: 2026-05-04; End: 2026-05-06; Status: Cancelled",
        "Task: Order badges; Due: 2026-04-01 08:00 UTC",
    ]


def test_a_contact_says_how_somebody_is_reached(tmp_path: Path) -> None:
    _, rows = read(tmp_path / "a.vcf", CONTACTS)
    assert rows == [
        "Name: Ada Berg; Organisation: Ferry Works, Engines; Phone (work): +49 30 1234; "
        "Email: ada@example.org; Address (work): Quay 3, Kiel, 24103, Germany; "
        "Birthday: 1984-02-29",
        "Name: Jörg Müller; Phone (cell): 0170 99",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR"),
        ("a.vcf", "no contacts at all"),
        ("b.ics", "END:VEVENT\nBEGIN:VEVENT\nSUMMARY:Never ends"),
        ("b.vcf", "BEGIN:VCARD\n:\n;;;\nTEL;\nEND:VCARD"),
    ],
)
def test_a_file_without_entries_is_empty(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(EmptyDocument):
        read(tmp_path / name, text)
