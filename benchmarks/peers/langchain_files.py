"""LangChain: a loader for each kind of file, and RecursiveCharacterTextSplitter by 1,000 characters
that overlap by 200, as its tutorials have them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from langchain_community.document_loaders import (
    BSHTMLLoader,
    CSVLoader,
    Docx2txtLoader,
    PyPDFLoader,
    TextLoader,
)
from langchain_text_splitters import RecursiveCharacterTextSplitter

from benchmarks.peers.pieces import Piece, main

LOADERS = {
    ".pdf": PyPDFLoader,
    ".docx": Docx2txtLoader,
    ".csv": CSVLoader,
    ".html": BSHTMLLoader,
    ".txt": TextLoader,
}
"""Others need `unstructured`, which loads models and word lists over the network."""


def read(files: Sequence[Path]) -> Iterable[Piece]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200)
    for file in files:
        for document in splitter.split_documents(LOADERS[file.suffix](str(file)).load()):
            page = document.metadata.get("page")
            yield Piece(document.page_content, str(file), None if page is None else page + 1)


if __name__ == "__main__":
    main({"default": read})
