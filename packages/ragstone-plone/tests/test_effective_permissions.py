"""What Ragstone is told of an object's readers is what Plone answers each of them."""

import random

import transaction
from AccessControl import getSecurityManager
from DateTime import DateTime
from plone import api
from plone.app.testing import SITE_OWNER_NAME, TEST_USER_NAME, login, logout
from plone.namedfile.file import NamedBlobFile

from ragstone_plone.permissions import effective_permissions, object_at, viewable
from ragstone_plone.visitor import visitor
from tests.case import SiteCase

ROLES = ("Reader", "Editor", "Reviewer", "Contributor", "Owner")
STATES = ("publish", "submit", None)


def names(who):
    """The names of a visitor, as Ragstone compares them with an object's."""
    if not who["user"]:
        return {"Anonymous"}
    groups = {f"user:{group}" for group in who["groups"]}
    return {"Anonymous", f"user:{who['user']}", *who["roles"], *groups}


class EffectivePermissions(SiteCase):
    def setUp(self):
        super().setUp()
        self.users = [self.user(name) for name in ("ann", "bob", "cleo")]
        self.users += [self.user("eddy", "Editor"), self.user("sam", "Site Administrator")]
        for group in ("pilots", "crew"):
            api.group.create(group)
        api.group.add_user(groupname="pilots", username="ann")
        api.group.add_user(groupname="crew", username="bob")
        transaction.commit()

    def as_each(self):
        """Each visitor of the site in turn, the anonymous one first."""
        logout()
        yield None
        for name in self.users:
            login(self.portal, name)
            yield name
        login(self.app, SITE_OWNER_NAME)
        yield SITE_OWNER_NAME
        login(self.portal, TEST_USER_NAME)

    def content(self, seed):
        """A site of three levels with random states, sharing and dates. Each has paths of its own,
        for Plone keeps local roles by path as long as a request goes on."""
        chance, found = random.Random(seed), []
        for top in range(3):
            folder = api.content.create(self.portal, "Folder", f"f{seed}-{top}")
            inner = api.content.create(folder, "Folder", "inner")
            found += [folder, inner]
            for kind in ("Document", "News Item", "Event", "Link"):
                found.append(api.content.create(chance.choice((folder, inner)), kind, kind.lower()))
            file = NamedBlobFile(b"x", filename="x.txt")
            found.append(api.content.create(inner, "File", "file", file=file))
        for item in found:
            self.vary(item, chance)
        self.portal.reindexObjectSecurity()
        return found

    def vary(self, item, chance):
        state = chance.choice(STATES)
        if state and item.portal_type != "File":
            api.content.transition(item, state)
        for who in chance.sample(["ann", "bob", "cleo", "pilots", "crew", "AuthenticatedUsers"], 2):
            if chance.random() < 0.4:
                item.manage_setLocalRoles(who, [chance.choice(ROLES)])
        if chance.random() < 0.2:
            item.__ac_local_roles_block__ = True
        if chance.random() < 0.2:
            item.setEffectiveDate(DateTime() + chance.choice((-2, 2)))
        if chance.random() < 0.2:
            item.setExpirationDate(DateTime() + chance.choice((-2, 2)))

    def test_given_random_sites_then_every_visitor_matches_what_plone_answers(self):
        compared = seen = 0
        for seed in range(4):
            objects = self.content(seed)
            told = {entry: set(effective_permissions(entry)) for entry in objects}
            for user in self.as_each():
                who = names(visitor(self.portal, self.layer["request"], "secret"))
                for entry in objects:
                    manager = getSecurityManager()
                    plain = bool(manager.checkPermission("View", entry))
                    may = viewable(entry)
                    matches = bool(who & told[entry])
                    where = (seed, user, entry.absolute_url(), told[entry])
                    self.assertFalse(matches and not plain, where)
                    self.assertEqual(matches, may, where)
                    compared += 1
                    seen += may
        self.assertEqual(compared, 4 * 21 * 7)
        self.assertTrue(50 < seen < compared - 50, seen)

    def test_given_names_of_roles_then_nobody_is_taken_for_a_role(self):
        api.group.create("Manager ")
        page = api.content.create(self.portal, "Document", "page")
        page.manage_setLocalRoles("Reviewer", ["Reader"])
        page.manage_setLocalRoles("ann", ["Reader"])
        told = effective_permissions(page)
        self.assertIn("user:ann", told)
        self.assertNotIn("user:Reviewer", told)
        self.assertNotIn("Owner", told)

    def test_given_the_catalog_then_the_same_names_where_dates_do_not_matter(self):
        page = api.content.create(self.portal, "Document", "page")
        page.manage_setLocalRoles("ann", ["Reader"])
        page.reindexObjectSecurity()
        catalog = self.portal.portal_catalog
        rid = catalog(UID=page.UID())[0].getRID()
        indexed = catalog.getIndexDataForRID(rid)["allowedRolesAndUsers"]
        self.assertEqual(set(effective_permissions(page)), set(indexed))

    def test_given_a_path_then_only_the_object_that_is_there(self):
        folder = api.content.create(self.portal, "Folder", "folder")
        api.content.create(self.portal, "Document", "page")
        self.assertEqual(object_at(self.portal, "/folder"), folder)
        for path in ("/folder/page", "/nothing", "/folder/@@view", "/acl_users/x", "/../folder"):
            self.assertIsNone(object_at(self.portal, path), path)

    def test_given_a_connector_then_it_is_told_and_others_are_not(self):
        page = api.content.create(self.portal, "Document", "page", title="Page")
        api.content.transition(page, "publish")
        page.manage_setLocalRoles("ann", ["Reader"])
        transaction.commit()
        uid = page.UID()
        for user, may in ((None, False), ("ann", False), ("eddy", False), ("sam", True)):
            listed = self.request("GET", f"@search?UID={uid}&fullobjects=1", user).json()
            components = listed["items"][0]["@components"]
            self.assertEqual("rag-permissions" in components, may, user)
            if may:
                told = components["rag-permissions"]["allowedRolesAndUsers"]
                self.assertEqual(told, ["Anonymous"])
            service = self.request("GET", "page/@rag-permissions", user)
            self.assertEqual(service.status_code, 200 if may else 401, user)
            many = self.request("GET", f"@rag-permissions?UID={uid}&UID=nothing", user)
            self.assertEqual(many.status_code, 200 if may else 401, user)
        self.assertEqual(many.json()["allowedRolesAndUsers"], {uid: ["Anonymous"]})
