"""Reading documents, and where their chunks are kept."""

from typing import Any, Literal

from pydantic import Field, SecretStr, model_validator

from ragstone.settings.section import Names, Seconds, Section

EMBEDDED = "embedded"
"""The address of Qdrant Edge in the data directory, where none at all means something else."""


class IndexSettings(Section):
    """Where chunks and their vectors are kept."""

    url: str = Field(
        "",
        description="Empty for Qdrant Edge in the data directory; http:// or https:// for a "
        "Qdrant server; postgresql:// for PostgreSQL; elasticsearch+http:// for Elasticsearch; "
        "kdb+http:// or retrieval+http:// for a retrieval service that is asked instead; or the "
        "scheme of a package's index.",
    )
    api_key: SecretStr = Field(
        SecretStr(""), description="The key of that server; of PostgreSQL, the password."
    )
    from_url: str = Field(
        "",
        description="The address that collections are moved from to url, while questions are "
        "answered, with its key as https://:KEY@host; embedded for Qdrant Edge in the data "
        "directory. Empty: all are at url.",
    )
    timeout: Seconds = Field(30.0, gt=0, description="Seconds that one request to it may take.")
    options: dict[str, Any] = Field(
        {},
        description="Options of the kind of index that url names, as JSON or a mapping in the "
        "file: docs/stores.md lists those of each kind.",
    )

    @property
    def is_shared(self) -> bool:
        """Whether several processes may use it: none of it is in a data directory."""
        return bool(self.url) and self.from_url != EMBEDDED


class StateSettings(Section):
    """Where documents, conversations, topics, prompts, statistics and jobs are kept."""

    url: str = Field(
        "",
        description="Empty for a SQLite file in the data directory; postgresql:// for a "
        "PostgreSQL database, which several servers may share, and whose password PGPASSWORD can "
        "hold.",
    )


class IngestSettings(Section):
    """Reading and cutting documents."""

    chunk_size: int = Field(1000, ge=100, le=100_000, description="Longest chunk, in characters.")
    chunk_overlap: int = Field(200, ge=0, description="Overlap of two chunks, in characters.")
    token_vectors: Literal["none", "rerank", "search"] = Field(
        "rerank",
        description="What the vectors of tokens are kept for: rerank, about 3 KB a chunk; search, "
        "collections that are made or rebuilt are also searched by late interaction (ColBERT), "
        "beside meaning and words, for 2 to 8 KB a chunk more; none, they are computed at the "
        "question, about 30 ms a candidate.",
    )
    questions: int = Field(
        0,
        ge=0,
        le=6,
        description="Questions that the chat model thinks of for each chunk, by which it is found "
        "too: one call of the model a chunk; 0 is none.",
    )
    captions: bool = Field(
        False,
        description="Whether a chat model that can look at pictures describes those of documents, "
        "which are found by that: one call of the model a picture, once.",
    )
    tree: Literal["off", "extractive", "model"] = Field(
        "off",
        description="What the tree of summaries of each longer document is made of, after it can "
        "be asked: extractive, its own sentences; model, the chat model's, about one call for five "
        "chunks; off is not a tree.",
    )
    graph: Names = Field(
        ("rules",),
        description="Who reads what chunks name for the entity graph, where there is one "
        "(rag.knowledge_graph_enabled), by comma: rules, always, without a model; model, the chat "
        "model besides, which also says how entities relate and sums up themes, about one call for "
        "four chunks; pipelines of spaCy (the extra `spacy`), packages or folders, which find "
        "names in texts of their languages instead of capitals.",
    )
    max_file_mb: int = Field(
        512,
        ge=1,
        description="Largest file of a streamed format (text, CSV, PDF), in megabytes; one that is "
        "parsed whole, and the unpacked content of a zipped one, may have a quarter of it.",
    )
    parse_memory_mb: int = Field(
        1024,
        ge=128,
        description="Memory that reading one file may take, in megabytes; a file that needs more "
        "fails.",
    )
    parse_seconds: Seconds = Field(
        120.0,
        gt=0,
        description="Seconds that reading one file may take, and 30 more for each megabyte; also "
        "the longest time in which nothing comes of it. A twelfth of it is what a small file may "
        "take of a processor, and each megabyte of a file.",
    )
    ocr_pages: int = Field(
        1000,
        ge=0,
        description="Scanned pages that a document may have whose text is recognised (extra "
        "`ocr`); one with more fails, and with 0 nothing is recognised.",
    )

    @property
    def ocr(self) -> bool:
        """Whether the text of scanned pages and pictures is recognised."""
        return self.ocr_pages > 0

    @property
    def keeps_token_vectors(self) -> bool:
        """Whether chunks have the vectors of their tokens."""
        return self.token_vectors in ("rerank", "search")

    @property
    def late_interaction(self) -> bool:
        """Whether new collections are searched by the vectors of tokens."""
        return self.token_vectors in ("search",)

    @property
    def graph_by_model(self) -> bool:
        """Whether the chat model reads what chunks name."""
        return "model" in self.graph

    @property
    def graph_pipelines(self) -> tuple[str, ...]:
        """Pipelines of spaCy that find names."""
        return tuple(name for name in self.graph if name not in ("rules", "model"))

    @property
    def max_memory_mb(self) -> int:
        """Largest file of a format that is parsed whole: it takes several times its size of memory.
        For zipped formats, of its unpacked content."""
        return max(1, self.max_file_mb // 4)

    @model_validator(mode="after")
    def _overlap_fits(self) -> "IngestSettings":
        if self.chunk_overlap * 2 > self.chunk_size:
            raise ValueError("chunk_overlap must be at most half of chunk_size")
        return self
