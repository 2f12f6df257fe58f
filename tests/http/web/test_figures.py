"""Pictures of documents in the web app: below the source that is cited, and in the document."""

from pathlib import Path

import pytest

from tests.e2e.processes import run
from tests.http.web.app import WebApp
from tests.service.test_document_pictures import CAPTION, manual, photo

pytestmark = pytest.mark.real

WIDTH = "return document.querySelector('{} img.picture')?.naturalWidth || 0"


def test_an_answer_that_cites_a_figure_shows_it_and_so_does_the_document(
    app: WebApp, tmp_path: Path
) -> None:
    path = manual(tmp_path / "boiler.docx", photo())
    assert run(app.data, "ingest", str(path)).returncode == 0
    app.model.says = (f"It is the cooling pump with its drain screw: {CAPTION} [1].",)
    app.ask("What does figure 3 show of the cooling pump and its drain screw?")
    app.until(lambda: app.run(WIDTH.format(".sources")) == 320 or None, "a picture by the source")
    shown = app.find(".sources img.picture")
    assert shown.get_attribute("src").startswith("blob:")
    app.go("#/documents/default/%2Fboiler.docx")
    app.until(lambda: app.run(WIDTH.format(".document")) == 320 or None, "a picture in the text")
    assert app.find(".document img.picture").get_attribute("alt") == CAPTION
