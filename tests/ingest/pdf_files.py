"""PDFs written by hand: pages of lines in Helvetica, nothing more than the format asks for."""

from collections.abc import Sequence
from pathlib import Path

Line = str | tuple[str, int]
"""A text, or a text with its font size in points."""


def pdf(
    path: Path, pages: Sequence[Sequence[Line]], *, title: str = "", encrypted: bool = False
) -> Path:
    """A PDF with one text line below the other on each page; a page without lines is blank."""
    path.write_bytes(pdf_bytes(pages, title=title, encrypted=encrypted))
    return path


def pdf_bytes(
    pages: Sequence[Sequence[Line]], *, title: str = "", encrypted: bool = False
) -> bytes:
    first = 4
    kids = " ".join(f"{first + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for i, lines in enumerate(pages):
        content = _content(lines)
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {first + 2 * i + 1} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title ({_escaped(title)}) >>")
    trailer = f"/Root 1 0 R /Info {len(objects)} 0 R"
    if encrypted:
        # Keys that belong to no password: what a reader without one sees.
        objects.append(
            f"<< /Filter /Standard /V 1 /R 2 /P -44 /O <{'5a' * 32}> /U <{'a5' * 32}> >>"
        )
        trailer += f" /Encrypt {len(objects)} 0 R /ID [<{'00' * 16}> <{'00' * 16}>]"
    return _assembled(objects, trailer)


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
