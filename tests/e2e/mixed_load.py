"""What clients do to a server that may die at any instant, and whether it remembers what it said.

Every kind of write knows what was acknowledged and what was asked for without an answer. Afterwards
the first must be there, in its order and once; the second wholly or not at all.
"""

import asyncio
import itertools
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragstone.core.conversation import ConversationKey
from ragstone.core.errors import UnknownRoom
from ragstone.core.events import Failed
from ragstone.core.turn import Ask, Principal
from ragstone.guard.topic_file import topic
from ragstone.local.jobs import WITHDRAWN
from ragstone.service import Service

LOCAL = Principal()
MOST = 10_000
ROOM_TURNS = 5


class Load(Protocol):
    """One client, which does one thing after the other."""

    weight: int
    """How often a kill waits for it."""
    told: Counter[str]
    """What was acknowledged, by its kind."""

    async def work(self, service: Service) -> None:
        """Do one thing; the server may be gone before it answers."""
        ...

    async def check(self, service: Service, everything: bool) -> None:
        """What was acknowledged since the last check, or ever, is there; what was under way is
        known from now on."""
        ...


@dataclass
class Ledger:
    """What was acknowledged, in order, and what was asked for and not yet answered."""

    told: list[Any] = field(default_factory=list)
    open: list[Any] = field(default_factory=list)

    def acknowledge(self) -> None:
        self.told += self.open
        self.open.clear()

    def settle(self, found: list[Any], what: str) -> None:
        """`found` is all that was told, and perhaps the beginning of what was open."""
        known, rest = found[: len(self.told)], found[len(self.told) :]
        assert known == self.told, f"{what}: acknowledged {self.told}, found {found}"
        assert rest == self.open[: len(rest)], f"{what}: nobody asked for {rest}"
        self.told, self.open = found, []


class SettingsOf:
    """Two settings of one scope, which change together, and the log of them."""

    weight = 1

    keys = ("rag.no_answer", "cache.default_ttl_seconds")

    def __init__(self, scope: str) -> None:
        self.told: Counter[str] = Counter()
        self._scope = scope
        kind, _, where = scope.partition(":")
        self._place = tuple(where.split("/")) if kind == "collection" else (where, "")
        self._values = Ledger()
        self._numbers = itertools.count(1)

    async def work(self, service: Service) -> None:
        last = self._values.told[-1] if self._values.told else None
        number = None if last and random.random() < 0.3 else next(self._numbers)
        self._values.open.append(number)
        if number is None:
            await service.settings.unset(self._scope, self.keys, "")
        else:
            given = dict(zip(self.keys, (f"Nothing, {number}.", number), strict=True))
            await service.settings.put(self._scope, given, "")
        self._values.acknowledge()
        self.told["settings unset" if number is None else "settings put"] += 1
        await asyncio.sleep(0.1)

    async def check(self, service: Service, everything: bool) -> None:
        lines = (await service.settings.log(MOST, scope=self._scope))[::-1]
        logged = [[line for line in lines if line.key == key] for key in self.keys]
        texts, numbers = ([line.new for line in some] for some in logged)
        assert texts == [n and f"Nothing, {n}." for n in numbers], "half of a change is logged"
        self._values.settle(numbers, f"the log of {self._scope}")
        for key, some in zip(self.keys, logged, strict=True):
            assert [line.old for line in some] == [None, *(line.new for line in some)][:-1]
            layers = await service.settings.explain(key, *self._place)
            here = [layer.value for layer in layers if layer.where == self._scope]
            assert here == [line.new for line in some[-1:] if line.new], "the log is not what holds"


class PromptOf:
    """The versions of one prompt, of all tenants ("") or of one."""

    weight = 1

    name = "quote_first"

    def __init__(self, tenant: str) -> None:
        self.told: Counter[str] = Counter()
        self._tenant = tenant
        self._texts = Ledger()
        self._numbers = itertools.count(1)

    async def work(self, service: Service) -> None:
        last = self._texts.told[-1] if self._texts.told else ""
        text = "" if last and random.random() < 0.2 else f"- Quote {next(self._numbers)} times."
        self._texts.open.append(text)
        if text:
            await service.prompts.put(self.name, text, self._tenant, "")
        else:
            await service.prompts.reset(self.name, self._tenant, "")
        self._texts.acknowledge()
        self.told["prompts"] += 1
        await asyncio.sleep(0.2)

    async def check(self, service: Service, everything: bool) -> None:
        versions = (await service.prompts.versions(self.name, self._tenant))[::-1]
        assert [version.version for version in versions] == list(range(1, len(versions) + 1))
        self._texts.settle([version.text for version in versions], f"prompts of {self._tenant!r}")
        if versions and versions[-1].text:
            assert (await service.prompts.get(self.name, self._tenant)).text == versions[-1].text


class Topics:
    """Forbidden topics, one after the other."""

    weight = 1

    def __init__(self) -> None:
        self.told: Counter[str] = Counter()
        self._terms: set[str] = set()

    async def work(self, service: Service) -> None:
        name = f"secret{random.randrange(10**9)}"
        await service.put_topics("default", [topic("default", name)])
        self._terms.add(name)
        self.told["topics"] += 1
        await asyncio.sleep(0.4)

    async def check(self, service: Service, everything: bool) -> None:
        assert self._terms <= {item.term for item in await service.topics("default")}


class Conversation:
    """Questions in rooms. That a turn is kept is certain when the next one of its room is asked."""

    weight = 1

    def __init__(self, name: str) -> None:
        self.told: Counter[str] = Counter()
        self._names = (f"{name}-{number}" for number in itertools.count(1))
        self._rooms: dict[str, Ledger] = {}
        self._unchecked: set[str] = set()
        self._room = next(self._names)

    async def work(self, service: Service) -> None:
        turns = self._rooms.setdefault(self._room, Ledger())
        self._unchecked.add(self._room)
        question = f"How many hours does the lamp {random.randrange(1, 50)} burn?"
        before = len(turns.open)
        turns.open.append(question)
        async for event in service.ask(Ask(question, room=self._room)):
            assert not isinstance(event, Failed), event
        turns.told += turns.open[:before]
        del turns.open[:before]
        self.told["turns"] += before
        if len(turns.told) >= ROOM_TURNS:
            self._room = next(self._names)

    async def check(self, service: Service, everything: bool) -> None:
        counts = await counted(service)
        for room in self._rooms if everything else self._unchecked:
            turns = self._rooms[room]
            found = await asked_in(service, room)
            turns.settle(found, f"room {room}")
            # A turn is counted after it was kept, so the last one may not have been.
            assert 0 <= len(found) - counts.get(room, 0) <= 1, f"room {room} was counted wrongly"
        self._unchecked.clear()
        self._room = next(self._names)


class Jobs:
    """Questions that are answered in the background."""

    weight = 1

    def __init__(self) -> None:
        self.told: Counter[str] = Counter()
        self._numbers = itertools.count(1)
        self._jobs: dict[str, str | None] = {}
        self._unchecked: set[str] = set()

    async def work(self, service: Service) -> None:
        number = next(self._numbers)
        room = f"job-{number}"
        self._jobs[room] = None
        self._unchecked.add(room)
        view = await service.jobs.ask(Ask(f"How long does the lamp {number} burn?", room=room))
        self._jobs[room] = view.id
        self.told["jobs"] += 1
        await asyncio.sleep(0.1)

    async def check(self, service: Service, everything: bool) -> None:
        """Each that was taken on is answered, and its question kept and counted once. An answer is
        withdrawn where what it was made from is deleted meanwhile."""
        counts = await counted(service)
        for room in self._jobs if everything else self._unchecked:
            id = self._jobs[room]
            turns = len(await asked_in(service, room))
            if id is None:
                assert (turns, counts.get(room, 0)) in ((0, 0), (1, 1)), "half of a job"
                continue
            job = await service.jobs.get(LOCAL, id)
            assert job is not None, "an acknowledged job is lost"
            kept = job.result or job.error == WITHDRAWN
            assert kept, f"a job is {job.state}: {job.error}"
            assert turns == 1, f"the question of a job is {turns} times in its room"
            assert counts.get(room, 0) == 1, f"a job was counted {counts.get(room, 0)} times"
        self._unchecked.clear()


async def asked_in(service: Service, room: str) -> list[str]:
    """The questions that a room holds, the first one first."""
    try:
        place = ConversationKey(LOCAL.tenant, LOCAL.user, room)
        return [entry.question for entry in await service.conversations.entries(place, 100)][::-1]
    except UnknownRoom:
        return []


async def counted(service: Service) -> dict[str, int]:
    """How many questions the statistics have of each room."""
    return {
        item.name: item.questions for item in await service.statistics.use("default", 2, "room")
    }
