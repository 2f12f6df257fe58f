"""PDFs that a real Chromium prints, before and after a tool has taken their Unicode maps away."""

import base64
from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import quote

import pytest

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.browser import chromium

pytestmark = pytest.mark.real

WITHOUT_OCR = IngestSettings(ocr_pages=0)
TEXTS = {
    "English": "The notice period is four weeks for all employees.",
    "German": "Während der Probezeit beträgt die Kündigungsfrist zwei Wochen.",
    "Russian": "Срок уведомления составляет четыре недели для всех сотрудников.",
    "Greek": "Η περίοδος προειδοποίησης είναι τέσσερις εβδομάδες.",
    "Arabic": "فترة الإشعار (14 يومًا) أربعة أسابيع لجميع الموظفين، والأجر 3,500 دينار.",
    "Hebrew": "תקופת ההודעה (14 יום) היא ארבעה שבועות לכל העובדים, והשכר 3,500 שקלים.",
    "formula": "∀x∈ℝ: ∑ xᵢ² ≥ 0 ⇒ ∫₀ e⁻ˣ dx = √π/2, ‖v‖ ≤ ε, a ≠ b, α ⊂ Ω",
    "code": "def f(x): return {k: v**2 for k, v in x.items() if v != 0} #~|$%^&*",
    "capitals": "SCHEDULE OF FEES; NYSE: XYZ, FTSE, DJIA, NASDAQ",
    "figures": "4,210 3,980 (1,110) 1,020 12.5 % 2023 2022 2021",
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    folder = tmp_path_factory.mktemp("printed")
    with chromium() as browser:
        for name, text in TEXTS.items():
            body = f"<p>{escape(text)}</p>" * 12
            page = f"<body dir=auto style='unicode-bidi: plaintext'>{body}</body>"
            browser.get("data:text/html;charset=utf-8," + quote(page))
            (folder / f"{name}.pdf").write_bytes(base64.b64decode(browser.print_page()))
        yield {name: folder / f"{name}.pdf" for name in TEXTS}


@pytest.mark.parametrize("name", TEXTS)
def test_a_printed_page_is_read_in_any_script(printed: dict[str, Path], name: str) -> None:
    parsed = parse(printed[name], WITHOUT_OCR)

    text = " ".join(block.text for block in parsed.blocks)
    assert not parsed.notes
    assert text.count(TEXTS[name]) == 12 or name in ("formula", "code"), text
    assert len(text) > 6 * len(TEXTS[name])


# Chromium notes the words of joined letters beside their glyphs: Arabic is read without a map.
@pytest.mark.parametrize("name", sorted(TEXTS.keys() - {"Arabic"}))
def test_a_page_without_its_unicode_maps_is_not_read(
    printed: dict[str, Path], name: str, tmp_path: Path
) -> None:
    pikepdf = pytest.importorskip("pikepdf")
    path = tmp_path / "a.pdf"
    with pikepdf.open(printed[name]) as document:
        for thing in document.objects:
            if isinstance(thing, pikepdf.Dictionary) and "/ToUnicode" in thing:
                del thing["/ToUnicode"]
        document.save(path)

    with pytest.raises(UnreadableDocument, match="Not readable text: the fonts of a.pdf"):
        parse(path, WITHOUT_OCR)
