"""The fields of a PDF form in the lines of its page: what is filled in, which boxes are ticked.

PDFium reads the text of a page without its fields, which are drawn above it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pypdfium2.raw

from ragstone.core.document import Box
from ragstone.ingest.formats.pdf_frame import Frame
from ragstone.ingest.formats.pdf_lines import PageLine, TextRun, build_line, clean

_C: Any = pypdfium2.raw

_MAX_FIELDS = 2000
"""Of a page; those behind them are not read."""

_MAX_BYTES = 1 << 16
_INVISIBLE = _C.FPDF_ANNOT_FLAG_HIDDEN | _C.FPDF_ANNOT_FLAG_NOVIEW

_PASSWORD = 1 << 13
"""The flag of fields whose text nobody sees (PDF 32000-1, table 228)."""

_TEXT_SIZE = 11.0
"""Points of the text in a field that is higher: PDFium does not tell its size."""

_BOXES = (_C.FPDF_FORMFIELD_CHECKBOX, _C.FPDF_FORMFIELD_RADIOBUTTON)
_TEXTS = (
    _C.FPDF_FORMFIELD_TEXTFIELD,
    _C.FPDF_FORMFIELD_COMBOBOX,
    _C.FPDF_FORMFIELD_LISTBOX,
)


def insert_fields(lines: list[PageLine], page: Any, frame: Frame) -> list[PageLine]:
    """Return the lines of a page with its fields: beside the text that they stand beside, else as
    lines of their own.

    Args:
        lines: In the order in which they are read.
        page: A pypdfium2 page of a document whose forms are initialised, or that has none.
        frame: What is seen of the page.
    """
    lines = list(lines)
    for run in _read_fields(page, frame) if page.formenv else ():
        same_row = [place for place, line in enumerate(lines) if _share_row(line.box, run.box)]
        # Of the columns of a page the nearest.
        place = min(same_row, key=lambda at: _gap(lines[at].box, run.box), default=None)
        if place is not None:
            runs = sorted([*lines[place].runs, run], key=lambda part: part.box.left)
            lines[place] = build_line(runs) or lines[place]
        elif line := build_line([run]):
            above = [at for at, other in enumerate(lines) if other.baseline <= run.baseline]
            lines.insert(above[-1] + 1 if above else 0, line)
    return lines


def _share_row(one: Box, other: Box) -> bool:
    return (
        one.top <= (other.top + other.bottom) / 2 <= one.bottom
        or other.top <= (one.top + one.bottom) / 2 <= other.bottom
    )


def _gap(one: Box, other: Box) -> float:
    """Return how far apart two boxes are from left to right, 0 for those that overlap."""
    return max(0.0, other.left - one.right, one.left - other.right)


def _read_fields(page: Any, frame: Frame) -> Iterator[TextRun]:
    """Yield the boxes of a page with their marks, and what other fields hold, in their order."""
    form = page.formenv.raw
    for number in range(min(_C.FPDFPage_GetAnnotCount(page.raw), _MAX_FIELDS)):
        with _annotation(page, number) as annotation:
            kind = _C.FPDFAnnot_GetFormFieldType(form, annotation)
            text = ""
            if _C.FPDFAnnot_GetFlags(annotation) & _INVISIBLE:
                continue
            if kind in _BOXES:
                text = "☒" if _C.FPDFAnnot_IsChecked(form, annotation) else "☐"
            elif kind in _TEXTS:
                is_secret = _C.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD
                text = "" if is_secret else _value(form, annotation)
            edges = _C.FS_RECTF()
            if text and _C.FPDFAnnot_GetRect(annotation, edges):
                corners = (edges.left, edges.bottom), (edges.right, edges.top)
                box = Box(*frame.edges(*corners))
                size = min(box.bottom - box.top, _TEXT_SIZE)
                yield TextRun(text, box, (box.top + box.bottom + 0.7 * size) / 2, size)


@contextmanager
def _annotation(page: Any, number: int) -> Iterator[Any]:
    annotation = _C.FPDFPage_GetAnnot(page.raw, number)
    try:
        yield annotation
    finally:
        _C.FPDFPage_CloseAnnot(annotation)


def _value(form: Any, annotation: Any) -> str:
    buffer = (_C.FPDF_WCHAR * (_MAX_BYTES // 2))()
    size = _C.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, _MAX_BYTES)
    if size > _MAX_BYTES:  # Then nothing of it was written.
        return ""
    return clean(bytes(buffer)[: max(0, size - 2)].decode("utf-16-le", "ignore"))
