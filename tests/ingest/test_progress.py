"""How far an ingest is."""

from hypothesis import given
from hypothesis import strategies as st

from ragstone.ingest.progress import MOST_KINDS, OTHER, Tracker
from ragstone.service import Progress


def tracker(earlier: Progress | None = None) -> Tracker:
    return Tracker("job", lambda progress: None, earlier)


@given(
    total=st.integers(1, 5),
    read=st.integers(0, 5),
    chunks=st.integers(0, 20),
    waiting=st.integers(0, 20),
    embedded=st.integers(0, 40),
)
def test_given_any_state_then_the_share_is_one_only_when_nothing_waits(
    total: int, read: int, chunks: int, waiting: int, embedded: int
) -> None:
    read, embedded = min(read, total), min(embedded, chunks + waiting)
    now = Progress(
        "job", files=read, total=total, chunks=chunks, waiting=waiting, embedded=embedded
    )
    assert now.share is not None
    assert 0 <= now.share <= 1
    assert (now.share == 1) == (read == total and embedded == chunks + waiting)


def test_given_chunks_that_waited_before_then_they_count_as_work() -> None:
    mine = tracker()
    mine.expect(1, 10)
    mine.waiting(6)
    mine.indexed(10, 2, 0)
    mine.embedded(8)
    last = mine.finish()
    assert (last.chunks, last.waiting, last.vectors, last.embedded) == (2, 6, 8, 8)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_given_an_interrupted_job_then_vectors_end_as_many_as_are_needed(
    written: int, stored: int, done: int, old: int
) -> None:
    # What was stored of the job before it ended may be older than what it had done.
    stored, done = min(stored, written), min(done, written + old)
    earlier = Progress("job", chunks=stored, embedded=min(done, stored), waiting=old)
    mine = tracker(earlier)
    left = written + old - done
    mine.waiting(left)
    mine.embedded(left)
    last = mine.finish()
    assert last.embedded == last.vectors
    assert last.waiting >= 0


def test_given_very_many_kinds_of_files_then_the_rest_is_one() -> None:
    mine = tracker()
    for number in range(MOST_KINDS + 10):
        mine.skipped(f".{number}")
    kinds = {one.kind: one.files for one in mine.finish().skipped}
    assert kinds[OTHER] == 10
    assert sum(kinds.values()) == MOST_KINDS + 10
