"""examples/notebook.py runs as it stands; the documentation's own tests run docs/python.md."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_notebook(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "notebook.py")],
        env={**os.environ, "RAGSTONE_DATA": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 indexed, 0 unchanged, 0 failed" in done.stdout
    assert "Revenue was 48.6 million euros in 2024" in done.stdout
    assert "[1] Northmoor Instruments: annual report 2024, page 2" in done.stdout
