"""Arithmetic: exact, and bounded whatever is written."""

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import InputError
from ragstone.language.arithmetic import MAX_CHARS, calculate

NUMBERS = st.decimals(-(10**12), 10**12, places=4)


@pytest.mark.parametrize(
    ("expression", "text", "exact"),
    [
        ("0.1 + 0.2", "0.3", True),
        ("(1250 - 80) * 1.19", "1392.3", True),
        ("-7 // 2", "-4", True),
        ("7 // -2", "-4", True),
        ("6 // -2", "-3", True),
        ("7 % 4", "3", True),
        ("-7 % 4", "1", True),
        ("2 ** 10", "1024", True),
        ("1_000 * 2", "2000", True),
        ("round(2.675, 2)", "2.68", True),
        ("round(2.5)", "3", True),
        ("max(1, 3, 2) - min(1, 3) + abs(-4)", "6", True),
        ("sqrt(16)", "4", True),
        ("1 / 3", "0.33333333333333333333333333333333333333333333333333", False),
        ("10 ** 60", "1E+60", True),
    ],
)
def test_given_an_expression_then_its_value(expression: str, text: str, exact: bool) -> None:
    found = calculate(expression)
    assert (found.text, found.exact) == (text, exact)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1 +",
        "1 / 0",
        "9 ** 9 ** 9",
        "1e999 * 1e999",
        "(" * 400,
        "-" * 300 + "1",
        "1" * (MAX_CHARS + 1),
        "__import__('os').system('true')",
        "open('/etc/passwd')",
        "(lambda: 1)()",
        "[1, 2]",
        "'a' * 100",
        "1 if 1 else 2",
        "x := 1",
        "True + 1",
        "1j * 1j",
        "0x10",
        "max()",
        "round(1, 2, 3)",
        "round(1, 999)",
        "sqrt(-1)",
        "abs(x=1)",
        "1\x00",
    ],
)
def test_given_anything_else_then_it_is_refused(expression: str) -> None:
    with pytest.raises(InputError):
        calculate(expression)


@given(NUMBERS, NUMBERS, st.sampled_from("+-*"))
def test_given_two_numbers_then_the_result_is_that_of_fractions(
    one: Decimal, other: Decimal, sign: str
) -> None:
    mine, theirs = Fraction(one), Fraction(other)
    expected = {"+": mine + theirs, "-": mine - theirs, "*": mine * theirs}[sign]
    found = calculate(f"({one:f}) {sign} ({other:f})")
    assert found.exact
    assert Fraction(found.value) == expected
    assert Fraction(found.text) == expected


@given(st.text(max_size=60) | st.text("0123456789.+-*/%() eE", max_size=60))
def test_given_any_text_then_a_number_or_a_refusal(text: str) -> None:
    with suppress(InputError):
        assert calculate(text).value.is_finite()
