"""The size of the default installation: a new virtual environment with nothing else in it."""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.row import Row

ROOT = Path(__file__).parents[1]


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.executable, "-m", "venv", directory], check=True)
        pip = [f"{directory}/bin/pip", "install", "-q", "--no-compile"]
        subprocess.run([*pip, str(ROOT)], check=True, capture_output=True)
        packages = Path(directory, "lib").glob("python*/site-packages/**/*")
        size = sum(file.stat().st_size for file in packages if file.is_file())
    return [Row("Installed size of the default set-up", size / 1e6, "MB", most=600)]
