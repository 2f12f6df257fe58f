"""A conversation as a Word file says what its Markdown says."""

import io
import re
from zipfile import ZipFile

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.local.conversation_docx import write_docx

TEXT = """# Pumps

## How are they kept?

They are **dry** and *cool*, as `pump --dry` says [1].

- Rinse the filter
  - weekly
- Keep it

1. First
2. Second

| Part | Price |
| --- | --- |
| Filter | 3 € |

> Quoted.

```
pump --stop
```

Sources:

- [1] manual (/a.md, characters 1–9): “dry”
"""


def read(markdown: str) -> "docx.document.Document":
    return docx.Document(io.BytesIO(write_docx(markdown)))


def test_headings_lists_tables_and_code_stay_what_they_are() -> None:
    document = read(TEXT)

    styles = [(item.style.name, item.text) for item in document.paragraphs if item.style]
    assert styles == [
        ("Heading 1", "Pumps"),
        ("Heading 2", "How are they kept?"),
        ("Normal", "They are dry and cool, as pump --dry says [1]."),
        ("List Bullet", "Rinse the filter"),
        ("List Bullet 2", "weekly"),
        ("List Bullet", "Keep it"),
        ("List Continue", "1. First"),
        ("List Continue", "2. Second"),
        ("Intense Quote", "Quoted."),
        ("Normal", "pump --stop"),
        ("Normal", "Sources:"),
        ("List Bullet", "[1] manual (/a.md, characters 1–9): “dry”"),
    ]
    runs = document.paragraphs[2].runs
    assert [run.text for run in runs if run.bold] == ["dry"]
    assert [run.text for run in runs if run.italic] == ["cool"]
    [table] = document.tables
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["Part", "Price"],
        ["Filter", "3 €"],
    ]


def test_arabic_runs_from_right_to_left_and_chinese_does_not() -> None:
    arabic, chinese = read("الضمان 24 شهرا\n\n保修期为24个月").paragraphs

    assert "w:bidi" in arabic._p.xml
    assert "w:rtl" in arabic._p.xml
    assert chinese.text == "保修期为24个月"
    assert "w:bidi" not in chinese._p.xml


@pytest.mark.parametrize(
    "text",
    [
        "![x](http://evil.example/a.png)",
        "[click](http://evil.example)",
        "<http://evil.example>",
        '<img src="http://evil.example/a.png">',
        "[x]: http://evil.example\n\n[x]",
    ],
)
def test_nothing_in_the_file_leads_elsewhere(text: str) -> None:
    with ZipFile(io.BytesIO(write_docx(text))) as file:
        links = b"".join(file.read(name) for name in file.namelist() if name.endswith(".rels"))

    assert b"evil.example" not in links
    assert not re.search(rb'TargetMode="External"', links)


@given(st.text(max_size=300))
def test_any_text_makes_a_file_that_opens(text: str) -> None:
    read(text)
