"""What a caller who is not the operator may do by Ragstone's own protocol: the operations that the
contract allows its role, as itself, in its tenant, and within the collections of its credential.
"""

import uuid
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args

from ragstone.access.gate import LOCAL_USER_HELP
from ragstone.core.caller import GUEST, Caller
from ragstone.core.errors import Forbidden, Unauthorized, UnknownCollection, UnknownJob
from ragstone.core.records import Document
from ragstone.core.turn import Ask, Principal
from ragstone.http.identity import check_role, request_tenant
from ragstone.http.middleware import operator_only
from ragstone.http.uploads import Uploads
from ragstone.service import Handed, IngestRequest, Service
from ragstone.service.contract import Operation
from ragstone.service.jobs import JobView

_LIMITED = "Your credential is for single collections only. Use one for all."


async def permit(caller: Caller, operation: Operation) -> None:
    """Raise Unauthorized or Forbidden unless the caller may call the operation at all."""
    allowed = operation.allowed
    if allowed is None:
        await operator_only(caller)
        return
    if caller == GUEST and not allowed.guests:
        raise Unauthorized(LOCAL_USER_HELP)
    check_role(caller, allowed.role)
    if allowed.everywhere and caller.collections is not None:
        raise Forbidden(_LIMITED)


def restrict_result(caller: Caller, value: Any) -> Any:
    """Return the result without items out of the caller's reach, and without the names of the
    server's files."""
    if caller.operator:
        return value
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        kept = [restrict_result(caller, item) for item in value if is_reachable(caller, item)]
        return type(value)(kept)
    if isinstance(value, Document):
        return replace(value, source="")
    if isinstance(getattr(value, "document", None), Document):
        return replace(value, document=restrict_result(caller, value.document))
    return value if is_reachable(caller, value) else None


def is_reachable(caller: Caller, value: Any) -> bool:
    """Tell whether the collection of a result is one that the caller reaches."""
    about = getattr(value, "collection", None) or getattr(value, "notes", None)
    while about is not None and not isinstance(about, str):
        about = getattr(about, "name", None) or getattr(about, "collection", None)
    return not about or caller.reaches(about)


class Permitted:
    """The arguments of one caller's call."""

    def __init__(self, caller: Caller, operation: Operation, uploads: Uploads) -> None:
        self._caller = caller
        self._operation = operation
        self._uploads = uploads

    async def arguments(self, service: Service, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as the caller may give them: tenant and principals are its own,
        whatever was said. Raises Forbidden, UnknownCollection, UnknownJob, InputError."""
        if self._caller.operator:
            return {name: self._with_uploads(value) for name, value in given.items()}
        bound = self._operation.signature.bind(**given)
        bound.apply_defaults()
        own = {name: self._argument(name, value) for name, value in bound.arguments.items()}
        if self._operation.name == "delete" and own["paths"] is None:
            self._needs_admin("Deleting a whole collection")
        if self._operation.name.startswith("jobs.") and "id" in own:
            await self._reach_job(service, own)
        return own

    def _argument(self, name: str, value: Any) -> Any:
        if name == "tenant":
            return request_tenant(self._caller, value)
        if name == "operator":
            return False
        if name == "admin" and value:
            self._needs_admin("This")
        if value is None and Principal in get_args(self._operation.types[name]):
            everything = self._caller.may("admin") and self._caller.collections is None
            return None if everything else self._caller.principal
        return self._field(name, value)

    def _field(self, name: str, value: Any) -> Any:
        """Return the value of an argument, or of a field inside one."""
        if name == "tenant":
            return self._caller.principal.tenant
        if name == "user":
            return self._caller.principal.user
        if name == "collection" and not self._caller.reaches(value):
            raise UnknownCollection(value)
        return self._with_own_identity(value)

    def _with_own_identity(self, value: Any) -> Any:
        if isinstance(value, Principal):
            return self._caller.principal
        if isinstance(value, list | tuple):
            return type(value)(self._with_own_identity(item) for item in value)
        if not is_dataclass(value) or isinstance(value, type):
            return value
        own = {
            field.name: self._field(field.name, getattr(value, field.name))
            for field in fields(value)
        }
        if isinstance(value, Ask):
            # Answers are kept by their id, which a caller could take from another's; the id of a
            # collection would count instead of the name whose reach was checked.
            own |= {"id": f"api-{uuid.uuid4().hex}", "idempotent": False, "collection_id": ""}
        if isinstance(value, IngestRequest):
            if value.paths or value.only or value.prune:
                raise Forbidden(
                    "Only the operator may name files of the server. Send them to /local/upload."
                )
            own["by"] = self._caller.principal
        if isinstance(value, Handed):
            file = self._uploads.file(self._caller, value.file)
            place = "/" + (value.path.strip("/") or file.rpartition("/")[2])
            own |= {"file": file, "path": place, "source": f"upload:{place}"}
        return replace(value, **own)

    def _with_uploads(self, value: Any) -> Any:
        """Return what the operator ingests: files of the server by their path, or uploads by their
        name, by which it has sent them."""
        if not isinstance(value, IngestRequest):
            return value
        handed = tuple(
            replace(item, file=self._uploads.find_path(self._caller, item.file) or item.file)
            for item in value.handed
        )
        return replace(value, handed=handed)

    async def _reach_job(self, service: Service, own: Mapping[str, Any]) -> None:
        """Raise UnknownJob for a job about a collection out of reach."""
        if self._caller.collections is None or self._operation.name == "jobs.get":
            return
        view: JobView | None = await service.jobs.get(
            own["principal"], own["id"], admin=own["admin"]
        )
        if view is None or not is_reachable(self._caller, view):
            raise UnknownJob(own["id"])

    def _needs_admin(self, what: str) -> None:
        if not self._caller.may("admin"):
            raise Forbidden(
                f"{what} needs the role admin; your credential has {self._caller.role}."
            )
