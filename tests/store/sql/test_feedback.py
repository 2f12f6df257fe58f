"""What people think of answers, on the state store."""

import time
from dataclasses import replace
from pathlib import Path

from ragstone.core.records import Feedback
from ragstone.core.turn import Principal
from ragstone.store.sql.database import open_database
from ragstone.store.sql.erasure import SqlErasure
from ragstone.store.sql.history import SqlFeedback

GIVEN = Feedback("default", "ada", "a1", "up", "", "How high?", "41 metres.", "default", 1.0)


async def test_an_opinion_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    async with open_database(tmp_path / "state.sqlite") as database:
        store = SqlFeedback(database)
        await store.put(GIVEN)
        changed = replace(GIVEN, thumb="down", comment="It is 42.", at=time.time())
        await store.put(changed)
        await store.put(replace(GIVEN, answer_id="a2", at=2.0))
        await store.put(replace(GIVEN, tenant="other"))
        found = await store.latest("default", 10)
    assert [item.answer_id for item in found] == ["a1", "a2"]
    assert found[0] == changed


async def test_who_is_forgotten_has_no_opinion(tmp_path: Path) -> None:
    async with open_database(tmp_path / "state.sqlite") as database:
        store = SqlFeedback(database)
        await store.put(GIVEN)
        await store.put(replace(GIVEN, user="bob"))
        await SqlErasure(database, tmp_path).delete(Principal("default", "ada"), None, [])
        assert [item.user for item in await store.latest("default", 10)] == ["bob"]
