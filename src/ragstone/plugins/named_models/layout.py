"""What the files of a model say of it: lengths, padding, labels, how vectors are made.

The layouts are those of Hugging Face (`config.json`, `tokenizer.json`), of sentence-transformers
(`modules.json`, a folder for each module) and of what optimum and fastembed make of them.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragstone.core.errors import ConfigError
from ragstone.plugins.named_models.hub import digest
from ragstone.plugins.named_models.places import ModelPlace

Json = Mapping[str, Any]

MAX_TOKENS = 2048
"""Tokens that are read at most: attention takes 200 MB at this length, and four times as much at
twice."""

USUAL_LENGTH = 512

OFFSET_TYPES = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet", "longformer", "xmod"})
"""Kinds of models that count positions from behind the padding token's id."""


@dataclass(frozen=True, slots=True)
class ModelLayout:
    """A model's files, and what they say.

    `max_tokens` is the longest input, `pad` the id of the token that fills up shorter ones, `lower`
    whether text is made lower-case first. `config` is config.json, `sentences` that of
    sentence-transformers, `modules` its modules' kinds with their configurations. `digest` is the
    SHA-256 of everything that decides about an output.
    """

    setting: str
    place: ModelPlace
    tokenizer: Path
    max_tokens: int
    pad: int
    lower: bool
    digest: str
    size: int
    config: Json = field(default_factory=dict)
    sentences: Json = field(default_factory=dict)
    modules: tuple[tuple[str, Json], ...] = ()

    @property
    def architecture(self) -> str:
        """Such as BertForSequenceClassification; empty if config.json does not say."""
        return str(next(iter(self.config.get("architectures") or ()), ""))

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes in the order of the model's numbers, in small letters."""
        named = self.config.get("id2label") or {}
        try:
            return tuple(str(named[key]).lower() for key in sorted(named, key=int))
        except ValueError as error:
            raise ConfigError(f"{self.setting}: id2label of config.json is not a list.") from error

    def wrong(self, why: str) -> ConfigError:
        return ConfigError(f"{self.setting}: {self.place.folder} {why}")


def read_layout(setting: str, place: ModelPlace) -> ModelLayout:
    """Raises ConfigError where a file is missing or is not what it should be."""
    folder = place.folder
    modules = _modules(setting, folder)
    first = modules[0] if modules else ("", folder, {})
    inner = first[1] if (first[1] / "tokenizer.json").is_file() else folder
    tokenizer = inner / "tokenizer.json"
    if not tokenizer.is_file():
        raise ConfigError(
            f"{setting}: {folder} has no tokenizer.json. Save the model's tokenizer there with "
            "save_pretrained of transformers' AutoTokenizer."
        )
    config = _json(setting, inner / "config.json")
    about = _json(setting, inner / "tokenizer_config.json")
    special = _json(setting, inner / "special_tokens_map.json")
    sentence = _json(setting, inner / "sentence_bert_config.json")
    kinds = tuple((kind, said) for kind, _, said in modules)
    sentences = _json(setting, folder / "config_sentence_transformers.json")
    path = place.path
    # Exporters write weights of more than 2 GB into files beside the ONNX file, by either name.
    beside = (*sorted(path.parent.glob(f"{path.name}_data*")), *path.parent.glob("*.onnx.data"))
    weights = [path, *beside]
    return ModelLayout(
        setting,
        place,
        tokenizer,
        _max_tokens(config, about, sentence),
        _pad(tokenizer, config, about, special),
        bool(sentence.get("do_lower_case")),
        _digest_files([*weights, tokenizer], [config, sentences, dict(sentence), dict(kinds)]),
        sum(weight.stat().st_size for weight in weights),
        config,
        sentences,
        kinds,
    )


def _modules(setting: str, folder: Path) -> list[tuple[str, Path, Json]]:
    """Return the modules of sentence-transformers: kind, folder and configuration of each."""
    listed = _json(setting, folder / "modules.json", list)
    found = []
    for item in listed:
        if not isinstance(item, dict) or not isinstance(item.get("type"), str):
            raise ConfigError(f"{setting}: {folder / 'modules.json'} is not a list of modules.")
        inner = folder / str(item.get("path", ""))
        kind = item["type"].rpartition(".")[2]
        found.append((kind, inner, _json(setting, inner / "config.json")))
    return found


def _json(setting: str, path: Path, kind: type = dict) -> Any:
    """Return what a file says, empty if there is none."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return kind()
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{setting}: {path} cannot be read ({type(error).__name__}). Copy it again."
        ) from error
    if not isinstance(said, kind):
        raise ConfigError(f"{setting}: {path} is not what it should be. Copy it again.")
    return said


def _max_tokens(config: Json, about: Json, sentence: Json) -> int:
    """Return the longest input that the model was made for, at most `MAX_TOKENS`."""
    limits = [sentence.get("max_seq_length"), about.get("model_max_length")]
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and positions > 0:
        offset = config.get("model_type") in OFFSET_TYPES
        # RoBERTa and its kin count positions from 2 on.
        limits.append(positions - 2 * offset)
    numbers = [int(limit) for limit in limits if isinstance(limit, (int, float)) and limit > 0]
    return min([*numbers, MAX_TOKENS]) if numbers else USUAL_LENGTH


def _pad(tokenizer: Path, config: Json, about: Json, special: Json) -> int:
    """Return the id of the padding token; 0 where nothing says, as most vocabularies have it."""
    if isinstance(config.get("pad_token_id"), int):
        return int(config["pad_token_id"])
    for said in (special.get("pad_token"), about.get("pad_token")):
        token = said.get("content") if isinstance(said, dict) else said
        if isinstance(token, str):
            added = json.loads(tokenizer.read_text(encoding="utf-8")).get("added_tokens") or ()
            return next((int(item["id"]) for item in added if item.get("content") == token), 0)
    return 0


def _digest_files(files: list[Path], said: list[Json]) -> str:
    parts = [digest(file) for file in files]
    whole = json.dumps([parts, said], sort_keys=True, default=str)
    return hashlib.sha256(whole.encode()).hexdigest()
