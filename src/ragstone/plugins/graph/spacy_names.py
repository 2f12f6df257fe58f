"""Names in texts by pipelines of spaCy, which a setting names: installed packages, or folders.

Needs the extra `spacy`. Nothing is fetched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Lock
from typing import Any

from ragstone.core.errors import ConfigError

SETTING = "INGEST__GRAPH"

NEEDED = ("tok2vec", "transformer", "ner", "entity_ruler")
"""What names are found by; the other parts of a pipeline are switched off."""

NUMBERS = frozenset(
    {"DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL", "LANGUAGE"}
)
"""What pipelines find that names nothing by which texts belong together."""


@dataclass(frozen=True)
class _Pipeline:
    run: Any
    lock: Lock
    """Of a pipeline one thread makes use at a time."""


class SpacyNames:
    """`extract.EntityRecognizer`."""

    def __init__(self, named: Sequence[str]) -> None:
        """Takes a second a pipeline. Raises ConfigError."""
        if find_spec("spacy") is None:
            raise ConfigError(f"{SETTING} needs spaCy: pip install 'ragstone[spacy]'.")
        self._pipelines: dict[str, _Pipeline] = {}
        versions = []
        for name in named:
            run = _open_model(name)
            if run.lang in self._pipelines:
                raise ConfigError(f"{SETTING} names two pipelines for {run.lang!r}. Name one.")
            self._pipelines[run.lang] = _Pipeline(run, Lock())
            meta: Mapping[str, Any] = run.meta
            versions.append(f"{meta['lang']}_{meta['name']} {meta['version']}")
        self.name = ", ".join(sorted(versions))

    def names(self, text: str, language: str) -> list[str] | None:
        pipeline = self._pipelines.get(language)
        if pipeline is None:
            return None
        with pipeline.lock, pipeline.run.memory_zone():
            found = pipeline.run(text).ents
            return [item.text for item in found if item.label_ not in NUMBERS]


def _open_model(name: str) -> Any:
    import spacy

    try:
        run = spacy.load(name)
    except (OSError, ValueError, ImportError) as error:
        raise ConfigError(
            f"{SETTING}: spaCy cannot open {name!r} ({str(error).splitlines()[0]}). Name an "
            "installed package of a pipeline, or the folder of one."
        ) from error
    if not {"ner", "entity_ruler"} & set(run.pipe_names):
        raise ConfigError(f"{SETTING}: the pipeline {name!r} finds no names. Name another.")
    run.select_pipes(disable=[item for item in run.pipe_names if item not in NEEDED])
    return run
