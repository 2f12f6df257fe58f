"""Writes an event for each operation that is recorded, whatever way it was called."""

import functools
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ragstone.access.asking import ASKING
from ragstone.access.gate import caller_of_person
from ragstone.core.caller import NOBODY, Caller
from ragstone.core.correlation import CURRENT
from ragstone.core.events import Failed
from ragstone.core.records import Document
from ragstone.core.turn import Principal
from ragstone.local.added import ServiceParts
from ragstone.local.people import split_name
from ragstone.plugins.audit.event import Kind
from ragstone.plugins.audit.events import (
    Subject,
    find_kind,
    find_names,
    find_outcome,
    find_principal,
    make_event,
)
from ragstone.plugins.audit.trail import Trail, find_trail
from ragstone.service.contract import Operation
from ragstone.service.people import OpenedSession, SignInTry

ERASURE = "conversations.forget"

CODE_NEEDED = "code_needed"
"""The detail of a password that was right, of somebody with a second factor."""


@dataclass(slots=True)
class Request:
    """A request over HTTP: where it comes from, and whether an operation of it is recorded."""

    address: str
    recorded: bool = False


REQUEST: ContextVar[Request | None] = ContextVar("ragstone_audit_request", default=None)
"""The request that is being served, None outside of one."""


class OperationRecorder:
    """Stands round the operations of a service."""

    def __init__(self, trail: Trail, tenant: str) -> None:
        self._trail = trail
        self._tenant = tenant

    def around(self, operation: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the same operation, recorded."""
        kind = find_kind(operation)
        if kind is None:
            return call
        if operation.streams:

            @functools.wraps(call)
            def stream(*given: Any, **named: Any) -> AsyncGenerator[Any, None]:
                arguments = operation.signature.bind_partial(*given, **named).arguments
                return self._stream(operation, kind, arguments, call(*given, **named))

            return stream

        @functools.wraps(call)
        async def method(*given: Any, **named: Any) -> Any:
            arguments = operation.signature.bind_partial(*given, **named).arguments
            await self._trail.check()
            error: BaseException | None = None
            result: Any = None
            try:
                result = await call(*given, **named)
                return result
            except BaseException as raised:
                error = raised
                raise
            finally:
                await self._record(operation, kind, arguments, error, result)
                if operation.name == ERASURE and not error and not arguments.get("user_id"):
                    whose = arguments["principal"]
                    await self._trail.erase(whose.tenant, whose.user)

        return method

    async def _stream(
        self,
        operation: Operation,
        kind: Kind,
        arguments: dict[str, Any],
        items: AsyncGenerator[Any, None],
    ) -> AsyncGenerator[Any, None]:
        """An answer is recorded at its end; a job, which goes on by itself, once it has begun."""
        error: BaseException | None = None
        recorded = False
        try:
            async with aclosing(items) as source:
                await self._trail.check()
                async for item in source:
                    if isinstance(item, Failed):
                        error = item.error
                    if kind != "ask" and not recorded:
                        recorded = True
                        await self._record(operation, kind, arguments, None)
                    yield item
        except BaseException as raised:
            error = raised
            raise
        finally:
            if not recorded:
                await self._record(operation, kind, arguments, error)

    async def _record(
        self,
        operation: Operation,
        kind: Kind,
        arguments: dict[str, Any],
        error: BaseException | None,
        result: Any = None,
    ) -> None:
        request, caller = REQUEST.get(), ASKING.get()
        principal = find_principal(arguments, caller)
        outcome, detail = find_outcome(error)
        names = list(find_names(arguments))
        if isinstance(document := getattr(result, "document", None), Document):
            names.append(("document", document.path))
        if request:
            request.recorded = True
        if kind == "sign-in":
            caller, principal = self._find_signer(arguments.get("given"), result)
            if result and not result.secret:
                detail = CODE_NEEDED
        who = Subject(caller, principal, request.address if request else "", CURRENT.get().request)
        await self._trail.write(make_event(kind, operation.name, who, outcome, detail, names))

    def _find_signer(
        self, given: SignInTry | None, opened: OpenedSession | None
    ) -> tuple[Caller, Principal]:
        """Return who signs in; where that is refused, nobody, with the name that was tried."""
        if opened and opened.person:
            caller = caller_of_person(opened.person)
            return caller, caller.principal
        name = split_name(given.name, self._tenant) if given else (self._tenant, "")
        return NOBODY, Principal(*name)


def open_observer(parts: ServiceParts) -> OperationRecorder | None:
    """What records the operations of this process; None where no trail is kept."""
    trail = find_trail(parts.adapters)
    return OperationRecorder(trail, parts.settings.auth.tenant) if trail else None
