"""Outlook's messages, made of the properties that one consists of."""

import io
import struct
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import DocumentError, UnreadableDocument
from ragstone.ingest.document import Parsed
from ragstone.ingest.formats.mail import parse_message
from ragstone.ingest.parse import parse
from ragstone.plugins.formats.outlook import _make_message, unpack_rtf
from ragstone.settings import IngestSettings
from tests.ingest.formats.test_golden import FOLDER

PROPERTIES = "__properties_version1.0"
HELLO = bytes.fromhex(
    "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c0900206277"
    "05b06c647d0a800fa0"
)
REPEATED = bytes.fromhex("1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0")
"""The two examples of MS-OXRTFCP."""


class Storage:
    """Properties by their places, as olefile gives them."""

    def __init__(self, streams: Mapping[tuple[str, ...], bytes]) -> None:
        self._streams = streams

    def exists(self, place: list[str]) -> bool:
        return tuple(place) in self._streams

    def openstream(self, place: list[str]) -> io.BytesIO:
        return io.BytesIO(self._streams[tuple(place)])

    def listdir(self) -> list[list[str]]:
        return [list(place) for place in self._streams]


def texts(*place: str, **given: str) -> dict[tuple[str, ...], bytes]:
    """Texts by their tags, of the storage at this place."""
    return {
        (*place, f"__substg1.0_{tag[1:]}001F"): text.encode("utf-16-le")
        for tag, text in given.items()
    } | {(*place, PROPERTIES): b"\0" * 8}


def number(tag: int, kind: int, value: int) -> bytes:
    return struct.pack("<IIQ", tag << 16 | kind, 6, value)


def read(streams: Mapping[tuple[str, ...], bytes]) -> Parsed:
    message = _make_message(Path("a.msg"), Storage(streams), (), 1 << 20, 0)
    return parse_message(Path("a.msg"), message, 1 << 20, 0)


def test_given_recipients_and_a_time_when_read_then_they_are_metadata() -> None:
    sent = int(
        (datetime(2024, 5, 6, 7, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()
    )
    to, cc = "__recip_version1.0_#00000000", "__recip_version1.0_#00000001"
    parsed = read(
        texts(_0037="Lift 3", _1000="It runs.", _0C1A="Lee, Ann", _5D01="ann@example.org")
        | {(PROPERTIES,): b"\0" * 32 + number(0x0039, 0x40, sent * 10_000_000)}
        | texts(to, _3001="Bo", _39FE="bo@example.org")
        | {(to, PROPERTIES): b"\0" * 8 + number(0x0C15, 3, 1)}
        | texts(cc, _3001="Jürgen", _3003="/O=HOUSE/CN=JUERGEN")
        | {(cc, PROPERTIES): b"\0" * 8 + number(0x0C15, 3, 2)}
    )

    assert parsed.title == "Lift 3"
    assert parsed.metadata == {
        "author": "Lee, Ann <ann@example.org>",
        "to": "Bo <bo@example.org>",
        "cc": "Jürgen",
        "created": "2024-05-06T07:00:00+00:00",
    }
    assert [block.text for block in parsed.blocks][-1] == "It runs."


def test_given_attached_messages_when_read_then_each_is_a_section() -> None:
    inner = ("__attach_version1.0_#00000000", "__substg1.0_3701000D")
    file = "__attach_version1.0_#00000001"
    parsed = read(
        texts(_0037="Outer", _1000="See below.")
        | texts(*inner, _0037="Inner", _1000="The deposit is 8 euros.")
        | texts(file, _3707="list.txt")
        | {(file, "__substg1.0_37010102"): b"Keys and locks."}
    )

    assert [(block.kind, block.text) for block in parsed.blocks] == [
        ("heading", "Outer"),
        ("header", "Attachments: Inner.eml, list.txt"),
        ("paragraph", "See below."),
        ("heading", "Inner.eml"),
        ("heading", "Inner"),
        ("paragraph", "The deposit is 8 euros."),
        ("heading", "list.txt"),
        ("paragraph", "Keys and locks."),
    ]


def test_given_a_body_in_rtf_alone_when_read_then_its_text_is_the_mails() -> None:
    parsed = read(texts(_0037="Hello") | {("__substg1.0_10090102",): HELLO})

    assert [block.text for block in parsed.blocks] == ["Hello", "hello world"]


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        (HELLO, rb"{\rtf1\ansi\ansicpg1252\pard hello world}" + b"\r\n"),
        (REPEATED, rb"{\rtf1 WXYZWXYZWXYZWXYZWXYZ}"),
        (HELLO[:9], b""),
    ],
    ids=["words of the preset", "a match that runs into itself", "cut off"],
)
def test_given_packed_rtf_when_unpacked_then_it_is_that_of_the_specification(
    packed: bytes, text: bytes
) -> None:
    assert unpack_rtf(packed, 1 << 20) == text


@given(st.binary(max_size=200), st.integers(0, 1 << 32))
def test_given_any_bytes_when_unpacked_then_no_more_than_allowed_is_made(
    data: bytes, size: int
) -> None:
    packed = struct.pack("<4I", len(data), size & 0xFFFFFFFF, 0x75465A4C, 0) + data
    assert len(unpack_rtf(packed, 1000)) < 1000 + 17


def test_given_an_office_file_when_read_as_a_message_then_it_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.msg"
    file.write_bytes((FOLDER / "SampleSS.xls").read_bytes())
    with pytest.raises(UnreadableDocument, match=r"a\.msg is no message of Outlook"):
        parse(file, IngestSettings())


@given(
    st.lists(st.tuples(st.floats(0, 0.99), st.integers(0, 255)), min_size=1, max_size=20),
    st.floats(0.1, 1),
)
def test_given_any_damage_when_read_then_nothing_but_the_document_fails(
    tmp_path_factory: pytest.TempPathFactory, places: list[tuple[float, int]], share: float
) -> None:
    data = bytearray((FOLDER / "HTMLBodyBinary_CP1251.msg").read_bytes())
    for place, value in places:
        data[int(place * len(data))] = value
    file = tmp_path_factory.mktemp("damaged") / "a.msg"
    file.write_bytes(data[: int(share * len(data))])
    with suppress(DocumentError):
        list(parse(file, IngestSettings(ocr_pages=0)).blocks)
