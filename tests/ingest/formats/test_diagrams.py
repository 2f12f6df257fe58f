"""Diagrams (SmartArt) are read as lists in their order, and processes as their steps."""

from collections.abc import Sequence

import pytest
from lxml import etree

from ragstone.ingest.formats.drawing import diagram_blocks

_LAYOUTS = "urn:microsoft.com/office/officeart/2005/8/layout"


def make_diagram(
    layout: str, nodes: Sequence[tuple[str, str]], links: Sequence[tuple[str, str, int]]
) -> etree._Element:
    """A diagram's data: nodes by id and text, links from a parent to a child with its place."""
    points = "".join(
        f'<d:pt modelId="{id}"><d:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></d:t></d:pt>'
        for id, text in nodes
    )
    drawn = "".join(
        f'<d:cxn modelId="{source}{target}" srcId="{source}" destId="{target}" srcOrd="{place}"/>'
        for source, target, place in links
    )
    return etree.fromstring(
        '<d:dataModel xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><d:ptLst>'
        f'<d:pt modelId="0" type="doc"><d:prSet loTypeId="{_LAYOUTS}/{layout}"/></d:pt>{points}'
        '<d:pt modelId="t" type="parTrans"><d:t><a:p><a:r><a:t>no</a:t></a:r></a:p></d:t></d:pt>'
        f'</d:ptLst><d:cxnLst>{drawn}<d:cxn modelId="x" type="presOf" srcId="9" destId="0"/>'
        "</d:cxnLst></d:dataModel>"
    )


def read(root: etree._Element) -> list[tuple[str, str, int]]:
    return [(block.text, block.kind, block.level) for block in diagram_blocks(root)]


STAFF = [("c", "Cid, cook"), ("a", "Ada, head"), ("b", "Bo, deputy")]


def test_nodes_come_in_the_order_of_the_diagram_below_their_parents() -> None:
    root = make_diagram("orgChart1", STAFF, [("0", "a", 0), ("a", "c", 1), ("a", "b", 0)])
    assert read(root) == [
        ("- Ada, head", "item", 1),
        ("- Bo, deputy", "item", 2),
        ("- Cid, cook", "item", 2),
    ]


@pytest.mark.parametrize("layout", ["process1", "chevron2", "cycle5", "hProcess9", "arrow3"])
def test_the_steps_of_a_process_stand_in_a_line_too(layout: str) -> None:
    nodes = [("c", "Pay"), ("a", "Order"), ("b", "Check"), ("d", "by card")]
    links = [("0", "a", 0), ("0", "b", 1), ("0", "c", 2), ("c", "d", 0)]
    *_, last = read(make_diagram(layout, nodes, links))
    assert last == ("Order → Check → Pay", "paragraph", 0)


def test_steps_that_are_long_are_no_line() -> None:
    nodes = [("a", "Order " * 60), ("b", "Check " * 60)]
    blocks = read(make_diagram("process1", nodes, [("0", "a", 0), ("0", "b", 1)]))
    assert [kind for _, kind, _ in blocks] == ["item", "item"]


@pytest.mark.parametrize(
    "links",
    [
        pytest.param([], id="no links"),
        pytest.param([("a", "b", 0), ("b", "c", 0), ("c", "a", 0)], id="a circle"),
        pytest.param([("a", "gone", 0), ("gone", "b", 0)], id="nodes that are not there"),
    ],
)
def test_a_damaged_diagram_loses_no_node(links: Sequence[tuple[str, str, int]]) -> None:
    found = read(make_diagram("orgChart1", STAFF, links))
    assert sorted(text for text, _, _ in found) == ["- Ada, head", "- Bo, deputy", "- Cid, cook"]


def test_deep_diagrams_end() -> None:
    nodes = [(f"n{place}", f"Step {place}") for place in range(3000)]
    links = [(f"n{place}", f"n{place + 1}", 0) for place in range(2999)]
    assert len(read(make_diagram("orgChart1", nodes, links))) == 3000
