"""Tables of PDF pages that hold words alone and are not ruled: columns that stay in place."""

from collections.abc import Sequence
from pathlib import Path

from ragstone.ingest.document import Block
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.pdf_files import Placed, Ruled, placed_pdf

COLUMNS = (72.0, 220.0, 380.0)


def row(top: float, *texts: str, font: str = "F3") -> list[Placed]:
    return [
        Placed(left, top, text, font=font)
        for left, text in zip(COLUMNS, texts, strict=False)
        if text
    ]


def read(path: Path, items: Sequence[Placed | Ruled]) -> list[Block]:
    return list(parse(placed_pdf(path / "a.pdf", [items]), IngestSettings()).blocks)


def rows(path: Path, items: Sequence[Placed | Ruled]) -> list[str]:
    blocks = read(path, items)
    return [line for block in blocks if block.kind == "table" for line in block.text.splitlines()]


BODY = [
    *row(114, "Guest", "titles", "nothing"),
    *row(128, "Editor", "all of a team", "drafts"),
    *row(142, "Owner", "everything", "everything"),
]


def test_given_a_bold_head_over_words_when_read_then_it_names_the_columns(tmp_path: Path) -> None:
    items = [*row(100, "Role", "May read", "May write", font="F2"), *BODY]
    assert rows(tmp_path, items) == [
        "Role: Guest; May read: titles; May write: nothing",
        "Role: Editor; May read: all of a team; May write: drafts",
        "Role: Owner; May read: everything; May write: everything",
    ]


def test_given_a_line_under_the_head_when_read_then_it_names_the_columns(tmp_path: Path) -> None:
    items = [*row(100, "Role", "May read", "May write"), Ruled(72, 104, 470, 104), *BODY]
    assert rows(tmp_path, items)[0] == "Role: Guest; May read: titles; May write: nothing"


def test_given_no_head_when_read_then_words_of_a_row_stay_together(tmp_path: Path) -> None:
    assert rows(tmp_path, BODY)[0] == "Guest | titles | nothing"


def test_given_cells_over_several_lines_when_read_then_each_row_is_one(tmp_path: Path) -> None:
    items = [*row(100, "Alarm", "press the red"), *row(112, "", "button twice")]
    items += [*row(132, "Fire", "leave by the"), *row(144, "", "stairs")]
    items += [*row(164, "Leak", "call the"), *row(176, "", "caretaker")]
    assert rows(tmp_path, items) == [
        "Alarm | press the red button twice",
        "Fire | leave by the stairs",
        "Leak | call the caretaker",
    ]


def test_given_prose_in_two_columns_when_read_then_it_is_no_table(tmp_path: Path) -> None:
    left = "the whale sings in the deep sea"
    right = "and nobody on the coast can say"
    items = [
        Placed(x, 100 + 12 * i, text) for i in range(3) for x, text in ((72, left), (320, right))
    ]
    assert not rows(tmp_path, items)


def test_given_boxes_before_the_items_of_a_list_when_read_then_it_is_no_table(
    tmp_path: Path,
) -> None:
    items = [
        Placed(x, 100 + 14 * i, text)
        for i, word in enumerate(("paid", "sent", "received"))
        for x, text in ((72, "[ ]"), (120, f"The goods were {word}."))
    ]
    assert not rows(tmp_path, items)
