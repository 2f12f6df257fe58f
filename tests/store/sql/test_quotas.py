"""Quotas and verified answers on both databases of the state."""

from pathlib import Path

from ragstone.core.turn import Principal
from ragstone.plugins.quotas.records import EVERY_USER, MonthUse
from ragstone.plugins.quotas.service import SqlQuotas
from ragstone.plugins.verified.contract import VerifiedAnswer, VerifiedSource
from ragstone.plugins.verified.store import SqlVerified
from ragstone.store.sql.database import Database
from ragstone.store.sql.erasure import SqlErasure
from tests.databases import all_postgres_databases, open_state, postgres_databases, state

__all__ = ["all_postgres_databases", "open_state", "postgres_databases", "state"]

EVA = Principal(user="eva", groups=("press",))


async def test_use_adds_up_for_user_group_and_tenant(state: Database) -> None:
    quotas = SqlQuotas(state)
    await quotas.put("default", EVERY_USER, 100, None)
    await quotas.put("default", ("group", "press"), None, 2.5)
    await quotas.put("default", ("tenant", ""), 1_000, 9.0)
    await quotas.put("default", ("tenant", ""), 2_000, None)

    await quotas.add(EVA, MonthUse(40, 0.5))
    await quotas.add(Principal(user="otto", groups=("press",)), MonthUse(30, 0.25))

    found = {item.subject: item for item in await quotas.find(EVA)}
    assert {name: (item.used_tokens, item.used_cost) for name, item in found.items()} == {
        "user:eva": (40, 0.5),
        "group:press": (70, 0.75),
        "tenant": (70, 0.75),
    }
    assert (found["tenant"].tokens, found["tenant"].cost) == (2_000, None)
    assert await quotas.remove("default", EVERY_USER)
    assert not await quotas.remove("default", EVERY_USER)


async def test_a_verified_answer_is_kept_whole_and_forgets_who_is_erased(
    state: Database, tmp_path: Path
) -> None:
    verified = SqlVerified(state)
    source = VerifiedSource("d1", "/a.md", "A", 0, 5, "hash")
    kept = VerifiedAnswer(
        "1", "c1", "Yes. [1]", ("Is it?",), (source,), "eva", ("user:eva", "group:hr"), 5.0, 9.0
    )
    await verified.put("default", kept)
    assert await verified.list_all("default", "c1") == [kept]
    assert await verified.list_all("other", "c1") == []

    await SqlErasure(state, tmp_path).delete(EVA, None, [])

    [left] = await verified.list_all("default", "c1")
    assert (left.owner, left.readers) == ("", ("group:hr",))
