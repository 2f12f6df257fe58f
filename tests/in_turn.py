"""Cases of a test that are tried one after the other before the same server: making one for each
takes longer than the cases themselves."""

import inspect
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest

Test = Callable[..., Any]


def in_turn(names: str | Sequence[str], values: Iterable[Any]) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but all cases share what the fixtures give. For cases that
    change nothing; each that fails is named, and the next ones are tried all the same."""
    labels = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = [dict(zip(labels, item if len(labels) > 1 else [item], strict=True)) for item in values]

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        stacked = "subtests" in signature.parameters

        def calls(
            subtests: pytest.Subtests, given: dict[str, Any]
        ) -> Iterator[tuple[AbstractContextManager[None], dict[str, Any]]]:
            for case in cases:
                named = subtests.test(**{name: reprlib.repr(item) for name, item in case.items()})
                yield named, given | case | ({"subtests": subtests} if stacked else {})

        async def await_each(subtests: pytest.Subtests, **given: Any) -> None:
            for named, arguments in calls(subtests, given):
                with named:
                    await test(**arguments)

        def call_each(subtests: pytest.Subtests, **given: Any) -> None:
            for named, arguments in calls(subtests, given):
                with named:
                    test(**arguments)

        each: Any = await_each if inspect.iscoroutinefunction(test) else call_each
        kept = [item for name, item in signature.parameters.items() if name not in labels]
        if not stacked:
            kept.append(inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY))
        each.__name__, each.__qualname__ = test.__name__, test.__qualname__
        each.__doc__, each.__module__ = test.__doc__, test.__module__
        each.__dict__.update(test.__dict__)
        each.__signature__ = signature.replace(parameters=kept)
        checked: Test = each
        return checked

    return decorate
