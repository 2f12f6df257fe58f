"""What `schemathesis` finds: random requests to every operation, all checks, every dialect on.

`nox -s fuzz` runs it, for hours with 2,000 examples an operation; FUZZ_EXAMPLES=100 takes minutes.
"""

import json
import os
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.common import RAGSTONE
from benchmarks.row import Row
from benchmarks.startup import URL, start_server

ROOT = Path(__file__).parents[1]
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "2000"))
SCHEMATHESIS = ROOT / ".nox/fuzz" / "bin" / "schemathesis"

SERVER_ERRORS = ("ST101", "ST102")
"""Schemathesis' codes of responses that are 5xx."""

VIOLATIONS = tuple(f"ST{number}" for number in range(103, 112))
"""Those of responses that are not as the schema says."""


def run() -> list[Row]:
    report = _report()
    if not report["complete"]:
        raise RuntimeError(f"schemathesis did not end as it should: {report['stop_reason']}")
    found = Counter[str]()
    for failure in report["failures"]:
        found[failure["code"]] += failure["count"]
    errors = sum(found[code] for code in SERVER_ERRORS)
    violated = sum(found[code] for code in VIOLATIONS)
    others = found.total() - errors - violated
    tested, asked = report["operations"]["tested"], report["test_cases"]["generated"]
    named = ", ".join(f"{failure['title']}: {failure['count']}" for failure in report["failures"])
    return [
        Row("Operations fuzzed", tested, least=report["operations"]["total"]),
        Row("Random requests to them", asked, note=f"{EXAMPLES:,} examples an operation"),
        Row("Random requests answered by 5xx", errors, most=0),
        Row("Random requests answered otherwise than the schema says", violated, most=0),
        Row("Whatever else the fuzzer names", others, note=named, detail=True),
    ]


def _report() -> dict[str, Any]:
    """Fuzz a new server with example documents; schemathesis' report."""
    with tempfile.TemporaryDirectory() as directory:
        data, reports = Path(directory, "data"), Path(directory, "reports")
        environment = {**os.environ, "RAGSTONE_DATA": str(data)}
        documents = ROOT / "examples" / "documents"
        ingest = [RAGSTONE, "ingest", str(documents)]
        subprocess.run(ingest, env=environment, capture_output=True, check=True)
        with start_server(environment):
            token = json.loads((data / "server.json").read_text())["token"]
            subprocess.run(_command(token, reports), cwd=directory, check=False)
        [report] = reports.glob("json-*.json")
        return dict(json.loads(report.read_text()))


def _command(token: str, reports: Path) -> list[str]:
    return [
        str(SCHEMATHESIS),
        *("--config-file", str(ROOT / "tests" / "fuzz.toml"), "run", f"{URL}/openapi.json"),
        *("--checks", "all", "--max-examples", str(EXAMPLES), "--suppress-health-check", "all"),
        *("--header", f"Authorization: Bearer {token}"),
        *("--report", "json", "--report-dir", str(reports), "--no-color"),
    ]
