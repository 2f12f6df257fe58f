"""How English questions begin: what kind of answer is wanted, whatever the words for it."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|please|so|and|but|well|ok|okay|also|basically|actually|in general|"
    r"generally|according to you|in your opinion|as of now|quick question|question) )+"
)
_INDIRECT = re.compile(
    r"^(?:(?:can|could|would|will) (?:you|anyone|someone|anybody|somebody) (?:please )?"
    r"(?:tell|explain|show|help|let)(?: (?:me|us|to me))?(?: (?:understand|know))?|"
    r"(?:please )?(?:tell|explain|show)(?: (?:me|us|to me))?|"
    r"(?:do|does) (?:you|anyone|anybody|someone|somebody) know|"
    r"i (?:want|would like|need|am trying|wish) to know|i wonder|(?:i am )?wondering|"
    r"any idea|what do you think|i have a question|anyone know|is it known)"
    r"(?: about)? (?=(?:how|what|which|who|whom|whose|when|where|why|if|whether)\b)"
)
_END = re.compile(
    r"(?: (?:please|thanks|thank you|or not|in your opinion|according to you|do you think|"
    r"you think|and why|and how|exactly|in general|these days|nowadays))+$"
)
_ASIDE = re.compile(r"\b(?:do you think|in your opinion|according to you|please|exactly) ")


@dataclass(frozen=True, slots=True)
class Opened:
    """`kind` is what is asked for, `rest` the words about which it is asked."""

    kind: str
    rest: str


@cache
def _frames() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The patterns of the data file, with the lists in capitals put in."""
    text = (
        files("ragstone.language").joinpath("data/question_frames.txt").read_text(encoding="utf-8")
    )
    lists: dict[str, str] = {}
    frames: list[tuple[str, re.Pattern[str]]] = []
    for line in text.splitlines():
        kind, _, pattern = line.partition("\t")
        if line.startswith("#"):
            continue
        if kind.isupper():
            lists[f"{{{kind}}}"] = f"(?:{pattern})"
            continue
        for name, alternatives in lists.items():
            pattern = pattern.replace(name, alternatives)
        frames.append((kind, re.compile(pattern)))
    return tuple(frames)


_YES_NO = re.compile(
    r"^(is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|shall|must|may|"
    r"might|need)\b"
)
_MODALITY = {
    "is": "now",
    "are": "now",
    "am": "now",
    "do": "now",
    "does": "now",
    "was": "then",
    "were": "then",
    "did": "then",
    "has": "since",
    "have": "since",
    "had": "then",
    "can": "can",
    "could": "can",
    "may": "can",
    "might": "can",
    "will": "will",
    "would": "would",
    "should": "should",
    "shall": "should",
    "must": "must",
    "need": "must",
}
_VERB = re.compile(
    r"\b(?:i|you|we|he|she|they|it|am|is|are|was|were|do|does|did|has|have|had|can|could|will|would|"
    r"should|shall|must|may|might|how|what|why|who|when|where|which)\b"
)
_MEANS = re.compile(r"\b(?:mean|stand for|refer to|signify)$")
_PAST = re.compile(r"\b(?:was|were|did|had)\b")
_FUTURE = re.compile(r"\b(?:will|going to|would)\b")


def opened(text: str) -> Opened:
    """The kind of a question that is `trimmed`, and what remains."""
    for kind, pattern in _frames():
        if found := pattern.search(text):
            if kind == "how measure":
                kind = f"how {found[1]}"
            if kind == "if":
                return opened(trimmed(text[found.end() :].strip()))
            rest = text[found.end() :].strip()
            if kind == "mean":
                rest = _MEANS.sub("", rest)
            return Opened(kind + _tense(kind, text), rest)
    if found := _YES_NO.search(text):
        return Opened(f"whether {_MODALITY[found[1]]}", text[found.end() :].strip())
    # Words that name something are asked like "What is ...?".
    return Opened("" if _VERB.search(text) else "what", text)


def trimmed(text: str) -> str:
    """A question in plain words (lower case, single spaces) without politeness around it."""
    before = ""
    while text != before:
        before = text
        text = _END.sub("", _INDIRECT.sub("", _POLITE.sub("", text)))
    return _ASIDE.sub("", text)


def _tense(kind: str, text: str) -> str:
    """Whether it is about the past or the future; how to do something has no time."""
    if kind in ("how to", "mean"):
        return ""
    head = " ".join(text.split()[:4])
    if _PAST.search(head):
        return ", past"
    return ", future" if _FUTURE.search(head) else ""
