"""Citation markers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.markers import (
    citation_numbers,
    neutralize_markers,
    normalise_markers,
    sentences_with_citations,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is so. [1]", [1]),
        ("It is so [2][1].", [2, 1]),
        ("It is so [1, 3].", [1, 3]),
        ("It is so [Source 2].", [2]),
        ("It is so [source 2; 3].", [2, 3]),
        ("是的【1】。", [1]),
        ("是的[来源2]。", [2]),
        ("See [the manual] and [a1].", []),
        ("array[0] is not a marker? [0]", [0]),
        ("It is so [Source 1, Source 3].", [1, 3]),
        ("It is so [Sources 1 and 2].", [1, 2]),
        ("It is so [2-4].", [2, 3, 4]),
        ("It is so [^2].", [2]),
        ("是的［1］。", [1]),
        ("In [1990-2020] it was.", [1990, 2020]),
        ("", []),
    ],
)
def test_given_an_answer_then_the_numbers_it_cites(text: str, expected: list[int]) -> None:
    assert citation_numbers(text) == expected


def test_given_markers_of_many_styles_then_one_style_without_the_invalid() -> None:
    text = "One [Source 1]. Two【2】. Three [3, 9]."
    assert normalise_markers(text, lambda n: n < 9) == "One [1]. Two [2]. Three [3]."


def test_given_markers_in_or_after_sentences_then_each_belongs_to_its_sentence() -> None:
    text = "First is so. [1] Second is so [2]. Third is not."
    assert sentences_with_citations(text) == [
        ("First is so.", [1]),
        ("Second is so.", [2]),
        ("Third is not.", []),
    ]


def test_given_markers_attached_to_full_stops_then_each_belongs_to_its_sentence() -> None:
    said = [("First.", [1, 2]), ("Second.", [3]), ("Third.", [])]
    assert sentences_with_citations("First.[1][2] Second. [3] Third.") == said


@pytest.mark.timeout(10)
@pytest.mark.parametrize("piece", [" ", "[", "1,", "[1", "[ ", "[1 and "])
def test_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    neutralize_markers("[" + piece * 30_000 + "x")


@given(st.text(alphabet="ab [](){}【】［］1,2-^#& Source", max_size=60))
def test_neutral_text_has_no_marker_and_the_same_length(text: str) -> None:
    assert citation_numbers(neutralize_markers(text)) == []
    assert len(neutralize_markers(text)) == len(text)


@given(st.lists(st.tuples(st.sampled_from(["Aa bb.", "Cc dd."]), st.integers(1, 20)), max_size=6))
def test_what_is_marked_is_found_again(said: list[tuple[str, int]]) -> None:
    text = " ".join(f"{sentence} [{number}]" for sentence, number in said)
    assert sentences_with_citations(text) == [(sentence, [number]) for sentence, number in said]
