"""PDFs whose fonts say that their glyphs are what no text consists of."""

from pathlib import Path

import pytest

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.pdf_files import Placed, placed_pdf

LINES = [
    Placed(72, top, "The notice period is four weeks for all.", font="F4")
    for top in range(80, 400, 20)
]


@pytest.mark.parametrize(
    "unicode_map",
    [
        pytest.param("<E000>", id="private"),
        pytest.param("<F000>", id="symbols"),
        pytest.param("<DBFFDC00>", id="private plane"),
        pytest.param("<D800>", id="halves of characters"),
        pytest.param(f"[{'<FFFD>' * 256}]", id="replacement"),
        pytest.param(f"[{'<0000>' * 256}]", id="zero"),
        pytest.param(f"[{'<0001>' * 256}]", id="controls"),
        pytest.param("<2701>", id="dingbats"),
        pytest.param("<D8BFDC00>", id="unassigned"),
    ],
)
def test_glyphs_that_are_no_characters_are_never_read(tmp_path: Path, unicode_map: str) -> None:
    path = placed_pdf(tmp_path / "a.pdf", [LINES], unicode_map=unicode_map)

    with pytest.raises(UnreadableDocument, match="Not readable text"):
        parse(path, IngestSettings(ocr_pages=0))


def test_letters_of_the_higher_planes_are_read(tmp_path: Path) -> None:
    path = placed_pdf(tmp_path / "a.pdf", [LINES], unicode_map="<D835DC00>")

    (block, *_) = parse(path, IngestSettings(ocr_pages=0)).blocks

    assert set(block.text) - {" "} <= {chr(0x1D400 + place) for place in range(256)}
