"""What operators run beside Ragstone: each is named in docs/dialects.md."""

import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.clients.conftest import QUESTION, ROOT, installed, other_server, program
from tests.documents import copied
from tests.e2e.processes import serving
from tests.patience import PATIENCE
from tests.ports import free_port

pytestmark = pytest.mark.real

DEPLOY = ROOT / "deploy"
TOKEN = "of the figures"
PROMETHEUS = "usr/bin/prometheus"
PROMTOOL = "usr/bin/promtool"


def got(url: str, token: str = "", body: dict[str, Any] | None = None) -> str:
    """The text at an address."""
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        return str(response.read().decode())


def asked(url: str) -> None:
    """A question that is answered."""
    body = {"model": "ragstone", "messages": [{"role": "user", "content": QUESTION}]}
    assert "31 days" in got(f"{url}/v1/chat/completions", body=body)


def promtool(*arguments: str, given: str = "") -> str:
    """What promtool says, and that it finds nothing."""
    command = [str(installed(".nox/prometheus") / PROMTOOL), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def data(tmp_path: Path, indexed_documents: Path) -> Path:
    return copied(indexed_documents, tmp_path / "data")


@pytest.fixture
def ragstone(data: Path) -> Iterator[str]:
    with serving(data, SERVER__METRICS_TOKEN=TOKEN) as url:
        asked(url)
        yield url


def test_promtool(ragstone: str) -> None:
    figures = got(f"{ragstone}/metrics", TOKEN)
    assert "ragstone_questions_total{" in figures
    assert promtool("check", "metrics", given=figures) == ""
    assert "9 rules found" in promtool("check", "rules", str(DEPLOY / "prometheus/rules.yaml"))


def test_the_alerts_fire_when_they_should_and_not_before() -> None:
    promtool("test", "rules", str(Path(__file__).with_name("alerts.yaml")))


def test_prometheus(ragstone: str, tmp_path: Path) -> None:
    """The configuration that is shipped, and every query of the dashboard and of the alerts."""
    given = (DEPLOY / "prometheus/prometheus.yaml").read_text(encoding="utf-8")
    config = tmp_path / "prometheus.yaml"
    # Twice a second instead of once a minute.
    often = "global: {scrape_interval: 500ms, scrape_timeout: 500ms}\n"
    config.write_text(often + given.replace("localhost:8006", ragstone.removeprefix("http://")))
    rules = (DEPLOY / "prometheus/rules.yaml").read_text(encoding="utf-8")
    (tmp_path / "rules.yaml").write_text(rules)
    (tmp_path / "ragstone-metrics-token").write_text(TOKEN)
    promtool("check", "config", str(config))
    port = free_port()
    command = [
        str(installed(".nox/prometheus") / PROMETHEUS),
        f"--config.file={config}",
        f"--storage.tsdb.path={tmp_path / 'series'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with other_server(command, port, "/-/ready", tmp_path) as url:

        def found(query: str) -> list[Any]:
            said = json.loads(got(f"{url}/api/v1/query?{urlencode({'query': query})}"))
            assert said["status"] == "success", said
            return list(said["data"]["result"])

        deadline = time.monotonic() + PATIENCE
        while not found('up{job="ragstone"} == 1'):
            assert time.monotonic() < deadline, got(f"{url}/api/v1/targets")
            time.sleep(0.2)
        [questions] = found("sum(ragstone_questions_total)")
        assert questions["value"][1] == "1"
        queries = set(expressions(json.loads((DEPLOY / "grafana/ragstone.json").read_text())))
        assert len(queries) > 10
        for query in queries:
            found(query.replace("$__rate_interval", "1m"))
        alerts = json.loads(got(f"{url}/api/v1/rules"))["data"]["groups"][0]["rules"]
        assert {alert["health"] for alert in alerts} <= {"ok", "unknown"}
        # A figure that no rule or panel finds has another name.
        names = json.loads(got(f"{url}/api/v1/label/__name__/values"))["data"]
        assert "ragstone_first_token_seconds_bucket" in names
        assert "ragstone_stage_seconds_count" in names


def expressions(part: Any) -> Iterator[str]:
    """The queries of a dashboard."""
    if isinstance(part, dict):
        if isinstance(part.get("expr"), str):
            yield part["expr"]
        part = list(part.values())
    if isinstance(part, list):
        for item in part:
            yield from expressions(item)


def test_otlp_collector(data: Path, tmp_path: Path) -> None:
    """Arize Phoenix, which keeps the spans that it is sent and shows them."""
    port = free_port()
    own = {
        "PHOENIX_WORKING_DIR": str(tmp_path),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    command = [str(program(".nox/phoenix", "phoenix")), "serve"]
    with other_server(command, port, "/healthz", tmp_path, **own) as collector:
        # What is left is sent when the server ends.
        with serving(data, TELEMETRY__ENDPOINT=collector) as url:
            asked(url)
        deadline = time.monotonic() + PATIENCE
        spans: list[Any] = []
        while "POST" not in {span["name"] for span in spans}:
            assert time.monotonic() < deadline, spans
            kept = got(f"{collector}/v1/projects/default/spans?limit=1000")
            spans = json.loads(kept)["data"]
            time.sleep(0.2)
    trace = next(span["context"]["trace_id"] for span in spans if span["name"] == "POST")
    mine = [span for span in spans if span["context"]["trace_id"] == trace]
    ids = {item["context"]["span_id"]: item["name"] for item in mine}
    [question] = [item for item in mine if item["name"] == "ragstone.question"]
    assert ids[question["parent_id"]] == "POST"
    assert question["attributes"]["ragstone.finish"] == "stop"
    stages = [item for item in mine if item["name"].startswith("ragstone.engine.stage ")]
    assert len(stages) > 5
    assert {ids[stage["parent_id"]] for stage in stages} == {"ragstone.question"}
    assert QUESTION not in kept
