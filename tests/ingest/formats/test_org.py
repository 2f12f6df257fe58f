"""Org: what its marks mean, and that nothing between them is lost."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.plugins.formats.org import _inline, _markdown_lines
from tests.ingest.formats.reading import opened, read

OUTLINE = """#+TITLE: Pump manual
#+AUTHOR: Ann Lee
#+FILETAGS: :pumps:valves:

* Starting :work:
:PROPERTIES:
:ID: 4711
:END:
Press the *green* button, see [[https://x.example][the page]].
- Open valve A.
** Limits
| Part  | Limit |
|-------+-------|
| Pump  | 5 bar |
#+begin_src sh
pump --start
* not a heading
#+end_src
#+BEGIN_QUOTE
Never run dry.
#+END_QUOTE
# a remark of the author
"""


def test_given_an_outline_when_read_then_its_parts_are_known(tmp_path: Path) -> None:
    parsed = opened(tmp_path, "a.org", OUTLINE)

    assert parsed.title == "Pump manual"
    assert parsed.metadata == {"author": "Ann Lee", "keywords": ["pumps", "valves"]}
    assert [(block.kind, block.level, block.text) for block in parsed.blocks] == [
        ("heading", 1, "Starting"),
        ("paragraph", 0, "Press the green button, see the page."),
        ("item", 1, "- Open valve A."),
        ("heading", 2, "Limits"),
        ("table", 0, "Part: Pump; Limit: 5 bar"),
        ("code", 0, "pump --start\n* not a heading"),
        ("paragraph", 0, "Never run dry."),
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("The limit is +4 bar+ 5 bar.", "The limit is 5 bar."),
        ("3*4*5 and a_b_c", "3*4*5 and a_b_c"),
        ("/usr/bin/pump and A/B", "/usr/bin/pump and A/B"),
        ("Set =a_b*c= first", "Set `a_b*c` first"),
        ("below <5 bar", "below <5 bar"),
    ],
    ids=["struck out", "signs of Markdown", "paths", "code", "an angle bracket"],
)
def test_given_marks_in_a_line_when_read_then_the_text_is_as_it_is_shown(
    tmp_path: Path, source: str, text: str
) -> None:
    assert [block.text for block in read(tmp_path, "a.org", source)][:1] == [text]


@given(st.text(alphabet="ab *_/+=~[]|#\n-:", max_size=80))
def test_no_letter_of_a_text_is_lost(text: str) -> None:
    lines = [line for line in text.split("\n") if not line.startswith(("#", " ", ":"))]
    for line in lines:
        assert _inline(line).count("a") == line.count("a") or "[[" in line
    list(_markdown_lines(text.splitlines(), {}))


def test_footnotes_and_a_table_behind_a_list_are_blocks_of_their_own(tmp_path: Path) -> None:
    source = (
        "The boat has 31[fn:1] seats.\n- [ ] Export\n| Quay | Length |\n|---+---|\n"
        "| North | 412 |\n[fn:1] Without the crew.\n"
    )
    assert [(block.kind, block.text) for block in read(tmp_path, "a.org", source)] == [
        ("paragraph", "The boat has 31 seats."),
        ("item", "- ☐ Export"),
        ("table", "Quay: North; Length: 412"),
        ("paragraph", "Footnote: Without the crew."),
    ]
