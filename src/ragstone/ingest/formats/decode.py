"""Text files in whatever encoding they have."""

import codecs
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
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
_MAX_CONTROL, _FEW_CONTROLS = 0.02, 3
"""The share of characters that are none up to which a text is one, and so many of them that a short
one may have."""
_MAX_BAD_UTF8 = 0.001
_ENCODINGS = (
    "cp1252", "iso8859_15", "cp1250", "iso8859_2", "cp1251", "koi8_r", "cp866", "cp1253", "cp1254",
    "cp1255", "cp1256", "cp1257", "cp1258", "cp874", "cp437", "cp850", "mac_roman", "gb18030",
    "big5hkscs", "cp932", "euc_jp", "cp949",
)  # fmt: skip
"""What people wrote in before UTF-8. Of those that make the same text of some bytes the first one
is taken."""

_ESCAPED = (
    (re.compile(rb"\x1b(?:\$[@B]|\([IJ])"), "iso2022_jp_ext"),
    (re.compile(rb"\x1b\$\)C"), "iso2022_kr"),
)
"""Encodings that switch alphabets by escape sequences, so that all of their bytes are ASCII."""

_SCORED_BYTES, _SCORED_NAMES = 2048, 100
_IMPOSSIBLE = -1e9
_FURTHER_ENCODING = 5.0
"""How much likelier (as a logarithm) names must become for a further encoding among them."""
_DECLARED = re.compile(
    rb"""<(?:meta[^>]{1,200}?charset|\?xml[^>]{1,200}?encoding)\s*=\s*["']?([\w.:-]{1,40})"""
)
_NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd\ue000-\uf8ff]")


@contextmanager
def open_text(path: Path, newline: str | None = None) -> Iterator[TextIO]:
    """Open a text file in the encoding that its first 64 KB suggest.

    What cannot be decoded further on becomes U+FFFD. Raises UnreadableDocument for binary data.
    """
    try:
        with path.open(encoding=detect_encoding(path), errors="replace", newline=newline) as file:
            yield file
    except OSError as error:
        raise UnreadableDocument(f"{path.name} cannot be read: {error.strerror}.") from error


def decode_file(path: Path) -> str:
    """Return the whole text of a file; see `open_text`."""
    try:
        return decode(path.read_bytes(), path.name)
    except OSError as error:
        raise UnreadableDocument(f"{path.name} cannot be read: {error.strerror}.") from error


def decode(data: bytes, name: str) -> str:
    """Decode the bytes of a text file of this name; raises UnreadableDocument for binary data."""
    encoding = _check_encoding(data[:_SAMPLE_BYTES], name)
    with io.TextIOWrapper(io.BytesIO(data), encoding, errors="replace") as text:
        return text.read()


def detect_encoding(path: Path) -> str:
    """Return the name of the file's encoding; raises UnreadableDocument for binary data."""
    with path.open("rb") as file:
        return _check_encoding(file.read(_SAMPLE_BYTES), path.name)


def _check_encoding(sample: bytes, name: str) -> str:
    encoding = _guess_encoding(sample)
    text = sample.decode(encoding, errors="replace")
    if len(_CONTROL.findall(text)) > max(_MAX_CONTROL * len(text), _FEW_CONTROLS):
        raise UnreadableDocument(f"{name} holds binary data, not text.")
    return encoding


def _guess_encoding(sample: bytes) -> str:
    for bom, name in _BOMS:
        if sample.startswith(bom):
            return name
    if wide := _utf16_without_bom(sample):
        return wide
    bad = _bad_utf8(sample)
    if bad == 0:
        escaped = (name for mark, name in _ESCAPED if sample.isascii() and mark.search(sample))
        return next(escaped, "utf-8")
    if bad <= _MAX_BAD_UTF8 * len(sample) and not sample[:_DETECT_BYTES].isascii():
        return "utf-8"
    declared = _DECLARED.search(sample[:_DETECT_BYTES])
    return likeliest_encoding(sample, declared[1].decode() if declared else "")


def likeliest_encoding(sample: bytes, declared: str = "") -> str:
    """Return the name of the encoding in which some bytes that are not UTF-8 are most like what
    people write: `declared` if they can be that."""
    from ragstone.models.text_likelihood import text_likelihood  # Few files are not UTF-8.

    # ASCII is the same in all of these encodings, so it tells nothing.
    lines = [line for line in sample.splitlines(keepends=True) if not line.isascii()]
    scored = b"".join(lines)[:_SCORED_BYTES]
    if declared and _decode_strictly(sample, declared):
        return declared
    # Scoring takes longer than decoding, so it sees the beginning only.
    texts = {name: _decode_strictly(scored, name) for name in _ENCODINGS}
    possible = [name for name in _ENCODINGS if texts[name]]
    return max(possible or _ENCODINGS[:1], key=lambda name: text_likelihood(texts[name]))


def decode_names(names: Sequence[bytes]) -> list[str]:
    """Decode names that stand together in one place, where several programs may have written them:
    in as few encodings as explain them well."""
    with suppress(UnicodeDecodeError):
        return [name.decode() for name in names]
    from ragstone.models.text_likelihood import text_likelihood  # Few names are not UTF-8.

    def score(name: bytes, encoding: str) -> float:
        text = _decode_strictly(name[:_SCORED_BYTES], encoding)
        return text_likelihood(text) if text else _IMPOSSIBLE

    encodings = ("utf-8", *_ENCODINGS)
    scores = [{item: score(name, item) for item in encodings} for name in names[:_SCORED_NAMES]]
    chosen: list[str] = []
    best = [_IMPOSSIBLE] * len(scores)
    while True:
        gains = {
            item: sum(max(own[item] - known, 0) for own, known in zip(scores, best, strict=True))
            for item in encodings
        }
        found = max(encodings, key=lambda item: gains[item])
        if chosen and gains[found] < _FURTHER_ENCODING:
            break
        chosen.append(found)
        best = [max(own[found], known) for own, known in zip(scores, best, strict=True)]
    return [
        name.decode(max(chosen, key=lambda item: score(name, item)), "replace") for name in names
    ]


def decode_as(data: bytes, encoding: str) -> str:
    """Decode bytes that are said to be in an encoding; where they are not, in the likeliest."""
    try:
        return data.decode(encoding)
    except (LookupError, ValueError):
        return data.decode(likeliest_encoding(data), "replace")


def _decode_strictly(data: bytes, encoding: str) -> str:
    """Return bytes as text, empty if they are none in this encoding; a character that is cut off
    at the end is left out."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data)
    except (UnicodeError, LookupError):
        return ""
    return "" if _NOT_TEXT.search(text) else text


def _bad_utf8(sample: bytes) -> int:
    """Tell how many places are not UTF-8; a character cut off at the end of the sample is fine."""
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
