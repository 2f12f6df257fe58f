"""The control panel, for classic Plone and for Volto. The secret is written, and never shown."""

from __future__ import annotations

from typing import Any

from AccessControl import getSecurityManager
from plone.app.registry.browser.controlpanel import ControlPanelFormWrapper, RegistryEditForm
from plone.restapi.controlpanels import RegistryConfigletPanel
from plone.restapi.controlpanels.interfaces import IControlpanel
from plone.restapi.deserializer.controlpanels import ControlpanelDeserializeFromJson
from plone.restapi.interfaces import IDeserializeFromJson, ISerializeToJson
from plone.restapi.serializer.controlpanels import ControlpanelSerializeToJson
from plone.z3cform import layout
from zExceptions import Unauthorized
from zope.component import adapter
from zope.interface import Interface, implementer

from ragstone_plone import _
from ragstone_plone.interfaces import PREFIX, IRagSettings, IRagstoneLayer

SECRET = "ragstone_secret"  # noqa: S105
CONFIGURE = "ragstone_plone: Configure"


class SettingsForm(RegistryEditForm):
    schema = IRagSettings
    schema_prefix = PREFIX
    label = _("Ragstone")
    description = _("Answers questions from the content of this site, with its permissions.")

    def updateWidgets(self, prefix: str | None = None) -> None:  # noqa: N802
        super().updateWidgets(prefix)
        self.widgets[SECRET].value = ""

    def applyChanges(self, data: dict[str, Any]) -> Any:  # noqa: N802
        # The field is always shown empty.
        kept = {name: value for name, value in data.items() if name != SECRET or value}
        return super().applyChanges(kept)


SettingsView = layout.wrap_form(SettingsForm, ControlPanelFormWrapper)


class IRagstonePanel(IControlpanel):
    """The control panel in plone.restapi."""


@implementer(IRagstonePanel)
@adapter(Interface, IRagstoneLayer)
class Panel(RegistryConfigletPanel):
    schema = IRagSettings
    schema_prefix = PREFIX
    configlet_id = "ragstone"
    configlet_category_id = "Products"

    def check(self) -> None:
        """Raise Unauthorized for who may see control panels, but not this one."""
        if not getSecurityManager().checkPermission(CONFIGURE, self.context):
            raise Unauthorized(f"This needs the permission {CONFIGURE!r}.")


@implementer(ISerializeToJson)
@adapter(IRagstonePanel)
class PanelToJson(ControlpanelSerializeToJson):
    def __call__(self) -> dict[str, Any]:
        self.controlpanel.check()
        found = super().__call__()
        found["data"][SECRET] = ""
        return found


@implementer(IDeserializeFromJson)
@adapter(IRagstonePanel)
class PanelFromJson(ControlpanelDeserializeFromJson):
    def __call__(self, mask_validation_errors: bool = True) -> Any:
        self.controlpanel.check()
        records = self.registry.forInterface(self.schema, prefix=self.schema_prefix)
        before = records.ragstone_secret
        done = super().__call__(mask_validation_errors)
        if not records.ragstone_secret:
            records.ragstone_secret = before
        return done
