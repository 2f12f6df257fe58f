"""Options of stages that are settings: each is `stages.<stage>.<option>`."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ragstone.core.errors import ConfigError
from ragstone.core.faults import describe_fault
from ragstone.engine.stage import Stage

Options = Mapping[str, Mapping[str, Any]]

PREFIX = "stages"

SETTABLE: Mapping[str, frozenset[str]] = {
    "deduplicate": frozenset({"near_duplicate", "high", "medium"}),
    "cite": frozenset({"confidence"}),
}
"""Options of our stages that a document or an operator sets. All those of other packages' stages
are settings."""


def with_options(stages: Sequence[Stage], options: Options) -> tuple[Stage, ...]:
    """The stages with the options that are named for them; raises ConfigError for a wrong value."""
    return tuple(_apply_options(stage, options) for stage in stages) if options else tuple(stages)


def settable_options(
    stages: Iterable[Stage], ours: Container[str]
) -> Iterator[tuple[str, str, FieldInfo]]:
    """Stage, option and field of every option that is a setting; `ours` names our own stages."""
    for stage in stages:
        for name, field in type(stage).model_fields.items():
            decided = name in stage.model_fields_set or bool(field.exclude)
            if not decided and (stage.name not in ours or name in SETTABLE.get(stage.name, ())):
                yield stage.name, name, field


def _apply_options(stage: Stage, options: Options) -> Stage:
    if stage.inner:
        stage = stage.model_copy(update={"inner": with_options(stage.inner, options)})
    known = type(stage).model_fields.keys() - stage.model_fields_set
    changes = {name: v for name, v in options.get(stage.name, {}).items() if name in known}
    if not changes:
        return stage
    try:
        return stage.but(**changes)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join((PREFIX, stage.name, *map(str, first["loc"])))
        raise ConfigError(f"The setting {key} is wrong: {describe_fault(first)}.") from error
