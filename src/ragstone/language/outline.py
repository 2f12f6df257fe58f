"""The blocks of a plain text, by the looks of its lines: headings, items, tables, code."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragstone.core.document import BlockKind, BlockSpan

# A text without empty lines would cost the square of its length.
_GROUP_LINES = 300

# Endless lines, as of minified code, cost no more than long ones.
_LOOKED_AT = 400

_NAMES: tuple[frozenset[str], ...] = tuple(
    frozenset(names.split())
    for names in (
        "part title book volume annex appendix schedule teil titel buch anhang anlage partie titre "
        "livre annexe parte título titulo libro anexo titolo allegato deel bijlage część załącznik "
        "часть приложение",
        "chapter kapitel chapitre capítulo capitulo capitolo hoofdstuk rozdział глава",
        "section abschnitt sección seccion seção secção sezione afdeling sekcja раздел subchapter",
        "article artikel artículo articulo artigo articolo artykuł статья clause klausel rule "
        "section§ § §§ art. sec. regulation",
    )
)
"""The words that head a part of a law or contract, from the widest part to the narrowest."""

_END = ".,;:!?。，；：！？、…"
_NUMBER = r"(?:\d{1,4}[a-zA-Z]?(?:\.\d{1,3}){0,4}|[IVXLCDM]{1,7}|[A-Z])"
_NAMED = re.compile(
    rf"(?P<name>[^\W\d_]{{4,14}}|§§?|[Aa]rt\.|[Ss]ec\.)\s*(?P<number>{_NUMBER})"
    r"(?P<mark>\s*[.:–—-]+(?=\s|$)|(?=\s|$))\s*"
)
_CJK_NAMED = re.compile(
    r"(?:第\s*[\d一二三四五六七八九十百千〇零]+\s*|제\s*\d+\s*)([部编編章節节条條款편장절조관])"
)
_CJK_RANKS = {
    sign: rank
    for rank, signs in enumerate(("部编編편", "章장", "節节절관", "条條款조"))
    for sign in signs
}
_NUMBERED = re.compile(
    r"(?P<number>\d{1,3}(?:\.\d{1,3}){0,5}|[A-Z](?:\.\d{1,3}){1,5})(?P<dot>\.?)\s+(?=\S)"
)
_BULLET = r"[-*+•‣▪◦·–—]"
_ITEM = re.compile(
    rf"(?P<label>{_BULLET}|o(?=\s\s)|\(?\d{{1,3}}[.)]|\(?[a-z]{{1,2}}\)|[a-z]\.|\(?[ivxlc]{{2,7}}\)|[A-Z]\)"
    r"|[（(]?[一二三四五六七八九十]{1,3}[）)、]|[①-⑳・])(?:\s+|(?<=[、）①-⑳・]))(?=\S)"
)
_LONE_LABEL = re.compile(r"\(\d{1,3}[a-z]?\)|\d{1,3}[.)]|\(?[a-z]{1,2}\)|\(?[ivxlc]{2,7}\)")
_ROMAN = re.compile(r"\(?[ivxlc]+[.)]")
_RULE = re.compile(r"([-=_*~#+.·—–])(?:\s?\1){2,}")
_MARKED_HEADING = re.compile(r"#{1,6}\s+(?=\S)")
_MARKS_HEADINGS = re.compile(r"\A\s*# |^##", re.MULTILINE)
"""A text that marks headings has one at its beginning, or of several levels: else "# " is the
prompt of a shell, or a comment."""
_FENCE = re.compile(r"(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$")
_LEADER = re.compile(r"(?:\.\s?){4,}\s*[\divxlc]+$|…+\s*\d+$|(?:·\s?){3,}\d+$")
_FIELD = re.compile(
    r"(?:from|to|cc|bcc|subject|date|sent|reply-to|message-id|von|an|betreff|datum|gesendet|de|à|"
    r"objet|envoyé|para|asunto|fecha|oggetto|inviato)\s?:\s?\S",
    re.IGNORECASE,
)
_FOOT = re.compile(r"\S.*\s{2,}\[?page\s+[\divxlc]+\]?$|\[page \d+\]$", re.IGNORECASE)
FULL_LINE = 60
"""A line of so many characters may have been wrapped; a shorter one ended on purpose."""

_GAP = re.compile(r"\S(?:\s{3,}|\t+)(?=\S)")
_ART = re.compile(r"[+|][-=]{2,}|[-=]{2,}[+|>]|<[-=]{2,}|^\s*\|.*\|$|^\s*[|/\\+v^]+\s*$")
_PIPED = re.compile(r"\|.*\|$|[^\s|][^|]*\s\|\s")
_RECORD = re.compile(r"[^\s:;|][^:;|]{0,60}: [^;]*; [^;:]{1,60}: ")
"""A row whose cells are named: "Region: North; Sales: 12"."""
_CODE_LINE = re.compile(
    r"^\s*(?:[$%#>]\s|>>>|\.\.\.\s|(?:def|class|import|from|return|if|for|while|var|let|const|int|"
    r"void|struct|typedef|sudo|curl|git|pip|npm|SELECT|INSERT|CREATE|GET|POST|PUT|HTTP)\b.*[({;:=\"'/-]"
    r"|[\w.]+\(.*\)|[{}\[\]]+[,;]?$|</?\w)|[;{}]$|\w+\s?(?::?=|==|->|=>|::)\s?\S"
)
_SHELL = re.compile(r"(?:\$|>>>)\s+\S")
_LOG_LINE = re.compile(
    r"\[?\d{4}-\d\d-\d\d|\[?\d\d:\d\d|\[?(?:DEBUG|INFO|WARN|ERROR)|<\d+>|\w{3} +\d+ \d\d:"
)
_RUN_IN_NAME = re.compile(r"[^.:;]{3,60}\.(?=\s+[A-Z])")
_LAST_IN_SENTENCE = re.compile(r"[.!?:;。！？：；…][\"'”’»)\]]*$")


_TEXT_LINE = re.compile(r"([^\n\r\f]*)(\r\n|[\n\r\f]|\Z)")
_Test = Callable[["_Line"], bool]


class _Line(NamedTuple):
    start: int
    end: int
    indent: int
    text: str
    """Without the space around it, and no longer than what is looked at."""

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class _Draft:
    """A block before the levels of headings are known. `rank` orders the kinds of headings."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    label: str = ""
    rank: tuple[str, int] = ("", 0)


_Group = list[_Line]


def outline(text: str) -> tuple[BlockSpan, ...]:
    """Return the blocks of `text`, in order; every character that is not a space is in one of them.

    Blank lines part blocks. Lines of dots with a page number, and columns, are tables; lines that
    say nothing of the subject (rules, the heads of mails and of memos, page numbers) are headers.
    A heading that is parted from its number ("Article 1", below it its name) is one heading, and
    a number that stands alone belongs to the paragraph below it.
    """
    return tuple(_set_levels(_Reader(text).drafts()))


class _Reader:
    """Reads the groups of lines from the first to the last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._marks_headings = bool(_MARKS_HEADINGS.search(text))
        self._groups = deque(_groups(text))
        self._base = _base_indent(self._groups)
        self._items: list[tuple[int, tuple[str, str]]] = []
        """Indent and style of the items that the next one may be nested in."""
        self._count = 0
        self._before: _Draft | None = None
        self._after_foot = False
        self._is_early = True
        """Whether there was neither a heading nor much else."""

    def drafts(self) -> Iterator[_Draft]:
        while self._groups:
            draft = self._read(self._groups.popleft())
            if draft.kind == "heading" or (draft.kind == "paragraph" and not draft.level):
                self._items = []
            self._count += 1
            self._before = draft
            self._is_early = self._is_early and draft.kind != "heading" and self._count < 5
            beginning = self._text[draft.start : min(draft.start + _LOOKED_AT, draft.end)]
            self._after_foot = draft.kind == "header" and bool(_FOOT.match(beginning))
            yield draft

    def _read(self, group: _Group) -> _Draft:
        """Return the block at the start of a group. What is left of it goes back to the others."""
        first = group[0]
        if fence := _FENCE.match(first.text):
            return self._read_fence(group, fence)
        if _is_drawing(group):
            return self._lines("code", group, len(group))
        if count := self._head_lines(group):
            return self._lines("header", group, count)
        return self._heading(group) or self._read_item(group) or self._body(group)

    def _read_item(self, group: _Group) -> _Draft | None:
        """Return an item, if the group begins with a label; it may stand alone above its text."""
        if self._is_lone_label(group):
            return self._item(group + self._groups.popleft(), group[0].text)
        match = None if self._table_lines(group) else _ITEM.match(group[0].text)
        return self._item(group, match["label"]) if match else None

    def _body(self, group: _Group) -> _Draft:
        if count := _count_leading(group, _is_quoted):
            return self._lines("quote", group, count)
        if count := self._table_lines(group):
            return self._lines("table", group, count)
        if count := self._code_lines(group):
            return self._lines("code", group, count)
        if len(group) > 1 and _share(group, _has_gap) >= 0.6:
            return self._lines("table", group, len(group))
        return self._paragraph(group)

    def _head_lines(self, group: _Group) -> int:
        """How many lines from the first are a rule, a foot of a page, or the head of a mail."""
        first = group[0]
        if _FOOT.match(first.text) or (
            _RULE.fullmatch(first.text) and not _match_underlined(group)
        ):
            return 1
        if (count := _count_leading(group, _is_field)) > 1:
            return count
        if self._after_foot and len(group) == 1 and _has_gap(first):
            return 1
        if not self._is_early:
            return 0
        columns = sum(_has_gap(line) or line.indent >= self._base + 20 for line in group)
        gaps = [len(_GAP.findall(line.text)) for line in group]
        is_head = bool(self._groups) and columns * 2 > len(group) > 1 and max(gaps) == 1
        return len(group) if is_head else 0

    def _table_lines(self, group: _Group) -> int:
        """Tell how many lines from the first are a table of contents, or cells between bars."""
        piped = _count_leading(group, _is_piped)
        listed = _count_leading(group, _is_leader) or _count_leading(group, _is_record)
        return listed or (piped if piped > 1 else 0)

    def _lines(self, kind: BlockKind, group: _Group, count: int) -> _Draft:
        self._put_back(group[count:])
        start = group[0].start
        while kind == "code" and start and self._text[start - 1] in " \t":
            start -= 1
        return _Draft(kind, start, group[count - 1].end)

    def _put_back(self, lines: _Group) -> None:
        if lines:
            self._groups.appendleft(lines)

    def _next(self) -> _Group:
        return self._groups[0] if self._groups else []

    def _read_fence(self, group: _Group, fence: re.Match[str]) -> _Draft:
        """A fence up to its end, over blank lines; without an end it is the group alone."""
        taken, rest = [group, *self._groups], 0
        for number, lines in enumerate(taken):
            for place, line in enumerate(lines):
                closes = line.text.startswith(fence[1]) and not line.text.strip(fence[1][0])
                if closes and (number or place):
                    for _ in range(number):
                        self._groups.popleft()
                    self._put_back(lines[place + 1 :])
                    return _Draft("code", group[0].start, line.end, label=fence[2])
                rest += 1
        return _Draft("code", group[0].start, group[-1].end, label=fence[2])

    def _code_lines(self, group: _Group) -> int:
        """Tell how many lines from the first are code or a drawing."""
        if _SHELL.match(group[0].text) or _LOG_LINE.match(group[0].text):
            return len(group)
        deep = _count_leading(group, lambda line: line.indent >= self._base + 2)
        if deep and _share(group[:deep], _is_code) >= 0.5:
            return deep
        return 0

    def _is_lone_label(self, group: _Group) -> bool:
        after = self._next()
        return (
            len(group) == 1
            and bool(after)
            and bool(_LONE_LABEL.fullmatch(group[0].text))
            and not _ITEM.match(after[0].text)
            and not _LONE_LABEL.fullmatch(after[0].text)
            and not _heading_name(after[0].text)
        )

    def _item(self, group: _Group, label: str) -> _Draft:
        """Return one item with the lines that go on with it."""
        count = 2 if group[0].text == label and len(group) > 1 else 1
        while count < len(group) and not self._ends_item(group, count, label):
            count += 1
        self._put_back(group[count:])
        level = self._item_level(group[0].indent, label)
        return _Draft("item", group[0].start, group[count - 1].end, level, label)

    def _ends_item(self, group: _Group, count: int, label: str) -> bool:
        """Tell whether a line begins another item, or is outdented after a full sentence."""
        first, before, line = group[0], group[count - 1], group[count]
        match = _ITEM.match(line.text)
        if not match:
            new = line.text[0].isupper() and before.length < FULL_LINE
            return (line.indent < first.indent and _ends(before.text)) or (
                line.indent <= first.indent and new
            )
        none = ("", "")
        alike = _style(match["label"], none)[0] == _style(label, none)[0]
        return alike or line.indent <= first.indent or _opens(match["label"]) or _ends(before.text)

    def _item_level(self, indent: int, label: str) -> int:
        style = _style(label, self._items[-1][1] if self._items else ("", ""))
        while self._items and indent < self._items[-1][0]:
            self._items.pop()
        seen = [
            place
            for place, (at, known) in enumerate(self._items)
            if at == indent and known[0] == style[0]
        ]
        if seen:
            del self._items[seen[-1] :]
        self._items.append((indent, style))
        return len(self._items)

    def _paragraph(self, group: _Group) -> _Draft:
        """The lines up to the next that begins something else. Unwrapped lines stand alone."""
        if max(line.length for line in group) > 140:
            self._put_back(group[1:])
            return _Draft("paragraph", group[0].start, group[0].end)
        count = 1
        while count < len(group) and not self._interrupts(group[count - 1], group[count]):
            count += 1
        end = group[count - 1]
        self._put_back(group[count:])
        if count == len(group):
            end = self._continue_paragraph(group)
        nested = int(bool(self._items) and group[0].indent > self._items[-1][0])
        return _Draft("paragraph", group[0].start, end.end, nested)

    def _interrupts(self, before: _Line, line: _Line) -> bool:
        if match := _ITEM.match(line.text):
            return _opens(match["label"]) or _ends(before.text)
        return bool(
            _FENCE.match(line.text)
            or _RULE.fullmatch(line.text)
            or _is_quoted(line)
            or _is_leader(line)
            or (line.indent >= before.indent + 4 and _is_code(line))
        )

    def _continue_paragraph(self, group: _Group) -> _Line:
        """The last line of a paragraph that goes on after an empty line, as over a page's end."""
        end = group[-1]
        width = max(line.length for line in group)
        while after := self._next():
            first = after[0]
            goes_on = (
                end.length > max(width * 0.6, 40)
                and not _ends(end.text)
                and first.indent == end.indent
                and first.text[:1].islower()
                and not _ITEM.match(first.text)
            )
            if not goes_on:
                break
            end = self._groups.popleft()[-1]
        return end

    def _heading(self, group: _Group) -> _Draft | None:
        return (
            self._read_underlined(group)
            or self._read_named(group)
            or self._alone(group)
            or (self._read_marked(group) if self._marks_headings else None)
        )

    def _read_marked(self, group: _Group) -> _Draft | None:
        match = _MARKED_HEADING.match(group[0].text)
        if not match or group[0].length > 200 or len(group) > 1:
            return None
        return _Draft("heading", group[0].start, group[0].end, rank=("mark", len(match[0].strip())))

    def _read_underlined(self, group: _Group) -> _Draft | None:
        """Return a line with a rule below it, and maybe one above it."""
        if not (found := _match_underlined(group)):
            return None
        count, mark = found
        self._put_back(group[count:])
        return _Draft(
            "heading", group[0].start, group[count - 1].end, rank=(f"line{mark}{count}", 0)
        )

    def _read_named(self, group: _Group) -> _Draft | None:
        """Read chapters, articles and clauses; with the name below, or the text after on the
        line."""
        first = group[0]
        if not (found := _heading_name(first.text)):
            return None
        rank, after, marked = found
        rest = first.text[after:]
        key = ("named", rank)
        if not rest:
            self._put_back(group[1:])
            name = self._next()
            if name and self._is_name(name[0]) and (len(name) == 1 or not _ends(name[0].text)):
                line = self._groups.popleft()
                single = len(line) == 1 or line[1].length > 100 or _ITEM.match(line[1].text)
                self._put_back(line[1:] if single else line)
                return _Draft(
                    "heading", first.start, line[0].end if single else first.end, rank=key
                )
            return _Draft("heading", first.start, first.end, rank=key)
        whole = len(group) == 1 and first.length <= 120 and not first.text.endswith((";", ","))
        short = len(rest) <= 60 and len(rest.split()) <= 8 and rest[-1] != "。"
        if (
            whole
            and (short if _ends(rest) else marked or rest[:1].isupper())
            and (marked or not _ends(rest))
        ):
            return _Draft("heading", first.start, first.end, rank=key)
        return self._read_inline(group, after, key) if marked and not rest[0].islower() else None

    def _read_inline(self, group: _Group, after: int, key: tuple[str, int]) -> _Draft:
        """Return a heading with text on its line; a short sentence after its number is its name."""
        first = group[0]
        name = _RUN_IN_NAME.match(first.text, after)
        cut = name.end() if name and len(name[0].split()) <= 8 else after
        rest = first.text[cut:].lstrip()
        follows = first._replace(start=first.start + len(first.text) - len(rest), text=rest)
        self._put_back([follows, *group[1:]] if rest else group[1:])
        head = first.text[:cut].rstrip()
        return _Draft("heading", first.start, first.start + len(head), rank=key)

    def _is_name(self, line: _Line) -> bool:
        text = line.text
        return (
            line.length <= 150
            and not text.endswith((".", ":", ";", ","))
            and not _ITEM.match(text)
            and not _LONE_LABEL.fullmatch(text)
            and not _heading_name(text)
            and bool(self._groups and (len(self._groups) > 1 or len(self._groups[0]) > 1))
        )

    def _alone(self, group: _Group) -> _Draft | None:
        """A short line between empty ones: numbered, in capitals, centred, or before a text."""
        if len(group) > 1 and not self._is_title(group):
            return self._above(group)
        first, after = group[0], self._next()
        if not after or first.length > 100 or _LEADER.search(first.text) or _has_gap(first):
            return None
        text = first.text
        if (match := _NUMBERED.match(text)) and first.indent <= self._base:
            title = text[match.end() :]
            depth = match["number"].count(".") + 1
            sibling = _NUMBERED.match(after[0].text)
            listed = (
                depth == 1 and bool(sibling) and "." not in (sibling["number"] if sibling else "")
            )
            listed = listed or self._is_next_item(first, match["number"])
            named = not _ends(title) or (title[-1] == "." and _is_capitalised(title))
            if title[0].isalpha() and not title[0].islower() and named and not listed:
                return _Draft("heading", first.start, first.end, rank=("number", depth))
        named_cells = _is_record(first) or _is_piped(first)
        if _ITEM.match(text) or _ends(text) or text.endswith(",") or _is_code(first) or named_cells:
            return None
        if self._is_title(group):
            return _Draft("heading", first.start, group[-1].end, rank=("title", 0))
        letters = [letter for letter in text if letter.isalpha()]
        if (
            len(letters) > 3
            and text == text.upper()
            and text != text.lower()
            and len(text.split()) < 12
        ):
            return _Draft("heading", first.start, first.end, rank=("caps", 0))
        if self._is_plain_heading(first, after):
            return _Draft(
                "heading", first.start, first.end, rank=("plain", int(first.indent >= self._base))
            )
        return None

    def _is_next_item(self, line: _Line, number: str) -> bool:
        """Whether a numbered line goes on with the list whose last item ends right above it."""
        before = self._before
        if before is None or before.kind != "item" or not number.isdigit():
            return False
        adjoins = self._text.count("\n", before.end, line.start) == 1
        return adjoins and before.label.strip(".") == str(int(number) - 1)

    def _above(self, group: _Group) -> _Draft | None:
        """Return a line of a few words right above an item or a full sentence."""
        first, second = group[0], group[1]
        text = first.text
        few = first.length <= 60 and len(text.split()) <= 6 and not _ends(text)
        heads = second.text[0].isupper() and _ends(group[-1].text) and text[0].isupper()
        plain = not (_ITEM.match(text) or _is_record(first) or _is_piped(first) or _is_code(first))
        listed = bool(_ITEM.match(second.text)) and first.indent == second.indent
        if not (few and plain and (heads or listed) and text[-1] not in ",-"):
            return None
        self._put_back(group[1:])
        return _Draft("heading", first.start, first.end, rank=("plain", 1))

    def _is_title(self, group: _Group) -> bool:
        """Tell whether the lines are the first heading: short, and centred or the very first."""
        if not self._is_early or len(group) > 3 or not self._groups:
            return False
        centred = all(line.indent >= self._base + 8 for line in group)
        lines_fit = all(line.length <= 100 and not _has_gap(line) for line in group)
        first, last = group[0].text, group[-1].text
        opens = first[0].isalnum() and not first[0].islower() and not _ends(last)
        return lines_fit and opens and (centred or (len(group) == 1 and not self._count))

    def _is_plain_heading(self, line: _Line, after: _Group) -> bool:
        """Tell whether it is a few words that begin with a capital, above a longer text."""
        text = line.text
        words = text.split()
        following = sum(item.length for item in after)
        return (
            line.length <= 60
            and len(words) <= 8
            and text[:1].isalpha()
            and not text[:1].islower()
            and text[-1] not in "\"'”’»"
            and line.indent <= self._base
            and not _is_field(line)
            and following > max(2 * line.length, 60)
        )


def _groups(text: str) -> Iterator[_Group]:
    """Yield the lines between empty ones. A page feed parts as an empty line does."""
    held: _Group = []
    for match in _TEXT_LINE.finditer(text):
        raw = match[1]
        stripped = raw.strip()
        if stripped:
            before = len(raw) - len(raw.lstrip())
            start = match.start() + before
            indent = len(raw[:before].expandtabs(8))
            held.append(_Line(start, start + len(stripped), indent, stripped[:_LOOKED_AT]))
        if held and (not stripped or match[2] == "\f" or len(held) == _GROUP_LINES):
            yield held
            held = []
    if held:
        yield held


def _base_indent(groups: Sequence[_Group]) -> int:
    """Return the indent of most of the text."""
    weights: dict[int, int] = {}
    for group in groups:
        for line in group:
            if line.length > 20:
                weights[line.indent] = weights.get(line.indent, 0) + line.length
    return max(weights, key=lambda indent: weights[indent]) if weights else 0


def _heading_name(text: str) -> tuple[int, int, bool] | None:
    """Rank of the word, where the rest begins, and whether a mark ends the number."""
    if match := _CJK_NAMED.match(text):
        after = text[match.end() :]
        bare = not after or after[0] in " 　（("
        return (
            (_CJK_RANKS[match[1]], match.end() + len(after) - len(after.lstrip(" 　")), True)
            if bare
            else None
        )
    match = _NAMED.match(text)
    if not match or not (match["name"][0].isupper() or match["name"][0] == "§"):
        return None
    name = match["name"].casefold()
    rank = next((place for place, names in enumerate(_NAMES) if name in names), None)
    if rank is None:
        return None
    return rank, match.end(), bool(match["mark"].strip())


def _match_underlined(group: _Group) -> tuple[int, str] | None:
    """Tell how many lines an underlined heading takes, and its mark."""
    above = len(group) > 2 and bool(_RULE.fullmatch(group[0].text))
    if len(group) < 2 or (above and group[0].text != group[2].text):
        return None
    title, below = (group[1], group[2]) if above else (group[0], group[1])
    mark = _RULE.fullmatch(below.text)
    if not mark or (mark[1] in ".+*" and not above) or _RULE.fullmatch(title.text):
        return None
    too_long = title.length > 120 or below.length < title.length / 2
    if too_long or _has_gap(title) or _ITEM.match(title.text):
        return None
    return (3 if above else 2), mark[1]


def _style(label: str, before: tuple[str, str]) -> tuple[str, str]:
    """Return number, letter, roman or bullet with its brackets, and what it counts with."""
    inner = label.strip("().")
    follows = before[0][:1] == "a" and len(inner) == 1 and ord(inner) == ord(before[1][-1]) + 1
    if inner.isdigit():
        kind = "1"
    elif _ROMAN.fullmatch(label) and not follows:
        kind = "i"
    elif inner.isalpha() and inner.isascii() and label != "o":
        kind = "a"
    else:
        return label, label
    return f"{kind}{'(' if label.startswith('(') else ''}{label[-1]}", inner


def _opens(label: str) -> bool:
    """Tell whether a list can begin with it."""
    return label.strip("().（）、") in ("1", "a", "i", "A", "一", "①", "o") or (
        not label[-1].isalnum() and len(label) == 1
    )


def _ends(text: str) -> bool:
    return bool(_LAST_IN_SENTENCE.search(text[-8:]))


def _is_capitalised(title: str) -> bool:
    """Tell whether all long words of a short title are, as in "Source Code."."""
    words = title.split()
    return len(words) <= 10 and all(word[0].isupper() or len(word) < 5 for word in words)


def _is_field(line: _Line) -> bool:
    return bool(_FIELD.match(line.text))


def _is_drawing(group: _Group) -> bool:
    lines = sum(bool(_ART.search(line.text)) for line in group)
    rules = sum(bool(_RULE.fullmatch(line.text)) for line in group) if lines else 0
    return (lines + rules) * 2 > len(group) > 1 and _count_leading(group, _is_piped) < len(group)


def _is_leader(line: _Line) -> bool:
    return bool(_LEADER.search(line.text))


def _is_piped(line: _Line) -> bool:
    return bool(_PIPED.match(line.text))


def _is_record(line: _Line) -> bool:
    return ";" in line.text and bool(_RECORD.match(line.text))


def _is_quoted(line: _Line) -> bool:
    return line.text.startswith(">") and not line.text.startswith(">>> ")


def _is_code(line: _Line) -> bool:
    return bool(_CODE_LINE.search(line.text) or _ART.search(line.text))


def _has_gap(line: _Line) -> bool:
    return bool(_GAP.search(line.text))


def _share(group: _Group, holds: _Test) -> float:
    return sum(holds(line) for line in group) / len(group)


def _count_leading(group: _Group, holds: _Test) -> int:
    """Tell how many lines from the first fulfil it."""
    return next((count for count, line in enumerate(group) if not holds(line)), len(group))


def _set_levels(drafts: Iterable[_Draft]) -> Iterator[BlockSpan]:
    """Yield headings get levels: below the title the named ones by their word, numbered ones by
    their number, underlined ones in the order of their marks, then capitals, then all others."""
    found = list(drafts)
    kinds = _heading_kinds([draft.rank for draft in found if draft.kind == "heading"])
    above, numbered = 0, False
    for draft in found:
        level = draft.level if draft.kind == "item" else 0
        if draft.kind == "heading":
            kind, depth = draft.rank
            level = kinds.get(draft.rank, 0)
            if kind == "number":
                numbered, above = True, level
            elif kind == "plain" and numbered and depth:
                level = above + 1
        yield BlockSpan(draft.kind, draft.start, draft.end, level, draft.label)


def _heading_kinds(ranks: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Return the level of each kind of heading."""
    order = dict.fromkeys(ranks)
    named = _order_kinds(ranks)
    lines = [rank for rank in order if rank[0].startswith("line")]
    marks = sorted(rank for rank in order if rank[0] == "mark")
    level = 1 if ("title", 0) in order else 0
    levels = {("title", 0): 1}
    for rank in (*lines, *marks, *named):
        level += 1
        levels[rank] = level
    for rank in order:
        if rank[0] == "number":
            levels[rank] = level + rank[1]
    numbered = any(rank[0] == "number" for rank in order)
    below = level + 2 if ("caps", 0) in order and not numbered else level + 1
    levels["caps", 0] = level + 1
    levels["plain", 0] = levels["plain", 1] = below
    return levels


def _order_kinds(ranks: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Order the named kinds, the widest first. Sections stand above articles where they are
    fewer."""
    named = [rank for rank in ranks if rank[0] == "named"]
    order = sorted(set(named))
    section, article = ("named", 2), ("named", 3)
    if section in order and article in order and named.count(section) > named.count(article):
        order[order.index(section)], order[order.index(article)] = article, section
    return order
