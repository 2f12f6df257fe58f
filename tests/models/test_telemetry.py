"""ONNX Runtime keeps and sends nothing, in whichever order a program imports."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
{imports}
with ragstone.Client(sys.argv[1]) as rag:
    rag.ingest(sys.argv[2])
"""


def _run(place: Path, imports: str) -> str:
    """What a program says that begins with `imports`; the user's home is below `place`."""
    (place / "home").mkdir()
    (place / "hours.txt").write_text("The museum opens at nine.")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ORT_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(imports=imports), "data", "hours.txt"],
        env={**kept, "HOME": str(place / "home")},
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


def test_given_ragstone_first_then_nothing_is_kept_of_the_user(tmp_path: Path) -> None:
    assert "telemetry" not in _run(tmp_path, "import ragstone, onnxruntime")
    assert not list((tmp_path / "home").iterdir())


def test_given_onnxruntime_first_then_a_warning_says_what_to_do(tmp_path: Path) -> None:
    assert "set ORT_DISABLE_TELEMETRY=1" in _run(tmp_path, "import onnxruntime, ragstone")
