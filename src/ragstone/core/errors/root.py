"""The root of all errors."""

from typing import ClassVar


class RagstoneError(Exception):
    """Root of the tree.

    `code` is stable and machine-readable, `status` the HTTP status it maps to, `retry`
    whether the same request may succeed later.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    retry: ClassVar[bool] = False

    @property
    def message(self) -> str:
        """The sentence to show, without type names or tracebacks."""
        return str(self)
