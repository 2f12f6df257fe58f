"""Text of others in a fence that it cannot close, so that a chat model can tell it from orders."""

import re

TOOL_OUTPUT = "tool_output"


def fence_text(name: str, text: str, tool: str = "") -> str:
    """`text` between <name> and </name>; tags of that name inside it are made harmless. `tool` is
    the tool that returned it."""
    like = re.compile(rf"<(?=\s{{0,9}}/?\s{{0,9}}{re.escape(name)}\b)", re.IGNORECASE)
    by = f' tool="{tool}"' if tool else ""
    return f"<{name}{by}>\n{like.sub('‹', text)}\n</{name}>"
