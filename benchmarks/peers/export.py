"""Evaluation sets as every side reads them: Ragstone's chunks and Ragstone's vectors."""

from pathlib import Path

from benchmarks.common import eval_data
from benchmarks.peers import embedded
from benchmarks.peers.exported import Exported
from ragstone.build import open_adapters
from ragstone.core.chunk import Chunk
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.dataset import Question
from ragstone.plugins.evaluation.indexed import build_collection, chunk_entry
from ragstone.settings import IngestSettings, Settings


async def export(name: str, limit: int | None, directory: Path) -> tuple[Path, list[Question]]:
    """Write the set into `directory`; its file, and the questions that are asked, in order."""
    folder = eval_data() / name
    asked = [q for q in dataset.questions(folder, "dev", limit) if q.answerable and q.relevant]
    entries = dataset.corpus(folder)
    async with open_adapters(Settings(ragstone_data=directory / "kit")) as (adapters, _, _):
        collection = build_collection(entries, adapters, IngestSettings())
        chunks = [c for entry in entries for c in chunk_entry(entry, collection, IngestSettings())]
        embedder = adapters.embedders.find_indexing(collection)
        texts = [" ".join(question.text.split()) for question in asked]
        exported = Exported(
            language=collection.language,
            chunks=[payload(chunk) for chunk in chunks],
            questions=texts,
            passages=str(await embedded.passages(embedder, [c.searchable for c in chunks])),
            asked=str(await embedded.questions(embedder, texts)),
        )
    file = directory / "exported.json"
    exported.write(file)
    return file, asked


def payload(chunk: Chunk) -> dict[str, object]:
    """Return the chunk as `Exported` holds it."""
    return {**chunk.payload(), "searchable": chunk.searchable}
