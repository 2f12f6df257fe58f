"""The topics in memory follow the store, and compare questions by words and by meaning."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from ragstone.core.errors import ModelUnavailable
from ragstone.guard.topic_file import topic
from ragstone.guard.topic_index import TopicCollection
from ragstone.language.phrases import normalize
from ragstone.ports import Vectors
from ragstone.store.sql.database import Database, open_database
from ragstone.store.sql.topics import SqlTopics
from tests.hashing import HashingEmbedder, OneEmbedder


class CountingEmbedder(HashingEmbedder):
    """Also counts the texts that were embedded as questions."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.broken = False

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        if self.broken:
            raise ModelUnavailable("The model is away.")
        self.asked.extend(texts)
        return await super().embed_queries(texts)


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "state.sqlite") as database:
        yield database


async def opened(database: Database, embedder: CountingEmbedder) -> TopicCollection:
    return await TopicCollection.open(SqlTopics(database), OneEmbedder(embedder), 90)


SALARY = topic("default", "salary", ("wage",), ("how much does my manager earn",))


@pytest.mark.conforms("chat-core", "4.3", "Matches are exact, synonym or contextual")
async def test_words_and_meaning(database: Database, embedder: CountingEmbedder) -> None:
    topics = await opened(database, embedder)
    await topics.put("default", [SALARY])
    [[exact], [synonym], none] = await topics.find_named(
        "default", [normalize("The salaries!"), "wages", "celery"]
    )
    assert (exact.match, exact.score, exact.place) == ("exact", 1.0, (4, 12))
    assert (synonym.match, synonym.score) == ("synonym", 0.9)
    assert none == []
    [[same], [alike], other] = await topics.alike(
        "default",
        ["how much does my manager earn", "how much does my dog earn", "the weather in Rome"],
        0.3,
    )
    assert (same.match, same.place) == ("exact", None)
    assert alike.match in ("synonym", "contextual")
    assert other == []


async def test_another_tenant_sees_nothing(database: Database, embedder: CountingEmbedder) -> None:
    topics = await opened(database, embedder)
    await topics.put("default", [SALARY])
    assert await topics.list_all("acme") == ()
    assert await topics.find_named("acme", ["salary"]) == [[]]
    assert await topics.alike("acme", ["salary"], 0.0) == [[]]


async def test_the_list_follows_every_change(
    database: Database, embedder: CountingEmbedder
) -> None:
    topics = await opened(database, embedder)
    await topics.put("default", [SALARY])
    await topics.put("default", [topic("default", "executive"), topic("default", "salary")])
    assert [item.term for item in await topics.list_all("default")] == ["executive", "salary"]
    assert await topics.find_named("default", ["wage"]) == [[]]
    await topics.remove("default", [SALARY.id])
    assert await topics.find_named("default", ["salary"]) == [[]]
    await topics.remove("default", [topic("default", "executive").id])
    assert await topics.list_all("default") == ()


async def test_after_a_restart_nothing_is_embedded_again(
    database: Database, embedder: CountingEmbedder
) -> None:
    await (await opened(database, embedder)).put("default", [SALARY])
    embedder.asked.clear()
    again = await opened(database, embedder)
    assert await again.list_all("default") == (SALARY,)
    [[match]] = await again.alike("default", ["salary"], 0.9)
    assert match.topic == SALARY
    assert embedder.asked == ["salary"]


async def test_given_a_model_that_is_away_then_nothing_changes_and_it_is_tried_again(
    database: Database, embedder: CountingEmbedder
) -> None:
    topics = await opened(database, embedder)
    embedder.broken = True
    with pytest.raises(ModelUnavailable):
        await topics.put("default", [SALARY])
    assert await topics.list_all("default") == ()
    await SqlTopics(database).put([SALARY])
    topics = await opened(database, embedder)
    with pytest.raises(ModelUnavailable):
        await topics.alike("default", ["salary"], 0.3)
    embedder.broken = False
    assert await topics.alike("default", ["salary"], 0.3) != [[]]
    await topics.aclose()


async def test_a_topic_in_a_long_text_is_found(
    database: Database, embedder: CountingEmbedder
) -> None:
    topics = await opened(database, embedder)
    await topics.put("default", [SALARY])
    filler = "The weather in Rome was fine on that day. " * 20
    [[match]] = await topics.alike("default", [filler + "How much does my manager earn"], 0.8)
    assert match.topic == SALARY


async def test_questions_may_come_while_the_list_is_edited(
    database: Database, embedder: CountingEmbedder
) -> None:
    topics = await opened(database, embedder)
    await topics.put("default", [SALARY])
    edits = [topics.put("default", [topic("default", f"term{n}")]) for n in range(5)]
    asks = [topics.alike("default", ["salary"], 0.9) for _ in range(5)]
    results = await asyncio.gather(*edits, *asks)
    assert all(result[0][0].topic == SALARY for result in results[5:])
    assert len(await topics.list_all("default")) == 6


@pytest.mark.slow
async def test_five_thousand_topics_are_compared_in_time(
    database: Database, embedder: CountingEmbedder
) -> None:
    topics = await opened(database, embedder)
    many = [topic("default", f"term{n} name{n}", (f"synonym{n}",)) for n in range(5000)]
    await topics.put("default", many)
    await topics.alike("default", ["warm"], 0.9)
    started = time.process_time()
    for n in range(20):
        [[match]] = await topics.find_named("default", [normalize(f"Who is term{n} name{n}?")])
        await topics.alike("default", [f"what is it {n}"], 0.99)
        assert match.topic.term == f"term{n} name{n}"
    assert (time.process_time() - started) / 20 < 0.05


async def test_given_the_last_topic_was_removed_then_questions_are_still_compared(
    database: Database, embedder: CountingEmbedder
) -> None:
    topics = await opened(database, embedder)
    only = topic("gone", "salary")
    await topics.put("gone", [only])
    await topics.remove("gone", [only.id])
    assert await topics.alike("gone", ["What is my salary?"], 0.3) == [[]]
    assert await topics.find_named("gone", ["salary"]) == [[]]
