"""Pictures as documents: the text in them is recognised. It needs the extra `ocr`."""

import io
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ragstone.core.errors import TooLarge, UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.pdf_blocks import Prose, page_blocks
from ragstone.ingest.formats.recognised import page_block, recognised_lines
from ragstone.ingest.formats.recognition import CHOSEN, MOST_SIDE, Recognition, recognised
from ragstone.ingest.formats.types import Format

MOST_PIXELS = 60_000_000
"""Those of a picture of the largest usual cameras; they take 180 MB unpacked."""

_ORNAMENT_SIDE = 24
_ORNAMENT_PIXELS = 6_000
"""A picture inside a document with fewer pixels, or with a shorter side, is a sign or a rule."""

_POINTS = 72.0
_RESOLUTIONS = (50, 2400)
"""Dots per inch that are believed; where a picture has none, a pixel is a point."""

_MANY_PAGES = ("TIFF",)


def parse_picture(kind: str, path: Path, ending: str, max_bytes: int) -> Parsed:
    """The text of a picture of this kind, as Pillow calls it; a TIFF may have several pages.

    Raises UnreadableDocument or TooLarge, also where the extra is missing.
    """
    recognition = CHOSEN.get()
    if not recognition.possible:
        raise UnreadableDocument(f"{path.name} is a picture. {recognition.why_not}")
    with _opened(kind, path) as image:
        pages = getattr(image, "n_frames", 1) if kind in _MANY_PAGES else 1
    if pages > recognition.pages:
        raise TooLarge(
            f"{path.name} has {pages:,} pages; the limit is {recognition.pages:,} "
            "(INGEST__OCR_PAGES). Split it, or allow more."
        )
    return Parsed("", _blocks(kind, path, pages, recognition), pages, recognised=pages)


def embedded_blocks(kind: str, name: str, data: bytes, recognition: Recognition) -> list[Block]:
    """The text of a picture inside a document; none of a small one, which is an ornament.

    Raises UnreadableDocument or TooLarge.
    """
    path = Path(name)
    with _opened(kind, path, io.BytesIO(data)) as image:
        width, height = image.size
        if min(width, height) < _ORNAMENT_SIDE or width * height < _ORNAMENT_PIXELS:
            return []
    return list(_blocks(kind, path, 1, recognition, data))


def _blocks(
    kind: str, path: Path, pages: int, recognition: Recognition, data: bytes | None = None
) -> Iterator[Block]:
    prose = Prose()
    for page in range(pages):
        with _opened(kind, path, io.BytesIO(data) if data else None) as image:
            image.seek(page)
            _check_pixels(path, image)
            pixels, points = _pixels(image)
        lines, view = recognised_lines(recognised(pixels, recognition), points)
        prose.learn(lines)
        for block in page_blocks(lines, page + 1, prose):
            yield page_block(block, view)


@contextmanager
def _opened(kind: str, path: Path, file: io.BytesIO | None = None) -> Iterator[Any]:
    """The picture at a path, or in `file`, of which nothing is unpacked yet; what is wrong with it
    is one line."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of its size: it is looked at here.
            with Image.open(file or path, formats=[kind]) as image:
                yield image
    except Image.DecompressionBombError as error:
        raise _too_large(path, "far more") from error
    except (OSError, SyntaxError, ValueError, EOFError, KeyError, struct.error) as error:
        raise UnreadableDocument(
            f"{path.name} is damaged or incomplete and cannot be read as a picture."
        ) from error


def _check_pixels(path: Path, image: Any) -> None:
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise _too_large(path, f"{width:,} x {height:,}")


def _too_large(path: Path, size: str) -> TooLarge:
    return TooLarge(
        f"{path.name} has {size} pixels; the limit is {MOST_PIXELS:,} in all. Save it smaller."
    )


def _pixels(image: Any) -> tuple[Any, float]:
    """The picture as it is shown, in blue, green and red, and how many points a pixel is long."""
    import numpy
    from PIL import ImageOps

    resolution, longest = _resolution(image), max(image.size)
    image.draft("RGB", (MOST_SIDE, MOST_SIDE))  # A large JPEG is unpacked at a half or less.
    shown = _on_white(ImageOps.exif_transpose(image))
    shown.thumbnail((MOST_SIDE, MOST_SIDE))
    shrunk = longest / max(shown.size)
    pixels = numpy.ascontiguousarray(numpy.asarray(shown)[:, :, ::-1])
    return pixels, shrunk * _POINTS / resolution


def _on_white(image: Any) -> Any:
    """As RGB; what is transparent is white, and 16 bits of grey become 8."""
    from PIL import Image

    if image.mode.startswith("I;16") or image.mode == "I":
        image = image.point(lambda value: value / 256).convert("L")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        white.alpha_composite(image)
        image = white
    return image.convert("RGB")


def _resolution(image: Any) -> float:
    """Dots per inch of the picture as it is stored."""
    try:
        given = float(image.info.get("dpi", (0, 0))[0])
    except (TypeError, ValueError, ZeroDivisionError, IndexError):
        given = 0.0
    least, most = _RESOLUTIONS
    return given if least <= given <= most else _POINTS


def _format(media_type: str, kind: str, magic: bytes) -> Format:
    return Format(media_type, partial(parse_picture, kind), magic=magic)


PNG = _format("image/png", "PNG", b"\x89PNG\r\n\x1a\n")
JPEG = _format("image/jpeg", "JPEG", b"\xff\xd8\xff")
TIFF = _format("image/tiff", "TIFF", b"II*\x00")
WEBP = _format("image/webp", "WEBP", b"RIFF")
