"""Text files in whatever encoding they have."""

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ragstone.core.errors import UnreadableDocument

_SAMPLE_BYTES = 1 << 16
_DETECT_BYTES = 1 << 14
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_MAX_CONTROL = 0.02
_MAX_BAD_UTF8 = 0.001
_FALLBACK = "cp1252"


@contextmanager
def open_text(path: Path, newline: str | None = None) -> Iterator[TextIO]:
    """Open a text file in the encoding that its first 64 KB suggest.

    What cannot be decoded further on becomes U+FFFD. Raises UnreadableDocument for binary data.
    """
    try:
        with path.open(encoding=encoding_of(path), errors="replace", newline=newline) as file:
            yield file
    except OSError as error:
        raise UnreadableDocument(f"{path.name} cannot be read: {error.strerror}.") from error


def decoded(path: Path) -> str:
    """The whole text of a file; see `open_text`."""
    with open_text(path) as file:
        return file.read()


def encoding_of(path: Path) -> str:
    """The name of the file's encoding; raises UnreadableDocument for binary data."""
    with path.open("rb") as file:
        sample = file.read(_SAMPLE_BYTES)
    encoding = _encoding(sample)
    text = sample.decode(encoding, errors="replace")
    if len(_CONTROL.findall(text)) > _MAX_CONTROL * len(text):
        raise UnreadableDocument(f"{path.name} holds binary data, not text.")
    return encoding


def _encoding(sample: bytes) -> str:
    for bom, name in _BOMS:
        if sample.startswith(bom):
            return name
    if wide := _utf16_without_bom(sample):
        return wide
    bad = _bad_utf8(sample)
    if bad == 0:
        return "utf-8"
    from charset_normalizer import from_bytes  # Few files are not UTF-8.

    match = from_bytes(sample[:_DETECT_BYTES]).best()
    if bad <= _MAX_BAD_UTF8 * len(sample) and not sample[:_DETECT_BYTES].isascii():
        return "utf-8"
    return match.encoding if match else _FALLBACK


def _bad_utf8(sample: bytes) -> int:
    """How many places are not UTF-8; a character cut off at the end of the sample is fine."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    own = sample.count("\ufffd".encode())
    return decoder.decode(sample, final=len(sample) < _SAMPLE_BYTES).count("\ufffd") - own


def _utf16_without_bom(sample: bytes) -> str:
    """UTF-16 of mostly Latin text has a zero byte in nearly every second place."""
    half = len(sample) // 2
    if half < 2:
        return ""
    even, odd = sample[0::2].count(0) / half, sample[1::2].count(0) / half
    if odd > 0.7 and even < 0.1:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 and odd < 0.1 else ""
