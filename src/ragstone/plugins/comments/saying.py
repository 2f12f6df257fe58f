"""What was counted, as one sentence in the language of the question."""

import calendar
from collections.abc import Mapping
from datetime import date

from ragstone.plugins.comments.comments import CommentQuery, ToneCounts
from ragstone.plugins.comments.counting import CountedComments
from ragstone.plugins.comments.themes import Theme

NAMED_THEMES = 5
"""Themes that a sentence names at most."""

_TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "about_0": "None of {all} comments{which} speaks of “{topic}”",
        "about_1": "1 of {all} comments{which} speaks of “{topic}”{mostly}: {tones}",
        "about": "{n} of {all} comments{which} speak of “{topic}”{mostly}: {tones}",
        "tone_0": "None of {all} comments{which} is {tone}",
        "tone_1": "1 of {all} comments{which} is {tone}",
        "tone": "{n} of {all} comments{which} are {tone}",
        "every": "There are {all} comments{which}{mostly}: {tones}",
        "none": "There are no comments{which}",
        "themes": "; the most frequent themes are {themes}",
        "theme": "“{name}” ({n}{mostly})",
        "mostly": ", mostly {tone}",
        "negative": "negative", "neutral": "neutral", "positive": "positive",
        "unknown": "of unknown sentiment", "count": "{n} {tone}", "where": "{name}: {value}",
        "since": "since {day}", "until": "until {day}", "days": "{since} to {until}",
        "end": ".", "comma": ", ", "open": " (", "close": ")",
    },
    "de": {
        "about_0": "Keiner von {all} Kommentaren{which} spricht von „{topic}“",
        "about_1": "1 von {all} Kommentaren{which} spricht von „{topic}“{mostly}: {tones}",
        "about": "{n} von {all} Kommentaren{which} sprechen von „{topic}“{mostly}: {tones}",
        "tone_0": "Keiner von {all} Kommentaren{which} ist {tone}",
        "tone_1": "1 von {all} Kommentaren{which} ist {tone}",
        "tone": "{n} von {all} Kommentaren{which} sind {tone}",
        "every": "Es gibt {all} Kommentare{which}{mostly}: {tones}",
        "none": "Es gibt keine Kommentare{which}",
        "themes": "; die häufigsten Themen sind {themes}",
        "theme": "„{name}“ ({n}{mostly})",
        "mostly": ", meist {tone}",
        "negative": "negativ", "neutral": "neutral", "positive": "positiv",
        "unknown": "von unbekannter Stimmung", "count": "{n} {tone}", "where": "{name}: {value}",
        "since": "seit {day}", "until": "bis {day}", "days": "{since} bis {until}",
        "end": ".", "comma": ", ", "open": " (", "close": ")",
    },
    "zh": {
        "about_0": "{all} 条评论{which}中没有一条谈到“{topic}”",
        "about_1": "{all} 条评论{which}中有 1 条谈到“{topic}”{mostly}：{tones}",
        "about": "{all} 条评论{which}中有 {n} 条谈到“{topic}”{mostly}：{tones}",
        "tone_0": "{all} 条评论{which}中没有{tone}评论",
        "tone_1": "{all} 条评论{which}中有 1 条{tone}评论",
        "tone": "{all} 条评论{which}中有 {n} 条{tone}评论",
        "every": "共有 {all} 条评论{which}{mostly}：{tones}",
        "none": "没有评论{which}",
        "themes": "；最常见的主题是{themes}",
        "theme": "“{name}”（{n}{mostly}）",
        "mostly": "，多为{tone}",
        "negative": "负面", "neutral": "中性", "positive": "正面",
        "unknown": "情感不明", "count": "{n} 条{tone}", "where": "{name}：{value}",
        "since": "{day} 起", "until": "至 {day}", "days": "{since} 至 {until}",
        "end": "。", "comma": "，", "open": "（", "close": "）",
    },
}  # fmt: skip


def sentence(found: CountedComments, language: str) -> str:
    """Return the sentence that states what was counted."""
    texts = _TEXTS.get(language, _TEXTS["en"])
    query = found.query
    own = ToneCounts.count("", found.about if query.topic else found.among)
    number = own.comments if query.topic else len(found.counted)
    form = "about" if query.topic else "tone" if query.tone else "every"
    if not found.among:
        form = "none"
    elif form != "every" and number < 2:
        form = f"{form}_{number}"
    said = texts[form].format(
        n=number,
        all=len(found.among),
        which=_which(query, texts),
        topic=_one_line(query.topic),
        tone=texts[query.tone or "unknown"],
        tones=_tones(own, texts),
        mostly=_mostly(own, texts),
    )
    if found.themes and (not query.topic or len(found.themes) > 1):
        named = [_theme(found, theme, texts) for theme in found.themes[:NAMED_THEMES]]
        said += texts["themes"].format(themes=texts["comma"].join(named))
    return f"{said}{texts['end']}"


def _theme(found: CountedComments, theme: Theme, texts: Mapping[str, str]) -> str:
    counts = ToneCounts.count(theme.name, [found.counted[at] for at in theme.places])
    mostly = "" if found.query.tone else _mostly(counts, texts)
    return texts["theme"].format(name=theme.name, n=counts.comments, mostly=mostly)


def _tones(counts: ToneCounts, texts: Mapping[str, str]) -> str:
    numbers = {
        "negative": counts.negative,
        "neutral": counts.neutral,
        "positive": counts.positive,
        "unknown": counts.unknown,
    }
    said = [texts["count"].format(n=n, tone=texts[tone]) for tone, n in numbers.items() if n]
    return texts["comma"].join(said)


def _mostly(counts: ToneCounts, texts: Mapping[str, str]) -> str:
    tone = counts.mostly
    single = counts.comments < 2 or tone == "unknown"
    return "" if single else texts["mostly"].format(tone=texts[tone])


def _which(query: CommentQuery, texts: Mapping[str, str]) -> str:
    """Return the days and values that the comments are of, in brackets."""
    parts = [
        texts["where"].format(name=_one_line(name), value=_one_line(value))
        for name, value in query.labels.items()
    ]
    if query.since and query.until:
        parts.append(_period(query.since, query.until, texts))
    elif query.since:
        parts.append(texts["since"].format(day=query.since))
    elif query.until:
        parts.append(texts["until"].format(day=query.until))
    return f"{texts['open']}{texts['comma'].join(parts)}{texts['close']}" if parts else ""


def _period(first: str, last: str, texts: Mapping[str, str]) -> str:
    """Return a year, quarter or month by its name, else both days."""
    since, until = date.fromisoformat(first), date.fromisoformat(last)
    whole = since.day == 1 and until.day == calendar.monthrange(until.year, until.month)[1]
    if whole and since.year == until.year:
        months = until.month - since.month + 1
        if months == 12:
            return str(since.year)
        if months == 3 and since.month % 3 == 1:
            return f"{since.year}-Q{until.month // 3}"
        if months == 1:
            return f"{since:%Y-%m}"
    return texts["days"].format(since=first, until=last)


def _one_line(text: str) -> str:
    return " ".join(text.split())
