"""The file of a picture, opened within bounds: nothing is unpacked before its size is known."""

import io
import struct
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragstone.core.errors import TooLarge, UnreadableDocument

MOST_PIXELS = 60_000_000
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
    """Whether a picture says that it has too many pixels; what is not a picture has none."""
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
    if width * height > MOST_PIXELS:
        raise _too_large(path, f"{width:,} x {height:,}")


def on_white(image: Any) -> Any:
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


def _too_large(path: Path, size: str) -> TooLarge:
    return TooLarge(
        f"{path.name} has {size} pixels; the limit is {MOST_PIXELS:,} in all. Save it smaller."
    )
