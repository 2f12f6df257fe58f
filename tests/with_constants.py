"""`python -m tests.with_constants ...`: the real command line, with the constants changed that the
variable TEST_CONSTANTS names, as JSON: `{"ragstone.jobs.ending.RETRIES": 0}`."""

import importlib
import json
import os
from pathlib import Path
from typing import Any


def constants(changes: dict[str, Any]) -> dict[str, str]:
    """The variable of these changes."""
    root = str(Path(__file__).parents[1])
    return {"TEST_CONSTANTS": json.dumps(changes), "PYTHONPATH": root}


def change_constants() -> None:
    """Change the constants that the environment names."""
    for name, value in json.loads(os.environ.get("TEST_CONSTANTS", "{}")).items():
        module, _, constant = name.rpartition(".")
        found = importlib.import_module(module)
        getattr(found, constant)
        setattr(found, constant, value)


if __name__ == "__main__":
    from ragstone.cli import main

    change_constants()
    main()
