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
        SecretStr(""),
        description="The key of that server; of PostgreSQL, the password.",
    )
    from_url: str = Field(
        "",
        description="The address that collections are moved from to url, while questions are "
        "answered; embedded for Qdrant Edge in the data directory. Empty: all are at url.",
    )
    from_api_key: SecretStr = Field(SecretStr(""), description="The key of the server there.")
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
        "PostgreSQL database, which several servers may share.",
    )
    password: SecretStr = Field(SecretStr(""), description="The password of that database.")
    timeout: float = Field(30.0, gt=0, description="Seconds that one statement may take.")


class IngestSettings(Section):
    """Reading and cutting documents."""

    chunk_size: int = Field(1000, ge=100, le=100_000, description="Longest chunk, in chunk_unit.")
    chunk_overlap: int = Field(200, ge=0, description="Overlap of two chunks, in chunk_unit.")
    chunk_unit: str = Field(
        "characters", pattern="^(characters|tokens)$", description="characters or tokens."
    )
    token_vectors: bool = Field(
        True,
        description="Whether token vectors for reranking are kept, about 3 KB a chunk; without "
        "them they are computed at the question, about 30 ms a candidate.",
    )
    late_interaction: bool = Field(
        False,
        description="Whether collections that are made or rebuilt are also searched by late "
        "interaction (ColBERT), beside meaning and words: 2 to 8 KB a chunk more than the token "
        "vectors, which are then always kept.",
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
    graph: Literal["rules", "model"] = Field(
        "rules",
        description="Who reads what chunks name for the entity graph, where there is one "
        "(rag.knowledge_graph_enabled): rules, without a model; model, the chat model besides, "
        "which also says how entities relate and sums up themes, about one call for four chunks.",
    )
    graph_pipelines: Names = Field(
        (),
        description="Pipelines of spaCy (the extra `spacy`), packages or folders: they find names "
        "in texts of their languages for the entity graph, instead of capitals.",
    )
    max_file_mb: int = Field(
        512, ge=1, description="Largest file of a streamed format (text, CSV, PDF), in megabytes."
    )
    max_memory_mb: int = Field(
        128,
        ge=1,
        description="Largest file of a format that is parsed whole, in megabytes; "
        "for zipped formats, of its unpacked content.",
    )
    parse_processes: int = Field(
        2,
        ge=1,
        le=64,
        description="Processes that read files, started when needed; one more for a collection of "
        "whose files none is read, and one for such a tenant.",
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
    ocr: bool = Field(
        True,
        description="Whether the text of scanned pages and pictures is recognised, where the extra "
        "`ocr` is installed.",
    )
    ocr_pages: int = Field(
        1000, ge=1, description="Scanned pages that a document may have; one with more fails."
    )
    follow_links: bool = Field(
        False, description="Whether a link may lead outside the folder that was given."
    )

    @model_validator(mode="after")
    def _overlap_fits(self) -> "IngestSettings":
        if self.chunk_overlap * 2 > self.chunk_size:
            raise ValueError("chunk_overlap must be at most half of chunk_size")
        return self
