"""Reading Markdown and MDX: what a reader of the page sees, and nothing of the marks."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.ingest.document import Block
from ragstone.ingest.formats.markdown import markdown_blocks
from ragstone.ingest.formats.struck import StruckText
from tests.ingest.formats.reading import opened, read


def blocks(source: str, is_mdx: bool = False) -> list[Block]:
    return list(StruckText().apply(markdown_blocks(source, is_mdx)))


def test_given_front_matter_when_read_then_it_is_title_and_metadata_and_no_text(
    tmp_path: Path,
) -> None:
    source = (
        "---\ntitle: 'The guide: all'\nauthor: Ann\ndate: 2024-03-01\ntags: [a, b]\ndraft: false\n"
        "weight: 3\nseo:\n  robots: none\n---\n\n# Start\n\nText.\n"
    )
    parsed = opened(tmp_path, "a.md", source)
    assert parsed.title == "The guide: all"
    assert parsed.metadata == {
        "author": "Ann",
        "date": "2024-03-01",
        "created": "2024-03-01",
        "tags": ["a", "b"],
        "keywords": ["a", "b"],
        "draft": False,
        "weight": 3,
        "seo.robots": "none",
    }
    assert list(parsed.blocks) == [Block("Start", "heading", 1), Block("Text.")]


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("Intro.\n\n## Second\n\n# First\n\nText.", "First"),
        ("+++\ntitle = 'In TOML'\n+++\n# Other\n", "In TOML"),
        ("---\ntitle: Of: a kind that is not YAML\n---\n# Other\n", "Of: a kind that is not YAML"),
        ("Only text.", "name"),
    ],
)
def test_given_a_page_when_read_then_its_title_is_found(
    tmp_path: Path, source: str, title: str
) -> None:
    assert opened(tmp_path, "name.md", source).title == title


def test_given_aliases_that_grow_when_read_then_they_are_not_followed(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    parsed = opened(tmp_path, "a.md", "---\n" + "\n".join(lines) + "\n---\nText.")
    assert [block.text for block in parsed.blocks] == ["Text."]
    assert all(len(str(value)) < 100 for value in parsed.metadata.values())


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("Some *text*\ngoes **on** ~~not~~.", "Some text goes on."),
        ("The fee is ~~30~~ <del>40</del> 45 euros.", "The fee is 45 euros."),
        ("412<sup>7</sup> tonnes, H<sub>2</sub>O, the 1<sup>st</sup>", "412⁷ tonnes, H₂O, the 1st"),
        (
            "Write `<a href` and `hl[14]` and `` a`b ``.",
            "Write `<a href` and `hl[14]` and ``a`b``.",
        ),
        ("See [the *guide*](https://x.example/a_b).", "See the guide."),
        ("See <https://x.example/a_b>.", "See https://x.example/a_b."),
        ("An ![icon of a door](x.png) opens.", "An icon of a door opens."),
        ("R&amp;D at 5 &lt; 6 \\*not bold\\*", "R&D at 5 < 6 *not bold*"),
        ('A link{:target="_blank"} and [b](c){ .md-button }.', "A link and b."),
        ("Keep `{ #this }` and {curly} words.", "Keep `{ #this }` and {curly} words."),
        ("See [`Foo.bar`][pkg.Foo.bar] and [that][x.y].", "See `Foo.bar` and that."),
        ("Press ++ctrl+c++ in ==this== :material-check: case.", "Press ctrl+c in this case."),
        ("C++ and i++ and a == b stay.", "C++ and i++ and a == b stay."),
        ("{ref}`the title <target>` or {class}`Foo`.", "the title or `Foo`."),
        ("It is <kbd>Enter</kbd> or<br>more <!-- hidden -->text.", "It is Enter or\nmore text."),
        ("A note[^1] here.\n\n[^1]: The note.", "A note here."),
        ("第一行\n第二行", "第一行第二行"),
        ("[[Page name|shown]] and [[Other]]", "shown and Other"),
    ],
)
def test_given_inline_marks_when_read_then_only_what_is_seen_is_left(
    source: str, shown: str
) -> None:
    assert blocks(source)[0].text == shown


@pytest.mark.parametrize(
    "source",
    [
        "{* ../../docs_src/first.py hl[14] *}",
        "[TOC]",
        "--8<-- 'snippet.md'",
        "import Tabs from '@theme/Tabs';\nimport Item from '@theme/Item';",
        "<!-- a comment\n\nof lines -->",
        "::: package.module\n    options: x",
        "{% include 'x.html' %}",
        "***",
    ],
)
def test_given_instructions_to_a_site_generator_when_read_then_they_are_no_text(
    source: str,
) -> None:
    assert [block.text for block in blocks(f"Before.\n\n{source}\n\nAfter.")][::2] in (
        ["Before."],
        ["Before.", "After."],
    )
    assert {block.text for block in blocks(f"Before.\n\n{source}\n\nAfter.")} <= {
        "Before.",
        "After.",
        "options: x",
    }


def test_given_headings_when_read_then_they_have_level_and_anchor() -> None:
    assert blocks("# A & *b* { #first .x }\n\nUnder\n-----\n\n### `c` {#third}\n") == [
        Block("A & b", "heading", 1, label="first"),
        Block("Under", "heading", 2),
        Block("c", "heading", 3, label="third"),
    ]


def test_given_code_when_read_then_it_is_exact_with_its_language() -> None:
    source = (
        '```python title="a.py" hl_lines="1"\n# no **heading**\nx = 1\n\n\ty = `2`\n```\n\n'
        "``` { .sh .annotate }\n$ go\n```\n\n    indented <b>\n\n"
        "1. Do:\n\n    ```js\n    f();\n    ```\n"
    )
    assert blocks(source) == [
        Block("# no **heading**\nx = 1\n\n\ty = `2`", "code", label="python"),
        Block("$ go", "code", label="sh"),
        Block("indented <b>", "code"),
        Block("1. Do:", "item", 1, label="1."),
        Block("f();", "code", label="js"),
    ]


def test_given_lists_when_read_then_each_item_has_its_number_and_nesting() -> None:
    source = (
        "3. One\n   goes on\n4. Two\n   * inner **a**\n     1) deep\n   * inner b\n\n"
        "- [x] done\n- [ ] open\n"
    )
    assert [(block.text, block.level, block.label) for block in blocks(source)] == [
        ("3. One goes on", 1, "3."),
        ("4. Two", 1, "4."),
        ("- inner a", 2, "-"),
        ("1) deep", 3, "1)"),
        ("- inner b", 2, "-"),
        ("- ☑ done", 1, "-"),
        ("- ☐ open", 1, "-"),
    ]


def test_given_a_table_when_read_then_each_row_names_its_columns() -> None:
    source = (
        "| Name | Days |\n|------|-----:|\n| Ann \\| B | `30` |\n| **Bob** |  |\n\n"
        "|  | 2018 |\n|--|--|\n| Sales | 5 |\n"
    )
    assert [block.text for block in blocks(source)] == [
        "Name: Ann | B; Days: `30`\nName: Bob",
        "Sales; 2018: 5",
    ]


@pytest.mark.parametrize(
    "source",
    [
        '!!! warning\n\n    Take *care*.\n\n    - and so\n\n!!! warning ""\n    Last.\n',
        '???+ warning "Warning"\n    Take *care*.\n\n    - and so\n\n    Last.\n\n',
        ":::warning\n\nTake *care*.\n\n- and so\n\nLast.\n\n:::\n",
        "> [!WARNING]\n> Take *care*.\n>\n> - and so\n>\n> Last.\n",
        "```{warning}\nTake *care*.\n\n- and so\n\nLast.\n```\n",
        ":::{warning}\nTake *care*.\n\n- and so\n\nLast.\n:::\n",
    ],
)
def test_given_a_note_of_any_dialect_when_read_then_it_is_one(source: str) -> None:
    assert blocks(f"Before.\n\n{source}\nAfter.") == [
        Block("Before."),
        Block("Take care.", "admonition", label="warning"),
        Block("- and so", "item", 1, label="-"),
        Block("Last.", "admonition", label="warning"),
        Block("After."),
    ]


def test_given_a_note_with_a_title_when_read_then_the_title_is_kept() -> None:
    assert [
        block.text for block in blocks(':::tip[Use it]\nNow.\n:::\n\n!!! tip "Or not"\n    So.')
    ] == [
        "Use it",
        "Now.",
        "Or not",
        "So.",
    ]


def test_given_tabs_when_read_then_their_text_is_read_as_text() -> None:
    source = (
        '=== "macOS"\n\n    Run *this*:\n\n    ```sh\n    go\n    ```\n\n=== "Windows"\n\n    No.\n'
    )
    assert blocks(source) == [
        Block("macOS", "caption"),
        Block("Run this:"),
        Block("go", "code", label="sh"),
        Block("Windows", "caption"),
        Block("No."),
    ]


def test_given_a_quote_and_pictures_when_read_then_they_are_told() -> None:
    source = "> Said *so*.\n\n[![A badge](a.svg)](b)\n\n<img src='x.png' alt='A door'>\n"
    assert blocks(source) == [
        Block("Said so.", "quote"),
        Block("A badge", "caption"),
        Block("A door", "caption"),
    ]


def test_given_html_when_read_then_it_is_read_as_html() -> None:
    source = (
        "<details>\n<summary>More &amp; more</summary>\n\nInner **text**.\n\n</details>\n\n"
        "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>x</td></tr></table>\n"
    )
    assert blocks(source) == [
        Block("More & more"),
        Block("Inner text."),
        Block("A: 1; B: x", "table"),
    ]


def test_given_mdx_when_read_then_components_are_gone_and_their_text_stays(tmp_path: Path) -> None:
    source = (
        "import X from 'y';\n\nexport const a = 1;\n\n# Hello\n\n<Tabs>\n"
        '<TabItem value="mac" label="macOS">\n\nRun **it**.\n\n</TabItem>\n</Tabs>\n\n'
        "<Card>Inside</Card>\n\n{props.value}\n\nAn <Icon name='x'/> inline.\n"
    )
    assert read(tmp_path, "a.mdx", source) == [
        Block("Hello", "heading", 1),
        Block("macOS", "caption"),
        Block("Run it."),
        Block("Inside"),
        Block("An inline."),
    ]


def test_given_terms_when_read_then_each_stands_with_its_meaning() -> None:
    assert blocks("Leave\n:   Days *off*.\n\nPay\n:   Money.\n") == [
        Block("Leave: Days off.", label="Leave"),
        Block("Pay: Money.", label="Pay"),
    ]


_PIECES = [
    "# ",
    "> ",
    "- ",
    "1. ",
    "```",
    "\n",
    "\n\n",
    "    ",
    "**",
    "`",
    "[a](b)",
    "!!! note",
    ":::tip\n",
    "|a|b|\n|-|-|\n|c|d|\n",
    "<div>",
    "</div>",
    "{#a}",
    '=== "x"',
    "[^1]",
    "wort ",
    "---\n",
    "&lt;",
    "![",
    "\\",
]


def test_given_code_in_a_heading_or_title_when_read_then_it_is_plain(tmp_path: Path) -> None:
    parsed = opened(tmp_path, "a.md", "# The `run` command\n\n## `--force`\n\nText.")
    assert parsed.title == "The run command"
    assert [block.text for block in parsed.blocks] == ["The run command", "--force", "Text."]
    assert opened(tmp_path, "b.md", "---\ntitle: Use `x`\n---\nText.").title == "Use x"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("See **`a`**`b`.", "See `ab`."),
        ("It is <code>x &lt; [1]</code> or <tt>y</tt>.", "It is `x < [1]` or `y`."),
        ("An unclosed <code>x.", "An unclosed x."),
        ("Marked ==`a` b==.", "Marked `a` b."),
    ],
)
def test_given_code_beside_other_marks_when_read_then_it_is_one_span(
    source: str, shown: str
) -> None:
    assert blocks(source)[0].text == shown


@given(st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
def test_given_any_marks_when_read_then_blocks_have_text(source: str) -> None:
    found = blocks(source)
    assert all(block.text.strip() for block in found)
    words = "".join(block.text for block in found).lower().count("wort")
    named = any(block.kind == "table" for block in found)  # its rows repeat the columns' names
    assert words == source.count("wort") or (
        ("```" in source and words < source.count("wort")) or (named and words > 0)
    )


def test_given_equal_cells_when_read_then_each_stands_below_its_name() -> None:
    (table,) = blocks("| Monday | Tuesday |\n| --- | --- |\n| closed | closed |\n")
    assert table.text == "Monday: closed; Tuesday: closed"


def test_given_a_heading_of_a_picture_alone_then_the_title_is_the_first_heading_in_words(
    tmp_path: Path,
) -> None:
    parsed = opened(tmp_path, "a.md", "# ![The house logo](l.png)\n\n# Pumps\n\nThey run.\n")
    assert parsed.title == "Pumps"
    assert [(block.kind, block.text) for block in parsed.blocks] == [
        ("caption", "The house logo"),
        ("heading", "Pumps"),
        ("paragraph", "They run."),
    ]
