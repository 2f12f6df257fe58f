"""The page of the documents' requirements names what the tests prove."""

import ast

import pytest

from tests.documentation.conformance import (
    PAGE,
    Row,
    _key,
    _row,
    marked,
    missing,
    page,
    shown,
    statements,
)


def test_the_page_has_the_rows_of_the_markers() -> None:
    new = page([*marked(), *missing()], {})
    assert shown(PAGE.read_text(encoding="utf-8")) == shown(new), (
        "Run python -m tests.documentation.conformance"
    )


def test_only_what_is_missing_does_not_hold() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    failed = [line for line in lines if line.endswith("| no |")]
    assert len(failed) == len(missing()), failed


def test_every_statement_of_the_documents_has_its_row_and_every_row_its_statement() -> None:
    listed = [_key(row) for row in statements()]
    assert len(set(listed)) == len(listed)
    proven = {_key(row) for row in marked()}
    unproven = {_key(row) for row in missing()}
    assert not proven & unproven
    assert proven | unproven == set(listed)


def test_given_results_then_a_row_holds_only_if_its_test_did() -> None:
    rows = [Row("V5", section, "It works", f"tests/a.py::test_{section}") for section in "ab"]
    found = page(rows, {"tests/a.py::test_a": True, "tests/a.py::test_b": False})
    assert "| a | It works | [a](../tests/a.py) | yes |" in found
    assert "| b | It works | [b](../tests/a.py) | no |" in found
    assert "1 of 2 hold." in found


@pytest.mark.parametrize(
    "marker", ["conforms('V5', '1')", "conforms('V6', '1', 'x')", "conforms('V5', 1, 'x')"]
)
def test_given_a_marker_that_cannot_be_read_then_an_error(marker: str) -> None:
    call = ast.parse(marker, mode="eval").body
    assert isinstance(call, ast.Call)
    with pytest.raises(ValueError, match="tests/a.py"):
        _row(call, "tests/a.py::test_a")
