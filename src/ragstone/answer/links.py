"""Links in an answer: none leaves that is not one of its sources.

A document may hold an image or a link whose address carries what the answer says to somebody else
(as soon as it is shown, for an image). So a link keeps its target only if that is a source; a bare
address that stands in a source is sent as code, which nothing makes a link of; every other one is
taken out.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ragstone.core.turn import Passage

REMOVED = "(link removed)"

_ADDRESS = re.compile(
    r"(?:(?:https?|ftp)://|www\.)[^\s<>\"'`|\\^{}\[\]，。；！？、（）「」]+", re.I
)
_START = re.compile(r"(?:(?:https?|ftp)://|www\.)", re.IGNORECASE)
_STARTS = ("http://", "https://", "ftp://", "www.")
_ENDS = frozenset(" \t\r\n\f\v<>\"'`|\\^{}[]，。；！？、（）「」")
_AFTER = ".,;:!?*_"
"""What may follow an address and does not belong to it."""

MAX_ADDRESS_CHARS = 2_000
"""Characters of an address that are kept; a longer one is none of a source."""

_LOADING = (
    "a applet area audio base body button embed form frame frameset iframe image img input link "
    "math meta object script source style svg track video"
)
LOADING = frozenset(_LOADING.split())
"""HTML elements that load or link something, or run."""

_TAG = re.compile(r"</?([a-z][a-z0-9]*|)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Addresses:
    """`sources` are the addresses of the sources themselves, `said` those that stand in them."""

    sources: frozenset[str] = frozenset()
    said: frozenset[str] = frozenset()


def addresses(passages: Iterable[Passage]) -> Addresses:
    """Return the addresses of the passages, and the addresses in their texts."""
    sources, said = set[str](), set[str]()
    for passage in passages:
        chunk = passage.hit.chunk
        places = (chunk.path, *(v for v in chunk.metadata.values() if isinstance(v, str)))
        sources.update(place for place in places if _ADDRESS.fullmatch(place))
        found = _ADDRESS.findall(passage.text)
        said.update(item[: _find_closing_bracket(item)].rstrip(_AFTER) for item in found)
    return Addresses(frozenset(sources), frozenset(said))


def _find_closing_bracket(text: str, opened: int = 0) -> int:
    """Return where a closing bracket stands that nothing opened, as around an address in brackets;
    `opened` are the brackets open before."""
    for place, character in enumerate(text):
        opened += {"(": 1, ")": -1}.get(character, 0)
        if opened < 0:
            return place
    return len(text)


def is_address(text: str) -> bool:
    """Tell whether `text` begins with an address."""
    return bool(_START.match(text))


def may_be_address(tail: str) -> bool:
    """Tell whether `tail` is the beginning of the beginning of an address."""
    return any(start.startswith(tail.casefold()) for start in _STARTS)


class BareAddress:
    """An address in the text: sent as code, if it stands in a source or is one's own."""

    def __init__(self, allowed: Addresses) -> None:
        self._allowed = allowed.said | allowed.sources
        self._text = ""
        self._open = 0

    def take(self, text: str, final: bool) -> tuple[str, int, bool]:
        """Return what of `text` can be sent, how much of it belongs to the address, and whether
        that is all."""
        end = next((i for i, item in enumerate(text) if item in _ENDS), len(text))
        end = _find_closing_bracket(text[:end], self._open)
        self._open += text.count("(", 0, end) - text.count(")", 0, end)
        self._text = (self._text + text[:end])[:MAX_ADDRESS_CHARS]
        if end == len(text) and not final:
            return "", end, False
        bare = self._text.rstrip(_AFTER)
        said = f"`{bare}`" if bare in self._allowed else REMOVED
        return said + self._text[len(bare) :], end, True


class Target:
    """The target of a Markdown link, from after its opening bracket to its closing one."""

    def __init__(self, allowed: Addresses) -> None:
        self._allowed = allowed.sources
        self._text = ""
        self._depth = 1

    def take(self, text: str, final: bool) -> tuple[str, int, bool]:
        """As `BareAddress.take`."""
        for end, character in enumerate(text):
            self._depth += {"(": 1, ")": -1}.get(character, 0)
            if not self._depth or character == "\n":
                return self._allowed_target(), end + (character == ")"), True
            self._text = (self._text + character)[:MAX_ADDRESS_CHARS]
        return (self._allowed_target() if final else ""), len(text), final

    def _allowed_target(self) -> str:
        return f"({self._text})" if self._text in self._allowed else ""


def harmless_tag(text: str, more: bool) -> bool | None:
    """Tell whether the `<` that `text` begins with opens nothing that loads, links or runs; None if
    that cannot be known before more has come."""
    match = _TAG.match(text)
    name, end = (match[1].casefold(), match.end()) if match else ("", 1)
    if end == len(text) and more:
        return None
    if not name:
        return text[1:2] not in ("!", "?")
    return name not in LOADING and text[end : end + 1] not in ("", "/", ":", *" \t\n")
