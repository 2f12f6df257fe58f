"""Models that remember what they have computed: many tests ask the same question about the same
documents, and a model's part of that, half a second, is the same each time."""

import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np
import pytest

from ragstone.models import engines, onnx

MAX_BYTES = 128 << 20
"""What is remembered in one process, the latest first."""

_remembered: OrderedDict[bytes, list[Any]] = OrderedDict()
_lock = Lock()
_numbers = itertools.count()
_size = 0
_computing = False


class RememberingSession:
    """An `onnxruntime.InferenceSession` that computes nothing twice."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._number = next(_numbers)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def run(
        self, names: Sequence[str] | None, inputs: Mapping[str, Any], *options: Any
    ) -> list[Any]:
        if _computing or options or not _arrays(inputs.values()):
            return list(self._session.run(names, inputs, *options))
        key = _key(self._number, names, inputs)
        found = _found(key)
        if found is None:
            found = self._session.run(names, inputs)
            if not _arrays(found):
                return list(found)
            _keep(key, found)
        return [item.copy() for item in found]


@contextmanager
def remembering(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sessions that are opened meanwhile remember."""
    openers = ((onnx, "_open"), (engines, "open_single_threaded"))
    for module, name in openers:
        patch.setattr(module, name, _remembered_by(getattr(module, name)))
    yield


@contextmanager
def computing() -> Iterator[None]:
    """For tests of the models themselves: each call computes."""
    global _computing
    before, _computing = _computing, True
    try:
        yield
    finally:
        _computing = before


def _remembered_by(opens: Callable[..., Any]) -> Callable[..., Any]:
    def opened(*arguments: Any) -> RememberingSession:
        return RememberingSession(opens(*arguments))

    return opened


def _arrays(values: Iterable[Any]) -> bool:
    return all(isinstance(value, np.ndarray) for value in values)


def _key(session: int, names: Sequence[str] | None, inputs: Mapping[str, Any]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((session, names)).encode())
    for name, values in inputs.items():
        array = np.ascontiguousarray(values)
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.data)
    return digest.digest()


def _found(key: bytes) -> list[Any] | None:
    with _lock:
        if key in _remembered:
            _remembered.move_to_end(key)
        return _remembered.get(key)


def _keep(key: bytes, outputs: list[Any]) -> None:
    global _size
    with _lock:
        if key in _remembered:
            return
        _remembered[key] = outputs
        _size += sum(output.nbytes for output in outputs)
        while _size > MAX_BYTES:
            _, oldest = _remembered.popitem(last=False)
            _size -= sum(item.nbytes for item in oldest)
