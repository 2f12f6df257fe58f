"""A real Plone site with the add-on, served over HTTP."""

import os

# Plone compiles the translations of packages at its start; it reads this when it is imported.
os.environ.setdefault("zope_i18n_compile_mo_files", "1")

from plone.app.contenttypes.testing import PLONE_APP_CONTENTTYPES_FIXTURE
from plone.app.testing import (
    FunctionalTesting,
    PloneSandboxLayer,
    applyProfile,
)
from plone.testing.zope import WSGI_SERVER_FIXTURE


class AddOn(PloneSandboxLayer):
    defaultBases = (PLONE_APP_CONTENTTYPES_FIXTURE,)  # noqa: N815

    def setUpZope(self, app, configurationContext):
        import plone.restapi

        import ragstone_plone

        self.loadZCML(package=plone.restapi)
        self.loadZCML(package=ragstone_plone)

    def setUpPloneSite(self, portal):
        portal.portal_workflow.setDefaultChain("simple_publication_workflow")
        applyProfile(portal, "plone.restapi:default")
        applyProfile(portal, "ragstone_plone:default")


ADD_ON = AddOn()
SITE = FunctionalTesting(bases=(ADD_ON, WSGI_SERVER_FIXTURE), name="ragstone_plone:Site")
