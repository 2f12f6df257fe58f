"""Work that must not be repeated is noted once, on every database."""

from ragstone.store.sql.database import Database
from ragstone.store.sql.history import REMEMBERED, first_time


async def test_only_the_first_time_is_the_first(state: Database) -> None:
    assert await state.keep(lambda c: first_time(c, "a", 1.0))
    assert not await state.keep(lambda c: first_time(c, "a", 2.0))
    assert await state.keep(lambda c: first_time(c, "b", 3.0))


async def test_what_was_long_ago_is_forgotten(state: Database) -> None:
    assert await state.keep(lambda c: first_time(c, "a", 1.0))
    assert await state.keep(lambda c: first_time(c, "a", REMEMBERED + 2.0))
