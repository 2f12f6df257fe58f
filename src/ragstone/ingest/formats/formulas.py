"""Formulas of LaTeX and MathML, written in a line of text: 3/16, 10^5, x_(i+1), √(a+b)."""

import re
import unicodedata
from typing import Any, Final

_MAX_DEPTH = 40
"""How deep groups may be in each other; deeper ones are read as if they had no braces."""

_TOKEN = re.compile(r"\\(?:[A-Za-z]+\*?|.)|[{}^_&~]|\s+|[^\\{}^_&~\s]", re.DOTALL)
_TERM = re.compile(r"[^\s+\-\u2212±×·*/=<>≤≥,;]+")
_IN_TEXT = re.compile(
    r"(?<!\\)(?:\$\$(?P<a>[^$]{1,2000})\$\$|\\\((?P<b>.{1,2000}?)\\\)|\\\[(?P<c>.{1,2000}?)\\\])"
    r"|(?<![\\$\w])\$(?P<d>[^\s$](?:[^$\n]{0,300}[^\s$\\])?)\$(?![\w$])",
    re.DOTALL,
)
_MARKED = re.compile(r"[\\^_]")
"""What a formula between single dollars holds; "$5 and $6" is money."""

_SIGNS: Final = {
    "cdot": "·", "times": "×", "div": "÷", "pm": "±", "mp": "∓", "leq": "≤", "le": "≤",
    "leqslant": "≤", "geq": "≥", "ge": "≥", "geqslant": "≥", "neq": "≠", "ne": "≠", "approx": "≈",
    "sim": "~", "equiv": "≡", "propto": "∝", "to": "→", "rightarrow": "→", "leftarrow": "←",
    "Rightarrow": "⇒", "Leftarrow": "⇐", "leftrightarrow": "↔", "Leftrightarrow": "⇔",
    "mapsto": "↦", "infty": "∞", "ldots": "…", "dots": "…", "cdots": "…", "degree": "°",
    "celsius": "°C", "circ": "∘", "prime": "′", "sum": "Σ", "prod": "Π", "int": "∫",
    "partial": "∂", "nabla": "∇", "in": "∈", "notin": "∉", "subset": "⊂", "subseteq": "⊆",
    "cup": "∪", "cap": "∩", "emptyset": "∅", "forall": "∀", "exists": "∃", "neg": "¬", "land": "∧",
    "wedge": "∧", "lor": "∨", "vee": "∨", "mid": "|", "vert": "|", "Vert": "‖", "langle": "⟨",
    "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "ast": "*",
    "star": "*", "hbar": "ℏ", "ell": "ℓ", "percent": "%", "micro": "µ", "ohm": "Ω", "euro": "€",
    "quad": " ", "qquad": " ", "backslash": "\\", "lbrace": "{", "rbrace": "}",
}  # fmt: skip
_SILENT: Final = {
    "left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "displaystyle",
    "textstyle", "scriptstyle", "limits", "nolimits", "mathrm", "mathbf", "mathit", "mathsf",
    "mathtt", "mathbb", "mathcal", "boldsymbol", "bm", "text", "textrm", "textbf", "textit",
    "textsf", "texttt", "mbox", "hbox", "operatorname", "emph", "rm", "bf", "it", "ensuremath",
    "overline", "bar", "hat", "vec", "tilde", "dot", "ddot", "underline", "boxed", "num", "si",
    "unit", "nonumber", "notag", "mathstrut", "hline",
}  # fmt: skip
"""What says how a formula looks. A bar or an arrow over a letter is not written."""

_DROPPED: Final = {"begin", "end", "label", "tag", "color", "hspace", "vspace", "phantom"}
"""What is left out with what stands in braces behind it."""

_SPACES: Final = {",": " ", ";": " ", ":": " ", " ": " ", "!": "", "\\": "; "}


def formula_text(latex: str) -> str:
    """Return a formula of LaTeX in a line; macros that are not known stay as they are."""
    tokens = _TOKEN.findall(latex)
    tokens.reverse()
    text = ""
    while tokens:
        text += _read_group(tokens, 0)
    return _tidy(text)


def write_formulas(text: str, single: bool = True) -> str:
    """Return a text in which the formulas between the marks of LaTeX are written out; `single`
    dollars are such marks too."""

    def write(match: re.Match[str]) -> str:
        if match["d"] and not (single and _MARKED.search(match["d"])):
            return match[0]
        return formula_text(next(filter(None, match.groups())))

    return _IN_TEXT.sub(write, text) if "$" in text or "\\" in text else text


def write_term(text: str) -> str:
    """Return a part of a formula in brackets if it is more than a term."""
    return text if not text or _TERM.fullmatch(text) else f"({text})"


def _read_group(tokens: list[str], depth: int) -> str:
    """Read up to a closing brace; `tokens` are in reverse order."""
    parts: list[str] = []
    while tokens:
        piece = tokens.pop()
        if piece == "}":
            break
        parts.append(_read(piece, tokens, depth))
    return "".join(parts)


def _read(piece: str, tokens: list[str], depth: int) -> str:
    if piece == "{":
        return _read_group(tokens, depth + 1) if depth < _MAX_DEPTH else ""
    if piece in "^_":
        part = _argument(tokens, depth)
        return {"∘": "°", "′": "′"}.get(part, piece + write_term(part)) if part else ""
    if piece in "&~" or piece.isspace():
        return " "
    return _read_macro(piece[1:], tokens, depth) if piece[0] == "\\" and piece[1:] else piece


def _read_macro(name: str, tokens: list[str], depth: int) -> str:
    name = name.rstrip("*")
    if name in _DROPPED:
        _argument(tokens, depth)
        return ""
    if name in _SILENT:
        # "\left." is a bracket that is not drawn.
        if name in ("left", "right") and tokens and tokens[-1] == ".":
            tokens.pop()
        return ""
    if name in ("frac", "dfrac", "tfrac", "cfrac", "nicefrac", "sfrac"):
        above, below = (_tidy(_argument(tokens, depth)) for _ in range(2))
        return f"{write_term(above)}/{write_term(below)}"
    if name == "sqrt":
        degree = _optional(tokens, depth)
        return f"{'' if degree == '2' else degree}√{write_term(_argument(tokens, depth))}"
    if name in ("SI", "qty"):
        return " ".join(_tidy(_argument(tokens, depth)) for _ in range(2)).replace("\\", "")
    if name in _SIGNS:
        return _SIGNS[name]
    if name in _SPACES or not name.isalpha():
        return _SPACES.get(name, name)
    return _letter(name) or (f" {name} " if name in _FUNCTIONS else f" \\{name} ")


_FUNCTIONS: Final = {
    "sin", "cos", "tan", "log", "ln", "exp", "min", "max", "lim", "arg", "argmin", "argmax", "det",
    "dim", "gcd", "mod", "sup", "inf", "Pr", "sinh", "cosh", "tanh", "arctan", "arcsin", "arccos",
}  # fmt: skip


def _letter(name: str) -> str:
    """Return the Greek letter of this name, if it is one."""
    kind = "CAPITAL" if name[0].isupper() else "SMALL"
    name = name.removeprefix("var").upper().replace("LAMBDA", "LAMDA")
    try:
        return unicodedata.lookup(f"GREEK {kind} LETTER {name}")
    except KeyError:
        return ""


def _argument(tokens: list[str], depth: int) -> str:
    """Return what a macro, a raised or a lowered sign applies to: a group, or one piece."""
    while tokens and tokens[-1].isspace():
        tokens.pop()
    if not tokens or tokens[-1] == "}" or depth > _MAX_DEPTH:
        return ""
    return _read(tokens.pop(), tokens, depth + 1)


def _optional(tokens: list[str], depth: int) -> str:
    if not tokens or tokens[-1] != "[" or depth > _MAX_DEPTH:
        return ""
    tokens.pop()
    parts: list[str] = []
    while tokens and (piece := tokens.pop()) != "]":
        parts.append(_read(piece, tokens, depth + 1))
    return "".join(parts)


def _tidy(text: str) -> str:
    return re.sub(r"(?<=[(\[]) | (?=[)\],;.^_])", "", " ".join(text.split()))


_MATHML_DROPPED: Final = {"annotation", "annotation-xml", "mphantom", "maction", "none"}
_INVISIBLE = str.maketrans("", "", "\u2061\u2062\u2063\u2064")


def mathml_text(element: Any, depth: int = 0) -> str:
    """Return a formula of MathML in a line."""
    tag = element.tag if isinstance(element.tag, str) else ""
    tag = tag.rpartition("}")[2].rpartition(":")[2].lower()
    if not tag or tag in _MATHML_DROPPED or depth > _MAX_DEPTH:
        return ""
    own = " ".join((element.text or "").split()).translate(_INVISIBLE)
    parts = [mathml_text(child, depth + 1) for child in element]
    if tag in _WRITTEN and len(parts) > 1:
        signs = _WRITTEN[tag]
        first = write_term(parts[0]) if tag in ("mfrac", "mroot") else parts[0]
        if tag == "mroot":
            return f"{parts[1]}√{first}"
        return first + "".join(
            "°" if part in ("∘", "°") and sign == "^" else sign + write_term(part)
            for sign, part in zip(signs, parts[1:], strict=False)
            if part
        )
    if tag == "msqrt":
        return f"√{write_term(''.join(parts))}"
    if tag == "mtable":
        return "; ".join(filter(None, parts))
    if tag == "mtr":
        return " ".join(filter(None, parts))
    if tag == "semantics":
        return parts[0] if parts else own
    tails = (" ".join((child.tail or "").split()) for child in element)
    return own + "".join(map("".join, zip(parts, tails, strict=True)))


_WRITTEN: Final = {
    "mfrac": "/", "msup": "^", "msub": "_", "msubsup": "_^", "mover": "^", "munder": "_",
    "munderover": "_^", "mroot": "√",
}  # fmt: skip
"""What stands before the second and third part of these."""
