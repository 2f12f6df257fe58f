"""The text in pictures by the program Tesseract, where that is installed."""

import io
import shutil
import subprocess
from typing import Any

from PIL import Image

from ragstone.ingest.formats.recognition import Stretch


class Tesseract:
    """The lines that the program tesseract reads."""

    def is_installed(self) -> bool:
        return shutil.which("tesseract") is not None

    def read(self, pixels: Any) -> list[Stretch]:
        picture = io.BytesIO()
        # Pixels are blue, green and red; Pillow's are the other way round.
        Image.fromarray(pixels[:, :, ::-1]).save(picture, "PNG")
        command = ["tesseract", "-", "-", "tsv"]
        done = subprocess.run(command, input=picture.getvalue(), capture_output=True, check=True)
        head, *rows = (line.split("\t") for line in done.stdout.decode().splitlines())
        found = (dict(zip(head, row, strict=True)) for row in rows)
        return [_stretch(word) for word in found if word["text"].strip()]


def _stretch(word: dict[str, str]) -> Stretch:
    """A word in its rectangle, whose corners begin at the upper left and go clockwise."""
    left, top = float(word["left"]), float(word["top"])
    right, bottom = left + float(word["width"]), top + float(word["height"])
    return Stretch(word["text"], ((left, top), (right, top), (right, bottom), (left, bottom)))
