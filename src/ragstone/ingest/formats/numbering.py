"""Numbers and bullets of list items: those that paragraphs of Word refer to, and those that are
typed before paragraphs of any format, as in statutes: "a) ...", "1. ...", "（一）...".

Only a list that is known as one is given whole.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ragstone.core.document import announces
from ragstone.ingest.document import Block

PICTURE_SIGNS = {
    b"wingdings": {"o": "☐", "\xa8": "☐", "x": "☒", "\xfd": "☒", "\xfe": "☑", "\xfc": "✓",
                   "\xfb": "✗", "\xe0": "→", "\xe8": "→"},
    b"wingdings2": {"\xa3": "☐", "Q": "☒", "S": "☒", "R": "☑", "P": "✓", "O": "✗"},
}  # fmt: skip
"""Glyphs that say something wherever they stand, by their font and their place in it."""


W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
BULLET = "-"

_MAX_LEVEL = 8
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_MAX_ROMAN = 4000


@dataclass(frozen=True, slots=True)
class ListLevel:
    """One level of a list: `text` is its pattern ("%1.%2)"), `restarts` the highest level (from 1)
    whose next number starts it anew, 0 for none."""

    start: int = 1
    format: str = "decimal"
    text: str = ""
    legal: bool = False
    restarts: int | None = None


@dataclass(slots=True)
class _List:
    """A list that paragraphs refer to: its levels, and what counts for it."""

    abstract: str
    levels: dict[int, ListLevel]
    starts: dict[int, int] = field(default_factory=dict)
    """Where a list that begins anew begins, by level."""


class Numbering:
    """The lists of a document. `label` counts on, so ask it for each paragraph in order, once."""

    def __init__(self, root: Any | None) -> None:
        self._lists: dict[str, _List] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[str] = set()
        if root is not None:
            self._read(root)

    def label(self, list_id: str, level: int) -> str | None:
        """The number or bullet of the next paragraph, "" for none, None where no such list is."""
        found = self._lists.get(list_id)
        level = min(max(level, 0), _MAX_LEVEL)
        if found is None:
            return None
        counts = self._counts.setdefault(found.abstract, {})
        if list_id not in self._begun:
            self._begun.add(list_id)
            for other, start in found.starts.items():
                counts[other] = start - 1
        here = found.levels.get(level, ListLevel(format="bullet"))
        counts[level] = counts.get(level, here.start - 1) + 1
        for other in [count for count in counts if count > level]:
            restarts = found.levels.get(other, ListLevel()).restarts
            if restarts is None or (restarts and level < restarts):
                del counts[other]
        if here.format == "bullet":
            return BULLET
        return _label(here, found.levels, counts)

    def _read(self, root: Any) -> None:
        abstracts = {
            item.get(f"{W}abstractNumId", ""): item for item in root.iter(f"{W}abstractNum")
        }
        styled = {
            _value(abstract, "styleLink"): number
            for number, abstract in abstracts.items()
            if abstract.find(f"{W}styleLink") is not None
        }
        for item in root.iter(f"{W}num"):
            number = _value(item, "abstractNumId")
            link = abstracts.get(number)
            linked = _value(link, "numStyleLink") if link is not None else ""
            number = styled.get(linked, number) if linked else number
            levels = _levels(abstracts[number]) if number in abstracts else {}
            made = _List(number, levels)
            for override in item.iter(f"{W}lvlOverride"):
                level = _integer(override.get(f"{W}ilvl"))
                levels.update(_levels(override))
                if (start := override.find(f"{W}startOverride")) is not None:
                    made.starts[level] = _integer(start.get(f"{W}val"))
            self._lists[item.get(f"{W}numId", "")] = made


def _levels(root: Any) -> dict[int, ListLevel]:
    found = {}
    for item in root.iterchildren(f"{W}lvl"):
        restarts = item.find(f"{W}lvlRestart")
        start = item.find(f"{W}start")
        found[_integer(item.get(f"{W}ilvl"))] = ListLevel(
            start=1 if start is None else _integer(start.get(f"{W}val")),
            format=_format(item),
            text=_value(item, "lvlText"),
            legal=item.find(f"{W}isLgl") is not None,
            restarts=None if restarts is None else _integer(restarts.get(f"{W}val")),
        )
    return found


def _format(level: Any) -> str:
    """Return the format of a level; newer ones stand in a choice beside their fallback."""
    found = next(level.iter(f"{W}numFmt"), None)
    return "decimal" if found is None else found.get(f"{W}val", "decimal")


def _label(here: ListLevel, levels: Mapping[int, ListLevel], counts: Mapping[int, int]) -> str:
    if here.format == "none" and "%" not in here.text:
        return here.text.strip()
    parts = []
    text = here.text
    at = 0
    while at < len(text):
        if text[at] == "%" and text[at + 1 : at + 2].isdigit():
            number = int(text[at + 1]) - 1
            level = levels.get(number, ListLevel())
            kind = "decimal" if here.legal else level.format
            parts.append(numeral(counts.get(number, level.start), kind))
            at += 2
        else:
            parts.append(text[at])
            at += 1
    return "".join(parts).strip()


def numeral(number: int, kind: str) -> str:
    """A number as Word's format of that name writes it: decimal, lowerLetter, upperRoman, ..."""
    if kind == "none":
        return ""
    if kind == "decimalZero":
        return f"{number:02}"
    if kind in ("lowerLetter", "upperLetter") and number > 0:
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 % 50 + 1)
        return letter.upper() if kind == "upperLetter" else letter
    if kind in ("lowerRoman", "upperRoman") and 0 < number < _MAX_ROMAN:
        roman = _roman(number)
        return roman.upper() if kind == "upperRoman" else roman
    if kind == "ordinal":
        return f"{number}{_ordinal_ending(number)}"
    return str(number)


def format_number(number: int, style: str) -> str:
    """Return a number as an item shows it in the style 1, a, A, i or I."""
    if style in ("a", "A") and number > 0:
        shown = ""
        while number > 0:
            number, rest = divmod(number - 1, 26)
            shown = chr(ord("a") + rest) + shown
    elif style in ("i", "I") and 0 < number < _MAX_ROMAN:
        shown = _roman(number)
    else:
        return str(number)
    return shown.upper() if style.isupper() else shown


def _roman(number: int) -> str:
    parts = []
    for value, letters in _ROMAN:
        parts.append(letters * (number // value))
        number %= value
    return "".join(parts)


def _ordinal_ending(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _value(element: Any, name: str) -> str:
    found = element.find(f"{W}{name}")
    return "" if found is None else found.get(f"{W}val", "")


def _integer(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        return 0


_MARK = re.compile(
    r"(?P<open>[(（]?)(?P<count>\d{1,2}|[^\W\d_]{1,4})(?P<close>[.)](?=\s+\S)|[）、．](?=\s*\S))"
)
_ENDED = re.compile(r"[.!?。！？][\"'”’»)\]]*$")
_CYRILLIC = "абвгдежзиклмнопрстуфхцчшщэюя"
_CHINESE = "一二三四五六七八九"
_MAX_BETWEEN = 3
"""So many blocks may stand between two items of a list."""


def _write_cyrillic(number: int) -> str:
    return _CYRILLIC[number - 1 : number]


def _write_chinese(number: int) -> str:
    tens, ones = divmod(number, 10)
    lead = (_CHINESE[tens - 1 : tens] if tens > 1 else "") + "十" if tens else ""
    return lead + (_CHINESE[ones - 1] if ones else "")


def _write_style(style: str) -> Callable[[int], str]:
    return lambda number: format_number(number, style)


_WRITERS = (*map(_write_style, "1aAiI"), _write_cyrillic, _write_chinese)


@dataclass(slots=True)
class _TypedList:
    """A list that is read: how its items are numbered, and how many there were."""

    level: int
    opening: str
    closing: str
    write: Callable[[int], str]
    items: int = 1
    between: int = 0
    """Blocks since its last item."""

    def is_next_item(self, mark: re.Match[str]) -> bool:
        return mark["count"] == self.write(self.items + 1) and (mark["open"], mark["close"]) == (
            self.opening,
            self.closing,
        )


def read_typed_lists(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks, those paragraphs as items that are numbered from the first on, where the
    text above them leads in a list: two at least, as a single one may be anything."""
    lists: list[_TypedList] = []
    first: Block | None = None
    """The first item of the innermost list, until there is a second one."""
    above: Block | None = None
    for block in blocks:
        mark = _MARK.match(block.text) if block.kind == "paragraph" and not block.label else None
        depth = _find_list(lists, mark) if mark else None
        if first is not None:
            is_list = mark is not None and depth == len(lists)
            yield _make_item(first, lists[-1].level) if is_list else first
            first = None
            if not is_list:
                lists.pop()
        if block.kind == "heading":
            lists.clear()
        if mark and depth:
            del lists[depth:]
            lists[-1].items += 1
            lists[-1].between = 0
            yield _make_item(block, lists[-1].level)
        elif mark and (write := _first_writer(mark)) and above and _leads(above, block, mark):
            level = above.level if above.kind == "item" else 0
            lists.append(_TypedList(level + 1, mark["open"], mark["close"], write))
            first = block
        else:
            for item in lists:
                item.between += 1
            lists = [item for item in lists if item.between <= _MAX_BETWEEN]
            yield block
        above = replace(block, kind="item", level=lists[-1].level) if mark and depth else block
    if first is not None:
        yield first


def _find_list(lists: list[_TypedList], mark: re.Match[str]) -> int | None:
    """Tell how deep the list is that this item goes on, from 1; the innermost that can be."""
    depths = range(len(lists), 0, -1)
    return next((depth for depth in depths if lists[depth - 1].is_next_item(mark)), None)


def _first_writer(mark: re.Match[str]) -> Callable[[int], str] | None:
    return next((write for write in _WRITERS if write(1) == mark["count"]), None)


def _leads(above: Block, block: Block, mark: re.Match[str]) -> bool:
    """Tell whether a text leads in a list: by its colon, or as a sentence that the item goes on."""
    if above.kind not in ("paragraph", "item", "quote", "admonition"):
        return False
    text = above.text.rstrip()
    goes_on = block.text[mark.end() :].lstrip()[:1].islower() and not _ENDED.search(text)
    return announces(text) or goes_on


def _make_item(block: Block, level: int) -> Block:
    mark = _MARK.match(block.text)
    return replace(block, kind="item", level=level, label=mark[0] if mark else "")
