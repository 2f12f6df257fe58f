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
│   ├── UnknownSource
│   ├── UnknownAnswer
│   ├── UnknownApproval
│   ├── UnknownQuestionSet
│   ├── UnknownRun
│   ├── UnknownVerified
│   ├── UnknownShare
│   ├── UnknownNote
│   ├── UnknownQuota
│   ├── UnknownWebhook
│   ├── UnknownKey
│   ├── UnknownPerson
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
│   ├── CopyPassedOver
│   └── InvalidMetadata
├── ConfigError             a setting must change first
│   └── EmbeddingMismatch
├── Conflict                something else holds what is needed
│   ├── DataDirectoryInUse
│   ├── FileInUse
│   ├── JobEnded
│   └── VersionMismatch
├── StorageFull             the disk is full; nothing already written is harmed
├── Postponed               what a job does has to wait
├── TooManyRequests         a limit is reached for now
│   └── QuotaExceeded       a month's quota is used up
├── StageTimeout            a stage took longer than its limit
├── RequestTimeout          a whole request did
└── Unavailable             something Ragstone needs does not answer; a retry may help
    ├── IndexUnavailable
    ├── RetrievalUnavailable
    ├── StateUnavailable
    ├── FilesUnavailable
    ├── SourceUnavailable
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

from ragstone.core.errors.inputs import *  # noqa: F403
from ragstone.core.errors.operation import *  # noqa: F403
from ragstone.core.errors.operation import RagstoneError

__all__ = sorted(
    name
    for name, value in vars().items()
    if isinstance(value, type) and issubclass(value, RagstoneError)
)
