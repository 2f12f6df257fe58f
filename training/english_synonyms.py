"""Makes `language/data/english_synonyms.txt` and `english_words.txt`:
`python -m training.english_synonyms WORDNET`.

WORDNET is the folder `dict` of WordNet 3.1 (Princeton University, WordNet licence). Two words are
kept when they share a meaning that is a usual one of both: each has it in at least a quarter of
its occurrences in the tagged texts. The words are those that the bundled model knows whole; the
second list is all of those that WordNet writes without a capital.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import ragstone.language
import ragstone.models

LEAST_SHARE = 0.25


def main(folder: Path) -> None:
    known = vocabulary()
    shares = usual(folder / "index.sense")
    pairs: set[tuple[str, str]] = set()
    common: set[str] = set()
    for kind in ("noun", "verb", "adj", "adv"):
        for words, derived in synsets(folder / f"data.{kind}"):
            fitting = [w for w in words if w in known]
            common.update(fitting)
            pairs |= {
                (min(a, b), max(a, b))
                for a, b in combinations(fitting, 2)
                if min(shares[a, derived], shares[b, derived]) >= LEAST_SHARE
            }
    groups = defaultdict(set)
    for a, b in pairs:
        groups[a].add(b)
    lines = [f"{word} {' '.join(sorted(groups[word]))}\n" for word in sorted(groups)]
    data = Path(ragstone.language.__file__).parent / "data"
    (data / "english_synonyms.txt").write_text("".join(lines), encoding="utf-8")
    (data / "english_words.txt").write_text("\n".join(sorted(common)) + "\n", encoding="utf-8")
    print(f"{len(pairs):,} pairs, {len(common):,} words")


def vocabulary() -> set[str]:
    """The whole words of the bundled tokenizer."""
    file = Path(ragstone.models.__file__).parent / "data" / "minilm-tokenizer.json"
    tokens = json.loads(file.read_text(encoding="utf-8"))["model"]["vocab"]
    return {token for token in tokens if token.isascii() and token.isalpha() and len(token) > 2}


def usual(file: Path) -> dict[tuple[str, str], float]:
    """The share of each word's occurrences that has each meaning, by word and synset."""
    counts: dict[str, dict[str, float]] = defaultdict(dict)
    kinds = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
    for line in file.read_text(encoding="utf-8").splitlines():
        key, offset, _, seen = line.split()
        word, kind = key.split("%")
        counts[word][kinds[kind[0]] + offset] = int(seen) + 0.5
    found: dict[tuple[str, str], float] = defaultdict(float)
    for word, senses in counts.items():
        for synset, count in senses.items():
            found[word, synset] = count / sum(senses.values())
    return found


def synsets(file: Path) -> Iterator[tuple[list[str], str]]:
    """The words of each synset in lower case, without names, and the synset."""
    for line in file.read_text(encoding="utf-8").splitlines():
        parts = line.split()
        if not parts or not parts[0].isdigit() or line.startswith("  "):
            continue
        count = int(parts[3], 16)
        words = [parts[4 + 2 * i].split("(")[0] for i in range(count)]
        kind = "a" if parts[2] == "s" else parts[2]
        yield [word for word in words if word.islower()], kind + parts[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
