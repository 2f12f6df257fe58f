"""Text of others in a fence that it cannot close, so that a chat model can tell it from orders."""

import re


def fenced(name: str, text: str) -> str:
    """`text` between <name> and </name>; tags of that name inside it are made harmless."""
    like = re.compile(rf"<(?=\s{{0,9}}/?\s{{0,9}}{re.escape(name)}\b)", re.IGNORECASE)
    return f"<{name}>\n{like.sub('‹', text)}\n</{name}>"
