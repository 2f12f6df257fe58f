"""Blocks made of the lines of PDF pages: headings, paragraphs, items of lists, tables, captions."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import median
from typing import NamedTuple

from ragstone.core.document import BlockKind, Box, Place
from ragstone.ingest.document import Block
from ragstone.ingest.formats.pdf_grids import extract_ruled_tables
from ragstone.ingest.formats.pdf_layout import TableRow, sort_into_columns
from ragstone.ingest.formats.pdf_lines import BULLETS, HYPHEN, PageLine, join_lines, learn_words
from ragstone.ingest.formats.pdf_rules import Rules
from ragstone.ingest.formats.pdf_tables import Table, find_tables
from ragstone.ingest.formats.pdf_words import find_word_tables

_NUMBERED = re.compile(r"(?:^|\s)\(?[$€£¥]?[-–—(]?\d[\d.,]*[)%]*(?=\s|$)|(?<=\s)[-–—](?=\s|$)")
_SENTENCE_WORDS = 4
"""Words in small letters that a sentence of one line has at least; titles that end with a full stop
have fewer."""

_LOWER_WORD = re.compile(r"\b[a-z]{2,}\b")
_TOKEN = re.compile(r"\S+")
_LEADER = re.compile(r"(?:\.\s?){4,}\s*\d+$|…\s*\d+$")
_BULLET = re.compile(
    rf"([{BULLETS}])\s*[\w\"'“‘«„(\[$€£]"
    r"|([–*-](?=\s+\S)|\(?(?:\d{1,2}|[a-zа-я]|[ivx]{1,4})[.)](?=\s+\S)"
    r"|[（(][一二三四五六七八九十]{1,3}[）)](?=\s*\S)|[一二三四五六七八九十]{1,3}、(?=\s*\S))"
)
_MARK = re.compile(rf"[{BULLETS}–-]")
_NUMBER_BULLET = re.compile(r"\(?\w")
_ENDED = re.compile(r"[.!?:;。！？：；]['\"”’)\]]*$")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MAX_CODE = 4
"""So many characters in type of one width stand beside each other one at most, where they are code:
whole reports are set in such type."""

_EMPTY_LINE = 1.9
"""Lines of code that are so many line heights apart have an empty one between them."""

_MAX_COLUMN = 200
_CODE_SIGN = re.compile(r"[=(){}\[\];$<>|_\\]|\B--?\w|^[#%/]")
"""Forms are filled in with type of one width too: with names and addresses."""

_CUT_WORD = re.compile(r"[^\W\d_]-$")
_BRACKETED = re.compile(r"\(.*\)")
_CAPTION = re.compile(
    r"(?:Figure|Fig\.|Table|Chart|Abbildung|Abb\.|Tabelle|Tableau|Tabla|Figura|Tabella"
    r"|图|表|図)\s*\d+(?:[.-]\d+)*\s*(?:[.:|–—-]|\s[A-Z])"
)
_FOOTNOTE = re.compile(r"(?:\(?\d{1,3}\)?|[*†‡§]+)\s*\S")
_BLOCK_CHARS = 4_000
_MAX_CHARS = 8_000
_TITLE_LINES = 4
_FEW_LINES = 2
_TITLE_CHARS = 110
_LEAD_CHARS = 400
_LONG_LINE = 50
_ENOUGH_CHARS = 800
_ORNAMENT = re.compile(r"[_\-–—=~*•·\s]{4,}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


class Type(NamedTuple):
    """What lines are set in; the size is in points."""

    size: float
    bold: bool = False


class Prose:
    """What is known of a document so far: its words, the type of its prose, and the table with
    which the last page ended."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.last_table: Table | None = None
        self._types: Counter[Type] = Counter()
        self._chars: Counter[bool] = Counter()

    @property
    def has_code(self) -> bool:
        """Whether enough is set in other type for type of one width to tell code."""
        return _MAX_CODE * self._chars[False] > self._chars[True]

    def learn(self, lines: Sequence[PageLine]) -> None:
        """Take in a page."""
        for line in lines:
            self._chars[line.mono] += len(line.text)
        learn_words(lines, self.words)
        self._types.update(_types(lines))

    def body_type(self, lines: Sequence[PageLine]) -> Type:
        """Return the type of a page's prose: the page's own where it has enough."""
        own = _types(lines)
        known = own if own.total() > _ENOUGH_CHARS else own + self._types
        if not known:
            # Lines so short are no prose: where all are bold, they may still be headings.
            for line in lines:
                known[Type(line.size)] += len(line.text)
        sizes: Counter[float] = Counter()
        for kind, count in known.items():
            sizes[kind.size] += count
        size = sizes.most_common(1)[0][0] if sizes else 0.0
        return Type(size, known[Type(size, bold=True)] > known[Type(size)])


def _types(lines: Sequence[PageLine]) -> Counter[Type]:
    types: Counter[Type] = Counter()
    for line in lines:
        if len(line.runs) == 1 and len(line.text) >= _LONG_LINE and not line.mono:
            types[Type(line.size, line.bold)] += len(line.text)
    return types


_NO_RULES = Rules()


def page_blocks(
    lines: Sequence[PageLine], page: int, prose: Prose, rules: Rules = _NO_RULES
) -> Iterator[Block]:
    """Join the lines of a page into blocks in reading order."""
    body, words = prose.body_type(lines), prose.words
    lines = [line for line in lines if not _ORNAMENT.fullmatch(line.text)]
    before, prose.last_table = prose.last_table, None
    lines, ruled = extract_ruled_tables(lines, rules, before, words)
    for is_code, stretch in _part_code(sort_into_columns(lines), prose, rules):
        if is_code:
            yield _code_block(stretch, page)
            continue
        tables = list(_tables(stretch, ruled, before, rules))
        yield from _stretch_blocks(stretch, tables, page, words, body)
        last = tables[-1] if tables else None
        ends = last is not None and len(stretch) - max(last.lines) <= _FEW_LINES
        before, prose.last_table = None, last if ends else None


def _part_code(
    stretches: Iterable[list[PageLine]], prose: Prose, rules: Rules
) -> Iterator[tuple[bool, list[PageLine]]]:
    """Yield the stretches, those of code by themselves, and whether each is code: lines in type of
    one width, with a sign of code in them, that are no table."""
    for stretch in stretches:
        held: list[PageLine] = []
        for is_mono, group in groupby(stretch, key=lambda line: prose.has_code and line.mono):
            lines = list(group)
            tables = _find_aligned_tables(list(enumerate(lines)), None, rules) if is_mono else ()
            has_signs = any(_CODE_SIGN.search(line.text) for line in lines)
            in_tables = sum(len(table.lines) for table in tables)
            if is_mono and has_signs and 2 * in_tables < len(lines):
                if held:
                    yield False, held
                    held = []
                yield True, lines
            else:
                held += lines
        if held:
            yield False, held


def _code_block(lines: Sequence[PageLine], page: int) -> Block:
    """Return lines of code with their indents, gaps and empty lines: letters are equally wide."""
    runs = [run for line in lines for run in line.runs]
    left = min(run.box.left for run in runs)
    width = median((run.box.right - run.box.left) / len(run.text) for run in runs) or 1.0
    texts: list[str] = []
    places: list[Place] = []
    start = 0
    for number, line in enumerate(lines):
        if number and _has_gap(lines[number - 1], line, _EMPTY_LINE):
            texts.append("")
            start += 1
        text = ""
        for run in line.runs:
            column = min(round((run.box.left - left) / width), _MAX_COLUMN)
            text = (text and f"{text} ").ljust(column) + run.text.replace(HYPHEN, "-")
        texts.append(text)
        places.append(Place(start, page, line.box))
        start += len(text) + 1
    return Block("\n".join(texts), "code", page=page, places=tuple(places))


def _tables(
    lines: Sequence[PageLine], ruled: dict[Box, Table], before: Table | None, rules: Rules
) -> Iterator[Table]:
    """Yield the tables of lines that follow each other: the ruled ones, and those between them."""
    between: list[tuple[int, PageLine]] = []
    for place, line in enumerate(lines):
        if line.box not in ruled:
            between.append((place, line))
            continue
        yield from _find_aligned_tables(between, before, rules)
        yield replace(ruled[line.box], lines=frozenset((place,)))
        between, before = [], None
    yield from _find_aligned_tables(between, before, rules)


def _find_aligned_tables(
    lines: Sequence[tuple[int, PageLine]], before: Table | None, rules: Rules
) -> list[Table]:
    tables = find_tables(lines, before)
    if before and tables and min(tables[0].lines) > _FEW_LINES:
        tables = find_tables(lines)
    taken = frozenset[int]().union(*(table.lines for table in tables))
    tables += find_word_tables(lines, taken, rules)
    return sorted(tables, key=lambda table: min(table.lines))


def join_pages(blocks: Iterable[Block], words: set[str]) -> Iterator[Block]:
    """Join a paragraph that a page's end divides with its rest. Footnotes between the two follow
    after it. `words` grows while the blocks are read: it tells whether a hyphen stays."""
    held: Block | None = None
    notes: list[Block] = []
    for block in blocks:
        if held is not None and _is_split_block(held, block):
            held = _append_rest(held, block, words)
            continue
        if held is not None and block.label == _NOTE_LABEL and block.page == _last_page(held):
            notes.append(replace(block, label=""))
            continue
        if held is not None:
            yield held
            yield from notes
            notes = []
        held = replace(block, label="") if block.label == _NOTE_LABEL else block
    if held is not None:
        yield held
    yield from notes


_NOTE_LABEL = "\x00footnote"
"""Marks a footnote on its way to `join_pages`."""


def _append_rest(block: Block, rest: Block, words: set[str]) -> Block:
    if _CUT_WORD.search(block.text):
        text, (_, start) = join_lines([block.text[:-1] + HYPHEN, rest.text], words)
    else:
        text, start = f"{block.text} {rest.text}", len(block.text) + 1
    moved = tuple(replace(place, start=place.start + start) for place in rest.all_places)
    pictures = tuple(dict.fromkeys((*block.pictures, *rest.pictures)))
    return replace(block, text=text, places=(*block.all_places, *moved), pictures=pictures)


def _last_page(block: Block) -> int | None:
    return block.places[-1].page if block.places else block.page


def _is_split_block(block: Block, rest: Block) -> bool:
    prose = block.kind in ("paragraph", "item") and rest.kind == "paragraph"
    short = len(block.text) + len(rest.text) < _MAX_CHARS
    return prose and short and _is_apart(block, rest) and _continues_sentence(block.text, rest.text)


def _is_apart(block: Block, rest: Block) -> bool:
    """Tell whether a page's or a column's end stands between two blocks."""
    if _last_page(block) != rest.page or not block.places or not rest.places:
        return _last_page(block) != rest.page
    last, first = block.places[-1].box, rest.places[0].box
    return (
        last is not None
        and first is not None
        and first.top < last.top
        and (first.left > last.right)
    )


def _stretch_blocks(
    lines: Sequence[PageLine], tables: Sequence[Table], page: int, words: set[str], body: Type
) -> Iterator[Block]:
    """Yield the blocks of lines that follow each other: tables, and what is between them."""
    owner = {place: table for table in tables for place in table.lines}
    waiting: list[PageLine] = []
    done: set[int] = set()
    for place, line in enumerate(lines):
        table = owner.get(place)
        if table is None:
            waiting.append(line)
            continue
        if id(table) in done:
            continue
        done.add(id(table))
        title = _title(waiting, table)
        yield from _text_blocks(waiting, page, words, body)
        waiting = []
        yield from _table_blocks(table, title, page)
    yield from _text_blocks(waiting, page, words, body)


def _title(lines: Sequence[PageLine], table: Table) -> str:
    """Return what stands right above a table: its caption or heading, and its unit."""
    found: list[str] = []
    top = table.box.top
    leads = False
    for line in reversed(lines[-_TITLE_LINES:]):
        near = top - line.box.bottom < 2.5 * max(line.size, 6.0)
        if leads and line.bold != lines[-1].bold:
            break
        leads = leads or line.text.endswith(":")
        wide = len(line.text) > _TITLE_CHARS and not leads
        ended = _ENDED.search(line.text) and not line.text.endswith((":", ")"))
        if not near or wide or ended:
            break
        found.append(line.text.replace(HYPHEN, "-"))
        top = line.box.top
        if leads and (_SENTENCE.search(line.text) or sum(map(len, found)) > _LEAD_CHARS):
            break
    text = " ".join(reversed(found))
    return (_SENTENCE.split(text)[-1] if leads else text).rstrip(":")


def _table_blocks(table: Table, title: str, page: int) -> Iterator[Block]:
    notes = " ".join(note.text for note in table.notes)
    label = f"{title} {notes}".strip()
    if notes:
        place = Place(0, page, table.notes[0].box)
        yield Block(notes, "caption", page=page, places=(place,))
    rows: list[TableRow] = []
    size = 0
    for row in table.rows:
        if rows and size + len(row.text) > _BLOCK_CHARS:
            yield _rows_block(rows, label, page)
            rows, size = [], 0
        rows.append(row)
        size += len(row.text) + 1
    if rows:
        yield _rows_block(rows, label, page)


def _rows_block(rows: Sequence[TableRow], label: str, page: int) -> Block:
    places = []
    start = 0
    for row in rows:
        places.append(Place(start, page, row.box))
        start += len(row.text) + 1
    text = "\n".join(row.text for row in rows)
    return Block(text, "table", page=page, label=label, places=tuple(places))


def _text_blocks(
    lines: Sequence[PageLine], page: int, words: set[str], body: Type
) -> Iterator[Block]:
    """Yield headings, paragraphs and items; rows of figures that are not aligned stay lines."""
    kinds = _kinds(lines, body)
    bullets: list[float] = []
    start = 0
    for i in range(1, len(lines) + 1):
        if i < len(lines) and not _breaks(lines, kinds, start, i):
            continue
        kind, group = kinds[start], lines[start:i]
        if kind == "row":
            rows = [TableRow(line.text.replace(HYPHEN, "-"), line.box) for line in group]
            yield _rows_block(rows, "", page)
            start = i
            continue
        text, starts = join_lines([line.text for line in group], words)
        places = tuple(Place(at, page, line.box) for at, line in zip(starts, group, strict=True))
        if kind == "heading":
            yield Block(text, "heading", _level(group[0], body), page, places=places)
        elif match := _BULLET.match(text):
            level = _depth(bullets, group[0].box.left)
            yield Block(text, "item", level, page, match[1] or match[2], places)
        else:
            bullets.clear()
            yield Block(text, _prose_kind(text), 0, page, _mark(group[0], body), places)
        start = i


def _prose_kind(text: str) -> BlockKind:
    return "caption" if _CAPTION.match(text) and len(text) < 400 else "paragraph"


def _mark(first: PageLine, body: Type) -> str:
    small = 0 < first.size <= 0.92 * body.size
    return _NOTE_LABEL if small and _FOOTNOTE.match(first.text) else ""


def _depth(bullets: list[float], left: float) -> int:
    """Tell how deep an item stands whose bullet is here, by those before it in the list."""
    while bullets and bullets[-1] > left + 3:
        bullets.pop()
    if not bullets or bullets[-1] < left - 3:
        bullets.append(left)
    return len(bullets)


def _kinds(lines: Sequence[PageLine], body: Type) -> list[str]:
    rows = [_is_row(line.text) for line in lines]
    kinds = [
        "row"
        if row and (any(rows[i - 1 : i] + rows[i + 1 : i + 3]) or _LEADER.search(line.text))
        else "text"
        for i, (row, line) in enumerate(zip(rows, lines, strict=True))
    ]
    for i, line in enumerate(lines):
        goes_on = i > 0 and kinds[i - 1] == "text" and _is_continuation(lines[i - 1], line)
        wraps = i > 0 and kinds[i - 1] == "heading" and _is_wrapped(lines[i - 1], line)
        if kinds[i] == "text" and (wraps or (not goes_on and _is_heading(line, body))):
            kinds[i] = "heading"
    _undo_sentences(lines, kinds)
    for i in range(1, len(lines) - 1):
        # Column heads and labels without figures stand between rows.
        between = kinds[i - 1] == "row" and "row" in kinds[i + 1 : i + 3]
        if between and kinds[i] != "row" and len(lines[i].text) < 60:
            kinds[i] = "row"
    return kinds


def _is_row(text: str) -> bool:
    if _LEADER.search(text):
        return True
    numbers = len(_NUMBERED.findall(text))
    if numbers < 2:
        return False
    # In a row the words come first; in prose they stand between the figures too.
    first = _NUMBERED.search(text)
    between = len(_LOWER_WORD.findall(text, first.end())) if first else 0
    return numbers * 4 >= len(_TOKEN.findall(text)) and between <= numbers


def _is_heading(line: PageLine, body: Type) -> bool:
    text = line.text
    if not body.size or len(text) > 120 or not _WORD.search(text) or _MARK.match(text):
        return False
    if _BRACKETED.fullmatch(text) or text[0].islower():
        return False
    if line.size >= 1.15 * body.size:
        # On a page with a line of text and a long footnote, the text is what is larger.
        return len(text) > 2 and not _is_sentence(text)
    # Where all text is bold, it says nothing of a line.
    emphasised = line.bold and not body.bold and line.size >= 0.95 * body.size
    return emphasised and not text.endswith((".", ",", ";"))


def _is_sentence(text: str) -> bool:
    return text.endswith(".") and len(_LOWER_WORD.findall(text)) >= _SENTENCE_WORDS


def _is_wrapped(before: PageLine, line: PageLine) -> bool:
    """Tell whether a line is the rest of the heading right above it: it looks the same, and begins
    with a small letter."""
    alike = before.size == line.size and before.bold == line.bold
    return alike and not _has_gap(before, line) and line.text[0].islower()


def _undo_sentences(lines: Sequence[PageLine], kinds: list[str]) -> None:
    """Make text of headings of several lines that are sentences: whole paragraphs stand out too."""
    start = 0
    for i in range(1, len(lines) + 1):
        if i < len(lines) and not _breaks(lines, kinds, start, i):
            continue
        text = " ".join(line.text for line in lines[start:i])
        if kinds[start] == "heading" and i > start + 1 and _is_sentence(text):
            kinds[start:i] = ["text"] * (i - start)
        start = i


def _is_continuation(before: PageLine, line: PageLine) -> bool:
    """Tell whether a line looks like the one right above it, which is not a heading."""
    alike = before.size == line.size and before.bold == line.bold
    return alike and not _has_gap(before, line) and not _ENDED.search(before.text)


def _level(line: PageLine, body: Type) -> int:
    ratio = line.size / body.size
    if ratio >= 1.15:
        return 1 if ratio >= 1.6 else 2 if ratio >= 1.35 else 3
    return 4 if line.text.isupper() else 5


def _breaks(lines: Sequence[PageLine], kinds: Sequence[str], start: int, i: int) -> bool:
    """Tell whether line `i` starts a new block; `start` is the first line of the one before."""
    before, line = lines[i - 1], lines[i]
    if kinds[i] != kinds[i - 1]:
        return True
    if kinds[i] == "heading":
        looks = abs(line.size - before.size) > 0.5 or line.bold != before.bold
        return looks or _has_gap(before, line)
    if kinds[i] == "row":
        return _has_gap(before, line, 3.0)
    if _begins_item(before, line):
        return True
    if _continues_sentence(before.text, line.text):
        return _has_gap(before, line, 3.0) and line.baseline > before.baseline
    if _has_gap(before, line):
        return True
    ended = bool(_ENDED.search(before.text))
    if ended and _BULLET.match(lines[start].text) and line.box.left <= lines[start].box.left + 1:
        return i - start > 1 or line.box.left < lines[start].box.left - 1
    indented = line.box.left > before.box.left + line.size and ended
    indented = indented and not (i - start == 1 and _BULLET.match(before.text))
    short = len(before.text) < 40 and ended and not line.size
    return indented or short


def _begins_item(before: PageLine, line: PageLine) -> bool:
    """Tell whether a line begins with a bullet; a number within a sentence is none."""
    match = _BULLET.match(line.text)
    if not match:
        return False
    if not _NUMBER_BULLET.match(match[1] or match[2]):
        return True
    full = before.box.right > line.box.right - 3 * line.size
    return not (_continues_sentence(before.text, "a") and full and line.size)


def _continues_sentence(before: str, text: str) -> bool:
    """Tell whether a text is the rest of a sentence, whatever space or page's end stands between;
    no sentence is only a page's number."""
    begun = not _ENDED.search(before) and _LOWER_WORD.search(before) is not None
    return begun and text[:1].islower()


def _has_gap(before: PageLine, line: PageLine, lines: float = 1.65) -> bool:
    """Tell whether there is a gap of more than so many line heights, or a new column."""
    if not line.size:
        return False
    gap = line.baseline - before.baseline
    return gap > lines * max(line.size, before.size) or gap < -3 * line.size
