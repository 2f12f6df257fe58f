"""Where messages may be sent: not into private networks, unless the operator says so."""

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING

from ragstone.core.errors import InputError

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
