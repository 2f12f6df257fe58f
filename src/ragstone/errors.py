"""The errors that Ragstone raises on purpose.

RagstoneError
├── InputError              what was asked cannot be done as asked; a retry does not help
│   ├── EmptyQuestion
│   ├── QuestionTooLong
│   ├── InvalidFilter
│   ├── UnknownCollection
│   ├── UnknownDocument
│   ├── UnknownModel
│   ├── InvalidTopic
│   ├── UnknownTopic
│   ├── UnknownTrace
│   ├── InvalidRoom
│   ├── UnknownRoom
│   ├── InvalidBlock
│   ├── UnknownJob
│   ├── UnknownKey
│   ├── QuestionBlocked
│   ├── InvalidSetting
│   ├── UnknownSetting
│   ├── InvalidPrompt
│   ├── UnknownPrompt
│   ├── Unauthorized
│   └── Forbidden
├── DocumentError           one file cannot be indexed; the others still are
│   ├── UnreadableDocument
│   ├── EncryptedDocument
│   ├── EmptyDocument
│   ├── WrongType
│   ├── TooLarge
│   ├── ArchiveBomb
│   ├── OutsideFolder
│   └── PathTaken
├── ConfigError             a setting must change first
│   └── EmbeddingMismatch
├── Conflict                something else holds what is needed
│   ├── DataDirectoryInUse
│   └── JobEnded
├── StorageFull             the disk is full; nothing already written is harmed
├── TooManyRequests         a limit is reached for now
├── StageTimeout            a stage took longer than its limit
├── RequestTimeout          a whole request did
└── Unavailable             something Ragstone needs does not answer; a retry may help
    ├── IndexUnavailable
    ├── StateUnavailable
    ├── ModelUnavailable
    │   ├── NoChatModel
    │   └── NoVision
    ├── Busy
    ├── QueueFull
    ├── ToolsUnavailable
    ├── GuardUnavailable
    └── CheckUnavailable

Messages are single sentences for a person: what is wrong, then what to do.
"""

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


class InputError(RagstoneError):
    code = "invalid_request"
    status = 400


class EmptyQuestion(InputError):
    code = "empty_question"

    def __init__(self) -> None:
        super().__init__("The question is empty. Write what you want to know.")


class QuestionTooLong(InputError):
    code = "question_too_long"

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(
            f"The question has {length:,} characters; the limit is {limit:,}. "
            "Shorten it, or put the long text into a document and ingest that."
        )


class InvalidFilter(InputError):
    code = "invalid_filter"


class UnknownCollection(InputError):
    code = "unknown_collection"
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no collection named {name!r}. "
            "List them with 'ragstone collections', or create it with 'ragstone ingest'."
        )


class UnknownDocument(InputError):
    code = "unknown_document"
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no document {name!r}. List them with 'ragstone documents'.")


class UnknownModel(InputError):
    code = "model_not_found"
    status = 404


class InvalidTopic(InputError):
    code = "invalid_topic"


class UnknownTrace(InputError):
    code = "unknown_trace"
    status = 404

    def __init__(self, id: str) -> None:
        super().__init__(
            f"There is no trace {id[:100]!r}, or no longer: STATISTICS__TRACE_DAYS says how long "
            "they are kept."
        )


class UnknownTopic(InputError):
    code = "unknown_topic"
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no forbidden topic {name!r}. List them with 'ragstone topics list'."
        )


class InvalidRoom(InputError):
    code = "invalid_room"


class UnknownRoom(InputError):
    code = "unknown_room"
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no conversation {name[:100]!r}. "
            "List them with 'ragstone conversations list'."
        )


class InvalidBlock(InputError):
    code = "invalid_block"
    status = 422


class UnknownJob(InputError):
    code = "unknown_job"
    status = 404

    def __init__(self, id: str) -> None:
        super().__init__(
            f"There is no job {id!r}. Ended jobs and their results are kept for a while only; "
            "submit it again."
        )


class UnknownKey(InputError):
    code = "unknown_key"
    status = 404

    def __init__(self, id: str) -> None:
        super().__init__(f"There is no key {id!r}. List them with 'ragstone keys list'.")


class QuestionBlocked(InputError):
    """A search for a forbidden topic; the message is the guidance of the settings."""

    code = "question_blocked"
    status = 403


class InvalidSetting(InputError):
    """A value that a setting cannot have, or a setting that cannot change there."""

    code = "invalid_setting"


class UnknownSetting(InputError):
    code = "unknown_setting"
    status = 404

    def __init__(self, name: str, near: str = "") -> None:
        hint = f" Do you mean {near!r}?" if near else ""
        super().__init__(
            f"There is no setting {name!r}.{hint} 'ragstone settings list' shows what there is."
        )


class InvalidPrompt(InputError):
    code = "invalid_prompt"


class UnknownPrompt(InputError):
    code = "unknown_prompt"
    status = 404


class Unauthorized(InputError):
    """No credential, or one that does not hold."""

    code = "unauthorized"
    status = 401


class Forbidden(InputError):
    """The credential holds, but does not allow this."""

    code = "forbidden"
    status = 403


class DocumentError(RagstoneError):
    code = "document_error"
    status = 422


class UnreadableDocument(DocumentError):
    code = "unreadable_document"


class EncryptedDocument(DocumentError):
    code = "encrypted_document"


class EmptyDocument(DocumentError):
    code = "empty_document"


class WrongType(DocumentError):
    code = "wrong_type"


class TooLarge(DocumentError):
    code = "too_large"
    status = 413


class ArchiveBomb(DocumentError):
    code = "archive_bomb"


class OutsideFolder(DocumentError):
    code = "outside_folder"


class PathTaken(DocumentError):
    code = "path_taken"
    status = 409


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


class JobEnded(Conflict):
    """The state of a job does not allow what was asked of it."""

    code = "job_ended"


class StorageFull(RagstoneError):
    code = "storage_full"
    status = 507


class StageTimeout(RagstoneError):
    code = "timeout"
    status = 504
    retry = True

    def __init__(self, stage: str, seconds: float) -> None:
        super().__init__(f"The {stage} stage took longer than its {seconds:g} s limit.")


class RequestTimeout(RagstoneError):
    code = "timeout"
    status = 504
    retry = True


class TooManyRequests(RagstoneError):
    """`retry_after` is in how many seconds the limit lets more through."""

    code = "rate_limited"
    status = 429
    retry = True
    retry_after: float | None = None

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


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
            f"The chat model {model!r} cannot look at pictures. Set LLM__MODEL to one that can, "
            "or LLM__VISION=true if this one can."
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

    def __init__(self) -> None:
        super().__init__(
            "The answer could not be checked against its sources, so it was not sent. "
            "Try again; the server's log says what failed."
        )
