"""What is in `deploy/` names only what exists."""

import json
import re
from pathlib import Path

from ragstone.metrics import Metrics

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
