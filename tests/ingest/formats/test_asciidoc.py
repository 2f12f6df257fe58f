"""Reading AsciiDoc: what a reader of the page sees."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.ingest.document import Block
from tests.ingest.formats.reading import opened, read


def test_given_a_header_when_read_then_it_is_title_and_metadata(tmp_path: Path) -> None:
    source = (
        "= The *guide*\nAnn Example <ann@x.example>\nv1.2, 2024-03-01\n:toc:\n:lang: en\n:x: y\n\n"
        "[#start]\n== First part\n\nText of {x}.\n\nUnder\n~~~~~\n\nMore.\n"
    )
    parsed = opened(tmp_path, "a.adoc", source)
    assert parsed.title == "The guide"
    assert parsed.metadata == {
        "author": "Ann Example",
        "revnumber": "1.2",
        "revdate": "2024-03-01",
        "created": "2024-03-01",
        "lang": "en",
        "language": "en",
    }
    assert [(b.text, b.kind, b.level) for b in parsed.blocks] == [
        ("The guide", "heading", 1),
        ("First part", "heading", 2),
        ("Text of y.", "paragraph", 0),
        ("Under", "heading", 3),
        ("More.", "paragraph", 0),
    ]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("Some _text_ goes\n*on* and __o__n.", "Some text goes on and on."),
        ("Write `<a href` and `hl[14]` and +a*b*c+.", "Write `<a href` and `hl[14]` and a*b*c."),
        ("See https://x.example[the *site*] or link:a.html[that].", "See the site or that."),
        ("See <<part,the part>> and <<other>> at https://x.example.",
         "See the part and other at https://x.example."),
        ("Use --force, `git-add` or linkgit:git-rm[1] -- now.",
         "Use --force, `git-add` or git-rm(1) \u2014 now."),
        ("Press kbd:[Ctrl+C] at image:x.png[the door,20].", "Press Ctrl+C at the door."),
        ("A \\*star* and C{plus}{plus} stay; so do 2 * 3 * 4.",
         "A *star* and C++ stay; so do 2 * 3 * 4."),
        ("One +\ntwo", "One\ntwo"),
        ("The ``quoted'' word.", 'The "quoted" word.'),
    ],
)  # fmt: skip
def test_given_inline_marks_when_read_then_only_what_is_seen_is_left(
    tmp_path: Path, source: str, shown: str
) -> None:
    assert read(tmp_path, "a.adoc", source)[0].text == shown


def test_given_blocks_when_read_then_each_is_told(tmp_path: Path) -> None:
    source = """
.A title
[source,ruby]
----
puts "*a*" # <1>

b
----
<1> Says it.

NOTE: Take *care*.

[WARNING]
.Hot
====
Do not touch.

* an item
====

____
Was _said_.
____

....
a  |  b
....

////
a comment
////

include::x.adoc[]

image::x.png[A door]

'''

++++
<p>From <b>HTML</b></p>
++++
"""
    assert read(tmp_path, "a.adoc", source) == [
        Block('puts "*a*"\n\nb', "code", label="ruby"),
        Block("1. Says it.", "item", 1, label="1."),
        Block("Take care.", "admonition", label="note"),
        Block("Hot", "admonition", label="warning"),
        Block("Do not touch.", "admonition", label="warning"),
        Block("- an item", "item", 1, label="-"),
        Block("Was said.", "quote"),
        Block("a  |  b", "code"),
        Block("A door", "caption"),
        Block("From HTML"),
    ]


def test_given_lists_when_read_then_each_item_has_its_number_and_nesting(tmp_path: Path) -> None:
    source = """
. One
goes on
. Two
+
----
code
----
+
Joined.

** inner
** other
. Three

Term:: The *meaning*.
Other::

  Means more.
"""
    assert [(b.text, b.kind, b.level) for b in read(tmp_path, "a.adoc", source)] == [
        ("1. One goes on", "item", 1),
        ("2. Two", "item", 1),
        ("code", "code", 0),
        ("Joined.", "paragraph", 0),
        ("- inner", "item", 2),
        ("- other", "item", 2),
        ("3. Three", "item", 1),
        ("Term: The meaning.", "paragraph", 0),
        ("Other: Means more.", "paragraph", 0),
    ]


def test_given_a_table_when_read_then_each_row_names_its_columns(tmp_path: Path) -> None:
    source = """
.In days
[cols="1,2"]
|===
|Name |2018

|Ann
|`30`

|Bob |a \\| b
|===

[%header,format=csv]
|===
A,B
1,"x, y"
|===
"""
    assert read(tmp_path, "a.adoc", source) == [
        Block("In days", "caption"),
        Block("Name: Ann; 2018: `30`\nName: Bob; 2018: a | b", "table", label="In days"),
        Block("A: 1; B: x, y", "table"),
    ]


def test_given_an_include_when_read_then_no_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("TOPSECRET")
    text = " ".join(b.text for b in read(tmp_path, "a.adoc", "Hi.\n\ninclude::secret.txt[]\n"))
    assert "TOPSECRET" not in text


_PIECES = (
    "= ", "== ", "* ", ". ", "----", "====", "|===", "|", "\n", "\n\n", "+", "::", "`", "[source]",
    "<1> ", "*", "_", "{x}", "NOTE: ", ".", "wort ", "--", "////\n", "((",
)  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
def test_given_any_marks_when_read_then_blocks_have_text(
    tmp_path_factory: pytest.TempPathFactory, source: str
) -> None:
    found = read(tmp_path_factory.getbasetemp(), "any.adoc", f"wort wort\n\n{source}")
    assert found[0].text.startswith("wort wort")
    assert all(block.text.strip() for block in found)
