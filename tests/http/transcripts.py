"""Golden transcripts: requests as the documents print them, and all that must come back.

A file holds `request` (method, path, json, headers) and, besides `status`, either `json` or
`events`, whose names are `message` unless `names` has them. Texts in angle brackets stand for what
cannot be known before: `<seconds>` and `<number>` for a number, `<id>` for a text, `<any>` for
anything.
"""

import json
from pathlib import Path
from typing import Any

import httpx
from httpx_sse import connect_sse

from tests.patience import PATIENCE

HERE = Path(__file__).parent / "transcripts"


def transcripts(dialect: str) -> list[Path]:
    """The files of a dialect."""
    return sorted((HERE / dialect).glob("*.json"))


def replayed(url: str, file: Path) -> None:
    """Send the request to a real server and compare all that comes back."""
    golden = json.loads(file.read_text(encoding="utf-8"))
    request = {"method": "POST", **golden["request"]}
    path = request.pop("path")
    with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) as client:
        if "events" in golden:
            method = request.pop("method")
            with connect_sse(client, method, path, **request) as source:
                assert source.response.status_code == golden["status"]
                assert source.response.headers["content-type"].startswith("text/event-stream")
                found = list(source.iter_sse())
                same([data(event.data) for event in found], golden["events"], file.stem)
                assert [event.event for event in found] == names(golden)
        else:
            response = client.request(url=path, **request)
            assert response.status_code == golden["status"], response.text
            same(response.json(), here(golden["json"], url), file.stem)


def same(found: Any, golden: Any, place: str) -> None:
    """Fail with the place where the two differ."""
    if isinstance(golden, dict):
        assert isinstance(found, dict), place
        assert sorted(found) == sorted(golden), place
        for name, value in golden.items():
            same(found[name], value, f"{place}.{name}")
    elif isinstance(golden, list):
        assert isinstance(found, list), place
        assert len(found) == len(golden), f"{place}: {found}"
        for number, (item, value) in enumerate(zip(found, golden, strict=True)):
            same(item, value, f"{place}[{number}]")
    elif golden in ("<seconds>", "<number>"):
        assert isinstance(found, int | float), place
        assert found >= 0, place
    elif golden == "<id>":
        assert isinstance(found, str), place
        assert found, place
    elif golden != "<any>":
        assert found == golden, place


def names(golden: Any) -> list[str]:
    """The names of the events."""
    return golden.get("names", ["message"] * len(golden["events"]))


def data(text: str) -> Any:
    """What an event's text says."""
    return text if text == "[DONE]" else json.loads(text)


def here(golden: Any, url: str) -> Any:
    """The same with the address of the server."""
    return json.loads(json.dumps(golden).replace("http://here", url))
