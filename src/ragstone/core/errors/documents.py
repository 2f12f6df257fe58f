"""One file cannot be indexed."""

from ragstone.core.errors.root import RagstoneError


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


class ReadersRefused(DocumentError):
    code = "readers_refused"
    status = 403


class InvalidMetadata(DocumentError):
    code = "invalid_metadata"
