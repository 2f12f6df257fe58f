"""A collection that the connector keeps of a real Plone site, held against the site itself."""

from contextlib import aclosing
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from ragstone.core.turn import Principal
from ragstone.local import Ragstone
from ragstone.plugins.plone.client import PloneClient
from ragstone.plugins.plone.names import CONNECTOR
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.plugins.plone.sync import PloneSync, Synced
from tests.plone.site import PASSWORD, USERS, PloneSite

TYPES = ("Document", "News Item", "Event", "Link", "File", "Image", "Collection", "Folder")
VISITOR = Principal("default", "", ())


def a_setting(plone: PloneSite, **changes: Any) -> PloneSettings:
    given = {
        "url": plone.url,
        "token": SecretStr(f"sync:{PASSWORD}"),
        "content_types": TYPES,
    }
    return PloneSettings(**{**given, **changes})


async def synced(
    ragstone: Ragstone, plone: PloneSite, data: Path, full: bool = False, **changes: Any
) -> Synced:
    settings = a_setting(plone, **changes)
    async with aclosing(PloneClient(settings)) as client:
        run = PloneSync(ragstone, client, settings, data / "data").run(full)
        done = [step async for step in run][-1]
    assert done.finished
    return done


def principal(plone: PloneSite, user: str) -> Principal:
    if not user:
        return VISITOR
    return Principal("default", user, (*plone.groups_of(user), "Authenticated"))


async def paths(ragstone: Ragstone, who: Principal, below: str = "") -> set[str]:
    documents = await ragstone.documents(who, "plone", limit=100_000)
    return {
        document.path
        for document in documents
        if document.version and document.path.startswith(below)
    }


async def assert_as_plone(ragstone: Ragstone, plone: PloneSite, below: str = "") -> int:
    """Everyone reads here what Plone's own search finds for them; how many cells were compared."""
    cells = 0
    everything = await paths(ragstone, principal(plone, "sync"), below)
    for user in ("", *USERS):
        found = set(plone.found_by(user, portal_type=list(TYPES)).values())
        wanted = {path for path in found if path.startswith(below)}
        assert await paths(ragstone, principal(plone, user), below) == wanted, user or "a visitor"
        cells += len(everything | wanted)
    return cells


async def texts(ragstone: Ragstone, below: str) -> dict[str, str]:
    """What was read of each document below a path."""
    everything = Principal("default", CONNECTOR, (CONNECTOR,))
    found = {}
    for path in await paths(ragstone, everything, f"{below}/"):
        found[path] = (await ragstone.reading.read(everything, "plone", path, 0, 10_000)).text
    return found
