"""What suites of several folders run against, and how property tests run."""

from hypothesis import settings

from tests.conformance.postgres_server import postgres
from tests.databases import all_postgres_databases, open_state, postgres_databases, state

__all__ = ["all_postgres_databases", "open_state", "postgres", "postgres_databases", "state"]

# A busy machine may take long over any example; what must end in time has a timeout of its own.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
