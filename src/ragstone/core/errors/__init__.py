"""The errors that Ragstone raises on purpose.

RagstoneError
├── InputError              what was asked cannot be done as asked; a retry does not help
│   ├── EmptyQuestion
│   ├── QuestionTooLong
│   ├── InvalidFilter
│   ├── UnknownCollection
│   ├── UnknownDocument
│   ├── UnknownEntity
│   ├── UnknownFile
│   ├── UnknownResponse
│   ├── UnknownFolder
│   ├── UnknownOriginal
│   ├── UnknownPassage
│   ├── UnknownPicture
│   ├── UnknownOperation
│   ├── UnknownModel
│   ├── InvalidTopic
│   ├── UnknownTopic
│   ├── UnknownTrace
│   ├── InvalidRoom
│   ├── UnknownRoom
│   ├── InvalidBlock
│   ├── UnknownJob
│   ├── UnknownAnswer
│   ├── UnknownApproval
│   ├── UnknownQuestionSet
│   ├── UnknownRun
│   ├── UnknownKey
│   ├── QuestionBlocked
│   ├── QueryRefused
│   ├── InvalidSetting
│   ├── UnknownSetting
│   ├── InvalidPrompt
│   ├── UnknownPrompt
│   ├── Unauthorized
│   ├── Forbidden
│   └── ClientClosed
├── DocumentError           one file cannot be indexed; the others still are
│   ├── UnreadableDocument
│   ├── EncryptedDocument
│   ├── EmptyDocument
│   ├── WrongType
│   ├── TooLarge
│   ├── ArchiveBomb
│   ├── OutsideFolder
│   ├── PathTaken
│   ├── ReadersRefused
│   └── InvalidMetadata
├── ConfigError             a setting must change first
│   └── EmbeddingMismatch
├── Conflict                something else holds what is needed
│   ├── DataDirectoryInUse
│   ├── FileInUse
│   ├── JobEnded
│   └── VersionMismatch
├── StorageFull             the disk is full; nothing already written is harmed
├── TooManyRequests         a limit is reached for now
├── StageTimeout            a stage took longer than its limit
├── RequestTimeout          a whole request did
└── Unavailable             something Ragstone needs does not answer; a retry may help
    ├── IndexUnavailable
    ├── RetrievalUnavailable
    ├── StateUnavailable
    ├── FilesUnavailable
    ├── ModelUnavailable
    │   ├── NoChatModel
    │   └── NoVision
    ├── Busy
    ├── QueueFull
    ├── ToolsUnavailable
    ├── GuardUnavailable
    ├── CheckUnavailable
    └── Unreachable

Messages are single sentences for a person: what is wrong, then what to do.
"""

from ragstone.core.errors.documents import (
    ArchiveBomb,
    DocumentError,
    EmptyDocument,
    EncryptedDocument,
    InvalidMetadata,
    OutsideFolder,
    PathTaken,
    ReadersRefused,
    TooLarge,
    UnreadableDocument,
    WrongType,
)
from ragstone.core.errors.inputs import (
    ClientClosed,
    EmptyQuestion,
    Forbidden,
    InputError,
    InvalidBlock,
    InvalidFilter,
    InvalidPrompt,
    InvalidRoom,
    InvalidSetting,
    InvalidTopic,
    QueryRefused,
    QuestionBlocked,
    QuestionTooLong,
    Unauthorized,
    UnknownAnswer,
    UnknownApproval,
    UnknownCollection,
    UnknownDocument,
    UnknownEntity,
    UnknownFile,
    UnknownFolder,
    UnknownJob,
    UnknownKey,
    UnknownModel,
    UnknownOperation,
    UnknownOriginal,
    UnknownPassage,
    UnknownPicture,
    UnknownPrompt,
    UnknownQuestionSet,
    UnknownResponse,
    UnknownRoom,
    UnknownRun,
    UnknownSetting,
    UnknownTopic,
    UnknownTrace,
)
from ragstone.core.errors.operation import (
    Busy,
    CheckUnavailable,
    ConfigError,
    Conflict,
    DataDirectoryInUse,
    EmbeddingMismatch,
    FileInUse,
    FilesUnavailable,
    GuardUnavailable,
    IndexUnavailable,
    JobEnded,
    ModelUnavailable,
    NoChatModel,
    NoVision,
    QueueFull,
    RequestTimeout,
    RetrievalUnavailable,
    StageTimeout,
    StateUnavailable,
    StorageFull,
    ToolsUnavailable,
    TooManyRequests,
    Unavailable,
    Unreachable,
    VersionMismatch,
)
from ragstone.core.errors.root import (
    RagstoneError,
)

__all__ = [
    "ArchiveBomb",
    "Busy",
    "CheckUnavailable",
    "ClientClosed",
    "ConfigError",
    "Conflict",
    "DataDirectoryInUse",
    "DocumentError",
    "EmbeddingMismatch",
    "EmptyDocument",
    "EmptyQuestion",
    "EncryptedDocument",
    "FileInUse",
    "FilesUnavailable",
    "Forbidden",
    "GuardUnavailable",
    "IndexUnavailable",
    "InputError",
    "InvalidBlock",
    "InvalidFilter",
    "InvalidMetadata",
    "InvalidPrompt",
    "InvalidRoom",
    "InvalidSetting",
    "InvalidTopic",
    "JobEnded",
    "ModelUnavailable",
    "NoChatModel",
    "NoVision",
    "OutsideFolder",
    "PathTaken",
    "QueryRefused",
    "QuestionBlocked",
    "QuestionTooLong",
    "QueueFull",
    "RagstoneError",
    "ReadersRefused",
    "RequestTimeout",
    "RetrievalUnavailable",
    "StageTimeout",
    "StateUnavailable",
    "StorageFull",
    "TooLarge",
    "TooManyRequests",
    "ToolsUnavailable",
    "Unauthorized",
    "Unavailable",
    "UnknownAnswer",
    "UnknownApproval",
    "UnknownCollection",
    "UnknownDocument",
    "UnknownEntity",
    "UnknownFile",
    "UnknownFolder",
    "UnknownJob",
    "UnknownKey",
    "UnknownModel",
    "UnknownOperation",
    "UnknownOriginal",
    "UnknownPassage",
    "UnknownPicture",
    "UnknownPrompt",
    "UnknownQuestionSet",
    "UnknownResponse",
    "UnknownRoom",
    "UnknownRun",
    "UnknownSetting",
    "UnknownTopic",
    "UnknownTrace",
    "Unreachable",
    "UnreadableDocument",
    "VersionMismatch",
    "WrongType",
]
