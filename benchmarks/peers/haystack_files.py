"""Haystack: a converter for each kind of file, DocumentCleaner and DocumentSplitter by 150 words
that overlap by 50, as its tutorial on preprocessing has them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from haystack.components.converters import MultiFileConverter
from haystack.components.preprocessors import DocumentCleaner, DocumentSplitter

from benchmarks.peers.pieces import Piece, main


def read(files: Sequence[Path]) -> Iterable[Piece]:
    converted = MultiFileConverter().run(sources=[str(file) for file in files])
    if unknown := converted.get("unclassified") or converted.get("failed"):
        raise ValueError(f"no converter for {unknown}")
    cleaned = DocumentCleaner().run(documents=converted["documents"])
    splitter = DocumentSplitter(split_by="word", split_length=150, split_overlap=50)
    [file] = files
    for document in splitter.run(documents=cleaned["documents"])["documents"]:
        page = document.meta.get("page_number") if file.suffix in (".pdf", ".pptx") else None
        yield Piece(document.content or "", str(file), page)


if __name__ == "__main__":
    main({"default": read})
