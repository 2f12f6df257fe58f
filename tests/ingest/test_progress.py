"""How far an ingest is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.ingest import progress
from ragstone.ingest.progress import MAX_KINDS, OTHER, Tracker
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
    mine.set_waiting(6)
    mine.count_indexed(10, 2, 0)
    mine.count_embedded(8)
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
    mine.set_waiting(left)
    mine.count_embedded(left)
    last = mine.finish()
    assert last.embedded == last.vectors
    assert last.waiting >= 0


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def told(clock: Clock) -> tuple[Tracker, list[Progress]]:
    said: list[Progress] = []
    return Tracker("job", said.append), said


def test_given_unchanged_files_then_they_are_no_work_to_come(clock: Clock) -> None:
    mine, said = told(clock)
    mine.expect(10_000, 10_000_000)
    for _ in range(4_800):
        mine.count_unchanged(1_000)
    for _ in range(200):
        mine.count_changed(1_000)
    clock.now = 10.0
    for _ in range(100):
        mine.count_indexed(1_000, 1, 0)
    mine.count_embedded(100)
    clock.now = 20.0
    mine.count_embedded(0)
    # 100 files that are changed are unread, and 4 % of the 5,000 that are not compared will be.
    assert said[-1].eta == pytest.approx(20.0 * (100 + 0.04 * 5_000) / 100)


def test_given_only_unchanged_files_then_the_time_left_is_that_of_looking_at_them(
    clock: Clock,
) -> None:
    mine, said = told(clock)
    mine.expect(1_000, 1_000_000)
    clock.now = 2.0
    for _ in range(250):
        mine.count_unchanged(1_000)
    clock.now = 3.0
    mine.count_embedded(0)
    assert said[-1].eta == pytest.approx(9.0)


def read_at(clock: Clock, mine: Tracker, seconds: float, files: int) -> None:
    """So many files of one chunk and 1,000 bytes are read one after the other."""
    for _ in range(files):
        clock.now += seconds
        mine.count_indexed(1_000, 1, 0)


def test_given_vectors_that_lag_behind_then_reading_and_vectors_are_weighed_apart(
    clock: Clock,
) -> None:
    mine, said = told(clock)
    mine.expect(1_000, 1_000_000)
    for _ in range(1_000):
        mine.count_changed(1_000)
    read_at(clock, mine, 0.01, 500)  # 5 s
    mine.count_embedded(100)
    clock.now += 0.2
    mine.count_embedded(0)
    # 5.2 s to read the rest, in which 100 more are embedded; of the 1,000 then 800 are missing.
    assert said[-1].eta == pytest.approx(5.2 + 800 * 0.052, rel=0.02)
    read_at(clock, mine, 0.01, 500)
    mine.phase("embedding")
    clock.now += 10
    mine.count_embedded(400)
    # Alone, the embedder makes 40 a second; half of the 1,000 are missing.
    assert said[-1].eta == pytest.approx(12.5, rel=0.02)


def test_given_files_whose_reading_takes_long_then_vectors_are_nothing_beside_it(
    clock: Clock,
) -> None:
    mine, said = told(clock)
    mine.expect(100, 100_000)
    for _ in range(100):
        mine.count_changed(1_000)
    for _ in range(70):
        clock.now += 10
        mine.count_indexed(1_000, 1, 10)
        clock.now += 0.05
        mine.count_embedded(1)
    assert said[-1].eta == pytest.approx(30 * 10.05, rel=0.02)


def test_given_files_that_fail_then_they_are_read_too(clock: Clock) -> None:
    mine, said = told(clock)
    mine.expect(1_000, 0)
    for _ in range(1_000):
        mine.count_changed(0)
    for number in range(500):
        clock.now += 0.01
        mine.count_failed(f"/{number}", "It is empty.", 0, read=True)
    assert said[-1].eta == pytest.approx(5.0, rel=0.05)


def test_given_vectors_that_were_there_then_they_say_nothing_about_others(clock: Clock) -> None:
    mine, said = told(clock)
    mine.expect(1_000, 1_000_000)
    for _ in range(1_000):
        mine.count_changed(1_000)
    read_at(clock, mine, 0.001, 900)
    mine.count_reused(800)
    read_at(clock, mine, 0.001, 100)
    mine.phase("embedding")
    clock.now += 10
    mine.count_embedded(20)
    assert said[-1].eta == pytest.approx(180 * 10 / 20, rel=0.02)


def test_given_few_slow_vectors_then_the_time_left_is_told_after_a_while(clock: Clock) -> None:
    mine, said = told(clock)
    mine.expect(1, 1_000)
    mine.count_changed(1_000)
    mine.count_indexed(1_000, 40, 0)
    mine.phase("embedding")
    clock.now += 20
    mine.count_embedded(8)
    assert said[-1].eta == pytest.approx(32 * 20 / 8)


def test_while_the_index_is_built_no_time_is_told(clock: Clock) -> None:
    mine, said = told(clock)
    mine.expect(1, 10)
    mine.count_indexed(10, 1, 0)
    mine.count_embedded(1)
    clock.now = 1.0
    mine.phase("building")
    assert (said[-1].phase, said[-1].eta) == ("building", None)


@given(
    st.lists(st.tuples(st.sampled_from(["same", "new", "bad"]), st.integers(0, 9)), max_size=200),
    st.integers(0, 200),
)
def test_given_any_files_then_the_time_left_is_never_negative(
    files: list[tuple[str, int]], embedded: int
) -> None:
    said: list[Progress] = []
    mine = Tracker("job", said.append)
    mine.expect(len(files), sum(size for _, size in files))
    for kind, size in files:
        if kind == "same":
            mine.count_unchanged(size)
        else:
            mine.count_changed(size)
    for kind, size in files:
        if kind == "new":
            mine.count_indexed(size, 1, 0)
        elif kind == "bad":
            mine.count_failed("/a", "It is empty.", size)
    mine.phase("embedding")
    mine.count_embedded(min(embedded, sum(kind == "new" for kind, _ in files)))
    assert all(item.eta is None or item.eta >= 0 for item in said)
    assert mine.finish().eta == 0


def test_given_very_many_kinds_of_files_then_the_rest_is_one() -> None:
    mine = tracker()
    for number in range(MAX_KINDS + 10):
        mine.count_skipped(f".{number}")
    kinds = {item.kind: item.files for item in mine.finish().skipped}
    assert kinds[OTHER] == 10
    assert sum(kinds.values()) == MAX_KINDS + 10


def test_chunks_that_a_dead_writer_left_are_not_more_than_all() -> None:
    tracker = Tracker("j", lambda progress: None)
    tracker.count_indexed(10, chunks=3, pages=1)
    tracker.count_embedded(3)
    tracker.count_embedded(2)
    last = tracker.finish()
    assert (last.chunks, last.embedded, last.share) == (3, 3, 1.0)
