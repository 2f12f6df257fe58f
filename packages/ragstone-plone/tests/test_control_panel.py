"""The control panel in classic Plone and in Volto, and what installing leaves and takes away."""

import transaction
from plone import api
from plone.app.testing import SITE_OWNER_NAME, SITE_OWNER_PASSWORD, applyProfile
from plone.registry.interfaces import IRegistry
from plone.testing.zope import Browser
from Products.CMFPlone.utils import get_installer
from zope.component import getUtility
from zope.i18n import translate

from ragstone_plone import _
from ragstone_plone.interfaces import PREFIX
from ragstone_plone.outbox import outbox_of
from tests.case import SiteCase

PRINTED = (
    "rag_content_types",
    "rag_system_prompt",
    "rag_no_answer_message",
    "rag_error_message",
    "rag_llm_temperature",
    "rag_llm_max_tokens",
    "rag_boost_bm25",
    "rag_boost_knn",
    "rag_title_boost_factor",
    "rag_score_high_threshold",
    "rag_score_medium_threshold",
)
SECRET = "a secret that nobody is shown"


def record(name):
    return api.portal.get_registry_record(f"{PREFIX}.{name}")


class ControlPanel(SiteCase):
    def browser(self, user=SITE_OWNER_NAME, password=SITE_OWNER_PASSWORD):
        browser = Browser(self.app)
        browser.handleErrors = True
        browser.raiseHttpErrors = False
        browser.addHeader("Authorization", f"Basic {user}:{password}")
        return browser

    def test_given_the_documents_names_then_each_is_a_record_and_a_field(self):
        names = set(getUtility(IRegistry).records.keys())
        browser = self.browser()
        browser.open(f"{self.url}/@@ragstone-settings")
        for name in PRINTED:
            self.assertIn(f"wcs.backend.{name}", names)
            self.assertTrue(f'name="form.widgets.{name}"' in browser.contents, name)
        types = record("rag_content_types")
        self.assertEqual(types[:6], ["ContentPage", "News", "File", "Contact", "Book", "Chapter"])
        self.assertLessEqual({"Document", "News Item", "Event", "Folder"}, set(types))

    def test_given_the_classic_form_then_it_is_saved_and_the_secret_is_never_shown(self):
        browser = self.browser()
        browser.open(f"{self.url}/@@overview-controlpanel")
        browser.getLink("Ragstone").click()
        browser.getControl(name="form.widgets.ragstone_url").value = "http://127.0.0.1:8006"
        browser.getControl(name="form.widgets.ragstone_secret").value = SECRET
        browser.getControl(name="form.widgets.rag_llm_temperature").value = "0.3"
        browser.getControl(name="form.widgets.rag_content_types").value = "Document\nFile"
        browser.getControl("Save").click()
        self.assertTrue("Changes saved" in browser.contents)
        self.assertFalse(SECRET in browser.contents)
        transaction.begin()
        self.assertEqual(record("ragstone_secret"), SECRET)
        self.assertEqual(record("rag_llm_temperature"), 0.3)
        self.assertEqual(record("rag_content_types"), ["Document", "File"])
        browser.open(f"{self.url}/@@ragstone-settings")
        browser.getControl(name="form.widgets.ragstone_url").value = "http://127.0.0.1:8007"
        browser.getControl("Save").click()
        transaction.begin()
        self.assertEqual(record("ragstone_url"), "http://127.0.0.1:8007")
        self.assertEqual(record("ragstone_secret"), SECRET)

    def test_given_volto_then_it_reads_and_saves_without_the_secret(self):
        self.configure(ragstone_secret=SECRET)
        panel = "@controlpanels/ragstone"
        shown = self.request("GET", panel, SITE_OWNER_NAME)
        self.assertEqual(shown.status_code, 200, shown.text)
        self.assertLessEqual(set(PRINTED), set(shown.json()["data"]))
        self.assertNotIn(SECRET, shown.text)
        for sent in ({"rag_top_k": 8, "ragstone_secret": ""}, {"rag_error_message": "Sorry."}):
            saved = self.request("PATCH", panel, SITE_OWNER_NAME, json=sent)
            self.assertEqual(saved.status_code, 204, saved.text)
        wrong = self.request("PATCH", panel, SITE_OWNER_NAME, json={"rag_llm_temperature": 7.5})
        self.assertEqual(wrong.status_code, 400)
        transaction.begin()
        self.assertEqual((record("rag_top_k"), record("rag_error_message")), (8, "Sorry."))
        self.assertEqual(record("ragstone_secret"), SECRET)
        listed = self.request("GET", "@controlpanels", SITE_OWNER_NAME).json()
        self.assertIn("Ragstone", [item["title"] for item in listed])

    def test_given_who_may_not_then_the_control_panel_is_closed(self):
        ann, sam = self.user("ann"), self.user("samuel", "Site Administrator")
        for user in (None, ann, sam):
            for method, path in (
                ("GET", "@controlpanels/ragstone"),
                ("PATCH", "@controlpanels/ragstone"),
            ):
                answer = self.request(method, path, user, json={"rag_top_k": 3})
                self.assertEqual(answer.status_code, 401, (method, user))
        browser = self.browser(ann, "a Password of t3sts!")
        browser.open(f"{self.url}/@@ragstone-settings")
        self.assertFalse("form.widgets.ragstone_secret" in browser.contents)
        transaction.begin()
        self.assertIsNone(record("rag_top_k"))

    def test_given_german_then_the_fields_are_german(self):
        self.assertEqual(translate(_("Secret"), target_language="de"), "Geheimnis")
        browser = self.browser()
        browser.addHeader("Accept-Language", "de")
        api.portal.get_tool("portal_languages").addSupportedLanguage("de")
        api.portal.set_registry_record("plone.use_request_negotiation", True)
        transaction.commit()
        browser.open(f"{self.url}/@@ragstone-settings")
        self.assertTrue("Systemprompt" in browser.contents)

    def test_given_it_is_uninstalled_then_nothing_is_left(self):
        installer = get_installer(self.portal, self.layer["request"])
        self.assertTrue(installer.is_product_installed("ragstone_plone"))
        self.assertTrue(installer.uninstall_product("ragstone_plone"))
        page = api.content.create(self.portal, "Document", "page")
        transaction.commit()
        names = getUtility(IRegistry).records.keys()
        self.assertEqual([name for name in names if "rag" in name and name.startswith(PREFIX)], [])
        self.assertIsNone(outbox_of(self.portal))
        ids = [listAction.id for listAction in self.portal.portal_controlpanel.listActions()]
        self.assertNotIn("ragstone", ids)
        self.assertEqual(self.request("GET", "@rag-status").status_code, 404)
        self.assertEqual(
            self.request("GET", "@controlpanels/ragstone", SITE_OWNER_NAME).status_code, 404
        )
        plain = self.request("GET", "page", SITE_OWNER_NAME).json()
        self.assertNotIn("rag-permissions", plain["@components"])
        applyProfile(self.portal, "ragstone_plone:default")
        page.reindexObject()
        transaction.commit()
        self.assertIn(page.UID(), self.waiting())
