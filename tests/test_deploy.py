"""What is in `deploy/` names only what exists."""

import json
import re
from pathlib import Path

import yaml

from ragstone.settings import Settings
from ragstone.telemetry.metrics import Metrics

DEPLOY = Path(__file__).parents[1] / "deploy"


def test_the_dashboard_shows_figures_that_there_are() -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "ragstone.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"ragstone_\w+", target["expr"])
    }
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
    return found


def test_every_variable_that_is_set_is_a_setting() -> None:
    known = {
        f"{section}__{name}".upper()
        for section, field in Settings.model_fields.items()
        if hasattr(field.annotation, "model_fields")
        for name in field.annotation.model_fields  # type: ignore[union-attr]
    }
    assert _variables() - known == set()


def test_containers_run_as_an_ordinary_user_with_probes() -> None:
    docker = (DEPLOY / "Dockerfile").read_text()
    assert "\nUSER 10001\n" in docker
    assert "HEALTHCHECK" in docker
    manifests = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "ragstone.yaml").read_text()))
    [deployment] = [one for one in manifests if one["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    [container] = pod["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/ready"
    assert container["livenessProbe"]["httpGet"]["path"] == "/health"
