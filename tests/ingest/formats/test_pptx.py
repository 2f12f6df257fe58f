"""Presentations: a page per slide, in the order in which it is read."""

import copy
from pathlib import Path
from typing import Any

import pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches

from ragstone.ingest.document import Block
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings


def read(path: Path, presentation: Any) -> list[Block]:
    presentation.save(str(path / "a.pptx"))
    return list(parse(path / "a.pptx", IngestSettings()).blocks)


def box(shapes: Any, text: str, left: float, top: float) -> None:
    shapes.add_textbox(Inches(left), Inches(top), Inches(1), Inches(1)).text_frame.text = text


def test_given_bullets_and_notes_when_read_then_they_are_items_and_notes_of_the_slide(
    tmp_path: Path,
) -> None:
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = "Welcome"
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "First week"
    frame = slide.placeholders[1].text_frame
    frame.text = "Monday"
    below = frame.add_paragraph()
    below.text, below.level = "Badge", 1
    slide.notes_slide.notes_text_frame.text = "Say hello.\nSmile."
    assert read(tmp_path, deck) == [
        Block("Welcome", "heading", 1, 1),
        Block("First week", "heading", 2, 2),
        Block("- Monday", "item", 1, 2, "-"),
        Block("- Badge", "item", 2, 2, "-"),
        Block("Notes: Say hello.", page=2, label="notes"),
        Block("Smile.", page=2, label="notes"),
    ]


def test_given_boxes_in_any_order_when_read_then_they_come_line_by_line(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Who is who"
    box(slide.shapes, "bottom", 1, 5)
    group = slide.shapes.add_group_shape()
    box(group.shapes, "right", 6, 2)
    box(slide.shapes, "left", 1, 2)
    assert [block.text for block in read(tmp_path, deck)] == [
        "Who is who",
        "left",
        "right",
        "bottom",
    ]


def test_given_a_chart_when_read_then_its_data_are_a_table(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Sales"
    data = CategoryChartData()
    data.categories = ["North", "South"]
    data.add_series("2023", (1.5, 2))
    data.add_series("2024", (3, 4))
    place = [Inches(1)] * 4
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, data)
    assert [block.text for block in read(tmp_path, deck)][1:] == [
        "North; 2023: 1.5; 2024: 3\nSouth; 2023: 2; 2024: 4"
    ]


def test_given_a_table_with_merged_cells_when_read_then_each_row_has_their_value(
    tmp_path: Path,
) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    table = slide.shapes.add_table(3, 2, *[Inches(1)] * 4).table
    for row, texts in enumerate((("Ward", "Shift"), ("S1", "early"), ("", "late"))):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    assert read(tmp_path, deck) == [
        Block("Slide 1", "heading", 1, 1),
        Block("Ward: S1; Shift: early\nWard: S1; Shift: late", "table", page=1),
    ]


def test_given_slides_without_titles_when_read_then_none_of_them_names_the_presentation(
    tmp_path: Path,
) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_table(1, 1, *[Inches(1)] * 4).table.cell(0, 0).text = "Ward"
    deck.save(str(tmp_path / "rota.pptx"))
    assert parse(tmp_path / "rota.pptx", IngestSettings()).title == "rota"


def test_given_a_numbered_list_when_read_then_it_counts_and_starts_where_it_says(
    tmp_path: Path,
) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Steps"
    frame = slide.placeholders[1].text_frame
    frame.text = "Call"
    frame.add_paragraph().text = "Leave"
    for paragraph in frame.paragraphs:
        kind = paragraph._p.get_or_add_pPr().makeelement(
            "{http://schemas.openxmlformats.org/drawingml/2006/main}buAutoNum",
            {"type": "arabicParenR", "startAt": "3"},
        )
        paragraph._p.get_or_add_pPr().append(kind)
    assert [block.text for block in read(tmp_path, deck)] == ["Steps", "3) Call", "4) Leave"]


def test_the_foot_of_the_slides_stands_once_behind_the_first_title(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    for title in ("Plans", "Costs"):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = title
        for shape in slide.slide_layout.placeholders:
            if shape.placeholder_format.type == PP_PLACEHOLDER.FOOTER:
                slide.shapes._spTree.append(copy.deepcopy(shape._element))
        slide.placeholders[11].text = "Draft for the council"

    texts = [block.text for block in read(tmp_path, deck)]

    assert texts == ["Plans", "Footer: Draft for the council", "Costs"]


_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_NEW = "http://schemas.microsoft.com/office/2018/10/relationships"


@pytest.mark.parametrize(
    ("kinds", "authors", "comments"),
    [
        (
            (f"{_OFFICE}/commentAuthors", f"{_OFFICE}/comments"),
            '<p:cmAuthorLst xmlns:p="p"><p:cmAuthor id="0" name="Karin"/></p:cmAuthorLst>',
            '<p:cmLst xmlns:p="p"><p:cm authorId="0"><p:text>Until May?</p:text></p:cm>'
            '<p:cm authorId="7"><p:text>Yes.</p:text></p:cm></p:cmLst>',
        ),
        (
            (f"{_NEW}/authors", f"{_NEW}/comments"),
            '<p:authorLst xmlns:p="p"><p:author id="{K}" name="Karin"/></p:authorLst>',
            '<p:cmLst xmlns:p="p" xmlns:a="a"><p:cm authorId="{K}"><p:replyLst>'
            '<p:reply authorId="{Q}"><p:txBody><a:p><a:r><a:t>Yes.</a:t></a:r></a:p></p:txBody>'
            "</p:reply></p:replyLst><p:txBody><a:p><a:r><a:t>Until May?</a:t></a:r></a:p>"
            "</p:txBody></p:cm></p:cmLst>",
        ),
    ],
    ids=["old", "new"],
)
def test_comments_follow_their_slide_and_say_whose_they_are(
    tmp_path: Path, kinds: tuple[str, str], authors: str, comments: str
) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[0])
    slide.shapes.title.text = "Fares"
    for owner, kind, name, text in (
        (deck.part, kinds[0], "authors", authors),
        (slide.part, kinds[1], "comments", comments),
    ):
        part = Part(
            PackURI(f"/ppt/{name}.xml"), "application/xml", deck.part.package, text.encode()
        )
        owner.relate_to(part, kind)

    assert [(block.kind, block.text) for block in read(tmp_path, deck)] == [
        ("heading", "Fares"),
        ("admonition", "Comment by Karin: Until May?"),
        ("admonition", "Comment: Yes."),
    ]
