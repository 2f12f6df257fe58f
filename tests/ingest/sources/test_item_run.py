"""A collection follows what a source lists: content, rights, names, and what is gone."""

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.clock import state_time
from ragstone.core.errors import SourceUnavailable
from ragstone.core.sync import SourceItem, SourceRun
from ragstone.ingest.uploads import Spool
from ragstone.plugins.sources import item_run
from ragstone.plugins.sources.run import SyncRequest
from ragstone.plugins.sources.sync import run_source
from ragstone.service import IngestRequest
from tests.ingest.sources.scripted_source import (
    ScriptedSource,
    SyncedCollection,
    opened_collection,
    scripted,
    synced,
)

__all__ = ["scripted", "synced"]

pytestmark = pytest.mark.slow


def counts(run: SourceRun) -> tuple[int, ...]:
    """Added, changed, rights, removed, unchanged, failed."""
    return run.added, run.changed, run.rights, run.removed, run.unchanged, run.failed


async def test_only_what_is_new_or_changed_is_fetched(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("menu.txt", "There is soup.")
    scripted.put("pay/salaries.txt", "The director earns 9,000 euros.")

    first = await synced.sync()
    second = await synced.sync()
    scripted.put("menu.txt", "There is bread.")
    third = await synced.sync()

    assert counts(first) == (2, 0, 0, 0, 0, 0)
    assert counts(second) == (0, 0, 0, 0, 2, 0)
    assert counts(third) == (0, 1, 0, 0, 1, 0)
    assert scripted.fetched == ["menu.txt", "pay/salaries.txt", "menu.txt"]
    assert set(await synced.documents()) == {"/house/menu.txt", "/house/pay/salaries.txt"}
    assert await synced.texts() == {"There is bread.", "The director earns 9,000 euros."}
    document = (await synced.documents())["/house/menu.txt"]
    assert document.metadata == {"source": "house"}


async def test_changes_that_are_far_from_each_other_are_handed_over_together(
    synced: SyncedCollection, scripted: ScriptedSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_run, "PAGE", 3)
    for number in range(9):
        scripted.put(f"{number}.txt", f"Text {number}.")
    await synced.sync()
    hand_over, calls = synced.parts.pipeline.ingest, list[int]()

    async def count(run: str, request: IngestRequest, *others: Any) -> Any:
        calls.append(len(request.handed))
        return await hand_over(run, request, *others)

    monkeypatch.setattr(synced.parts.pipeline, "ingest", count)
    for number in range(0, 9, 3):
        scripted.put(f"{number}.txt", f"Text {number}, changed.")
    run = await synced.sync()

    assert (calls, run.changed) == ([3], 3)


async def test_a_run_that_waited_while_its_source_was_removed_brings_nothing_back(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "One.")
    begun = SourceRun("run0", "s1", 0.0)

    async with synced.catalog.alone("default", "source s1"):
        waiting = asyncio.create_task(
            run_source(synced.parts, synced.source, SyncRequest(), begun, lambda run: None)
        )
        await asyncio.sleep(0)
        await synced.store.remove("s1")
    run = await waiting

    assert run.state == "stopped"
    assert await synced.documents() == {}


async def test_a_listing_with_a_gap_removes_nothing_and_says_why(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "One.")
    scripted.put("b.txt", "Two.")
    await synced.sync()

    del scripted.items["a.txt"]
    scripted.put("c.txt", "Three.")
    scripted.gap = "Half of it was not looked at."
    run = await synced.sync()
    accepted = await synced.sync(accept_removals=True)

    assert (run.state, run.added, run.removed) == ("done", 1, 0)
    assert run.notes == ("Half of it was not looked at. Nothing was removed.",)
    assert (accepted.removed, accepted.notes) == (1, ())


async def test_what_is_gone_is_removed(synced: SyncedCollection, scripted: ScriptedSource) -> None:
    scripted.put("a.txt", "One.")
    scripted.put("b.txt", "Two.")
    await synced.sync()

    del scripted.items["a.txt"]
    run = await synced.sync()

    assert counts(run) == (0, 0, 0, 1, 1, 0)
    assert await synced.texts() == {"Two."}


async def test_a_listing_that_breaks_off_removes_nothing_and_the_run_says_why(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    for number in range(3):
        scripted.put(f"{number}.txt", f"Text {number}.")
    await synced.sync()

    scripted.breaks_after = 1
    run = await synced.sync()

    assert (run.state, run.error, run.removed) == ("failed", "It went away.", 0)
    assert len(await synced.documents()) == 3


async def test_an_empty_listing_is_held_back_until_somebody_accepts_it(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "One.")
    await synced.sync()

    scripted.items.clear()
    held = await synced.sync()
    accepted = await synced.sync(accept_removals=True)

    assert (held.held, held.removed, held.state) == (1, 0, "done")
    assert "--accept-removals" in held.notes[0]
    assert accepted.removed == 1
    assert await synced.documents() == {}


async def test_a_listing_that_shrinks_by_more_than_half_is_held_back(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    for number in range(20):
        scripted.put(f"{number}.txt", f"Text {number}.")
    await synced.sync()

    for number in range(11):
        del scripted.items[f"{number}.txt"]
    held = await synced.sync()
    scripted.put("0.txt", "Text 0.")
    whole = await synced.sync()

    assert (held.held, held.removed) == (11, 0)
    assert (whole.held, whole.removed) == (0, 10)
    assert len(await synced.documents()) == 10


async def test_rights_change_without_reading_again(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "Secret.")
    await synced.sync()
    assert await synced.texts() == {"Secret."}

    scripted.put("a.txt", "Secret.", "group:hr")
    run = await synced.sync()

    assert counts(run) == (0, 0, 1, 0, 0, 0)
    assert scripted.fetched == ["a.txt"]
    assert await synced.texts() == set()
    assert await synced.texts("group:hr") == {"Secret."}


async def test_who_may_not_read_it_any_more_does_not_while_new_content_cannot_be_had(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "Secret.")
    await synced.sync()

    scripted.put("a.txt", "More secret.", "group:hr")
    scripted.missing.add("a.txt")
    run = await synced.sync()

    assert run.failures[0].reason == "It is not there any more."
    assert await synced.texts() == set()
    assert await synced.texts("group:hr") == {"Secret."}


async def test_a_document_that_a_run_which_was_cut_off_has_left_has_its_items_readers_at_once(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "Secret.")
    await synced.sync()
    # As a kill does between the index and what is known of the item.
    await synced.store.remove_items("s1", ["a.txt"])

    scripted.put("a.txt", "More secret.", "group:hr")
    scripted.missing.add("a.txt")
    await synced.sync()

    assert await synced.texts() == set()
    assert await synced.texts("group:hr") == {"Secret."}


async def test_a_document_of_others_at_the_place_of_an_item_is_not_given_its_readers(
    tmp_path: Path, synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "a.txt").write_text("Secret of others.")
    request = IngestRequest((str(tmp_path / "house"),), allowed=("group:board",))
    await synced.parts.pipeline.ingest("j1", request, lambda _: None)

    scripted.put("a.txt", "Open.", "*")
    scripted.missing.add("a.txt")
    await synced.sync()

    assert await synced.texts() == set()


async def test_readers_that_an_administrator_has_set_stay(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "Secret.")
    await synced.sync()
    collection = await synced.catalog.collection("default", "default")
    assert collection is not None
    [document] = (await synced.documents()).values()
    await synced.parts.pipeline.give_readers(collection, [document.id], ("group:board",))

    scripted.put("a.txt", "Secret.", "group:hr")
    run = await synced.sync()

    assert counts(run) == (0, 0, 0, 0, 1, 0)
    assert await synced.texts("group:hr") == set()
    assert await synced.texts("group:board") == {"Secret."}


async def test_readers_that_an_administrator_has_lifted_are_the_sources_again(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "Secret.", "group:hr")
    await synced.sync()
    collection = await synced.catalog.collection("default", "default")
    assert collection is not None
    [document] = (await synced.documents()).values()
    await synced.parts.pipeline.give_readers(collection, [document.id], ())

    run = await synced.sync()

    assert run.rights == 1
    assert await synced.texts() == set()


async def test_readers_of_the_source_are_those_of_items_of_which_it_says_nothing(
    tmp_path: Path, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "For the staff.")
    scripted.put("b.txt", "For the board.", "group:board")
    async with opened_collection(tmp_path, readers=("group:staff",)) as synced:
        await synced.sync()

        assert await synced.texts("group:staff") == {"For the staff."}
        assert await synced.texts("group:board") == {"For the board."}


async def test_an_item_that_says_it_is_a_file_of_the_server_lends_that_no_readers(
    tmp_path: Path, synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    file = tmp_path / "pay" / "salaries.txt"
    file.parent.mkdir()
    scripted.put("a.txt", "Open.", "*")
    scripted.items["a.txt"] = replace(scripted.items["a.txt"], url=str(file))
    await synced.sync()

    file.write_text("The director earns 9,000 euros.")
    request = IngestRequest((str(file.parent),), allowed=("group:hr",))
    await synced.parts.pipeline.ingest("j1", request, lambda _: None)

    assert await synced.texts() == {"Open."}
    assert set(await synced.documents()) == {"/house/a.txt", "/pay/salaries.txt"}


async def test_an_item_that_is_for_nobody_is_removed_however_many_are(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    for number in range(20):
        scripted.put(f"{number}.txt", f"Text {number}.")
    await synced.sync()
    for key in list(scripted.items)[:19]:
        scripted.items[key] = replace(scripted.items[key], closed=True)
    scripted.items["new.txt"] = SourceItem("new.txt", "1", "new.txt", closed=True)

    dry = await synced.sync(dry=True)
    run = await synced.sync()
    again = await synced.sync()

    assert counts(dry) == counts(run) == (0, 0, 0, 19, 1, 0)
    assert counts(again) == (0, 0, 0, 0, 1, 0)
    assert run.notes == ("Left out, as they are for nobody: 20.",)
    assert await synced.texts() == {"Text 19."}
    assert scripted.fetched.count("new.txt") == 0


async def test_an_item_that_is_moved_is_the_same_document_elsewhere(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("1", "Text.", path="a.txt")
    await synced.sync()

    scripted.put("1", "Text.", path="sub/b.txt")
    await synced.sync()

    assert set(await synced.documents()) == {"/house/sub/b.txt"}


async def test_two_items_that_swap_their_names_keep_their_own_readers(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("1", "Open.", path="a.txt")
    scripted.put("2", "Closed.", "group:hr", path="b.txt")
    await synced.sync()

    scripted.put("1", "Open.", path="b.txt")
    scripted.put("2", "Closed.", "group:hr", path="a.txt")
    await synced.sync()
    await synced.sync()

    assert set(await synced.documents()) == {"/house/a.txt", "/house/b.txt"}
    assert await synced.texts() == {"Open."}
    assert await synced.texts("group:hr") == {"Open.", "Closed."}


async def test_a_new_item_at_the_path_of_one_that_is_gone_has_its_own_readers(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("1", "Closed.", "group:hr", path="a.txt")
    await synced.sync()

    del scripted.items["1"]
    scripted.put("2", "Open.", path="a.txt")
    await synced.sync()

    assert await synced.texts() == {"Open."}


@pytest.mark.parametrize("page", [1, 2, 200])
async def test_the_second_item_of_a_path_is_refused(
    synced: SyncedCollection,
    scripted: ScriptedSource,
    monkeypatch: pytest.MonkeyPatch,
    page: int,
) -> None:
    monkeypatch.setattr(item_run, "PAGE", page)
    scripted.put("3", "Between.", "group:board", path="b.txt")
    await synced.sync()
    del scripted.items["3"]
    scripted.put("1", "Closed.", "group:hr", path="a.txt")
    scripted.put("3", "Between.", "group:board", path="b.txt")
    scripted.put("2", "Open.", path="a.txt")

    for _ in range(2):
        run = await synced.sync()
        assert [failure.reason for failure in run.failures] == [
            "Another item of the source has the same path."
        ]

    assert await synced.texts() == set()
    assert await synced.texts("group:hr") == {"Closed."}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../up.txt", "parts that a path here cannot have"),
        ("a//b.txt", "parts that a path here cannot have"),
        ("a\x1b.txt", "parts that a path here cannot have"),
        ("x" * 2_000 + ".txt", "too long"),
    ],
    ids=["above", "empty part", "control character", "long"],
)
async def test_an_item_with_a_wrong_name_fails_alone(
    synced: SyncedCollection, scripted: ScriptedSource, path: str, reason: str
) -> None:
    scripted.put("1", "Text.", path=path)
    scripted.put("2", "Other.", path="b.txt")

    run = await synced.sync()

    assert (run.added, run.failed) == (1, 1)
    assert reason in run.failures[0].reason


@pytest.mark.parametrize(
    "name", ["caf\udce9.txt", "\U0002000b" * 700 + ".txt"], ids=["broken", "long"]
)
async def test_an_item_whose_key_cannot_be_stored_fails_alone(
    synced: SyncedCollection, scripted: ScriptedSource, name: str
) -> None:
    scripted.put(name, "Text.")
    scripted.put("b.txt", "Other.")

    run = await synced.sync()

    assert (run.state, run.added, run.failed) == ("done", 1, 1)
    assert run.failures[0].path.encode().endswith(b".txt")


async def test_what_nothing_reads_is_left_out_and_told(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("film.mov", "...")
    scripted.put("pack.zip", "...")
    scripted.put("ragstone.yaml", "readers: everyone")

    run = await synced.sync()

    assert run.failed == run.added == 0
    assert run.notes == ("Left out, as nothing reads them: .mov (1), .zip (1), .yaml (1).",)


@pytest.mark.parametrize(
    "path", ["salaries.bak", "a//salaries.txt", "menu.txt"], ids=["left out", "wrong", "taken"]
)
async def test_an_item_that_gets_a_name_that_no_document_can_have_leaves_none_behind(
    synced: SyncedCollection, scripted: ScriptedSource, path: str
) -> None:
    scripted.put("0", "Soup.", path="menu.txt")
    scripted.put("1", "The director earns 9,000 euros.", path="salaries.txt")
    await synced.sync()

    scripted.put("1", "The director earns 9,000 euros.", "group:hr", path=path)
    await synced.sync()

    assert await synced.texts() == {"Soup."}
    assert set(await synced.documents()) == {"/house/menu.txt"}


async def test_content_that_cannot_be_read_is_told_each_time_and_fetched_once(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.pdf", "This is no PDF.")

    first, second = await synced.sync(), await synced.sync()

    assert first.failed == second.failed == 1
    assert first.failures[0].reason == second.failures[0].reason
    assert scripted.fetched == ["a.pdf"]


async def test_what_could_not_be_fetched_is_tried_again(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "Text.")
    scripted.missing.add("a.txt")
    assert (await synced.sync()).failed == 1

    scripted.missing.clear()
    run = await synced.sync()

    assert (run.added, run.failed) == (1, 0)


async def test_what_is_too_large_is_fetched_no_further_than_it_may_be(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    settings = synced.parts.settings.model_copy(update={"max_file_mb": 1})
    synced.parts = replace(synced.parts, settings=settings)
    scripted.put("a.txt", "x" * 2**21)

    first, second = await synced.sync(), await synced.sync()

    assert "more than the 1 MB" in first.failures[0].reason
    assert second.failures == first.failures
    assert scripted.fetched == ["a.txt"]


async def test_a_dry_run_counts_and_changes_nothing(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "One.")
    scripted.put("b.txt", "Two.")
    await synced.sync()
    before = await synced.documents()

    scripted.put("a.txt", "One, changed.")
    scripted.put("c.txt", "Three.")
    del scripted.items["b.txt"]
    run = await synced.sync(dry=True)

    assert (run.dry, *counts(run)) == (True, 1, 1, 0, 1, 0, 0)
    assert await synced.documents() == before


async def test_a_document_that_somebody_deleted_comes_again(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "Text.")
    await synced.sync()
    collection = await synced.catalog.collection("default", "default")
    assert collection is not None
    await synced.parts.pipeline.forget(
        collection, [d.id for d in (await synced.documents()).values()]
    )

    await synced.sync()

    assert await synced.texts() == {"Text."}


async def test_with_a_checkpoint_only_changes_are_listed_and_keys_say_what_is_gone(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "One.")
    scripted.put("b.txt", "Two.")
    scripted.changed = ["a.txt"]
    await synced.sync()

    scripted.put("a.txt", "One, changed.")
    del scripted.items["b.txt"]
    run = await synced.sync()

    assert scripted.checkpoints == ["", "1"]
    assert counts(run) == (0, 1, 0, 1, 0, 0)
    assert await synced.texts() == {"One, changed."}


async def test_the_checkpoint_stays_where_an_item_is_to_be_tried_again(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.changed = ["a.txt"]
    scripted.put("a.txt", "One.")
    await synced.sync()
    scripted.put("a.txt", "Two.")
    scripted.missing.add("a.txt")

    await synced.sync()

    assert (await synced.stored()).checkpoint == "1"


async def test_a_source_that_fails_waits_longer_each_time_and_as_long_as_it_is_told(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "One.")
    scripted.breaks_after = 0
    pauses = []
    for _ in range(3):
        await synced.sync()
        pauses.append(round(((await synced.stored()).next_at or 0) - state_time(), -1))
    scripted.error = SourceUnavailable("Too many requests.", retry_after=5_000.0)
    await synced.sync()
    told = (await synced.stored()).next_at or 0
    scripted.breaks_after = None
    await synced.sync()
    stored = await synced.stored()

    assert pauses == [120, 240, 480]
    assert told - state_time() == pytest.approx(5_000, abs=10)
    assert stored.failures == 0
    assert (stored.next_at or 0) - state_time() == pytest.approx(60, abs=10)


async def test_an_error_of_the_kinds_code_fails_the_run_and_shows_none_of_its_text(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "One.")
    scripted.breaks_after = 0
    scripted.error = ValueError("https://ada:sesame@files.x.org")

    run = await synced.sync()

    assert run.state == "failed"
    assert run.error == "The kind scripted broke (ValueError); the log says where."


async def test_readers_that_are_none_fail_the_run(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.items["a.txt"] = SourceItem("a.txt", "1", "a.txt", ("hr",))

    run = await synced.sync()

    assert run.state == "failed"
    assert "Not a valid reader: 'hr'" in run.error


async def test_a_run_that_was_cut_off_goes_on_where_it_was(
    tmp_path: Path, scripted: ScriptedSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_run, "PAGE", 3)
    for number in range(9):
        scripted.put(f"{number}.txt", f"Text {number}.")
    scripted.hangs_at = "4.txt"
    async with opened_collection(tmp_path) as synced:
        with monkeypatch.context() as killed:
            # A process that is killed deletes nothing any more.
            killed.setattr(Spool, "drop", lambda spool, file: None)
            task = asyncio.create_task(synced.sync())
            async with asyncio.timeout(60):
                while "5.txt" not in scripted.fetched:
                    await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert list((tmp_path / "spool").glob("*"))

    scripted.hangs_at = ""
    scripted.fetched.clear()
    async with opened_collection(tmp_path) as synced:
        await synced.sync()

        assert sorted(scripted.fetched) == [f"{number}.txt" for number in range(3, 9)]
        assert len(await synced.documents()) == 9
    assert not list((tmp_path / "spool").glob("*"))


async def test_a_run_that_has_ended_is_not_run_again_where_its_job_could_not_say_so(
    synced: SyncedCollection, scripted: ScriptedSource
) -> None:
    scripted.put("a.txt", "Soup.")
    ended = await synced.sync()
    scripted.put("a.txt", "Fish.")

    again = await run_source(synced.parts, synced.source, SyncRequest(), ended, lambda run: None)

    assert again == ended
    assert await synced.texts() == {"Soup."}


@pytest.mark.parametrize("seed", range(8))
async def test_after_any_history_everyone_finds_what_a_plain_model_says(
    synced: SyncedCollection,
    scripted: ScriptedSource,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    """Names move between items, contents and readers change, listings break and fetches fail."""
    monkeypatch.setattr(item_run, "PAGE", 2)
    chance = random.Random(seed)
    names = [f"{letter}.txt" for letter in "abcd"]
    choices: list[tuple[str, ...]] = [(), ("group:hr",), ("group:board",)]
    for step in range(12):
        scripted.items.clear()
        paths = chance.sample(names, k=chance.randint(1, len(names)))
        for path in paths:
            key = str(chance.randint(1, 4))
            text = f"Text {chance.randint(1, 3)} of {key}."
            scripted.put(key, text, *chance.choice(choices), path=path)
            if chance.random() < 0.2:
                scripted.items[key] = replace(scripted.items[key], closed=True)
        scripted.breaks_after = chance.choice([None, None, 1])
        scripted.missing = set(chance.sample(list(scripted.items), k=chance.randint(0, 1)))
        await synced.sync(accept_removals=chance.random() < 0.3)
        # Whatever was not synced: nobody finds what the source gives others now.
        for reader in ("", "group:hr", "group:board"):
            if scripted.breaks_after is None:
                closed = {
                    scripted.contents[key]
                    for key, item in scripted.items.items()
                    if item.closed or (item.readers and reader not in item.readers)
                }
                open_ = {
                    scripted.contents[key]
                    for key, item in scripted.items.items()
                    if not item.closed and (not item.readers or reader in item.readers)
                }
                found = await synced.texts(*filter(None, [reader]))
                assert not found & (closed - open_), (step, reader)
    scripted.breaks_after, scripted.missing = None, set()
    for _ in range(2):
        await synced.sync(accept_removals=True)
    for reader in ("", "group:hr", "group:board"):
        expected = {
            scripted.contents[key]
            for key, item in scripted.items.items()
            if not item.closed and (not item.readers or reader in item.readers)
        }
        assert await synced.texts(*filter(None, [reader])) == expected
