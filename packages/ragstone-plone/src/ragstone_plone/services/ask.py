"""`@rag-ask`: a question, and the answer of one that was asked before."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import unquote

from plone import api
from zExceptions import BadRequest, Unauthorized

from ragstone_plone.permissions import object_at, viewable
from ragstone_plone.services.base import RagService, flag, text
from ragstone_plone.settings import RagSettings

LONGEST_QUESTION = 5000
LONGEST_PATH = 2000
AGAIN = 1.0
"""Seconds after which a question is asked again whose answer was made from content that has changed
since."""


class _Answers(RagService):
    name = "@rag-ask"

    def permitted(self, found: dict[str, Any]) -> dict[str, Any] | None:
        """An answer of Ragstone's, if the visitor may view every source of it now, with the place
        where each is now; else None.

        Ragstone learns of a change after its commit. Until it has indexed that, its permissions
        and paths are those of before: Plone's own are asked here.
        """
        sources = []
        for source in found.get("sources") or ():
            told = {name: value for name, value in source.items() if name != "uid"}
            path = self.current_path(str(source.get("uid") or ""))
            obj = None if path is None else object_at(self.site, path)
            if obj is None or not viewable(obj):
                return None
            sources.append({**told, "path": path})
        return {**found, "sources": sources} if sources else found

    def current_path(self, uid: str) -> str | None:
        """Where the object of a UID is now, below the site; None if the site has it no more."""
        catalog = api.portal.get_tool("portal_catalog")
        brains = catalog.unrestrictedSearchResults(UID=uid) if uid else ()
        root = "/".join(self.site.getPhysicalPath())
        return (brains[0].getPath().removeprefix(root) or "/") if brains else None

    def withheld(self, settings: RagSettings, found: dict[str, Any]) -> dict[str, Any]:
        """The answer without what the visitor may not view."""
        self.wake()
        about = {name: found[name] for name in ("status", "job_id", "question") if name in found}
        return {**about, "answer": settings.no_answer_message or NO_ANSWER, "sources": []}

    def shown(self, settings: RagSettings, found: dict[str, Any]) -> dict[str, Any]:
        """An answer as visitors get it: of a failure they get the site's own words."""
        if found.get("status") == "failed":
            return {**found, "answer": settings.error_message, "sources": []}
        return found


NO_ANSWER = "The documents do not hold an answer to this question."


class Ask(_Answers):
    """Asks: at once with `sync`, else by a job that GET asks for."""

    def answer(self) -> dict[str, Any]:
        settings, body = self.settings(), self.body()
        question = text(body, "question", LONGEST_QUESTION)
        if not question.strip():
            raise BadRequest("question: it is empty; write what you want to know.")
        sync = flag(body, "sync", False)
        if sync and api.user.is_anonymous():
            raise Unauthorized("Only users who are logged in may ask with sync; leave it out.")
        asked = {
            "question": question,
            "path": self.place(text(body, "path", LONGEST_PATH)),
            "sync": sync,
            "guidance": settings.system_prompt,
        }
        found = self.call(settings, "ask", **asked)
        permitted = self.permitted(found)
        if permitted is None and sync:
            self.wake()
            time.sleep(AGAIN)
            found = self.call(settings, "ask", **asked)
            permitted = self.permitted(found)
        if permitted is None:
            return self.withheld(settings, found)
        return self.shown(settings, permitted)

    def place(self, path: str) -> str:
        """What is asked: below a path, else below where it was asked, as Plone searches."""
        if path:
            return path_below(self.site, path)
        above = len(self.site.getPhysicalPath())
        return "/" + "/".join(self.context.getPhysicalPath()[above:])


class Poll(_Answers):
    """The answer of a job, or that it is pending."""

    def answer(self) -> dict[str, Any]:
        settings = self.settings()
        job = self.request.form.get("job_id")
        if not isinstance(job, str) or not job or len(job) > 200:
            raise BadRequest("job_id: name the job that asking returned.")
        found = self.call(settings, "poll", job_id=job)
        permitted = self.permitted(found)
        if permitted is None:
            return self.withheld(settings, found)
        return self.shown(settings, permitted)


def path_below(site: Any, path: str) -> str:
    """A path filter as a path below the site, `/` for all of it.

    It may be the address of an object, a path that begins with the site's id in whatever case, as
    the document has it, or one below the site. Raises BadRequest for what leads elsewhere.
    """
    root = site.absolute_url()
    if "://" in path:
        address = unquote(path.rstrip("/"))
        if address != root and not address.startswith(root + "/"):
            raise BadRequest("path: it is not an address of this site.")
        path = address[len(root) :]
        return _joined(path.split("/"))
    parts = [part for part in path.split("/") if part]
    for above in (site.getPhysicalPath()[1:], site.getPhysicalPath()[-1:]):
        head = [part.casefold() for part in parts[: len(above)]]
        if head == [part.casefold() for part in above]:
            # A folder may be called as the site: then its own path counts, if it was meant.
            below = _joined(parts[len(above) :])
            if object_at(site, below) is not None or object_at(site, _joined(parts)) is None:
                return below
    return _joined(parts)


def _joined(parts: list[str]) -> str:
    kept = [part for part in parts if part]
    if any(part in (".", "..") or part.startswith("@") for part in kept):
        raise BadRequest("path: it must be the path of content.")
    return "/" + "/".join(kept)
