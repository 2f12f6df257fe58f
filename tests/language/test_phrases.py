"""Phrases are found as words, whatever their spelling, and never as parts of other words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.phrases import Phrases, key, mask_spans, normalize

LIST = Phrases(
    [
        *("executive", "salary", "home address", "lay-off", "CEO", "M&A", "wifi password"),
        *("임원", "연봉", "대표", "임원 보수", "高管", "总裁工资", "人"),
    ]
)


def found(text: str) -> list[str]:
    return [item.phrase for item in LIST.find(normalize(text))]


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("Who are the executives?", ["executive"]),
        ("the executive's SALARIES", ["executive", "salary"]),
        ("home-address, home  address", ["home address", "home address"]),
        ("layoffs, lay-offs and lay offs", ["lay-off", "lay-off", "lay-off"]),
        ("the wi-fi password", ["wifi password"]),
        ("an M&A target", ["M&A"]),
        ("임원은 누구?", ["임원"]),
        ("임원들에게", ["임원"]),
        ("신임임원의 연봉", ["임원", "연봉"]),
        ("직원연봉정보", ["연봉"]),
        ("임원의 보수는", ["임원", "임원 보수"]),
        ("임원보수", ["임원", "임원 보수"]),
        ("CEO의 연봉", ["CEO", "연봉"]),
        ("总裁的工资是多少", ["总裁工资"]),
        ("公司高管是谁", ["高管"]),
        ("人 ?", ["人"]),
    ],
)
def test_given_another_form_of_a_phrase_then_it_is_found(text: str, phrases: list[str]) -> None:
    assert found(text) == phrases


@pytest.mark.parametrize(
    "text",
    [
        "How do I execute a command?",
        "I'm a person",
        "책임원칙은?",
        "대표적인 예",
        "人口",
        "offlay",
        "",
    ],
)
def test_given_another_word_then_nothing_is_found(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text", ["sal\u200bary", "ｓａｌａｒｙ", "sálary", "s a l a r y", "s.a.l.a.r.y", "SAL\u00adARY"]
)
def test_given_a_disguise_then_the_word_is_found(text: str) -> None:
    assert found(text) == ["salary"]


def test_the_place_is_that_in_the_normal_form() -> None:
    text = normalize("Ｗhose salaries?")
    [one] = LIST.find(text)
    assert text[one.start : one.end] == "salaries"


def test_overlapping_spans_are_one() -> None:
    assert mask_spans("abcdef", [(1, 3), (2, 5)], "#") == "a#f"


def test_a_phrase_without_a_word_is_never_found() -> None:
    assert key("?!") == ""
    assert Phrases(["?!", ""]).find("?!") == []


@pytest.mark.parametrize(
    "phrase",
    ["一二三四五六七八九十百千万年", "the talk on what the new boss of our firm in Oslo gets paid"],
)
def test_a_long_phrase_is_found_by_its_beginning(phrase: str) -> None:
    assert Phrases([phrase]).find(normalize(f"x {phrase}"))
    assert Phrases([phrase]).find(normalize(phrase[:-1]))
    assert not Phrases([phrase]).find(phrase[:6])


@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_is_read(text: str) -> None:
    form = normalize(text)
    assert normalize(form) is not None
    for item in LIST.find(form):
        assert 0 <= item.start < item.end <= len(form)


@given(
    st.text(alphabet="abcs 고임원의가 高管的人-'&.", min_size=1, max_size=15),
    st.sampled_from(["", "who ", "谁 ", "누구 "]),
)
def test_a_phrase_is_found_where_it_stands_as_it_is_written(phrase: str, before: str) -> None:
    if key(phrase):
        text = normalize(f"{before}{phrase}")
        assert Phrases([phrase]).find(text) or len(key(phrase)) == 1
