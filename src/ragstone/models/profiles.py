"""What is known of chat models by their names: window, sampling, size, tokenizer, prices."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ragstone.core.errors import ConfigError
from ragstone.language.budget import Tier
from ragstone.language.model_names import billions, matches, normal
from ragstone.language.tokens import Family
from ragstone.ports import Profile
from ragstone.settings import LlmSettings

TIERS: tuple[tuple[float, Tier], ...] = ((3, "tiny"), (9, "small"), (34, "medium"))
"""The most parameters, in billions, of each tier; more is large."""


class ProfileRow(BaseModel):
    """One row of the table; what it does not name stays as it was."""

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
    """The profile of the settings' model: the table, changed by LLM__PROFILES, changed by the
    single settings. Raises ConfigError."""
    name = settings.model or Path(settings.model_path).stem
    found = profile_of(name, own_rows(settings.profiles))
    changes = {
        "context_window": settings.context_window,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "vision": settings.vision,
    }
    return _changed(found, {key: value for key, value in changes.items() if value is not None})


def profile_of(name: str, own: Table | None = None) -> Profile:
    """The profile of a model: the longest matching row, and over it the longest of `own`.

    The size in the name (`:70b`) decides about the tier, else the row does.
    """
    changes: dict[str, object] = {}
    for rows in (_shipped(), own or {}):
        pattern = max((one for one in rows if matches(one, name)), key=_length, default=None)
        if pattern is not None:
            changes.update(rows[pattern].model_dump(exclude_unset=True))
    size = billions(name) or changes.pop("billions", None)
    own_tier = changes.pop("tier", None)
    changes.pop("billions", None)
    tier = tier_of(size) if isinstance(size, float) else own_tier
    return _changed(Profile(), {**changes, **({"tier": tier} if tier else {})})


def tier_of(size: float) -> Tier:
    """The size tier of so many billion parameters."""
    return next((tier for most, tier in TIERS if size <= most), "large")


def own_rows(given: str) -> Table:
    """The rows of LLM__PROFILES: JSON, or a file that holds it. Raises ConfigError."""
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
        raise ConfigError(f"LLM__PROFILES is wrong: {where}: {first['msg']}.") from error


@cache
def _shipped() -> Table:
    text = files("ragstone.models").joinpath("data/profiles.json").read_text(encoding="utf-8")
    return _TABLE.validate_python(json.loads(text))


def _length(pattern: str) -> int:
    return len(normal(pattern))


def _changed(found: Profile, changes: Mapping[str, object]) -> Profile:
    known = {name: getattr(found, name) for name in Profile.__dataclass_fields__}
    return Profile(**{**known, **changes})
