"""What a document strikes out is no answer to what is, and one to what was."""

from collections.abc import Iterator

import pytest

import ragstone

pytestmark = pytest.mark.slow

POOL = """# Town pool

The entrance fee is ~~30~~ 45 euros. Children pay half.

~~Dogs are forbidden.~~ Dogs may come on Mondays.

| Item | Price |
|---|---|
| Towel | ~~3~~ 4 |
| ~~Sauna~~ | ~~12~~ |

The head of the pool is ~~Ms Meyer~~ Mr Okafor.
"""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ragstone.Client]:
    folder = tmp_path_factory.mktemp("pool")
    (folder / "pool.md").write_text(POOL)
    with ragstone.Client(tmp_path_factory.mktemp("data")) as client:
        client.ingest(folder)
        yield client


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the entrance fee?", "The entrance fee is 45 euros."),
        ("Who is the head of the pool?", "The head of the pool is Mr Okafor."),
        ("What does a towel cost?", "Item: Towel; Price: 4"),
        (
            "What was the entrance fee before?",
            'The entrance fee is [formerly "30", struck out] 45 euros.',
        ),
        (
            "Who was the former head of the pool?",
            'The head of the pool is [formerly "Ms Meyer", struck out] Mr Okafor.',
        ),
        (
            "What did the sauna cost previously?",
            'Item: [formerly "Sauna", struck out]; Price: [formerly "12", struck out]',
        ),
    ],
)
def test_what_is_and_what_was_are_told_apart(
    pool: ragstone.Client, question: str, answer: str
) -> None:
    assert pool.ask(question).text.split(" [1]")[0].split(" [2]")[0] == answer


@pytest.mark.parametrize("question", ["Are dogs forbidden?", "What does the sauna cost?"])
def test_what_is_struck_out_answers_nothing_else(pool: ragstone.Client, question: str) -> None:
    found = pool.ask(question)

    assert found.refused
    assert not any("formerly" in source.text for source in found.sources)


def test_what_was_left_out_is_shown_with_the_document(
    pool: ragstone.Client,
) -> None:
    (document,) = pool.documents.list()

    assert document.left_out == (
        'Struck-out text is kept apart: "30", "Dogs are forbidden.", "3" and 3 more.',
    )
