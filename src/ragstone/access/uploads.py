"""Which files may be uploaded."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from ragstone.core.errors import WrongType


def check_type(name: str, types: Sequence[str]) -> None:
    """Raise WrongType unless a file of this name may be uploaded.

    `types` are the endings of SERVER__UPLOAD_TYPES, with or without a dot; without any, whatever
    can be read may be uploaded, and reading decides.
    """
    endings = [ending.lower().lstrip(".") for ending in types]
    given = PurePosixPath(name).suffix.lower().lstrip(".")
    if endings and given not in endings:
        listed = ", ".join(endings)
        raise WrongType(f"Not a valid kind of file: upload one of {listed}.")
