"""Whether a word that no list holds is made of words that one does."""

from collections.abc import Callable
from typing import Literal

Known = Callable[[str], bool]
Form = Literal["", "prefixed", "compound"]

_LISTED = (
    "un re non anti pre post over under sub super inter intra trans micro macro neuro hyper hypo "
    "multi poly mono auto bio cyto immuno counter cardio photo thermo electro hydro geo psycho "
    "socio extra ultra semi mega meta para peri endo exo epi onco osteo hepato nephro myo lipo "
    "glyco phospho pro tri tetra di bi co de dis mis out"
)
_PREFIXES = tuple(_LISTED.split())
_ENDINGS = ("s", "es", "d", "ed", "ing", "al", "ic", "ly")
_VERBAL = ("e", "es", "ed", "ing", "ion", "ions", "or", "ors")
"""What a verb may end in, itself and as a noun: none of these is a usual slip for another."""

_STEM = 5
_LEAST = 4
"""Letters that a part must have: shorter ones are found in most misspelt words."""


def form(word: str, known: Known) -> Form:
    """`microerythrocyte` is a prefix and a known word, `lacemaker` two known words."""
    for prefix in _PREFIXES:
        rest = word.removeprefix(prefix)
        if rest != word and len(rest) >= _LEAST and known(rest):
            return "prefixed"
    for cut in range(_LEAST, len(word) - _LEAST + 1):
        if known(word[:cut]) and known(word[cut:]):
            return "compound"
    return ""


def inflections(word: str) -> frozenset[str]:
    """The words that differ from `word` by an ending only: `cytokine` and `cytokines`."""
    longer = {word + ending for ending in _ENDINGS}
    return frozenset(longer | {word[: -len(end)] for end in _ENDINGS if word.endswith(end)})


def differ_by_inflection(one: str, other: str) -> bool:
    """Whether the two differ by an ending only, `dilating` and `dilation` too."""
    return other in inflections(one) or bool(_stems(one) & _stems(other))


def _stems(word: str) -> set[str]:
    stems = {word[: -len(ending)] for ending in _VERBAL if word.endswith(ending)}
    return {stem for stem in stems if len(stem) >= _STEM}
