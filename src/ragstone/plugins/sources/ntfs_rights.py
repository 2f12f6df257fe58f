"""Who may read a file by its security descriptor (MS-DTYP 2.4.6), and what accounts are called."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

EVERYONE = "S-1-1-0"

_DACL_PRESENT = 0x4
_INHERIT_ONLY = 0x8
_ALLOWED, _DENIED = 0, 1
_ALL_DENIED = (1, 6, 10, 12)
"""Types of entries that deny: also to objects, and under conditions."""
_READING = 0x1 | 0x80000000 | 0x10000000 | 0x02000000
"""FILE_READ_DATA, GENERIC_READ, GENERIC_ALL, MAXIMUM_ALLOWED."""

_LSARPC = bytes.fromhex("785734123412cdabef000123456789ab") + struct.pack("<HH", 0, 0)
_NDR = bytes.fromhex("045d888aeb1cc9119fe808002b104860") + struct.pack("<I", 2)
_BIND, _REQUEST, _RESPONSE, _BIND_ACK = 11, 0, 2, 12
_OPEN_POLICY, _LOOKUP_SIDS = 44, 15
_LOOKUP_NAMES = 0x800
_USER = 1
_KINDS = {_USER: "user", 2: "group", 4: "group", 5: "group"}
"""Of SID_NAME_USE: users, groups, aliases and well-known groups. Others are gone or no people."""

Talk = Callable[[bytes], bytes]
"""Sends a request over a pipe, and gives the whole answer."""


def list_reading_sids(descriptor: bytes) -> tuple[str, ...]:
    """The accounts that may read; none where somebody is denied it: who is in which group is not
    known here, so whoever is allowed may be denied too. Raises ValueError for what is damaged."""
    try:
        control, *_, place = struct.unpack_from("<2xH4I", descriptor)
        if not control & _DACL_PRESENT or not place:
            return (EVERYONE,)
        _, _, _, count, _ = struct.unpack_from("<BBHHH", descriptor, place)
        place += 8
        allowed = []
        for _ in range(count):
            kind, flags, size, mask = struct.unpack_from("<BBHI", descriptor, place)
            reads = mask & _READING and not flags & _INHERIT_ONLY
            if reads and kind in _ALL_DENIED:
                return ()
            if reads and kind == _ALLOWED:
                allowed.append(_read_sid(descriptor, place + 8))
            place += max(size, 8)
    except struct.error as error:
        raise ValueError("the security descriptor is damaged") from error
    return tuple(dict.fromkeys(allowed))


def _read_sid(data: bytes, place: int) -> str:
    revision, count = struct.unpack_from("BB", data, place)
    authority = int.from_bytes(data[place + 2 : place + 8], "big")
    parts = struct.unpack_from(f"<{count}I", data, place + 8)
    return "-".join(map(str, ("S", revision, authority, *parts)))


def write_sid(sid: str) -> bytes:
    """Return a SID as it stands in a descriptor."""
    revision, authority, *parts = map(int, sid.split("-")[1:])
    head = bytes([revision, len(parts)]) + authority.to_bytes(6, "big")
    return head + struct.pack(f"<{len(parts)}I", *parts)


@dataclass
class _Reader:
    """Reads an answer in NDR (C706, chapter 14)."""

    data: bytes
    place: int = 0

    def number(self, size: int = 4) -> int:
        self.place += -self.place % size
        value = self.data[self.place : self.place + size]
        if len(value) < size:
            raise ValueError("the answer is cut off")
        self.place += size
        return int.from_bytes(value, "little")

    def text(self) -> str:
        """What a pointer in an RPC_UNICODE_STRING leads to."""
        _, _, length = self.number(), self.number(), self.number()
        value = self.data[self.place : self.place + 2 * length]
        self.place += 2 * length
        return value.decode("utf-16-le", "replace")

    def string_head(self) -> int:
        self.number(2)
        self.number(2)
        return self.number()

    def skip_sid(self) -> None:
        count = self.number()
        self.place += 8 + 4 * count


def find_names(talk: Talk, sids: Sequence[str]) -> dict[str, str]:
    """Return readers by SID, such as `group:hr`, of those that have a name (MS-LSAT 3.1.4.11).
    Raises ValueError for an answer that is none."""
    contexts = struct.pack("<BxxxHBx", 1, 0, 1) + _LSARPC + _NDR
    _call(talk, _BIND, struct.pack("<HHI", 4280, 4280, 0) + contexts)
    opened = struct.pack("<IIIIIIII", 0, 24, 0, 0, 0, 0, 0, _LOOKUP_NAMES)
    policy = _request(talk, _OPEN_POLICY, opened)[:20]
    count = len(sids)
    asked = policy + struct.pack("<III", count, 1, count)
    asked += b"".join(struct.pack("<I", number + 2) for number in range(count))
    for sid in map(write_sid, sids):
        asked += struct.pack("<I", sid[1]) + sid
    asked += struct.pack("<IIHxxI", 0, 0, 1, 0)
    answer = _Reader(_request(talk, _LOOKUP_SIDS, asked))
    if answer.number():
        domains, array, _ = answer.number(), answer.number(), answer.number()
        if array:
            answer.number()
            heads = [(answer.string_head(), answer.number()) for _ in range(domains)]
            for name, account in heads:
                if name:
                    answer.text()
                if account:
                    answer.skip_sid()
    found, array = answer.number(), answer.number()
    if not array:
        return {}
    answer.number()
    entries = []
    for _ in range(found):
        kind = answer.number(2)
        answer.place += -answer.place % 4
        entries.append((kind, answer.string_head()))
        answer.number()
    names = [(kind, answer.text() if head else "") for kind, head in entries]
    return {
        sid: f"{_KINDS[kind]}:{name}"
        for sid, (kind, name) in zip(sids, names, strict=False)
        if kind in _KINDS and name
    }


def _request(talk: Talk, operation: int, stub: bytes) -> bytes:
    return _call(talk, _REQUEST, struct.pack("<IHH", len(stub), 0, operation) + stub)[8:]


def _call(talk: Talk, kind: int, body: bytes) -> bytes:
    """Send a packet of DCE/RPC (C706, chapter 12), and give what the answer has behind its head."""
    head = struct.pack("<BBBBIHHI", 5, 0, kind, 3, 0x10, 16 + len(body), 0, 1)
    answer = talk(head + body)
    wanted = _BIND_ACK if kind == _BIND else _RESPONSE
    if (
        len(answer) < 16
        or answer[2] != wanted
        or len(answer) < int.from_bytes(answer[8:10], "little")
    ):
        raise ValueError("the answer is none of a service of accounts")
    return answer[16:]
