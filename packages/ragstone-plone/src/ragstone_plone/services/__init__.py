"""The services of Plone's RAG document, inside the site."""
