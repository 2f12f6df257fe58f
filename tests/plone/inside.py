"""A real Plone site, made and served in one process by the Python of an environment with Plone.

    python inside.py FOLDER PORT

makes a Zope instance in FOLDER with the site /Plone, and serves it on 127.0.0.1. It says "ready"
when it answers, and ends when its standard input does. Only Plone's own packages are used.
"""

import hashlib
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

USERS = {
    # name: roles on the whole site, groups
    "ann": (("Member",), ("team",)),
    "ben": (("Member",), ("board",)),
    "cleo": (("Member", "Editor"), ()),
    "rita": (("Member", "Reviewer"), ()),
    "sam": (("Member", "Site Administrator"), ()),
    "dora": (("Member",), ()),
    "sync": (("Manager",), ()),
}
GROUPS = ("team", "board")
PASSWORD = "Geheim-12345"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
    "08d763f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


def word(id: str) -> str:
    """A word that stands in no other object."""
    letters = hashlib.sha256(id.encode()).digest()
    return "zq" + "".join("bcdfghjklmnprstv"[letter % 16] for letter in letters[:10])


def main(folder: Path, port: int) -> None:
    """Make the instance and the site, then serve it."""
    tool = Path(sys.executable).with_name("mkwsgiinstance")
    made = ["-d", str(folder), "-u", f"admin:{PASSWORD}", "--python", sys.executable]
    subprocess.run([str(tool), *made], check=True)

    conf = folder / "etc" / "zope.conf"
    data = "path $INSTANCE/var/Data.fs"  # Files are kept beside it.
    conf.write_text(conf.read_text().replace(data, f"{data}\n     blob-dir $INSTANCE/var/blobs", 1))

    from Zope2.Startup.run import make_wsgi_app
    from ZPublisher.httpexceptions import HTTPExceptionHandler

    served = HTTPExceptionHandler(make_wsgi_app({}, str(conf)))
    make_site()

    import threading

    from waitress import create_server

    server = create_server(served, host="127.0.0.1", port=port, threads=4)
    threading.Thread(target=server.run, daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()


def make_site() -> None:
    """The site, with users, groups, and objects of every type that a new site has."""
    import transaction
    import Zope2
    from AccessControl.SecurityManagement import newSecurityManager
    from Products.CMFPlone.factory import addPloneSite
    from Testing.makerequest import makerequest
    from zope.component.hooks import setSite
    from zope.globalrequest import setRequest

    app = makerequest(Zope2.app())
    setRequest(app.REQUEST)
    newSecurityManager(None, app.acl_users.getUser("admin").__of__(app.acl_users))
    site = addPloneSite(
        app,
        "Plone",
        title="Harbour",
        setup_content=False,
        default_language="en",
        extension_ids=(
            "plonetheme.barceloneta:default",
            "plone.restapi:default",
            "plone.app.multilingual:default",
        ),
    )
    setSite(site)
    make_people(site)
    make_content(site)
    transaction.commit()
    app._p_jar.close()


def make_people(site) -> None:
    from plone import api

    site.portal_workflow.setDefaultChain("simple_publication_workflow")
    for name in GROUPS:
        api.group.create(groupname=name)
    for name, (roles, groups) in USERS.items():
        api.user.create(email=f"{name}@example.org", username=name, password=PASSWORD, roles=roles)
        for group in groups:
            api.group.add_user(groupname=group, username=name)


def make_content(site) -> None:
    """Some seventy objects: two languages, public and private sections, sharing, embargoes."""
    from plone import api
    from plone.app.multilingual.browser.setup import SetupMultilingualSite

    api.portal.get_tool("portal_languages").addSupportedLanguage("de")
    SetupMultilingualSite(site).setupSite(site)
    make_public(site["en"])
    make_rooms(site["en"])
    make_drafts(site["en"])
    make_translations(site["en"], site["de"])
    # So that the catalog tells what is there, in the order of nothing but its UIDs.
    site.portal_catalog.clearFindAndRebuild()


def make_public(english) -> None:
    """What visitors view, but for what has expired, or is not published yet."""
    from DateTime import DateTime

    for number in range(8):
        add(english, "Document", f"page-{number}", text=f"Pier {number} has {number + 3} cranes.")
    for number in range(5):
        add(english, "News Item", f"news-{number}", text=f"Ship {number} came with coal.")
    start = DateTime().asdatetime()
    for number in range(4):
        end = start + timedelta(hours=1)
        add(english, "Event", f"event-{number}", start=start, end=end, text="A harbour feast.")
    for number in range(3):
        add(english, "Link", f"link-{number}", remoteUrl=f"https://example.org/{number}")
    news = {"i": "portal_type", "o": "plone.app.querystring.operation.selection.any"}
    add(english, "Collection", "all-news", query=[{**news, "v": ["News Item"]}])
    downloads = add(english, "Folder", "downloads")
    for number in range(4):
        file = text_file(f"tide-{number}", f"Tide table {number}.")
        add(downloads, "File", f"tide-{number}", file=file)
    add(downloads, "Image", "crane", image=picture("crane.png"))
    add(english, "Document", "embargoed", text="Comes later.", effective=DateTime() + 30)
    add(english, "Document", "expired", text="Was earlier.", expires=DateTime() - 30)


def make_rooms(english) -> None:
    """Folders that are shared, one inside the other and without what the outer one gives."""
    team = add(english, "Folder", "team-room", "private")
    share(team, "team", "Reader")
    for number in range(5):
        add(team, "Document", f"plan-{number}", "private", text=f"Plan {number} costs {number}00.")
    add(team, "File", "boats", file=text_file("boats", "The team has seven boats."))
    add(team, "Image", "map", image=picture("map.png"))
    add(team, "Document", "open-in-closed", text="The open page in the closed room.")
    board = add(team, "Folder", "board-room", "private")
    share(board, "board", "Editor", inherit=False)
    for number in range(4):
        add(board, "Document", f"minutes-{number}", "private", text=f"Vote {number} was close.")
    add(board, "File", "wages", file=text_file("wages", "The wage of the pilot is 900 coins."))
    members = add(english, "Folder", "members", "private")
    share(members, "AuthenticatedUsers", "Reader")
    for number in range(4):
        text = f"Notice {number} for members."
        add(members, "Document", f"notice-{number}", "private", text=text)


def make_drafts(english) -> None:
    """What waits, what has an owner, and what has a byline that is none."""
    for number in range(3):
        page = add(english, "Document", f"dora-{number}", "private", text=f"Draft {number}.")
        give_to(page, "dora")
    for number in range(3):
        add(english, "Document", f"waiting-{number}", "pending", text=f"Waits {number}.")
    add(english, "Document", "by-ben", "private", creators=("ben",), text="Ben is the byline.")
    page = add(english, "Document", "for-ann", "private", text="Ann alone may edit this.")
    share(page, "ann", "Editor")


def make_translations(english, german) -> None:
    from plone.app.multilingual.interfaces import ITranslationManager

    for number in range(6):
        page = add(german, "Document", f"seite-{number}", text=f"Der Kran {number} hebt Kohle.")
        ITranslationManager(page).register_translation("en", english[f"page-{number}"])


def add(where, kind, id, state="published", text="", **fields):
    """A new object in a state, if its type has any."""
    from plone import api
    from plone.app.textfield.value import RichTextValue

    if text:
        fields["text"] = RichTextValue(f"<p>{text}</p>", "text/html", "text/x-html-safe")
    title = id.replace("-", " ").title()
    about = f"The code word {word(id)} opens the {title}."
    made = api.content.create(where, kind, id, title=title, description=about, **fields)
    if state != "private" and api.content.get_state(made, "") == "private":
        api.content.transition(made, to_state=state)
    return made


def share(place, user, *roles, inherit=True) -> None:
    place.manage_setLocalRoles(user, list(roles))
    if not inherit:
        place.__ac_local_roles_block__ = True
    place.reindexObjectSecurity()


def give_to(page, user) -> None:
    from plone import api

    people = api.portal.get_tool("acl_users")
    page.changeOwnership(people.getUserById(user).__of__(people))
    page.manage_setLocalRoles(user, ["Owner"])
    page.reindexObjectSecurity()


def text_file(id, text):
    from plone.namedfile.file import NamedBlobFile

    data = f"{text}\n\nThe code word {word(id)} opens the file {id}.\n".encode()
    return NamedBlobFile(data, "text/plain", f"{id}.txt")


def picture(name):
    from plone.namedfile.file import NamedBlobImage

    return NamedBlobImage(PNG, "image/png", name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
