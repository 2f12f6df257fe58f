"""How English questions begin: what kind of answer is wanted, whatever the words for it."""

import re
from dataclasses import dataclass

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
_ONE = r"(?:i|you|we|one|someone|somebody|anyone|anybody|a person|u)"
_CAN = r"(?:do|does|can|could|should|would|shall|may|might|must|will|am|are)"
_GOOD = r"(?:best|good|better|right|proper|correct|effective|most effective|possible|some|the|a|any|various|different|most|very|your|great|ideal|simple|easy|of|all)"
_WAY = r"(?:way|ways|method|methods|steps?|tips?|tricks?|procedure|process|technique|techniques|means)"
_IS = r"(?:is|are|was|were|will be|would be|can be|could be|be)"


@dataclass(frozen=True, slots=True)
class Opened:
    """`kind` is what is asked for, `rest` the words about which it is asked."""

    kind: str
    rest: str


_FRAMES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            "how to",
            rf"^(?:what|which) (?:is|are|would be|will be|should be|can be)?(?: {_GOOD})* {_WAY} "
            rf"(?:(?:to|of|for|in which|by which|that|through which)(?: {_ONE})?(?: {_CAN})?(?: to)?|"
            rf"{_ONE} {_CAN})\b",
        ),
        (
            "how to",
            rf"^(?:are|is) there (?:{_GOOD} )*{_WAY} (?:to|of|for|that {_ONE} can|in which {_ONE} can)\b",
        ),
        ("how to", rf"^what (?:all )?(?:can|should|could|must|do|does) {_ONE}(?: (?:need|have))?(?: to)? do (?:in order )?(?:to|so that {_ONE} can)\b"),
        ("how to", rf"^how {_CAN} {_ONE}(?: (?:go about|be able to|get to|manage to|start to))?\b"),
        ("how to", rf"^how (?:{_ONE} )?(?:to|can)\b"),
        ("how to", rf"^how (?:{_ONE}) {_CAN}\b"),
        ("like", r"^(?:how does it feel|what (?:does it feel like|is it like|is it to))\b(?: to)?(?: be)?"),
        ("how many", r"^(?:how many|what (?:is|are|was) the (?:total )?number of)\b"),
        ("how much cost", r"^(?:what (?:is|are) the (?:\w+ )?(?:price|cost)s? (?:of|for))\b"),
        ("how much", r"^how much\b"),
        (
            "how measure",
            r"^how (long|far|old|often|tall|high|big|large|deep|fast|soon|late|early|wide|heavy|"
            r"strong|good|bad|hard|easy|difficult|likely|important|safe|close|well|accurate|hot|"
            r"cold|effective|popular|common|expensive|cheap|rich|useful|true|real|dangerous)\b",
        ),
        ("why", r"^(?:what (?:is|are|was|were) (?:the )?(?:main |real )?reasons? (?:(?:for|behind|of|that|why)\b)+(?: the fact that)?|how come|for what reason)"),
        ("why", r"^why (?:is it that|is it|was it that)\b(?= \w+ \w+)"),
        ("why", r"^why\b"),
        ("mean", rf"^(?:what (?:does|do|did)(?= .* (?:mean|stand for|refer to|signify)$)|what (?:is|are) (?:the )?(?:meaning|definition|meant by|meanings|definitions)(?: of)?|what do {_ONE} mean by|define)\b"),
        ("when", r"^when\b"),
        ("what time", r"^(?:at )?what time\b"),
        ("where", r"^(?:where|in (?:which|what) place)\b"),
        ("whom", r"^(?:(?:to|by|with|for|from|of) )?whom\b"),
        ("whose", r"^whose\b"),
        ("who", r"^(?:who|which person|what person)\b"),
        ("how", r"^how\b"),
        ("what", rf"^(?:what|which)(?: all)? {_IS}(?: (?:the|some|some of the|a few|few|an|a|any|all|of the))*(?: (?:kinds?|types?|sorts?) of)?\b"),
        ("what", r"^(?:(?:can|could|would) (?:you|anyone|someone|anybody) )?(?:please )?(?:name|list|suggest|recommend|give)(?: (?:me|us|some|a few|few|any|the|a|an))*\b"),
        ("what", r"^(?:what|which)(?: (?:kinds?|types?|sorts?) of)?\b"),
        ("if", r"^(?:if|whether)\b"),
    )
)
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
    for kind, pattern in _FRAMES:
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
