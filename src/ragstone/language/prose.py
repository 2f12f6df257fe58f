"""Whether a line is a sentence that says something."""

import re

LEAST_WORDS = 4
"""Words of a sentence that says something; in scripts without spaces, as many characters twice."""

_LETTERS = re.compile(r"[^\W\d_]")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_ENDS = re.compile(r"[.!?。！？…:：][\"'”’»」』)\]*_]*$")


def says_something(line: str) -> bool:
    """Whether a line is a sentence, and no date, address or row of capitals."""
    letters = _LETTERS.findall(line)
    words = len(_WORDS.findall(line)) + len(_UNSPACED.findall(line)) // 2
    large = sum(letter.isupper() for letter in letters)
    prose = 2 * len(letters) > len(line) and 3 * large < len(letters)
    return words >= LEAST_WORDS and prose and line[0] != "(" and "___" not in line


def is_ended(line: str) -> bool:
    """Whether a line ends as sentences do."""
    return _ENDS.search(line) is not None
