"""What an extractive answer can be made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.extractive.units import LIST_CHARS, MAX_SENTENCE_CHARS, units
from ragstone.core.document import BlockKind, BlockSpan, announces


def shown(text: str) -> list[tuple[str, str, list[str]]]:
    return [
        (unit.form, text[unit.start : unit.end], [text[s.start : s.end] for s in unit.said])
        for unit in units(text)
    ]


def test_a_line_that_leads_in_a_list_stands_for_the_whole_list() -> None:
    text = "You need:\n- a passport\n- a photo\nThen wait."
    lead, *items, after = shown(text)
    assert lead == ("list", "You need:", ["You need:", "- a passport", "- a photo"])
    assert [form for form, *_ in items] == ["sentence", "sentence"]
    assert after[1] == "Then wait."


@pytest.mark.parametrize(
    "text",
    [
        "Nachweise:\n1. Ausweis\n2. Foto",
        "需要以下材料：\n1. 护照\n2. 照片",
        "必要なもの：\n・旅券\n・写真",
        "Needed documents\n* passport\n* photo",
        "Needed:\n\n(a) passport\n(b) photo",
    ],
)
def test_lists_in_many_shapes_are_kept_whole(text: str) -> None:
    first = shown(text)[0]
    assert first[0] == "list"
    assert "".join(first[2]) == text.replace("\n", "")


def test_a_picture_between_a_heading_and_its_list_takes_nothing_from_it() -> None:
    text = "Tools menu\ntools_menu.png\n- Measure\n- Print"
    kinds: list[tuple[BlockKind, str]] = [
        ("heading", "Tools menu"),
        ("caption", "tools_menu.png"),
        ("item", "- Measure"),
        ("item", "- Print"),
    ]
    blocks = [BlockSpan(k, text.index(t), text.index(t) + len(t)) for k, t in kinds]
    first = units(text, blocks)[0]
    assert first.form == "list"
    assert [text[s.start : s.end] for s in first.said] == ["Tools menu", "- Measure", "- Print"]


def test_an_endless_list_is_said_up_to_a_limit() -> None:
    text = "Needed:\n" + "\n".join(f"- thing number {i} of the list" for i in range(1000))
    assert 10 < sum(map(len, shown(text)[0][2])) <= LIST_CHARS


@pytest.mark.parametrize("rule", ["", "|---|---|\n"])
def test_a_row_brings_its_header_along(rule: str) -> None:
    text = f"| Name | Days |\n{rule}| Ann | 12 |\n| Bob | 30 |"
    assert shown(text) == [
        ("row", "| Ann | 12 |", ["| Name | Days |", "| Ann | 12 |"]),
        ("row", "| Bob | 30 |", ["| Name | Days |", "| Bob | 30 |"]),
    ]


def test_rows_that_name_their_cells_or_have_no_header_stand_alone() -> None:
    text = "Region: North; Sales: 12; Year: 2020\n\nAnn | 12\nBob | 30"
    assert [said for *_, said in shown(text)] == [
        ["Region: North; Sales: 12; Year: 2020"],
        ["Ann | 12"],
        ["Bob | 30"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Q: How long does it take?\nA: Two weeks. We write.\nQ: What does it cost?\nA: 5 euros.",
        "How long does it take?\n\nTwo weeks. We write.\n\nWhat does it cost?\n\n5 euros.",
    ],
)
def test_a_question_stands_for_its_answer_up_to_the_next_question(text: str) -> None:
    answers = [said for form, _, said in shown(text) if form == "answer"]
    assert answers == [["Two weeks.", "We write."], ["5 euros."]]


def test_a_line_that_says_nothing_is_a_heading() -> None:
    found = shown("Opening hours\nWe open at nine.")
    assert [form for form, *_ in found] == ["heading", "sentence"]


def test_a_heading_stands_for_the_beginning_of_its_section() -> None:
    text = "Keys\nUse a command for them.\nrun x\nMore text.\nLocks\nOther text is here."
    kinds: list[tuple[BlockKind, str]] = [
        ("heading", "Keys"),
        ("paragraph", "Use a command for them."),
        ("code", "run x"),
        ("paragraph", "More text."),
        ("heading", "Locks"),
        ("paragraph", "Other text is here."),
    ]
    blocks = [BlockSpan(k, text.index(t), text.index(t) + len(t)) for k, t in kinds]
    said = {
        text[unit.start : unit.end]: [text[s.start : s.end] for s in unit.said]
        for unit in units(text, blocks)
    }
    assert said["Keys"] == ["Use a command for them.", "run x"]
    assert said["Locks"] == ["Other text is here."]
    assert said["Use a command for them."] == ["Use a command for them.", "run x"]


def test_code_is_said_with_the_name_of_its_tab() -> None:
    text = "On Linux\nrun x\nOn Windows\nrun y"
    kinds: list[tuple[BlockKind, str]] = [
        ("caption", "On Linux"),
        ("code", "run x"),
        ("caption", "On Windows"),
        ("code", "run y"),
    ]
    blocks = [BlockSpan(k, text.index(t), text.index(t) + len(t)) for k, t in kinds]
    code = [unit for unit in units(text, blocks) if unit.form == "code"]
    assert [item.context for item in code] == ["On Linux", "On Windows"]
    assert [[text[s.start : s.end] for s in item.said] for item in code] == [
        ["On Linux", "run x"],
        ["On Windows", "run y"],
    ]


@pytest.mark.parametrize("mark", ["[3]", " 「111」", "²", " (12) [4]"])
def test_the_mark_of_a_note_behind_the_colon_hides_no_list(mark: str) -> None:
    lead, *_ = shown(f"Vous avez besoin de :{mark}\n\n- un passeport\n- une photo\n")
    assert lead[0] == "list"
    assert len(lead[2]) == 3


def test_a_time_at_the_end_of_a_line_announces_nothing() -> None:
    assert not announces("The ferry leaves at 10:30")


def test_a_line_with_a_colon_brings_the_paragraph_it_leads_to() -> None:
    text = "The proposal was defeated:\n\nFor 19 Against 97.\nAbstain 2.\n\nSignatures."
    said = [said for _, _, said in shown(text)]
    assert said[0] == ["The proposal was defeated:", "For 19 Against 97.", "Abstain 2."]
    assert said[1] == ["For 19 Against 97."]
    assert shown("He said: go. Then he left.")[0][2] == ["He said: go."]


def test_a_line_without_end_is_divided_where_words_or_clauses_end() -> None:
    pieces = [text for _, text, _ in shown("the mill, built in 1871; " * 400)]
    assert len(pieces) > 5
    assert all(len(piece) <= MAX_SENTENCE_CHARS and piece.endswith((";", ",")) for piece in pieces)


@given(st.text(alphabet="ab A.?:|-1\n;。？", max_size=150))
def test_units_are_in_order_apart_and_say_what_stands_in_the_text(text: str) -> None:
    last = 0
    for unit in units(text):
        assert last <= unit.start < unit.end <= len(text)
        assert unit.said
        assert all(0 <= span.start < span.end <= len(text) for span in unit.said)
        last = unit.end


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["- a\n", "a | b\n", "a?\n", "a: ", "x", "a:\n", "|", "; "])
def test_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    units(piece * (20_000 // len(piece)))
