"""Pictures in web pages and books: a sign stands for each in the page's text until its own text
takes its place.

Pictures of a page are those inside of it (`data:`) and files beside it in the folder that was
given; nothing is fetched.
"""

import base64
import binascii
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.document import Block
from ragstone.ingest.formats.embedded import (
    KINDS,
    MAX_PICTURE_BYTES,
    MAX_SHOWN_PICTURES,
    EmbeddedPicture,
    Pictures,
    is_worth_it,
    picture_kind,
)
from ragstone.ingest.formats.types import Surroundings
from ragstone.ingest.places import read_regular

_FIRST_SIGN, _LAST_SIGN = 0x10F000, 0x10F000 + MAX_SHOWN_PICTURES
"""Characters that nobody uses: the end of the last private plane."""

_SIGN = re.compile(f" ?[{chr(_FIRST_SIGN)}-{chr(_LAST_SIGN)}]")
_DATA = re.compile(r"data:image/(\w+)((?:;[\w=.+-]+)*),", re.IGNORECASE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_SHOWN = re.compile(rb"<img\b[^>]*?\bsrc\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.I)
_MAX_PAGE_BYTES = 16 << 20
_MAX_NAME_CHARS = 200


class Signs:
    """The signs of the pictures in one page."""

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures
        self._names: list[str] = []

    def put(self, tree: Any, named: Callable[[str], str]) -> None:
        """Let what is said of a picture end with its sign. `named` makes the name of a picture of
        the address that the page has for it; pictures that are not known get no sign."""
        for element in list(tree.iter("img", "svg")):
            name = named(_address(element))
            if self._pictures.waits(name) and len(self._names) < MAX_SHOWN_PICTURES:
                if element.tag == "svg":
                    element.clear(keep_tail=True)
                    element.tag = "img"
                sign = chr(_FIRST_SIGN + len(self._names))
                element.set("alt", f"{element.get('alt') or ''} {sign}")
                self._names.append(name)

    def replace_signs(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield the blocks without signs, each followed by the text of its pictures."""
        if not self._names:
            yield from blocks
            return
        for block in blocks:
            signs = _SIGN.findall(block.text)
            if not signs:
                yield block
                continue
            text, label = _SIGN.sub("", block.text).strip(), _SIGN.sub("", block.label)
            places = (ord(sign[-1]) - _FIRST_SIGN for sign in dict.fromkeys(signs))
            names = [self._names[place] for place in places if place < len(self._names)]
            found = [item for name in names for item in self._pictures.blocks(name, "")]
            if text and text != label:
                pictures = tuple(dict.fromkeys(id for item in found for id in item.pictures))
                yield replace(block, text=text, label=label, pictures=pictures)
                found = [item for item in found if item.text]
            yield from found


def page_pictures(tree: Any, path: Path, around: Surroundings | None) -> Pictures:
    """Return the pictures of a page, by their addresses in it."""
    found: dict[str, EmbeddedPicture] = {}
    for element in tree.iter("img", "svg"):
        address = _address(element)
        if address not in found and (picture := _picture(address, around)):
            long = len(address) > _MAX_NAME_CHARS
            found[address] = replace(picture, name=f"#{len(found) + 1}") if long else picture
    return Pictures(path.name, found)


def find_picture_files(path: Path, folder: Path) -> tuple[Path, ...]:
    """Return the pictures beside the page at `path` that are read with it, as far as a look at its
    text shows them."""
    try:
        source = read_regular(path, _MAX_PAGE_BYTES)
    except OSError:
        return ()
    around = Surroundings(folder, path)
    addresses = ("".join(part.decode("utf-8", "replace") for part in found.groups() if part)
                 for found in _SHOWN.finditer(source))  # fmt: skip
    files = (
        _picture_file(address, around)
        for address in dict.fromkeys(addresses)
        if picture_kind(address)
    )
    return tuple(dict.fromkeys(file for file in files if file))[:MAX_SHOWN_PICTURES]


def resolve_in_book(chapter: str, address: str) -> str:
    """Return the name in a book of the picture that a chapter has by this address."""
    if _ELSEWHERE.match(address):
        return ""
    plain = unquote(re.split("[?#]", address)[0])
    return posixpath.normpath(posixpath.join(posixpath.dirname(chapter), plain))


def _address(element: Any) -> str:
    """Return where the picture of an element is; pages that load pictures late say it elsewhere."""
    if element.tag == "svg":
        image = next(iter(element.iter("image")), None)
        return "" if image is None else str(image.get("xlink:href") or image.get("href") or "")
    late = str(element.get("data-src") or "")
    return late or str(element.get("src") or "")


def _picture(address: str, around: Surroundings | None) -> EmbeddedPicture | None:
    if inside := _DATA.match(address):
        kind = KINDS.get(inside[1].lower(), "")
        coded = ";base64" in inside[2].lower()
        size = (len(address) - inside.end()) * 3 // 4 if coded else len(address)
        read = partial(_decode_address, address, inside.end(), coded)
        return EmbeddedPicture(kind, read) if kind and is_worth_it(size) else None
    kind = picture_kind(re.split("[?#]", address)[0])
    file = _picture_file(address, around) if kind else None
    return EmbeddedPicture(kind, partial(_contents, file)) if file else None


def _decode_address(address: str, start: int, coded: bool) -> bytes:
    if not coded:
        return unquote_to_bytes(address[start:])
    try:
        return base64.b64decode(unquote(address[start:]))
    except (binascii.Error, ValueError) as error:
        raise UnreadableDocument("A picture inside the page is damaged.") from error


def _picture_file(address: str, around: Surroundings | None) -> Path | None:
    """The file that an address means, if it may be read: in the folder, and not hidden there."""
    plain = unquote(re.split("[?#]", address)[0])
    if around is None or not plain or _ELSEWHERE.match(address) or "\x00" in plain:
        return None
    base = around.folder if plain.startswith("/") else around.document.parent
    file = around.find(base, plain)
    if file is None or around.is_hidden(file):
        return None
    try:
        return file if file.is_file() and is_worth_it(file.stat().st_size) else None
    except OSError:
        return None


def _contents(file: Path) -> bytes:
    try:
        return read_regular(file, MAX_PICTURE_BYTES)
    except OSError as error:
        raise UnreadableDocument(f"{file.name} cannot be read: {error.strerror}.") from error
