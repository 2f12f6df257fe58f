"""Numbers of list items, and the names of notes."""

from string import ascii_lowercase

ADMONITIONS = {
    "note", "tip", "warning", "important", "caution", "danger", "attention", "error", "hint",
    "info", "abstract", "success", "question", "failure", "bug", "example", "quote", "seealso",
    "todo", "summary", "tldr", "help", "check", "done", "fail", "missing", "cite", "details",
    "deprecated", "admonition", "faq", "see",
}  # fmt: skip
"""What notes are called in the languages of documentation."""

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


def format_number(number: int, style: str) -> str:
    """A number as an item shows it in the style 1, a, A, i or I."""
    if style in ("a", "A") and number > 0:
        shown = ""
        while number > 0:
            number, rest = divmod(number - 1, 26)
            shown = ascii_lowercase[rest] + shown
    elif style in ("i", "I") and 0 < number < 4000:
        shown = ""
        for value, sign in _ROMAN:
            shown += sign * (number // value)
            number %= value
    else:
        return str(number)
    return shown.upper() if style.isupper() else shown
