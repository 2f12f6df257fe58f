"""How likely an answer is what was asked: logistic regressions over `answering_evidence`.

The weights are made by `training/answering_weights.py`.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ragstone.answer.extractive.answering_evidence import CLOSE_NAMES, READ_NAMES, Evidence
from ragstone.language.language import detect
from ragstone.language.words import mostly_in_pairs

WEIGHTS = "answering.json"

OTHER_THING = -1.5
"""Added to the log-odds of a way to do something where the cited passages lack a name of the
question: it is the way with another tool or on another system. Of 117 answers to such questions
over real documents 14 lacked one, and none of these was right; of the others 65 were. German writes
every noun as a name."""

ROW_UNCOVERED = -8.0
"""Added to the log-odds of a row of a table, times the share of what is asked about that no passage
speaks of: the head of a department that no table has is none of the heads in it. Set by hand: of
221 questions over real documents, four rows more were rightly refused and one wrongly."""

CODE_MISSING, OTHER_NUMBER = -3.0, -3.0
"""Added to the log-odds where no passage has a code of the question, and where the cited documents
are of another number of what it names. Set by hand, as nothing else can be meant."""


@dataclass(frozen=True, slots=True)
class _Model:
    weights: Mapping[str, float]
    bias: float


def likelihood(
    question: str, evidence: Evidence, across: bool, how_to: bool = False, shows: bool = False
) -> float:
    """The probability (0..1) that what the evidence was taken of is what was asked. `how_to` says
    that it is asked how something is done. What `shows` that by code is judged half without the
    reader, which learned from prose."""
    in_pairs = mostly_in_pairs(question)
    odds = _odds(which(evidence, across, in_pairs), evidence)
    if shows:
        bare = {name: value for name, value in evidence.items() if name not in READ_NAMES}
        odds = (odds + _odds(which(bare, across, in_pairs), bare)) / 2
    if how_to and evidence["names_missing"] and not across and detect(question) != "de":
        odds += OTHER_THING
    if not across:
        odds += ROW_UNCOVERED * evidence["row_uncovered"]
        odds += CODE_MISSING * evidence["codes_missing"]
    odds += OTHER_NUMBER * evidence["other_number"]
    return 1 / (1 + math.exp(-min(max(odds, -30.0), 30.0)))


def _odds(name: str, evidence: Evidence) -> float:
    model = _models()[name]
    return model.bias + sum(weight * evidence[one] for one, weight in model.weights.items())


def which(evidence: Evidence, across: bool, in_pairs: bool) -> str:
    """The model's name: whether question and passages are in different languages, there are token
    vectors, or words are compared as such or by pairs of characters; and whether there was a
    reader."""
    if across:
        kind = "across"
    elif CLOSE_NAMES[0] in evidence:
        kind = "tokens"
    else:
        kind = "pairs" if in_pairs else "words"
    return f"{kind} read" if READ_NAMES[0] in evidence else kind


@cache
def _models() -> Mapping[str, _Model]:
    data = files("ragstone.answer.extractive").joinpath(f"data/{WEIGHTS}")
    return {
        name: _Model(model["weights"], model["bias"])
        for name, model in json.loads(data.read_text(encoding="utf-8")).items()
    }
