"""LlamaIndex: SimpleDirectoryReader and SentenceSplitter, as its README has them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from llama_index.core import SimpleDirectoryReader
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import MetadataMode

from benchmarks.peers.pieces import Piece, Read, main


def read_with(splitter: SentenceSplitter) -> Read:
    """Read as the splitter cuts; nodes are embedded with their metadata."""

    def read(files: Sequence[Path]) -> Iterable[Piece]:
        documents = SimpleDirectoryReader(input_files=list(files)).load_data()
        for node in splitter.get_nodes_from_documents(documents):
            label = str(node.metadata.get("page_label", ""))
            page = int(label) if label.isdecimal() else None
            path = str(node.metadata["file_path"])
            yield Piece(node.get_content(MetadataMode.EMBED), path, page)

    return read


VARIANTS = {
    "default": read_with(SentenceSplitter()),
    "256 tokens": read_with(SentenceSplitter(chunk_size=256, chunk_overlap=32)),
}
"""The default of 1,024 tokens is made for models that read longer texts than the one used here."""

if __name__ == "__main__":
    main(VARIANTS)
