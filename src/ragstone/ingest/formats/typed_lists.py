"""Lists whose numbers are typed: paragraphs "a) ...", "1. ..." or "（一）..." of any format.

Whoever writes statutes or contracts types them. Only a list that is known as one is given whole.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from ragstone.core.document import announces
from ragstone.ingest.document import Block
from ragstone.ingest.formats.numbering import format_number

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
class _List:
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
    lists: list[_List] = []
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
            lists.append(_List(level + 1, mark["open"], mark["close"], write))
            first = block
        else:
            for item in lists:
                item.between += 1
            lists = [item for item in lists if item.between <= _MAX_BETWEEN]
            yield block
        above = replace(block, kind="item", level=lists[-1].level) if mark and depth else block
    if first is not None:
        yield first


def _find_list(lists: list[_List], mark: re.Match[str]) -> int | None:
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
