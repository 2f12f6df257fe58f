"""How much a question asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.understand.complexity import HIGH, LOW, analyse


@pytest.mark.parametrize(
    "question",
    [
        "Who is the CEO?",
        "What are the opening hours?",
        "Wann wurde die Firma gegründet?",
        "谁是首席执行官?",
        "대표는 누구입니까?",
    ],
)
def test_given_a_plain_fact_then_it_is_simple(question: str) -> None:
    assert analyse(question).complexity <= 3


@pytest.mark.parametrize(
    "question",
    [
        "Compare the revenue of Apple and Microsoft between 2019 and 2021, and explain why.",
        "Vergleiche die Umsätze von Siemens und Bosch seit 2019 und erkläre, warum sie fielen.",
        "比较两家公司2019年和2021年的收入趋势,并解释为什么会下降以及影响是什么?",
        "두 회사의 2019년과 2021년 매출을 비교하고 그 차이의 원인과 영향을 설명해 주세요.",
    ],
)
def test_given_a_comparison_with_reasons_then_it_is_demanding(question: str) -> None:
    found = analyse(question)
    assert found.complexity >= 6
    assert found.comparison
    assert found.reasoning
    assert found.sources


def test_given_two_years_then_it_spans_a_time() -> None:
    assert analyse("What was sold in 2019 and 2020?").temporal
    assert not analyse("What was sold in 2019?").temporal


def test_given_words_inside_other_words_then_they_do_not_count() -> None:
    assert not analyse("Who restored the assumption?").calculation
    assert analyse("What is the sum of both?").calculation


def test_given_one_document_as_a_whole_then_it_is_known() -> None:
    assert analyse("Summarise this report").whole_document
    assert analyse("总结这份文件").whole_document
    assert not analyse("Who wrote reports?").whole_document


@given(st.text(max_size=300))
def test_any_text_has_a_complexity_within_the_scale(text: str) -> None:
    assert LOW <= analyse(text).complexity <= HIGH
