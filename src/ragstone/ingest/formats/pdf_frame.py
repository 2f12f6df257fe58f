"""What is seen of a PDF page, in points from the left and the top."""

from dataclasses import dataclass
from typing import Any

Edges = tuple[float, float, float, float]
"""Left, top, right and bottom: lighter than a Box, as there is one for each character."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What is seen of a page: its edges in PDF's coordinates and its rotation in degrees."""

    left: float
    bottom: float
    right: float
    top: float
    rotation: int = 0

    def map_point(self, x: float, y: float) -> tuple[float, float]:
        """A point as its distance from the left and the top of the page as it is shown."""
        if self.rotation == 90:
            return y - self.bottom, x - self.left
        if self.rotation == 180:
            return self.right - x, y - self.bottom
        if self.rotation == 270:
            return self.top - y, self.right - x
        return x - self.left, self.top - y

    def edges(self, one: tuple[float, float], other: tuple[float, float]) -> Edges:
        """The rectangle between two corners, as it is shown."""
        (x1, y1), (x2, y2) = self.map_point(*one), self.map_point(*other)
        return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def page_frame(page: Any) -> Frame:
    """The frame of a pypdfium2 page."""
    # Not the crop box: a size that all pages share stands above them, and is not found there.
    left, bottom, right, top = page.get_bbox()
    return Frame(left, bottom, right, top, page.get_rotation() % 360)
