"""The site behind Plone's services: indexing on request, and on signed content events."""

import asyncio
import hashlib
import hmac
import json
import logging
import re
import time
from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from ragstone.core.caller import Caller
from ragstone.core.errors import InputError, RagstoneError, Unauthorized, Unavailable
from ragstone.http.identity import narrow_principal
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.service import Service
from ragstone.settings import Settings

if TYPE_CHECKING:
    from ragstone.plugins.plone.client import PloneClient
    from ragstone.plugins.plone.sync import PloneSync

log = logging.getLogger(__name__)

Object = dict[str, Any]

TIMESTAMP, SIGNATURE = "x-ragstone-timestamp", "x-ragstone-signature"
EVENTS = frozenset(
    ("added", "created", "modified", "moved", "published", "retracted", "removed", "deleted")
)
EVENT_SECONDS = 300
"""How old a signed event may be."""
MAX_SEEN = 100_000
LONGEST_TYPE = 200
_UID = re.compile(r"[A-Za-z0-9_-]{1,200}")


class UnknownObject(InputError):
    code = "unknown_object"
    status = 404

    def __init__(self, uid: str) -> None:
        super().__init__(f"The site has no object {uid!r} that is indexed. Check the UID.")


class PloneSite:
    """Fetches from the site of the settings; one run at a time, of all of it or of a part."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._settings = PloneSettings.of(settings)
        self._data = settings.ragstone_data
        self._running: asyncio.Task[None] | None = None
        self._waiting: dict[str, bool] = {}
        self._turn = asyncio.Lock()
        self._events = SignedEvents(self._settings.webhook_secret.get_secret_value(), EVENT_SECONDS)

    def check_reach(self, caller: Caller) -> None:
        """Raise unless the caller may change the site's collection."""
        narrow_principal(caller, self._settings.collection, self._settings.tenant)

    async def index(self, uid: str, queue: bool, portal_type: str = "") -> Object:
        """Fetch one object and index it, or queue that; one that is gone is forgotten. A site that
        chooses by itself what is indexed says the object's `portal_type`. Raises UnknownObject for
        one that neither the site nor the collection has."""
        async with aclosing(self._client()) as client:
            done = await self._sync(client, portal_type).one(uid, wait=not queue)
        if not done.total:
            if not done.deleted:
                raise UnknownObject(uid)
            return {"status": "removed", "uid": uid}
        if done.failed:
            return {"status": "failed", "uid": uid, "error": done.failed[0].reason}
        return {"status": "queued" if queue else "indexed", "uid": uid}

    async def index_all(self) -> Object:
        """Begin a run over the whole site, unless one goes on; how much there is to do."""
        async with aclosing(self._client()) as client:
            count = await client.count()
        self._begin("", full=True)
        types = list(self._settings.content_types)
        return {"status": "queued", "queued_count": count, "content_types": types}

    def verify(self, headers: Mapping[str, str], body: bytes) -> Object:
        """Return the event of a webhook; raises Unauthorized, InputError."""
        return self._events.verify(headers, body)

    def check_signature(self, headers: Mapping[str, str], body: bytes) -> None:
        """Raise Unauthorized unless the site has signed this body, and it comes for the first
        time."""
        self._events.check(headers, body)

    async def event(self, event: Object) -> Object:
        """Bring what a content event is about up to date; raises PloneUnavailable, ConfigError.

        What the event says happened is not believed: events come late, twice, and in any order, so
        the site is asked how it is now. What an object holds follows behind: it moves with it, and
        may be for others now.
        """
        uid = event["uid"]
        try:
            async with aclosing(self._client()) as client:
                sync = self._sync(client, event["portal_type"])
                done = await sync.one(uid, wait=False)
                holder = await sync.holder(uid)
        except BaseException:
            self._events.release(event["signature"])
            raise
        if holder is not None:
            self._begin(holder)
        if done.total:
            state = "failed" if done.failed else "queued"
            reason = {"error": done.failed[0].reason} if done.failed else {}
            return {"status": state, "uid": uid, **reason}
        return {"status": "removed", "uid": uid, "deleted": done.deleted}

    def _begin(self, below: str, full: bool = False) -> None:
        """Begin a run at and below an address, empty for the whole site, after the one that goes
        on; equal ones that wait are one."""
        self._waiting[below] = full or self._waiting.get(below, False)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while self._waiting:
            below, full = self._waiting.popitem()
            try:
                async with aclosing(self._client()) as client:
                    async for done in self._sync(client).run(full, below):
                        log.info("Plone: %d of %s objects", done.seen, done.total)
            except RagstoneError as error:
                log.warning("The run over the Plone site ended early: %s", error)
            except Exception:
                log.exception("The run over the Plone site broke")

    def _client(self) -> "PloneClient":
        from ragstone.plugins.plone.client import PloneClient

        return PloneClient(self._settings)

    def _sync(self, client: "PloneClient", portal_type: str = "") -> "PloneSync":
        from ragstone.plugins.plone.sync import PloneSync

        settings, data = self._settings, self._data
        if portal_type:
            types = (*settings.content_types, portal_type)
            settings = settings.model_copy(update={"content_types": types})
        return PloneSync(self._service, client, settings, data, self._turn)


class SignedEvents:
    """Lets an event pass once: signed with the secret, and not older than `seconds`.

    The signature is the HMAC-SHA256 of the timestamp, a full stop and the body. What was seen is
    remembered as long as it is fresh; what was signed before this process began might have been
    seen by the one before it, and has to be signed again.
    """

    def __init__(self, secret: str, seconds: int) -> None:
        self._secret = secret.encode()
        self._seconds = seconds
        self._began = int(time.time())
        self._seen: dict[str, int] = {}

    def verify(self, headers: Mapping[str, str], body: bytes) -> Object:
        """Return the event; raises Unauthorized, Unavailable where too much comes, InputError."""
        signature = self.check(headers, body)
        return {**_event(body), "signature": signature}

    def check(self, headers: Mapping[str, str], body: bytes) -> str:
        """Let a body pass; its signature. Raises Unauthorized, Unavailable where too much comes."""
        if not self._secret:
            raise Unauthorized("Content events are not taken: set PLONE__WEBHOOK_SECRET.")
        stamp, given = headers.get(TIMESTAMP, ""), headers.get(SIGNATURE, "")
        signature = sign(self._secret, stamp, body)
        if not hmac.compare_digest(given.encode("utf-8", "replace"), signature.encode()):
            raise Unauthorized("The event's signature does not hold. Check the secret.")
        self._accept_event(
            int(stamp) if stamp.isascii() and stamp.isdigit() and len(stamp) < 12 else 0, signature
        )
        return signature

    def release(self, signature: str) -> None:
        """Let an event pass again that could not be followed."""
        self._seen.pop(signature, None)

    def _accept_event(self, at: int, signature: str) -> None:
        now = int(time.time())
        if abs(now - at) > self._seconds or at < self._began:
            raise Unauthorized("The event is too old, or of the future. Sign it again.")
        self._seen = {item: until for item, until in self._seen.items() if until >= now}
        if signature in self._seen:
            raise Unauthorized("The event was taken already; a replay is refused.")
        if len(self._seen) >= MAX_SEEN:
            raise Unavailable("Too many events at once. Send it again later.", self._seconds)
        self._seen[signature] = at + self._seconds


def sign(secret: bytes, stamp: str, body: bytes) -> str:
    """Return the signature header of an event."""
    text = stamp.encode("utf-8", "replace") + b"." + body
    return f"sha256={hmac.new(secret, text, hashlib.sha256).hexdigest()}"


def _event(body: bytes) -> Object:
    try:
        event = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError("The event is not valid JSON.") from error
    uid, kind = (event.get("uid"), event.get("event")) if isinstance(event, dict) else ("", "")
    if not isinstance(uid, str) or not _UID.fullmatch(uid):
        raise InputError("uid: it must be the UID of an object.")
    if kind not in EVENTS:
        raise InputError(f"event: it must be one of {', '.join(sorted(EVENTS))}.")
    portal_type = event.get("portal_type", "")
    if not isinstance(portal_type, str) or len(portal_type) > LONGEST_TYPE:
        raise InputError(f"portal_type: it must be a text of {LONGEST_TYPE} characters or fewer.")
    return {"uid": uid, "event": kind, "portal_type": portal_type}
