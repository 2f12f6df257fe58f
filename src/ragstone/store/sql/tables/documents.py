"""Tables of what can be searched: collections, documents, their revisions and words.

Tables of sources that are kept in sync.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    false,
    text,
)

from ragstone.store.sql.tables.base import Text, metadata

collections = Table(
    "collections",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, server_default=""),
    Column("model", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("dimensions", Integer, nullable=False),
    Column("language", Text, nullable=False),
    Column("build", Integer, nullable=False),
    Column("late", Integer, nullable=False, server_default="0"),
    Column("place", Text, nullable=False, server_default=""),
    Column("shared", Boolean, nullable=False, server_default=false()),
    Index(None, "tenant", "name", unique=True),
)
"""`id` is what every other table calls `collection`. One that was there before collections had ids
has the name that it had then."""

awaited_collections = Table(
    "awaited_collections",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("id", Text, nullable=False),
)
"""The ids of collections to come: what was granted, set or begun for a name is theirs. A row goes
when a collection takes the name, with its id or with another one."""

unused_indexes = Table(
    "unused_indexes",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("dimensions", Integer, nullable=False),
    Column("language", Text, nullable=False),
    Column("build", Integer, primary_key=True),
    Column("late", Integer, nullable=False),
    Column("place", Text, nullable=False),
    Column("shared", Boolean, nullable=False, server_default=false()),
)
"""What collections were that have been dropped, built anew or replaced: the chunks of that build
are to be deleted. A row goes when they are."""

vector_stores = Table(
    "vector_stores",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("collection", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("days", Integer),
    Column("created_at", Double, nullable=False),
    Column("active_at", Double, nullable=False),
)
"""What clients of OpenAI's API say of collections. One may be there before its collection, which
comes with the first document: no foreign key, `drop_collection` deletes both."""

store_files = Table(
    "store_files",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("collection", Text, primary_key=True),
    Column("file", Text, primary_key=True),
    Column("path", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("job", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Index(None, "tenant", "file"),
    Index(None, "job"),
)
"""Which files were put into vector stores by which job, of which documents are made."""

documents = Table(
    "documents",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("allowed", JSON, nullable=False),
    Column("metadata", JSON(none_as_null=True)),
    Column("status", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("modified", Double, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("pages", Integer, nullable=False),
    Column("own_readers", JSON, nullable=False, server_default="[]"),
    Column("readers_fixed", Boolean, nullable=False, server_default=false()),
    Column("left_out", JSON, nullable=False, server_default="[]"),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.id"], ondelete="CASCADE"
    ),
    Index(None, "tenant", "collection", "path"),
    Index(None, "tenant", "collection", "content_hash"),
)

# What a collection's counts are made of, so that they read no row of a document. PostgreSQL has no
# order of JSON, and counts without.
Index(
    "ix_documents_counts",
    *(documents.c[name] for name in ("tenant", "collection", "status", "version")),
    *(documents.c[name] for name in ("allowed", "chunks")),
).ddl_if(dialect="sqlite")

looks = Table(
    "looks",
    metadata,
    Column("document_id", Text, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("modified", Double, nullable=False),
    Column("said", Text, nullable=False),
    Column("included", JSON, nullable=False),
    ForeignKeyConstraint(["document_id"], ["documents.id"], ondelete="CASCADE"),
)
"""How the file of a document looked when its content was last hashed: one that looks the same is
not read again. `said` is a hash of what was said about it, `included` are the files that it
includes, each with its size and time."""

revisions = Table(
    "revisions",
    metadata,
    Column("name", Text, primary_key=True),
    Column("document_id", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("state", Text, nullable=False),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.id"], ondelete="CASCADE"
    ),
    Index(None, "document_id"),
    Index(None, "tenant", "collection"),
    Index(None, "state"),
    Index(
        "ix_revisions_hidden",
        "tenant",
        "collection",
        postgresql_where=text("state <> 'live'"),
        sqlite_where=text("state <> 'live'"),
    ),
)
"""The last index has what a collection hides and nothing of what it shows, which is nearly all.

`state`: writing, live (the one that answers), retired (its chunks are to be deleted), abandoned
(retired while it was being written: hidden until its writer has surely stopped), lost (taken from
a writer that seemed dead while others write the next one: hidden until that one says that it has
stopped, or all servers have), withheld (the one that answers, hidden until its chunks have the
document's readers)."""

versions = Table(
    "versions",
    metadata,
    Column("document_id", Text, primary_key=True),
    Column("last", Integer, nullable=False),
    Column("tenant", Text, nullable=True),
    Column("last_readers", JSON(none_as_null=True), nullable=True),
)
"""The last number given to each document, also to deleted ones: no revision name is used twice,
so a citation or a late purge can never mean other content. `last_readers` are those that it had
when it was deleted, if it was: who of the `tenant` may read what is kept of answers from it."""

editions = Table(
    "editions",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("collection", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.id"], ondelete="CASCADE"
    ),
)
"""A number that grows whenever a collection shows other documents."""

readers = Table(
    "readers",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("collection", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("since", BigInteger, nullable=False),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.id"], ondelete="CASCADE"
    ),
)
"""Names that documents of a collection were allowed to, since which edition; kept on PostgreSQL
only, where several servers must agree about them."""

folder_readers = Table(
    "folder_readers",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("collection", Text, primary_key=True),
    Column("folder", Text, primary_key=True),
    Column("by_file", Boolean, primary_key=True),
    Column("readers", JSON, nullable=False),
    Column("file", Text, nullable=False),
    Column("applied", Boolean, nullable=False),
)
"""The readers that folders give to what is in them (`core.readers.FolderReaders`). A rule may be
there before its collection: no foreign key, `drop_collection` deletes both. One that is not
`applied` is known to what comes in, and not yet to all documents that were there; without readers
it goes then."""

vocabulary = Table(
    "vocabulary",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("collection", Text, primary_key=True),
    Column("word", Text, primary_key=True),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.id"], ondelete="CASCADE"
    ),
    sqlite_with_rowid=False,
)
"""Words of a collection, of all readers; words of deleted documents stay for a while."""

vocabulary_read = Table(
    "vocabulary_read",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("collection", Text, primary_key=True),
    Column("revision", Text, primary_key=True),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.id"], ondelete="CASCADE"
    ),
    sqlite_with_rowid=False,
)
"""The revisions whose words are in `vocabulary`."""


sources = Table(
    "sources",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("options", JSON, nullable=False),
    Column("readers", JSON, nullable=False),
    Column("every", Double),
    Column("cron", Text),
    Column("created_at", Double, nullable=False),
    Column("next_at", Double),
    Column("failures", Integer, nullable=False),
    Column("checkpoint", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Index(None, "tenant", "name", unique=True),
    Index(None, "next_at"),
)

source_items = Table(
    "source_items",
    metadata,
    Column("source", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("version", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("error", Text, nullable=False),
    ForeignKeyConstraint(["source"], ["sources.id"], ondelete="CASCADE"),
    Index(None, "source", "path"),
)
"""What was last read of the items of sources."""

source_runs = Table(
    "source_runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("source", Text, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("state", Text, nullable=False),
    Column("dry", Boolean, nullable=False),
    Column("added", Integer, nullable=False),
    Column("changed", Integer, nullable=False),
    Column("rights", Integer, nullable=False),
    Column("removed", Integer, nullable=False),
    Column("held", Integer, nullable=False),
    Column("unchanged", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("failures", JSON, nullable=False),
    Column("notes", JSON, nullable=False),
    ForeignKeyConstraint(["source"], ["sources.id"], ondelete="CASCADE"),
    Index(None, "source", "started_at"),
)
