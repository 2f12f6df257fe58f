"""The shell asks the command itself what can follow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RAGSTONE = Path(sys.executable).with_name("ragstone")


def complete(shell: str, *words: str) -> str:
    line = " ".join(("ragstone", *words))
    asked = {
        f"_{RAGSTONE.name.upper()}_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    return subprocess.run(
        [RAGSTONE], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    ).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_options_and_values_are_completed(shell: str) -> None:
    assert "conversations" in complete(shell, "co")
    assert "comments" in complete(shell, "co"), "a plugin's"
    assert "--level" in complete(shell, "ask", "--le")
    assert "maximum" in complete(shell, "ask", "--level", "")
