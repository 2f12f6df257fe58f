"""Writes what the reader is trained on: `python -m training.reader.build FOLDER`.

Reads RAGSTONE_EVAL_DATA and the descriptions of installed packages; makes FOLDER/check.npz and
FOLDER/train-0.npz and so on of tokens and labels, which `train.py` reads without Ragstone. A shard
holds 100,000 examples and takes a processor two minutes. With `--harvested COUNT` it also makes
that many shards of labelled sets (`harvested.py`), from number 1000 on, and check-harvest.npz.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import distributions
from multiprocessing import Pool
from pathlib import Path

from benchmarks.common import eval_data
from ragstone.models.e5_weights import read
from ragstone.models.engines import weights_file
from training.reader import harvested
from training.reader.example import Example, Verdict, answer_with_words
from training.reader.invented import Inventor
from training.reader.real import XQUAD, Maker, Passages
from training.reader.rows import Encoder, save
from training.reader.shards import FIRST_HARVESTED
from training.reader.statements import whether
from training.reader.suite import suite

OPEN = ("MIT", "BSD", "Apache", "ISC")
SHARDS = 8

LABELLED_IN = 3
"""Labelled sets are in one shard of so many: they say the same each time."""


ASKED = 0.25
"""Of so many claims is one asked for too: "Was it built in 1889?"."""


def training(data: Path, folder: Path, shard: int) -> Iterator[Example]:
    """The examples of one shard: other windows, changes and inventions than those of the others."""
    chance = random.Random(300 + shard)
    for example in _state_facts(data, packages(folder), shard):
        yield example
        if not example.question and chance.random() < ASKED:
            asked = whether(example.text)
            if asked:
                yield from answer_with_words(example, *asked)


def _state_facts(data: Path, texts: Passages, shard: int) -> Iterator[Example]:
    maker = Maker(data, held=False, seed=100 + shard)
    if shard % LABELLED_IN == 0:
        for labelled in (maker.fever, maker.jnli, maker.klue, maker.scifact, maker.wice):
            yield from labelled()
    squad = maker.passages("squad2_dev")
    yield from maker.of_questions(squad, 3000)
    yield from maker.of_near(squad, 2500)
    yield from maker.of_answers(squad, 1500)
    yield from maker.of_unanswerable(squad, 400)
    yield from maker.of_sentences(squad, 4000)
    for language in XQUAD:
        found = maker.passages("xquad", f"xquad/{language}")
        yield from maker.of_questions(found, 120)
        yield from maker.of_near(found, 100)
        yield from maker.of_answers(found, 150)
        yield from maker.of_sentences(found, 300)
    for name in ("cmrc2018_zh", "drcd_zh_hant", "jsquad_ja"):
        found = maker.passages(name)
        yield from maker.of_questions(found, 600)
        yield from maker.of_near(found, 500)
        yield from maker.of_answers(found, 700)
        yield from maker.of_sentences(found, 1000)
    yield from maker.across(3000)
    yield from maker.asked_across(5000)
    for name in ("hotpotqa", "musique", "mtrag_un"):
        yield from maker.of_sentences(maker.passages(name), 1200)
    yield from maker.of_sentences(texts, 1500)
    around = [row["text"][start:end] for row in texts.rows for start, end in texts.cut[row["id"]]]
    yield from Inventor(random.Random(200 + shard), around).examples(6000)


def yield_checks(data: Path) -> Iterator[Example]:
    """Yield a little of everything from the other halves, to watch while training runs."""
    maker = Maker(data, held=True, seed=3)
    for real in (maker.fever(), maker.jnli(), maker.klue(), maker.wice()):
        yield from _some(list(real), 500)
    squad = maker.passages("squad2_dev")
    yield from _some(list(maker.of_questions(squad, 1500)), 1200)
    yield from _some(list(maker.of_answers(squad, 200)), 240)
    for language in ("de", "zh", "tr"):
        found = maker.passages("xquad", f"xquad/{language}")
        yield from _some(list(maker.of_questions(found, 80)), 100)
    for item in suite(data):
        verdict = Verdict.SUPPORTED if item.true else Verdict.NOT
        yield Example(f"swaps {item.language}", item.text, item.passage, verdict=verdict)
    yield from _some(list(maker.across(80)), 150)
    yield from _some(list(maker.asked_across(400)), 400)
    yield from _some(list(Inventor(random.Random(9)).examples(60)), 200)


def _some(examples: list[Example], most: int) -> list[Example]:
    return random.Random(5).sample(examples, min(most, len(examples)))


def packages(folder: Path) -> Passages:
    """Read descriptions of installed packages with an open licence, as they were at the first
    call."""
    file = folder / "packages.json"
    if not file.exists():
        file.write_text(json.dumps(list(_paragraphs())), encoding="utf-8")
    paragraphs = json.loads(file.read_text(encoding="utf-8"))
    rows = [
        {"id": f"{title} {number}", "title": title, "text": text}
        for number, (title, text) in enumerate(paragraphs)
    ]
    return Passages("packages", rows)


def package_descriptions() -> Iterator[tuple[str, str]]:
    """Yield name and description of the installed packages that have an open licence."""
    for found in sorted(distributions(), key=lambda d: d.metadata["Name"]):
        meta = found.metadata
        named = (meta[key] for key in ("License-Expression", "License") if key in meta)
        licence = " ".join(str(name)[:60] for name in named)
        text = meta.get_payload()  # type: ignore[attr-defined]
        if isinstance(text, str) and any(name in licence for name in OPEN):
            yield meta["Name"], text


def _paragraphs() -> Iterator[tuple[str, str]]:
    for title, text in package_descriptions():
        for paragraph in text.split("\n\n"):
            words = paragraph.split()
            plain = " ".join(words)
            odd = sum(plain.count(c) for c in "[]{}<>|`=/#*_:")
            if 25 <= len(words) <= 220 and odd < len(plain) / 60:
                yield title, plain


def write(folder: Path, name: str, make: Callable[[], Iterable[Example]]) -> None:
    """Write the examples of one file, and print how many there are of each kind
    in the first shards and those to check with."""
    examples = list(make())
    encoder = Encoder(read(weights_file()).tokenizer)
    part = folder / f"{name}.part.npz"
    save(part, [encoder.row(row) for row in examples], [row.kind for row in examples])
    part.rename(folder / f"{name}.npz")
    if name in ("train-0", f"train-{FIRST_HARVESTED}") or name.startswith("check"):
        kinds = ((row.kind, row.question, row.answers, row.verdict.name) for row in examples)
        for what, count in sorted(Counter(kinds).items(), key=str):
            print(name, count, *what, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("shards", type=int, nargs="?", default=SHARDS)
    parser.add_argument("--harvested", type=int, default=0, metavar="COUNT")
    parser.add_argument("--sets", type=Path, help="by default RAGSTONE_EVAL_DATA/train")
    given = parser.parse_args()
    data, folder = eval_data(), given.folder
    sets = given.sets or data / "train"
    folder.mkdir(parents=True, exist_ok=True)
    packages(folder)
    jobs: list[tuple[Path, str, Callable[[], Iterable[Example]]]] = [
        (folder, "check", partial(yield_checks, data))
    ]
    for shard in range(given.shards):
        jobs.append((folder, f"train-{shard}", partial(training, data, folder, shard)))
    if given.harvested:
        jobs.append((folder, "check-harvest", partial(harvested.make_check, sets)))
    for shard in range(given.harvested):
        name = f"train-{FIRST_HARVESTED + shard}"
        jobs.append((folder, name, partial(harvested.make_shard, sets, shard)))
    with Pool() as pool:
        pool.starmap(write, jobs, chunksize=1)


if __name__ == "__main__":
    main()
