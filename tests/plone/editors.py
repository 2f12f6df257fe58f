"""What the editors of a real Plone site do, at random."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

from tests.plone.site import PloneSite

EVENTS = {
    "change": "modified",
    "state": "published",
    "share": "modified",
    "move": "moved",
    "rename": "moved",
    "delete": "removed",
    "hide": "modified",
}
"""What a site calls each change."""


def in_days(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")


class Editors:
    """What the editors of a site do at random to what is below a folder."""

    def __init__(self, plone: PloneSite, room: str, seed: int) -> None:
        self.plone = plone
        self.room = room
        self.r = random.Random(seed)
        self.made = 0
        self.folder = ""
        """Where new objects go; empty for a new one."""
        self.events: list[tuple[str, str]] = []
        """What happened to which UIDs, as a site tells it; nothing of what a folder holds."""

    def fill(self, number: int) -> None:
        """Folders of twenty pages and files each."""
        for _ in range(number):
            if not self.folder or self.made % 20 == 0:
                self.folder = f"{self.room}/f{self.made}"
                made = self.plone.add(self.room, "Folder", f"f{self.made}")
                self.events.append(("added", made["UID"]))
                self.publish(self.folder)
            kind = self.r.choice(("Document", "Document", "News Item", "File"))
            made = self.plone.add(
                self.folder, kind, f"o{self.made}", f"Crate {self.made} holds salt."
            )
            self.events.append(("added", made["UID"]))
            if kind != "File" and self.r.random() < 0.6:
                self.publish(f"{self.folder}/o{self.made}")
            self.made += 1

    def publish(self, path: str) -> None:
        self.plone.transition(path, "publish")

    def round(self) -> Counter[str]:
        """Change every fifth object in some way, and a folder or two."""
        done: Counter[str] = Counter()
        query = {"b_size": 5000, "metadata_fields": "UID"}
        items = self.plone.ask("GET", f"{self.room}/@search", **query)["items"]
        uids = {self.plone.path(item["@id"]): item["UID"] for item in items}
        of = {self.plone.path(item["@id"]): item for item in items if item["@type"] != "Folder"}
        folders = [self.plone.path(item["@id"]) for item in items if item["@type"] == "Folder"]
        folders.remove(self.room)
        for path in self.r.sample(sorted(of), len(of) // 5):
            what = self.r.choice(("change", "state", "share", "move", "rename", "delete", "hide"))
            state = of[path]["review_state"]
            if what == "change":
                self.plone.change(path, title=f"Changed {self.r.random()}")
            elif what == "state" and state:
                self.plone.transition(path, "retract" if state == "published" else "publish")
            elif what == "share":
                user = self.r.choice(("ann", "ben", "dora", "team", "AuthenticatedUsers"))
                self.plone.share(path, {user: self.r.choice(([], ["Reader"], ["Editor"]))})
            elif what == "move":
                self.plone.move(path, self.r.choice(folders))
            elif what == "rename":
                self.plone.rename(path, f"{path.rpartition('/')[2]}-{self.r.randrange(99)}")
            elif what == "delete":
                self.plone.delete(path)
            elif what == "hide":
                begins, ends = self.r.choice(((-20, -9), (9, 20), (-9, 9)))
                self.plone.change(path, effective=in_days(begins), expires=in_days(ends))
            self.events.append((EVENTS[what], uids[path]))
            done[what] += 1
        folder = self.r.choice(folders)
        if self.r.random() < 0.5:
            state = self.plone.ask("GET", folder)["review_state"]
            self.plone.transition(folder, "retract" if state == "published" else "publish")
            self.events.append(("retracted", uids[folder]))
            done["folder retracted or published"] += 1
        else:
            self.plone.delete(folder)
            self.events.append(("removed", uids[folder]))
            self.folder = ""
            done["folder deleted"] += 1
        self.fill(self.r.randrange(1, 5))
        return done
