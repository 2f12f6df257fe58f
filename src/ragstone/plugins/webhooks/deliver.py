"""Delivers messages, as jobs: each is tried until it arrives or is too old.

Where messages may be sent: not into private networks, unless the operator says so.
"""

import asyncio
import socket
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Any

from ragstone import __version__
from ragstone.core.clock import state_time
from ragstone.core.errors import InputError, Postponed, RagstoneError
from ragstone.jobs.runner import Report, Work
from ragstone.local.added import WorkParts
from ragstone.plugins.webhooks.store import SqlWebhooks, StoredWebhook
from ragstone.ports.jobs import Job

if TYPE_CHECKING:
    import httpx2

DEFAULT_PORTS = {"http": 80, "https": 443}


def parse_address(url: str, *, inside: bool) -> "httpx2.URL":
    """Return an address to send to. Raises InputError unless it is one, with https unless it is of
    the operator's network (`inside`)."""
    # A server starts sooner without it.
    import httpx2

    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise InputError(f"Not a valid address of a webhook: {error}.") from error
    if not parsed.host or parsed.userinfo or parsed.scheme not in ("http", "https"):
        raise InputError("Not a valid address of a webhook: use https://HOST/PATH without a user.")
    if parsed.scheme == "http" and not inside:
        raise InputError(
            "Not a valid address of a webhook: use https. Only the server's operator may have "
            "messages sent without, with 'ragstone webhook add' there."
        )
    return parsed


async def resolve(url: "httpx2.URL", *, inside: bool) -> str:
    """Return the IP address of a host, to which the connection is to be made: asked again, the name
    might lead elsewhere. Raises InputError for one in a private network unless it is `inside`, and
    OSError where there is none."""
    port = url.port or DEFAULT_PORTS[url.scheme]
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"{url.host[:100]!r} is not a name of a host") from error
    # A host that has both is reached by the one that more networks let out.
    addresses = sorted((str(place[0]) for *_, place in found), key=lambda item: ":" in item)
    if not inside and not all(is_public(ip_address(item.partition("%")[0])) for item in addresses):
        raise InputError(
            f"{url.host} is in a private network, and only the server's operator may have messages "
            "sent there, with 'ragstone webhook add' on the machine of the server."
        )
    return addresses[0]


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether an IP address is of the internet. Those that stand for another one (mapped,
    6to4, NAT64) are not."""
    if isinstance(address, IPv6Address) and (address.sixtofour or address.is_site_local):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


SECONDS = 15.0
"""In which a receiver has to answer, as the specification recommends."""

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 6 * 3600.0
"""Between two attempts, in seconds: as long as a message has waited already, within these."""

GIVE_UP_SECONDS = 3 * 86_400.0
"""After which a message is not tried any more."""

GONE = 410


class Undelivered(RagstoneError):
    """A message is not tried any more."""

    code = "undelivered"


class Refused(Exception):
    """A receiver has not taken a message. `pause` is in how many seconds it wants it again."""

    def __init__(self, reason: str, status: int = 0, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.status = status
        self.pause = pause


async def deliver(store: SqlWebhooks, job: Job) -> dict[str, Any]:
    """Make one attempt. Raises Postponed where another one follows, else Undelivered."""
    webhook = await store.get(str(job.request["webhook"]))
    if webhook is None or webhook.shown.disabled_at is not None:
        raise Undelivered("The webhook is disabled or removed.")
    try:
        status = await send(webhook, job.id, str(job.request["body"]))
    except Refused as refused:
        reason, now = str(refused), state_time()
        if refused.status == GONE:
            await store.disable(webhook.shown.id, "It answers 410: it is gone.")
            raise Undelivered(reason) from refused
        await store.note_failure(webhook.shown.id, reason)
        age = now - job.created_at
        if age < GIVE_UP_SECONDS:
            pause = min(max(age, FIRST_PAUSE, refused.pause), LONGEST_PAUSE)
            raise Postponed(reason, pause) from refused
        # Nothing else has arrived either since it was queued.
        if (webhook.shown.delivered_at or 0.0) < job.created_at:
            await store.disable(webhook.shown.id, f"Nothing arrives any more: {reason}")
        raise Undelivered(f"Given up after {age / 86_400:.0f} days: {reason}") from refused
    await store.note_delivery(webhook.shown.id)
    return {"status": status}


async def send(webhook: StoredWebhook, id: str, body: str) -> int:
    """Send a signed message; the status of the answer. Raises Refused."""
    # A server starts sooner without them.
    import httpx2
    from standardwebhooks import Webhook as Signer

    now = datetime.now(UTC)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"Ragstone/{__version__}",
        "webhook-id": id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Signer(webhook.secret).sign(id, now, body),
    }
    try:
        async with asyncio.timeout(SECONDS):
            url = parse_address(webhook.shown.url, inside=webhook.inside)
            address = await resolve(url, inside=webhook.inside)
            headers["Host"] = url.netloc.decode("ascii")
            async with (
                httpx2.AsyncClient(timeout=SECONDS, trust_env=False) as http,
                http.stream(
                    "POST",
                    url.copy_with(host=address),
                    content=body.encode(),
                    headers=headers,
                    extensions={"sni_hostname": url.raw_host.decode("ascii")},
                ) as response,
            ):
                status, wanted = response.status_code, response.headers.get("retry-after", "")
    except TimeoutError as error:
        raise Refused(f"It does not answer within {SECONDS:g} s.") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, InputError) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise Refused(f"It cannot be reached: {reason[:300]}.") from error
    if 200 <= status < 300:
        return status
    if 300 <= status < 400:
        raise Refused(f"It answers {status}: redirects are not followed.", status)
    pause = min(int(wanted[:9]), LONGEST_PAUSE) if wanted[:9].isdecimal() else 0.0
    raise Refused(f"It answers {status}.", status, pause)


def open_work(parts: WorkParts) -> Work | None:
    """Make what does such jobs; None in a process that ends when its command does."""
    if not parts.serves:
        return None
    store = SqlWebhooks.of(parts.adapters)

    async def work(job: Job, report: Report) -> dict[str, Any]:
        return await deliver(store, job)

    return work
