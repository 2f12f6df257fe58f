"""Values of spreadsheet cells as their number format shows them, but dates as ISO dates."""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

_ERRORS = {"#N/A", "#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#NULL!", "#NUM!"}
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]|(?P<bracket>\[[^\]]*\])'
    r"|(?P<skipped>[_*].)|(?P<digits>[0#?](?:[0#?,.]*[0#?])?,*|\.[0#?]+)|(?P<exponent>[Ee][+-][0#]+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_SECTION = re.compile(r'((?:"[^"]*"|\\.|\[[^\]]*\]|[^;"\\\[])*)(?:;|$)')
Number = int | float | Decimal
_MAX_WHOLE = 1e15
_MAX_DECIMALS = 15


@dataclass(frozen=True, slots=True)
class _Pattern:
    """How a section of a format shows a number."""

    before: str
    after: str
    whole_digits: int = 0
    least: int = 0
    most: int = 0
    thousands: bool = False
    power: int = 0
    """The value is shown times ten to this power."""
    general: bool = False
    words: bool = False
    """The section is words alone, such as "-" for nothing."""


def format_cell(value: Any, number_format: str = "General") -> str:
    """The text of a cell. Empty cells and errors are "", durations hours and minutes."""
    if value is None:
        return ""
    if isinstance(value, str):
        return "" if value in _ERRORS else value
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float | Decimal):
        return _number(value, number_format)
    return _moment(value, number_format)


def _number(value: Number, number_format: str) -> str:
    sections = _sections(number_format or "General")
    negative = value < 0
    signed = negative
    if negative and len(sections) > 1:
        pattern, signed = sections[1], False
    elif value == 0 and len(sections) > 2:
        pattern = sections[2]
    else:
        pattern = sections[0]
    text = _digits(-value if negative else value, pattern)
    return " ".join(f"{'-' if signed else ''}{pattern.before}{text}{pattern.after}".split())


def _digits(value: Number, pattern: _Pattern) -> str:
    if pattern.words:
        return ""
    if pattern.general:
        return _general(value)
    try:
        scaled = Decimal(repr(value) if isinstance(value, float) else value).scaleb(pattern.power)
        rounded = scaled.quantize(Decimal(1).scaleb(-pattern.most), ROUND_HALF_UP)
    except (InvalidOperation, ValueError):
        return _general(value)
    text = f"{rounded:,f}" if pattern.thousands else f"{rounded:f}"
    whole, _, decimals = text.partition(".")
    while len(decimals) > pattern.least and decimals.endswith("0"):
        decimals = decimals[:-1]
    whole = whole.rjust(pattern.whole_digits, "0")
    return f"{whole}.{decimals}" if decimals else whole


def _general(value: Number) -> str:
    if isinstance(value, int) or (-_MAX_WHOLE < value < _MAX_WHOLE and value == int(value)):
        return str(int(value))
    return f"{value:.12g}"


@lru_cache(maxsize=2000)
def _sections(number_format: str) -> tuple[_Pattern, ...]:
    texts = [match[1] for match in _SECTION.finditer(number_format)]
    return tuple(_pattern(text) for text in texts[:3] if text or len(texts) < 2) or (
        _Pattern("", "", general=True),
    )


def _pattern(section: str) -> _Pattern:
    """The pattern of one section; formats of several numbers (fractions) show it as it is."""
    literals, digits, exponent = ["", ""], [], False
    for match in _TOKEN.finditer(section):
        kind = match.lastgroup or ""
        if kind == "digits":
            digits.append(match[0])
        elif kind == "exponent":
            exponent = True
        elif kind in ("quoted", "escaped", "currency", "other"):
            literals[bool(digits)] += match[kind]
        elif kind == "skipped":
            literals[bool(digits)] += " " if match[0][0] == "_" else ""
    before, after = literals
    plain = "General" in section or "@" in section
    if before.strip() and not (plain or digits or exponent):
        return _Pattern(before, "", words=True)
    if "General" in section or exponent or len(digits) != 1 or "@" in section:
        plain = "General" in section
        rest = before.partition("General") if plain else ("", "", "")
        return _Pattern(rest[0], rest[2] + (after if plain else ""), general=True)
    whole, _, decimals = digits[0].partition(".")
    shift = len(digits[0]) - len(digits[0].rstrip(","))
    decimals = decimals.rstrip(",")[:_MAX_DECIMALS]
    return _Pattern(
        before,
        after,
        whole_digits=whole.count("0"),
        least=decimals.count("0"),
        most=len(decimals),
        thousands="," in whole.rstrip(","),
        power=2 * (before + after).count("%") - 3 * shift,
    )


def _moment(value: Any, number_format: str) -> str:
    parts = _moment_parts(number_format or "")
    if isinstance(value, datetime):
        if "d" not in parts and "y" in parts and not parts & {"h", "s"}:
            return value.strftime("%Y-%m")
        if value.time() == time() or ("h" not in parts and parts & {"d", "y"}):
            return value.date().isoformat()
        return f"{value.date().isoformat()} {_clock(value.time())}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return _clock(value)
    if isinstance(value, timedelta):
        return _duration(value)
    return str(value)


@lru_cache(maxsize=2000)
def _moment_parts(number_format: str) -> frozenset[str]:
    plain = re.sub(r'"[^"]*"|\\.|\[\$[^\]]*\]', "", number_format.partition(";")[0]).lower()
    return frozenset(plain) & {"d", "m", "y", "h", "s"}


def _clock(value: time) -> str:
    return value.strftime("%H:%M:%S" if value.second else "%H:%M")


def _duration(value: timedelta) -> str:
    seconds = round(abs(value.total_seconds()))
    sign = "-" if value < timedelta() else ""
    hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{sign}{hours}:{minutes:02}" + (f":{rest:02}" if rest else "")
