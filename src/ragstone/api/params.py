"""What a question can be asked with, declared once for every method that takes a question."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from ragstone.core.errors import InputError
from ragstone.core.faults import describe_fault
from ragstone.core.filters import And, AnyOf, Filter, Not, Or, Range, paths_filter
from ragstone.core.turn import (
    Ask,
    Fusion,
    Level,
    Message,
    Mode,
    Preference,
    Principal,
    Rewriting,
    SearchOptions,
    SearchType,
    Strategy,
    Unit,
)
from ragstone.language.similar_names import find_similar

MetadataValue: TypeAlias = str | int | float | bool
Where: TypeAlias = Filter | Mapping[str, MetadataValue | Sequence[MetadataValue]]

Role = Literal["user", "assistant", "system"]

_Share = Annotated[float, Field(ge=0, le=1)]


class SearchParams(TypedDict, total=False):
    """How passages are found; what is left out is decided by the level and the settings.

    - `collection`: the documents to search, "default" if absent.
    - `level`: how much work to spend: basic, standard, enhanced or maximum.
    - `top_k`: how many passages to find, or to answer from.
    - `under`: a folder, or several; only documents below it.
    - `where`: the metadata that documents must have, as a mapping (a sequence of values means any
      of them), or a condition of `ragstone.filters`.
    - `strategy`: how to search, such as dense, bm25 or hybrid.
    - `fusion`: whether results of several searches are combined by scores or by ranks.
    - `dense_weight`: the share of meaning against words (0..1).
    - `rerank`: whether the best candidates are compared with the question again.
    - `rewrite`: in which other words the question is searched too.
    - `min_similarity`: the least likeness to the question (0..1).
    - `diversity`: how much different passages are preferred (0..1).
    - `unit`: what a passage is: chunk, paragraph or section.
    - `neighbours`: how many chunks on either side come along.
    - `per_document`: the most passages of one document; with 1, `top_k` counts documents.
    - `cache`: whether the answer of an equal question will do; True if absent.
    """

    collection: str
    level: Level
    top_k: Annotated[int, Field(ge=1, le=100)]
    under: str | Sequence[str]
    where: Where
    strategy: Strategy
    fusion: Fusion
    dense_weight: _Share
    rerank: bool
    rewrite: Rewriting
    min_similarity: _Share
    diversity: _Share
    unit: Unit
    neighbours: Annotated[int, Field(ge=0, le=100)]
    per_document: Annotated[int, Field(ge=0, le=1000)]
    cache: bool


class AskParams(SearchParams, total=False):
    """How a question is answered, besides how its passages are found (`SearchParams`).

    - `conversation`: the name of the conversation to continue; a new name begins one.
    - `history`: earlier messages, each with a `role` and its `content`, for programs that keep
      conversations themselves.
    - `mode`: how the answer is worded: simple, advanced or precise.
    - `prefer`: whether accuracy or speed counts more.
    - `temperature`, `max_tokens`, `stop`: of the chat model, if there is one.
    - `agent`: whether the chat model may call tools first; `organisation` is whose tools of an MCP
      gateway these are.
    - `approves`: whether somebody reads the events of `stream`, and answers each `AgentStep` that
      waits with `Client.approve`; else calls of tools that change anything are declined.
    - `comments`: whether customers' comments are counted and quoted for it, whatever its words.
    """

    conversation: str
    history: Sequence[Mapping[str, str]]
    mode: Mode
    prefer: Preference
    temperature: Annotated[float, Field(ge=0, le=2)]
    max_tokens: Annotated[int, Field(ge=1)]
    stop: Sequence[str]
    agent: bool
    organisation: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,64}$")]
    approves: bool
    comments: bool


_SEARCH_OPTIONS = frozenset(SearchOptions.__dataclass_fields__)


def to_ask(question: str, principal: Principal, params: Mapping[str, Any], kind: Any) -> Ask:
    """The question of the contract, from parameters of this kind.

    Raises TypeError for a name that is none of them, InputError for a value that does not fit.
    """
    if not isinstance(question, str):
        raise InputError(f"The question must be a text, not {type(question).__name__}.")
    if not question.isascii() and any("\ud800" <= item <= "\udfff" for item in question):
        raise InputError("The question holds half a character (a lone surrogate). Leave it out.")
    _check(params, kind)
    plain = {name: value for name, value in params.items() if name not in _SEARCH_OPTIONS}
    folders, where = plain.pop("under", None), plain.pop("where", None)
    room = plain.pop("conversation", None)
    search_type = _search_type(plain.pop("agent", False), plain.pop("comments", False))
    history = tuple(_message(item) for item in plain.pop("history", ()))
    wanted = SearchOptions(**{name: params[name] for name in params if name in _SEARCH_OPTIONS})
    return Ask(
        question,
        principal,
        **{**plain, "stop": tuple(plain.get("stop", ()))},
        wanted=wanted,
        where=condition(folders, where),
        room=room,
        history=history,
        search_type=search_type,
    )


def _search_type(agent: bool, comments: bool) -> SearchType:
    if agent and comments:
        raise InputError("agent and comments exclude each other: leave one of them out.")
    return "pa" if agent else "voc" if comments else "rag"


def condition(folders: str | Sequence[str] | None, where: Where | None) -> Filter | None:
    """What documents must fulfil; None for nothing."""
    parts: list[Filter] = []
    if folders is not None:
        named = (folders,) if isinstance(folders, str) else folders
        parts.append(paths_filter(named))
    if isinstance(where, Mapping):
        parts += [AnyOf(f"metadata.{key}", _values(value)) for key, value in where.items()]
    elif where is not None:
        parts.append(where)
    return And(tuple(parts)) if parts else None


def _values(value: Any) -> tuple[MetadataValue, ...]:
    values = tuple(value) if isinstance(value, list | tuple | set | frozenset) else (value,)
    wrong = [item for item in values if not isinstance(item, MetadataValue)]
    if wrong:
        raise InputError(f"where compares texts, numbers and truth values, not {wrong[0]!r}.")
    return values


def _message(given: Mapping[str, str]) -> Message:
    content = given.get("content")
    role = next((arg for arg in get_args(Role) if arg == given.get("role")), None)
    if role is None or not isinstance(content, str):
        raise InputError(
            "A message of history has a role (user, assistant or system) and a content, a text."
        )
    return Message(role, content)


def _check(params: Mapping[str, Any], kind: Any) -> None:
    known = kind.__annotations__
    for name in params:
        if name not in known:
            near = find_similar(name, known, 1)
            hint = f" Do you mean {near[0]!r}?" if near else ""
            raise TypeError(f"There is no parameter {name!r}.{hint}")
    where = params.get("where")
    if not isinstance(where, Mapping | And | Or | Not | AnyOf | Range | None):
        raise InputError("where is a mapping of metadata, or a condition of ragstone.filters.")
    checked = {name: value for name, value in params.items() if name != "where"}
    try:
        _adapter(kind).validate_python(checked, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InputError(f"{first['loc'][0]} is wrong: {describe_fault(first)}.") from error


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
