"""Reading documents, and where their chunks are kept."""

from typing import Literal

from pydantic import Field, SecretStr, model_validator

from ragstone.settings.section import Names, Seconds, Section

_ENGINES = {
    "": "Qdrant Edge",
    "http": "Qdrant",
    "https": "Qdrant",
    "postgresql": "PostgreSQL",
    "postgres": "PostgreSQL",
    "elasticsearch+http": "Elasticsearch",
    "elasticsearch+https": "Elasticsearch",
}
"""What an address means, by its scheme; other schemes are packages', which may use any setting."""

_ONLY = {
    **dict.fromkeys(("quantization", "shards", "replicas"), ("Qdrant", "Elasticsearch")),
    **dict.fromkeys(("write_consistency", "payload_on_disk", "vectors_on_disk"), ("Qdrant",)),
    "refresh_interval": ("Elasticsearch",),
    "shared_chunks": ("PostgreSQL", "Qdrant"),
}
"""Settings that change how passages are kept, and who has them: without effect they would promise
copies that there are not."""


def _engine(url: str) -> str | None:
    return _ENGINES.get(url.split(":", 1)[0].lower())


EMBEDDED = "embedded"
"""The address of Qdrant Edge in the data directory, where none at all means something else."""

Quantization = Literal["none", "int8", "binary"]


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
    connections: int = Field(
        8, ge=1, le=1000, description="Connections to PostgreSQL that one process may hold."
    )
    shared_chunks: int | None = Field(
        None,
        ge=0,
        le=10_000,
        description="Chunks below which new collections share a table of PostgreSQL, or a "
        "collection of Qdrant 1.19 or later, where their vectors are compared one by one; from so "
        "many on they have one of their own. Not given, 500 in PostgreSQL and 0, for none, in "
        "Qdrant.",
    )
    halfvec: bool = Field(
        False,
        description="Whether PostgreSQL indexes vectors at half precision, in half the memory; "
        "those of more than 2,000 numbers always are.",
    )
    hnsw_m: int | None = Field(
        None,
        ge=2,
        le=100,
        description="Links of a vector in the index over meaning; not given, 16 in PostgreSQL and "
        "Elasticsearch, and in Qdrant what the server is set to.",
    )
    hnsw_ef_construction: int | None = Field(
        None,
        ge=4,
        le=1000,
        description="Candidates while that index is built, at least twice hnsw_m; not given, 64 or "
        "twice hnsw_m in PostgreSQL, 100 or twice hnsw_m in Elasticsearch, and in Qdrant what the "
        "server is set to.",
    )
    hnsw_ef_search: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="Candidates of a search in that index, at most 1,000 in PostgreSQL; not given, "
        "200 there, 100 or as many as are wanted in Elasticsearch (num_candidates, in each shard), "
        "and in Qdrant as many as while it was built.",
    )
    quantization: Quantization | None = Field(
        None,
        description="What is searched instead of whole vectors: int8, bytes, a quarter of the "
        "memory; binary, bits, a thirty-second; not given, none in Elasticsearch, and in Qdrant "
        "bytes from 100,000 chunks on. Elasticsearch has it from 8.18 on, for new collections.",
    )
    rescore: bool = Field(
        True, description="Whether what quantized vectors found is ranked anew by whole ones."
    )
    oversampling: float | None = Field(
        None,
        ge=1,
        le=100,
        description="Candidates among quantized vectors for each that is wanted, ranked anew by "
        "whole ones; not given, 3 for binary, and for int8 1 in Qdrant and 2 in Elasticsearch.",
    )
    shards: int | None = Field(
        None,
        ge=1,
        le=1000,
        description="Parts of a new collection, which the nodes of a cluster share; not given, "
        "what the server chooses. 'ragstone rebuild' changes it.",
    )
    replicas: int | None = Field(
        None,
        ge=0,
        le=100,
        description="Copies of each part beside the first, on other nodes: number_of_replicas of "
        "Elasticsearch, and one less than Qdrant's replication factor; not given, what the server "
        "is set to.",
    )
    write_consistency: int | None = Field(
        None,
        ge=1,
        le=101,
        description="Copies of a part, of 1 + replicas, that must hold a write to Qdrant before it "
        "counts; not given, what the server is set to.",
    )
    payload_on_disk: bool | None = Field(
        None,
        description="Whether Qdrant reads texts and fields from its disk instead of its memory; "
        "not given, what the server is set to.",
    )
    vectors_on_disk: bool | None = Field(
        None,
        description="Whether Qdrant reads whole vectors from its disk; not given, once they are "
        "quantized from 100,000 chunks on.",
    )
    refresh_interval: Seconds | None = Field(
        None,
        ge=0,
        description="Seconds after which Elasticsearch makes writes visible by itself; every write "
        "ends with that, so it may be long, and 0 is never; not given, what the server is set to.",
    )
    write_chunks: int = Field(
        128,
        ge=1,
        le=10_000,
        description="Chunks of one request that writes to Qdrant or Elasticsearch, at most.",
    )
    write_mb: int = Field(
        8,
        ge=1,
        le=100,
        description="Megabytes of such a request, about; unless set otherwise, a Qdrant server "
        "refuses more than 32, and Elasticsearch more than 100.",
    )
    retries: int = Field(
        3,
        ge=0,
        le=10,
        description="Further tries after a time-out, a broken or refused connection, and the "
        "statuses 429, 502, 503 and 504, of a server that is not a PostgreSQL. All tries of a read "
        "together have the timeout, each of a write.",
    )
    retry_pause: Seconds = Field(
        0.1,
        gt=0,
        le=60,
        description="Seconds before the first of them, twice as long before each next one, up to 5 "
        "or this if it is longer, less a random part of up to a half.",
    )

    @property
    def is_shared(self) -> bool:
        """Whether several processes may use it: none of it is in a data directory."""
        return bool(self.url) and self.from_url != EMBEDDED

    @model_validator(mode="after")
    def _candidates_suffice(self) -> "IndexSettings":
        links, candidates = self.hnsw_m, self.hnsw_ef_construction
        if candidates is not None and candidates < 2 * (links or 16):
            raise ValueError("hnsw_ef_construction must be at least twice hnsw_m")
        return self

    @model_validator(mode="after")
    def _copies_suffice(self) -> "IndexSettings":
        wanted = self.write_consistency
        if wanted is not None and wanted > 1 + (self.replicas or 0):
            raise ValueError("write_consistency must be at most 1 + replicas")
        return self

    @model_validator(mode="after")
    def _postgresql_takes_it(self) -> "IndexSettings":
        if _engine(self.url) == "PostgreSQL" and (self.hnsw_ef_search or 0) > 1000:
            raise ValueError("hnsw_ef_search is at most 1,000 in PostgreSQL")
        return self

    @model_validator(mode="after")
    def _engine_has_it(self) -> "IndexSettings":
        engine = _engine(self.url)
        for name, engines in _ONLY.items():
            if engine and getattr(self, name) is not None and engine not in engines:
                raise ValueError(
                    f"{name} is for {' and '.join(engines)}, and url means {engine}: unset it"
                )
        return self


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
    captions_most: int = Field(
        1000, ge=1, description="Pictures that the chat model describes in one ingest."
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
    ocr_confidence: float = Field(
        0.6,
        ge=0,
        le=1,
        description="How sure the recognition of a line has to be, from 0 to 1; others are left "
        "out.",
    )
    ocr_pages: int = Field(
        1000, ge=1, description="Scanned pages that a document may have; one with more fails."
    )
    ocr_seconds: Seconds = Field(
        60.0,
        gt=0,
        description="Seconds for recognising a page, which are added to the time for its document. "
        "Where a picture inside a document takes longer, the document's own text is kept, and the "
        "pictures left are named in a warning.",
    )
    follow_links: bool = Field(
        False, description="Whether a link may lead outside the folder that was given."
    )

    @model_validator(mode="after")
    def _overlap_fits(self) -> "IngestSettings":
        if self.chunk_overlap * 2 > self.chunk_size:
            raise ValueError("chunk_overlap must be at most half of chunk_size")
        return self
