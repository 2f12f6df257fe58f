"""What a question asks of customers' comments: a topic, a tone, days and values of columns."""

import calendar
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import cache

from ragstone.language.words import STOPWORDS, word_lists
from ragstone.plugins.comments.comments import CommentQuery, CustomerComment, Tone

MAX_CHARACTERS = 500
"""Characters of a question that may ask this; a longer one is about something else."""

_SPACED = r"0-9A-Za-z\u00c0-\u02af\u0370-\u05ff"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTHS = tuple(
    names.split()
    for names in (
        "january jan januar", "february feb februar", "march mar märz", "april apr", "may mai",
        "june jun juni", "july jul juli", "august aug", "september sep sept",
        "october oct oktober okt", "november nov", "december dec dezember dez",
    )
)  # fmt: skip
_MONTH = "|".join(sorted((name for names in _MONTHS for name in names), key=len, reverse=True))
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "ersten": 1, "zweiten": 2}
_ORDINALS |= {"dritten": 3, "vierten": 4, "一": 1, "二": 2, "三": 3, "四": 4}
_DAYS = (
    r"(?P<day>(?:19|20)\d\d-\d\d-\d\d)",
    rf"{_YEAR}[- ]?q(?P<quarter>[1-4])\b",
    rf"\bq(?P<quarter>[1-4])[- /]?{_YEAR}",
    rf"\b(?P<ordinal>{'|'.join(_ORDINALS)}) ?(?:quarter|quartal)(?: of| von)? {_YEAR}",
    rf"{_YEAR}年?第?(?P<ordinal>[一二三四])季度",
    rf"{_YEAR}年(?P<number>1[0-2]|0?[1-9])月",
    rf"{_YEAR}-(?P<number>1[0-2]|0[1-9])\b",
    rf"\b(?P<month>{_MONTH})\.? {_YEAR}",
    rf"(?<!\d){_YEAR}(?!\d)年?",
)
_BOUNDS = {
    "since": re.compile(r"(?:\b(?:since|seit|ab)|自从?)\s*$"),
    "until": re.compile(r"(?:\b(?:until|till|bis)|截至|到|至)\s*$"),
    "after": re.compile(r"\b(?:after|nach)\s*$"),
    "before": re.compile(r"\b(?:before|vor)\s*$"),
}

_ASKED: Mapping[str, tuple[str, ...]] = {
    "speaker": ("says", "complains", "praises"),
    "written": ("says", "count", "themes", "about"),
}
"""What a question is sure to be about if it has both: customers that say something, or what they
wrote and that its contents are asked for."""

_ASKING = (
    "count",
    "asks",
    "speaker",
    "written",
    "says",
    "complains",
    "praises",
    "themes",
    "silent",
)
"""Lists of words that ask, and are no topic."""

_ABOUT = re.compile(r"\b(?:about|on|mention\w*|über|zu|zum|zur)\b|关于|提到")


def asks_of_comments(question: str) -> bool:
    """Tell whether a question's words say that it is about what customers say."""
    text = _normal(question)
    if len(text) > MAX_CHARACTERS or not _has(text, "asks", "count", "themes"):
        return False
    if _has(text, "speaker") and _has(text, *_ASKED["speaker"]):
        return True
    others = _ASKED["written"][:-1]
    return _has(text, "written") and (_has(text, *others) or bool(_ABOUT.search(text)))


def read_query(question: str, comments: Sequence[CustomerComment]) -> CommentQuery:
    """Return what is asked of these comments: values of their columns and days that it names, a
    tone, and what is left of its words as the topic."""
    text = _normal(question)
    text, labels = _labels(text, comments)
    text, since, until = _days(text)
    return CommentQuery(_topic(text), _tone(text), since, until, labels)


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().replace("’", "'").split())


@cache
def _pattern(*names: str) -> re.Pattern[str]:
    lists = word_lists("plugins.comments", "comments")
    listed = sorted((items for name in names for items in lists[name]), key=len, reverse=True)
    spaced = [re.escape(item) for item in listed if re.match(rf"[{_SPACED}]", item)]
    joined = [re.escape(item) for item in listed if not re.match(rf"[{_SPACED}]", item)]
    apart = rf"(?<![{_SPACED}])(?:{'|'.join(spaced)})(?![{_SPACED}])" if spaced else ""
    return re.compile("|".join(filter(None, (apart, *joined))))


def _has(text: str, *names: str) -> bool:
    return any(_pattern(name).search(text) for name in names)


def _tone(text: str) -> Tone | None:
    bad, good = _has(text, "complains"), _has(text, "praises")
    return None if bad == good else "negative" if bad else "positive"


def _topic(text: str) -> str:
    """Return the words that are left when those are gone that only ask."""
    text = _pattern(*_ASKING).sub(" ", text)
    kept = [item for item in re.findall(r"[^\W_]+(?:[-'][^\W_]+)*", text) if item not in STOPWORDS]
    return " ".join(kept)


def _labels(text: str, comments: Iterable[CustomerComment]) -> tuple[str, Mapping[str, str]]:
    """The text without the values of columns that it names, and these; the longest of a column."""
    values = {(name, cell) for comment in comments for name, cell in comment.labels.items()}
    found: dict[str, str] = {}
    for name, cell in sorted(values, key=lambda item: (-len(item[1]), item)):
        plain = re.escape(_normal(cell))
        match = re.search(rf"(?<![{_SPACED}]){plain}(?![{_SPACED}])", text)
        if match and name not in found and len(plain) > 1:
            found[name] = cell
            text = f"{text[: match.start()]} {text[match.end() :]}"
    return text, found


def _days(text: str) -> tuple[str, str, str]:
    """Return the text without the days that it names, and the first and the last of these."""
    spans: list[tuple[date, date, str]] = []
    for pattern in _DAYS:
        while match := re.search(pattern, text):
            span = _span({name: cell for name, cell in match.groupdict().items() if cell})
            before = text[: match.start()]
            if span is None:
                text = f"{before} {text[match.end() :]}"
                continue
            how = next((name for name, item in _BOUNDS.items() if item.search(before)), "")
            before = _BOUNDS[how].sub("", before) if how else before
            spans.append((*span, how))
            text = f"{before} {text[match.end() :]}"
    if not spans:
        return text, "", ""
    first, last = min(item[0] for item in spans), max(item[1] for item in spans)
    match spans[0][2] if len(spans) == 1 else "":
        case "since":
            return text, first.isoformat(), ""
        case "after":
            return text, (last + timedelta(days=1)).isoformat(), ""
        case "until":
            return text, "", last.isoformat()
        case "before":
            return text, "", (first - timedelta(days=1)).isoformat()
    return text, first.isoformat(), last.isoformat()


def _span(said: Mapping[str, str]) -> tuple[date, date] | None:
    """Return the first and the last day of a year, quarter, month or day; None for what is none."""
    try:
        if "day" in said:
            day = date.fromisoformat(said["day"])
            return day, day
        year = int(said["year"])
        if number := int(said.get("quarter", 0)) or _ORDINALS.get(said.get("ordinal", ""), 0):
            return date(year, 3 * number - 2, 1), _end(year, 3 * number)
        month = int(said.get("number", 0))
        if name := said.get("month", ""):
            month = next(at for at, names in enumerate(_MONTHS, 1) if name in names)
        return (
            (date(year, month, 1), _end(year, month))
            if month
            else (date(year, 1, 1), date(year, 12, 31))
        )
    except ValueError:
        return None


def _end(year: int, month: int) -> date:
    return date(year, month, calendar.monthrange(year, month)[1])
