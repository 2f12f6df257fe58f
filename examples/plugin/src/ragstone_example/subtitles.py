"""Subtitles (.subrip): what is said in a film, without the times."""

import re
from collections.abc import Iterator
from pathlib import Path

from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import open_text
from ragstone.ingest.formats.types import Format

PAUSE = 3.0
"""Seconds of silence after which a paragraph ends."""

LONGEST = 1000
"""Characters after which a paragraph ends, so that memory stays bounded."""

TIMES = re.compile(r"(\d+):(\d\d):(\d\d)[,.](\d+)\s*-->\s*(\d+):(\d\d):(\d\d)[,.](\d+)")
TAGS = re.compile(r"<[^>]{0,40}>|\{\\[^}]{0,40}\}")


def parse_subtitles(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Subtitles, a paragraph from pause to pause."""
    return Parsed("", _paragraphs(path))


def _paragraphs(path: Path) -> Iterator[Block]:
    """The file is read line by line while the blocks are taken."""
    with open_text(path) as file:
        held, size, end = list[str](), 0, 0.0
        for line in iter(lambda: file.readline(LONGEST), ""):
            if times := TIMES.match(line):
                begin, after = _seconds(*times.groups()[:4]), _seconds(*times.groups()[4:])
                if held and (begin - end > PAUSE or size > LONGEST):
                    yield Block(" ".join(held))
                    held, size = [], 0
                end = after
            # A line of digits alone counts the subtitles.
            elif (text := TAGS.sub("", line).strip()) and not text.isdecimal():
                held.append(text)
                size += len(text)
        if held:
            yield Block(" ".join(held))


def _seconds(hours: str, minutes: str, seconds: str, rest: str) -> float:
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{rest}")


SUBTITLES = Format("text/x-subrip", parse_subtitles)
