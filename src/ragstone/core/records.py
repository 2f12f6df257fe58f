"""What the state store keeps: collections, documents, forbidden topics and what they blocked."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ragstone.core.caller import Role
from ragstone.core.turn import StageTrace

DocumentStatus = Literal["writing", "text", "ready", "failed", "skipped"]
"""`skipped` is a file of a folder that is passed over: it is known, so that who names it is told
why, and listed nowhere."""


def new_collection_id() -> str:
    """Return an id that no collection has ever had, and that nobody can guess."""
    return f"c{secrets.token_hex(16)}"


@dataclass(frozen=True, slots=True)
class Collection:
    """A set of documents in one tenant, with the embedding model that indexed it.

    `id` is what it is to every store and index, unique in its tenant for ever; `name` is what
    people call it, and may change. `language` is the ISO 639-1 code that the keyword index stems
    for, empty for none. `build` names the index directory or table, so that a rebuild can stand
    beside what it replaces. `late` is the length of the token vectors that the index searches by
    late interaction, 0 where it does not. `place` says which index it is in while collections move
    from one to another (`ragstone.index.connect`), and `shared` whether it is kept there together
    with other small ones (`ragstone.ports.Shares`).
    """

    tenant: str
    name: str
    model: str
    fingerprint: str
    dimensions: int
    language: str = ""
    build: int = 1
    id: str = field(default_factory=new_collection_id)
    late: int = 0
    place: str = ""
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """What is known of one document. `version` is the one that answers questions, 0 for none yet.

    `collection` is its collection's id; what clients are given has the name there. `status`:
    writing (not yet searchable), text (by keyword), ready (also by meaning), failed
    (`error` says why; an earlier version may still answer). `source` is where it was read from.
    `allowed` are those who may read it. `own_readers` are those that it was given itself, none if
    it has those of its folder or collection, and None while an ingest leaves them as they are;
    `readers_fixed` says that an administrator has set them (`readers.resolve_readers`). `left_out`
    are sentences on what was not read of it.
    """

    id: str
    tenant: str
    collection: str
    path: str
    title: str = ""
    media_type: str = ""
    content_hash: str = ""
    version: int = 0
    allowed: tuple[str, ...] = ("*",)
    metadata: Mapping[str, Any] | None = None
    status: DocumentStatus = "writing"
    error: str = ""
    source: str = ""
    size: int = 0
    modified: float = 0.0
    chunks: int = 0
    pages: int = 0
    own_readers: tuple[str, ...] | None = ()
    readers_fixed: bool = False
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A credential of a program or a person, without its secret. `collections` None reaches every
    one of the tenant's; a store keeps ids there, and clients are given names. `sites` are the
    origins of the pages on which its widget may stand, None for a key that is not a widget's; one
    that is only asks, through it. Times are seconds since 1970, None for never."""

    id: str
    name: str
    tenant: str
    user: str
    groups: tuple[str, ...]
    collections: tuple[str, ...] | None
    role: Role
    created_at: float
    expires_at: float | None = None
    used_at: float | None = None
    revoked_at: float | None = None
    sites: tuple[str, ...] | None = None


Origin = Literal["here", "provisioned", "directory"]
"""Where an account comes from. One that was made here signs in with a password that is kept here;
a provisioned one by what others say of it (a token, a proxy); one of a directory with the password
that the directory knows."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with an account. `name` is the user who asks and, with the password, who signs in;
    `display` is what others see. `collections` are as a key's. One that is not `active` does not
    sign in."""

    tenant: str
    name: str
    display: str
    groups: tuple[str, ...]
    collections: tuple[str, ...] | None
    role: Role
    created_at: float
    origin: Origin = "here"
    active: bool = True


@dataclass(frozen=True, slots=True)
class DayUse:
    """What was asked on one day (UTC): `cost` in US dollars, as far as prices are known."""

    day: str
    questions: int
    refused: int
    blocked: int
    prompt_tokens: int
    completion_tokens: int
    cost: float


By = Literal["day", "user", "user_id", "room", "model"]
"""`user_id` is the client's own account, as its requests name it."""


@dataclass(frozen=True, slots=True)
class Use:
    """The sums of a day, user, account, room or model, by its `name`: `cost` in US dollars, as far
    as prices are known."""

    name: str
    questions: int
    refused: int
    blocked: int
    prompt_tokens: int
    completion_tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class StrategyUse:
    """How a strategy did: mean seconds of a whole question, mean confidence of its answers."""

    strategy: str
    executions: int
    seconds: float
    confidence: float | None


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """One thing that a chat model has to do, whether it does, and what was seen or is to be
    changed, in a sentence."""

    model: str
    check: str
    state: Literal["ok", "failed", "skipped"]
    said: str


@dataclass(frozen=True, slots=True)
class Report:
    """Sums of a tenant over some days."""

    days: tuple[DayUse, ...]
    strategies: tuple[StrategyUse, ...]


@dataclass(frozen=True, slots=True)
class QuestionTrace:
    """What happened to one question. `at` is in seconds since 1970; `user_id` is the
    account of the client's own; `request` is the id of the HTTP
    request, `trace` that of W3C Trace Context; `cached` is what the semantic cache had of it
    (answer, search or nothing). `question` is empty unless the operator wants it kept. `finish` is
    the answer's, or error, and then `error` names the stage that failed. `origin` is what it was
    answered from (`provenance.Provenance`), empty where that is not known."""

    id: str
    at: float
    tenant: str
    user: str
    request: str = ""
    trace: str = ""
    user_id: str = ""
    room: str = ""
    collection: str = ""
    level: str = ""
    strategy: str = ""
    intent: str = ""
    question: str = ""
    model: str = ""
    finish: str = ""
    error: str = ""
    cached: str = ""
    seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    confidence: float | None = None
    stages: tuple[StageTrace, ...] = ()
    origin: str = ""


@dataclass(frozen=True, slots=True)
class StageUse:
    """How long a stage took, in seconds, over `runs` questions; `failed` of them it failed."""

    stage: str
    runs: int
    failed: int
    mean: float
    p95: float


Thumb = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """What somebody thinks of an answer, with the question and the answer that it is about. `at` is
    in seconds since 1970."""

    tenant: str
    user: str
    answer_id: str
    thumb: Thumb
    comment: str
    question: str
    answer: str
    collection: str
    at: float


MatchType = Literal["exact", "synonym", "contextual", "weak"]
"""exact: the topic's term, or nearly the same words; synonym: a synonym of it, or the same thing in
other words; contextual: the same subject; weak: too little for a type, but over the threshold."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What a tenant's questions may not be about. `examples` are questions that are."""

    id: str
    tenant: str
    term: str
    synonyms: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    language: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class TopicMatch:
    """A topic that a question touches: `score` in 0..1, and where its words stand in the normal
    form of the question, if they do."""

    topic: Topic
    match: MatchType
    score: float
    place: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class BlockedQuestion:
    """A question that was not answered because of a topic, kept for the operator to look at.

    `at` is in seconds since 1970; `decided_by` is rules, likeness or the chat model's name.
    """

    at: float
    tenant: str
    user: str
    question: str
    topic_id: str
    term: str
    match: MatchType
    score: float
    decided_by: str
    user_id: str = ""


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """Whether a question may be answered. `match` is the topic that it was looked at for."""

    blocked: bool
    rule: str = ""
    decided_by: str = ""
    match: TopicMatch | None = None


@dataclass(frozen=True, slots=True)
class TemplateVersion:
    """One version of a prompt, counted from 1; an empty `text` is what stands below it.

    `updated_at` is in seconds since 1970; `tenant` is empty for the prompt of all; `who` made it.
    """

    name: str
    version: int
    text: str
    updated_at: float
    tenant: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class StoredSetting:
    """A setting as it was set at run time. `scope` is global, tenant:<name> or
    collection:<tenant>/<id>."""

    scope: str
    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class SettingEdit:
    """A setting to be set in a scope, or with `removes` no longer to be set there."""

    scope: str
    key: str
    value: Any = None
    removes: bool = False


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A line of the settings' log. `at` is in seconds since 1970; `old` and `new` are None where
    nothing was or is set in the scope."""

    at: float
    who: str
    scope: str
    key: str
    action: Literal["set", "unset"]
    old: Any
    new: Any
