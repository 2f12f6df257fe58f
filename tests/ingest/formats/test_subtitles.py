"""Subtitles: what is said, with the time at which it is."""

from pathlib import Path

from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings


def read(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    return [block.text for block in parse(path, IngestSettings()).blocks]


def test_a_sentence_over_several_subtitles_is_one_paragraph_with_its_time(tmp_path: Path) -> None:
    text = (
        "1\r\n00:00:01,000 --> 00:00:03,500\r\n{\\an8}<i>The ferry leaves</i>\r\n\r\n"
        "2\r\n00:00:03,600 --> 00:00:05,000\r\nat 9 &amp; at noon.\r\n\r\n"
        "3\r\n01:02:05,000 --> 01:02:07,000\r\nBring a coat.\r\n"
    )
    assert read(tmp_path / "a.srt", text) == [
        "00:00:01 The ferry leaves at 9 & at noon.",
        "01:02:05 Bring a coat.",
    ]


def test_speakers_are_named_and_notes_and_styles_left_out(tmp_path: Path) -> None:
    text = """WEBVTT - Hearing

STYLE
::cue { color: red }

NOTE made by hand

intro
00:01.000 --> 00:04.000 align:start
<v Ada Berg>We open at nine.</v>

00:04.200 --> 00:06.000
<v.loud Jo>And on <c.red>Sundays</c>?
"""
    assert read(tmp_path / "a.vtt", text) == [
        "00:00:01 Ada Berg: We open at nine.",
        "00:00:04 Jo: And on Sundays?",
    ]


def test_lines_that_scroll_up_are_said_once_and_paragraphs_without_ends_are_cut(
    tmp_path: Path,
) -> None:
    cues = ["WEBVTT"]
    for number in range(100):
        before = f"word number {number - 1}\n" if number else ""
        time = f"00:{number // 60:02}:{number % 60:02}.000"
        cues.append(f"{time} --> {time}\n{before}word number {number}")
    blocks = read(tmp_path / "a.vtt", "\n\n".join(cues))
    assert " ".join(" ".join(block.split()[1:]) for block in blocks) == " ".join(
        f"word number {number}" for number in range(100)
    )
    assert max(map(len, blocks)) < 450
