"""Terms such as year:2023 in a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.filters import AnyOf, Scalar, matches
from ragstone.understand.narrow import build_filter, remove_terms, terms

VALUES: dict[str, list[Scalar]] = {
    "year": [2021, 2022, 2023, "2023"],
    "author": ["Jane Smith", "Smithson", "Bo"],
    "created": ["2022-12-31", "2023-05-01", "2024-01-01T10:00:00"],
    "draft": [True, False],
    "note": ["x"],
}


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("What was revenue? year:2023", "What was revenue?"),
        ("What was revenue in year:2023?", "What was revenue in?"),
        ('author:"Jane Smith" cats', "cats"),
        ("YEAR:>=2022 cats author:Bo dogs", "cats dogs"),
        ("year:2023", "2023"),
        ('author:"Jane Smith" year:2022', "Jane Smith 2022"),
    ],
)
def test_given_terms_then_they_are_taken_out(question: str, left: str) -> None:
    assert remove_terms(question, terms(question, VALUES)) == left


@pytest.mark.parametrize(
    "question",
    [
        "Note: text",
        "What is http://x.org?",
        "note://x",
        "at 10:30",
        "unknown:2023",
        "foo(year:2023)",
        "year:",
        "year: 2023",
        'note:""',
        "std::vector",
    ],
)
def test_given_what_only_looks_like_a_term_then_it_stays(question: str) -> None:
    assert terms(question, VALUES) == []
    assert remove_terms(question, []) == question


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("year:2023", {"year": [2023, "2023"]}),
        ("year:2023.0", {"year": [2023]}),
        ("year:>=2022", {"year": [2022, 2023, "2023"]}),
        ("year:>2022", {"year": [2023, "2023"]}),
        ("year:<2022", {"year": [2021]}),
        ("year:<=2022 year:>2021", {"year": [2022]}),
        ("year:2021 year:2022", {"year": [2021, 2022]}),
        ("author:smith", {"author": ["Jane Smith"]}),
        ("author:bo year:2021", {"author": ["Bo"], "year": [2021]}),
        ("created:2023", {"created": ["2023-05-01"]}),
        ("created:<=2023", {"created": ["2022-12-31", "2023-05-01"]}),
        ("created:>2023", {"created": ["2024-01-01T10:00:00"]}),
        ("created:>=2023-05-01", {"created": ["2023-05-01", "2024-01-01T10:00:00"]}),
        ("draft:true", {"draft": [True]}),
        ("draft:>=0", {"draft": []}),
        ("author:nobody", {"author": []}),
    ],
)
def test_given_terms_then_they_mean_these_values(
    question: str, kept: dict[str, list[Scalar]]
) -> None:
    condition = build_filter(terms(question, VALUES), VALUES)
    parts = [condition] if isinstance(condition, AnyOf) else condition.parts  # type: ignore[union-attr]
    found = {part.field.removeprefix("metadata."): list(part.values) for part in parts}
    assert {key: list(map(repr, some)) for key, some in found.items()} == {
        key: list(map(repr, some)) for key, some in kept.items()
    }


@given(st.text('year:author<>=20" 13?', max_size=40), st.sampled_from(VALUES["year"]))
def test_given_any_question_then_its_terms_narrow_and_words_are_left(
    question: str, year: Scalar
) -> None:
    found = terms(question, VALUES)
    assert bool(remove_terms(question, found).strip()) == bool(question.strip())
    if found:
        condition = build_filter(found, VALUES)
        assert not matches(condition, {"metadata": {}})
        if {term.key for term in found} != {"year"}:
            assert not matches(condition, {"metadata": {"year": year}})
