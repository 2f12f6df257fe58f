"""Names are read alike from questions, titles and paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.named import Numbered, find_names


def numbers(text: str) -> set[tuple[str, str]]:
    return {(item.name, item.number) for item in find_names(text).numbered}


@pytest.mark.parametrize(
    "text",
    ["Jest 29", "jest-29", "UpgradingToJest29", "Jest v29", "Jest version 29", "JEST_29", "jest29"],
)
def test_given_a_number_with_its_name_then_it_is_read_the_same_everywhere(text: str) -> None:
    assert numbers(text) == {("jest", "29")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How big is the tank of the Tern 300?", {("tern", "300")}),
        ("GPLv3", {("gpl", "3")}),
        ("version-29.7", {("", "29.7")}),
        ("from Jest 29 to Jest 30", {("jest", "29"), ("jest", "30")}),
        ("Jest 29 and 30", {("jest", "29"), ("jest", "30")}),
        ("And of the 400?", {("", "400")}),
        ("in 24 hours", set()),
        ("the 3 steps", set()),
    ],
)
def test_given_a_text_then_its_numbers_have_the_names_that_they_belong_to(
    text: str, expected: set[tuple[str, str]]
) -> None:
    assert numbers(text) == expected


@pytest.mark.parametrize(
    ("text", "word"), [("error E3", "e3"), ("AMAZON_2017_10K", "10k"), ("3M_2018", "3m")]
)
def test_given_a_code_then_it_is_a_word_and_no_number(text: str, word: str) -> None:
    assert word in find_names(text).words
    assert not find_names(text).numbered


def test_given_years_then_they_are_no_versions() -> None:
    found = find_names("AMAZON_2017_10K and 华为2022年")
    assert found.years == {"2017", "2022"}
    assert not found.numbered


def test_given_mostly_capitals_then_they_tell_no_names() -> None:
    assert find_names("Which fee does the GPL allow").written == {"gpl"}
    assert not find_names("Wartung Kosten Garantie Gerät").written


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("29", "29.7", True), ("29.7", "29.7.1", True), ("2", "29", False), ("29.7", "29.8", False)],
)
def test_given_two_numbers_then_one_may_say_more_than_the_other(
    one: str, other: str, same: bool
) -> None:
    assert Numbered("jest", one).same(Numbered("jest", other)) is same


@given(st.text())
def test_given_any_text_then_names_are_read_without_error(text: str) -> None:
    found = find_names(text)
    assert found.written <= {*found.words, *found.written}
    assert all(year.isdigit() and len(year) == 4 for year in found.years)
