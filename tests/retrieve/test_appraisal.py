"""What a chat model says of passages."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.retrieve.grade_passages import Appraisal, appraisal


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"grades": {"1": 8, "2": 3}, "overall": 6, "query": "a b"}', ((8, 3), 6, "a b")),
        ('Sure!\n```json\n{"grades": {"1": 8, "2": 3}, "overall": 6,}\n```', ((8, 3), 8, "")),
        ('{"1": 8, "2": "3/10"}', ((8, 3), 8, "")),
        ("[8, 3]", ((8, 3), 8, "")),
        ('{"grades": [{"score": 8}, {"grade": 3}]}', ((8, 3), 8, "")),
        ('{"grades": {"1": 8}, "overall": "high", "query": 7}', ((8, None), 8, "")),
        ('{"grades": {"1": 11, "2": -1, "3": 4}}', None),
        ('{"grades": {"1": true, "2": "good"}}', None),
        ('{"grades": {"1": NaN}}', None),
        ("The first one is good.", None),
        ("", None),
        (
            'First {"grades": {"1": 1, "2": 1}, "overall": 1} - no: '
            '{"grades": {"1": 8, "2": 3}, "overall": 6}',
            ((8, 3), 6, ""),
        ),
    ],
)
def test_given_a_reply_then_its_grades(
    reply: str, expected: tuple[tuple[float | None, ...], float, str] | None
) -> None:
    found = appraisal(reply, 2)
    assert found == (Appraisal(*expected) if expected else None)


@given(st.text() | st.from_type(dict[str, float]).map(json.dumps), st.integers(0, 5))
def test_given_anything_then_no_error_and_no_grade_out_of_range(reply: str, count: int) -> None:
    found = appraisal(reply, count)
    if found:
        assert len(found.grades) == count
        assert all(item is None or 0 <= item <= 10 for item in (*found.grades, found.overall))
