"""Any order of begin, publish, fail, retire, purge and crash in two collections, against a model in
memory: each hides its own revisions and no other's, also after a kill at any moment."""

import asyncio
import shutil
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from ragstone.core.records import Collection, Document
from ragstone.ports import Catalog
from tests.conformance.test_catalog import LAW, Opener, opener

pytestmark = pytest.mark.slow

__all__ = ["opener"]

IDS = st.sampled_from(["a", "b", "c"])

OTHER = replace(LAW, id="c2", name="other")
HOMES = {"a": LAW, "b": LAW, "c": OTHER}
"""Which collection each document is in."""

Hidden = dict[Collection | None, frozenset[str]]
"""What a search in each collection must not see; under None that of all."""


@dataclass
class Life:
    """One document as it should be."""

    last: int = 0
    known: bool = False
    live: int = 0
    begun: int = 0
    writing: int = 0
    abandoned: int = 0
    retired: set[int] = field(default_factory=set)
    error: str = ""

    @property
    def hidden(self) -> set[int]:
        return self.retired | ({self.writing, self.abandoned} - {0})

    def stop(self) -> None:
        """The writer is known to have stopped."""
        self.retired |= {self.abandoned} - {0}
        self.abandoned = 0


class Lives(RuleBasedStateMachine):
    """Drives a catalog and the model side by side."""

    opener: Opener

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.lives = {name: Life() for name in "abc"}
        self.stack = AsyncExitStack()
        self.catalog = self.open()
        for item in (LAW, OTHER):
            self.runner.run(self.catalog.put_collection(item))

    def open(self) -> Catalog:
        self.stack = AsyncExitStack()
        return self.runner.run(self.stack.enter_async_context(self.opener(self.folder)))

    def document(self, name: str) -> Document:
        home = HOMES[name]
        return Document(name, home.tenant, home.id, f"/{name}", content_hash=f"{name}-hash")

    @rule(name=IDS)
    def begin(self, name: str) -> None:
        life = self.lives[name]
        life.stop()
        if not life.writing:
            life.last += 1
            life.writing = life.last
        life.begun, life.known, life.error = life.writing, True, ""
        assert self.runner.run(self.catalog.begin(self.document(name))) == life.begun

    @rule(name=IDS)
    def publish(self, name: str) -> None:
        life = self.lives[name]
        if not life.begun:
            return
        self.runner.run(self.catalog.publish(self.document(name), life.begun))
        if life.begun == life.writing:
            life.retired |= {life.live} - {0}
            life.live, life.writing, life.known, life.error = life.begun, 0, True, ""
        life.stop()
        life.begun = 0

    @rule(name=IDS)
    def fail(self, name: str) -> None:
        life = self.lives[name]
        self.runner.run(self.catalog.fail(self.document(name), "Broken."))
        life.retired |= {life.writing} - {0}
        life.writing = life.begun = 0
        life.stop()
        life.known, life.error = True, "Broken."

    @rule(names=st.sets(IDS))
    def retire(self, names: set[str]) -> None:
        self.runner.run(self.catalog.retire(sorted(names)))
        for life in (self.lives[name] for name in names):
            life.retired |= {life.live} - {0}
            life.abandoned = life.writing or life.abandoned
            life.live = life.writing = 0
            life.known, life.error = False, ""

    @rule()
    def purge(self) -> None:
        names = [name for _, name in self.runner.run(self.catalog.list_retired())]
        lives = self.lives.items()
        assert set(names) == {
            f"{name}@{n}" for name, life in lives for n in life.retired | {life.abandoned} if n
        }
        self.runner.run(self.catalog.forget_revisions(names))
        for life in self.lives.values():
            life.retired = set()

    @rule()
    def crash(self) -> None:
        self.runner.run(self.stack.aclose())
        self.catalog = self.open()
        for life in self.lives.values():
            life.stop()
            life.begun = 0

    @invariant()
    def exactly_the_published_revisions_are_visible(self) -> None:
        expected: Hidden = {
            home: frozenset(
                f"{name}@{n}"
                for name, life in self.lives.items()
                for n in life.hidden
                if home in (None, HOMES[name])
            )
            for home in (None, LAW, OTHER)
        }
        assert self.runner.run(_hidden(self.catalog)) == expected
        for name, life in self.lives.items():
            document = self.runner.run(self.catalog.document(name))
            assert (document is not None) == life.known
            if document is not None:
                assert (document.version, document.error) == (life.live, life.error)
            assert f"{name}@{life.live}" not in expected[None]

    @invariant()
    def a_crash_now_would_hide_the_same(self) -> None:
        before = self.runner.run(_hidden(self.catalog))
        with tempfile.TemporaryDirectory() as copy:
            shutil.copytree(self.folder, copy, dirs_exist_ok=True)
            assert self.runner.run(_reopened(self.opener, Path(copy))) == before

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()
        shutil.rmtree(self.folder)


async def _hidden(catalog: Catalog) -> Hidden:
    found: Hidden = {}
    for item in (None, LAW, OTHER):
        async with catalog.snapshot(item) as names:
            found[item] = names
    return found


async def _reopened(opener: Opener, folder: Path) -> Hidden:
    async with opener(folder) as catalog:
        return await _hidden(catalog)


def test_any_order_of_steps(opener: Opener) -> None:
    machine = type("Machine", (Lives,), {"opener": staticmethod(opener)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=10,
            stateful_step_count=20,
            suppress_health_check=list(HealthCheck),
        ),
    )
