"""Word, Excel and PowerPoint files of before 2007: what is damaged, locked or not converted. What
is read of whole files stands in the trees of `tests/data/real`."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import DocumentError, EncryptedDocument, UnreadableDocument
from ragstone.ingest.formats.docx import DOCX
from ragstone.ingest.parse import parse
from ragstone.plugins.formats.old_office import _OldFormat
from ragstone.settings import IngestSettings
from tests.ingest.formats.test_golden import FOLDER
from tests.ingest.office_files import docx

WORD, EXCEL, POWERPOINT = "simple-table.doc", "SampleSS.xls", "basic_test_ppt_file.ppt"
FIB = b"\xec\xa5\xc1\x00"
"""What a Word file begins with: its mark and version."""


def changed(folder: Path, name: str, old: bytes, new: bytes) -> Path:
    data = (FOLDER / name).read_bytes()
    assert old in data
    (folder / name).write_bytes(data.replace(old, new, 1))
    return folder / name


def locked_word(folder: Path) -> Path:
    data = bytearray((FOLDER / WORD).read_bytes())
    data[data.index(FIB) + 11] |= 1
    (folder / WORD).write_bytes(data)
    return folder / WORD


def locked_excel(folder: Path) -> Path:
    """A workbook whose second record says that what follows is encrypted."""
    data = bytearray((FOLDER / EXCEL).read_bytes())
    start = data.index(b"\x09\x08\x10\x00\x00\x06\x05\x00")
    second = start + 4 + int.from_bytes(data[start + 2 : start + 4], "little")
    data[second : second + 2] = b"\x2f\x00"
    (folder / EXCEL).write_bytes(data)
    return folder / EXCEL


def locked_powerpoint(folder: Path) -> Path:
    return changed(folder, POWERPOINT, b"\x5f\xc0\x91\xe3", b"\xdf\xc4\xd1\xf3")


@pytest.mark.parametrize("made", [locked_word, locked_excel, locked_powerpoint])
def test_given_a_password_when_read_then_the_file_is_refused_as_encrypted(
    tmp_path: Path, made: Callable[[Path], Path]
) -> None:
    file = made(tmp_path)
    with pytest.raises(EncryptedDocument, match=f"{file.name} is protected by a password"):
        parse(file, IngestSettings())


def test_given_a_file_of_word_95_when_read_then_the_newer_format_is_advised(tmp_path: Path) -> None:
    file = changed(tmp_path, WORD, FIB, b"\xdc\xa5\x68\x00")
    with pytest.raises(UnreadableDocument, match=r"older than Word 97.*Save it as \.docx"):
        parse(file, IngestSettings())


@pytest.mark.parametrize("share", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("name", [WORD, EXCEL, POWERPOINT])
def test_given_a_cut_off_file_when_read_then_it_says_that_it_is_damaged(
    tmp_path: Path, name: str, share: float
) -> None:
    data = (FOLDER / name).read_bytes()
    (tmp_path / name).write_bytes(data[: int(len(data) * share)])
    with pytest.raises(UnreadableDocument, match=f"{name} is damaged, or older than"):
        list(parse(tmp_path / name, IngestSettings()).blocks)


@given(
    name=st.sampled_from([WORD, EXCEL, POWERPOINT]),
    places=st.lists(st.tuples(st.floats(0, 0.99), st.integers(0, 255)), min_size=1, max_size=20),
)
def test_given_any_damage_when_read_then_nothing_but_the_document_fails(
    tmp_path_factory: pytest.TempPathFactory, name: str, places: list[tuple[float, int]]
) -> None:
    data = bytearray((FOLDER / name).read_bytes())
    for place, value in places:
        data[int(place * len(data))] = value
    file = tmp_path_factory.mktemp("damaged") / name
    file.write_bytes(data)
    with suppress(DocumentError):
        list(parse(file, IngestSettings(ocr_pages=0)).blocks)


def test_what_the_conversion_leaves_out_is_told(tmp_path: Path) -> None:
    def convert(path: Path, made: Path) -> SimpleNamespace:
        docx(made, [("", "The pump starts.")])
        codes = ("CHART_OMITTED", "EMBEDDED_OLE_OMITTED", "ANIMATION_OMITTED")
        report = {"diagnostics": [{"code": code} for code in codes]}
        return SimpleNamespace(report=SimpleNamespace(to_dict=lambda: report))

    file = tmp_path / "a.doc"
    file.write_bytes(b"What convert makes of it does not matter.")
    parsed = _OldFormat("Word", ".docx", DOCX, convert).parse(file, ".doc", 1 << 20)

    assert [block.text for block in parsed.blocks] == ["The pump starts."]
    assert parsed.notes == (
        "a.doc: charts and embedded objects are not read. "
        "Save it as .docx and ingest that to have all of it.",
    )
