"""Tables of PDF pages, which no rules or marks show: rows and columns by alignment."""

from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragstone.core.document import Box
from ragstone.ingest.document import Block
from ragstone.ingest.formats.pdf_heads import read_names
from ragstone.ingest.formats.pdf_layout import Cell, Row
from ragstone.ingest.formats.pdf_lines import join_boxes
from ragstone.ingest.parse import parse
from ragstone.settings import IngestSettings
from tests.ingest.pdf_files import Placed, placed_pdf, right

LEFT = 72.0
EDGES = (380.0, 460.0, 540.0)
"""Where the figures of three columns end."""


def row(top: float, label: str, *values: str, indent: float = 0) -> list[Placed]:
    cells = [right(edge, top, value) for edge, value in zip(EDGES, values, strict=False) if value]
    return [Placed(LEFT + indent, top, label), *cells] if label else cells


def tables(path: Path, items: Sequence[Placed]) -> list[Block]:
    return [block for block in read(path, items) if block.kind == "table"]


def read(path: Path, items: Sequence[Placed]) -> list[Block]:
    return list(parse(placed_pdf(path / "a.pdf", [items]), IngestSettings()).blocks)


def lines(path: Path, items: Sequence[Placed]) -> list[str]:
    (table,) = tables(path, items)
    return table.text.splitlines()


def test_given_years_over_columns_when_read_then_each_row_repeats_them(tmp_path: Path) -> None:
    items = row(100, "", "2023", "2022") + row(114, "Net sales", "1,200", "1,100")
    items += row(128, "Cost of sales", "(340)", "—")
    assert lines(tmp_path, items) == [
        "Net sales; 2023: 1,200; 2022: 1,100",
        "Cost of sales; 2023: (340); 2022: —",
    ]


def test_given_a_head_of_two_levels_when_read_then_both_name_the_column(tmp_path: Path) -> None:
    spans = [Placed(354, 100, "Year Ended May 31,"), Placed(490, 114, "% Change")]
    items = [*spans, *row(114, "", "2023", "2022"), *row(128, "Sales", "12", "11", "9%")]
    items += row(142, "Profit", "2", "1", "100%")
    names = "Year Ended May 31, 2023: 12; Year Ended May 31, 2022: 11; % Change: 9%"
    assert lines(tmp_path, items)[0] == f"Sales; {names}"


def test_given_a_wrapped_name_of_a_column_when_read_then_it_is_one(tmp_path: Path) -> None:
    head = [right(380, 100, "Total"), right(380, 112, "stores"), right(460, 112, "Opened")]
    items = [*head, *row(126, "North", "938", "2"), *row(140, "South", "16", "-")]
    assert lines(tmp_path, items) == [
        "North; Total stores: 938; Opened: 2",
        "South; Total stores: 16; Opened: -",
    ]


def test_given_a_date_beside_the_years_when_read_then_it_leads_each_name(tmp_path: Path) -> None:
    items = row(100, "June 30,", "2023", "2022") + row(114, "Goodwill", "67", "68")
    items += row(128, "Inventories", "2", "3")
    assert lines(tmp_path, items)[1] == "Inventories; June 30, 2023: 2; June 30, 2022: 3"


def test_given_signs_in_cells_of_their_own_when_read_then_they_join_figures(tmp_path: Path) -> None:
    items = row(100, "", "2023", "2022") + row(114, "Net income", "3,033", "(56.3")
    items += [Placed(320, 114, "$"), Placed(410, 114, "$"), Placed(461, 114, ")")]
    items += [*row(128, "Share", "22.0", "9"), Placed(382, 128, "%"), Placed(462, 128, "%")]
    assert lines(tmp_path, items) == [
        "Net income; 2023: $3,033; 2022: $(56.3)",
        "Share; 2023: 22.0%; 2022: 9%",
    ]


def test_given_a_label_that_says_too_little_when_read_then_its_group_leads(tmp_path: Path) -> None:
    items = row(100, "", "2023") + row(114, "Operating activities:")
    items += row(128, "Other", "5", indent=12) + row(142, "Depreciation", "6", indent=12)
    items += row(156, "Investing activities:") + row(170, "Other", "7", indent=12)
    items += row(184, "Total", "18")
    assert lines(tmp_path, items) == [
        "Operating activities:",
        "Operating activities > Other; 2023: 5",
        "Depreciation; 2023: 6",
        "Investing activities:",
        "Investing activities > Other; 2023: 7",
        "Total; 2023: 18",
    ]


def test_given_a_label_over_two_lines_when_read_then_it_is_one_row(tmp_path: Path) -> None:
    items = row(100, "", "2023", "2022") + row(114, "Sales", "1", "2")
    items += row(132, "Proceeds from sales of property and") + row(142, "equipment", "30", "18")
    items += row(160, "Dividends", "4", "5") + row(178, "Taxes", "6", "7")
    assert "Proceeds from sales of property and equipment; 2023: 30; 2022: 18" in lines(
        tmp_path, items
    )


def test_given_a_title_and_a_unit_when_read_then_the_table_is_labelled(tmp_path: Path) -> None:
    title = Placed(200, 80, "BALANCE SHEETS", 12, "F2")
    unit = Placed(360, 100, "(in millions)")
    items = [title, unit, *row(114, "", "2023", "2022"), *row(128, "Goodwill", "67", "68")]
    items += row(142, "Inventories", "2", "3")
    blocks = read(tmp_path, items)
    assert [block.kind for block in blocks] == ["heading", "caption", "table"]
    assert blocks[2].label == "BALANCE SHEETS (in millions)"


def test_given_another_head_below_when_read_then_another_table_begins(tmp_path: Path) -> None:
    items = row(100, "", "2023", "2022") + row(114, "Sales", "1", "2") + row(128, "Cost", "3", "4")
    items += row(148, "", "2021", "2020") + row(162, "Sales", "5", "6") + row(176, "Cost", "7", "8")
    first, second = tables(tmp_path, items)
    assert first.text.splitlines()[0] == "Sales; 2023: 1; 2022: 2"
    assert second.text.splitlines()[0] == "Sales; 2021: 5; 2020: 6"


def test_given_a_table_that_goes_on_upon_the_next_page_when_read_then_its_names_do(
    tmp_path: Path,
) -> None:
    first = row(700, "", "2023", "2022") + row(714, "Sales", "1", "2") + row(728, "Cost", "3", "4")
    second = row(60, "Taxes", "5", "6") + row(74, "Profit", "7", "8")
    path = placed_pdf(tmp_path / "a.pdf", [first, second])
    blocks = list(parse(path, IngestSettings()).blocks)
    assert [block.page for block in blocks] == [1, 2]
    assert blocks[1].text == "Taxes; 2023: 5; 2022: 6\nProfit; 2023: 7; 2022: 8"


def test_given_a_table_below_a_paragraph_when_it_has_no_head_then_it_takes_none(
    tmp_path: Path,
) -> None:
    first = row(700, "", "2023", "2022") + row(714, "Sales", "1", "2") + row(728, "Cost", "3", "4")
    prose = [
        Placed(72, 60 + 12 * n, "Something else is told here in a few words.") for n in range(4)
    ]
    second = row(130, "Taxes", "5", "6") + row(144, "Profit", "7", "8")
    path = placed_pdf(tmp_path / "a.pdf", [first, [*prose, *second]])
    assert list(parse(path, IngestSettings()).blocks)[-1].text == "Taxes | 5 | 6\nProfit | 7 | 8"


def test_given_dots_between_titles_and_pages_when_read_then_they_stay(tmp_path: Path) -> None:
    items = []
    for number, name in enumerate(["Overview", "Model", "Terms", "Index"]):
        items += [Placed(72, 100 + 14 * number, f"{name} " + "." * 40)]
        items += [right(540, 100 + 14 * number, str(number + 3))]
    assert lines(tmp_path, items)[0] == "Overview .... 3"


def test_given_titles_and_rising_pages_when_read_then_they_are_contents(tmp_path: Path) -> None:
    items = [right(540, 86, "Page")]
    for number, name in enumerate(["Overview", "Model", "Terms", "Index"]):
        items += [Placed(72, 100 + 14 * number, name), right(540, 100 + 14 * number, f"{number}1")]
    assert lines(tmp_path, items) == [
        "Page",
        "Overview | 01",
        "Model | 11",
        "Terms | 21",
        "Index | 31",
    ]


def test_given_figures_side_by_side_by_chance_when_read_then_there_is_no_table(
    tmp_path: Path,
) -> None:
    items = [
        Placed(72, 100, "66 Chokson-dong"),
        Placed(72, 114, "Seoul"),
        Placed(130, 114, "110-052"),
    ]
    items += [Placed(72, 128, "Hibiya Building"), Placed(72, 142, "Tokyo"), Placed(245, 142, "105")]
    assert not tables(tmp_path, items)


def test_given_a_table_when_read_then_each_row_has_its_place(tmp_path: Path) -> None:
    items = (
        row(100, "", "2023", "2022") + row(114, "Sales", "12", "11") + row(128, "Cost", "3", "4")
    )
    (table,) = tables(tmp_path, items)
    cost = table.places[1]
    assert table.text[cost.start :].startswith("Cost;")
    assert cost.page == 1
    assert cost.box is not None
    assert cost.box.left == 72
    assert cost.box.right == 460
    assert cost.box.top < 128 < cost.box.bottom < 135


def test_given_a_rotated_and_cropped_page_when_read_then_boxes_are_as_seen(tmp_path: Path) -> None:
    items = [Placed(100, 200, "A line of text")]
    path = placed_pdf(tmp_path / "a.pdf", [items], rotate=180, crop="50 40 600 780")
    (block,) = parse(path, IngestSettings()).blocks
    box = block.places[0].box
    assert box is not None
    assert (round(box.left), round(box.right)) == (600 - 100 - 84, 600 - 100)
    assert box.top < 792 - 200 - 40 < box.bottom


LABELS = st.lists(
    st.text(st.sampled_from("abcdefgh"), min_size=3, max_size=12).map(str.capitalize),
    min_size=3,
    max_size=12,
    unique=True,
)
FIGURE = st.integers(-99_999, 99_999).map(lambda n: f"{n:,}" if n >= 0 else f"({-n:,})")


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
@given(labels=LABELS, data=st.data())
def test_given_any_table_when_read_then_each_figure_is_under_its_column(
    tmp_path: Path, labels: list[str], data: st.DataObject
) -> None:
    width = data.draw(st.integers(1, 3))
    years = [str(2023 - n) for n in range(width)]
    rows = [data.draw(st.lists(FIGURE, min_size=width, max_size=width)) for _ in labels]
    items = row(100, "", *years)
    for number, (label, values) in enumerate(zip(labels, rows, strict=True)):
        items += row(114 + 14 * number, label, *values)
    expected = [
        "; ".join([label, *(f"{year}: {value}" for year, value in zip(years, values, strict=True))])
        for label, values in zip(labels, rows, strict=True)
    ]
    assert lines(tmp_path, items) == expected


def test_given_ranges_over_columns_when_read_then_they_name_them(tmp_path: Path) -> None:
    items = row(100, "", "50-59", "60-69", "70+")
    items += row(114, "Low", "2585 (47)", "1690 (30)", "969 (17)")
    items += row(128, "High", "121 (16)", "187 (25)", "224 (30)")
    assert lines(tmp_path, items) == [
        "Low; 50-59: 2585 (47); 60-69: 1690 (30); 70+: 969 (17)",
        "High; 50-59: 121 (16); 60-69: 187 (25); 70+: 224 (30)",
    ]


def test_given_ranges_that_do_not_follow_each_other_when_read_then_they_are_cells(
    tmp_path: Path,
) -> None:
    items = row(100, "Low", "50-59", "20-29", "10-19") + row(114, "High", "60-69", "30-39", "5-9")
    assert lines(tmp_path, items)[0].startswith("Low")


def test_given_groups_in_the_middle_when_read_then_equal_labels_have_them(tmp_path: Path) -> None:
    items = row(100, "", "2023", "2022")
    for top, group in ((114, "Women"), (156, "Men")):
        items.append(Placed(250, top, group))
        items += row(top + 14, "Low", "12", "11") + row(top + 28, "High", "2", "1")
    assert lines(tmp_path, items)[-2:] == [
        "Men > Low; 2023: 12; 2022: 11",
        "Men > High; 2023: 2; 2022: 1",
    ]


def test_names_that_are_wider_than_all_figures_below_are_those_of_their_columns(
    tmp_path: Path,
) -> None:
    head = [right(380, 110, "desired population"), right(460, 110, "Rate")]
    head += row(120, "Country", "coverage", "before")
    items = [*head, *row(132, "Malta", "98", "4"), *row(142, "Norway", "97", "5")]
    assert lines(tmp_path, items)[-1] == ("Norway; desired population coverage: 97; Rate before: 5")


def test_a_name_over_the_gap_between_groups_is_that_of_all_columns(tmp_path: Path) -> None:
    edges = (200.0, 260.0, 400.0, 460.0)

    def figures(top: float, label: str, *values: str) -> list[Placed]:
        cells = [right(edge, top, value) for edge, value in zip(edges, values, strict=True)]
        return [Placed(LEFT, top, label), *cells]

    items = [Placed(290, 100, "Race"), Placed(190, 113, "Asian"), Placed(390, 113, "Black")]
    items += [Placed(LEFT, 118, "Age"), *figures(127, "(yrs)", "No.", "Rate", "No.", "Rate")]
    items += figures(141, "45-54", "91", "8.7", "1,564", "56.0")
    items += figures(153, "55-64", "224", "31.9", "2,636", "147.8")
    items += figures(165, "65-74", "527", "132.2", "3,859", "367.2")
    assert lines(tmp_path, items)[-1] == (
        "65-74; Race Asian No.: 527; Race Asian Rate: 132.2; "
        "Race Black No.: 3,859; Race Black Rate: 367.2"
    )


def test_names_of_groups_that_are_set_left_reach_to_the_next(tmp_path: Path) -> None:
    lefts = (220.0, 300.0, 380.0, 460.0)

    def line(top: float, label: str, *values: str) -> list[Placed]:
        cells = [Placed(left, top, value) for left, value in zip(lefts, values, strict=True)]
        return [Placed(LEFT, top, label), *cells] if label else cells

    items = [Placed(lefts[0], 100, "2023"), Placed(lefts[2], 100, "2024")]
    items += line(112, "", "Power", "Heat", "Power", "Heat")
    items += line(126, "Lund", "120", "340", "130", "310") + line(
        140, "Ask", "90", "20", "95", "21"
    )

    assert lines(tmp_path, items) == [
        "Lund; 2023 Power: 120; 2023 Heat: 340; 2024 Power: 130; 2024 Heat: 310",
        "Ask; 2023 Power: 90; 2023 Heat: 20; 2024 Power: 95; 2024 Heat: 21",
    ]


def test_given_a_head_beside_all_columns_when_named_then_it_ends_and_names_none() -> None:
    def make_row(number: int, *cells: tuple[str, float, float]) -> Row:
        top = 262 + 8.0 * number
        made = [Cell(text, Box(left, top, right, top + 9)) for text, left, right in cells]
        return Row(tuple(made), top + 9, 9, join_boxes([c.box for c in made]), frozenset())

    # The head of the table on the right of one with as many rows.
    head = [
        make_row(0, ("Three months ended", 412, 479), ("Six months ended", 497, 554)),
        make_row(1, ("June 30,", 432, 459), ("June 30,", 512, 540)),
    ]
    columns = [(57.0, 70.0), (147.0, 177.0), (184.0, 214.0), (224.0, 250.0), (261.0, 287.0)]

    names, notes = read_names(head, columns, stub=True)

    assert (names, notes) == ([""] * 5, [])
