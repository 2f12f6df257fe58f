"""A question and its answer as one statement, by rules for English, Chinese and Japanese, and a
statement as a question for yes or no.

Elsewhere the answer stands behind the question."""

import re

from ragstone.language.polarity import YES_NO
from training.reader.swaps import is_cjk

_AUX = "did|does|do|is|are|was|were|can|could|will|would|has|have|had|should|must|may"
_SUBJECT = re.compile(
    r"^(?:who|what|which(?: [\w-]+){1,3}|what(?: [\w-]+){1,2}|how many(?: [\w-]+){1,3})"
    r" (?=(?!(?:did|does|do)\b)\w)",
    re.IGNORECASE,
)
_IS = re.compile(r"^(?i:what|who|which) (is|are|was|were) (the .+|[A-Z].+)$")
_MOVED = re.compile(
    rf"^(?P<pre>in |on |at |by |from |to |for |with |of )?"
    rf"(?P<wh>when|where|what|who|whom|which|how|why|what year|how many|how much|how long)"
    rf"(?P<noun>(?: [\w'-]+){{0,4}}?) (?P<aux>{_AUX}) (?P<rest>.+)$",
    re.IGNORECASE,
)
_PARTICIPLE = re.compile(
    r" (?=(?:\w+ed|born|made|known|found|built|held|taken|given|won|written|"
    r"called|used|located|based|seen|said|set|led|sent|part|able)\b)"
)
_ENGLISH = re.compile(r"who|what|when|where|which|how|in ", re.IGNORECASE)
_HOW_MANY = re.compile(r"how many", re.IGNORECASE)
_BEGINS = re.compile(rf"(?:{_AUX})\b")
_STARTED = re.compile(
    r"(?:in|on|at|by|from|to|for|since|during|because|after|before|with)\b", re.IGNORECASE
)
_CHINESE = re.compile(
    r"为什么|為什麼|怎么样|怎样|如何|"
    r"(?:在|于)?(?:什么时候|什麼時候|何时|何時|哪一?年|哪一?天|几年|幾年|西元幾年|何年)|"
    r"(?:什么|什麼)地方|哪里|哪裡|哪兒|何处|何處|"
    r"哪[一二两兩三四几幾]?(?:个|個|位|座|家|种|種|部|本|项|項|些|支|条|條)?(?:公司|国家|國家|城市|地区|地區|人|大学|大學|朝代|省|市|县|縣)?|"
    r"多少|几(?=[个名位人年岁种部次])|幾(?=[個名位人年歲種部次])|谁|誰|什么|什麼|何人|何(?=[种種])"
)
_JAPANESE = re.compile(
    r"いつ(?:頃|ごろ)?|どこ|誰|だれ|何(?:年|月|日|人|季|位|歳|回|番目|という\w{1,6}|と)?|なに|なん|どの\w{1,4}|いくつ|どんな\w{1,4}"
)


_STATED = re.compile(
    r"(?P<subject>(?!(?:In|On|At|By|From|During|After|Before|When|While|For|As|If|Since|With|To)\b)"
    r"[A-Z][\w-]*(?: (?!that|which|who|and)[\w'-]+){0,5}?)"
    r" (?P<aux>is|was|are|were|can|could|must|may|will) (?!not\b)(?P<rest>[^,;:?!]+)\."
)
_PLAIN = re.compile(r"(?:The|An?|This|These|There|It|He|She|They|We|All|Most|Some|His|Its|Their)\b")
_NEGATED = re.compile(r"不|没|沒|无|無|未|な[いかく]")


def whether(text: str) -> tuple[str, tuple[str, str]] | None:
    """Return the statement as a question for yes or no, and those words; None where no rule fits,
    and for a statement that says "not", as a yes to it has two meanings."""
    if is_cjk(text):
        if not text.endswith("。") or "。" in text[:-1] or _NEGATED.search(text):
            return None
        japanese = bool(re.search(r"[぀-ヿ]", text))
        return text[:-1] + ("か？" if japanese else "吗？"), YES_NO["ja" if japanese else "zh"]
    found = _STATED.fullmatch(text)
    if not found:
        return None
    subject = found["subject"]
    if _PLAIN.match(subject):
        subject = subject[0].lower() + subject[1:]
    return f"{found['aux'].capitalize()} {subject} {found['rest']}?", YES_NO["en"]


def statement(question: str, answer: str) -> str:
    bare = re.sub(r"\s+", " ", question).strip().rstrip("?？ ").lstrip("¿ ")
    if is_cjk(bare):
        return _in_place(bare, answer)
    if not bare.isascii() and not _ENGLISH.match(bare):
        return f"{question} {answer}"
    answer = answer.rstrip(".")
    made = _of_subject(bare, answer) or _of_moved(bare, answer)
    return _capital(made) if made else f"{question} {answer}"


def _of_subject(bare: str, answer: str) -> str:
    """Return where the answer takes the place of what the question begins with."""
    found = _IS.match(bare)
    if found:
        return f"{found[2]} {found[1]} {answer}."
    found = _SUBJECT.match(bare)
    if not found:
        return ""
    if _HOW_MANY.match(bare):
        return f"{answer} {' '.join(bare.split()[2:])}."
    rest = bare[found.end() :]
    words = bare[: found.end()].split()
    return f"{answer} {rest}." if len(words) < 2 or not _BEGINS.match(rest) else ""


def _of_moved(bare: str, answer: str) -> str:
    """Return where the verb has to go behind the subject, and the answer to the end."""
    found = _MOVED.match(bare)
    if not found:
        return ""
    verb, rest, asked = found["aux"].casefold(), found["rest"], found["wh"].casefold()
    if verb not in ("do", "does", "did"):
        place = _PARTICIPLE.search(rest)
        rest = (
            f"{rest[: place.start()]} {verb} {rest[place.end() :]}" if place else f"{rest} {verb}"
        )
    elif verb == "did":
        rest = rest.replace(" not ", " did not ")
    before = (found["pre"] or "").casefold()
    if not before and not _STARTED.match(answer):
        before = {"when": "in ", "where": "in ", "why": "because "}.get(asked, "")
    counted = found["noun"] if asked in ("how many", "how much") else ""
    return f"{rest} {before}{answer}{counted}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _in_place(question: str, answer: str) -> str:
    japanese = bool(re.search(r"[぀-ヿ]", question))
    pattern = _JAPANESE if japanese else _CHINESE
    found = pattern.search(question)
    if not found or found.group() in ("为什么", "為什麼", "怎么样", "怎样", "如何"):
        return f"{question}？{answer}。"
    said = question[: found.start()] + answer + question[found.end() :]
    if japanese:
        said = re.sub(r"(?:です|ます)?か$", lambda m: m.group()[:-1], said)
    return said.rstrip("呢吗嗎") + "。"
