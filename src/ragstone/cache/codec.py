"""What the cache keeps of a question, as bytes and back."""

import hashlib
import json
import zlib
from functools import cache

from pydantic import TypeAdapter, ValidationError

from ragstone.ports import Kept

FORMAT = 1
"""Another one whenever older bytes mean something else."""


def entry_id(scope: str, question: str) -> str:
    """Return the id of a question's entry."""
    # JSON can spell half characters, and a question with one is a question like another.
    text = f"{scope}\0{question}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def pack(kept: Kept) -> bytes:
    """Write it as compressed JSON, in pure ASCII: texts may hold half characters."""
    data = _adapter().dump_python(kept, warnings=False)
    return zlib.compress(json.dumps(data).encode(), 1)


def unpack(data: bytes) -> Kept | None:
    """Return the inverse of `pack`; None for bytes of another format."""
    try:
        return _adapter().validate_python(json.loads(zlib.decompress(data)))
    except (zlib.error, ValueError, ValidationError):
        return None


@cache
def _adapter() -> TypeAdapter[Kept]:
    return TypeAdapter(Kept)
