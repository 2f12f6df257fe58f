"""The picture of a terminal in the README, drawn from the README's own transcript.

`python -m tests.documentation.picture` writes `docs/demo.svg`. The transcript is run and
compared by `tests/e2e/test_documentation.py`; a test here compares the picture with it.
"""

import html
import io
import re

from rich.console import Console
from rich.text import Text

from tests.documentation.pages import ROOT, pages

PICTURE = ROOT / "docs" / "demo.svg"
COLUMNS = 104

_DRAWN = re.compile(r'<text class="[^"]*" x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>')


def transcript() -> str:
    """The first console fence of the README."""
    [readme] = [page for page in pages() if page.name == "README.md"]
    return next(block.text for block in readme.blocks if block.language == "console")


def draw(shown: str) -> str:
    """An SVG of a terminal that shows these lines."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for line in shown.rstrip().splitlines():
        text = Text(line)
        text.highlight_regex(r"^\$ .*", "bold green")
        text.highlight_regex(r"\[\d+\]", "cyan")
        text.highlight_regex(r"^(Sources$|Checked:.*)", "dim")
        console.print(text)
    drawn = console.export_svg(title="ragstone", unique_id="terminal")
    # Fonts come from the reader's machine: the picture loads nothing.
    return re.sub(r"\s*(?:@font-face \{.*?\}|<!--.*?-->)", "", drawn, flags=re.DOTALL)


def words(picture: str) -> list[str]:
    """The words that a picture shows, from top to bottom."""
    pieces = sorted((float(y), float(x), text) for x, y, text in _DRAWN.findall(picture))
    return html.unescape(" ".join(text for _, _, text in pieces)).split()


if __name__ == "__main__":
    PICTURE.write_text(draw(transcript()), encoding="utf-8")
