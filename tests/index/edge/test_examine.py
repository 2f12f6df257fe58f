"""A healthy shard is called healthy, whatever its numbers."""

from pathlib import Path

from ragstone.index.edge.examine import Shard, flaws
from ragstone.index.edge.index import EdgeIndex
from ragstone.index.edge.shard import newest_generation, shard_path
from tests.conformance.test_chunk_index import a_chunk, a_collection


async def test_given_times_of_files_to_the_last_digit_then_nothing_is_wrong(tmp_path: Path) -> None:
    """Edge reads some floats with another last digit than it wrote."""
    collection = a_collection()
    times = [1763939531.9737995, 1763935900.0714285, 1763936087.2350957, 1763932811.7517905]
    index = EdgeIndex(tmp_path)
    await index.upsert(collection, [a_chunk(collection, "text", modified=one) for one in times])
    await index.aclose()
    path = newest_generation(shard_path(tmp_path, collection))
    assert flaws(Shard(path, collection.dimensions, collection.language)) == []
