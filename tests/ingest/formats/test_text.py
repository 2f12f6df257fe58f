"""Reading text, Markdown, CSV, JSON and HTML files, in whatever encoding."""

import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.core.errors import (
    DocumentError,
    EmptyDocument,
    TooLarge,
    UnreadableDocument,
    WrongType,
)
from ragstone.ingest.document import Block
from ragstone.ingest.formats.decode import decode
from ragstone.ingest.formats.types import FORMATS, ZIP, list_endings
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings

pytestmark = pytest.mark.slow

SETTINGS = IngestSettings()
UNZIPPED = [
    ending
    for ending in list_endings(pictures=False)
    if FORMATS.get(ending.removeprefix(".")).magic not in (ZIP, b"%PDF-")
]


def read(tmp_path: Path, name: str, content: str | bytes) -> list[Block]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(parse(path, SETTINGS).blocks)


def texts(blocks: list[Block]) -> list[str]:
    return [block.text for block in blocks]


def test_given_plain_text_when_read_then_blank_lines_part_paragraphs(tmp_path: Path) -> None:
    blocks = read(tmp_path, "a.txt", "One\nline.\r\n\r\n\nTwo.\n\n- a\n- b\n")
    assert blocks == [
        Block("One line."),
        Block("Two."),
        Block("- a", "item", 1, label="-"),
        Block("- b", "item", 1, label="-"),
    ]


RFC = """
Network Working Group                                        A. Author
Request for Comments: 1                                     March 1996


                        The Example Protocol

1.  Introduction

   The client sends a request, which is long enough to be wrapped, and a
   server answers the request with what it



Author                                                        [Page 1]
\f
RFC 1                      Example Protocol                  March 1996


   has. The message:

      +----+------+
      |VER | SIZE |
      +----+------+

   Fields     Bits     Meaning
   VER        8        version
   SIZE       16       size



Author                                                        [Page 2]
\f
RFC 1                      Example Protocol                  March 1996


2.  Security

   None.
"""


def test_given_pages_of_a_memo_when_read_then_feet_and_heads_are_gone(tmp_path: Path) -> None:
    assert read(tmp_path, "a.txt", RFC) == [
        Block("Network Working Group A. Author\nRequest for Comments: 1 March 1996", "header"),
        Block("The Example Protocol", "heading", 1),
        Block("1. Introduction", "heading", 2),
        Block(
            "The client sends a request, which is long enough to be wrapped, and a server answers "
            "the request with what it has. The message:"
        ),
        Block("+----+------+\n|VER | SIZE |\n+----+------+", "code"),
        Block(
            "Fields: VER; Bits: 8; Meaning: version\nFields: SIZE; Bits: 16; Meaning: size", "table"
        ),
        Block("2. Security", "heading", 2),
        Block("None."),
    ]


def test_given_lines_that_are_not_full_when_read_then_they_stay_lines(tmp_path: Path) -> None:
    source = "Ann Example\nHigh Street 5\n1234 Exampletown, which has a long name\n"
    assert texts(read(tmp_path, "a.txt", source)) == [source.strip()]


@pytest.mark.parametrize(
    ("end", "start", "expected"),
    [
        ("Kon\u2010", "figurationsdatei", "Konfigurationsdatei"),
        ("sis\u00ad", "tema", "sistema"),
        ("CON\u2010", "SIDÉRATIONS", "CONSIDÉRATIONS"),
        ("well-", "known", "well-known"),
        ("Debian\u2010", "Handbuch", "Debian\u2010 Handbuch"),
        ("1990\u2010", "2000", "1990\u2010 2000"),
    ],
)
def test_a_word_that_a_program_divides_at_the_end_of_a_line_is_whole(
    tmp_path: Path, end: str, start: str, expected: str
) -> None:
    before = "This line of a manual is as long as a line can be, up to "
    [block] = read(tmp_path, "a.txt", f"{before}{end}\n{start} and what follows it.\n")

    assert block.text == f"{before}{expected} and what follows it."


def test_given_an_article_when_read_then_its_name_and_its_numbers_belong_to_it(
    tmp_path: Path,
) -> None:
    source = "Article 1\n\nScope\n\n1.   It applies.\n\n(a)\n\nto all;\n"
    assert read(tmp_path, "a.txt", source) == [
        Block("Article 1 Scope", "heading", 1),
        Block("1. It applies.", "item", 1, label="1."),
        Block("(a) to all;", "item", 2, label="(a)"),
    ]


def test_given_a_file_without_a_title_when_read_then_its_name_is_the_title(tmp_path: Path) -> None:
    (tmp_path / "my notes.txt").write_text("Hello")
    assert parse(tmp_path / "my notes.txt", SETTINGS).title == "my notes"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
)
def test_given_an_encoding_when_read_then_the_text_is_right(tmp_path: Path, encoding: str) -> None:
    text = "Die Kündigungsfrist beträgt für Ärzte und Köche drei Monate, außer im März."
    assert texts(read(tmp_path, "a.txt", text.encode(encoding))) == [text]


def test_given_invalid_utf8_far_inside_when_read_then_nothing_crashes(tmp_path: Path) -> None:
    data = "Größe und Maß. ".encode() * 20_000 + b"\xff\xfe\xfa" + b" The end."
    assert texts(read(tmp_path, "a.txt", data))[-1].endswith("The end.")


def test_given_two_broken_bytes_in_a_short_text_when_read_then_it_is_a_text(tmp_path: Path) -> None:
    data = b"The surgery opens at eight\x00\x01 and on Fridays at two."
    assert "on Fridays" in texts(read(tmp_path, "a.txt", data))[0]


@pytest.mark.parametrize("ending", UNZIPPED)
def test_given_binary_garbage_when_read_then_it_is_refused(tmp_path: Path, ending: str) -> None:
    with pytest.raises((UnreadableDocument, WrongType)):
        read(tmp_path, f"a{ending}", bytes(range(256)) * 50)


@pytest.mark.parametrize("ending", list_endings())
def test_given_no_bytes_when_read_then_it_is_empty(tmp_path: Path, ending: str) -> None:
    with pytest.raises(EmptyDocument, match="0 bytes"):
        read(tmp_path, f"a{ending}", b"")


@pytest.mark.parametrize("ending", [e for e in UNZIPPED if e not in (".json",)])
def test_given_only_white_space_when_read_then_it_is_empty(tmp_path: Path, ending: str) -> None:
    with pytest.raises((EmptyDocument, UnreadableDocument, WrongType)):
        read(tmp_path, f"a{ending}", b" \n\n \n")


@pytest.mark.parametrize(
    ("head", "name"), [(b"%PDF-1.7", "PDF"), (b"PK\x03\x04", "ZIP"), (b"\x89PNG\r\n\x1a\n", "PNG")]
)
@pytest.mark.parametrize("ending", UNZIPPED)
def test_given_a_lie_about_the_type_when_read_then_it_says_what_it_is(
    tmp_path: Path, ending: str, head: bytes, name: str
) -> None:
    with pytest.raises(WrongType, match=name):
        read(tmp_path, f"a{ending}", head + b" rest")


@pytest.mark.parametrize("ending", list_endings())
def test_given_too_large_a_file_when_read_then_it_is_refused(tmp_path: Path, ending: str) -> None:
    with (tmp_path / f"a{ending}").open("wb") as file:
        file.truncate(3 << 20)
    with pytest.raises(TooLarge, match=r"the limit is [12] MB"):
        parse(tmp_path / f"a{ending}", IngestSettings(max_file_mb=2))


@given(st.sampled_from(UNZIPPED), st.binary(min_size=1, max_size=400))
@settings(max_examples=60)
def test_given_any_bytes_when_read_then_only_document_errors_come(
    tmp_path_factory: pytest.TempPathFactory, ending: str, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{ending}"
    path.write_bytes(data)
    try:
        blocks = list(parse(path, SETTINGS).blocks)
    except DocumentError:
        return
    assert all(block.text.strip() for block in blocks)


@pytest.mark.parametrize(("delimiter", "ending"), [(",", "csv"), (";", "csv"), ("\t", "tsv")])
def test_given_a_csv_when_read_then_each_row_names_its_columns(
    tmp_path: Path, delimiter: str, ending: str
) -> None:
    rows = [["Name", "City", "Days"], ["Ann", '"New\nYork"', "30"], ["Bob", "", "25"]]
    source = "\n".join(delimiter.join(row) for row in rows)
    (block,) = read(tmp_path, f"a.{ending}", source)
    assert block == Block("Name: Ann; City: New York; Days: 30\nName: Bob; Days: 25", "table")


def test_given_a_csv_with_a_row_of_equal_values_when_read_then_each_is_there(
    tmp_path: Path,
) -> None:
    source = "low,high\nnone,none\nopen,5\n"
    assert texts(read(tmp_path, "a.csv", source)) == ["low: none; high: none\nlow: open; high: 5"]


def test_given_a_csv_without_a_header_when_read_then_cells_stand_side_by_side(
    tmp_path: Path,
) -> None:
    assert texts(read(tmp_path, "a.csv", "1,2\n3,4\n")) == ["1 | 2\n3 | 4"]


def test_given_json_lines_when_read_then_small_records_are_rows(tmp_path: Path) -> None:
    source = '{"a": 1, "b": {"c": "x", "d": [1, 2]}}\n\n{"a": 2, "e": true}\n"plain"\n{"f": 0}\n'
    assert read(tmp_path, "a.jsonl", source) == [
        Block("a: 1; b.c: x; b.d: 1, 2\na: 2; e: true", "table"),
        Block("plain"),
        Block("f: 0"),
    ]


def test_given_a_record_of_long_text_when_read_then_it_is_a_block_of_its_own(
    tmp_path: Path,
) -> None:
    text = "A long story. " * 80
    source = json.dumps([{"id": 1, "of": "x"}, {"id": 2, "text": text}, {"id": 3, "of": "a; b"}])
    assert texts(read(tmp_path, "a.json", source)) == [
        "id: 1; of: x",
        f"id: 2\ntext: {text}",
        "id: 3\nof: a; b",
    ]


def test_given_very_many_records_when_read_then_a_block_has_a_bounded_number(
    tmp_path: Path,
) -> None:
    blocks = read(tmp_path, "a.json", json.dumps([{"id": n, "of": "x" * 20} for n in range(900)]))
    assert max(len(block.text) for block in blocks) < 5_000
    assert sum(block.text.count("id: ") for block in blocks) == 900


def test_given_json_when_read_then_records_in_arrays_are_rows(tmp_path: Path) -> None:
    value = {
        "name": "Fruit",
        "items": [{"id": n, "tags": ["a", "b"], "in": {"x": {"y": n}}} for n in range(3)],
    }
    blocks = read(tmp_path, "a.json", json.dumps(value, indent=1))
    rows = "\n".join(f"id: {n}; tags: a, b; in.x.y: {n}" for n in range(3))
    assert texts(blocks) == ["name: Fruit", "items", rows]


def test_given_names_without_a_value_when_json_is_read_then_they_stand_last(
    tmp_path: Path,
) -> None:
    value = {"job": "web", "on": {"push": None, "tags": []}, "steps": {}, "rows": [1]}
    assert texts(read(tmp_path, "a.json", json.dumps(value, indent=1))) == [
        "job: web",
        "on.push | on.tags",
        "steps",
        "rows",
        "1",
    ]


def test_given_fields_that_no_record_fills_when_read_then_their_names_are_the_last_row(
    tmp_path: Path,
) -> None:
    rows = [{"id": n, "of": "x", "note": "", "data": None if n else "y"} for n in range(2)]
    assert texts(read(tmp_path, "a.json", json.dumps(rows))) == [
        "id: 0; of: x; data: y\nid: 1; of: x\nnote"
    ]


def test_given_a_json_file_of_several_records_when_read_then_each_is_a_block(
    tmp_path: Path,
) -> None:
    blocks = read(tmp_path, "a.json", '{"a": 1}\n{"a": 2, "b": 3}\n[{"c": 4}]\n')
    assert texts(blocks) == ["a: 1", "a: 2\nb: 3", "c: 4"]


@pytest.mark.parametrize(
    "source", ['{"a": 1', '{"a": 1}\n{"b', "[1, 2", "{'a': 1}", "[1] x", "{1: 2}", "nope"]
)
def test_given_invalid_json_when_read_then_it_is_unreadable(tmp_path: Path, source: str) -> None:
    with pytest.raises(UnreadableDocument, match="not valid JSON"):
        read(tmp_path, "a.json", source)


_SCALARS = st.one_of(st.text("abc é", min_size=1), st.integers(), st.booleans())
_JSON = st.recursive(
    _SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text("xyz", min_size=1), inner)
)


def _leaves(value: object) -> list[str]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    text = value if isinstance(value, str) else json.dumps(value)
    return text.split()


@given(_JSON)
@settings(max_examples=60)
def test_given_any_json_when_read_then_no_value_is_lost(
    tmp_path_factory: pytest.TempPathFactory, value: object
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(value))
    try:
        text = "\n".join(block.text for block in parse(path, SETTINGS).blocks)
    except EmptyDocument:
        text = ""
    assert all(leaf in text for leaf in _leaves(value))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.txt", "A line of a very long text without any paragraph.\n"),
        ("a.log", "x" * 99),
        ("a.csv", "Ann,Paris,30\n"),
        ("a.jsonl", '{"name": "Ann", "days": 30}\n'),
        ("a.json", '{"name": "Ann", "days": 30},'),
    ],
)
def test_given_a_large_file_when_read_then_memory_stays_bounded(
    tmp_path: Path, name: str, line: str
) -> None:
    path = tmp_path / name
    text = line * ((3 << 20) // len(line))
    path.write_text(f"[{text[:-1]}]" if name == "a.json" else text)
    tracemalloc.start()
    count = sum(1 for _ in parse(path, SETTINGS).blocks)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count > 40
    assert peak < (8 << 20 if name in ("a.txt", "a.log") else 2 << 20)


SHORT = {
    "de": ("Größe der Prüfgeräte: 30 m.", ("cp1252", "cp850", "mac_roman")),
    "fr": ("L'élève rentra chez sa mère.", ("cp1252", "iso8859_15", "cp850")),
    "da": ("Mødet begynder på rådhuset. Prisen er 12 €.", ("cp1252", "iso8859_15")),
    "pl": ("Spotkanie odbędzie się w środę.", ("cp1250", "iso8859_2")),
    "ru": ("Собрание начнётся в среду.", ("cp1251", "koi8_r", "cp866")),
    "el": ("Η συνάντηση αρχίζει στις εννέα.", ("cp1253",)),
    "tr": ("Toplantı öğleden sonra başlıyor.", ("cp1254",)),
    "he": ("הפגישה מתחילה בתשע.", ("cp1255",)),
    "ar": ("يبدأ الاجتماع في الساعة التاسعة.", ("cp1256",)),
    "th": ("การประชุมเริ่มเวลาเก้าโมง", ("cp874",)),
    "zh": ("水泵的报价是三千二百元。", ("gb18030",)),
    "zh-tw": ("會議在星期三下午開始。", ("big5hkscs",)),
    "ja": ("倉庫の鍵は総務課にあります。", ("cp932", "euc_jp", "iso2022_jp")),
    "ko": ("창고 열쇠는 총무과에 있습니다.", ("cp949",)),
}


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(text, encoding) for text, encodings in SHORT.values() for encoding in encodings],
)
def test_a_short_text_is_read_in_the_encoding_that_makes_sense_of_it(
    text: str, encoding: str
) -> None:
    assert decode(text.encode(encoding), "a.txt") == text


def test_a_page_is_read_in_the_encoding_that_it_declares() -> None:
    page = '<html><head><meta charset="iso-8859-5"></head><body>Цена</body></html>'
    assert decode(page.encode("iso8859_5"), "a.html") == page


def test_names_in_an_archive_are_read_in_their_encoding(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w") as archive:
        entry = zipfile.ZipInfo("xxxxxx.txt")
        archive.writestr(entry, "倉庫の鍵は総務課にあります。")
    raw = file.read_bytes().replace(b"xxxxxx.txt", b"__" + "文章".encode("cp932") + b".txt")
    file.write_bytes(raw)
    [heading, text] = parse(file, SETTINGS).blocks
    assert (heading.text, text.text) == ("__文章.txt", "倉庫の鍵は総務課にあります。")
