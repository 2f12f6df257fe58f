"""What a chat model says of an answer."""

import json

import pytest

from ragstone.answer.rounds import CRITERIA, AnswerJudgement, parse_judgement


def said(points: float, query: object = "", **more: object) -> str:
    return json.dumps({**dict.fromkeys(CRITERIA, points), "query": query, **more})


def test_given_all_criteria_then_their_mean_and_the_next_query() -> None:
    assert parse_judgement(
        f"Here you are:\n```json\n{said(80, ' towers ')}\n```"
    ) == AnswerJudgement(0.8, "towers")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Good!",
        "{}",
        "[80]",
        said(101),
        said(-1),
        '{"relevance": 90}',
        said(80).replace("80", '"80"'),
    ],
)
def test_given_any_other_reply_then_no_judgement(reply: str) -> None:
    assert parse_judgement(reply) is None


def test_given_a_query_that_is_no_text_then_none() -> None:
    assert parse_judgement(said(50, 7)) == AnswerJudgement(0.5)


def test_given_advice_then_in_one_line() -> None:
    assert parse_judgement(said(50, advice=" Name\nthe year. ")) == AnswerJudgement(
        0.5, advice="Name the year."
    )
    assert parse_judgement(said(50, advice=["x"])) == AnswerJudgement(0.5)
