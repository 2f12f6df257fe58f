"""Plone 6 add-on: questions about a site, answered by Ragstone with the site's permissions."""

from zope.i18nmessageid import MessageFactory

_ = MessageFactory("ragstone_plone")
