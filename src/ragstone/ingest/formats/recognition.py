"""The text of pictures: scanned pages, photos, screenshots. A plugin or a package recognises it."""

import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, TypeVar

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.free_memory import give_back
from ragstone.registry import PLUGINS_OFF, Registry

T = TypeVar("T")

UNREAD = "pages_unread"
"""In a document's metadata: scanned pages whose text would be read if the extra were installed."""

PICTURES_UNREAD = "pictures_unread"
"""In a document's metadata: pictures inside of it, of which the same is true."""

MAX_SIDE = 2400
"""Pixels of the longer side that are looked at: an A4 page at 200 dpi has 2,339."""

DPI = 200

PAGE_SECONDS = 60.0
"""For recognising a page, which are added to the time for its document, and for a picture inside of
one: where that takes longer, the document's own text is kept."""

AHEAD = 4


@dataclass(frozen=True, slots=True)
class Recognition:
    """Whether and how the text of pictures is read.

    A document may have `pages` pages to recognise. `ahead` is how many of them are read before
    their blocks are given, and `noticed` is called before each. Pictures inside of a document are
    given up where one takes more than PAGE_SECONDS.
    """

    wanted: bool = True
    pages: int = 1000
    ahead: int = AHEAD
    noticed: Callable[[], None] = lambda: None

    @property
    def possible(self) -> bool:
        return self.wanted and is_installed()

    @property
    def why_not(self) -> str:
        """What to do so that the text is read, as a sentence."""
        if not is_installed():
            return f"To read its text, {missing_step()}."
        return "To read its text, set INGEST__OCR_PAGES."


_DEFAULT = Recognition()
CHOSEN: ContextVar[Recognition] = ContextVar("recognition", default=_DEFAULT)
"""What the file that is being opened is read with: parsers have no settings of their own."""


Corners = tuple[tuple[float, float], ...]
"""Four points in pixels from the left and the top, clockwise."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Text in a picture, mostly a line. Its corners begin with the upper left one of the first
    letter, however the text is turned."""

    text: str
    corners: Corners


class Recognizer(Protocol):
    """Reads the text in pictures, in a process that has no network and no settings."""

    def is_installed(self) -> bool:
        """Whether all that it needs is there; asked in the server too, so nothing is loaded."""
        ...

    def read(self, pixels: Any) -> list[Stretch]:
        """Return the text in a picture, an array of rows of blue, green and red from 0 to 255,
        whose longer side has at most MAX_SIDE pixels."""
        ...


RECOGNIZERS: Registry[Recognizer] = Registry(
    "ragstone.recognizers", "recognizer of text", {}, makes=Recognizer
)
"""What reads the text in pictures; the first that is installed does, those of packages first."""


@cache
def _find_recognizer() -> Recognizer | None:
    names = (*RECOGNIZERS.others, *RECOGNIZERS.ours)

    def load(name: str) -> Recognizer:
        made = RECOGNIZERS.make(name)
        made.is_installed()  # What breaks there is left out too.
        return made

    made = RECOGNIZERS.keep_usable(names, "It reads no pictures.", load).values()
    return next((item for item in made if item.is_installed()), None)


def is_installed() -> bool:
    """Tell whether something reads the text in pictures."""
    return _find_recognizer() is not None


def missing_step() -> str:
    """Return what to do so that it is read, as the end of a sentence."""
    if RECOGNIZERS.ours:
        return "pip install 'ragstone[ocr]'"
    return f"switch the plugin ocr on ({PLUGINS_OFF})"


_LATE: list[threading.Thread] = []


def in_time(work: Callable[[], T], seconds: float) -> T:
    """Return what `work` gives; raises TimeoutError where that takes longer, and then it goes on
    without anybody waiting: nothing ends a model's computation."""
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="recognition", daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        _LATE.append(thread)
        raise TimeoutError
    return done[0]


def is_computing() -> bool:
    """Tell whether a computation goes on for which nobody waits."""
    return any(thread.is_alive() for thread in _LATE)


def recognise_text(pixels: Any, recognition: Recognition) -> list[Stretch]:
    """Return the text in a picture, as `Recognizer.read` gives it; only where that is possible."""
    recognizer = _find_recognizer()
    if recognizer is None:
        raise UnreadableDocument(f"Nothing reads the text in pictures: {missing_step()}.")
    recognition.noticed()
    try:
        return recognizer.read(pixels)
    finally:
        give_back()
