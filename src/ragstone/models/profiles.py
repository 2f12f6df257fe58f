"""The profiles of chat models by their names: window, sampling, size, tokenizer, prices."""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ragstone.core.errors import ConfigError
from ragstone.core.faults import describe_fault
from ragstone.language.tokens import Family, Tier
from ragstone.ports import Profile
from ragstone.settings import LlmSettings

_LETTER_HYPHEN_DIGIT = re.compile(r"(?<=[a-z])-(?=\d)")
_SIZE = re.compile(
    r"(?<![a-z0-9.])(?:(?P<experts>\d{1,2})x)?e?(?P<count>\d{1,4}(?:\.\d{1,3})?)"
    r"(?P<unit>[mbt])(?![a-z0-9])"
)
_BILLIONS = {"m": 0.001, "b": 1.0, "t": 1000.0}
MAX_CHARS = 300
"""Characters of a name that are looked at."""


def normalize_name(name: str) -> str:
    """Return the name in one spelling: `Llama-3.1_8B` and `llama3.1-8b` are the same."""
    lower = name[:MAX_CHARS].lower().replace("_", "-").replace(" ", "-")
    return _LETTER_HYPHEN_DIGIT.sub("", lower)


def parse_billions(name: str) -> float | None:
    """The parameters that the name tells, in billions: 7 for `qwen2.5:7b`; None if it is silent.

    Experts are multiplied (`8x7b` is 56); active parameters (`a3b`) and quantizations are not read.
    """
    match = _SIZE.search(name[:MAX_CHARS].lower().replace("_", "-"))
    if match is None:
        return None
    size = float(match["count"]) * _BILLIONS[match["unit"]]
    return size * int(match["experts"] or 1) or None


def matches_name(pattern: str, name: str) -> bool:
    """Tell whether `pattern` stands in `name` as whole words and numbers: `gpt-4` also in `gpt-4o`,
    `mistral` not in `mistralai`."""
    wanted = normalize_name(pattern)
    if not wanted:
        return False
    # `gpt-4` is also in `gpt-4o`, but not in `gpt-41`.
    after = r"(?![0-9])" if wanted[-1].isdigit() else r"(?![a-z])"
    return re.search(rf"(?<![a-z0-9]){re.escape(wanted)}{after}", normalize_name(name)) is not None


TIERS: tuple[tuple[float, Tier], ...] = ((3, "tiny"), (9, "small"), (34, "medium"))
"""The most parameters, in billions, of each tier; more is large."""


class ProfileRow(BaseModel):
    """One row of the table; fields that it does not name keep their values."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context_window: int = Field(8192, ge=512)
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    tier: Tier | None = None
    billions: float | None = Field(None, gt=0)
    thinking_tokens: int = Field(0, ge=0)
    tokenizer: Family | None = None
    input_price: float | None = Field(None, ge=0)
    output_price: float | None = Field(None, ge=0)
    vision: bool = False


Table = Mapping[str, ProfileRow]
_TABLE = TypeAdapter(dict[str, ProfileRow])


def profile(settings: LlmSettings) -> Profile:
    """Return the profile of the settings' model: the table, changed by LLM__PROFILES, changed by
    the single settings. Raises ConfigError."""
    name = settings.model_name
    found = find_profile(name, own_rows(settings.profiles))
    changes = {
        "context_window": settings.context_window,
        "temperature": settings.temperature,
        "vision": settings.vision,
    }
    return _change_profile(
        found, {key: value for key, value in changes.items() if value is not None}
    )


def sets_temperature(settings: LlmSettings) -> bool:
    """Tell whether the settings name a temperature for their model, by themselves or in
    LLM__PROFILES. Raises ConfigError."""
    rows = own_rows(settings.profiles)
    name = settings.model_name
    known = (row.temperature for pattern, row in rows.items() if matches_name(pattern, name))
    return settings.temperature is not None or any(item is not None for item in known)


def find_profile(name: str, own: Table | None = None) -> Profile:
    """Return the profile of a model: the longest matching row, and over it the longest of `own`.

    The size in the name (`:70b`) decides about the tier, else the row does.
    """
    changes: dict[str, object] = {}
    for rows in (_load_profiles(), own or {}):
        # The longest says most: `qwen2.5-coder` counts more than `qwen`.
        fitting = (row for row in rows if matches_name(row, name))
        pattern = max(fitting, key=lambda row: len(normalize_name(row)), default=None)
        if pattern is not None:
            changes.update(rows[pattern].model_dump(exclude_unset=True))
    # The name speaks of the very model; a row of the table of a whole family.
    size = parse_billions(name) or changes.pop("billions", None)
    own_tier = changes.pop("tier", None)
    changes.pop("billions", None)
    tier = size_tier(size) if isinstance(size, float) else own_tier
    return _change_profile(Profile(), {**changes, **({"tier": tier} if tier else {})})


def size_tier(size: float) -> Tier:
    """Return the size tier of so many billion parameters."""
    return next((tier for most, tier in TIERS if size <= most), "large")


def own_rows(given: str) -> Table:
    """Return the rows of LLM__PROFILES: JSON, or a file that holds it. Raises ConfigError."""
    if not given.strip():
        return {}
    try:
        text = given if given.lstrip().startswith("{") else Path(given).expanduser().read_text()
        return _TABLE.validate_json(text)
    except OSError as error:
        raise ConfigError(f"LLM__PROFILES: {given} cannot be read ({error.strerror}).") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise ConfigError(f"LLM__PROFILES is wrong: {where}: {describe_fault(first)}.") from error


@cache
def _load_profiles() -> Table:
    text = files("ragstone.models").joinpath("data/profiles.json").read_text(encoding="utf-8")
    return _TABLE.validate_python(json.loads(text))


def _change_profile(found: Profile, changes: Mapping[str, object]) -> Profile:
    known = {name: getattr(found, name) for name in Profile.__dataclass_fields__}
    return Profile(**{**known, **changes})
