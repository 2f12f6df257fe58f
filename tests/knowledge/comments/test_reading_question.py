"""What questions ask of customers' comments."""

import pytest

from ragstone.plugins.comments.comments import CommentQuery, CustomerComment
from ragstone.plugins.comments.reading_question import asks_of_comments, read_query

COMMENTS = [
    CustomerComment(str(n), "text", "row", "c", "d", "/p", "t", labels={"Product": product})
    for n, product in enumerate(("Echo", "Echo Dot", "Nova", "小米"))
]

QUARTER = ("2024-04-01", "2024-06-30")


@pytest.mark.parametrize(
    "question",
    [
        "What do customers say about the battery?",
        "How many reviews mention late delivery?",
        "What are the most common complaints about the app?",
        "Summarize the feedback from May 2024",
        "Worüber beschweren sich die Kunden?",
        "顾客对电池怎么看?",
    ],
)
def test_given_a_question_for_what_customers_say_then_it_is_known(question: str) -> None:
    assert asks_of_comments(question)


@pytest.mark.parametrize(
    "question",
    [
        "How long does the battery last?",
        "How do I file a claim?",
        "How many customers are there?",
        "What is the price of the Nova?",
        "Wie viele Kunden gibt es?",
        f"What do customers say? {'x' * 600}",
        "",
    ],
)
def test_given_any_other_question_then_it_is_none(question: str) -> None:
    assert not asks_of_comments(question)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What do customers say about battery life?", CommentQuery("battery life")),
        ("What do customers complain about?", CommentQuery(tone="negative")),
        (
            "What do people like about the Nova?",
            CommentQuery("", "positive", labels={"Product": "Nova"}),
        ),
        (
            "How many comments on the Echo Dot mention noise?",
            CommentQuery("noise", labels={"Product": "Echo Dot"}),
        ),
        ("Feedback on noise in 2024-Q2", CommentQuery("noise", None, *QUARTER)),
        ("Feedback on noise in the second quarter of 2024", CommentQuery("noise", None, *QUARTER)),
        ("Complaints since May 2024", CommentQuery("", "negative", "2024-05-01")),
        ("Complaints after May 2024", CommentQuery("", "negative", "2024-06-01")),
        ("Reviews before 2024", CommentQuery("", None, "", "2023-12-31")),
        ("Reviews until 2024-02-29", CommentQuery("", None, "", "2024-02-29")),
        (
            "Reviews between January 2024 and 2024-03",
            CommentQuery("", None, "2024-01-01", "2024-03-31"),
        ),
        ("Reviews of 2024-02-31 on noise", CommentQuery("noise")),
        (
            "Wie viele Kunden beschweren sich über die Wartezeit?",
            CommentQuery("wartezeit", "negative"),
        ),
        (
            "2024年第二季度顾客对小米的电池怎么看?",
            CommentQuery("电池", None, *QUARTER, {"Product": "小米"}),
        ),
    ],
)
def test_given_a_question_then_topic_tone_days_and_values(
    question: str, wanted: CommentQuery
) -> None:
    assert read_query(question, COMMENTS) == wanted
