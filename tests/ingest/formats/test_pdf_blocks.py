"""The order, the kinds and the places of what stands on PDF pages."""

from collections.abc import Sequence
from pathlib import Path

from ragstone.core.document import Box
from ragstone.ingest.document import Block
from ragstone.ingest.formats.pdf_blocks import Prose, page_blocks
from ragstone.ingest.formats.pdf_lines import TextRun, build_line
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.documents import DOCUMENTS
from tests.ingest.pdf_files import Placed, pdf, placed_pdf

WIDE = "This line goes over the whole width of the page and so it belongs to no column at all"


def read(path: Path, *pages: Sequence[Placed]) -> list[Block]:
    return list(parse(placed_pdf(path / "a.pdf", pages), IngestSettings()).blocks)


def text(left: float, top: float, words: str, size: int = 10) -> Placed:
    return Placed(left, top, words, size, "F1")


def columns(top: float) -> list[Placed]:
    """Two columns whose lines are drawn row by row."""
    items = []
    for number in range(6):
        line = top + 12 * number
        items.append(text(72, line, f"left line {number} with some words of the first column"))
        items.append(text(320, line, f"right line {number} with some words of the second"))
    return items


def test_given_two_columns_when_read_then_the_left_one_comes_first(tmp_path: Path) -> None:
    items = [text(72, 80, f"{WIDE}."), *columns(100), text(72, 190, f"{WIDE}.")]
    words = " ".join(block.text for block in read(tmp_path, items))
    places = [words.index(part) for part in ("left line 0", "left line 5", "right line 0")]
    assert places == sorted(places)
    assert words.index("right line 5") < words.rindex(WIDE)


def test_given_words_cut_in_a_left_column_when_read_then_they_are_whole(tmp_path: Path) -> None:
    items = columns(100)
    cut = ["The dredging of the north ba-", "sin begins in May. At an ex-", "tra basin it is over."]
    for number, line in enumerate(cut):
        items.append(text(72, 172 + 12 * number, line))
        items.append(text(320, 172 + 12 * number, "well-known words of the second column"))
    words = " ".join(block.text for block in read(tmp_path, items))
    assert "north basin begins" in words
    assert "At an extra basin it is over. right line 0" in words
    assert "well-known words" in words


def test_given_a_sentence_over_two_columns_when_read_then_it_is_one_paragraph(
    tmp_path: Path,
) -> None:
    blocks = read(tmp_path, columns(100))
    assert [block.kind for block in blocks] == ["paragraph"]
    assert "left line 5 with some words of the first column right line 0" in blocks[0].text


def test_given_a_paragraph_over_two_pages_when_read_then_it_has_places_on_both(
    tmp_path: Path,
) -> None:
    first = [text(72, 700, "The first line of the paragraph"), text(72, 712, "ends this page and")]
    (block,) = read(tmp_path, first, [text(72, 80, "goes on upon the next one.")])
    assert block.text == (
        "The first line of the paragraph ends this page and goes on upon the next one."
    )
    assert [(place.page, block.text[place.start :].split()[0]) for place in block.places] == [
        (1, "The"),
        (1, "ends"),
        (2, "goes"),
    ]
    assert all(place.box is not None for place in block.places)


def test_given_a_size_that_all_pages_share_when_read_then_boxes_are_on_the_page() -> None:
    report = DOCUMENTS / "annual-report-2024.pdf"
    first = next(iter(parse(report, IngestSettings()).blocks))
    box = first.places[0].box
    assert first.text == "Annual report 2024"
    assert box is not None
    assert 20 < box.top < box.bottom < 60


def test_given_a_footnote_below_a_divided_paragraph_when_read_then_it_follows_after(
    tmp_path: Path,
) -> None:
    body = [text(72, 100 + 12 * n, f"{WIDE},") for n in range(10)]
    note = text(72, 700, "1 A note at the foot of the page.", 7)
    rest = text(72, 80, "and here the sentence ends.")
    blocks = read(tmp_path, [*body, note], [rest])
    assert blocks[0].text.endswith("and here the sentence ends.")
    assert blocks[1].text == "1 A note at the foot of the page."
    assert blocks[1].label == ""


def test_given_bullets_when_read_then_each_is_an_item_with_its_depth(tmp_path: Path) -> None:
    items = [text(72, 100, "- Fruit of many"), text(80, 112, "kinds")]
    items += [text(90, 124, "- Apples"), text(72, 136, "- Bread")]
    blocks = read(tmp_path, items)
    assert [(b.kind, b.level, b.label, b.text) for b in blocks] == [
        ("item", 1, "-", "- Fruit of many kinds"),
        ("item", 2, "-", "- Apples"),
        ("item", 1, "-", "- Bread"),
    ]


def test_given_a_number_at_the_start_of_a_wrapped_line_when_read_then_it_is_no_item(
    tmp_path: Path,
) -> None:
    items = [text(72, 100, f"{WIDE}, as said in chapter"), text(72, 112, "5. Then more follows.")]
    (block,) = read(tmp_path, items)
    assert block.kind == "paragraph"
    assert "chapter 5. Then" in block.text


def test_given_bold_type_when_read_then_it_is_a_heading_but_no_unit(tmp_path: Path) -> None:
    items = [Placed(72, 80, "Outlook", 10, "F2"), Placed(72, 110, "(in millions)", 10, "F2")]
    items += [text(72, 140 + 12 * n, WIDE) for n in range(5)]
    assert [block.kind for block in read(tmp_path, items)] == ["heading", "paragraph", "paragraph"]


def test_given_a_page_all_in_bold_type_when_read_then_its_lines_are_no_headings(
    tmp_path: Path,
) -> None:
    lines = [
        WIDE,
        "The office is open on all days of the week but Sunday. Whoever comes later",
        "finds the box beside the door, which is emptied in the morning and at noon.",
    ]
    items = [Placed(72, 60, "Opening times", 16, "F2")]
    items += [Placed(72, 100 + 12 * n, line, 10, "F2") for n, line in enumerate(lines)]

    blocks = read(tmp_path, items)

    assert [block.kind for block in blocks] == ["heading", "paragraph"]
    assert "comes later finds the box" in blocks[1].text


def test_given_a_heading_of_two_lines_when_read_then_it_is_whole(tmp_path: Path) -> None:
    items = [Placed(72, 60, "What does the library do for", 16, "F2"),
             Placed(72, 78, "readers who live far away?", 16, "F2"),
             Placed(72, 110, "How books are sent and when they", 10, "F2"),
             Placed(72, 122, "have to be back", 10, "F2")]  # fmt: skip
    items += [text(72, 150 + 12 * n, WIDE) for n in range(5)]

    headings = [block.text for block in read(tmp_path, items) if block.kind == "heading"]

    assert headings == ["What does the library do for readers who live far away?",
                        "How books are sent and when they have to be back"]  # fmt: skip


def test_given_a_sentence_of_two_bold_lines_when_read_then_it_is_no_heading(
    tmp_path: Path,
) -> None:
    items = [Placed(72, 60, "Whoever loses a key pays for the lock of the door, and for", 10, "F2"),
             Placed(72, 72, "those of all other doors which it opens.", 10, "F2")]  # fmt: skip
    items += [text(72, 100 + 12 * n, WIDE) for n in range(5)]

    blocks = read(tmp_path, items)

    assert [block.kind for block in blocks] == ["paragraph", "paragraph"]
    assert blocks[0].text.endswith("those of all other doors which it opens.")


def test_given_the_caption_of_a_figure_when_read_then_it_is_one(tmp_path: Path) -> None:
    items = [text(72, 100, f"{WIDE}."), text(72, 140, "Figure 3: The rooms of the house")]
    assert [block.kind for block in read(tmp_path, items)] == ["paragraph", "caption"]


def test_given_lines_that_only_adorn_when_read_then_they_are_left_out(tmp_path: Path) -> None:
    blocks = read(tmp_path, [text(72, 100, "_______________"), text(72, 120, f"{WIDE}.")])
    assert [block.text for block in blocks] == [f"{WIDE}."]


def test_given_pages_without_text_when_opened_then_they_are_counted(tmp_path: Path) -> None:
    path = pdf(tmp_path / "a.pdf", [["The first."], [], ["The third."], []])
    assert parse(path, IngestSettings()).metadata["pages_without_text"] == 2


def test_given_text_on_every_page_when_opened_then_nothing_is_said_of_it(tmp_path: Path) -> None:
    path = pdf(tmp_path / "a.pdf", [["The first."]])
    assert "pages_without_text" not in parse(path, IngestSettings()).metadata


def code(top: float, *lines: str) -> list[Placed]:
    """Lines in Courier, of which each character is 6 points wide."""
    return [
        Placed(72 + 6 * (len(line) - len(line.lstrip())), top + 12 * number, line.lstrip())
        for number, line in enumerate(lines)
        if line
    ]


def test_code_keeps_its_lines_and_indents(tmp_path: Path) -> None:
    lines = [
        "def fare(zone):",
        '    if zone == "A":',
        "        return 2.40",
        "",
        "    raise KeyError",
    ]
    page = [
        text(72, 80, "The fare of a zone is found by this function, which knows all the zones:"),
        *code(110, *lines),
        text(72, 190, "It is called once for each of the passengers, whatever zone they go to."),
    ]

    blocks = read(tmp_path, page)

    assert [block.kind for block in blocks] == ["paragraph", "code", "paragraph"]
    assert blocks[1].text.split("\n") == lines
    assert [blocks[1].text[place.start :].split()[0] for place in blocks[1].places] == [
        "def", "if", "return", "raise",
    ]  # fmt: skip


def test_output_of_a_program_keeps_its_columns(tmp_path: Path) -> None:
    lines = [
        "> summary(fit)",
        "Call: lm(dist ~ speed)",
        "Coefficients:",
        "            Estimate Std. Error",
        "(Intercept) -17.5791     6.7584",
        "Residual standard error: 15.38 on 48 degrees",
        "Multiple R-squared:  0.6511",
    ]
    prose = "The fit of the model is shown by this output of the program that made it here:"

    _, block = read(tmp_path, [text(72, 80, prose), *code(110, *lines)])

    assert block.kind == "code"
    assert block.text.split("\n") == lines


def test_a_report_that_is_all_in_type_of_one_width_is_no_code(tmp_path: Path) -> None:
    page = code(80, "The harbour office keeps the keys of all moorings.", "Ask there for one.")

    (block,) = read(tmp_path, page)

    assert (block.kind, block.text) == (
        "paragraph",
        "The harbour office keeps the keys of all moorings. Ask there for one.",
    )


def test_a_word_cut_at_the_end_of_a_page_is_whole(tmp_path: Path) -> None:
    first = [text(72, 700, "The cloud-enabled office says: cloud or enabled, the moor-")]
    (block,) = read(tmp_path, first, [text(72, 80, "ings are free and cloud-")],
                    [text(72, 80, "enabled in winter.")])  # fmt: skip

    assert block.text.endswith("the moorings are free and cloud-enabled in winter.")


def test_the_letter_that_is_words_second_bullet_is_one(tmp_path: Path) -> None:
    page = [text(72, 100, "Rope comes"), text(90, 112, "o"), text(108, 112, "of hemp"),
            text(90, 124, "o"), text(108, 124, "of wire")]  # fmt: skip

    assert [block.text for block in read(tmp_path, page)][-2:] == ["◦ of hemp", "◦ of wire"]


def test_what_a_typewriter_filled_in_is_no_code(tmp_path: Path) -> None:
    prose = "Whoever signs here takes over all the duties of the one who rents the mooring."

    blocks = read(tmp_path, [text(72, 80, prose), *code(110, "Karin Dahl", "12 Quay Street")])

    assert [block.kind for block in blocks] == ["paragraph", "paragraph"]


def test_given_chinese_or_russian_items_when_read_then_each_is_one() -> None:
    texts = ["Items are:", "（一）名称；", "（二）住所；", "三、资本；", "а) заявление"]
    lines = [
        line
        for at, words in enumerate(texts)
        if (line := build_line([TextRun(words, Box(72, 90.0 + 14 * at, 300, 100.0 + 14 * at),
                                        100.0 + 14 * at, 10.0)]))
    ]  # fmt: skip

    blocks = list(page_blocks(lines, 1, Prose()))

    assert [block.kind for block in blocks] == ["paragraph", "item", "item", "item", "item"]
    assert [block.label for block in blocks[1:]] == ["（一）", "（二）", "三、", "а)"]
