"""What plugins and packages put round every operation: all ways in call the same service."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, cast

from ragstone.registry import Registry
from ragstone.service.contract import Operation, operations

if TYPE_CHECKING:
    from ragstone.local import Ragstone


class Observer(Protocol):
    """Sees operations as they are called."""

    def around(self, operation: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return what is called instead of `call`, which is the same unless it matters here."""
        ...


ADDED_OBSERVERS: Registry[Any] = Registry("ragstone.observers", "observer", {}, makes=object)
"""Observers (`Observer`) by name, made of `ServiceParts`; None where nothing is to be seen."""


def observe(service: "Ragstone", observers: Iterable[Observer]) -> "Ragstone":
    """Return the service, with observers round its operations. What it calls itself is not seen."""
    observers = list(observers)
    if not observers:
        return service
    parts: dict[str, dict[str, Any]] = {"": {}}
    for operation in operations().values():
        method = operation.of(service)
        for observer in observers:
            method = observer.around(operation, method)
        part, _, name = operation.name.rpartition(".")
        parts.setdefault(part, {})[name] = method
    whole = parts.pop("")
    for part, methods in parts.items():
        inner = getattr(service, part)
        whole[part] = _Observed(inner, methods)
        if hasattr(inner, "observed"):
            inner.observed = whole[part]
    return cast("Ragstone", _Observed(service, whole))


class _Observed:
    """An object with some of its attributes replaced."""

    def __init__(self, inner: object, instead: dict[str, Any]) -> None:
        self._inner = inner
        self.__dict__.update(instead)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
