"""The plain text of a mail: what is new, what is quoted, the signature."""

import re
from collections.abc import Iterator
from itertools import groupby

from ragstone.ingest.document import Block

_MARK = re.compile(r"^(?:>[ \t]?)+")
_WROTE = (
    "wrote|writes|schrieb|geschrieben|a écrit|escribió|escreveu|ha scritto|schreef|skrev|kirjoitti|"
    r"napisał(?:\(a\))?|написала?|пишет"
)
_ATTRIBUTION = re.compile(
    rf"(?:^|\n)[^\n]{{0,300}}(?:\n[^\n]{{0,120}})?\b(?:{_WROTE})\b[^\n]{{0,80}}[:：]\s*$",
    re.IGNORECASE,
)
_DIVIDER = re.compile(
    r"^\s*(?:-{2,}|_{5,})\s*(?:original message|forwarded message|begin forwarded message|"
    r"ursprüngliche nachricht|weitergeleitete nachricht|message d'origine|message transféré|"
    r"mensaje original|mensaje reenviado|messaggio originale|oorspronkelijk bericht|"
    r"original appointment)\s*-*\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_FROM = re.compile(
    r"^\*?(?:from|von|de|da|van|från|fra|od|от|发件人|差出人)\*?\s*[:：]", re.IGNORECASE
)
_SENT = re.compile(
    r"^\*?(?:sent|date|subject|gesendet|datum|betreff|envoyé|objet|enviado|fecha|asunto|inviato|"
    r"oggetto|verzonden|onderwerp|skickat|ämne|发送时间|主题|送信日時|件名)\*?\s*[:：]",
    re.IGNORECASE,
)
_HEAD_LINES = 5
_ITEM = re.compile(r"^\s*(?:(?P<bullet>[-*•·–])|(?P<number>\(?(?:\d{1,3}|[a-z])[.)]))\s+(?=\S)")
_WRAPPED_FROM = 56
"""A line of so many characters is one that a mail program broke, not its writer."""


def is_earlier_mail(text: str) -> bool:
    """Tell whether a line or paragraph introduces a mail that is quoted below it."""
    lines = text.strip().split("\n")
    return (
        bool(_DIVIDER.search(text) or _ATTRIBUTION.search(text.strip()))
        or (len(lines) > 1 and _is_head(lines, 0))
    )  # fmt: skip


def plain_blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a mail's plain text."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").split("\n")
    own, earlier = _separate_quoted_mail(lines)
    own, signature = _separate_signature(own)
    yield from _separate_quotes(own)
    if said := "\n".join(signature).strip():
        yield Block(said, label="signature")
    for part in _paragraphs([_MARK.sub("", line) for line in earlier]):
        yield Block(_unwrap_lines(part), "quote")


def _separate_quoted_mail(lines: list[str]) -> tuple[list[str], list[str]]:
    """Where an earlier mail is quoted whole, without marks: what is above it, and the rest."""
    for number, line in enumerate(lines):
        if _DIVIDER.match(line) or (number and _is_head(lines, number)):
            return lines[:number], lines[number:]
    return lines, []


def _is_head(lines: list[str], number: int) -> bool:
    if not _FROM.match(lines[number].strip()):
        return False
    below = lines[number + 1 : number + 1 + _HEAD_LINES]
    return sum(bool(_SENT.match(line.strip())) for line in below) >= 2


def _separate_signature(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return what is above the signature, and the signature, up to what is quoted below it."""
    for number, line in enumerate(lines):
        if line in ("-- ", "--"):
            end = next(
                (at for at in range(number, len(lines)) if lines[at].startswith(">")), len(lines)
            )
            return [*lines[:number], "", *lines[end:]], lines[number + 1 : end]
    return lines, []


def _separate_quotes(lines: list[str]) -> Iterator[Block]:
    """Yield quoted lines without their marks, and between them what is new."""
    groups = [(quoted, list(found)) for quoted, found in groupby(lines, lambda x: x[:1] == ">")]
    for place, (quoted, found) in enumerate(groups):
        followed = place + 1 < len(groups)
        for part in _paragraphs([_MARK.sub("", line) for line in found] if quoted else found):
            if quoted:
                depth = max(len(_MARK.match(found[0])[0].replace(" ", "")), 1)  # type: ignore[index]
                yield Block(_unwrap_lines(part), "quote", depth)
            elif followed and _ATTRIBUTION.search("\n".join(part).strip()):
                yield Block(" ".join(" ".join(part).split()), "quote", 1)
            else:
                yield from _new(part)


def _new(lines: list[str]) -> Iterator[Block]:
    """Yield a paragraph, or the items of a list with what stands before them."""
    held: list[str] = []
    label = ""
    for line in lines:
        match = _ITEM.match(line)
        if not match:
            held.append(line)
            continue
        yield from _part(held, label)
        label = "-" if match["bullet"] else match["number"]
        held = [line[match.end() :]]
    yield from _part(held, label)


def _part(lines: list[str], label: str) -> Iterator[Block]:
    text = _unwrap_lines(lines)
    if text and label:
        yield Block(f"{label} {text}", "item", 1, label=label)
    elif text:
        yield Block(text)


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    for filled, part in groupby(lines, lambda line: bool(line.strip())):
        if filled:
            yield list(part)


def _unwrap_lines(lines: list[str]) -> str:
    """Return the lines as one text: those that a program broke go on, those of the writer stay."""
    parts: list[str] = []
    for place, line in enumerate(lines):
        plain = line.rstrip()
        last = place == len(lines) - 1
        flowed = line.endswith(" ") and len(plain) > _WRAPPED_FROM // 2
        wrapped = flowed or len(plain) >= _WRAPPED_FROM
        parts.append(plain.strip() + ("" if last else " " if wrapped else "\n"))
    return "".join(parts).strip()
