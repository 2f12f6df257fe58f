"""Prompts: what chat models are told, with the names and the places of each.

`answer` is the whole of an answer's prompt, with the forms, modes and lines in it; every other one
is for one kind of work around it. A name may end with a language (`answer.de`), which then is
preferred for questions in that language.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ragstone.core.errors import InvalidPrompt, UnknownPrompt

ANSWER, STRUCTURED = "answer", "structured"
ROOM = "add_room_system_prompt"
LINES = ("quote_first", "reasoning", "suggestions", "sources_used")
FORMS = ("direct", "summary", "comparison", "list", "analysis", "calculation", "steps")
MODES = ("simple", "advanced", "precise")

MAX_PROMPT_CHARS = 20_000
"""Characters of a prompt."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a prompt is for, the places that it must have, and those that it may have besides."""

    help: str
    needed: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()


_LANGUAGE = frozenset({"language"})

PROMPTS: Mapping[str, Prompt] = {
    ROOM: Prompt("Who the assistant is; before the rules of every answer."),
    ANSWER: Prompt(
        "How an answer is made from its sources.",
        frozenset({"no_answer"}),
        frozenset({"language", "form", "mode"}),
    ),
    STRUCTURED: Prompt(
        "How an answer in JSON is made from its sources.", frozenset({"no_answer"}), _LANGUAGE
    ),
    **{f"form.{form}": Prompt(f"The line of answers of the form {form}.") for form in FORMS},
    **{f"mode.{mode}": Prompt(f"The line of answers in the mode {mode}.") for mode in MODES},
    "quote_first": Prompt("The line for models that do better when they quote first."),
    "reasoning": Prompt("The line for questions that need reasoning."),
    "suggestions": Prompt("The line that asks for further questions."),
    "sources_used": Prompt("The line that asks for the numbers of the references used."),
    "sum_up": Prompt(
        "How a part of what is too long to be read at once is summed up.", allowed=_LANGUAGE
    ),
    "table_query": Prompt("How a query over a table is written."),
    "rewrite_query": Prompt("How a follow-up becomes a question of its own."),
    "rewrite.multi": Prompt(
        "How a question is asked in other words.", frozenset({"count"}), _LANGUAGE
    ),
    "rewrite.hyde": Prompt("How a passage that could answer is imagined.", allowed=_LANGUAGE),
    "rewrite.step_back": Prompt("How a broader question is asked.", allowed=_LANGUAGE),
    "rewrite.decompose": Prompt("How a question is taken apart.", allowed=_LANGUAGE),
    "rewrite.keywords": Prompt("How search terms are found.", allowed=_LANGUAGE),
    "intent": Prompt("How the kind of a question is recognised.", frozenset({"kinds"})),
    "complexity": Prompt("How the complexity of a question is judged."),
    "guard_verification": Prompt("How a question near a forbidden topic is judged."),
    "forbidden_guidance": Prompt(
        "What the asker of a forbidden question is told; it wins over rag.forbidden_guidance."
    ),
    "same_question": Prompt("How a question of a FAQ in other words is recognised."),
    "rerank": Prompt("How the chat model ranks passages."),
    "judge_claims": Prompt("How the sentences of an answer are compared with its sources."),
    "judge_answer": Prompt(
        "How an answer is judged before a further round.", frozenset({"criteria"})
    ),
    "appraisal": Prompt("How the chat model grades what was found."),
    "thoughts": Prompt("How the chat model thinks about the sources before it answers."),
    "need": Prompt("How a request that needs no documents is recognised."),
    "need_first": Prompt("How a question of common knowledge is recognised."),
    "need_answer": Prompt(
        "How a request about the conversation is answered from it.", frozenset({"documents"})
    ),
    "conversation": Prompt("How a conversation without documents is answered.", allowed=_LANGUAGE),
    "hypothetical_questions": Prompt(
        "How questions that a passage answers are made when it is indexed.", frozenset({"count"})
    ),
    "picture_description": Prompt("How a picture of a document is described when it is indexed."),
    "graph_reading": Prompt("How the entities and relations of passages are named."),
    "agent": Prompt("How tools are called to gather what an answer is made from."),
}
"""Every prompt of the pipeline, in the order of `ragstone prompts list`."""

NAMES = tuple(PROMPTS)

_PLACE = re.compile(r"\{(\w+)\}")
_NAME = re.compile(rf"({'|'.join(map(re.escape, NAMES))})(?:\.([a-z]{{2,3}}))?")


def describe_prompt(name: str) -> Prompt:
    """The description of the prompt `name`, with or without a language; raises UnknownPrompt."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise UnknownPrompt(
            f"There is no prompt {name[:80]!r}. The prompts are {', '.join(NAMES)}, each with "
            "or without a language at its end, like answer.de."
        )
    return PROMPTS[match[1]]


def check_prompt(name: str, text: str) -> None:
    """Raise UnknownPrompt or InvalidPrompt unless `text` can be the prompt `name`."""
    known = describe_prompt(name)
    if not text.strip() or len(text) > MAX_PROMPT_CHARS:
        raise InvalidPrompt(f"The prompt {name!r} must have 1 to {MAX_PROMPT_CHARS:,} characters.")
    places = set(_PLACE.findall(text))
    if missing := known.needed - places:
        raise InvalidPrompt(f"The prompt {name!r} must hold {_placeholders(missing)}.")
    if unknown := places - known.needed - known.allowed:
        raise InvalidPrompt(f"The prompt {name!r} cannot hold {_placeholders(unknown)}.")
    if "\0" in text or not _encodes(text):
        raise InvalidPrompt(f"The prompt {name!r} holds characters that are no text.")


def load_shipped(name: str) -> str | None:
    """The text of a prompt as it comes with the product; None if it has none of that name."""
    return _load_prompts().get(name)


def build_instructions(texts: Callable[[str], str], parts: Sequence[str], **values: str) -> str:
    """Return the prompts named in `parts`, one behind the other, with their places filled.

    `texts` gives a prompt's text by its name. Places in the values are not filled.
    """
    whole = "\n".join(texts(part).strip() for part in parts)
    return "\n".join(line for line in fill_places(whole, **values).splitlines() if line.strip())


def fill_places(text: str, **values: str) -> str:
    """Return the text with its places filled; places in the values are not."""
    return _PLACE.sub(lambda match: values.get(match[1], match[0]), text)


def choose_by_language(own: Mapping[str, str], name: str, language: Callable[[], str]) -> str:
    """The text of `name` among `own`, that of the question's language before the general one."""
    if any(item.startswith(f"{name}.") for item in own):
        return own.get(f"{name}.{language()}") or own.get(name, "")
    return own.get(name, "")


def _placeholders(names: frozenset[str] | set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@cache
def _load_prompts() -> Mapping[str, str]:
    folder = files("ragstone").joinpath("templates")
    return {name: folder.joinpath(f"{name}.txt").read_text(encoding="utf-8") for name in NAMES}
