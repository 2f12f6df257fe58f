"""Requests about the conversation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.conversation.classify import is_about_conversation


@pytest.mark.parametrize(
    "request_",
    [
        "Repeat that, please.",
        "Can you put that in one sentence?",
        "What did I just ask?",
        "Summarize our conversation so far",
        "Was habe ich gerade gefragt?",
        "Fasse unser Gespräch zusammen.",
        "Résume notre conversation",
        "¿Qué dijiste?",
        "我刚才问了什么？",
        "この会話を要約してください。",
        "대화를 요약해 주세요",
    ],
)
def test_given_a_phrase_about_the_conversation_then_it_is(request_: str) -> None:
    assert is_about_conversation(request_)


@pytest.mark.parametrize(
    "request_",
    [
        "",
        "Summarize this discussion of wind power",
        "What did I ask the tax office for?",
        "Repeat that for the second quarter",
        "Translate that into German",
        "What is the capital of France?",
        "Summarize this document",
        "总结这份文件",
        "Repeat that " * 50,
    ],
)
def test_given_anything_that_documents_may_hold_then_it_is_not(request_: str) -> None:
    assert not is_about_conversation(request_)


@given(st.text())
def test_given_anything_then_no_error(request_: str) -> None:
    is_about_conversation(request_ + "\ud800")
