"""The pictures of a question as text, for where no chat model can look at them."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from ragstone.core.errors import DocumentError
from ragstone.core.temporary import temporary_folder
from ragstone.core.turn import Ask

MOST_CHARS = 4_000
"""Characters of a question that are read from its pictures."""

_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}

Beginning = Callable[[Path, int, int], Awaitable[str]]
"""At most so many characters, the last number, of the text of a file with so many bytes; raises
DocumentError."""


async def with_picture_text(ask: Ask, beginning: Beginning) -> Ask:
    """Return the question with the text that is recognised in its pictures instead of them,
    answered from the documents; unchanged where there is none."""
    texts: list[str] = []
    with temporary_folder() as folder:
        for number, picture in enumerate(ask.pictures):
            room = MOST_CHARS - sum(map(len, texts))
            ending = _ENDINGS.get(picture.media_type)
            if not ending or room <= 0:
                continue
            file = folder / f"picture{number + 1}.{ending}"
            data = base64.b64decode(picture.base64)
            await asyncio.to_thread(file.write_bytes, data)
            try:
                found = await beginning(file, len(data), room)
            except DocumentError:
                continue  # Without text, damaged or too large: the others may still say something.
            texts.append(found.strip()[:room])
    said = "\n".join(text for text in texts if text)
    if not said:
        return ask
    question = f"{ask.question}\n\n{said}".strip()
    kind = "rag" if ask.search_type == "gpt" else ask.search_type
    return replace(ask, question=question, pictures=(), search_type=kind)
