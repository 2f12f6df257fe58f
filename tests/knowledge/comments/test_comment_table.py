"""Which tables hold comments."""

from pathlib import Path

import pytest

from ragstone.plugins.comments.comment_table import read_comments
from tests.knowledge.comments.files import ROWS, reviews, workbook
from tests.knowledge.tables.files import chunks_of, written


def test_given_reviews_then_each_row_with_day_rating_tone_and_label(tmp_path: Path) -> None:
    chunks = chunks_of(reviews(tmp_path), 400)
    found = read_comments(chunks)
    assert [item.text for item in found] == [row[3] for row in ROWS]
    assert [item.at for item in found] == [row[0] for row in ROWS]
    assert [item.labels for item in found] == [{"Product": row[1]} for row in ROWS]
    tones = {1: "negative", 2: "negative", 3: "neutral", 4: "positive", 5: "positive"}
    assert [item.tone for item in found] == [tones[row[2]] for row in ROWS]
    texts = {chunk.chunk_id: chunk.text for chunk in chunks}
    assert all(item.row in texts[item.chunk_id] for item in found)
    assert len({item.id for item in found}) == len(ROWS)


def test_given_a_sheet_of_a_workbook_in_german_then_its_comments(tmp_path: Path) -> None:
    found = read_comments(chunks_of(workbook(tmp_path)))
    assert [item.rating for item in found] == [0.0, 0.25, 1.0, 0.0]
    assert found[0].labels == {"Filiale": "Kassel"}


def test_given_no_ratings_then_the_tone_is_not_known(tmp_path: Path) -> None:
    found = read_comments(chunks_of(reviews(tmp_path, rated=False)))
    assert {(item.rating, item.tone) for item in found} == {(None, "unknown")}
    assert len(found) == len(ROWS)


@pytest.mark.parametrize(
    "text",
    [
        # No column of sentences, none that anybody judges by, quantities, all the same text.
        "Asset,Device,Rating\nA1,Pump,3\nA2,Lamp,4\nA3,Bed,5\n",
        "Id,Note\n1,The pump was moved to ward three\n2,The bed was sold to a clinic\n",
        "Item,Description,Count\nA,A very long lamp for all kinds of desks,2\n"
        "B,A very small lamp for all kinds of beds,3\n",
        "Date,Comment\n2024-01-01,ok\n2024-01-02,fine\n2024-01-03,bad\n",
        "Rating,Comment\n1,nothing to say about it at all\n2,nothing to say about it at all\n"
        "3,nothing to say about it at all\n",
    ],
)
def test_given_any_other_table_then_none(text: str, tmp_path: Path) -> None:
    assert read_comments(chunks_of(written(tmp_path, text))) == []


def test_given_ten_points_or_a_hundred_then_the_scale_is_that(tmp_path: Path) -> None:
    for top in (10, 100):
        rows = "".join(f"{top * n // 4},This is comment number {n} of it\n" for n in range(5))
        path = written(tmp_path, f"Score,Comment\n{rows}", f"{top}.csv")
        shares = [comment.rating for comment in read_comments(chunks_of(path))]
        assert (shares[0], shares[-1]) == (0.0, 1.0)


def test_given_a_row_that_begins_like_a_total_then_it_is_a_comment(tmp_path: Path) -> None:
    rows = (
        "Total waste of money,1",
        "Average sound at best,3",
        "It works well,5",
        "A fine thing,5",
    )
    text = "\n".join(("Comment,Rating", *rows, ""))
    assert len(read_comments(chunks_of(written(tmp_path, text)))) == 4
