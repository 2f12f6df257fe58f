"""Questions for what something is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.extractive.answer_type import defined_term, defines


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("What is a covered work?", "covered work"),
        ("what's the capital of France?", "capital of france"),
        ("What does GDP mean?", "gdp"),
        ("Define “entropy”.", "entropy"),
        ("Was ist eine Kündigung?", "kündigung"),
        ("Qu'est-ce que la TVA ?", "tva"),
        ("¿Qué es un contrato?", "contrato"),
        ("什么是合同？", "合同"),
        ("合同是什么？", "合同"),
        ("合同是什么法的对象？", ""),
        ("What is it?", ""),
        ("Who is Bob?", ""),
        ("What island is the largest?", ""),
        ("Defined benefits and their cost?", ""),
        ("What does the court decide?", ""),
        ("", ""),
    ],
)
def test_given_a_question_then_what_it_asks_the_meaning_of(question: str, term: str) -> None:
    assert defined_term(question) == term


@pytest.mark.parametrize(
    ("sentence", "term"),
    [
        ('A "covered work" means either of two.', "covered work"),
        ("The capital of France is Paris.", "capital of france"),
        ("“Contributor” shall mean\nthe Licensor.", "contributor"),
        ("A gross domestic product (GDP) is a sum.", "gross domestic product"),
        ("Eine Kündigung ist ein Ende.", "kündigung"),
        ("合同是平等主体之间的协议。", "合同"),
        ("A ply is basically one move of one side.", "ply in backgammon"),
        ("A ply in backgammon is one move.", "ply in backgammon"),
    ],
)
def test_given_a_sentence_that_says_what_it_is_then_it_defines_it(sentence: str, term: str) -> None:
    assert defines(sentence, term)


@pytest.mark.parametrize(
    "sentence",
    ["You may not convey a covered work.", "Covered works are many.", "The covered work isolates."],
)
def test_given_a_sentence_that_only_holds_the_term_then_it_does_not(sentence: str) -> None:
    assert not defines(sentence, "covered work")


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_question_and_sentence_can_be_read(question: str, sentence: str) -> None:
    defines(sentence, defined_term(question))


@pytest.mark.timeout(5)
@pytest.mark.parametrize("piece", ["what is ", "the ", "是", "a " * 9, "'", "( "])
def test_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    text = piece * 50_000
    defines(text, defined_term(text) or "x")
    defines(text, defined_term("what is " + text) or "x")
