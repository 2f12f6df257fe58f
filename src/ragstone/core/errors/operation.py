"""What Ragstone itself needs is not as it should be."""

from typing import ClassVar

from ragstone.core.answer import Usage


class RagstoneError(Exception):
    """Root of the tree.

    `code` is stable and machine-readable, `status` the HTTP status it maps to, `retry`
    whether the same request may succeed later. `used` is what a question has used by then, where
    the stage that failed says so.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    retry: ClassVar[bool] = False
    used: Usage | None = None

    @property
    def message(self) -> str:
        """The sentence to show, without type names or tracebacks."""
        return str(self)


class ConfigError(RagstoneError):
    code = "configuration"


class EmbeddingMismatch(ConfigError):
    code = "embedding_mismatch"
    status = 409

    def __init__(self, collection: str, stored: str, current: str) -> None:
        super().__init__(
            f"Collection {collection!r} was indexed with the embedding model {stored}, "
            f"but the configured one is {current}. "
            f"Rebuild it with 'ragstone rebuild --collection {collection}', "
            "or set EMBEDDING__MODEL back."
        )


class Conflict(RagstoneError):
    code = "conflict"
    status = 409


class DataDirectoryInUse(Conflict):
    code = "data_directory_in_use"
    retry = True


class FileInUse(Conflict):
    """A file is being indexed."""

    code = "file_in_use"
    retry = True


class JobEnded(Conflict):
    """The state of a job does not allow what was asked of it."""

    code = "job_ended"


class VersionMismatch(Conflict):
    """A command and a server, or a program and a server, that do not mean the same."""

    code = "version_mismatch"


class StorageFull(RagstoneError):
    code = "storage_full"
    status = 507


class StageTimeout(RagstoneError):
    code = "timeout"
    status = 504
    retry = True

    def __init__(self, stage: str, seconds: float, setting: str = "") -> None:
        """`setting` is what raises the limit, if one does."""
        named = f"{seconds:g} s limit ({setting})" if setting else f"{seconds:g} s limit"
        super().__init__(f"The {stage} stage took longer than its {named}.")


class RequestTimeout(RagstoneError):
    code = "timeout"
    status = 504
    retry = True


class Postponed(RagstoneError):
    """A job has to wait for `retry_after` seconds, which is no failure: it may do so any number of
    times."""

    code = "postponed"
    status = 503
    retry = True
    retry_after: float | None = None

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooManyRequests(RagstoneError):
    """`retry_after` is in how many seconds the limit lets more through."""

    code = "rate_limited"
    status = 429
    retry = True
    retry_after: float | None = None

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class QuotaExceeded(TooManyRequests):
    """What may be used of chat models in a month is used up: no retry helps before its end."""

    code = "quota_exceeded"
    retry = False


class Unavailable(RagstoneError):
    """`retry_after` is in how many seconds a retry may help, None if that is unknown."""

    code = "unavailable"
    status = 503
    retry = True
    retry_after: float | None = None

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class IndexUnavailable(Unavailable):
    code = "index_unavailable"


class RetrievalUnavailable(Unavailable):
    """The retrieval service that is asked instead of an index does not answer."""

    code = "retrieval_unavailable"


class FilesUnavailable(Unavailable):
    """The disk or mount that files of a user are on does not answer."""

    code = "files_unavailable"


class SourceUnavailable(Unavailable):
    """A source that is kept in sync does not answer, or does not let us in."""

    code = "source_unavailable"


class StateUnavailable(Unavailable):
    code = "state_unavailable"


class ModelUnavailable(Unavailable):
    code = "model_unavailable"


class NoChatModel(ModelUnavailable):
    """Only a chat model can do this, and none is set; 409, as a retry does not help."""

    code = "no_chat_model"
    status = 409
    retry = False

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} takes a chat model, and none is set. Set LLM__MODEL.")


class NoVision(ModelUnavailable):
    """The chat model cannot look at pictures; 409, as a retry does not help."""

    code = "no_vision"
    status = 409
    retry = False

    def __init__(self, model: str) -> None:
        super().__init__(
            f"The chat model {model!r} cannot look at pictures, and no text was recognised in "
            "them. Set LLM__MODEL to one that can, or LLM__VISION=true if this one can."
        )


class ToolsUnavailable(Unavailable):
    code = "tools_unavailable"


class Busy(Unavailable):
    code = "busy"


class QueueFull(Unavailable):
    code = "queue_full"
    status = 429


class GuardUnavailable(Unavailable):
    code = "guard_unavailable"

    def __init__(self) -> None:
        super().__init__(
            "The check of forbidden topics failed, so the question was not answered. "
            "Try again; the server's log says what failed."
        )


class CheckUnavailable(Unavailable):
    code = "check_unavailable"

    def __init__(self, message: str = "") -> None:
        super().__init__(
            message
            or "The answer could not be checked against its sources, so it was not sent. "
            "Try again; the server's log says what failed."
        )


class Unreachable(Unavailable):
    """No Ragstone server answers at an address."""

    code = "unreachable"
