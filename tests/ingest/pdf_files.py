"""PDFs written by hand: pages of lines in Helvetica, nothing more than the format asks for."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

Line = str | tuple[str, int]
"""A text, or a text with its font size in points."""


def pdf(
    path: Path, pages: Sequence[Sequence[Line]], *, title: str = "", encrypted: bool = False
) -> Path:
    """A PDF with one text line below the other on each page; a page without lines is blank."""
    path.write_bytes(pdf_bytes(pages, title=title, encrypted=encrypted))
    return path


class Placed(NamedTuple):
    """A text that starts so many points from the left and the top of the page; `font` is F1
    (Helvetica), F2 (Helvetica bold) or F3 (Courier, each character 0.6 of the size wide)."""

    left: float
    top: float
    text: str
    size: int = 10
    font: str = "F3"


class Ruled(NamedTuple):
    """A line from one point to another, from the left and the top of the page."""

    left: float
    top: float
    right: float
    bottom: float


def grid(xs: Sequence[float], ys: Sequence[float]) -> list[Ruled]:
    """The lines around cells that have these edges."""
    across = [Ruled(xs[0], y, xs[-1], y) for y in ys]
    return [*across, *(Ruled(x, ys[0], x, ys[-1]) for x in xs)]


def right(edge: float, top: float, text: str) -> Placed:
    """A text in Courier that ends there."""
    return Placed(edge - 6 * len(text), top, text)


def placed_pdf(
    path: Path,
    pages: Sequence[Sequence[Placed | Ruled]],
    *,
    rotate: int = 0,
    crop: str = "0 0 612 792",
) -> Path:
    """A PDF with each text or line where it is said to stand on the page before it is rotated."""
    contents = ["\n".join(map(_drawn, page)) for page in pages]
    path.write_bytes(_document(contents, f"/Rotate {rotate} /CropBox [{crop}]", []))
    return path


def _drawn(one: Placed | Ruled) -> str:
    if isinstance(one, Ruled):
        return f"{one.left} {792 - one.top} m {one.right} {792 - one.bottom} l S"
    return (
        f"BT /{one.font} {one.size} Tf 1 0 0 1 {one.left} {792 - one.top} Tm "
        f"({_escaped(one.text)}) Tj ET"
    )


def pdf_bytes(
    pages: Sequence[Sequence[Line]], *, title: str = "", encrypted: bool = False
) -> bytes:
    extra = [f"<< /Title ({_escaped(title)}) >>"]
    trailer = ""
    if encrypted:
        # Keys that belong to no password: what a reader without one sees.
        extra.append(f"<< /Filter /Standard /V 1 /R 2 /P -44 /O <{'5a' * 32}> /U <{'a5' * 32}> >>")
        trailer = f" /ID [<{'00' * 16}> <{'00' * 16}>]"
    return _document([_content(lines) for lines in pages], "", extra, trailer)


def _document(contents: Sequence[str], page: str, extra: Sequence[str], trailer: str = "") -> bytes:
    """Pages with these contents; `extra` are the objects of the facts and of the encryption."""
    first = 6
    kids = " ".join(f"{first + 2 * i} 0 R" for i in range(len(contents)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(contents)} >>",
    ]
    for font in ("Helvetica", "Helvetica-Bold", "Courier"):
        objects.append(
            f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>"
        )
    for i, content in enumerate(contents):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {page} "
            "/Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >> >> "
            f"/Contents {first + 2 * i + 1} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    for name, body in zip(("Info", "Encrypt"), extra, strict=False):
        objects.append(body)
        trailer += f" /{name} {len(objects)} 0 R"
    return _assembled(objects, f"/Root 1 0 R{trailer}")


def _content(lines: Sequence[Line]) -> str:
    y = 740
    parts = []
    for line in lines:
        text, size = (line, 10) if isinstance(line, str) else line
        parts.append(f"BT /F1 {size} Tf 1 0 0 1 72 {y} Tm ({_escaped(text)}) Tj ET")
        y -= size + 2 if text else 20
    return "\n".join(parts)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _assembled(objects: Sequence[str], trailer: str) -> bytes:
    data = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
    start = len(data)
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    data += (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {len(objects) + 1} {trailer} >>\nstartxref\n{start}\n%%EOF\n"
    ).encode()
    return data
