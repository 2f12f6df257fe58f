"""What introduces a block stays with it."""

import pytest

from ragstone.core.document import BlockSpan, decode_blocks, encode_blocks, find_missing_lead
from ragstone.ingest.chunk import chunk
from ragstone.ingest.document import Block
from ragstone.ingest.pictures import attach_leads


def make_item(text: str, label: str = "- ", level: int = 1) -> Block:
    return Block(label + text, "item", level, label=label)


def get_leads(*blocks: Block) -> list[str]:
    return [block.lead for block in attach_leads(blocks)]


@pytest.mark.parametrize(
    "line",
    [
        "The following are not covered:",
        "Nicht versichert sind:",
        "以下情况不予赔偿：",
        "We do not pay for what stands below.",
    ],
)
def test_every_item_of_a_list_has_the_sentence_before_it(line: str) -> None:
    blocks = [Block(f"Read this. {line}" if line.isascii() else line), make_item("skis")]

    leads = get_leads(*blocks, make_item("cash"))

    assert leads == ["", line, line]


def test_a_nested_item_has_the_item_above_it_too() -> None:
    leads = get_leads(
        Block("Not covered:"), make_item("sport"), make_item("skis", level=2), make_item("cash")
    )

    assert leads[2:] == ["Not covered:\nsport", "Not covered:"]


def test_a_heading_is_no_lead_as_it_is_the_section_s_title() -> None:
    blocks = [Block("Not covered:"), Block("Exclusions", "heading", 1), make_item("skis")]

    assert get_leads(*blocks) == ["", "", ""]


def test_a_second_list_does_not_have_the_lead_of_the_first() -> None:
    leads = get_leads(
        Block("Not covered:"), make_item("skis"), Block("Covered:"), make_item("luggage")
    )

    assert leads == ["", "Not covered:", "", "Covered:"]


def test_bullets_after_a_text_that_may_belong_to_the_item_before_have_no_lead() -> None:
    leads = get_leads(
        Block("Not covered:"), make_item("skis"), Block("Ask us first."), make_item("cash")
    )

    assert leads[-1] == ""


def test_a_numbered_list_goes_on_after_the_text_of_an_item() -> None:
    leads = get_leads(
        Block("To claim:"),
        make_item("call", "1. "),
        Block("They answer within a minute."),
        make_item("write", "2. "),
    )

    assert leads[-1] == "To claim:"


def test_what_follows_a_colon_has_its_lead_and_what_follows_that_has_none() -> None:
    leads = get_leads(Block("She said:"), Block("Never.", "quote"), Block("Then she left."))

    assert leads == ["", "She said:", ""]


def test_a_piece_that_begins_in_a_list_knows_what_introduces_it() -> None:
    blocks = [
        Block("The following are not covered:"),
        *(make_item(f"case {n} of many") for n in range(40)),
    ]

    *_, last = chunk(attach_leads(blocks), 200, 0)

    assert (
        find_missing_lead(last.text, last.blocks, 0, len(last.text))
        == "The following are not covered:"
    )


def test_a_lead_that_stands_in_the_same_text_is_not_missing() -> None:
    text = "Not covered:\n- skis"
    blocks = [
        BlockSpan("paragraph", 0, 12),
        BlockSpan("item", 13, 19, 1, "- ", lead="Not covered:"),
    ]

    assert find_missing_lead(text, blocks, 13, 19) == "Not covered:"
    assert find_missing_lead(text, blocks, 0, 19) == ""


def test_leads_survive_storage_and_are_written_once() -> None:
    blocks = tuple(
        BlockSpan("item", start, start + 5, 1, "- ", lead="Not covered:")
        for start in range(0, 50, 6)
    )

    stored = encode_blocks(blocks)

    assert decode_blocks(stored) == blocks
    assert stored.count("Not covered:") == 1


def test_what_stands_behind_an_item_with_a_colon_has_that_item_too() -> None:
    leads = get_leads(
        Block("Particulars of the contract:"), make_item("Amount payable:", "6. "),
        Block("$3,148,800"), make_item("Variations:", "7. "), Block("none"),
    )  # fmt: skip

    assert leads[2] == "Particulars of the contract:\nAmount payable:"
    assert leads[4] == "Particulars of the contract:\nVariations:"
