"""What `index.options` may hold: each kind of index has a model of its own."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from ragstone.core.errors import ConfigError
from ragstone.core.faults import describe_fault
from ragstone.settings.section import Seconds, Section

T = TypeVar("T")

MAX_PAUSE = 5.0
"""Seconds of the longest pause, unless the first is longer."""

Worth = Callable[[Exception], float | None]
"""Seconds that a server wants to be left alone after an error, 0 if it says nothing; None for an
error that would come again."""


@dataclass(frozen=True, slots=True)
class Retries:
    """Further tries after a failed one, and seconds before the first of them."""

    most: int = 3
    pause: float = 0.1

    def pauses(self) -> Iterator[float]:
        """Yield each twice as long as the one before, less a random part of up to a half: many who
        were refused at once do not come back at once."""
        for tried in range(self.most):
            whole = min(self.pause * 2**tried, max(self.pause, MAX_PAUSE))
            yield whole * random.uniform(0.5, 1.0)  # noqa: S311


async def with_retries(
    send: Callable[[], Awaitable[T]],
    retries: Retries,
    worth: Worth,
    timeout: float,
    *,
    each: bool = False,
) -> T:
    """Return what `send` returns, tried again while its errors are `worth` it.

    All tries together have `timeout` seconds, as somebody waits for a read; with `each`, every one
    has them. The last error is raised, TimeoutError where the time was over.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + timeout
    for pause in retries.pauses():
        try:
            async with asyncio.timeout(timeout if each else until - clock()):
                return await send()
        except Exception as error:
            wanted = worth(error)
            if wanted is None:
                raise
            # A server that names a pause refuses what comes before.
            pause = max(pause, wanted)
            # Waiting would take all that is left: the error says more than a time-out.
            if pause >= (timeout if each else until - clock()):
                raise
        await asyncio.sleep(pause)
    async with asyncio.timeout(timeout if each else until - clock()):
        return await send()


Quantization = Literal["none", "int8", "binary"]


class IndexOptions(Section):
    """The options of an index that has none; `kind` is what messages call it."""

    kind: ClassVar[str] = "a Qdrant Edge index"


class GraphOptions(IndexOptions):
    """Options of an index over meaning (HNSW) on a server; what None says is left to it."""

    hnsw_m: int | None = Field(None, ge=2, le=100, description="Links of a vector.")
    hnsw_ef_construction: int | None = Field(
        None, ge=4, le=1000, description="Candidates while it is built, at least twice hnsw_m."
    )

    @model_validator(mode="after")
    def _candidates_suffice(self) -> "GraphOptions":
        links, candidates = self.hnsw_m, self.hnsw_ef_construction
        if candidates is not None and candidates < 2 * (links or 16):
            raise ValueError("hnsw_ef_construction must be at least twice hnsw_m")
        return self


class ClusterOptions(GraphOptions):
    """Options of an index whose server is asked over HTTP, and may be a cluster."""

    rescore: bool = Field(
        True, description="Whether what quantized vectors found is ranked anew by whole ones."
    )
    oversampling: float | None = Field(
        None,
        ge=1,
        le=100,
        description="Candidates among quantized vectors for each that is wanted.",
    )
    shards: int | None = Field(None, ge=1, le=1000, description="Parts of a new collection.")
    replicas: int | None = Field(
        None, ge=0, le=100, description="Copies of each part beside the first, on other nodes."
    )
    write_chunks: int = Field(
        128, ge=1, le=10_000, description="Chunks of one request that writes, at most."
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
        "statuses 429, 502, 503 and 504. All tries of a read together have the timeout, each of a "
        "write.",
    )
    retry_pause: Seconds = Field(
        0.1,
        gt=0,
        le=60,
        description="Seconds before the first of them, twice as long before each next one, up to 5 "
        "or this if it is longer, less a random part of up to a half.",
    )

    @property
    def write_bytes(self) -> int:
        """Bytes of one request that writes."""
        return self.write_mb * 2**20

    @property
    def further_tries(self) -> Retries:
        """Retries as `with_retries` takes them."""
        return Retries(self.retries, self.retry_pause)


OptionsT = TypeVar("OptionsT", bound=IndexOptions)


def read_options(model: type[OptionsT], given: Mapping[str, Any]) -> OptionsT:
    """Return the options of an index as its model; raises ConfigError that names what is wrong."""
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            known = ", ".join(model.model_fields)
            has = f"Its options are {known}." if known else "It has no options."
            raise ConfigError(f"Not an option of {model.kind}: {name!r}. {has}") from error
        message = describe_fault(first)
        about = f"{name}: {message}" if name else message
        raise ConfigError(f"INDEX__OPTIONS is wrong for {model.kind}: {about}.") from error
