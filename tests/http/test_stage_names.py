"""The web app has words for everything that a trace names."""

import re
from pathlib import Path

import ragstone
from ragstone.recipes.stages import STAGES

ROOT = Path(ragstone.__file__).parent
ANSWER = (ROOT / "http/web/static/answer.js").read_text(encoding="utf-8")
PART = re.compile(r'run_part\(\s*\w+,\s*"(\w+)"')


def test_every_stage_and_part_of_one_has_a_name_for_people() -> None:
    parts = {
        name
        for file in ROOT.rglob("*.py")
        for name in PART.findall(file.read_text(encoding="utf-8"))
    }
    named = set(re.findall(r"(\w+): \"", ANSWER.partition("const STAGES")[2].partition("};")[0]))

    assert {"memory", "intent", "sum_up"} <= parts
    assert parts | set(STAGES) <= named
