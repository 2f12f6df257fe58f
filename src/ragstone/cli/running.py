"""Running a command: its settings, the service that has the data, and how it ends.

The log of a command, on standard error: lines for people, or JSON for machines.

Starts and ends without the collector of garbage: it would look through what a thousand modules
leave for ever, a seventh of the time that they take, and once more at the end.
"""

import atexit
import gc
import inspect
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer

from ragstone.cli.printing import err, one_line
from ragstone.core.correlation import CURRENT
from ragstone.core.disk import disk_errors
from ragstone.core.errors import RagstoneError

if TYPE_CHECKING:
    from ragstone.service import Service
    from ragstone.settings import Settings

T = TypeVar("T")
Action = TypeVar("Action", bound=Callable[..., Awaitable[int]])

INTERRUPTED = 130

Context = typer.Context


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The data directory and the settings' file of the command line."""

    data: Path | None = None
    config: Path | None = None


def context_settings(context: Context, **overrides: Any) -> "Settings":
    """The settings, with those given on the command line by their keys."""
    from ragstone.settings import load

    given = context.obj or CommandContext()
    try:
        if given.data:
            overrides["ragstone_data"] = given.data
        return load(given.config, **overrides)
    except RagstoneError as error:
        fail(error.message)


def server_address(settings: "Settings") -> str:
    """The address for people, without a slash at its end: the public one, that of the server that
    runs, or that of the next one."""
    from ragstone.service.server_file import find_lasting_address

    server, data = settings.server, settings.ragstone_data.expanduser().absolute()
    following = f"http://{server.host}:{server.port}"
    return server.public_address or find_lasting_address(data) or following


def run(settings: "Settings", action: Callable[["Service"], Awaitable[int]]) -> None:
    """Run a command on the service that has the data; exit with the status it returns."""

    import asyncio

    from ragstone import remote

    async def run_action() -> int:
        async with remote.connect(settings) as service:
            return await action(service)

    run_guarded(lambda: asyncio.run(run_action()), settings)


def command(app: typer.Typer, name: str | None = None) -> Callable[[Action], Action]:
    """Adds a coroutine function to `app` as a command. Its first parameter is the service that has
    the data, the others are arguments and options; it returns the exit status."""

    def add(action: Action) -> Action:
        def run_command(context: Context, **given: Any) -> None:
            run(context_settings(context), lambda service: action(service, **given))

        [_, *parameters] = inspect.signature(action).parameters.values()
        called: Any = run_command
        called.__name__, called.__doc__ = action.__name__, action.__doc__
        first = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
        own = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in parameters]
        called.__signature__ = inspect.Signature([first, *own])
        called.__annotations__ = {item.name: item.annotation for item in (first, *own)}
        app.command(name)(run_command)
        return action

    return add


def run_guarded(
    work: Callable[[], int | None], settings: "Settings", tracebacks: bool = False
) -> NoReturn:
    """Exit with what `work` returns, or with one line that says what went wrong.

    The log goes to standard error; a server's has `tracebacks`, as nobody else sees its errors.
    """
    start_log(settings.log_level, tracebacks, settings.log.format)
    try:
        with disk_errors(settings.ragstone_data.expanduser().absolute()):
            status = work() or 0
    except BrokenPipeError:
        # Who read the output has gone; Python would complain about it once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except RagstoneError as error:
        fail(error.message)
    except KeyboardInterrupt:
        fail("stopped.", INTERRUPTED)
    except typer.Exit:
        raise
    except Exception as error:
        logging.getLogger(__name__).debug("The command broke", exc_info=error)
        fail(f"something broke inside ({type(error).__name__}: {error}).")
    raise typer.Exit(status)


def run_step(work: Callable[[], T], settings: "Settings") -> T:
    """What `work` returns, before a command goes on; exit with one line if it went wrong."""
    start_log(settings.log_level, False, settings.log.format)
    try:
        with disk_errors(settings.ragstone_data.expanduser().absolute()):
            return work()
    except RagstoneError as error:
        fail(error.message)
    except KeyboardInterrupt:
        fail("stopped.", INTERRUPTED)


def fail(message: str, status: int = 1) -> NoReturn:
    err(f"ragstone: {message}")
    raise typer.Exit(status)


def confirm(question: str, otherwise: str = "add --yes to delete without being asked") -> None:
    if not sys.stdin.isatty():
        raise typer.BadParameter(otherwise)
    if not typer.confirm(one_line(question)):
        raise typer.Exit(1)


_KNOWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class _OneLine(logging.Formatter):
    """Log lines without tracebacks; those are for LOG_LEVEL=DEBUG."""

    def formatException(self, ei: object) -> str:  # noqa: N802
        return ""

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        return ""


class _Json(logging.Formatter):
    """A JSON object a line, with the names of the request that it was written for."""

    def format(self, record: logging.LogRecord) -> str:
        names = CURRENT.get()
        said: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if names.request:
            said |= {"request_id": names.request, "trace_id": names.trace}
        said |= {name: value for name, value in vars(record).items() if name not in _KNOWN}
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return json.dumps(said, default=str)


class _Named(logging.Formatter):
    """A line for people, which ends with the request's id."""

    def format(self, record: logging.LogRecord) -> str:
        request = CURRENT.get().request
        return super().format(record) + (f" [{request}]" if request else "")


def start_log(level: str, tracebacks: bool, style: str = "text") -> None:
    """Write what is logged from `level` on."""
    handler = logging.StreamHandler()
    if style == "json":
        handler.setFormatter(_Json())
    elif tracebacks or level == "DEBUG":
        handler.setFormatter(_Named("%(levelname)s:%(name)s:%(message)s"))
    else:
        handler.setFormatter(_OneLine("%(levelname)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])


USUAL = gc.get_threshold()
SELDOM = (50_000, *USUAL[1:])


def seldom_collected() -> None:
    """For a command, which ends soon: garbage is collected a seventieth as often, and what is left
    at the end goes with the process."""
    gc.set_threshold(*SELDOM)
    atexit.register(gc.freeze)


@contextmanager
def pause_garbage_collection() -> Iterator[Callable[[], None]]:
    """Garbage is collected again after the block, or from when what it yields is called; then what
    has been loaded by that time is not looked at again."""
    gc.disable()

    def resume() -> None:
        gc.freeze()
        gc.set_threshold(*USUAL)
        gc.enable()

    try:
        yield resume
    finally:
        gc.enable()
