"""What a tool returned, as a chat model reads it: data in a fence that the data cannot close."""

import re

FENCE = "tool_output"
_FENCE_LIKE = re.compile(rf"<(?=\s{{0,9}}/?\s{{0,9}}{FENCE}\b)", re.IGNORECASE)


def fenced(name: str, text: str) -> str:
    """The output of the tool of this name."""
    return f'<{FENCE} tool="{name}">\n{_FENCE_LIKE.sub("‹", text)}\n</{FENCE}>'
