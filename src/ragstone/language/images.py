"""Which image some bytes are, by how they begin."""

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def image_type(data: bytes) -> str | None:
    """The media type of PNG, JPEG, GIF and WebP; None for anything else, SVG among it."""
    for beginning, name in _BEGINNINGS:
        if data.startswith(beginning):
            return name
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None
