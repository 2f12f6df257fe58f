"""Images that clients send: as data URLs or base64, never as addresses to fetch."""

import base64
import binascii
import re
from collections.abc import Sequence

from ragstone.core.errors import InputError, TooLarge
from ragstone.core.tool import Picture
from ragstone.ingest.formats.image_file import MAX_PIXELS, is_far_too_large

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def image_type(data: bytes) -> str | None:
    """Return the media type of PNG, JPEG, GIF and WebP; None for anything else, SVG among it."""
    for beginning, name in _BEGINNINGS:
        if data.startswith(beginning):
            return name
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


MAX_IMAGES = 8
"""Images of one question."""

MAX_BYTES = 10_000_000
"""Bytes of one image; SERVER__MAX_REQUEST_MB bounds them all."""

_URL = re.compile("(data|https?):", re.IGNORECASE)
_DATA_URL = re.compile(r"data:[^,]{0,200};base64,")


def pictures(given: Sequence[str]) -> tuple[Picture, ...]:
    """Return the images of a request; raises InputError and TooLarge.

    Their type is what their bytes say, whatever the client says.
    """
    if len(given) > MAX_IMAGES:
        raise InputError(f"{len(given)} images are too many; send at most {MAX_IMAGES}.")
    return tuple(_decode_picture(text) for text in given)


def of_urls(given: Sequence[str]) -> tuple[Picture, ...]:
    """Return the images of data URLs, bare base64 being none; raises InputError and TooLarge."""
    if not all(_URL.match(url) for url in given):
        raise InputError("An image_url needs a url that begins like data:image/png;base64,.")
    return pictures(given)


def picture(data: bytes) -> Picture:
    """Return one image from its bytes; raises InputError and TooLarge."""
    if len(data) > MAX_BYTES:
        raise TooLarge(f"An image is larger than {MAX_BYTES // 1_000_000} MB; make it smaller.")
    media_type = image_type(data)
    if media_type is None:
        raise InputError("Not a valid image: send PNG, JPEG, GIF or WebP.")
    if is_far_too_large(data):
        raise TooLarge(f"An image has more than {MAX_PIXELS:,} pixels; make it smaller.")
    return Picture(media_type, base64.b64encode(data).decode())


def _decode_picture(given: str) -> Picture:
    if given[:8].lower().startswith(("http:", "https:")):
        raise InputError("Images are not fetched; send the image itself as a data URL.")
    start = _DATA_URL.match(given)
    try:
        return picture(base64.b64decode(given[start.end() if start else 0 :], validate=True))
    except (binascii.Error, ValueError) as error:
        raise InputError("Not a valid image: send base64, or a data URL with it.") from error
