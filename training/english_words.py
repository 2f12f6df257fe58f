"""Makes the word lists of the spelling correction, `language/data/english_frequent.txt.gz`,
`english_known.txt.gz` and `english_rare.txt.gz`: `python -m training.english_words FREQ SCOWL`.

FREQ is `frequency_dictionary_en_82_765.txt` of SymSpell: the words of SCOWL with how often Google
Books holds them. SCOWL is the folder of its lists (`/usr/share/dict/scowl` of the Debian package
`scowl`, version 2020.12.07). Both licences are in NOTICE.
"""

import gzip
import math
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import ragstone.language

HERE = Path(ragstone.language.__file__).parent / "data"
WORD = re.compile(r"[a-z]{2,24}")

KNOWN = 70
"""Up to this size SCOWL holds what a large dictionary does; misspellings are no part of it."""

RARE = 80
"""Up to this size it holds names and terms that few know, and some frequent misspellings."""


def main(frequencies: str, scowl: str) -> None:
    counts = {"a": 9.0e9, "i": 3.1e9}
    for line in Path(frequencies).read_text(encoding="utf-8-sig").splitlines():
        word, count = line.split()
        if WORD.fullmatch(word):
            counts[word] = float(count)
    known = words(Path(scowl), KNOWN) - counts.keys()
    rare = words(Path(scowl), RARE) - known - counts.keys()
    write("english_frequent", (f"{w} {round(10 * math.log10(n))}" for w, n in counts.items()))
    write("english_known", known)
    write("english_rare", rare)


def words(folder: Path, largest: int) -> set[str]:
    """The words in the lists up to a size: of every spelling, names and abbreviations too."""
    found: set[str] = set()
    for file in folder.iterdir():
        if int(file.suffix[1:]) <= largest:
            found.update(file.read_text(encoding="latin-1").lower().split())
    return {word for word in found if WORD.fullmatch(word)}


def write(name: str, lines: Iterable[str]) -> None:
    text = "\n".join(sorted(lines)) + "\n"
    (HERE / f"{name}.txt.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
