"""How likely an answer is what was asked.

That a sentence stands in a document says nothing of whether it answers. Three numbers tell: how
surely the passages are of what is asked, how far the chosen units are ahead of the others in the
ranking, and what the reader makes of the text about them. A logistic regression over these makes a
probability; its weights are made by `training/answering_weights.py`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from ragstone.answer.extractive.unit_ranking import RankedUnit
from ragstone.core.answer import log_odds, probability
from ragstone.core.turn import Passage
from ragstone.language.language import detect
from ragstone.language.named import find_names
from ragstone.language.quantities import is_month, quantities
from ragstone.language.words import similar_words, words
from ragstone.verify.sufficiency import asks_amount, coverage

WEIGHTS = "answering.json"

SUREST = 2.0
"""Log-odds of the sureness above which it tells no more: passages that are of what is asked may
answer or not."""

MIN_SHARE = 1e-4
"""Shares nearer to 0 or 1 than this count as this."""

ROW_UNCOVERED = -8.0
"""Added to the log-odds of a row of a table, times the share of what is asked about that no passage
speaks of: the head of a department that no table has is none of the heads in it. No set that the
weights are fitted on asks this of tables. Of 219 answers over real documents four more were rightly
refused with this and `OTHER_THING`, and two wrongly."""

OTHER_THING = -4.0
"""Added to the log-odds where no passage has a code or a year of the question (ATtiny28,
memory_limit, 2021), of a row where not the row itself has it, and where the cited documents are of
another number of what the question names (Jest 30, for Jest 31): then it is of something else."""

MISSING_NAME = -2.0
"""Added to the log-odds where no passage has a word that the question writes with a capital inside:
of 6,500 questions of public sets in nine languages .02 have such a word although they are answered,
mostly misspelt, and of 3,000 that nothing answers .06."""

NO_AMOUNT = -2.0
"""Added to the log-odds where an amount is asked for and what answers best has no number: of 330
right answers over real documents and of public sets none is refused for it, and five more of 142
questions that nothing answers are."""

SENTENCE_WORDS = 6
"""Words of a cell from which its row says what a sentence says, in words of its own: they need not
be those of the question, as a label and heads do."""

CAPITAL_NOUNS = ("de", "lb")
"""Languages that write more than names with a capital."""

_CODE = re.compile(
    r"(?<![\w-])(?:(?:\w+-)*[^\W\d_]+\d\w*(?:-\w+)*|\w*[^\W\d_]\w*_\w*[^\W_]\w*)(?![\w-])"
    r"|(?<![\d.,])(?:1[5-9]|20)\d\d(?![\d.,]*\d)"
    r"|(?<![\w./@:-])(?:[\w-]+\.[a-z][a-z\d]{1,4}|[A-Z\d_-]+\.[A-Z][A-Z\d]{1,4})(?![\w./])"
)
"""A word with digits behind its letters or with an underscore inside, a year, or a file's name: a
file that could not be read is in no document, and another one does not answer for it."""

_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Letters of scripts that do not part words, or whose particles cling to a code, and so are none of
its."""

_CELL = re.compile(r"; (?=[^;:|]{1,60}: )| \| ")
_NUMBER = re.compile(r"(?<![\w-])\d[\d.,']*(?!\w)")


@dataclass(frozen=True, slots=True)
class _Model:
    weights: Mapping[str, float]
    bias: float


def likelihood(
    question: str,
    said: str,
    chosen: Sequence[RankedUnit],
    best: Sequence[RankedUnit],
    passages: Sequence[Passage],
    sure: float,
    shares_words: bool,
) -> float:
    """Return the probability (0..1) that what is `said`, which rests on the `chosen` ones of the
    `best` units, is what was asked. `sure` (0..1) is how surely the passages are of it at all. If
    what is said `shares_words` with the question, those that nothing speaks of count: not across
    languages, and not those of a comparison."""
    found = evidence(chosen, best, sure)
    model = _models()["read" if "read" in found else "unread"]
    odds = model.bias + sum(weight * found[name] for name, weight in model.weights.items())
    if shares_words:
        odds += _odds_of_missing_words(question, said, chosen, passages)
    if asks_amount(question) and not any(quantities(_text_said(unit)) for unit in chosen):
        odds += NO_AMOUNT
    return probability(odds)


def _text_said(item: RankedUnit) -> str:
    """Return the text that is said if a unit is chosen."""
    return "\n".join(item.passage.text[said.start : said.end] for said in item.unit.said)


def evidence(
    chosen: Sequence[RankedUnit], best: Sequence[RankedUnit], sure: float
) -> dict[str, float]:
    """What speaks for the chosen units: `sureness`, the log-odds that the passages are of what is
    asked, at most `SUREST`; `share`, the log-odds of their share among all, by the ranker's odds;
    and `read`, the log-odds that the text about them answers, where the reader could read it."""
    taken = {(id(unit.passage), unit.place) for unit in chosen}
    scores = np.array([unit.score for unit in best])
    odds = np.exp(scores - scores.max())
    mine = np.array([(id(unit.passage), unit.place) in taken for unit in best])
    found = {
        "sureness": min(SUREST, log_odds(sure, MIN_SHARE)),
        "share": log_odds(float(odds[mine].sum() / odds.sum()), MIN_SHARE),
    }
    read = [unit.reading.odds for unit in chosen if unit.reading]
    return found | ({"read": max(read)} if read else {})


def _odds_of_missing_words(
    question: str, said: str, chosen: Sequence[RankedUnit], passages: Sequence[Passage]
) -> float:
    """Return what is added to the log-odds for what the question names and nothing speaks of."""
    is_row = chosen[0].unit.form == "row"
    cited = [unit.passage.hit.chunk for unit in chosen]
    about = "\n".join(
        [f"{chunk.heading}\n{chunk.path}\n{chunk.subject}" for chunk in cited]
        + [unit.unit.context for unit in chosen]
    )
    everywhere = "\n".join(f"{p.hit.chunk.heading}\n{p.text}" for p in passages)
    odds = 0.0
    if is_row and not _says_sentence(chosen[0]):
        # A number of the question may lie in a range of the row.
        asked = _NUMBER.sub(" ", question)
        odds += ROW_UNCOVERED * (1 - coverage(asked, (everywhere, about))[0])
    titled = "\n".join(f"{chunk.title}\n{chunk.path}" for chunk in cited)
    whole = "\n".join([about, *(unit.passage.text for unit in chosen)])
    is_without_code = lacks_code(question, f"{said if is_row else everywhere}\n{about}")
    if is_without_code or _is_of_another_number(question, titled, whole):
        odds += OTHER_THING
    elif _numbers_otherwise(
        question, [about, *(f"{p.hit.chunk.title}\n{p.text}" for p in passages)]
    ):
        odds += MISSING_NAME
    if _lacks_name(question, f"{everywhere}\n{about}".casefold()):
        odds += MISSING_NAME
    return odds


def _says_sentence(row: RankedUnit) -> bool:
    """Tell whether a cell of a row holds a sentence: so many words, besides its head, and half of
    the row's. A record of many fields may have a long one too."""
    cells = _CELL.split(row.passage.text[row.unit.start : row.unit.end])
    lengths = [sum(map(str.isalpha, words(cell.partition(": ")[2] or cell))) for cell in cells]
    return max(lengths) >= max(SENTENCE_WORDS, sum(lengths) / 2)


def lacks_code(question: str, text: str) -> bool:
    """Tell whether a text lacks a code of the question, with and without its hyphens."""
    codes = [code.group().casefold() for code in _CODE.finditer(_UNSPACED.sub(" ", question))]
    spelt = text.casefold() if codes else ""
    return any(
        not any(code.replace("-", joint) in spelt for joint in ("-", " ", "")) for code in codes
    )


def _lacks_name(question: str, text: str) -> bool:
    """Tell whether a text, in small letters, lacks a name of the question; a month may be a
    number."""
    if detect(question) in CAPITAL_NOUNS:
        return False
    written = find_names(question).written
    absent = {word for word in written if word not in text and not is_month(word)}
    return bool(absent - similar_words(absent, text))


def _is_of_another_number(question: str, titled: str, text: str) -> bool:
    """Tell whether titles and paths number a thing that the question names otherwise, and neither
    they nor the text say its number."""
    others = find_names(titled).numbered
    names = {other.name for other in others}
    numbered = [
        asked for asked in find_names(question).numbered if asked.name and asked.name in names
    ]
    held = others | find_names(text).numbered if numbered else others
    return any(
        not any(asked.name == other.name and asked.same(other) for other in held)
        for asked in numbered
    )


def _numbers_otherwise(question: str, texts: Sequence[str]) -> bool:
    """Tell whether texts number a thing that the question names, and never as the question."""
    asked = find_names(question).numbered
    held = {other for text in texts if asked for other in find_names(text).numbered}
    names = {other.name for other in held}
    return any(item.name in names and not any(item.same(other) for other in held) for item in asked)


@cache
def _models() -> Mapping[str, _Model]:
    data = files("ragstone.answer.extractive").joinpath(f"data/{WEIGHTS}")
    return {
        name: _Model(model["weights"], model["bias"])
        for name, model in json.loads(data.read_text(encoding="utf-8")).items()
    }
