"""Vectors of passages and questions as .npz files, kept between runs in `BENCH_CACHE`.

The name of a file follows from the model and the texts, so that a stale one is never read.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragstone.language.late_interaction import EncodedQuestion, TokenVectors
from ragstone.ports import Embedder, LateEmbedder

BATCH = 512


def cache() -> Path:
    """Where vectors are kept."""
    place = Path(os.environ.get("BENCH_CACHE") or Path(tempfile.gettempdir(), "ragstone-bench"))
    place.mkdir(parents=True, exist_ok=True)
    return place


async def passages(embedder: Embedder, texts: Sequence[str]) -> Path:
    """`vectors`, and `packed` token vectors of `lengths` bytes if the model gives them."""
    file = _name("passages", embedder, texts)
    if file.exists():
        return file
    rows, packed = [], []
    for start in range(0, len(texts), BATCH):
        print(f"  embedding passages {start} of {len(texts)}", flush=True)
        batch = texts[start : start + BATCH]
        if isinstance(embedder, LateEmbedder):
            vectors, tokens = await embedder.embed_with_tokens(batch)
            packed += tokens
        else:
            vectors = await embedder.embed_passages(batch)
        rows.append(vectors)
    return write(file, vectors=np.concatenate(rows), **join_vectors(packed))


async def questions(embedder: Embedder, texts: Sequence[str]) -> Path:
    """`vectors`, and `ids` and `tokens` of `lengths` tokens if the model gives them."""
    file = _name("questions", embedder, texts)
    if file.exists():
        return file
    if not isinstance(embedder, LateEmbedder):
        # One at a time, as they are asked: in a batch, padding moves vectors a little.
        rows = [await embedder.embed_queries([text]) for text in texts]
        return write(file, vectors=np.concatenate(rows))
    encoded = [await embedder.embed_question(text) for text in texts]
    tokens = [item.tokens for item in encoded if item.tokens is not None]
    return write(
        file,
        vectors=np.stack([item.vector for item in encoded]),
        ids=np.concatenate([token.ids for token in tokens]),
        tokens=np.concatenate([token.vectors for token in tokens]),
        lengths=np.array([len(token.ids) for token in tokens]),
    )


def join_vectors(packed: Sequence[bytes]) -> dict[str, Any]:
    """Packed token vectors as arrays; nothing if there are none."""
    if not packed:
        return {}
    lengths = np.array([len(item) for item in packed])
    return {"packed": np.frombuffer(b"".join(packed), np.uint8), "lengths": lengths}


def read_packed(file: Path) -> list[bytes] | None:
    """Return the inverse of `joined`."""
    with np.load(file) as data:
        if "packed" not in data:
            return None
        ends = np.cumsum(data["lengths"])
        return [item.tobytes() for item in np.split(data["packed"], ends[:-1])]


def read_questions(file: Path) -> list[EncodedQuestion]:
    """Return what `questions` wrote."""
    with np.load(file) as data:
        if "ids" not in data:
            return [EncodedQuestion(vector) for vector in data["vectors"]]
        ends = np.cumsum(data["lengths"])[:-1]
        both = zip(np.split(data["ids"], ends), np.split(data["tokens"], ends), strict=True)
        tokens = [TokenVectors(*item) for item in both]
        return [EncodedQuestion(*item) for item in zip(data["vectors"], tokens, strict=True)]


def write(file: Path, **arrays: Any) -> Path:
    """Write `arrays`, so that a file is whole or not there."""
    part = file.with_name(f"part-{file.name}")
    np.savez(part, **arrays)
    return part.replace(file)


def _name(kind: str, embedder: Embedder, texts: Sequence[str]) -> Path:
    text = json.dumps([embedder.fingerprint, *texts])
    return cache() / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.npz"
