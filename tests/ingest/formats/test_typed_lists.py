"""Lists whose letters and numbers are typed by hand, in formats that do not know them as lists."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import docx
import pytest

from ragstone.ingest.document import Block
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings


def read_docx(folder: Path, paragraphs: Sequence[str]) -> list[Block]:
    document = docx.Document()
    for text in paragraphs:
        document.add_paragraph(text)
    made = BytesIO()
    document.save(made)
    return read(folder / "a.docx", made.getvalue())


def read(path: Path, data: bytes) -> list[Block]:
    path.write_bytes(data)
    return list(parse(path, IngestSettings()).blocks)


def items(blocks: Sequence[Block]) -> list[tuple[str, int]]:
    return [(block.label, block.level) for block in blocks if block.kind == "item"]


@pytest.mark.parametrize(
    ("paragraphs", "labels"),
    [
        (["Members are:", "a) owners;", "b) suppliers;", "c) friends."], ["a)", "b)", "c)"]),
        (["登记事项包括：", "（一）名称；", "（二）住所；"], ["（一）", "（二）"]),
        (["Подаются:", "а) заявление;", "б) договор."], ["а)", "б)"]),
        (["Stages are:", "(i) planning", "(ii) work", "(iii) handover"], ["(i)", "(ii)", "(iii)"]),
        (["Der Anspruch entfällt, wenn der Mieter", "1. kündigt,", "2. auszieht."], ["1.", "2."]),
        (["提出するもの：", "1．申込書", "2．写真"], ["1．", "2．"]),
    ],
    ids=["letters", "chinese", "cyrillic", "roman", "without a colon", "wide stops"],
)
def test_given_a_typed_list_when_read_then_its_paragraphs_are_items(
    tmp_path: Path, paragraphs: list[str], labels: list[str]
) -> None:
    blocks = read_docx(tmp_path, paragraphs)

    assert items(blocks) == [(label, 1) for label in labels]
    assert [block.text for block in blocks] == paragraphs


def test_given_a_list_within_an_item_when_read_then_it_is_deeper(tmp_path: Path) -> None:
    blocks = read_docx(
        tmp_path,
        ["It holds for:", "1. tenants", "2. owners who", "a) live here", "b) let rooms",
         "3. guests", "Others pay for:", "a) water", "b) light"],
    )  # fmt: skip

    assert items(blocks) == [
        ("1.", 1), ("2.", 1), ("a)", 2), ("b)", 2), ("3.", 1), ("a)", 1), ("b)", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "paragraphs",
    [
        ["(1) Leave is 24 days.", "(2) Sundays do not count."],
        ["He came with:", "a) one thing only.", "Then he left."],
        ["See the annex.", "b) is left out", "c) holds"],
        ["It was so:", "I. Newton wrote it.", "A. Einstein read it."],
        ["Dates:", "1. May", "3. June"],
    ],
    ids=["sections", "one item", "no beginning", "initials", "no sequence"],
)
def test_given_no_list_when_read_then_paragraphs_stay(
    tmp_path: Path, paragraphs: list[str]
) -> None:
    assert items(read_docx(tmp_path, paragraphs)) == []


def test_given_a_typed_list_in_markdown_when_read_then_it_is_one(tmp_path: Path) -> None:
    text = "No return of goods that are:\n\n（一）fresh;\n\n（二）opened;\n\nAll else may be.\n"

    blocks = read(tmp_path / "a.md", text.encode())

    assert items(blocks) == [("（一）", 1), ("（二）", 1)]
    assert blocks[-1].kind == "paragraph"


def test_given_thousands_of_openings_when_read_then_all_text_is_there(tmp_path: Path) -> None:
    text = "\n\n".join("a) so:" for _ in range(20_000))

    blocks = read(tmp_path / "a.md", f"Lead:\n\n{text}\n".encode())

    assert len(blocks) == 20_001
