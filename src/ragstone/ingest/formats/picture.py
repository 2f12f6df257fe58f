"""Pictures as documents: the text in them is recognised. It needs the extra `ocr`."""

import io
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ragstone.core.document import picture_id
from ragstone.core.errors import TooLarge, UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.image_file import check_pixels, flatten_on_white, open_picture, redraw
from ragstone.ingest.formats.pdf_blocks import Prose, page_blocks
from ragstone.ingest.formats.recognition import (
    CHOSEN,
    MAX_SIDE,
    Recognition,
    build_lines,
    page_block,
    recognise_text,
)
from ragstone.ingest.formats.types import Format, Surroundings

_POINTS = 72.0
_RESOLUTIONS = (50, 2400)
"""Dots per inch that are believed; where a picture has none, a pixel is a point."""

_MANY_PAGES = ("TIFF",)


def parse_picture(kind: str, path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the text of a picture of this kind, as Pillow calls it; a TIFF may have several pages.

    Raises UnreadableDocument or TooLarge, also where the extra is missing.
    """
    recognition = CHOSEN.get()
    if not recognition.possible:
        raise UnreadableDocument(f"{path.name} is a picture. {recognition.why_not}")
    with open_picture((kind,), path) as image:
        pages = getattr(image, "n_frames", 1) if kind in _MANY_PAGES else 1
    if pages > recognition.pages:
        raise TooLarge(
            f"{path.name} has {pages:,} pages; the limit is {recognition.pages:,} "
            "(INGEST__OCR_PAGES). Split it, or allow more."
        )
    return Parsed("", _blocks(kind, path, pages, recognition), pages, recognised=pages)


def read_embedded_picture(
    kind: str, name: str, data: bytes, recognition: Recognition
) -> list[Block]:
    """Return the text of a picture inside a document; raises UnreadableDocument or TooLarge."""
    return list(_blocks(kind, Path(name), 1, recognition, data))


def whole_file(
    path: Path, ending: str, max_bytes: int, around: Surroundings | None, name: str
) -> bytes:
    """Return the bytes of a picture that is a document; raises UnreadableDocument."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableDocument(f"{path.name} cannot be read: {error.strerror}.") from error


def draw_page(path: Path, name: str, data: bytes) -> tuple[str, bytes]:
    """Return a page of such a document, by its number from 1, as it is shown."""
    return redraw(path.name, data, int(name) - 1 if name.isdecimal() else 0)


def _blocks(
    kind: str, path: Path, pages: int, recognition: Recognition, data: bytes | None = None
) -> Iterator[Block]:
    prose = Prose()
    digest = "" if data else picture_id(whole_file(path, "", 0, None, ""), "")
    for page in range(pages):
        with open_picture((kind,), path, io.BytesIO(data) if data else None) as image:
            image.seek(page)
            check_pixels(path, image)
            pixels, points = _pixels(image)
        lines, view = build_lines(recognise_text(pixels, recognition), points)
        prose.learn(lines)
        for block in page_blocks(lines, page + 1, prose):
            shown = page_block(block, view)
            yield replace(shown, pictures=(f"{digest}{page + 1}",)) if digest else shown


def _pixels(image: Any) -> tuple[Any, float]:
    """The picture as it is shown, in blue, green and red, and how many points a pixel is long."""
    import numpy
    from PIL import ImageOps

    resolution, longest = _resolution(image), max(image.size)
    image.draft("RGB", (MAX_SIDE, MAX_SIDE))  # A large JPEG is unpacked at a half or less.
    shown = flatten_on_white(ImageOps.exif_transpose(image))
    shown.thumbnail((MAX_SIDE, MAX_SIDE))
    shrunk = longest / max(shown.size)
    pixels = numpy.ascontiguousarray(numpy.asarray(shown)[:, :, ::-1])
    return pixels, shrunk * _POINTS / resolution


def _resolution(image: Any) -> float:
    """Return the dots per inch of the picture as it is stored."""
    try:
        given = float(image.info.get("dpi", (0, 0))[0])
    except (TypeError, ValueError, ZeroDivisionError, IndexError):
        given = 0.0
    least, most = _RESOLUTIONS
    return given if least <= given <= most else _POINTS


def _format(media_type: str, kind: str, magic: bytes) -> Format:
    return Format(
        media_type, partial(parse_picture, kind), magic=magic, picture=whole_file, drawn=draw_page
    )


PNG = _format("image/png", "PNG", b"\x89PNG\r\n\x1a\n")
JPEG = _format("image/jpeg", "JPEG", b"\xff\xd8\xff")
TIFF = _format("image/tiff", "TIFF", b"II*\x00")
WEBP = _format("image/webp", "WEBP", b"RIFF")
