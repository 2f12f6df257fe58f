"""Subtitles (SubRip and WebVTT): what is said, as paragraphs with the time at which they begin."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import open_text
from ragstone.ingest.formats.types import Format

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s|$)")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
_TAG = re.compile(r"<[^<>]{0,200}>|\{\\[^{}]{0,200}\}")
_SENTENCE_END = re.compile(r"[.!?…。！？؟।][\"'”’»)\]]*$")

_MAX_GAP = 3.0
"""Seconds of silence after which a sentence that goes on is another one."""

_MAX_CHARS = 400
"""Of a paragraph: subtitles that a machine made have no sentence ends."""

_MAX_LINE = 1 << 16


@dataclass(slots=True)
class _Cue:
    """What is shown at once; times are in seconds."""

    start: float
    end: float
    speaker: str
    lines: list[str]


def parse_subtitles(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read subtitles in bounded memory. Raises UnreadableDocument."""
    return Parsed("", _paragraphs(_cues(path)))


def _paragraphs(cues: Iterator[_Cue]) -> Iterator[Block]:
    """Yield the cues, joined where a sentence goes on in the next one."""
    begun: _Cue | None = None
    shown: list[str] = []
    for cue in cues:
        # Lines that scroll up are shown twice.
        lines = [line for line in cue.lines if line not in shown[-2:]]
        shown = cue.lines
        if not lines:
            continue
        if begun is None or not _is_continuation(begun, cue):
            if begun is not None:
                yield _paragraph(begun)
            begun = _Cue(cue.start, cue.end, cue.speaker, lines)
        else:
            begun.lines += lines
            begun.end = cue.end
    if begun is not None:
        yield _paragraph(begun)


def _is_continuation(begun: _Cue, cue: _Cue) -> bool:
    return (
        cue.speaker == begun.speaker
        and cue.start - begun.end <= _MAX_GAP
        and sum(map(len, begun.lines)) < _MAX_CHARS
        and not _SENTENCE_END.search(begun.lines[-1])
    )


def _paragraph(cue: _Cue) -> Block:
    seconds = int(cue.start)
    time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    speaker = f"{cue.speaker}: " if cue.speaker else ""
    return Block(f"{time} {speaker}{' '.join(cue.lines)}")


def _cues(path: Path) -> Iterator[_Cue]:
    """Yield the cues of a file; what stands between them (numbers, notes, styles) is left out."""
    with open_text(path) as file:
        cue: _Cue | None = None
        while line := file.readline(_MAX_LINE):
            if times := _TIMES.match(line):
                if cue is not None:
                    yield cue
                cue = _Cue(_seconds(times, 1), _seconds(times, 5), "", [])
            elif cue is not None and not line.strip():
                yield cue
                cue = None
            elif cue is not None:
                if voice := _VOICE.search(line):
                    cue.speaker = " ".join(html.unescape(voice[1]).split())
                if text := " ".join(html.unescape(_TAG.sub("", line)).split()):
                    cue.lines.append(text)
        if cue is not None:
            yield cue


def _seconds(times: re.Match[str], first: int) -> float:
    hours, minutes, seconds, parts = (times[first + place] or "0" for place in range(4))
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{parts}")


SRT = Format("application/x-subrip", parse_subtitles)
VTT = Format("text/vtt", parse_subtitles)
