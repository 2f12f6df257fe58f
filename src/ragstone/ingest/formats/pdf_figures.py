"""Pictures on the pages of a PDF that have text: which there are, where they stand in that text,
and how they look. Drawings made of lines are none."""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pypdfium2.raw

from ragstone.core.document import Box, picture_id
from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.document import Block
from ragstone.ingest.formats.embedded import MAX_PICTURE_BYTES, MAX_SHOWN_PICTURES, is_worth_it
from ragstone.ingest.formats.image_file import MAX_PIXELS
from ragstone.ingest.formats.pdf_lines import Frame, join_boxes, share_column
from ragstone.ingest.pictures import is_figure_caption

_C: Any = pypdfium2.raw

_MIN_SIDE = 36.0
"""Points of a picture that is worth a look."""

_SHARES = (0.02, 0.85)
"""Of the page: what takes less is a sign or a rule, what takes more is behind the page's text."""

_MAX_OBJECTS = 5_000
"""So many objects of a page are looked at in search of pictures."""

_CAPTION_GAP = 60.0
"""Points between a picture and its caption at most."""

_DPI = 150.0
_POINTS = 72.0
_MAX_SIDE = 1_600


@dataclass(frozen=True, slots=True)
class PdfPicture:
    """A picture on a page, by its id."""

    id: str
    box: Box


class PdfPictures:
    """The pictures of one PDF, each where it first stands: what is on every page is a sign."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._seen: set[str] = set()
        self._left_out = 0

    def last_notes(self) -> tuple[str, ...]:
        """Return what is to be said once all pages were read."""
        if not self._left_out:
            return ()
        return (
            f"{self._left_out:,} pictures of {self._document} are too large, or more than the "
            f"{MAX_SHOWN_PICTURES:,} that can be shown.",
        )

    def find_pictures(self, page: Any, index: int, frame: Frame) -> list[PdfPicture]:
        """Return those that stand on a page of pypdfium2's, by its index, for the first time."""
        found = []
        for number, image in _images(page):
            box = _box(image, frame)
            if box is None or not _is_large(box, frame) or not is_worth_it(_size(image)):
                continue
            if len(self._seen) >= MAX_SHOWN_PICTURES or not _has_room(image):
                self._left_out += 1
                continue
            data = _data(image)
            digest = picture_id(data, "")
            if digest not in self._seen:
                self._seen.add(digest)
                found.append(PdfPicture(f"{digest}{index + 1}.{number}", box))
        return found


def attach_pictures(blocks: Sequence[Block], pictures: Sequence[PdfPicture]) -> Iterator[Block]:
    """Yield the blocks of a page, of which captions have the picture that they stand at, and the
    blocks before the other pictures those. A page without text has no place for a picture."""
    held: dict[int, list[str]] = {}
    places = [(number, box) for number, item in enumerate(blocks) if (box := _around(item))]
    for picture in pictures:
        place = _caption(blocks, places, picture.box)
        place = _find_block_above(places, picture.box) if place is None else place
        if place is not None:
            held.setdefault(place, []).append(picture.id)
    for number, block in enumerate(blocks):
        ids = held.get(number)
        yield replace(block, pictures=(*block.pictures, *ids)) if ids else block


def picture_data(page: Any, number: int) -> bytes:
    """Return the stored bytes of the object of this number on a page; raises UnreadableDocument."""
    return _data(_find_object(page, number))


def draw_picture(page: Any, number: int, frame: Frame) -> Any:
    """Return the part of a page on which an object stands, as an RGB picture of Pillow's: as it is
    seen, with what is written on it. Raises UnreadableDocument."""
    image = _find_object(page, number)
    box = _box(image, frame)
    if box is None or not _has_room(image):
        raise UnreadableDocument("This picture cannot be shown.")
    width, height = page.get_size()
    longest = max(box.right - box.left, box.bottom - box.top, 1.0)
    crop = (box.left, max(0.0, height - box.bottom), max(0.0, width - box.right), box.top)
    scale = min(_DPI / _POINTS, _MAX_SIDE / longest)
    bitmap = page.render(scale=scale, crop=crop, may_draw_forms=False)
    shown = bitmap.to_pil().convert("RGB")
    bitmap.close()
    return shown


def _images(page: Any) -> Iterator[tuple[int, Any]]:
    for number in range(min(_C.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        found = _C.FPDFPage_GetObject(page, number)
        if found and _C.FPDFPageObj_GetType(found) == _C.FPDF_PAGEOBJ_IMAGE:
            yield number, found


def _find_object(page: Any, number: int) -> Any:
    for other, image in _images(page):
        if other == number:
            return image
    raise UnreadableDocument("There is no such picture on the page.")


def _box(image: Any, frame: Frame) -> Box | None:
    """Return where an object is seen on its page, without what lies outside."""
    edges = [ctypes.c_float() for _ in range(4)]
    if not _C.FPDFPageObj_GetBounds(image, *edges):
        return None
    left, bottom, right, top = (edge.value for edge in edges)
    seen = frame.edges((left, bottom), (right, top))
    most = frame.edges((frame.left, frame.bottom), (frame.right, frame.top))
    left, top = max(seen[0], most[0]), max(seen[1], most[1])
    right, bottom = min(seen[2], most[2]), min(seen[3], most[3])
    return Box(left, top, right, bottom) if left < right and top < bottom else None


def _is_large(box: Box, frame: Frame) -> bool:
    width, height = box.right - box.left, box.bottom - box.top
    whole = abs((frame.right - frame.left) * (frame.top - frame.bottom)) or 1.0
    least, most = _SHARES
    return min(width, height) >= _MIN_SIDE and least <= width * height / whole <= most


def _size(image: Any) -> int:
    return int(_C.FPDFImageObj_GetImageDataRaw(image, None, 0))


def _has_room(image: Any) -> bool:
    """Tell whether a picture may be unpacked."""
    width, height = ctypes.c_uint(), ctypes.c_uint()
    known = _C.FPDFImageObj_GetImagePixelSize(image, width, height)
    return (
        bool(known)
        and width.value * height.value <= MAX_PIXELS
        and _size(image) <= MAX_PICTURE_BYTES
    )


def _data(image: Any) -> bytes:
    size = min(_size(image), MAX_PICTURE_BYTES)
    buffer = ctypes.create_string_buffer(size)
    _C.FPDFImageObj_GetImageDataRaw(image, buffer, size)
    return buffer.raw


def _around(block: Block) -> Box | None:
    """Return the box of all lines of a block."""
    boxes = [place.box for place in block.places if place.box]
    return join_boxes(boxes) if boxes else None


def _caption(
    blocks: Sequence[Block], places: Sequence[tuple[int, Box]], picture: Box
) -> int | None:
    """Return the caption nearest above or below a picture."""
    near = [
        (max(box.top - picture.bottom, picture.top - box.bottom, 0.0), number)
        for number, box in places
        if is_figure_caption(blocks[number]) and share_column(box, picture)
    ]
    gap, number = min(near, default=(_CAPTION_GAP + 1, -1))
    return number if gap <= _CAPTION_GAP else None


def _find_block_above(places: Sequence[tuple[int, Box]], picture: Box) -> int | None:
    """The last block above a picture, in its column if there is one; else the first of the page."""
    middle = (picture.top + picture.bottom) / 2
    above = [(number, box) for number, box in places if box.bottom <= middle]
    in_column = [(number, box) for number, box in above if share_column(box, picture)]
    if near := in_column or above:
        return max(near, key=lambda item: item[1].bottom)[0]
    return places[0][0] if places else None
