"""Settings set at run time: stored, merged by scope, logged, and seen by every replica."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from ragstone.cache.local import LocalCache
from ragstone.core.errors import InvalidSetting, StateUnavailable, UnknownSetting
from ragstone.core.turn import Ask, Plan, Principal
from ragstone.local.configured import Configured
from ragstone.local.settings import LocalSettings
from ragstone.local.watching import Watch
from ragstone.ports import Kept
from ragstone.recipes import setting_table
from ragstone.settings import RagSettings, Settings
from ragstone.settings.profiles import PROFILES
from ragstone.settings.read import load
from ragstone.store.sql.database import Database, open_database
from ragstone.store.sql.settings import SqlSettings
from tests.memory_store import MemoryNames
from tests.patience import PATIENCE

ACME = Principal("acme")


class Replica:
    """One process' view of the store."""

    def __init__(self, database: Database, base: Settings | None = None) -> None:
        self.store = SqlSettings(database)
        self.configured = Configured(base or Settings())
        self.names = MemoryNames()
        self.settings = LocalSettings(self.store, self.names, self.configured)
        self.watch = Watch(self.store, {"settings": self.settings.refresh}, seconds=1.0)

    def top_k(self, ask: Ask) -> int:
        [route] = [s for s in self.configured.answer_recipe(ask).stages if s.name == "route"]
        return int(route.plan.top_k)  # type: ignore[attr-defined]


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "state.sqlite") as database:
        yield database


@pytest.fixture
async def replica(database: Database) -> Replica:
    replica = Replica(database)
    await replica.settings.refresh()
    return replica


async def test_given_several_places_at_the_start_then_all_are_shown_and_no_secret(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("RAG__TOP_K=4\nLLM__API_KEY=first\nINDEX__URL=http://u:pw@q:1\n")
    monkeypatch.setenv("RAG__TOP_K", "6")
    monkeypatch.setenv("LLM__API_KEY", "second")
    monkeypatch.setenv("INDEX__URL", "http://q:2")
    replica = Replica(database, load())
    await replica.settings.refresh()
    await replica.settings.put("global", {"rag.top_k": 5}, "ann")

    async def shown(key: str) -> list[tuple[str, str, str]]:
        layers = await replica.settings.explain(key)
        return [(layer.source, layer.where, str(layer.value)) for layer in layers]

    assert await shown("rag.top_k") == [
        ("default", "", "10"),
        ("environment", "RAG__TOP_K in .env", "4"),
        ("environment", "RAG__TOP_K", "6"),
        ("store", "global", "5"),
    ]
    secret = await shown("llm.api_key")
    assert [value for _, _, value in secret] == ["", "set", "set"]
    assert ("environment", "INDEX__URL in .env", "http://u:***@q:1") in await shown("index.url")


async def test_given_scopes_then_the_narrowest_counts(replica: Replica) -> None:
    await replica.settings.put("global", {"rag.top_k": 5}, "ann")
    await replica.settings.put("tenant:acme", {"rag.top_k": 6}, "ann")
    await replica.settings.put("collection:acme/law/eu", {"rag.top_k": 7}, "ann")
    assert replica.top_k(Ask("q")) == 5
    assert replica.top_k(Ask("q", ACME)) == 6
    id = replica.names.ids["acme", "law/eu"]
    assert replica.top_k(Ask("q", ACME, "law/eu", collection_id=id)) == 7
    assert replica.top_k(Ask("q", Principal("other"), "law/eu", collection_id=id)) == 5
    layers = await replica.settings.explain("rag.top_k", "acme", "law/eu")
    assert [(layer.source, layer.where, layer.value) for layer in layers] == [
        ("default", "", 10),
        ("store", "global", 5),
        ("store", "tenant:acme", 6),
        ("store", "collection:acme/law/eu", 7),
    ]
    await replica.settings.unset("tenant:acme", ["rag.top_k"], "ann")
    assert replica.top_k(Ask("q", ACME)) == 5


def plan(replica: Replica, ask: Ask) -> Plan:
    [route] = [s for s in replica.configured.answer_recipe(ask).stages if s.name == "route"]
    found: Plan = route.plan  # type: ignore[attr-defined]
    return found


async def test_given_a_dialect_then_its_documents_numbers_are_the_defaults(
    replica: Replica,
) -> None:
    ours = plan(replica, Ask("q"))
    assert (ours.candidates, ours.top_k, ours.fusion) == (100, 10, "scores")
    v5 = plan(replica, Ask("q", profile="chats"))
    assert (v5.candidates, v5.top_k, v5.fusion, v5.min_similarity) == (50, 5, "ranks", 0.3)
    pipeline = plan(replica, Ask("q", profile="pipeline"))
    assert (pipeline.candidates, pipeline.top_k, pipeline.min_similarity) == (15, 10, 0.4)
    assert replica.configured.limit_ask(Ask("q", profile="chat_core")).max_tokens == 10_000
    assert replica.configured.limit_ask(Ask("q", profile="rag_v1")).temperature == 0.7
    assert replica.configured.limit_ask(Ask("q")).max_tokens is None


async def test_given_an_operators_number_then_it_counts_more_than_a_profiles(
    replica: Replica, database: Database
) -> None:
    await replica.settings.put("global", {"rag.top_k": 7}, "ann")
    assert plan(replica, Ask("q", profile="chats")).top_k == 7
    await replica.settings.put("dialect:chats", {"rag.top_k": 8, "rag.candidates": 60}, "ann")
    assert plan(replica, Ask("q", profile="chats")).top_k == 8
    assert plan(replica, Ask("q", profile="plone")).top_k == 7
    assert plan(replica, Ask("q")).candidates == 100
    await replica.settings.put("tenant:acme", {"rag.top_k": 9}, "ann")
    assert plan(replica, Ask("q", ACME, profile="chats")).top_k == 9
    layers = await replica.settings.explain("rag.candidates", "acme", dialect="chats")
    assert [(layer.source, layer.where, layer.value) for layer in layers] == [
        ("default", "", 100),
        ("profile", "chats", 50),
        ("store", "dialect:chats", 60),
    ]
    started = Replica(database, load(**{"rag.top_k": 4}))
    assert plan(started, Ask("q", profile="chats")).top_k == 4


async def test_given_the_profile_ragstone_then_all_dialects_have_our_numbers(
    database: Database,
) -> None:
    ours = Replica(database, Settings(profile="ragstone"))
    for dialect in PROFILES:
        assert plan(ours, Ask("q", profile=dialect)) == plan(ours, Ask("q"))


def test_given_a_profile_then_its_settings_are_settings_that_differ_from_ours() -> None:
    for values in PROFILES.values():
        settings = {key: value for key, value in values.items() if not key.startswith("stages.")}
        for key, value in settings.items():
            one = setting_table.table()[key]
            assert "dialect" in one.scopes
            assert setting_table.check_value(key, value) == value != one.default


async def test_given_a_dialect_that_is_none_then_the_error_names_those_that_are(
    replica: Replica,
) -> None:
    with pytest.raises(InvalidSetting, match="chat_core, pipeline, rag_v1, plone, chats"):
        await replica.settings.put("dialect:mail", {"rag.top_k": 7}, "ann")
    with pytest.raises(InvalidSetting, match="dialect:mail"):
        await replica.settings.get("rag.top_k", dialect="mail")


async def test_given_a_collection_has_another_name_then_its_settings_go_with_it(
    replica: Replica,
) -> None:
    scope = "collection:acme/law"
    await replica.settings.put(scope, {"rag.top_k": 7}, "ann")
    replica.names.ids["acme", "acts"] = replica.names.ids.pop(("acme", "law"))
    assert (await replica.settings.get("rag.top_k", "acme", "acts")).where == "collection:acme/acts"
    assert (await replica.settings.get("rag.top_k", "acme", "law")).value == 10
    assert [item.scope for item in await replica.settings.log(10)] == ["collection:acme/acts"]
    assert await replica.settings.log(10, scope=scope) == []
    [unset] = await replica.settings.unset(scope, ["rag.top_k"], "ann")
    assert (unset.value, replica.names.ids.get(("acme", "law"))) == (10, None)
    assert len(await replica.store.list_stored()) == 1
    await replica.settings.put(scope, {"rag.top_k": 8}, "ann")
    assert (await replica.settings.get("rag.top_k", "acme", "acts")).value == 7
    [unset] = await replica.settings.unset("collection:acme/acts", ["rag.top_k"], "ann")
    assert (unset.value, unset.source) == (10, "default")


async def test_given_the_environment_then_the_store_counts_more(database: Database) -> None:
    replica = Replica(database, Settings(rag=RagSettings(top_k=4)))
    await replica.settings.put("global", {"rag.candidates": 50}, "ann")
    assert replica.top_k(Ask("q")) == 4
    await replica.settings.put("global", {"rag.top_k": 9}, "ann")
    assert replica.top_k(Ask("q")) == 9


async def test_given_one_wrong_value_among_several_then_nothing_changes(replica: Replica) -> None:
    with pytest.raises(InvalidSetting, match="rag.candidates"):
        await replica.settings.put("global", {"rag.top_k": 5, "rag.candidates": 1}, "ann")
    with pytest.raises(UnknownSetting):
        await replica.settings.put("global", {"rag.top_k": 5, "rag.nothing": 1}, "ann")
    with pytest.raises(InvalidSetting, match="each once"):
        await replica.settings.put("global", {"rag.top_k": 5, "RAG_TOP_K": 6}, "ann")
    assert await replica.store.list_stored() == []
    assert await replica.settings.log(10) == []
    assert replica.top_k(Ask("q")) == 10


@pytest.mark.parametrize(
    "scope", ["", "acme", "tenant:", "collection:acme", "collection:/x", "x" * 600]
)
async def test_given_no_scope_then_an_error(replica: Replica, scope: str) -> None:
    with pytest.raises(InvalidSetting, match="is not a scope"):
        await replica.settings.put(scope, {"rag.top_k": 5}, "ann")


async def test_given_a_scope_that_a_setting_cannot_have_then_an_error(replica: Replica) -> None:
    said = "can be set for global or dialect, not for 'tenant:acme'"
    with pytest.raises(InvalidSetting, match=said):
        await replica.settings.put("tenant:acme", {"cache.max_entries": 50}, "ann")


async def test_given_changes_then_the_log_says_who_and_what(replica: Replica) -> None:
    before = time.time()
    await replica.settings.put("global", {"rag.top_k": 5}, "ann")
    await replica.settings.put("global", {"rag.top_k": 5}, "bob")
    await replica.settings.put("global", {"rag.top_k": 6, "rag.mode": "precise"}, "bob")
    await replica.settings.unset("global", ["rag.top_k"], "ann")
    await replica.settings.unset("global", ["rag.top_k"], "ann")
    lines = await replica.settings.log(10, "rag.top_k")
    assert [(c.who, c.action, c.old, c.new) for c in lines] == [
        ("ann", "unset", 6, None),
        ("bob", "set", 5, 6),
        ("ann", "set", None, 5),
    ]
    assert before <= lines[-1].at <= time.time()
    assert len(await replica.settings.log(10)) == 4


async def test_given_secrets_then_they_are_never_shown(database: Database) -> None:
    base = Settings.model_validate({"llm": {"api_key": "sk-very-secret", "model": "openai:x"}})
    replica = Replica(database, base)
    shown = repr(await replica.settings.list_all()) + repr(
        await replica.settings.explain("llm.api_key")
    )
    assert "sk-very-secret" not in shown
    assert (await replica.settings.get("llm.api_key")).value == "set"


async def test_given_a_password_in_an_address_then_it_is_not_shown(database: Database) -> None:
    base = Settings.model_validate({"index": {"url": "postgresql://ann:s3cret@db/x"}})
    shown = await Replica(database, base).settings.get("index.url")
    assert shown.value == "postgresql://ann:***@db/x"


async def test_given_another_replica_then_it_sees_a_change_soon(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.sqlite"
    async with open_database(path) as here, open_database(path) as there:
        one, two = Replica(here), Replica(there)
        for replica in (one, two):
            await replica.watch.start()
        try:
            await one.settings.put("tenant:acme", {"rag.top_k": 3}, "ann")
            changed = time.monotonic()
            assert one.top_k(Ask("q", ACME)) == 3
            while two.top_k(Ask("q", ACME)) != 3:
                assert time.monotonic() - changed < PATIENCE
                await asyncio.sleep(0.02)
            await two.settings.unset("tenant:acme", ["rag.top_k"], "bob")
            changed = time.monotonic()
            while one.top_k(Ask("q", ACME)) != 10:
                assert time.monotonic() - changed < PATIENCE
                await asyncio.sleep(0.02)
        finally:
            for replica in (one, two):
                await replica.watch.aclose()


async def test_given_a_store_that_fails_for_a_while_then_what_was_read_holds(
    replica: Replica,
) -> None:
    class Failing:
        def __init__(self) -> None:
            self.down = False

        async def marks(self) -> dict[str, int]:
            if self.down:
                raise StateUnavailable("The database is away.")
            return dict(await replica.store.marks())

    store = Failing()
    watch = Watch(store, {"settings": replica.settings.refresh}, seconds=0.01)
    await watch.start()
    store.down = True
    await SqlSettings(replica.store._database).edit([], "nobody")
    await asyncio.sleep(0.05)
    store.down = False
    other = Replica(replica.store._database)
    await other.settings.put("global", {"rag.top_k": 8}, "ann")
    await asyncio.sleep(0.2)
    assert replica.top_k(Ask("q")) == 8
    await watch.aclose()


async def test_given_scopes_without_settings_then_recipes_are_shared(replica: Replica) -> None:
    await replica.settings.put("tenant:acme", {"rag.top_k": 6}, "ann")
    plain = replica.configured.answer_recipe(Ask("q", Principal("a"), "x"))
    assert replica.configured.answer_recipe(Ask("q", Principal("b"), "y")) is plain
    acme = replica.configured.answer_recipe(Ask("q", ACME, "x"))
    assert acme is replica.configured.answer_recipe(Ask("q", ACME, "y"))
    assert acme is not plain


async def test_given_other_settings_then_the_cache_keeps_them_apart(replica: Replica) -> None:
    def stamp() -> str:
        stages = replica.configured.answer_recipe(Ask("q")).stages
        [recall] = [s for s in stages if s.name == "recall"]
        return str(recall.recipe)  # type: ignore[attr-defined]

    first = stamp()
    await replica.settings.put("global", {"stages.deduplicate.near_duplicate": 0.5}, "ann")
    second = stamp()
    await replica.settings.put("global", {"rag.use_hybrid_search": False}, "ann")
    assert len({first, second, stamp()}) == 3
    await replica.settings.unset(
        "global", ["stages.deduplicate.near_duplicate", "rag.use_hybrid_search"], "a"
    )
    assert stamp() == first


async def test_given_the_cache_is_off_then_no_stage_looks_into_it(replica: Replica) -> None:
    await replica.settings.put("global", {"cache.enabled": False}, "ann")
    recipe = replica.configured.answer_recipe(Ask("q"))
    assert "recall" not in {stage.name for stage in recipe.stages}


async def test_given_limits_of_the_cache_then_it_has_them_at_once(database: Database) -> None:
    cache = LocalCache(None, 1000)
    await cache.open()
    settings = LocalSettings(SqlSettings(database), MemoryNames(), Configured(Settings()), cache)
    for number in range(30):
        await cache.keep("s", np.eye(30, dtype=np.float32)[number], Kept(f"Q{number}"))
    await settings.put("global", {"cache.max_entries": 20}, "ann")
    assert (await cache.figures()).entries == 20
    await cache.aclose()


async def test_given_limits_of_an_answer_then_a_request_gets_no_more(replica: Replica) -> None:
    limit_ask = replica.configured.limit_ask
    assert limit_ask(Ask("q")) == Ask("q")
    assert limit_ask(Ask("q", max_tokens=5000)).max_tokens == 1024
    await replica.settings.put("tenant:acme", {"llm.max_tokens": 50, "llm.temperature": 0.1}, "ann")
    assert limit_ask(Ask("q", ACME)).max_tokens == 50
    assert limit_ask(Ask("q", ACME)).temperature == 0.1
    assert limit_ask(Ask("q", ACME, max_tokens=60, temperature=1.0)).max_tokens == 50
    assert limit_ask(Ask("q", ACME, max_tokens=60, temperature=1.0)).temperature == 1.0
    assert limit_ask(Ask("q", max_tokens=60)).max_tokens == 60


async def test_given_a_stored_value_that_is_no_longer_allowed_then_it_is_left_out(
    replica: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    from ragstone.core.records import SettingEdit

    edits = [SettingEdit("global", "rag.top_k", 10_000), SettingEdit("global", "gone.key", 1)]
    await replica.store.edit(
        [*edits, SettingEdit("global", "rag.candidates", 44)], "an older version"
    )
    await replica.settings.refresh()
    assert replica.top_k(Ask("q")) == 10
    assert replica.configured.of().settings.rag.candidates == 44
    assert "left out" in caplog.text
