"""What documents name in parts: the chat model, by provider and model, and the MongoDB of
conversations, by host and port.

OPENAI_API_KEY alone changes nothing: many machines have one for other programs, and documents must
not go to OpenAI because of it. It is the key only where LLM_PROVIDER is openai, or OPENAI_MODEL is
set, or a model that names no other provider and no other server.
"""

import logging
from dataclasses import replace
from urllib.parse import quote

from ragstone.core.errors import ConfigError
from ragstone.settings.aliases import (
    DB_HOST,
    DB_PORT,
    MADE_OF_PARTS,
    OLLAMA_MODEL,
    OLLAMA_URL,
    OPENAI_KEY,
    OPENAI_MODEL,
    PROVIDER,
)
from ragstone.settings.origin import GivenValue

log = logging.getLogger(__name__)

OPENAI, OLLAMA = "openai", "ollama"
OLLAMA_HERE = "http://localhost:11434"
MODEL, URL, KEY = "llm.model", "llm.base_url", "llm.api_key"
CONVERSATIONS, MONGODB_PORT = "conversation.url", "27017"


def whole(given: dict[str, GivenValue]) -> dict[str, GivenValue]:
    """The settings with the parts that documents name put together to `llm.*` and
    `conversation.url`; what is set as these wins. Raises ConfigError."""
    parts = {name: given.pop(name) for name in MADE_OF_PARTS if name in given}
    if host := _text(parts.get(DB_HOST)):
        _fill_value(given, CONVERSATIONS, replace(parts[DB_HOST], value=_mongodb(host, parts)))
    named = parts.get(PROVIDER)
    provider = _text(named).lower() or _infer_provider(given, parts)
    if provider == OLLAMA:
        _fill_value(given, MODEL, parts.get(OLLAMA_MODEL))
        url = parts.get(OLLAMA_URL) or (named and GivenValue(OLLAMA_HERE, named.origin))
        if url and _text(given.get(MODEL)):
            _fill_value(given, URL, replace(url, value=_v1(_text(url))))
    elif provider == OPENAI:
        _fill_value(given, MODEL, parts.get(OPENAI_MODEL))
    model = _text(given.get(MODEL))
    if named and not model:
        log.warning("%s is %s, but no model is set.", named.origin.where, provider)
    if model and ":" not in model and provider != OLLAMA and not _text(given.get(URL)) and provider:
        given[MODEL] = replace(given[MODEL], value=f"{provider}:{model}")
    elsewhere = _text(given.get(URL)) or model.partition(":")[0] not in (OPENAI, model)
    if provider == OPENAI or (not provider and model and not elsewhere):
        _fill_value(given, KEY, parts.get(OPENAI_KEY))
    return given


def _mongodb(host: str, parts: dict[str, GivenValue]) -> str:
    """The address of the MongoDB of chat-core's document; raises ConfigError for a wrong port."""
    port = _text(parts.get(DB_PORT)) or MONGODB_PORT
    if not (port.isdecimal() and 1 <= int(port) <= 65_535):
        raise ConfigError(f"{parts[DB_PORT].origin.where} is {port!r}, which is not a port.")
    return f"mongodb://{f'[{host}]' if ':' in host else quote(host, safe='')}:{port}"


def _infer_provider(given: dict[str, GivenValue], parts: dict[str, GivenValue]) -> str:
    """The provider implied by the name of a model setting, if none is given."""
    if _text(given.get(MODEL)):
        return ""
    if OPENAI_MODEL in parts:
        return OPENAI
    return OLLAMA if OLLAMA_MODEL in parts else ""


def _fill_value(given: dict[str, GivenValue], key: str, part: GivenValue | None) -> None:
    if part is not None and not _text(given.get(key)):
        given[key] = part.override(given.get(key))


def _v1(url: str) -> str:
    url = url.strip().rstrip("/")
    return url if url.endswith("/v1") else f"{url}/v1"


def _text(given: GivenValue | None) -> str:
    return str(given.value).strip() if given and given.value is not None else ""
