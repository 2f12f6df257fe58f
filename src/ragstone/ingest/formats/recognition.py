"""The text of pictures: scanned pages, photos, screenshots. It needs the extra `ocr`."""

import math
import os
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar, cast

from ragstone.ingest.free_memory import give_back

T = TypeVar("T")

INSTALL = "pip install 'ragstone[ocr]'"

UNREAD = "pages_unread"
"""In a document's metadata: scanned pages whose text would be read if the extra were installed."""

PICTURES_UNREAD = "pictures_unread"
"""In a document's metadata: pictures inside of it, of which the same is true."""

MOST_SIDE = 2400
"""Pixels of the longer side that are looked at: an A4 page at 200 dpi has 2,339."""

DPI = 200

CONFIDENCE = 0.6
"""How sure the recognition of a line has to be, from 0 to 1; others are left out."""

PAGE_SECONDS = 60.0
"""For recognising a page, which are added to the time for its document, and for a picture inside of
one: where that takes longer, the document's own text is kept."""

AHEAD = 4

_MOST_RATIO = 4.0
"""Longer pictures are padded: small ones are enlarged until their shorter side is known well."""

_PARAMS = {
    "Global.log_level": "error",
    "Global.use_preprocess_img": False,
    "Rec.rec_batch_num": 1,  # More in a batch are padded to the widest, which costs more.
    "Det.use_dilation": False,  # It joins the lines of dense print.
    "Det.unclip_ratio": 1.4,
    # Lines are found in a smaller picture, which takes half the memory, and read in the large one.
    "Det.limit_type": "max",
    "Det.limit_side_len": 1600,
}
_DIFFERENT = 40
_MARGIN = 40

_UPSIDE_DOWN = "180"
_TALL = 1.5
"""A stretch so many times higher than wide has been turned before it was read."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """Whether and how the text of pictures is read.

    Lines that are less sure than CONFIDENCE are left out. A document may have `pages` pages to
    recognise. `ahead` is how many of them are read before their blocks are given, and `noticed` is
    called before each. Pictures inside of a document are given up where one takes more than
    PAGE_SECONDS.
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
            return f"To read its text, install what recognises it: {INSTALL}."
        return "To read its text, set INGEST__OCR=true."


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


def is_installed() -> bool:
    """Whether the extra is there."""
    return find_spec("rapidocr") is not None


_LATE: list[threading.Thread] = []


def in_time(work: Callable[[], T], seconds: float) -> T:
    """What `work` gives; raises TimeoutError where that takes longer, and then it goes on without
    anybody waiting: nothing ends a model's computation."""
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
    """Whether a computation goes on for which nobody waits."""
    return any(thread.is_alive() for thread in _LATE)


def recognise_text(pixels: Any, recognition: Recognition) -> list[Stretch]:
    """The stretches of text in a picture, an array of rows of blue, green and red from 0 to 255,
    whose longer side has at most MOST_SIDE pixels."""
    recognition.noticed()
    try:
        return _recognise(pixels, recognition)
    finally:
        give_back()


def _recognise(pixels: Any, recognition: Recognition) -> list[Stretch]:
    import numpy

    left, top, content = _content(pixels)
    if not content.size:
        return []
    rapid = _engine()
    try:
        crops, found = rapid.detect_and_crop(_pad_picture(content), {})
    except _nothing_found():
        return []
    corners = [tuple((float(x) + left, float(y) + top) for x, y in box) for box in found.boxes]
    turns = _turns(corners, rapid.cls_and_rotate(crops)[1].cls_res)
    upright = [
        numpy.rot90(crop, 2) if turn in (180, 270) else crop
        for crop, turn in zip(crops, turns, strict=True)
    ]
    try:
        read = rapid.recognize_txt(upright)
    except _nothing_found():
        return []
    return [
        Stretch(text.strip(), _from_its_beginning(box, turn))
        for text, score, box, turn in zip(read.txts, read.scores, corners, turns, strict=True)
        if text.strip() and score >= CONFIDENCE
    ]


@cache
def _engine() -> Any:
    """The models, which are loaded once in a process."""
    import cv2
    from rapidocr import RapidOCR

    threads = max(1, (os.cpu_count() or 1) // 2)
    cv2.setNumThreads(threads)
    options = {"EngineConfig.onnxruntime.intra_op_num_threads": threads}
    return RapidOCR(params={**_PARAMS, **options})


@cache
def _nothing_found() -> type[Exception]:
    """What is raised where a picture holds no text."""
    from rapidocr.main import RapidOCRError

    return cast(type[Exception], RapidOCRError)


def _content(pixels: Any) -> tuple[int, int, Any]:
    """The part of a picture that differs from its ground, with a margin, and from where on it is:
    a short line on an empty page is not seen from afar. Nothing of an empty one."""
    import numpy

    grey = pixels.mean(axis=2, dtype=numpy.float32)
    marked = abs(grey - numpy.median(grey)) > _DIFFERENT
    rows, columns = (numpy.flatnonzero(marked.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        return 0, 0, pixels[:0]
    top, left = max(0, rows[0] - _MARGIN), max(0, columns[0] - _MARGIN)
    return left, top, pixels[top : rows[-1] + _MARGIN, left : columns[-1] + _MARGIN]


def _pad_picture(pixels: Any) -> Any:
    """The picture with white below it or beside it, so that it is not too long for its width."""
    import cv2

    height, width = pixels.shape[:2]
    below = max(0, math.ceil(width / _MOST_RATIO) - height)
    beside = max(0, math.ceil(height / _MOST_RATIO) - width)
    if not (below or beside):
        return pixels
    return cv2.copyMakeBorder(
        pixels, 0, below, 0, beside, cv2.BORDER_CONSTANT, value=(255, 255, 255)
    )


def _turns(boxes: Sequence[Corners], labels: Sequence[tuple[str, float]]) -> list[int]:
    """By how many degrees each stretch is turned clockwise, as most of its kind are."""
    votes = {True: 0.0, False: 0.0}
    tall = [_is_tall(box) for box in boxes]
    for high, box, (label, score) in zip(tall, boxes, labels, strict=True):
        length = max(_sides(box))
        votes[high] += length * score if label == _UPSIDE_DOWN else -length * score
    return [
        (270 if votes[True] > 0 else 90) if high else (180 if votes[False] > 0 else 0)
        for high in tall
    ]


def _is_tall(box: Corners) -> bool:
    width, height = _sides(box)
    return int(height) >= _TALL * max(int(width), 1)


def _sides(box: Corners) -> tuple[float, float]:
    """The width and the height of a box that may be askew."""
    one, two, three, four = box
    return (
        max(math.dist(one, two), math.dist(three, four)),
        max(math.dist(one, four), math.dist(two, three)),
    )


def _from_its_beginning(box: Corners, turn: int) -> Corners:
    """The corners, the first one where the first letter's upper left one is."""
    first = {0: 0, 90: 1, 180: 2, 270: 3}[turn]
    return (*box[first:], *box[:first])
