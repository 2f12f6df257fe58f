"""Forms in PDFs: what is filled in and ticked stands in the text where the eye sees it."""

from pathlib import Path

import pytest

from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.pdf_files import Field, Placed, Ruled, form_pdf


def read(path: Path, *fields: Field) -> list[str]:
    labels = [
        Placed(72, 100, "First name:", font="F1"),
        Placed(300, 100, "Last name:", font="F1"),
        Placed(90, 130, "Send me the bill by mail", font="F1"),
    ]
    document = parse(form_pdf(path / "form.pdf", labels, fields), IngestSettings())
    return [block.text for block in document.blocks]


def box(state: str, top: float = 121) -> Field:
    look = f"/FT /Btn /V /{state} /AS /{state} /AP << /N << /Yes null /Off null >> >>"
    return Field(74, top, 84, top + 10, look)


def test_what_is_filled_in_stands_behind_its_label(tmp_path: Path) -> None:
    first = Field(130, 90, 250, 104, "/FT /Tx /V (Alice)")
    last = Field(360, 90, 480, 104, "/FT /Ch /Opt [(Meyer) (Smith)] /V (Smith)")
    assert read(tmp_path, last, first)[0] == "First name: Alice Last name: Smith"


@pytest.mark.parametrize(("state", "mark"), [("Yes", "☒"), ("Off", "☐")])
def test_a_box_says_whether_it_is_ticked(tmp_path: Path, state: str, mark: str) -> None:
    assert f"{mark} Send me the bill by mail" in read(tmp_path, box(state))


def test_a_field_beside_no_text_is_a_line_of_its_own(tmp_path: Path) -> None:
    note = Field(72, 200, 400, 260, "/FT /Tx /Ff 4096 /V (Ring twice.\\nThe dog is deaf.)")
    assert read(tmp_path, note)[-1] == "Ring twice. The dog is deaf."


@pytest.mark.parametrize(
    "look",
    ["/FT /Tx /F 2 /V (secret)", "/FT /Tx /Ff 8192 /V (secret)", "/FT /Tx", "/FT /Sig", "/V 7"],
)
def test_what_nobody_sees_is_not_read(tmp_path: Path, look: str) -> None:
    assert read(tmp_path, Field(130, 90, 250, 104, look)) == read(tmp_path)


def test_fields_of_a_page_without_text_are_read(tmp_path: Path) -> None:
    name = Field(72, 100, 300, 120, "/FT /Tx /V (Alice Meyer)")
    document = parse(form_pdf(tmp_path / "form.pdf", [], [name, box("Yes")]), IngestSettings())
    assert [block.text for block in document.blocks] == ["Alice Meyer ☒"]


@pytest.mark.slow
def test_fields_above_a_scan_are_recognised_with_it(tmp_path: Path) -> None:
    drawn = Ruled(50, 190, 400, 190)
    name = Field(72, 100, 300, 120, "/FT /Tx /DA (/F1 12 Tf 0 g) /V (Alice Meyer lives here)")
    document = parse(form_pdf(tmp_path / "form.pdf", [drawn], [name]), IngestSettings())
    assert [block.text for block in document.blocks] == ["Alice Meyer lives here"]
