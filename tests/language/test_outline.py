"""The blocks of a text, by the looks of its lines."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.outline import outline

LAW = """REGULATION ON EXAMPLES

Whereas:

(1)

Examples help those who read.

CHAPTER I

General provisions

Article 1

Subject-matter

1.   This Regulation lays down rules:

(a)

for examples;

(b) for cases.

2.   It does not apply elsewhere.

Article 2

Scope

As set out in Article 1 it applies.
"""

MEMO = """

Network Working Group                                        A. Author
Request for Comments: 1                                   Some Company

                        The Example Protocol

Status of this Memo

   This memo says what an example is. It goes on for two lines, which
   belong together.

1.  Introduction

   The client sends a request, and the server, which has waited for it

   answers without delay. The message looks like this:

         +----+------+
         |VER | SIZE |
         +----+------+

   Where:

      o  VER   the version
      o  SIZE  the size of what follows, in
         octets

Author                                                        [Page 1]

RFC 1                     Example Protocol                  March 1996

2.1.  Details

   More of it.
"""


def seen(text: str) -> list[tuple[str, int, str, str]]:
    return [
        (span.kind, span.level, span.label, " ".join(text[span.start : span.end].split()))
        for span in outline(text)
    ]


def test_given_a_law_when_outlined_then_articles_have_their_names_and_numbers_their_text() -> None:
    assert seen(LAW) == [
        ("heading", 1, "", "REGULATION ON EXAMPLES"),
        ("paragraph", 0, "", "Whereas:"),
        ("item", 1, "(1)", "(1) Examples help those who read."),
        ("heading", 2, "", "CHAPTER I General provisions"),
        ("heading", 3, "", "Article 1 Subject-matter"),
        ("item", 1, "1.", "1. This Regulation lays down rules:"),
        ("item", 2, "(a)", "(a) for examples;"),
        ("item", 2, "(b)", "(b) for cases."),
        ("item", 1, "2.", "2. It does not apply elsewhere."),
        ("heading", 3, "", "Article 2 Scope"),
        ("paragraph", 0, "", "As set out in Article 1 it applies."),
    ]


def test_given_a_memo_when_outlined_then_heads_and_drawings_are_no_prose() -> None:
    assert [(kind, level, text[:24]) for kind, level, _, text in seen(MEMO)] == [
        ("header", 0, "Network Working Group A."),
        ("heading", 1, "The Example Protocol"),
        ("heading", 2, "Status of this Memo"),
        ("paragraph", 0, "This memo says what an e"),
        ("heading", 2, "1. Introduction"),
        ("paragraph", 0, "The client sends a reque"),
        ("code", 0, "+----+------+ |VER | SIZ"),
        ("paragraph", 0, "Where:"),
        ("item", 1, "o VER the version"),
        ("item", 1, "o SIZE the size of what "),
        ("header", 0, "Author [Page 1]"),
        ("header", 0, "RFC 1 Example Protocol M"),
        ("heading", 3, "2.1. Details"),
        ("paragraph", 0, "More of it."),
    ]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        (
            "Section 1. All powers are vested in the council of the town and its mayor.",
            "Section 1.",
        ),
        (
            "SECTION 4. Term. Either party may end it at any time, and in writing.",
            "SECTION 4. Term.",
        ),
        ("§ 5. Die Frist beträgt vier Wochen, sofern nichts anderes vereinbart ist.", "§ 5."),
        ("Clause 12: Payment", "Clause 12: Payment"),
        ("Artículo 3. Objeto", "Artículo 3. Objeto"),
        ("第三条 当事人应当遵循公平原则确定各方的权利和义务。", "第三条"),
    ],
)
def test_given_a_numbered_clause_when_outlined_then_its_text_is_apart(
    line: str, heading: str
) -> None:
    text = f"{line}\n\nMore of the same, in a sentence of its own.\n"
    assert seen(text)[0][3] == heading
    assert " ".join(item[3] for item in seen(text)) == " ".join(text.split())


@pytest.mark.parametrize(
    "line",
    [
        "Article 8(1) of the Charter provides that everyone has the right to it.",
        "Section 4 of this document describes the rest.",
        "Chapter and verse are given below",
        "in 1994. The rest is history.",
    ],
)
def test_given_prose_about_a_clause_when_outlined_then_it_is_no_heading(line: str) -> None:
    text = f"{line}\nand goes on in another line, which is long enough."
    assert [kind for kind, *_ in seen(text)] == ["paragraph"]


def test_given_lists_when_outlined_then_each_item_is_one_with_its_nesting() -> None:
    text = "Shopping:\n1. Milk\n   and honey\n2. Bread\n   - rye\n   - wheat\n3. Salt\n"
    assert seen(text)[1:] == [
        ("item", 1, "1.", "1. Milk and honey"),
        ("item", 1, "2.", "2. Bread"),
        ("item", 2, "-", "- rye"),
        ("item", 2, "-", "- wheat"),
        ("item", 1, "3.", "3. Salt"),
    ]


@pytest.mark.parametrize(
    "last", ["6. The Project Secretary.", "6. The Secretary", "6. Everybody Else"]
)
def test_given_a_list_whose_last_item_looks_like_a_name_then_it_is_an_item(last: str) -> None:
    text = f"Who decides:\n\n5. A delegate, for a task;\n{last}\n\nThe rest is told below."

    assert [kind for kind, *_ in seen(text)] == ["paragraph", "item", "item", "paragraph"]


def test_given_a_numbered_name_apart_from_the_list_before_it_then_it_is_a_heading() -> None:
    text = "1. Parts\n\nThey are:\n\n1. A wheel;\n\n2. Assembly\n\nPut the wheel on the axle.\n"

    assert ("heading", "2. Assembly") in [(kind, said) for kind, _, _, said in seen(text)]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Title\n=====\nText of it.", ["heading", "paragraph"]),
        ("1 Intro ........ 3\n2 More . . . . . 9", ["table"]),
        (
            "Name      Days      Since\nAnn       30        1999\nBob       25        2004",
            ["table"],
        ),
        ("From: a@b.example\nTo: c@d.example\nSubject: Hi\n\nHello you.", ["header", "paragraph"]),
        ("> was said\n> before\n\nIndeed so.", ["quote", "paragraph"]),
        ("Run this:\n\n    $ pip install x\n    $ x --help", ["paragraph", "code"]),
        ("```sh\na\n\nb\n```\nThe end.", ["code", "paragraph"]),
        ("2026-01-01 12:00 INFO up\n2026-01-01 12:01 INFO down", ["code"]),
        ("One line.\n\n----------\n\nAnother.", ["paragraph", "header", "paragraph"]),
    ],
)
def test_given_a_kind_of_text_when_outlined_then_it_is_told(text: str, kinds: list[str]) -> None:
    assert [kind for kind, *_ in seen(text)] == kinds


_LINES = st.sampled_from(
    [
        *LAW.splitlines(),
        *MEMO.splitlines(),
        "```",
        "> a",
        "====",
        "\f",
        "   (b)",
        "| a | b |",
        "1.",
        "§ 5.",
    ]
)


@given(
    st.one_of(st.lists(_LINES).map("\n".join), st.text("aA1.()- \n\t\f|#>`=§第一条", max_size=200))
)
def test_given_any_text_when_outlined_then_every_character_is_in_one_block(text: str) -> None:
    spans = outline(text)
    assert all(span.start < span.end for span in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    covered = "".join(text[span.start : span.end] for span in spans)
    assert "".join(covered.split()) == "".join(text.split())
    assert all(not text[span.start].isspace() or span.kind == "code" for span in spans)
