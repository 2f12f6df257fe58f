"""The rows of a query as a source.

The query is listed as a whole each time, as a column that says when a row was changed says neither
that its readers were, nor that a transaction which began earlier has ended later.

The options of a query, and its rows as documents.
"""

import asyncio
import json
import os
import re
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, date, datetime
from hashlib import blake2b
from html import escape
from typing import IO, Any, BinaryIO, Literal, Self
from urllib.parse import quote

from pydantic import Field, SecretStr, model_validator
from sqlalchemy import ColumnElement, TextClause, column, event, func, or_, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.sql.elements import quoted_name

from ragstone.core.errors import ConfigError, DocumentError, SourceUnavailable
from ragstone.core.readers import parse_readers
from ragstone.core.sync import SourceItem
from ragstone.plugins.sources.item_run import FETCHES
from ragstone.ports.sources import SourceKind, SourceOptions, SourceParts

DRIVERS = {"postgresql": "postgresql+psycopg", "sqlite": "sqlite+aiosqlite"}
_PARAMETERS = {"host", "port", "sslmode", "sslrootcert"}


class SqlOptions(SourceOptions):
    """Options of a query. Names of columns are those that the query gives."""

    url: str = Field(
        description="The database: postgresql://user@host:5432/name or sqlite:////srv/file.sqlite."
    )
    password: SecretStr = Field(SecretStr(""), description="The user's password.")
    query: str = Field(min_length=1, description="A SELECT whose rows are the documents.")
    id: str = Field("id", description="The column that names a row, each another one.")
    title: str = Field("", description="The column of the title.")
    text: str = Field("", description="The column of the text; the others stand below it.")
    format: Literal["txt", "md", "html"] = Field("txt", description="What the text is.")
    link: str = Field("", description="The column of the address where people read it.")
    modified: str = Field(
        "", description="The column that is another one when the row is; without, all of it counts."
    )
    readers: str = Field(
        "", description="The column of the readers. A row without any is for nobody."
    )

    @model_validator(mode="after")
    def _check_url(self) -> Self:
        address = "write it like postgresql://user@host:5432/name or sqlite:////srv/file.sqlite"
        try:
            url = make_url(self.url)
        except (ArgumentError, ValueError) as error:
            raise ValueError(address) from error
        if url.drivername not in DRIVERS or not url.database or set(url.query) - _PARAMETERS:
            raise ValueError(address)
        if url.drivername == "sqlite" and not os.path.isabs(url.database):
            raise ValueError("the path of the file must be absolute: sqlite:////srv/file.sqlite")
        return self


def write_row(options: SqlOptions, row: Mapping[Any, Any]) -> str:
    """Return a row as a document: the title, the text, and the other columns that have a text."""
    left_out = {options.title, options.text, options.link, options.modified, options.readers}
    title = " ".join(as_text(row[options.title]).split()) if options.title else ""
    body = as_text(row[options.text]) if options.text else ""
    texts = {str(name): as_text(row[name]) for name in row if name not in left_out}
    others = [(name, value) for name, value in texts.items() if value.strip()]
    if options.format == "html":
        below = "".join(f"<p>{escape(name)}: {escape(value)}</p>" for name, value in others)
        head = f"<head><meta charset='utf-8'><title>{escape(title)}</title></head>"
        heading = f"<h1>{escape(title)}</h1>" if title else ""
        return f"<html>{head}<body><main>{heading}{body}{below}</main></body></html>"
    heading = f"# {title}" if title and options.format == "md" else title
    lines = [f"{name}: {value}" for name, value in others]
    between = "\n\n" if options.format == "md" else "\n"
    return "\n\n".join(filter(None, (heading, body, between.join(lines)))) + "\n"


def as_text(value: object) -> str:
    """Return a value as people read it; nothing for bytes, which are no text."""
    if value is None or isinstance(value, bytes | memoryview):
        return ""
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def as_time(value: object) -> float:
    """Return seconds since 1970, 0 for what is no time."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = datetime.fromisoformat(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return max(float(value), 0.0) if isinstance(value, int | float) else 0.0


ROWS = 500
"""Rows that are held in memory at a time."""

CONNECT_SECONDS = 30
SECONDS = 600.0
"""How long a query may take."""


class QueryRows:
    """`ports.sources.ItemSource` of the rows of a query."""

    def __init__(self, parts: SourceParts[SqlOptions]) -> None:
        self._options = options = parts.options
        self._url = make_url(options.url)
        self._place = self._url.render_as_string()
        self._engine = _make_engine(self._url, options.password.get_secret_value())
        # Behind a comment, a bracket would be a part of it; a colon is no parameter of ours.
        query = options.query.strip().rstrip(";").replace(":", r"\:")
        self._rows: TextClause = text(f"({query}\n) AS rows")
        self._names: Sequence[str] = ()
        # What was read in another way is read again.
        said = options.model_dump(include={"query", "title", "text", "format", "link", "modified"})
        self._way = _digest(sorted(said.items()))

    async def check(self) -> None:
        options = self._options
        id = _column(options.id)
        async with self._connect() as connection:
            found = await connection.execute(select(text("*")).select_from(self._rows).limit(0))
            self._names = list(found.keys())
            named = (options.id, options.title, options.text, options.link, options.modified)
            for name in filter(None, (*named, options.readers)):
                if name not in self._names:
                    raise SourceUnavailable(
                        f"The query gives no column {name!r}, but {', '.join(self._names)[:500]}."
                    )
            again = select(id).select_from(self._rows).group_by(id).having(func.count() > 1)
            if twice := (await connection.execute(again.limit(1))).first():
                raise SourceUnavailable(
                    f"The query gives several rows whose {options.id} is {str(twice[0])[:100]!r}: "
                    "name a column that is another one in each row."
                )

    async def list_items(self, checkpoint: str) -> AsyncGenerator[SourceItem, None]:
        # A database would keep for as long as a sync what others delete meanwhile.
        with tempfile.TemporaryFile("w+") as listed:
            await self._write_listing(listed)
            listed.seek(0)
            for line in listed:
                yield _make_item(self._options, json.loads(line))

    async def list_keys(self) -> AsyncIterator[str]:
        async for item in self.list_items(""):
            yield item.key

    def get_checkpoint(self) -> str:
        return ""

    async def fetch(self, item: SourceItem, target: BinaryIO) -> None:
        id = _column(self._options.id)
        ids: list[str | int] = [item.key]
        # SQLite compares nothing with a text that is not one; PostgreSQL takes it for what it is.
        if self._url.drivername == "sqlite" and re.fullmatch(r"-?[1-9]\d{,17}|0", item.key):
            ids.append(int(item.key))
        names = {f"id{number}": value for number, value in enumerate(ids)}
        is_it = or_(*(id == text(f":{name}") for name in names))
        found = select(*map(_column, self._names)).select_from(self._rows).where(is_it)
        async with self._connect() as connection:
            row = (await connection.execute(found, names)).first()
        if row is None:
            raise DocumentError("Its row is not there any more.")
        target.write(write_row(self._options, row._mapping).encode("utf-8", "replace"))

    async def aclose(self) -> None:
        await self._engine.dispose()

    async def _write_listing(self, file: IO[str]) -> None:
        """Write a line for each row: what `_make_item` takes."""
        options = self._options
        named = (options.id, options.title, options.link, options.modified, options.readers)
        # Without a date all of a row is looked at.
        names = list(dict.fromkeys(filter(None, named))) if options.modified else self._names
        async with self._connect() as connection:
            statement = select(*map(_column, names)).select_from(self._rows)
            rows = await connection.stream(statement, execution_options={"yield_per": ROWS})
            async for part in rows.partitions():
                file.writelines(f"{json.dumps(self._describe(row._mapping))}\n" for row in part)

    def _describe(self, row: Mapping[Any, Any]) -> dict[str, Any]:
        options = self._options
        modified = row[options.modified] if options.modified else None
        content = modified if options.modified else [row[name] for name in self._content]
        readers = row[options.readers] if options.readers else ""
        return {
            "id": as_text(row[options.id]),
            "version": f"{_digest(content)} {self._way}",
            "title": as_text(row[options.title]) if options.title else "",
            "link": as_text(row[options.link]) if options.link else "",
            "modified": as_time(modified),
            "readers": [*map(str, readers)] if isinstance(readers, list) else [as_text(readers)],
        }

    @property
    def _content(self) -> list[str]:
        return [name for name in self._names if name != self._options.readers]

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that changes nothing. Raises SourceUnavailable."""
        try:
            async with asyncio.timeout(SECONDS), self._engine.connect() as connection:
                yield connection
        except (DBAPIError, OSError, UnicodeError) as error:
            reason = _explain(error)
            raise SourceUnavailable(f"{self._place} cannot be read: {reason}.") from error


def _make_engine(url: URL, password: str) -> AsyncEngine:
    driver = DRIVERS[url.drivername]
    if url.drivername == "postgresql":
        opened = url.set(drivername=driver, password=password or None)
        try:
            connect = {"connect_timeout": CONNECT_SECONDS, "application_name": "ragstone"}
            engine = create_async_engine(opened, connect_args=connect, pool_size=FETCHES)
        except ImportError as error:
            raise ConfigError(
                "PostgreSQL needs a package: pip install 'ragstone[postgres]'"
            ) from error
        return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    file = f"file:{quote(url.database or '')}"
    engine = create_async_engine(
        URL.create(driver, database=file, query={"mode": "ro", "uri": "true"}), pool_size=FETCHES
    )

    @event.listens_for(engine.sync_engine, "connect")
    def _take_any_text(connection: Any, _: object) -> None:
        # A text of other bytes would end the query.
        connection.driver_connection.text_factory = _decode

    return engine


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _column(name: str) -> ColumnElement[Any]:
    return column(quoted_name(name, quote=True))


def _explain(error: BaseException) -> str:
    """Return what an error means: the end of a sentence."""
    if isinstance(error, TimeoutError):
        return "it took too long to answer"
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    told = getattr(getattr(cause, "diag", None), "message_primary", None)
    # Where the connection fails, what was tried stands before the reason, and advice behind it.
    line = (str(told or cause).strip().splitlines() or [""])[0]
    return f"it answers {re.sub(r'^.* failed: ', '', line)[:300]!r}"


def _make_item(options: SqlOptions, listed: Mapping[str, Any]) -> SourceItem:
    key = listed["id"]
    # Another id is another name: what a path cannot have is written with percent signs.
    name = "".join(
        char if char.isprintable() and char not in "%/" else quote(char, safe="", errors="replace")
        for char in key
    )
    readers = parse_readers(filter(None, listed["readers"]))
    return SourceItem(
        key,
        listed["version"],
        f"{name}.{options.format}" if key else "",
        readers,
        " ".join(listed["title"].split()),
        listed["link"],
        listed["modified"],
        closed=bool(options.readers and not readers),
    )


def _digest(value: object) -> str:
    return blake2b(repr(value).encode("utf-8", "replace"), digest_size=12).hexdigest()


SQL = SourceKind("The rows of a query.", SqlOptions, QueryRows, of_server=True)
