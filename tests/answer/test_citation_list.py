"""The list of cited sources."""

import pytest

from ragstone.answer.citation_list import ListFormat, citation_list
from ragstone.core.source import Source


def a_source(number: int, title: str, path: str, page: int | None = None) -> Source:
    return Source(number, "d", "c", title, path, page, (), 0, 1, "x", 0.5)


CITED = [
    a_source(1, "", "/docs/report.pdf", 5),
    a_source(2, "Hours", "https://example.com/hours"),
]


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        (
            "markdown",
            "**[1]** report.pdf (Page 5)\n**[2]** Hours - [View](https://example.com/hours)",
        ),
        (
            "html",
            '<ol><li value="1">report.pdf (Page 5)</li><li value="2">Hours '
            '<a href="https://example.com/hours">View</a></li></ol>',
        ),
        ("plain", "[1] report.pdf (Page 5)\n[2] Hours"),
    ],
)
@pytest.mark.conforms(
    "RAG engine v1", "Citation generator", "Markdown, HTML and plain lists as printed"
)
def test_given_sources_then_one_line_for_every_source(form: ListFormat, lines: str) -> None:
    assert citation_list(CITED, form) == lines


def test_given_titles_that_hold_markup_then_it_is_shown_and_not_obeyed() -> None:
    hostile = [a_source(1, "<b>[x](http://evil.example)\n*y*", "javascript:alert(1)")]
    assert citation_list(hostile, "html") == (
        '<ol><li value="1">&lt;b&gt;[x](http://evil.example) *y*</li></ol>'
    )
    shown = citation_list(hostile, "markdown")
    assert shown == r"**[1]** \<b\>\[x\](http://evil.example) \*y\*"


def test_given_no_citation_then_an_empty_list() -> None:
    assert citation_list([], "plain") == ""
