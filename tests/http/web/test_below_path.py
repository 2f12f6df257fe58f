"""The web app below a path of a site: a real nginx with the example of `deploy/`, in Chromium."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ragstone.service.server_file import local_token
from tests.browser import chromium
from tests.documents import copied
from tests.e2e.processes import serving
from tests.http.web.app import WebApp
from tests.model_server import model_server
from tests.nginx import nginx

pytestmark = pytest.mark.real

PATH = "/ragstone"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, indexed_documents: Path) -> Iterator[WebApp]:
    data = copied(indexed_documents, tmp_path_factory.mktemp("below") / "data")
    says = ("A full charge lasts 31 days without sun ", "[1].")
    with model_server(says=says) as model, chromium() as chrome:
        settings = {
            "LLM__MODEL": "some",
            "LLM__BASE_URL": model.url,
            "SERVER__PUBLIC_URL": PATH,
            "AUTH__GUESTS": "ask",
            "CACHE__ENABLED": "false",
        }
        impatient = {"proxy_read_timeout 75s": "proxy_read_timeout 5s"}
        with serving(data, **settings) as server, nginx(server, impatient) as site:
            yield WebApp(chrome, f"{site}{PATH}", data, model)


def requested_paths(app: WebApp) -> list[str]:
    """The paths of everything that the page has loaded and asked for."""
    found = app.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    return [urlsplit(item).path for item in found if item.startswith("http")]


def test_all_of_the_page_works_below_a_path(app: WebApp) -> None:
    # Longer than the proxy waits for.
    app.model.delay = 8.0
    app.open()

    answer = app.ask("How long does a full battery charge last without sun?")
    assert "31 days" in answer.text
    app.open("#/documents")
    app.says("lantern-3-manual.md")
    app.open("#/settings")
    app.find("main h1, main h2")

    paths = requested_paths(app)
    assert paths
    assert all(path.startswith(f"{PATH}/") for path in paths)
    assert [item for item in app.chrome.get_log("browser") if item["level"] == "SEVERE"] == []


def test_the_address_without_a_slash_leads_to_the_page(app: WebApp) -> None:
    app.chrome.get(app.url)

    app.find("#app > *")
    assert urlsplit(app.chrome.current_url).path == f"{PATH}/"


def test_the_page_of_operations_sends_them_below_the_path(app: WebApp) -> None:
    app.chrome.get(f"{app.url}/docs")

    app.run(
        "document.querySelector('form[data-path=\"/v1/models\"]').closest('details').open = true"
    )
    app.run("document.querySelector('form[data-path=\"/v1/models\"]').requestSubmit()")

    app.until(lambda: app.run("return document.body.innerText.includes('\"ragstone\"')") or None)
    assert f"{PATH}/v1/models" in requested_paths(app)


def test_the_sign_in_of_the_terminal_opens_the_page_and_its_cookie_stays_below(app: WebApp) -> None:
    app.chrome.get(f"{app.url}/login?token={local_token(app.data)}")

    assert urlsplit(app.chrome.current_url).path == f"{PATH}/"
    [cookie] = app.chrome.get_cookies()
    assert cookie["path"] == PATH
