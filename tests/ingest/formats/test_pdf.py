"""Reading PDF files."""

import os
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from ragstone.core.errors import EmptyDocument, EncryptedDocument, UnreadableDocument, WrongType
from ragstone.ingest.document import Block
from ragstone.ingest.formats.pdf_lines import clean
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.pdf_files import Line, pdf, pdf_bytes

SETTINGS = IngestSettings()
PROSE = "This line of the page is long enough to be ordinary text of a paragraph here"


def blocks_of(path: Path) -> list[Block]:
    return list(parse(path, SETTINGS).blocks)


def test_given_pages_when_read_then_blocks_carry_page_numbers_from_one(tmp_path: Path) -> None:
    path = pdf(tmp_path / "a.pdf", [["The first."], [], ["The third."]], title="A (b)")
    parsed = parse(path, SETTINGS)
    assert (parsed.title, parsed.media_type, parsed.pages) == ("A (b)", "application/pdf", 3)
    assert [(b.text, b.page) for b in parsed.blocks] == [("The first.", 1), ("The third.", 3)]


def test_given_large_type_when_read_then_it_is_a_heading(tmp_path: Path) -> None:
    page: list[Line] = [("Annual report", 24), PROSE, PROSE, ("Outlook", 14), PROSE, PROSE]
    blocks = blocks_of(pdf(tmp_path / "a.pdf", [page]))
    assert [(b.kind, b.level) for b in blocks] == [
        ("heading", 1),
        ("paragraph", 0),
        ("heading", 2),
        ("paragraph", 0),
    ]
    assert blocks[1].text == f"{PROSE} {PROSE}"


def test_given_a_gap_when_read_then_a_paragraph_ends(tmp_path: Path) -> None:
    blocks = blocks_of(pdf(tmp_path / "a.pdf", [[PROSE, PROSE, "", PROSE]]))
    assert [b.text for b in blocks] == [f"{PROSE} {PROSE}", PROSE]


def test_given_a_gap_inside_a_sentence_when_read_then_the_paragraph_goes_on(tmp_path: Path) -> None:
    page: list[Line] = [("It belongs to the company or", 14), "", ("any subsidiary of it.", 14)]
    (block,) = blocks_of(pdf(tmp_path / "a.pdf", [page]))
    assert block.text == "It belongs to the company or any subsidiary of it."


def test_given_a_page_that_ends_inside_a_sentence_when_read_then_the_paragraph_goes_on(
    tmp_path: Path,
) -> None:
    pages = [
        ["It belongs to the"],
        ["company or any", "subsidiary of it.", "", "The end"],
        ["3"],
        ["x"],
    ]
    blocks = blocks_of(pdf(tmp_path / "a.pdf", pages))
    assert [(b.text, b.page) for b in blocks] == [
        ("It belongs to the company or any subsidiary of it.", 1),
        ("The end", 2),
        ("3", 3),
        ("x", 4),
    ]


def test_given_a_word_cut_at_the_end_of_a_line_when_read_then_it_is_whole(tmp_path: Path) -> None:
    page = ["The cloud is enabled. We sell com-", "puters that are cloud-", "enabled by design."]
    (block,) = blocks_of(pdf(tmp_path / "a.pdf", [page]))
    assert "sell computers that are cloud-enabled by" in block.text


def test_given_rows_of_figures_when_read_then_they_stay_lines_of_a_table(tmp_path: Path) -> None:
    page = [PROSE, "Revenue 2022 2021", "North 1,200 1,100", "South 340 (20)", PROSE]
    blocks = blocks_of(pdf(tmp_path / "a.pdf", [page]))
    assert [b.kind for b in blocks] == ["paragraph", "table", "paragraph"]
    assert blocks[1].text == "Revenue 2022 2021\nNorth 1,200 1,100\nSouth 340 (20)"


def test_given_running_headers_when_read_then_they_appear_once(tmp_path: Path) -> None:
    pages = [
        ["ACME Handbook", f"Only page {n}: {PROSE}.", PROSE, PROSE, f"Page {n} of it."]
        for n in "abcdefgh"
    ]
    for number, page in enumerate(pages, 1):
        page.append(str(number))
    blocks = blocks_of(pdf(tmp_path / "a.pdf", pages))
    texts = " ".join(b.text for b in blocks)
    assert texts.count("ACME Handbook") == 1
    assert not any(b.text.isdigit() for b in blocks)
    assert all(f"Only page {n}" in texts and f"Page {n} of it" in texts for n in "abcdefgh")


def make_short_page(text: list[Line], foot: str) -> list[Line]:
    """A page with a running head and a foot in its margins, and little or nothing between them."""
    return ["Ferry handbook - edition 3", "", "", *text, *[""] * (56 - len(text)), foot]


@pytest.mark.parametrize("foot", ["Page {} of 4", "{}", "- {} -", "Seite {}", "{} / 4"])
def test_running_heads_of_short_pages_are_no_text_of_theirs(tmp_path: Path, foot: str) -> None:
    said = [["The ferry was built in 1958."], [], ["It carries 214 passengers."], ["Its home port:",
            "Stavern."]]  # fmt: skip
    pages = [make_short_page(list(text), foot.format(n)) for n, text in enumerate(said, 1)]

    blocks = blocks_of(pdf(tmp_path / "a.pdf", pages))

    assert [(b.text, b.page) for b in blocks] == [
        ("Ferry handbook - edition 3", 1),
        ("The ferry was built in 1958.", 1),
        ("It carries 214 passengers.", 3),
        ("Its home port: Stavern.", 4),
    ]


def test_running_heads_of_two_pages_are_said_once(tmp_path: Path) -> None:
    pages = [make_short_page([text], f"{n}/2") for n, text in enumerate(("One.", "Two."), 1)]

    blocks = blocks_of(pdf(tmp_path / "a.pdf", pages))

    assert [b.text for b in blocks] == ["Ferry handbook - edition 3", "One.", "Two."]


def test_what_repeats_within_the_text_of_short_pages_stays(tmp_path: Path) -> None:
    pages = [["", "", "", "", "", "", f"Is {n} a prime?", "Yes."] for n in (2, 3, 5, 7, 11)]

    texts = " ".join(b.text for b in blocks_of(pdf(tmp_path / "a.pdf", list(pages))))

    assert texts.count("Yes.") == 5


@pytest.mark.parametrize(
    "foot", ["All about ships {} / 8", "Page {} of 8", "[{}/8] Ships", "Seite {} von 8"]
)
def test_given_a_foot_with_the_number_of_pages_when_read_then_it_appears_once(
    tmp_path: Path, foot: str
) -> None:
    pages = [
        [f"Only page {n}: {PROSE}.", PROSE, PROSE, f"Here {n} ends.", foot.format(number)]
        for number, n in enumerate("abcdefgh", 1)
    ]
    texts = " ".join(b.text for b in blocks_of(pdf(tmp_path / "a.pdf", pages)))
    assert [number for number in range(1, 9) if foot.format(number) in texts] in ([], [1])
    assert all(f"Here {n} ends" in texts for n in "abcdefgh")


@pytest.mark.parametrize(
    "title",
    [
        "Microsoft Word - manual.docx",
        "report_final.indd",
        "Untitled-1",
        "untitled",
        "(anonymous)",
        "House.dotx",
        "PowerPoint Presentation",
        "Corporate letter template",
        "Briefvorlage Stadtwerke",
        "786",
        "2024-11",
    ],
)
def test_given_a_title_that_a_program_made_when_read_then_the_files_name_is_the_title(
    tmp_path: Path, title: str
) -> None:
    path = pdf(tmp_path / "Ships.pdf", [[PROSE]], title=title)
    assert parse(path, SETTINGS).title == "Ships"


def test_given_a_template_that_says_so_when_read_then_its_title_stays(tmp_path: Path) -> None:
    lines = ["The report template", PROSE]
    path = pdf(tmp_path / "a.pdf", [lines], title="Report template")
    assert parse(path, SETTINGS).title == "Report template"


def test_given_a_number_that_the_document_bears_when_read_then_it_is_the_title(
    tmp_path: Path,
) -> None:
    path = pdf(tmp_path / "a.pdf", [["1984", PROSE]], title="1984")
    assert parse(path, SETTINGS).title == "1984"


def test_given_a_form_with_a_number_for_its_title_when_read_then_the_files_name_is_the_title(
    tmp_path: Path,
) -> None:
    lines = [("HARBOUR AUTHORITY", 24), "", PROSE, PROSE]
    path = pdf(tmp_path / "Report 2017.pdf", [lines], title="0001018724-18-000005")
    assert parse(path, SETTINGS).title == "Report 2017"


@pytest.mark.parametrize(
    "heading",
    ["Chapter 1: Sails", "1. Sails", "1 Sails", "Kapitel 2", "Table of Contents", "12", "Vorwort"],
)
def test_given_a_first_heading_of_a_part_when_read_then_the_files_name_is_the_title(
    tmp_path: Path, heading: str
) -> None:
    path = pdf(tmp_path / "Ships.pdf", [[(heading, 24), "", PROSE, PROSE]])
    assert parse(path, SETTINGS).title == "Ships"


@pytest.mark.parametrize("heading", ["Sails and masts", "10 ways to sail", "Parts of a ship"])
def test_given_a_first_heading_of_the_whole_when_read_then_it_is_the_title(
    tmp_path: Path, heading: str
) -> None:
    path = pdf(tmp_path / "Ships.pdf", [[(heading, 24), "", PROSE, PROSE]])
    assert parse(path, SETTINGS).title == heading


def test_given_a_password_when_read_then_the_file_is_refused_as_encrypted(tmp_path: Path) -> None:
    with pytest.raises(EncryptedDocument, match="password"):
        parse(pdf(tmp_path / "a.pdf", [["secret"]], encrypted=True), SETTINGS)


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_given_a_cut_off_file_when_read_then_it_is_unreadable(tmp_path: Path, share: float) -> None:
    data = pdf_bytes([[PROSE] * 20] * 5)
    path = tmp_path / "a.pdf"
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(UnreadableDocument, match="incomplete"):
        parse(path, SETTINGS)


def test_given_garbage_after_the_magic_when_read_then_it_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 20 + b"%%EOF")
    with pytest.raises(UnreadableDocument, match="damaged"):
        parse(path, SETTINGS)


def test_given_no_text_layer_when_read_then_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(EmptyDocument, match="no text layer"):
        parse(pdf(tmp_path / "a.pdf", [[], []]), SETTINGS)


def test_given_another_type_with_this_ending_when_read_then_it_says_what_it_is(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.pdf"
    path.write_text("<!DOCTYPE html><html><body>Hello</body></html>")
    with pytest.raises(WrongType, match="an HTML page"):
        parse(path, SETTINGS)


def test_given_several_threads_when_read_at_once_then_each_gets_its_own_text(
    tmp_path: Path,
) -> None:
    paths = [pdf(tmp_path / f"{n}.pdf", [[f"File {n} page {p}."] for p in range(20)]) for n in "ab"]
    read: dict[str, list[str]] = {}

    def work(path: Path) -> None:
        read[path.stem] = [block.text for block in blocks_of(path)]

    threads = [threading.Thread(target=work, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == {n: [f"File {n} page {p}." for p in range(20)] for n in "ab"}


def _filings() -> Path:
    """The folder of FinanceBench filings; a run without it says so, CI must have it."""
    place = os.environ.get("RAGSTONE_EVAL_DATA", "")
    folder = Path(place) / "financebench" / "pdfs"
    if not place or not folder.is_dir():
        if os.environ.get("CI") == "true":
            pytest.fail("RAGSTONE_EVAL_DATA does not hold financebench/pdfs")
        pytest.skip("RAGSTONE_EVAL_DATA does not hold financebench/pdfs")
    return folder


def test_given_a_real_filing_when_read_then_tables_headings_and_pages_are_there() -> None:
    parsed = parse(_filings() / "ADOBE_2022_10K.pdf", SETTINGS)
    blocks = list(parsed.blocks)
    assert parsed.pages == 99
    row = "Total subscription revenue; 2022: $16,388; 2021: $14,573; 2020: $11,626; "
    assert any(row in b.text and b.kind == "table" and b.page == 41 for b in blocks)
    assert any(b.text == "MARKET OVERVIEW" and b.kind == "heading" for b in blocks)
    assert any("cloud-enabled Creative Cloud" in b.text for b in blocks)


@pytest.mark.parametrize(
    ("name", "page", "row"),
    [
        (
            "AMAZON_2019_10K",
            38,
            "Marketing; Year Ended December 31, 2017: 10,069; Year Ended December 31, 2018: 13,814",
        ),
        ("AMAZON_2017_10K", 69, "AWS > Net sales; Year Ended December 31, 2015: $7,880; "),
        ("MICROSOFT_2023_10K", 60, "Inventories; June 30, 2023: 2,500; June 30, 2022: 3,742"),
        ("BESTBUY_2023_10K", 26, "Appliances; Revenue Mix Summary 2023: 15%; "),
        (
            "MGMRESORTS_2023Q2_10Q",
            30,
            "Occupancy; Three Months Ended June 30, 2023: 96%; "
            "Three Months Ended June 30, 2022: 92%; Six Months Ended June 30, 2023: 94%",
        ),
        (
            "AMCOR_2023Q4_EARNINGS",
            13,
            "Property and other (gains)/losses, net(1); "
            "Three Months Ended June 30, 2022 Flexibles: (14); ",
        ),
    ],
)
def test_given_a_statement_without_rules_when_read_then_a_row_names_its_columns(
    name: str, page: int, row: str
) -> None:
    blocks = list(parse(_filings() / f"{name}.pdf", SETTINGS).blocks)
    rows = [
        line for b in blocks if b.kind == "table" and b.page == page for line in b.text.split("\n")
    ]
    assert any(line.startswith(row) for line in rows)


def test_given_a_real_filing_when_read_then_its_words_are_kept() -> None:
    path = _filings() / "AMCOR_2023Q2_10Q.pdf"
    opened: Any = pypdfium2.PdfDocument
    document = opened(path)
    plain = "\n".join(page.get_textpage().get_text_range() for page in document)
    document.close()
    read = "\n".join(block.text for block in parse(path, SETTINGS).blocks)
    shown, kept = _words(plain), _words(read)
    assert (shown - kept).total() < 0.01 * shown.total()


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", re.sub("[-\xad\ufffe\x02]", "", text)))


def test_given_a_cut_off_real_filing_when_read_then_it_is_unreadable(tmp_path: Path) -> None:
    data = (_filings() / "AMCOR_2023Q4_EARNINGS.pdf").read_bytes()
    path = tmp_path / "a.pdf"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(UnreadableDocument):
        parse(path, SETTINGS)


def test_given_prose_full_of_figures_when_read_then_it_is_a_paragraph(tmp_path: Path) -> None:
    lines: list[Line] = [
        "Revenue was 48.6 million in 2024, after 43.1 million in 2023. The result was 5.2 million",
        "euros, or 10.7 percent of revenue.",
    ]
    [block] = blocks_of(pdf(tmp_path / "a.pdf", [lines]))
    assert block.kind == "paragraph"
    assert "5.2 million euros" in block.text


def test_given_glyphs_of_tex_without_a_meaning_when_cleaned_then_they_are_letters() -> None:
    assert clean("the \x1crst di\x1berent  e\x1ecacy, 65\x1585%, \x10so\x11\x01") == (
        "the first different efficacy, 65–85%, “so”"
    )
    assert clean("\x0crst o\x0b") == "first off"


def test_files_attached_to_a_pdf_are_read_behind_its_pages_or_told(tmp_path: Path) -> None:
    inner = pdf_bytes([["The price is 40 euros."]])
    document = pypdfium2.PdfDocument(pdf(tmp_path / "plain.pdf", [["Open the attachments."]]))
    for name, data in (("offer.pdf", inner), ("notes.txt", b"Call Ada."), ("x.vhd", b"1")):
        document.new_attachment(name).set_data(data)
    document.save(tmp_path / "portfolio.pdf")
    document.close()

    parsed = parse(tmp_path / "portfolio.pdf", SETTINGS)
    blocks = [(block.kind, block.text, block.page) for block in parsed.blocks]

    assert blocks == [
        ("paragraph", "Open the attachments.", 1),
        ("heading", "notes.txt", None),
        ("paragraph", "Call Ada.", None),
        ("heading", "offer.pdf", None),
        ("paragraph", "The price is 40 euros.", None),
    ]
    assert parsed.last_notes() == ("x.vhd is left out: files of its type (.vhd) cannot be read.",)
