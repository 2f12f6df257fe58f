"""The file of a picture, opened within bounds: nothing is unpacked before its size is known.

Pictures are shown drawn anew, so that what reaches a browser or a model is pixels and nothing
else of the file: no scripts, places of photos, or bytes after the picture.
"""

import io
import struct
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragstone.core.errors import TooLarge, UnreadableDocument

MAX_PIXELS = 60_000_000
"""Those of a picture of the largest usual cameras; they take 180 MB unpacked."""

_ALL = ("PNG", "JPEG", "GIF", "WEBP")


@contextmanager
def open_picture(kinds: Sequence[str], path: Path, file: io.BytesIO | None = None) -> Iterator[Any]:
    """The picture at a path, or in `file`, of which nothing is unpacked yet; what is wrong with it
    is one line. `kinds` are those that it may be, as Pillow calls them.

    Raises UnreadableDocument or TooLarge, also for what goes wrong while it is unpacked.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of its size: `check_pixels` looks at it.
            with Image.open(file or path, formats=list(kinds)) as image:
                yield image
    except Image.DecompressionBombError as error:
        raise _too_large(path, "far more") from error
    except (OSError, SyntaxError, ValueError, EOFError, KeyError, struct.error) as error:
        raise UnreadableDocument(
            f"{path.name} is damaged or incomplete and cannot be read as a picture."
        ) from error


def is_far_too_large(data: bytes) -> bool:
    """Tell whether a picture says that it has too many pixels; what is not a picture has none."""
    try:
        with open_picture(_ALL, Path("picture"), io.BytesIO(data)) as image:
            check_pixels(Path("picture"), image)
    except TooLarge:
        return True
    except UnreadableDocument:
        return False
    return False


def check_pixels(path: Path, image: Any) -> None:
    """Raise TooLarge for a picture that would take too much memory."""
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise _too_large(path, f"{width:,} x {height:,}")


def flatten_on_white(image: Any) -> Any:
    """Convert to RGB; what is transparent is white, and 16 bits of grey become 8."""
    from PIL import Image

    if image.mode.startswith("I;16") or image.mode == "I":
        image = image.point(lambda value: value / 256).convert("L")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        white.alpha_composite(image)
        image = white
    return image.convert("RGB")


def _too_large(path: Path, size: str) -> TooLarge:
    return TooLarge(
        f"{path.name} has {size} pixels; the limit is {MAX_PIXELS:,} in all. Save it smaller."
    )


PNG, JPEG = "image/png", "image/jpeg"

_KINDS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP")
_ORNAMENT_SIDE = 24
_ORNAMENT_PIXELS = 6_000
"""A picture inside a document with fewer pixels, or with a shorter side, is a sign or a rule."""

_MAX_SIDE = 1_600
"""Pixels of a picture that is shown; a larger one is made smaller."""

_FEW_COLOURS = 4_096
"""With no more colours it is a drawing, which JPEG blurs; a photo is several times as large as PNG.
"""

_END_BYTES = 1_024
_QUALITY = 85


def is_figure(document: str, data: bytes) -> bool:
    """Tell whether the picture is one to look at, and no ornament. Nothing is unpacked.

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


def redraw(name: str, data: bytes, page: int = 0) -> tuple[str, bytes]:
    """Return the media type and the content of a picture as it is shown, PNG or JPEG; raises
    UnreadableDocument or TooLarge."""
    from PIL import ImageOps

    place = Path(name)
    with open_picture(_KINDS, place, io.BytesIO(data)) as image:
        image.seek(page)
        check_pixels(place, image)
        image.draft("RGB", (_MAX_SIDE, _MAX_SIDE))
        shown = flatten_on_white(ImageOps.exif_transpose(image))
        return encode_picture(shown)


def encode_picture(image: Any) -> tuple[str, bytes]:
    """Return an RGB picture of Pillow's as its media type and content, made smaller if need be."""
    from PIL import Image

    image.thumbnail((_MAX_SIDE, _MAX_SIDE), Image.Resampling.LANCZOS)
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
