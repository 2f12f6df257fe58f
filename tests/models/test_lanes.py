"""What a question needs of an embedder does not wait behind an ingest."""

import asyncio
from contextlib import aclosing
from threading import Event

from ragstone.models.minilm import MiniLm
from ragstone.ports import in_bulk


async def test_passages_for_a_question_pass_those_of_an_ingest() -> None:
    async with aclosing(MiniLm()) as embedder:
        await embedder.embed_queries(["warm"])
        begun, go_on = Event(), Event()

        def long() -> None:
            begun.set()
            go_on.wait()

        busy = [embedder._bulk.submit(long) for _ in range(embedder._bulk._max_workers)]
        with in_bulk():
            behind = asyncio.create_task(embedder.embed_with_tokens(["A part of many."]))
        await asyncio.to_thread(begun.wait)
        vectors, tokens = await embedder.embed_with_tokens(["A candidate."])
        assert len(vectors) == len(tokens) == 1
        assert (await embedder.embed_passages(["A sentence."])).shape == (1, 384)
        assert not behind.done()
        go_on.set()
        await behind
        for item in busy:
            item.result()
