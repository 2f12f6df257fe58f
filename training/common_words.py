"""Makes `language/data/english_words.txt`: `python -m training.common_words WORDNET`.

WORDNET is the folder `dict` of WordNet 3.1 (Princeton University, WordNet licence). The words are
those that WordNet writes without a capital and that the bundled model knows whole.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import ragstone.language
import ragstone.models


def main(folder: Path) -> None:
    known = vocabulary()
    kinds = ("noun", "verb", "adj", "adv")
    words = {word for kind in kinds for word in lower_case_words(folder / f"data.{kind}")}
    target = Path(ragstone.language.__file__).parent / "data" / "english_words.txt"
    target.write_text("\n".join(sorted(words & known)) + "\n", encoding="utf-8")
    print(f"{len(words & known):,} words")


def vocabulary() -> set[str]:
    """Return the whole words of the bundled tokenizer."""
    file = Path(ragstone.models.__file__).parent / "data" / "minilm-tokenizer.json"
    tokens = json.loads(file.read_text(encoding="utf-8"))["model"]["vocab"]
    return {token for token in tokens if token.isascii() and token.isalpha() and len(token) > 2}


def lower_case_words(file: Path) -> Iterator[str]:
    """Yield the words of all synsets that are written without a capital."""
    for line in file.read_text(encoding="utf-8").splitlines():
        parts = line.split()
        if not parts or not parts[0].isdigit() or line.startswith("  "):
            continue
        words = (parts[4 + 2 * i].split("(")[0] for i in range(int(parts[3], 16)))
        yield from (word for word in words if word.islower())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
