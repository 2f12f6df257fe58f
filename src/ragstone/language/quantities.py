"""The numbers and months that a text states, in one form for several languages.

`1,000`, `1.000`, `1 000`, `1000`, `one thousand` and `一千` are the same number. Whether `1.000` is
a thousand or one is told by the language of the text; it is read as both where that is unclear. A
month is told from a number: `May 3`, `3. Mai` and `5月3日` state the month 5 and the number 3. Two
weeks are 14 days, and 1.5 km are 1,500 m. The number of a heading (`2.2 Parental leave`) is none.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ragstone.language.language import detect
from ragstone.language.words import word_lists

_TOKEN = re.compile(
    r"(?P<iso>\b\d{4}-\d{2}-\d{2}\b)"
    r"|(?P<digits>(?<!\d)\d{1,3}(?:[,.'’ ]\d{3})+(?!\d)(?:[.,]\d+)?"
    r"|(?<!\d)\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?|\d+(?:[.,]\d+)?)"
    r"|(?P<chinese>[零〇一二三四五六七八九十百千万萬亿億两兩]+)"
    r"|(?P<sign>[%$€£¥₩元円원만억천]|小时|小時|時間|分钟|分鐘|分間|天|日間|週間|周|週"
    r"|[个個か]月|ヶ月|개월|시간|주일)"
    r"|(?P<word>[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)"
)
_GROUPS = re.compile(r"[,.'’ ](?=\d{3}(?!\d))")
_LAKH = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")
_AMBIGUOUS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}[.,]\d{3}(?![\d.,]*\d)")
"""A number that is read in two ways: as a thousand and more, or with three decimals."""

_HEADING = re.compile(
    r"^[ \t#*]*(?:§ ?)?\d{1,3}(?:\.\d{1,2})+\.?[ \t]+(?P<first>[^\W\d_]+)[^\n.!?。！？]{0,100}$",
    re.MULTILINE,
)
"""A line that is a numbered heading: it begins with a section's number and does not end as a
sentence does."""

_COMMA_DECIMAL = (
    "de fr es it pt nl sv da nb no nn fi pl cs sk sl hr sr ro bg ru uk tr el hu id vi lt lv et"
)
COMMA_DECIMAL = frozenset(_COMMA_DECIMAL.split())
COMMA_GROUPS = frozenset(("en", "zh", "ja", "ko", "th", "hi", "he", "ar", "ur", "bn", "ta", "te"))
"""Languages that write decimals after a comma, and those that group thousands by it."""
_NARROW = str.maketrans("\u00a0\u202f\u2009", "’’’")
"""Spaces inside a number, which normalising would make plain ones."""

_SCALES = {"万": 1e4, "萬": 1e4, "만": 1e4, "亿": 1e8, "億": 1e8, "억": 1e8, "千": 1e3, "천": 1e3}
_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_MONTH_SIGN = re.compile(r"\s?[月월]")
_GERMAN = re.compile(r"(?P<ones>[a-zäöüß]+)und(?P<tens>[a-zäöüß]+(?:zig|ßig))")
MAX_QUANTITIES = 200
"""Quantities of one sentence that are looked at."""

MAX_COUNT = 10
"""A number in words up to this may be the count of what a text lists."""

MIN_ROUNDED, ROUNDING = 9999, 0.005
"""From where a number is not a year, and may be rounded; the share by which it may then differ."""


_TIME, _CALENDAR, _LENGTH, _MASS, _DATA = "time", "calendar", "length", "mass", "data"
MEASURES: dict[str, tuple[str, float]] = {
    "second": (_TIME, 1),
    "minute": (_TIME, 60),
    "hour": (_TIME, 3_600),
    "day": (_TIME, 86_400),
    "week": (_TIME, 604_800),
    "months": (_CALENDAR, 1),
    "year": (_CALENDAR, 12),
    "mm": (_LENGTH, 1),
    "cm": (_LENGTH, 10),
    "metre": (_LENGTH, 1_000),
    "km": (_LENGTH, 1_000_000),
    "gram": (_MASS, 1),
    "kg": (_MASS, 1_000),
    "tonne": (_MASS, 1_000_000),
    "kb": (_DATA, 1),
    "mb": (_DATA, 1_000),
    "gb": (_DATA, 1_000_000),
    "tb": (_DATA, 1_000_000_000),
}
"""What a unit measures, and how many of its least unit it is."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or month: every value that its spelling may have, and its unit (`%`, a currency, one
    of MEASURES, `month` for the name of one, or nothing). `counted` is a small number in words, as
    who counts would write it."""

    values: frozenset[float]
    unit: str = ""
    counted: bool = False


def quantities(text: str) -> list[Quantity]:
    """Find every quantity of `text`, in order. A lone "one" in words is none."""
    found: list[Quantity] = []
    # The number of a heading ("2.2 Parental leave") is no quantity.
    plain = _HEADING.sub(
        _strip_heading_number, unicodedata.normalize("NFKC", text.translate(_NARROW))
    )
    tokens = [
        token for token in _TOKEN.finditer(plain) if not token["word"] or _is_quantity_word(token)
    ]
    language = detect(plain) if _AMBIGUOUS.search(plain) else ""
    position = 0
    while position < len(tokens) and len(found) < MAX_QUANTITIES:
        several, position = _read_quantities(tokens, position, language)
        found += several
    return found


def _strip_heading_number(heading: re.Match[str]) -> str:
    """Return a numbered heading without its number; a line that begins with an amount as it is."""
    word = heading["first"]
    amount = not word[0].isupper() or word.casefold() in _words()
    return (
        heading.group() if amount else heading.group()[heading.start("first") - heading.start() :]
    )


def is_month(word: str) -> bool:
    """Whether a casefolded word may name a month."""
    return word in _months()


def states(source: Sequence[Quantity], quantity: Quantity) -> bool:
    """Tell whether `source` states a quantity, in the same unit or in none."""
    return any(
        _comparable(quantity.unit, other.unit) and _is_same(quantity, other) for other in source
    )


def _is_same(one: Quantity, other: Quantity) -> bool:
    mine, theirs = _common_values(one, other)
    # Only large numbers are rounded: 2019 and 2024 are two years, though near to each other.
    rounded = any(value > MIN_ROUNDED for value in mine) and any(
        _is_rounded(a, b) for a in mine for b in theirs
    )
    return rounded or not mine.isdisjoint(theirs)


def _comparable(unit: str, other: str) -> bool:
    if "month" in (unit, other):
        return unit == other
    return not (unit and other) or _measure(unit)[0] == _measure(other)[0]


def _measure(unit: str) -> tuple[str, float]:
    """Return what a unit measures, and how many of the least of its kind it is."""
    return MEASURES.get(unit, (unit, 1.0))


def _common_values(one: Quantity, other: Quantity) -> tuple[frozenset[float], frozenset[float]]:
    """Return the values of both in one unit, where both have one."""
    if not (one.unit and other.unit) or one.unit == other.unit:
        return one.values, other.values
    mine, theirs = (
        frozenset(round(value * _measure(q.unit)[1], 6) for value in q.values) for q in (one, other)
    )
    return mine, theirs


def _is_rounded(claimed: float, stated: float) -> bool:
    """Whether the first is the second with fewer digits, where it is large enough to be no year."""
    near = min(claimed, stated) > MIN_ROUNDED and abs(claimed - stated) <= ROUNDING * max(
        claimed, stated
    )
    return near and _digits(claimed) < _digits(stated)


def _digits(value: float) -> int:
    """Tell how many digits of a number tell something."""
    return len(f"{value:.12g}".split("e")[0].replace(".", "").strip("0"))


def _read_quantities(
    tokens: list[re.Match[str]], position: int, language: str
) -> tuple[list[Quantity], int]:
    """Return what the token at `position` states, and where the next one stands."""
    token = tokens[position]
    if token["iso"]:
        year, month, day = (float(part) for part in token["iso"].split("-"))
        return [
            Quantity(frozenset((year,))),
            Quantity(frozenset((month,)), "month"),
            Quantity(frozenset((day,))),
        ], position + 1
    if token["digits"]:
        return _read_scale(tokens, position, _values(token["digits"], language))
    if token["chinese"]:
        return _read_chinese(token, position)
    if token["word"]:
        return _read_spelt_quantity(tokens, position)
    return [], position + 1


def _values(digits: str, language: str) -> frozenset[float]:
    """Return the readings of `1,000`: a thousand, and one, unless the language tells which."""
    if _LAKH.fullmatch(digits):
        return frozenset((float(digits.replace(",", "")),))
    grouped = _number(_GROUPS.sub("", digits).replace(",", "."))
    decimal = _number(digits.replace(",", "."))
    if _AMBIGUOUS.fullmatch(digits):
        groups = "," in digits if language in COMMA_GROUPS else "." in digits
        if language in COMMA_GROUPS or language in COMMA_DECIMAL:
            return frozenset(v for v in (grouped if groups else decimal,) if v is not None)
    return frozenset(value for value in (grouped, decimal) if value is not None)


def _number(digits: str) -> float | None:
    try:
        return float(digits)
    except ValueError:
        return None


def _read_scale(
    tokens: list[re.Match[str]], position: int, values: frozenset[float]
) -> tuple[list[Quantity], int]:
    """Return a number with the scale and unit around it."""
    token = tokens[position]
    text, end = token.string, token.end()
    before = text[max(0, token.start() - 2) : token.start()].strip()[-1:]
    unit = before if before in "$€£¥₩" else ""
    if _MONTH_SIGN.match(text, end) and not unit and text[end : end + 2] != "월간":
        return [Quantity(values, "month")], position + 1
    position += 1
    if position < len(tokens) and tokens[position].start() - end <= 1:
        scale = _scale(tokens[position].group())
        if scale:
            values = frozenset(value * scale for value in values)
            end = tokens[position].end()
            position += 1
            values, end, position = _add_lesser_scales(tokens, position, values, end, scale)
    if position < len(tokens) and tokens[position].start() - end <= 1:
        unit = _units().get(tokens[position].group().casefold(), unit)
    return [Quantity(values, unit)], position


def _add_lesser_scales(
    tokens: list[re.Match[str]], position: int, values: frozenset[float], end: int, scale: float
) -> tuple[frozenset[float], int, int]:
    """Return the number with what follows at once in a lesser scale: 1億2000万 is 120 million."""
    while (
        position + 1 < len(tokens)
        and tokens[position]["digits"]
        and tokens[position].start()
        == end
        == tokens[position + 1].start() - len(tokens[position].group())
        and 0 < (less := _SCALES.get(tokens[position + 1].group()[:1], 0.0)) < scale
    ):
        rest = _values(tokens[position]["digits"], "zh")
        values = frozenset(value + less * more for value in values for more in rest)
        end, scale, position = tokens[position + 1].end(), less, position + 2
    return values, end, position


def _scale(word: str) -> float:
    return _SCALES.get(word[:1], 0.0) or _scales().get(word.casefold(), 0.0)


def _read_spelt_quantity(tokens: list[re.Match[str]], position: int) -> tuple[list[Quantity], int]:
    word = tokens[position].group().casefold()
    month = _months().get(word)
    if month and (_is_certain_month(tokens[position]) or _is_near_digits(tokens, position)):
        return [Quantity(frozenset((month,)), "month")], position + 1
    value = _number_value(word)
    if value is None:
        return [], position + 1
    while position + 1 < len(tokens):
        further = _number_value(tokens[position + 1].group().casefold())
        gap = tokens[position].string[tokens[position].end() : tokens[position + 1].start()]
        if further is None or gap not in (" ", "-") or not 0 < further < 10 <= value < 100:
            break
        value += further
        position += 1
    # "One" is an article too, unless a scale follows: "one million".
    if value == 1 and not (position + 1 < len(tokens) and _scale(tokens[position + 1].group())):
        return [], position + 1
    found, after = _read_scale(tokens, position, frozenset((value,)))
    if value <= MAX_COUNT and after == position + 1 and not found[0].unit:
        return [Quantity(found[0].values, counted=True)], after
    return found, after


def _is_certain_month(token: re.Match[str]) -> bool:
    """Tell whether a word that may be a month is nothing else: "may" is, inside a sentence, if it
    has a capital."""
    word = token.group()
    if word.casefold() in ("may", "march", "august"):
        return word[0].isupper() and token.start() > 0
    return len(word) > 3 and word.casefold() != "mars"


def _is_near_digits(tokens: list[re.Match[str]], position: int) -> bool:
    """Tell whether a number stands next to a word that is a month only then: may, mar, dec."""
    token = tokens[position]
    near = tokens[max(0, position - 1) : position + 2]
    close = [t for t in near if t.start() - token.end() <= 3 and token.start() - t.end() <= 3]
    return any(token["digits"] for token in close)


def _number_value(word: str) -> float | None:
    value = _load_number_words().get(word)
    if value is not None:
        return value
    compound = _GERMAN.fullmatch(word)
    if compound:
        ones = 1.0 if compound["ones"] == "ein" else _load_number_words().get(compound["ones"])
        tens = _load_number_words().get(compound["tens"])
        return ones + tens if ones is not None and tens is not None else None
    return None


def _read_chinese(token: re.Match[str], position: int) -> tuple[list[Quantity], int]:
    """A Chinese or Japanese number; a lone sign is one only before 月, as it is a word too."""
    signs, text = token.group(), token.string
    value = _chinese_value(signs)
    if _MONTH_SIGN.match(text, token.end()) and 1 <= value <= 12:
        return [Quantity(frozenset((value,)), "month")], position + 1
    if len(signs) == 1 and not 2 <= value <= 10:
        return [], position + 1
    return [Quantity(frozenset((value,)), counted=len(signs) == 1)], position + 1


def _chinese_value(signs: str) -> float:
    if all(sign in _DIGITS for sign in signs):
        # Years are written by digits: 二〇二四. More than 300 of them would be infinite.
        return float("".join(str(_DIGITS[sign]) for sign in signs[:300]))
    total = part = digit = 0.0
    for sign in signs:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        elif sign in _PLACES:
            part += (digit or 1) * _PLACES[sign]
            digit = 0
        else:
            total = (total + part + digit or 1) * _SCALES[sign]
            part = digit = 0
    return total + part + digit


def _is_quantity_word(token: re.Match[str]) -> bool:
    """Tell whether a word may be a number, a scale, a month or a unit."""
    word = token.group().casefold()
    return word in _words() or word.endswith(("zig", "ßig"))


@cache
def _words() -> frozenset[str]:
    return frozenset((*_load_number_words(), *_scales(), *_months(), *_units()))


@cache
def _load_number_words() -> dict[str, float]:
    return {word: float(name) for name, word in _list_entries("number")}


@cache
def _scales() -> dict[str, float]:
    return {word: float(name) for name, word in _list_entries("scale")}


@cache
def _months() -> dict[str, float]:
    return {word: float(name) for name, word in _list_entries("month")}


@cache
def _units() -> dict[str, str]:
    return {word: name for name, word in _list_entries("unit")}


def _list_entries(kind: str) -> Iterator[tuple[str, str]]:
    for name, listed in word_lists("language", "quantities").items():
        first, _, rest = name.partition(" ")
        if first == kind:
            yield from ((rest, word) for word in listed)
