"""What an event of the trail says, in the classes of OCSF (https://schema.ocsf.io), and which
operation is what kind of event."""

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragstone import __version__
from ragstone.core.caller import NOBODY, Caller
from ragstone.core.errors import Forbidden, RagstoneError, TooManyRequests, Unauthorized
from ragstone.core.turn import Principal
from ragstone.local.people import normalize_name
from ragstone.plugins.audit.event import AuditEvent, Kind, Outcome
from ragstone.service.contract import Operation

SCHEMA = "1.6.0"
"""The version of OCSF."""

CREATE, READ, UPDATE, DELETE = 1, 2, 3, 4
"""Activities of API Activity and Entity Management."""

LOGON, LOGOFF = 1, 2
"""Activities of Authentication."""

ACCOUNT_CHANGE, AUTHENTICATION, ENTITY_MANAGEMENT, API_ACTIVITY = 3001, 3002, 3004, 6003
ACCOUNT_ACTIVITIES = {
    "keys.create": 1,
    "keys.rotate": 4,
    "keys.revoke": 6,
    "people.invite": 1,
    "people.change": 99,
    "people.provide": 99,
    "people.sign_out": 99,
    "people.set_password": 3,
    "people.remove": 6,
    "people.set_second_factor": 10,
    "people.end_second_factor": 11,
}
"""Create, Password Change, Password Reset, Delete, MFA Factor Enable and Disable, Other."""

ENTITIES = ("settings.", "prompts.", "sources.")
"""Beginnings of operations on what is managed, rather than asked or read."""

ACTIVITIES: Mapping[Kind, int] = {
    "sign-in": LOGON,
    "sign-out": LOGOFF,
    "ask": READ,
    "read": READ,
    "change": UPDATE,
    "export": READ,
    "delete": DELETE,
    "request": 99,
}


def _set_of(names: str) -> frozenset[str]:
    return frozenset(names.split())


CREATIONS = _set_of(
    "ingest sources.add conversations.take_in evaluation.put_set evaluation.start "
    "vector_stores.put vector_stores.put_files verified.put webhooks.create"
)
KINDS: Mapping[Kind, frozenset[str]] = {
    "sign-in": _set_of("people.sign_in people.accept"),
    "ask": _set_of("ask search function_calling jobs.ask"),
    "read": _set_of(
        "statistics.traces statistics.trace feedback.list_all list_blocked "
        "comments.of_answers settings.log evaluation.from_feedback audit.events "
        "verified.review"
    ),
    "change": _set_of(
        "conversations.rename conversations.take_in feedback.give jobs.cancel jobs.pause "
        "jobs.resume jobs.retry approve remove_topics"
    ),
    "export": _set_of("conversations.export evaluation.report report maintenance.back_up"),
}
"""Those that the rules of `find_kind` do not tell."""

DELETIONS = _set_of("clean delete drop forget remove revoke")
"""First words of the names of operations that delete."""

UNRECORDED = _set_of(
    "statistics.use statistics.stages statistics.strategies reading.facets reading.folders "
    "reading.check_folder readers.explain readers.folders sources.kinds sources.list sources.show "
    "sources.runs "
    "conversations.rooms conversations.tokens settings.list_all settings.get settings.explain "
    "prompts.list_all prompts.get prompts.check prompts.versions prompts.diff jobs.get jobs.list "
    "jobs.watch jobs.kinds keys.list_all keys.whose keys.widget keys.session keys.exist "
    "keys.end_session keys.has_ended keys.require_credentials people.list people.show "
    "people.sessions people.begin_second_factor people.exist people.find_account "
    "people.read_invitation people.whose people.end_session "
    "stop collections collection documents embed suggest topics "
    "check_topics cache_figures store_figures models check_models overview ready comments.show "
    "evaluation.sets evaluation.question_set evaluation.read_file evaluation.runs evaluation.run "
    "evaluation.outcomes evaluation.changes graph.show vector_stores.list_all vector_stores.find "
    "vector_stores.files verified.list_all quotas.list_all quotas.mine "
    "scim.groups shares.list_all webhooks.list_all webhooks.deliveries"
)
"""Listings, figures, and what the server asks itself."""

PERSON = "User"
"""The type of an account that is a person's, in Account Change."""

MAX_NAME = 300
"""Characters of a name in the trail."""

MAX_NAMES = 20
# fmt: off
NAMES = (
    "collection", "old", "new", "path", "paths", "below", "folder", "passage", "picture", "name",
    "names", "id", "set_id", "file", "chat_id", "kind", "conversation", "room_id", "user", "role",
    "groups", "collections",
)
# fmt: on
"""Arguments that name what an operation is about. No other one is written: they hold texts, and
values of settings."""

ERASED = "erased-"
"""What the pseudonym of an erased user begins with; twelve characters follow."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Who does something, for which tenant, and from where."""

    caller: Caller
    principal: Principal
    address: str = ""
    request: str = ""


def find_kind(operation: Operation) -> Kind | None:
    """Return the kind of event that an operation is, None for one that is not recorded. One that is
    in no list and deletes nothing is a reading where readers may call it, unless its method in the
    HTTP API changes something, and else a change."""
    if operation.name in UNRECORDED:
        return None
    for kind, names in KINDS.items():
        if operation.name in names:
            return kind
    if operation.name.rpartition(".")[2].partition("_")[0] in DELETIONS:
        return "delete"
    allowed, route = operation.allowed, operation.route
    changes = route is not None and route.method != "GET"
    is_readers = allowed is not None and allowed.role == "reader"
    return "read" if is_readers and not changes else "change"


def find_outcome(error: BaseException | None) -> tuple[Outcome, str]:
    """Return what came of an operation, and the code of the error."""
    if error is None or isinstance(error, GeneratorExit):
        return "allowed", ""
    code = error.code if isinstance(error, RagstoneError) else type(error).__name__
    # Who asks for what is hidden from them is told that it does not exist.
    hidden = getattr(error, "status", 500) == 404
    refused = hidden or isinstance(error, Unauthorized | Forbidden | TooManyRequests)
    return "refused" if refused else "failed", code


def find_principal(arguments: Mapping[str, Any], caller: Caller) -> Principal:
    """For whom and in whose tenant something is done: as the arguments say, else the caller."""
    values = list(arguments.values())
    values += [item for value in values for item in (getattr(value, "principal", None),)]
    for value in values:
        if isinstance(value, Principal):
            return value
    tenants = [arguments.get("tenant"), *(getattr(value, "tenant", None) for value in values)]
    tenant = next((item for item in tenants if item and isinstance(item, str)), None)
    return Principal(tenant or caller.principal.tenant, caller.principal.user)


def find_names(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what an operation is about: kinds and names."""
    for value in arguments.values():
        if isinstance(value, Principal):
            yield from _name_values("user", value.user)
            continue
        handed = [item.path for item in getattr(value, "handed", ())]
        for name in NAMES:
            inner = getattr(value, name, None) if hasattr(value, "__slots__") else None
            yield from _name_values(name, [*(inner or ()), *handed] if name == "paths" else inner)
    for name in NAMES:
        yield from _name_values(name, arguments.get(name))
    yield from _name_values("names", list(arguments.get("values") or ()))


def _name_values(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str | int) and value not in ("", True, False):
        yield name, str(value)[:MAX_NAME]
    elif isinstance(value, list | tuple):
        for item in value[:MAX_NAMES]:
            if isinstance(item, str):
                yield name.removesuffix("s"), item[:MAX_NAME]
        if len(value) > MAX_NAMES:
            yield "more", str(len(value) - MAX_NAMES)


def make_event(
    kind: Kind,
    operation: str,
    who: Subject,
    outcome: Outcome,
    detail: str = "",
    names: Iterable[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Return an event in its class of OCSF."""
    caller, principal = who.caller, who.principal
    shown = caller.principal if caller.key and not caller.operator else principal
    name = "operator" if caller.operator else shown.user
    user: dict[str, Any] = {"name": name[:MAX_NAME], "uid": caller.key or name[:MAX_NAME]}
    if caller == NOBODY:
        user["uid"] = ""
    if shown.groups and not caller.operator:
        user["groups"] = [{"name": group[:MAX_NAME]} for group in shown.groups[:MAX_NAMES]]
    own_names = {("user", user["name"]), ("user", principal.user if caller.operator else "")}
    about = [pair for pair in dict.fromkeys(names) if pair not in own_names]
    uid, activity = API_ACTIVITY, CREATE if operation in CREATIONS else ACTIVITIES[kind]
    own: dict[str, Any] = {"resources": [{"type": type, "name": value} for type, value in about]}
    if kind in ("sign-in", "sign-out"):
        uid, own = AUTHENTICATION, {"user": user, "service": {"name": "Ragstone"}}
    elif operation in ACCOUNT_ACTIVITIES:
        uid, activity = ACCOUNT_CHANGE, ACCOUNT_ACTIVITIES[operation]
        named = dict(about)
        account = {"type": "API key", "name": named.get("name", ""), "uid": named.get("id", "")}
        if operation.startswith("people."):
            account = {"type": PERSON, "name": normalize_name(account["name"])}
        own["user"] = account
        own["resources"] = [item for item in own["resources"] if item["type"] not in ("name", "id")]
    elif operation.startswith(ENTITIES):
        uid = ENTITY_MANAGEMENT
        listed = ", ".join(value for _, value in about)
        own = {"entity": {"type": operation.partition(".")[0], "name": listed or operation}}
    return {
        "time": time.time_ns() // 1_000_000,
        "category_uid": uid // 1000,
        "class_uid": uid,
        "activity_id": activity,
        "type_uid": uid * 100 + activity,
        "severity_id": 1 if outcome == "allowed" else 2,
        "status_id": 1 if outcome == "allowed" else 2,
        "status": "Success" if outcome == "allowed" else "Failure",
        "status_code": detail,
        "action_id": 2 if outcome == "refused" else 1,
        "metadata": {
            "version": SCHEMA,
            "uid": uuid.uuid4().hex,
            "event_code": kind,
            "profiles": ["security_control"],
            "tenant_uid": principal.tenant,
            "product": {"name": "Ragstone", "vendor_name": "Ragstone", "version": __version__},
        },
        "actor": {"user": user},
        "api": {"operation": operation, "request": {"uid": who.request}},
        "src_endpoint": {"ip": who.address} if who.address else {"name": "localhost"},
        **own,
    }


def find_repetition(record: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return what an event repeats that anybody can cause without end: refusals of who has no
    credential, and of requests beyond a limit. None for others. Names are told apart only where the
    limits of passwords bound how many there are."""
    user, code = record["actor"]["user"], record["status_code"]
    is_beyond_limit = code in ("429", TooManyRequests.code)
    if record["status_id"] == 1 or (user["uid"] and not is_beyond_limit):
        return None
    name = user["uid"] if is_beyond_limit else user["name"]
    return record["src_endpoint"].get("ip", ""), record["metadata"]["event_code"], code, name


def count_repetitions(counted: Mapping[str, Any], last: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event that stands for those counted so far and the last."""
    begun = counted.get("start_time", last["time"])
    return {**last, "count": counted.get("count", 0) + 1, "start_time": begun}


def _find_others(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return where an event names users other than the one who did something."""
    account = record.get("user", {})
    resources = [item for item in record.get("resources", ()) if item["type"] == "user"]
    return resources + ([account] if account.get("type") == PERSON else [])


def pseudonymise(record: Mapping[str, Any], pseudonym: str) -> dict[str, Any]:
    """The event with a pseudonym in the place of its user, and without what tells who it was."""
    user = {"name": pseudonym, "uid": pseudonym}
    authenticated = {"user": user} if record["class_uid"] == AUTHENTICATION else {}
    erased = {"actor": {"user": user}, "src_endpoint": {"name": "erased"}, **authenticated}
    return {**record, **erased}


def encode(record: Mapping[str, Any]) -> bytes:
    """Return the line of an event: in ASCII, so that no name can begin another line, with room to
    put a pseudonym in the place of each shorter name later."""
    pseudonym = ERASED + 12 * "0"
    line = _dump(record).ljust(len(_dump(pseudonymise(record, pseudonym))))
    return line + b" " * len(pseudonym) * len(_find_others(record)) + b"\n"


def encode_erased(record: dict[str, Any], user: str, pseudonym: str, length: int) -> bytes:
    """Return the line of an event without a user's name, as long as the one in whose place it is
    written."""
    user = user[:MAX_NAME]
    for named in _find_others(record):
        if named["name"] == user:
            named["name"] = pseudonym
    if record["actor"]["user"]["name"] == user:
        record = pseudonymise(record, pseudonym)
    return _dump(record).ljust(length - 1) + b"\n"


def _dump(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode("ascii")


def read_event(place: str, record: Mapping[str, Any], tenant: str) -> AuditEvent | None:
    """Return what an event says to the tenant's admin; None for another tenant's."""
    if record["metadata"]["tenant_uid"] != tenant:
        return None
    resources = [(item["type"], item["name"]) for item in record.get("resources", ())]
    if "entity" in record:
        resources.append((record["entity"]["type"], record["entity"]["name"]))
    if record["class_uid"] == ACCOUNT_CHANGE:
        user = record["user"]
        resources.insert(0, (user["type"], user["name"] or user["uid"]))
    outcome = "refused" if record["action_id"] == 2 else "allowed"
    failed = outcome == "allowed" and record["status_id"] == 2
    return AuditEvent(
        place,
        record["time"] / 1000,
        record["actor"]["user"]["name"],
        record["metadata"]["event_code"],
        record["api"]["operation"],
        ", ".join(f"{type} {name}" for type, name in resources),
        "failed" if failed else outcome,
        record["status_code"],
        record["src_endpoint"].get("ip", ""),
        record["actor"]["user"]["uid"],
        record.get("count", 1),
    )
