"""What was asked cannot be done as asked."""

from collections.abc import Sequence

from ragstone.core.errors.operation import RagstoneError


class InputError(RagstoneError):
    code = "invalid_request"
    status = 400


class _Unknown(InputError):
    """Nothing has the `name` in the `sentence`, where `short` is its beginning: a client may have
    sent a whole book as one."""

    status = 404
    sentence = ""

    def __init__(self, name: str) -> None:
        super().__init__(self.sentence.format(name=name, short=name[:100]))


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

    def __init__(self, name: str, nearest: Sequence[str] = ()) -> None:
        hint = "List them with 'ragstone collections', or create it with 'ragstone ingest'."
        if nearest:
            hint = f"The nearest: {', '.join(nearest)}. If it is another one, create it first."
        super().__init__(f"There is no collection named {name!r}. {hint}")


class UnknownDocument(_Unknown):
    code = "unknown_document"
    sentence = "There is no document {name!r}. List them with 'ragstone documents'."


class UnknownFile(_Unknown):
    code = "unknown_file"
    sentence = "There is no file {short!r} of yours. GET /v1/files lists them."


class UnknownResponse(_Unknown):
    code = "unknown_response"
    sentence = (
        "There is no response {short!r} of yours, or it was not kept. Send the whole "
        "conversation instead."
    )


class UnknownPassage(_Unknown):
    code = "unknown_passage"
    sentence = "There is no passage {short!r}, or its document has changed. Ask again."


class UnknownOriginal(_Unknown):
    code = "unknown_original"
    sentence = (
        "The file of {name!r} is not kept here, or has changed since it was read. Its text is "
        "there; ingest it again for the file."
    )


class UnknownPicture(_Unknown):
    code = "unknown_picture"
    sentence = (
        "The picture is not in {name!r}, or the file has changed or gone since it was read. "
        "Ingest it again."
    )


class UnknownFolder(InputError):
    code = "unknown_folder"
    status = 404

    def __init__(self, path: str, nearest: Sequence[str]) -> None:
        near = f"The nearest: {', '.join(nearest)}." if nearest else ""
        hint = near or "List the documents with 'ragstone documents'."
        super().__init__(f"There is nothing at {path!r} in the collection. {hint}")


class UnknownEntity(_Unknown):
    code = "unknown_entity"
    sentence = (
        "Nothing in the collection's entity graph is named {short!r}. 'ragstone graph show' "
        "lists what is named most."
    )


class UnknownOperation(InputError):
    code = "unknown_operation"
    status = 404


class UnknownModel(InputError):
    code = "model_not_found"
    status = 404


class InvalidTopic(InputError):
    code = "invalid_topic"


class UnknownTrace(_Unknown):
    code = "unknown_trace"
    sentence = (
        "There is no trace {short!r}, or no longer: STATISTICS__TRACE_DAYS says how long they "
        "are kept."
    )


class UnknownTopic(_Unknown):
    code = "unknown_topic"
    sentence = "There is no forbidden topic {name!r}. List them with 'ragstone topics list'."


class InvalidRoom(InputError):
    code = "invalid_room"


class UnknownRoom(_Unknown):
    code = "unknown_room"
    sentence = "There is no conversation {short!r}. List them with 'ragstone conversations list'."


class InvalidBlock(InputError):
    code = "invalid_block"
    status = 422


class UnknownJob(_Unknown):
    code = "unknown_job"
    sentence = (
        "There is no job {name!r}. Ended jobs and their results are kept for a while only; "
        "submit it again."
    )


class UnknownSource(_Unknown):
    code = "unknown_source"
    sentence = "There is no source {name!r}. 'ragstone source list' shows those there are."


class UnknownAnswer(InputError):
    code = "unknown_answer"
    status = 404

    def __init__(self) -> None:
        super().__init__("This answer is no longer kept. Ask the question again.")


class UnknownApproval(InputError):
    code = "unknown_approval"
    status = 404

    def __init__(self) -> None:
        super().__init__(
            "No call of a tool waits under this id: it was answered, or waited too long. "
            "Ask the question again."
        )


class UnknownQuestionSet(_Unknown):
    code = "unknown_question_set"
    sentence = "There is no set of questions {short!r}. 'ragstone eval run FILE' makes one."


class UnknownRun(_Unknown):
    code = "unknown_run"
    sentence = "There is no evaluation {short!r}. List them with 'ragstone eval runs'."


class UnknownVerified(_Unknown):
    code = "unknown_verified"
    sentence = "There is no verified answer {short!r}. List them with 'ragstone verified list'."


class UnknownShare(InputError):
    code = "unknown_share"
    status = 404

    def __init__(self) -> None:
        super().__init__(
            "There is no shared conversation at this link any more. Ask who sent it for a new one."
        )


class UnknownNote(_Unknown):
    code = "unknown_note"
    sentence = "There is no note or answer {short!r} of yours. List your notes."


class UnknownQuota(_Unknown):
    code = "unknown_quota"
    sentence = "There is no quota of {short!r}. List them with 'ragstone quota list'."


class UnknownWebhook(_Unknown):
    code = "unknown_webhook"
    sentence = "There is no webhook {short!r}. List them with 'ragstone webhook list'."


class UnknownKey(_Unknown):
    code = "unknown_key"
    sentence = "There is no key {name!r}. List them with 'ragstone keys list'."


class UnknownPerson(_Unknown):
    code = "unknown_person"
    sentence = "There is no account {short!r}. List them with 'ragstone people list'."


class QuestionBlocked(InputError):
    """A search for a forbidden topic; the message is the guidance of the settings."""

    code = "question_blocked"
    status = 403


class QueryRefused(InputError):
    """A query over tables that is not plain reading, that fails, or that takes too much."""

    code = "query_refused"


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


class ClientClosed(InputError):
    """A client of the Python API was used after it was closed."""

    code = "client_closed"

    def __init__(self) -> None:
        super().__init__("The client is closed. Open a new one.")


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


class CopyPassedOver(DocumentError):
    """A file has the content of another document, and copies are not wanted."""

    code = "copy"

    def __init__(self) -> None:
        # Who may read the one need not know the name of the other.
        super().__init__("The collection has its content in another document.")


class InvalidMetadata(DocumentError):
    code = "invalid_metadata"
