"""Tables of accounts."""

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
    true,
)

from ragstone.store.sql.tables.base import Text, metadata

people = Table(
    "people",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("user", Text, primary_key=True),
    Column("display", Text, nullable=False),
    Column("groups", JSON, nullable=False),
    Column("collections", JSON(none_as_null=True)),
    Column("role", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("password", Text, nullable=False),
    Column("totp", Text, nullable=False),
    Column("totp_step", BigInteger, nullable=False),
    Column("recovery", JSON, nullable=False),
    Column("origin", Text, nullable=False, server_default=""),
    Column("active", Boolean, nullable=False, server_default=true()),
    Column("profile", JSON, nullable=False, server_default="{}"),
)
"""Accounts. `password` is an argon2 hash, empty until the invitation is accepted; `totp` the secret
of the second factor, empty without; `recovery` are digests of codes that stand in for it once;
`profile` is what a directory told."""

person_tokens = Table(
    "person_tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("begun_at", Double, nullable=False),
    Column("ends_at", Double, nullable=False),
    Column("used_at", Double, nullable=False),
    Column("agent", Text, nullable=False),
    ForeignKeyConstraint(["tenant", "user"], ["people.tenant", "people.user"], ondelete="CASCADE"),
    Index(None, "tenant", "user"),
)
"""Sessions, invitations, and the browsers in which somebody has signed in."""

directory_groups = Table(
    "directory_groups",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("external_id", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("changed_at", Double, nullable=False),
    Index(None, "tenant", "name", unique=True),
)
"""Groups that were provisioned; who is in one is told by the accounts."""

sign_in_tries = Table(
    "sign_in_tries",
    metadata,
    Column("name", Text, primary_key=True),
    Column("tries", Integer, nullable=False),
    Column("at", Double, nullable=False),
    Index(None, "at"),
)
"""How often a password was tried for a name, at an address or in a browser, by its digest."""
