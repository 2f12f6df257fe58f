"""Numbers, dates and units in one spelling, so that equal ones are equal words."""

import re

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_LARGE = "twenty thirty forty fifty sixty seventy eighty ninety"
_NTH = "first - third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_NAMES = "january february march april may june july august september october november december"

_DIGITS = {word: number for number, word in enumerate(_SMALL.split())}
_TENS = {word: 10 * number for number, word in enumerate(_LARGE.split(), start=2)}
_ORDINALS = {word: number for number, word in enumerate(_NTH.split(), start=1)}
"""Without "second", which is a time too."""
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_SHORT_SCALES = {"k": 1000, "m": 10**6, "mn": 10**6, "bn": 10**9}
_MONTHS = _NAMES.split()
_MONTH = {name: i for i, name in enumerate(_MONTHS, start=1)} | {
    name[:3]: i for i, name in enumerate(_MONTHS, start=1) if name != "may"
}
_UNITS = {
    "km": "kilometer",
    "kilometre": "kilometer",
    "cm": "centimeter",
    "centimetre": "centimeter",
    "mm": "millimeter",
    "millimetre": "millimeter",
    "metre": "meter",
    "kg": "kilogram",
    "kgs": "kilogram",
    "kilo": "kilogram",
    "mg": "milligram",
    "lb": "pound",
    "lbs": "pound",
    "oz": "ounce",
    "hr": "hour",
    "hrs": "hour",
    "min": "minute",
    "mins": "minute",
    "sec": "second",
    "secs": "second",
    "yr": "year",
    "yrs": "year",
    "mph": "mph",
    "ft": "foot",
    "feet": "foot",
    "%": "percent",
    "percentage": "percent",
    "$": "dollar",
    "usd": "dollar",
    "€": "euro",
    "eur": "euro",
    "£": "gbp",
    "gb": "gigabyte",
    "mb": "megabyte",
    "tb": "terabyte",
    "kb": "kilobyte",
    "litre": "liter",
}
_GROUPED = re.compile(r"^\d{1,3}(?:,\d{3})+(?:\.\d+)?$")
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_NAMED = "|".join(sorted(_MONTH, key=len, reverse=True))
_DAY_FIRST = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_NAMED})\.?,? (\d{{4}})\b", re.IGNORECASE
)
_MONTH_FIRST = re.compile(
    rf"\b({_NAMED})\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b", re.IGNORECASE
)


def with_plain_dates(text: str) -> str:
    """Whole dates as `2024x1x5`, one word whatever their spelling was."""
    text = _ISO.sub(lambda m: _date(m[1], m[2], m[3]), text)
    text = _DAY_FIRST.sub(lambda m: _date(m[3], str(_MONTH[m[2].casefold()]), m[1]), text)
    return _MONTH_FIRST.sub(lambda m: _date(m[3], str(_MONTH[m[1].casefold()]), m[2]), text)


def _date(year: str, month: str, day: str) -> str:
    return f"{int(year)}x{int(month)}x{int(day)}"


def with_plain_numbers(words: list[str]) -> list[str]:
    """The words with spelt numbers as digits, and units and months in one spelling each."""
    plain: list[str] = []
    position = 0
    while position < len(words):
        number, position = _number(words, position)
        if number is None:
            plain.append(_unit(words[position]))
            position += 1
        else:
            plain.append(number)
    return plain


def _unit(word: str) -> str:
    if word in _MONTH:
        return _MONTHS[_MONTH[word] - 1]
    return _UNITS.get(word, word)


def _number(words: list[str], position: int) -> tuple[str | None, int]:
    """The number that begins at `position`, if one does, and where what follows begins."""
    word = words[position]
    if word in _ORDINALS:
        return str(_ORDINALS[word]), position + 1
    if _GROUPED.match(word) or (word.isascii() and word[:1].isdigit() and _is_number(word)):
        return _scaled(float(word.replace(",", "")), words, position + 1)
    if word in _TENS or word in _DIGITS:
        value = _TENS.get(word, 0) or _DIGITS.get(word, 0)
        following = words[position + 1] if position + 1 < len(words) else ""
        if word in _TENS and 0 < _DIGITS.get(following, 0) < 10:
            return _scaled(float(value + _DIGITS[following]), words, position + 2)
        return _scaled(float(value), words, position + 1)
    return None, position


def _scaled(value: float, words: list[str], position: int) -> tuple[str, int]:
    while position < len(words):
        scale = _SCALES.get(words[position]) or _SHORT_SCALES.get(words[position])
        if scale is None:
            break
        value *= scale
        position += 1
    return f"{value:.12g}", position


def _is_number(word: str) -> bool:
    try:
        float(word.replace(",", ""))
    except ValueError:
        return False
    return len(word) < 300
