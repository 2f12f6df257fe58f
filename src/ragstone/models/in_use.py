"""Which models are in use, in words for the operator."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable


@runtime_checkable
class Described(Protocol):
    """A model that says where it is from, how large it is and how it is used."""

    @property
    def description(self) -> str: ...


class NamedModel(Protocol):
    @property
    def name(self) -> str: ...


def models_in_use(embedders: Iterable[NamedModel], reranker: NamedModel) -> tuple[str, ...]:
    """A line each."""
    kinds = [*(("embedding", embedder) for embedder in embedders), ("reranking", reranker)]
    return tuple(f"{kind}: {_description(model)}" for kind, model in kinds)


def _description(model: NamedModel) -> str:
    return model.description if isinstance(model, Described) else model.name
