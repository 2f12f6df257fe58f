"""Our markers, `[1]`, as clients of the VoiceHelper document read them: `[Source 1]`."""

import re

_MARKER = re.compile(r"\[([1-9]\d{0,2})\]")
_BEGUN = re.compile(r"\[(?:[1-9]\d{0,2})?\Z")


def spelt_out(text: str) -> str:
    """The text with every `[n]` as `[Source n]`."""
    return _MARKER.sub(r"[Source \1]", text)


class SpeltOut:
    """The same for a text that comes in pieces, which may cut a marker."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be said now: all but the beginning of a marker at the end."""
        text = self._held + piece
        begun = _BEGUN.search(text)
        end = begun.start() if begun else len(text)
        self._held = text[end:]
        return spelt_out(text[:end])

    def end(self) -> str:
        """What was held back."""
        held, self._held = self._held, ""
        return held
