"""What only the cache of this process does: its file, and its clock."""

import logging
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from ragstone.cache.local import LocalCache
from ragstone.ports import Kept
from tests.conformance.test_cache import Clock, an_answer, vector


async def a_cache(file: Path, clock: Clock | None = None, most: int = 100) -> LocalCache:
    cache = LocalCache(file, most, clock or Clock())
    await cache.open()
    return cache


async def known(cache: LocalCache) -> list[str]:
    return [near.question for near in await cache.near("s", vector(1), 0.9, 5)]


@pytest.mark.conforms("Query pipeline", "Step 2", "Entries end with their lifetime")
async def test_given_its_time_is_over_then_an_entry_is_gone(tmp_path: Path) -> None:
    clock = Clock()
    cache = await a_cache(tmp_path / "c", clock)
    await cache.keep("s", vector(1), Kept("Q", ttl=100))
    clock.now += 99
    assert await known(cache) == ["Q"]
    clock.now += 1
    assert await known(cache) == []
    assert (await cache.figures()).entries == 0
    await cache.aclose()


@pytest.mark.conforms("RAG engine v1", "Semantic cache", "A hit renews the lifetime")
async def test_given_a_hit_then_its_time_begins_anew_also_after_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    cache = await a_cache(tmp_path / "c", clock)
    await cache.keep("s", vector(1), replace(an_answer("Q"), ttl=100))
    clock.now += 60
    [near] = await cache.near("s", vector(1), 0.9, 5)
    await cache.take("s", near)
    clock.now += 60
    assert await known(cache) == ["Q"]
    await cache.aclose()
    again = await a_cache(tmp_path / "c", clock)
    assert await known(again) == ["Q"]
    await again.aclose()
    clock.now += 100
    late = await a_cache(tmp_path / "c", clock)
    assert await known(late) == []
    await late.aclose()


async def test_given_an_entry_that_does_not_renew_then_hits_do_not_prolong_it(
    tmp_path: Path,
) -> None:
    clock = Clock()
    cache = await a_cache(tmp_path / "c", clock)
    await cache.keep("s", vector(1), replace(an_answer("Q"), ttl=100, renews=False))
    for _ in range(3):
        clock.now += 30
        [near] = await cache.near("s", vector(1), 0.9, 5)
        assert await cache.take("s", near) is not None
    clock.now += 11
    assert await known(cache) == []
    await cache.aclose()


@pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\0" + b"x" * 500])
async def test_given_a_damaged_file_then_the_cache_begins_anew(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "c"
    file.write_bytes(content)
    cache = await a_cache(file)
    await cache.keep("s", vector(1), Kept("Q", ttl=100))
    assert await known(cache) == ["Q"]
    assert (await cache.figures()).available
    await cache.aclose()
    assert len(caplog.records) == (1 if content else 0)


async def test_given_a_file_of_another_version_then_the_cache_begins_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "c"
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE entries (other TEXT)")
    database.execute("PRAGMA user_version = 99")
    database.commit()
    database.close()
    cache = await a_cache(file)
    await cache.keep("s", vector(1), Kept("Q", ttl=100))
    assert await known(cache) == ["Q"]
    await cache.aclose()
    assert "another version" in caplog.text


async def test_given_content_that_cannot_be_read_then_the_entry_is_gone(tmp_path: Path) -> None:
    cache = await a_cache(tmp_path / "c")
    await cache.keep("s", vector(1), replace(an_answer("Q"), ttl=100))
    [near] = await cache.near("s", vector(1), 0.9, 5)
    other = sqlite3.connect(tmp_path / "c")
    other.execute("UPDATE entries SET content = x'00'")
    other.commit()
    other.close()
    assert await cache.take("s", near) is None
    assert await known(cache) == []
    await cache.aclose()


async def test_given_a_file_that_breaks_then_it_is_said_once_and_nothing_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = await a_cache(tmp_path / "c")
    await cache.keep("s", vector(1), replace(an_answer("Q"), ttl=100))
    other = sqlite3.connect(tmp_path / "c")
    other.execute("DROP TABLE entries")
    other.commit()
    other.close()
    with caplog.at_level(logging.WARNING):
        for near in await cache.near("s", vector(1), 0.9, 5):
            assert await cache.take("s", near) is None
        await cache.keep("s", vector(1), an_answer("Q2"))
        assert not (await cache.figures()).available
    assert len(caplog.records) == 1
    await cache.aclose()
