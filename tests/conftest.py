"""What suites of several folders run against, and how tests run."""

import atexit
import ctypes
import gc
import itertools
import os
import shutil
import ssl
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import httpcore2
import pytest
import scim2_client  # noqa: F401 - with all modules of the tests loaded, this takes six seconds
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from ragstone.http import sse
from ragstone.models import onnx
from tests.analysed_routes import analysing_once
from tests.compiled_statements import compiling_once
from tests.conformance.postgres_server import postgres
from tests.databases import all_postgres_databases, open_state, postgres_databases, state
from tests.documents import indexed_documents
from tests.kept_parsers import keeping_parsers
from tests.remembered_models import remembering

if TYPE_CHECKING:
    from tests.plone.site import PloneSite

__all__ = [
    "all_postgres_databases",
    "indexed_documents",
    "open_state",
    "postgres",
    "postgres_databases",
    "state",
]

# A busy machine may take long over any example; what must end in time has a timeout of its own.
settings.register_profile("untimed", deadline=None)
# The same examples each time: a check of a change fails for the change alone.
settings.register_profile("same", deadline=None, derandomize=True)
# New ones each time, and few: what is found in seconds.
settings.register_profile("few", deadline=None, max_examples=30)
# Many new ones: this is where what nobody thought of is looked for.
settings.register_profile("many", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "untimed"))
if os.environ.get("HYPOTHESIS_PROFILE") == "same":
    # Hypothesis also draws constants from the modules that happen to be loaded, which depends on
    # the tests that ran before in this process.
    providers._get_local_constants = lambda: providers._local_constants

MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30


def memory_folder() -> Path:
    """Make a folder in memory for what this run writes, which goes when the run ends.

    A run that was killed could not remove its own: the next run does, or memory would fill.
    """
    for folder in MEMORY.glob("ragstone-tests-*"):
        if not Path("/proc", folder.name.rpartition("-")[2]).exists():
            shutil.rmtree(folder, ignore_errors=True)
    folder = MEMORY / f"ragstone-tests-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o711)  # PostgreSQL and the workers of nginx run as other users.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# No test cuts the power: where there is a file system in memory with room enough, a commit need
# not wait for a disk (3 ms each, of which tests make many thousands). Workers are told by the
# environment.
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ["TMPDIR"] = str(memory_folder())
    tempfile.tempdir = None


LONG = ("e2e", "conformance", "backup", "examples")
"""Folders whose files take minutes with few tests."""


@pytest.fixture(scope="session")
def plone(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[PloneSite]":
    """The real Plone site of tests marked `real`: one for all, as it takes half a minute."""
    from tests.plone.site import plone_site

    with plone_site(tmp_path_factory.mktemp("plone")) as site:
        yield site


@pytest.fixture
def room(plone: "PloneSite", request: pytest.FixtureRequest) -> Iterator[str]:
    """A public folder of the real site, for one test."""
    path = "/en/" + request.node.name.split("[")[0].replace("_", "-")
    plone.add("/en", "Folder", path.rpartition("/")[2])
    plone.transition(path, "publish")
    yield path
    if path in plone.found_by("sync").values():
        plone.delete(path)


def pytest_collection() -> None:
    """What is collected stays: looking for garbage meanwhile finds none."""
    gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that no worker has it alone at the end."""
    folders = {Path(__file__).parent / name for name in LONG}
    items.sort(key=lambda item: folders.isdisjoint(item.path.parents))


def pytest_collection_finish() -> None:
    """What the collection has made stays to the end: looking through it again would only cost."""
    gc.collect()
    gc.freeze()
    gc.enable()


_files = itertools.count(1)
FILES = 15
"""Files after which all is looked through: after each, that took a fifth of the suite's time."""


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After each file, memory that is free goes back to the system."""
    if (nextitem is None or nextitem.path != item.path) and sys.platform == "linux":
        if next(_files) % FILES == 0:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture(scope="session", autouse=True)
def models_stay_open() -> Iterator[None]:
    """A model that a test has opened is there for the next one: opening all takes a second. It
    remembers what it has computed."""
    with pytest.MonkeyPatch.context() as patch, remembering(patch):
        patch.setattr(onnx, "opened", {})
        yield


@pytest.fixture(scope="session", autouse=True)
def streams_wait_for_their_status() -> Iterator[None]:
    """On a busy machine a question fails later than a stream waits for the first event."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sse, "BEGIN_SECONDS", 30.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def parsers_stay_alive() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, keeping_parsers(patch):
        yield


@pytest.fixture(scope="session", autouse=True)
def alike_is_made_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        compiling_once(patch)
        analysing_once(patch)
        trusting_once(patch)
        yield


def trusting_once(patch: pytest.MonkeyPatch) -> None:
    """Clients share the authorities that the system trusts: reading these takes 20 ms."""
    read_context = httpcore2.default_ssl_context
    usual = cache(read_context)

    def share_context(*, _trust_env: bool = True) -> ssl.SSLContext:
        own = _trust_env and not {"SSL_CERT_FILE", "SSL_CERT_DIR"}.isdisjoint(os.environ)
        return (read_context if own else usual)(_trust_env=_trust_env)

    patch.setattr(httpcore2, "default_ssl_context", share_context)
