"""Pictures as they are shown: drawn anew, so that what reaches a browser or a model is pixels and
nothing else of the file (no scripts, places of photos, or bytes after the picture)."""

import io
from pathlib import Path
from typing import Any

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.formats.image_file import check_pixels, on_white, open_picture

PNG, JPEG = "image/png", "image/jpeg"

_KINDS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP")
_ORNAMENT_SIDE = 24
_ORNAMENT_PIXELS = 6_000
"""A picture inside a document with fewer pixels, or with a shorter side, is a sign or a rule."""

_LONGEST_SIDE = 1_600
"""Pixels of a picture that is shown; a larger one is made smaller."""

_FEW_COLOURS = 4_096
"""With no more colours it is a drawing, which JPEG blurs; a photo is several times as large as PNG.
"""

_END_BYTES = 1_024
_QUALITY = 85


def is_figure(document: str, data: bytes) -> bool:
    """Whether the picture is one to look at, and no ornament. Nothing is unpacked.

    Raises UnreadableDocument or TooLarge.
    """
    place = Path(document)
    with open_picture(_KINDS, place, io.BytesIO(data)) as image:
        check_pixels(place, image)
        width, height = map(int, image.size)
        kind = image.format
        if kind == "PNG":
            image.verify()
    if kind == "JPEG" and b"\xff\xd9" not in data[-_END_BYTES:]:
        raise UnreadableDocument(f"A picture in {document} is incomplete.")
    return min(width, height) >= _ORNAMENT_SIDE and width * height >= _ORNAMENT_PIXELS


def redrawn(name: str, data: bytes, page: int = 0) -> tuple[str, bytes]:
    """The media type and the content of a picture as it is shown, PNG or JPEG; raises
    UnreadableDocument or TooLarge."""
    from PIL import ImageOps

    place = Path(name)
    with open_picture(_KINDS, place, io.BytesIO(data)) as image:
        image.seek(page)
        check_pixels(place, image)
        image.draft("RGB", (_LONGEST_SIDE, _LONGEST_SIDE))
        shown = on_white(ImageOps.exif_transpose(image))
        return encode_picture(shown)


def encode_picture(image: Any) -> tuple[str, bytes]:
    """An RGB picture of Pillow's as its media type and content, made smaller if need be."""
    from PIL import Image

    image.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE), Image.Resampling.LANCZOS)
    drawing = image.getcolors(_FEW_COLOURS) is not None
    target = io.BytesIO()
    if drawing:
        image.save(target, "PNG", optimize=True)
    else:
        image.save(target, "JPEG", quality=_QUALITY)
    return PNG if drawing else JPEG, target.getvalue()


def detect_media_type(data: bytes) -> str:
    """The media type of what a process drew; raises UnreadableDocument for what is neither."""
    for beginning, media_type in ((b"\x89PNG\r\n\x1a\n", PNG), (b"\xff\xd8\xff", JPEG)):
        if data.startswith(beginning):
            return media_type
    raise UnreadableDocument("This is not a picture that can be shown.")
