"""Raised and lowered digits never become part of a number that they do not belong to."""

import re
from pathlib import Path

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from hypothesis import given
from hypothesis import strategies as st
from pptx import Presentation
from pptx.util import Inches

from ragstone.core.document import Place
from ragstone.ingest.document import Block
from ragstone.ingest.formats.inline_text import (
    lower_text,
    raise_text,
    rewrite_block,
    spell_out_digits,
)
from ragstone.ingest.formats.struck import HEADING
from ragstone.ingest.parse import parse
from ragstone.settings import Settings


def read(file: Path) -> str:
    text = "\n".join(block.text for block in parse(file, Settings().ingest).blocks)
    return text.partition(f"\n{HEADING}\n")[0]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("The plant emitted 412⁷ tonnes.", "The plant emitted 412 ⁷ tonnes."),
        ("It cost 1,250.50³ euros.", "It cost 1,250.50 ³ euros."),
        ("as the tonnes³ show", "as the tonnes ³ show"),
        ("3.2 × 10⁶ spores", "3.2 × 10^6 spores"),
        ("5·10⁻⁹ grams", "5·10^-9 grams"),
        ("2¹⁰ bytes", "2^10 bytes"),
        ("in 2010⁴ and 1.2⁵", "in 2010 ⁴ and 1.2 ⁵"),
        ("800 m², πr² and 5 km³", "800 m², πr² and 5 km³"),
        ("H₂O and CO₂ of x₁", "H₂O and CO₂ of x₁"),
        ("log₂8", "log_2 8"),
        ("101₂ is 5", "101_2 is 5"),
        ("⁷ Measured at the gate", "⁷ Measured at the gate"),
    ],
)
def test_a_mark_is_apart_from_a_number_and_a_power_is_written_out(text: str, written: str) -> None:
    assert spell_out_digits(text) == written


@given(st.integers(11, 10**9), st.integers(0, 99))
def test_no_mark_of_a_note_changes_a_number(number: int, mark: int) -> None:
    written = spell_out_digits(f"It is {number}{raise_text(str(mark))} tonnes.")
    assert re.findall(r"\b\d+\b", written) == [str(number)]


@given(st.text(alphabet=st.characters(exclude_categories=["No", "Cs"])))
def test_other_text_stays_as_it_is(text: str) -> None:
    assert spell_out_digits(text) == text


@pytest.mark.parametrize("text", ["st", "me", "TM", "", " ", "a", "*"])
def test_raised_letters_are_letters(text: str) -> None:
    assert raise_text(text) == lower_text(text) == text


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.html", "<p>Dust: 412<sup>7</sup> t. Sum 10<sup>5</sup>. Fee <del>30</del> 45.</p>"),
        ("a.md", "Dust: 412<sup>7</sup> t. Sum 10<sup>5</sup>. Fee ~~30~~ 45."),
        ("a.rst", "Dust: 412\\ :sup:`7` t. Sum 10\\ :sup:`5`. Fee 45."),
        ("a.adoc", "Dust: 412^7^ t. Sum 10^5^. Fee [.line-through]#30# 45."),
        (
            "a.rtf",
            r"{\rtf1\ansi Dust: 412{\super 7} t. Sum 10{\up6\fs12 5}. Fee {\strike 30}"
            r"\striked1 31\striked0  45.\par}",
        ),
        ("a.org", "Dust: 412^{7} t. Sum $10^5$. Fee +30+ 45."),
        ("b.md", "Dust: 412^7^ t. Sum $10^5$. Fee ~~30~~ 45."),
        ("b.rst", "Dust: 412\\ :sup:`7` t. Sum :math:`10^{5}`. Fee 45."),
        ("b.adoc", "Dust: 412^7^ t. Sum stem:[10^{5}]. Fee 45."),
    ],
)
def test_formats_of_text_tell_raised_and_struck_text(
    tmp_path: Path, name: str, source: str
) -> None:
    file = tmp_path / name
    file.write_text(source)
    assert read(file) == "Dust: 412 ⁷ t. Sum 10^5. Fee 45."


def test_word_tells_raised_and_struck_text_and_formulas(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Dust: 412")
    paragraph.add_run("7").font.superscript = True
    paragraph.add_run(" t. Fee ")
    paragraph.add_run("30").font.strike = True
    paragraph.add_run("45, H")
    paragraph.add_run("2").font.subscript = True
    paragraph.add_run("O. Rise 88")
    mark = paragraph.add_run("3")
    mark._r.get_or_add_rPr().append(parse_xml(f'<w:position {nsdecls("w")} w:val="10"/>'))
    paragraph.add_run(" m. Share ")
    paragraph._p.append(
        parse_xml(
            f"<m:oMath {nsdecls('m')}><m:f><m:num><m:r><m:t>3</m:t></m:r></m:num>"
            "<m:den><m:r><m:t>16</m:t></m:r></m:den></m:f><m:r><m:t>+</m:t></m:r>"
            "<m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>n+1</m:t></m:r></m:sup>"
            "</m:sSup></m:oMath>"
        )
    )
    paragraph.add_run(" at 5")._r.append(
        parse_xml(f'<w:sym {nsdecls("w")} w:font="Symbol" w:char="F0B0"/>')
    )
    document.save(str(tmp_path / "a.docx"))
    assert (
        read(tmp_path / "a.docx")
        == "Dust: 412 ⁷ t. Fee 45, H₂O. Rise 88 ³ m. Share 3/16+x^(n+1) at 5°"
    )


def test_slides_tell_raised_and_struck_text(tmp_path: Path) -> None:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    frame = slide.shapes.add_textbox(0, 0, Inches(5), Inches(1)).text_frame
    for text, name, value in (
        ("The plant emitted a total amount of dust of 412", "", ""),
        ("7", "baseline", "30000"),
        (" tonnes of dust in the year, and the fee was ", "", ""),
        ("30", "strike", "sngStrike"),
        ("45 euros for each of them, as the office says.", "", ""),
    ):
        run = frame.paragraphs[0].add_run()
        run.text = text
        if name:
            run._r.get_or_add_rPr().set(name, value)
    presentation.save(str(tmp_path / "a.pptx"))
    said = read(tmp_path / "a.pptx")
    assert "412 ⁷ tonnes" in said
    assert "the fee was 45 euros" in said


def test_places_keep_their_text() -> None:
    block = rewrite_block(
        Block("412⁷ t\n10⁵ g\nend", places=tuple(Place(n, 1) for n in (0, 7, 13)))
    )
    assert [block.text[place.start :].split("\n")[0] for place in block.places] == [
        "412 ⁷ t",
        "10^5 g",
        "end",
    ]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.md", "$$\n\\frac{3}{16} = x\n$$\n"),
        ("a.rst", ".. math:: \\frac{3}{16} = x\n"),
        ("a.adoc", "[stem]\n++++\n\\frac{3}{16} = x\n++++\n"),
    ],
)
def test_formulas_on_lines_of_their_own_are_written_out(
    tmp_path: Path, name: str, source: str
) -> None:
    file = tmp_path / name
    file.write_text(source)
    assert read(file) == "3/16 = x"


def test_footnotes_of_asciidoc_are_kept_and_join_no_number(tmp_path: Path) -> None:
    file = tmp_path / "a.adoc"
    file.write_text("It has 31footnote:[Without the crew, see https://x.org[x].] seats.\n\nEnd.\n")
    assert read(file) == "It has 31 seats.\nFootnote: Without the crew, see x.\nEnd."


def test_a_page_without_a_marked_main_part_keeps_paragraphs_whose_digits_are_raised(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.html"
    file.write_text(
        "<html><body><h1>Harbour</h1>"
        "<p>The harbour handled many thousands of tonnes of fish in the last year and grew.</p>"
        "<p>The harbour handled 412<sup>7</sup> tonnes, the fee was <del>40</del> 55 euros.</p>"
        "<p>The gap is <math><mfrac><mn>3</mn><mn>16</mn></mfrac></math> of an inch.</p>"
        "<p>It has 88<span style='vertical-align: super'>3</span> boats, "
        "<span style='text-decoration:line-through'>90</span> and \\(10^{5}\\) nets.</p>"
        "<p>It was founded in the year 1871 by the merchants of the town, who wanted it.</p>"
        "</body></html>"
    )
    said = read(file)
    assert "handled 412 ⁷ tonnes, the fee was 55 euros." in said
    assert "The gap is 3/16 of an inch." in said
    assert "It has 88 ³ boats, and 10^5 nets." in said
