"""What kind of thing a question asks for, and whether a sentence holds one."""

import re

_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|"
    r"thousand|million|billion|half|twice)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:1[0-9]{3}|20[0-9]{2})\b|\b(?:january|february|march|april|may|june|july|august|"
    r"september|october|november|december|century|spring|summer|autumn|winter|monday|tuesday|"
    r"wednesday|thursday|friday|saturday|sunday|januar|februar|märz|juni|juli|oktober|dezember|"
    r"janvier|février|mars|juin|juillet|enero|febrero|marzo)\b|[0-9]年|[0-9]월|世纪",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]+")
_REASON = re.compile(
    r"\b(?:because|since|due to|so that|in order to|as a result|caused|therefore|weil|wegen|damit|"
    r"parce|car|afin|porque|debido)\b|因为|由于|为了|所以",
    re.IGNORECASE,
)

_ASKED = (
    (
        re.compile(
            r"\b(?:how (?:many|much|long|far|old|often|large|big|high|tall|fast)|what "
            r"(?:percent\w*|number|amount|price|rate)|(?:what|how) .*\bcosts?"
            r"|wie ?viele?|combien|cuántos?|cuántas?)\b"
            r"|多少|几[个次年种名]",
            re.IGNORECASE,
        ),
        _NUMBER,
    ),
    (
        re.compile(
            r"\b(?:when|(?:what|which) (?:year|date|day|month|century|decade)|wann|quand|"
            r"cuándo)\b|什么时候|何时|哪一?年|几月",
            re.IGNORECASE,
        ),
        _TIME,
    ),
    (re.compile(r"\b(?:who|whom|whose|wer|wem|wen|qui|quién)\b", re.IGNORECASE), _NAME),
    (
        re.compile(
            r"\b(?:where|(?:what|which) (?:city|country|state|place|town)|wo|où|dónde)\b",
            re.IGNORECASE,
        ),
        _NAME,
    ),
    (re.compile(r"\b(?:why|warum|weshalb|pourquoi)\b|por qué|为什么|为何", re.IGNORECASE), _REASON),
)


def fits(question: str, sentence: str) -> float:
    """1 if the sentence holds the kind that is asked for, 0 if not, 0.5 if any kind will do."""
    for asked, wanted in _ASKED:
        if asked.search(question):
            return 1.0 if wanted.search(sentence) else 0.0
    return 0.5
