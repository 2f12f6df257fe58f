"""What suites of several folders run against."""

from tests.conformance.postgres_server import postgres
from tests.databases import all_postgres_databases, open_state, postgres_databases, state

__all__ = ["all_postgres_databases", "open_state", "postgres", "postgres_databases", "state"]
