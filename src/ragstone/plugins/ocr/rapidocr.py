"""Text in pictures by RapidOCR: lines are found, turned upright and read, each by a small model."""

import math
import os
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, cast

from ragstone.ingest.formats.recognition import Corners, Stretch

CONFIDENCE = 0.6
"""How sure the recognition of a line has to be, from 0 to 1; others are left out."""

_MAX_RATIO = 4.0
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


class RapidOcr:
    """Print in Latin letters, Chinese and Japanese, by RapidOCR."""

    def is_installed(self) -> bool:
        """Tell whether the extra `ocr` is there."""
        return find_spec("rapidocr") is not None

    def read(self, pixels: Any) -> list[Stretch]:
        """`Recognizer`."""
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
    """Return the models, which are loaded once in a process."""
    import cv2
    from rapidocr import RapidOCR

    threads = max(1, (os.cpu_count() or 1) // 2)
    cv2.setNumThreads(threads)
    options = {"EngineConfig.onnxruntime.intra_op_num_threads": threads}
    return RapidOCR(params={**_PARAMS, **options})


@cache
def _nothing_found() -> type[Exception]:
    """Return what is raised where a picture holds no text."""
    from rapidocr.main import RapidOCRError

    return cast(type[Exception], RapidOCRError)


def _content(pixels: Any) -> tuple[int, int, Any]:
    """Return the part of a picture that differs from its ground, with a margin, and from where on
    it is: a short line on an empty page is not seen from afar. Nothing of an empty one."""
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
    below = max(0, math.ceil(width / _MAX_RATIO) - height)
    beside = max(0, math.ceil(height / _MAX_RATIO) - width)
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
    """Return the width and the height of a box that may be askew."""
    one, two, three, four = box
    return (
        max(math.dist(one, two), math.dist(three, four)),
        max(math.dist(one, four), math.dist(two, three)),
    )


def _from_its_beginning(box: Corners, turn: int) -> Corners:
    """Return the corners, the first one where the first letter's upper left one is."""
    first = {0: 0, 90: 1, 180: 2, 270: 3}[turn]
    return (*box[first:], *box[:first])
