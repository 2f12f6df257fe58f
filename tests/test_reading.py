"""Documents as text, put together from chunks that overlap."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone import build
from ragstone.core.chunk import join_chunks
from ragstone.core.errors import UnknownCollection, UnknownDocument
from ragstone.core.turn import Principal
from ragstone.service import IngestRequest
from ragstone.settings import Settings
from tests.engine.samples import a_chunk


@given(st.text(min_size=1, max_size=200), st.integers(1, 40), st.integers(0, 20))
def test_given_overlapping_chunks_then_the_text_comes_once(text: str, size: int, over: int) -> None:
    step = max(1, size - over)
    chunks = [a_chunk(text[i : i + size], start=i) for i in range(0, len(text), step)]
    assert join_chunks(chunks) == (text, ())


@pytest.mark.slow
async def test_given_a_document_then_it_is_read_in_parts(tmp_path: Path) -> None:
    text = "\n\n".join(f"Paragraph {n} says that {n} is a number." for n in range(200))
    file = tmp_path / "numbers.txt"
    file.write_text(text)
    me = Principal()
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as service:
        request = IngestRequest((str(file),), allowed=("user:local",))
        async for _ in service.ingest(request):
            pass
        found = await service.reading.read(me, "default", "/numbers.txt", 0, 100_000)
        assert found.text.split() == text.split()
        assert found.total == len(found.text)
        part = await service.reading.read(me, "default", found.document.id, 10, 20)
        assert (part.text, part.offset) == (found.text[10:30], 10)
        with pytest.raises(UnknownDocument):
            await service.reading.read(me, "default", "/other.txt", 0, 10)
        with pytest.raises(UnknownDocument):
            await service.reading.read(Principal(user="eva"), "default", "/numbers.txt", 0, 10)
        with pytest.raises(UnknownCollection):
            await service.reading.read(me, "nowhere", "/numbers.txt", 0, 10)
