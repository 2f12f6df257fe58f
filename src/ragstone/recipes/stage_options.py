"""Options of stages that have no setting: each is `stages.<stage>.<option>`.

The recipes decide the options that settings are for; every other field of a stage keeps its
default unless it is named here, so that nothing in the pipeline is out of an operator's reach.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ragstone.core.errors import ConfigError
from ragstone.engine.stage import Stage

Options = Mapping[str, Mapping[str, Any]]

PREFIX = "stages"


def with_options(stages: Sequence[Stage], options: Options) -> tuple[Stage, ...]:
    """The stages with the options that are named for them; raises ConfigError for a wrong value."""
    return tuple(_apply_options(stage, options) for stage in stages) if options else tuple(stages)


def free(stages: Iterable[Stage]) -> Iterator[tuple[str, str, FieldInfo]]:
    """Stage, option and field of every option that no setting decides."""
    for stage in stages:
        for name, field in type(stage).model_fields.items():
            if name not in stage.model_fields_set and not field.exclude:
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
        raise ConfigError(f"The setting {key} is wrong: {first['msg']}.") from error
