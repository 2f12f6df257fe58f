"""The options of a query, and its rows as documents."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from html import escape
from typing import Any, Literal, Self

from pydantic import Field, SecretStr, model_validator
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from ragstone.ports.sources import SourceOptions

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
