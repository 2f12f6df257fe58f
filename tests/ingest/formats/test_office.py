"""Reading DOCX, PPTX, XLSX and EML files."""

import zipfile
from pathlib import Path

import pytest

from ragstone.core.errors import (
    ArchiveBomb,
    EmptyDocument,
    EncryptedDocument,
    UnreadableDocument,
    WrongType,
)
from ragstone.ingest.document import Block
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.office_files import Row, docx, pptx, xlsx

SETTINGS = IngestSettings()
MAIL = """\
From: Ann <ann@example.org>
To: bob@example.org
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= from Ann
Date: Mon, 1 Jan 2024 10:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=B

--B
Content-Type: text/plain; charset=utf-8

Hello Bob,

the meeting is at ten.
--B
Content-Type: application/octet-stream; name=contract.bin
Content-Disposition: attachment; filename=contract.bin
Content-Transfer-Encoding: base64

AAECAw==
--B--
"""


def test_given_a_docx_when_read_then_headings_lists_and_tables_are_kept(tmp_path: Path) -> None:
    path = docx(
        tmp_path / "a.docx",
        [
            ("Heading1", "Leave policy"),
            ("", "Employees get 30 days & more."),
            ("Heading2", "Details"),
            ("ListParagraph", "one"),
            ("ListParagraph", "two"),
            [["Name", "Days"], ["Ann", "30"]],
            ("", "The end."),
        ],
        title="The policy",
    )
    parsed = parse(path, SETTINGS)
    assert parsed.title == "The policy"
    assert parsed.media_type.endswith("wordprocessingml.document")
    assert list(parsed.blocks) == [
        Block("Leave policy", "heading", 1),
        Block("Employees get 30 days & more."),
        Block("Details", "heading", 2),
        Block("- one", "item", 1, label="-"),
        Block("- two", "item", 1, label="-"),
        Block("Name: Ann; Days: 30", "table"),
        Block("The end."),
    ]


def test_given_a_pptx_when_read_then_pages_are_slides(tmp_path: Path) -> None:
    slides = [("First", ["Hello"], []), ("Second", ["World"], [["A", "B"], ["1", "2"]])]
    parsed = parse(pptx(tmp_path / "a.pptx", slides), SETTINGS)
    assert (parsed.title, parsed.pages) == ("First", 2)
    assert [(b.text, b.kind, b.page) for b in parsed.blocks] == [
        ("First", "heading", 1),
        ("Hello", "paragraph", 1),
        ("Second", "heading", 2),
        ("World", "paragraph", 2),
        ("A: 1; B: 2", "table", 2),
    ]


def test_given_an_xlsx_when_read_then_sheets_are_sections_and_rows_name_their_columns(
    tmp_path: Path,
) -> None:
    sheets: dict[str, list[Row]] = {
        "Sales": [["Region", "Revenue"], ["North", 1200.5], ["South", 99]],
        "Empty": [],
        "Plain": [[1, 2], [3, 4]],
    }
    parsed = parse(xlsx(tmp_path / "a.xlsx", sheets), SETTINGS)
    assert list(parsed.blocks) == [
        Block("Sales", "heading", 1, 1),
        Block("Region: North; Revenue: 1200.5\nRegion: South; Revenue: 99", "table", page=1),
        Block("Plain", "heading", 1, 3),
        Block("1 | 2\n3 | 4", "table", page=3),
    ]


def test_given_a_mail_when_read_then_head_body_and_names_of_attachments_are_there(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.eml"
    path.write_bytes(MAIL.replace("\n", "\r\n").encode())
    parsed = parse(path, SETTINGS)
    texts = [block.text for block in parsed.blocks]
    assert parsed.title == texts[0] == "Grüße from Ann"
    assert "ann@example.org" in texts[1]
    assert "To: bob@example.org" in texts[1]
    assert "Date: 2024-01-01 10:00" in texts[1]
    assert "Attachments: contract.bin" in texts[1]
    assert texts[2:] == ["Hello Bob,", "the meeting is at ten."]


@pytest.mark.parametrize("text", ["R&D < 5 > 3", "\"quoted\" & 'apostrophe'", "AT&amp;T"])
def test_given_signs_that_xml_escapes_when_read_then_they_are_kept(
    tmp_path: Path, text: str
) -> None:
    paths = [
        docx(tmp_path / "a.docx", [("", text)], title=text),
        pptx(tmp_path / "a.pptx", [(text, [text], [[text, text]])]),
        xlsx(tmp_path / "a.xlsx", {"S & T": [[text, text]]}),
    ]
    for path in paths:
        parsed = parse(path, SETTINGS)
        assert any(text in block.text for block in parsed.blocks)
        assert parsed.title == ("S & T" if path.suffix == ".xlsx" else text)


def test_given_any_office_file_when_read_then_no_file_appears_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parse(docx(tmp_path / "a.docx", [("", "Hello")]), SETTINGS)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.docx"]


def test_given_too_much_packed_text_when_read_then_it_is_a_bomb(tmp_path: Path) -> None:
    path = docx(tmp_path / "a.docx", [("", "Hello")])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as package:
        package.writestr("word/media/zeros.bin", bytes(3 << 20))
    with pytest.raises(ArchiveBomb, match="MAX_FILE_MB"):
        parse(path, IngestSettings(max_file_mb=8))


def test_given_an_absurd_ratio_when_read_then_it_is_a_bomb(tmp_path: Path) -> None:
    path = docx(tmp_path / "a.docx", [("", "Hello")])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as package:
        package.writestr("word/media/zeros.bin", bytes(30 << 20))
    with pytest.raises(ArchiveBomb, match="times its size"):
        parse(path, SETTINGS)


def test_given_too_many_entries_when_read_then_it_is_a_bomb(tmp_path: Path) -> None:
    path = docx(tmp_path / "a.docx", [("", "Hello")])
    with zipfile.ZipFile(path, "a") as package:
        for number in range(20_001):
            package.writestr(f"word/{number}", b"")
    with pytest.raises(ArchiveBomb, match="packed files"):
        parse(path, SETTINGS)


def test_given_a_lie_about_sizes_when_read_then_it_is_refused(tmp_path: Path) -> None:
    path = docx(tmp_path / "a.docx", [("", "Hello " * 100_000)])
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as package:
        true_size = package.getinfo("word/document.xml").file_size.to_bytes(4, "little")
    path.write_bytes(data.replace(true_size, (100).to_bytes(4, "little")))
    with pytest.raises((ArchiveBomb, UnreadableDocument, EmptyDocument)):
        list(parse(path, IngestSettings(max_file_mb=4)).blocks)


@pytest.mark.parametrize("ending", ["docx", "pptx", "xlsx"])
def test_given_a_password_when_read_then_it_is_refused_as_encrypted(
    tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"a.{ending}"
    container = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000)
    path.write_bytes(container + "EncryptedPackage".encode("utf-16-le") + bytes(500))
    with pytest.raises(EncryptedDocument, match="password"):
        parse(path, SETTINGS)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_given_a_cut_off_file_when_read_then_it_is_unreadable(tmp_path: Path, share: float) -> None:
    path = docx(tmp_path / "a.docx", [("", "Hello " * 200)])
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(UnreadableDocument, match="damaged or incomplete"):
        parse(path, SETTINGS)


def test_given_another_package_when_read_then_it_says_what_it_is(tmp_path: Path) -> None:
    path = xlsx(tmp_path / "a.xlsx", {"S": [["a"]]}).rename(tmp_path / "a.docx")
    with pytest.raises(WrongType, match=r"a \.xlsx file"):
        parse(path, SETTINGS)
    with zipfile.ZipFile(tmp_path / "b.docx", "w") as package:
        package.writestr("hello.txt", "hello")
    with pytest.raises(WrongType, match="an ordinary ZIP archive"):
        parse(tmp_path / "b.docx", SETTINGS)


def test_given_text_named_eml_when_read_then_it_is_no_mail(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    path.write_text("Just some text.")
    with pytest.raises(WrongType, match="header lines"):
        parse(path, SETTINGS)


def test_given_no_text_when_read_then_it_is_empty(tmp_path: Path) -> None:
    with pytest.raises(EmptyDocument):
        parse(docx(tmp_path / "a.docx", [("", "")]), SETTINGS)


def test_given_an_external_entity_when_read_then_no_other_file_is_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("TOPSECRET")
    doctype = f'<!DOCTYPE w [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    path = docx(tmp_path / "a.docx", [("", "Hello"), ("", "&x;")], doctype=doctype)
    try:
        texts = [block.text for block in parse(path, SETTINGS).blocks]
    except UnreadableDocument:
        return
    assert "TOPSECRET" not in " ".join(texts)
