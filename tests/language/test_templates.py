"""What a chat model is told, put together from templates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import InputError
from ragstone.language.language import ENGLISH, no_answer
from ragstone.language.templates import NAMES, ROOM, build_instructions, check_prompt, load_shipped


@pytest.mark.parametrize("name", [name for name in NAMES if name != ROOM])
def test_given_a_shipped_template_then_it_may_be_saved_as_it_is(name: str) -> None:
    text = load_shipped(name)
    assert text
    check_prompt(name, text)


def test_given_a_language_at_the_end_of_a_name_then_it_is_that_template() -> None:
    check_prompt("answer.de", "Antworte aus den Quellen, sonst: {no_answer}")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("answr", "{no_answer}", "There is no prompt 'answr'"),
        ("answer.deutsch", "{no_answer}", "There is no prompt"),
        ("../answer", "{no_answer}", "There is no prompt"),
        ("answer", "Be nice.", "must hold {no_answer}"),
        ("answer", "{no_answer} {question}", "cannot hold {question}"),
        ("mode.simple", "In {language}.", "cannot hold {language}"),
        ("mode.simple", " \n", "must have 1 to 20,000 characters"),
        ("mode.simple", "x" * 20_001, "must have 1 to 20,000 characters"),
    ],
)
def test_given_a_text_that_cannot_be_the_template_then_an_error_that_says_why(
    name: str, text: str, says: str
) -> None:
    with pytest.raises(InputError) as error:
        check_prompt(name, text)
    assert says in str(error.value)


def test_given_parts_then_they_follow_and_empty_lines_go() -> None:
    texts = {"answer": "Say {no_answer}\n{form}\n{mode}\n{other}", "reasoning": "- Think.\n"}
    text = build_instructions(
        texts.__getitem__, ["answer", "reasoning"], no_answer="nothing", form="", mode="- {form}"
    )
    assert text == "Say nothing\n- {form}\n{other}\n- Think."


@given(st.text(max_size=60))
def test_given_a_refusal_that_looks_like_a_template_then_it_is_said_as_it_is(refusal: str) -> None:
    assert build_instructions(
        lambda name: "<{no_answer}>", ["answer"], no_answer=refusal
    ) == "\n".join(line for line in f"<{refusal}>".splitlines() if line.strip())


def test_given_the_default_refusal_then_it_is_in_the_language_of_the_question() -> None:
    assert no_answer(ENGLISH, "ko") == "문서에 이 질문에 대한 답변이 없습니다."
    assert no_answer(ENGLISH, "tlh") == ENGLISH
    assert no_answer("Ask Ann.", "ko") == "Ask Ann."
