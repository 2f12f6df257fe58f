"""Formulas of LaTeX and MathML are read as they are said in a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html  # type: ignore[import-untyped]

from ragstone.ingest.formats.formulas import formula_text, mathml_text, write_formulas


@pytest.mark.parametrize(
    ("latex", "written"),
    [
        (r"\frac{3}{16}", "3/16"),
        (r"\dfrac{a+b}{c}", "(a+b)/c"),
        (r"10^5", "10^5"),
        (r"x_{i+1}^{2}", "x_(i+1)^2"),
        (r"\sqrt{2} + \sqrt[3]{a+b}", "√2 + 3√(a+b)"),
        (r"1{,}234 \pm 5\,\%", "1,234 ± 5 %"),
        (r"180^\circ\mathrm{C}", "180°C"),
        (r"\left( \alpha \leq \Omega \right)", "(α ≤ Ω)"),
        (r"\log_2 8", "log_2 8"),
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "a = b; c = d"),
        (r"a \strange b", r"a \strange b"),
    ],
)
def test_a_formula_of_latex_is_written_in_a_line(latex: str, written: str) -> None:
    assert formula_text(latex) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (r"It is $\frac{3}{16}$ inch.", "It is 3/16 inch."),
        (r"It is \(10^5\) or $$4^{10}$$.", "It is 10^5 or 4^10."),
        ("It costs $5 and $6.", "It costs $5 and $6."),
        ("US$5_000 and $a$", "US$5_000 and $a$"),
    ],
)
def test_formulas_in_a_text_are_found_and_money_is_not(text: str, written: str) -> None:
    assert write_formulas(text) == written


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("<mfrac><mn>3</mn><mn>16</mn></mfrac>", "3/16"),
        ("<msup><mn>10</mn><mn>5</mn></msup>", "10^5"),
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac>", "(a+b)/c"),
        (
            "<semantics><msqrt><mi>x</mi></msqrt><annotation>sqrt x</annotation></semantics>",
            "√x",
        ),
    ],
)
def test_a_formula_of_mathml_is_written_in_a_line(source: str, written: str) -> None:
    assert mathml_text(html.fragment_fromstring(f"<math>{source}</math>")) == written


@given(st.text(alphabet="\\{}^_$ab1 []()&~,.fracsqt", max_size=200))
def test_any_formula_can_be_read(text: str) -> None:
    formula_text(text)
    write_formulas(text)


@pytest.mark.parametrize("part", ["{", "^", r"\frac", r"\sqrt[", "}", "\\"])
def test_a_formula_that_is_deep_is_read_without_an_error(part: str) -> None:
    assert isinstance(formula_text(part * 5000), str)
