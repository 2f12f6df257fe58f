"""Every table of the state store, in types that SQLite and PostgreSQL share.

Times are seconds since 1970, like `Document.modified`. A change here needs a new file in
`migrations/versions`; a test holds the two together.
"""

from ragstone.store.sql.tables.base import metadata
from ragstone.store.sql.tables.conversations import *  # noqa: F403
from ragstone.store.sql.tables.documents import *  # noqa: F403
from ragstone.store.sql.tables.graph import *  # noqa: F403
from ragstone.store.sql.tables.operation import *  # noqa: F403

__all__ = ["metadata", *metadata.tables]
