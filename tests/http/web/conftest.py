"""One server and one browser for all tests of the web app: each takes seconds to start."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import chromium
from tests.documents import copied
from tests.e2e.processes import serving
from tests.http.web.app import WebApp
from tests.model_server import model_server


@pytest.fixture(scope="package")
def started(tmp_path_factory: pytest.TempPathFactory, indexed_documents: Path) -> Iterator[WebApp]:
    data = copied(indexed_documents, tmp_path_factory.mktemp("web") / "data")
    with model_server() as model, chromium() as chrome:
        llm = {"LLM__MODEL": "some", "LLM__BASE_URL": model.url, "LLM__RETRIES": "0"}
        with serving(data, AUDIT__FOLDER=str(data / "trail"), **llm) as url:
            yield WebApp(chrome, url, data, model)


@pytest.fixture
def app(started: WebApp) -> WebApp:
    """The page with nothing remembered, and a model that answers as usual."""
    started.model.says = ("A full charge lasts 31 days without sun ", "[1].")
    started.model.pause = 0.0
    started.model.way = "good"
    started.chrome.get(f"{started.url}/health")
    started.run("sessionStorage.clear(); localStorage.clear()")
    started.chrome.get_log("browser")
    started.forget()
    started.open()
    return started
