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
    (Helvetica), F2 (Helvetica bold), F3 (Courier, each character 0.6 of the size wide), F4 (one of
    which nothing says what its glyphs mean), F5 (Wingdings) or F6 (Symbol)."""

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


class Field(NamedTuple):
    """A field of a form from one point to another; `look` is the rest of its dictionary: "/FT /Tx
    /V (Bob)"."""

    left: float
    top: float
    right: float
    bottom: float
    look: str


def form_pdf(path: Path, items: Sequence[Placed | Ruled], fields: Sequence[Field]) -> Path:
    """A PDF of one page with these texts and lines and, above them, these fields."""
    widgets = [
        f"<< /Type /Annot /Subtype /Widget /T (field{number}) {field.look} "
        f"/Rect [{field.left} {792 - field.bottom} {field.right} {792 - field.top}] >>"
        for number, field in enumerate(fields)
    ]
    path.write_bytes(_document(["\n".join(map(_drawn, items))], "", [], fields=widgets))
    return path


def right(edge: float, top: float, text: str) -> Placed:
    """A text in Courier that ends there."""
    return Placed(edge - 6 * len(text), top, text)


def placed_pdf(
    path: Path,
    pages: Sequence[Sequence[Placed | Ruled]],
    *,
    rotate: int = 0,
    crop: str = "0 0 612 792",
    unicode_map: str = "",
) -> Path:
    """A PDF with each text or line where it is said to stand on the page before it is rotated.
    `unicode_map` is what the font F4 says that its glyphs 0 to 255 are, as the hexadecimal UTF-16
    of the first, or of each."""
    contents = ["\n".join(map(_drawn, page)) for page in pages]
    page = f"/Rotate {rotate} /CropBox [{crop}]"
    path.write_bytes(_document(contents, page, [], unicode_map=unicode_map))
    return path


def _drawn(placed: Placed | Ruled) -> str:
    if isinstance(placed, Ruled):
        return f"{placed.left} {792 - placed.top} m {placed.right} {792 - placed.bottom} l S"
    text = f"({_escaped(placed.text)})"
    if placed.font == "F4":
        # Glyph 3 is the space in the fonts of most systems, and the others follow as in ASCII.
        text = f"<{''.join(f'{ord(char) - 29:04x}' for char in placed.text)}>"
    place = f"1 0 0 1 {placed.left} {792 - placed.top}"
    return f"BT /{placed.font} {placed.size} Tf {place} Tm {text} Tj ET"


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


_ENCODED = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
_FONTS = (
    _ENCODED.format("Helvetica"),
    _ENCODED.format("Helvetica-Bold"),
    _ENCODED.format("Courier"),
    "<< /Type /Font /Subtype /Type0 /BaseFont /AAAAAA+Body /Encoding /Identity-H /DescendantFonts "
    "[<< /Type /Font /Subtype /CIDFontType2 /BaseFont /AAAAAA+Body /DW 600 /CIDSystemInfo "
    "<< /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>] >>",
    _ENCODED.format("Wingdings").replace("Type1", "TrueType"),
    "<< /Type /Font /Subtype /Type1 /BaseFont /Symbol >>",
)


def _document(
    contents: Sequence[str],
    page: str,
    extra: Sequence[str],
    trailer: str = "",
    unicode_map: str = "",
    fields: Sequence[str] = (),
) -> bytes:
    """Pages with these contents; `extra` are the objects of the facts and of the encryption,
    `fields` those of a form, which are on the first page."""
    first = 3 + len(_FONTS)
    kids = " ".join(f"{first + 2 * i} 0 R" for i in range(len(contents)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(contents)} >>",
        *_FONTS,
    ]
    fonts = " ".join(f"/F{i} {i + 2} 0 R" for i in range(1, len(_FONTS) + 1))
    for i, content in enumerate(contents):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {page} "
            f"/Resources << /Font << {fonts} >> >> "
            f"/Contents {first + 2 * i + 1} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    if fields:
        numbers = range(len(objects) + 1, len(objects) + len(fields) + 1)
        listed = f"[{' '.join(f'{number} 0 R' for number in numbers)}]"
        objects[0] = objects[0].replace(" >>", f" /AcroForm << /Fields {listed} >> >>")
        objects[first - 1] = objects[first - 1].replace("/Page ", f"/Page /Annots {listed} ")
        objects += fields
    if unicode_map:
        stream = (
            "begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange "
            f"1 beginbfrange <0000> <00FF> {unicode_map} endbfrange endcmap"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects[5] = objects[5].replace("/Type0", f"/Type0 /ToUnicode {len(objects)} 0 R")
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


def arabic_pdf(path: Path, glyphs: Sequence[str]) -> Path:
    """A PDF with a line of these glyphs, the last one read first, as Arabic is drawn from the left;
    a ligature is a glyph of several letters."""
    codes = {glyph: chr(65 + number) for number, glyph in enumerate(dict.fromkeys(glyphs))}
    drawn = "".join(codes[glyph] for glyph in reversed(glyphs))
    known = " ".join(
        f"<{ord(code):02X}> <{glyph.encode('utf-16-be').hex()}>" for glyph, code in codes.items()
    )
    return _mapped_pdf(
        path,
        f"BT /F1 10 Tf 1 0 0 1 72 700 Tm ({drawn}) Tj ET",
        f"{len(codes)} beginbfchar {known} endbfchar",
        "/WinAnsiEncoding",
    )


def ligature_pdf(path: Path, lines: Sequence[str]) -> Path:
    """A PDF in Helvetica whose ligatures (fi, fl) are said to be their last letters alone."""
    text = "\n".join(
        f"1 0 0 1 72 {700 - 20 * number} Tm ({_escaped(line)}) Tj"
        for number, line in enumerate(lines)
    )
    content = f"BT /F1 10 Tf {text} ET".replace("fi", "\\036").replace("fl", "\\037")
    known = "3 beginbfrange <1E> <1E> <0069> <1F> <1F> <006C> <20> <7E> <0020> endbfrange"
    encoding = "<< /Type /Encoding /BaseEncoding /WinAnsiEncoding /Differences [30 /fi /fl] >>"
    return _mapped_pdf(path, content, known, encoding)


def _mapped_pdf(path: Path, content: str, known: str, encoding: str) -> Path:
    """A PDF in Helvetica with a map of its codes to letters."""
    unicode_map = f"begincmap 1 begincodespacerange <00> <FF> endcodespacerange {known} endcmap"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica "
        f"/Encoding {encoding} /ToUnicode 6 0 R >>",
        f"<< /Length {len(unicode_map)} >>\nstream\n{unicode_map}\nendstream",
    ]
    path.write_bytes(_assembled(objects, "/Root 1 0 R"))
    return path
