"""The chat model of the settings. Its libraries take a second to import, so it is imported only
when there is one."""

from typing import TYPE_CHECKING

from ragstone.core.errors import ConfigError
from ragstone.models.fallback import NOTE, ChatAnswerer, WithFallback
from ragstone.ports import Answerer
from ragstone.settings import LlmSettings, Settings

if TYPE_CHECKING:
    from ragstone.models.chat import ChatModel
    from ragstone.models.gguf import GgufModel


def chat_model(settings: Settings) -> ChatAnswerer | None:
    """The chat model with the one that stands by for it, None if there is none.

    Raises ConfigError.
    """
    llm, other = settings.llm, settings.llm_fallback
    if not llm.configured:
        if other.configured:
            raise ConfigError("LLM_FALLBACK__* is set, but no chat model is: set LLM__MODEL.")
        return None
    standby = other.configured or llm.fallback != "none"
    first = _one(llm, "LLM", standby)
    if not other.configured:
        return first
    last = _one(other, "LLM_FALLBACK", llm.fallback != "none")
    return WithFallback(first, last)


def ensemble(settings: Settings) -> tuple[ChatAnswerer, ...]:
    """The models that vote, reached as that of LLM__* is; raises ConfigError."""
    names = settings.ensemble.names
    members = [settings.llm.model_copy(update={"model": name}) for name in names]
    if members and settings.llm.model_path:
        raise ConfigError(
            "ENSEMBLE__MODELS needs a server: LLM__MODEL_PATH is one model. Leave it empty, and "
            "samples of that model vote."
        )
    return tuple(_one(llm, "LLM", standby=False) for llm in members)


def with_standby(settings: Settings, chat: ChatAnswerer | None, extractive: Answerer) -> Answerer:
    """The chat model of the settings, else the extractive answerer, which may stand by for it."""
    if chat and settings.llm.fallback == "none":
        return chat
    return WithFallback(chat, extractive, NOTE) if chat else extractive


def _one(llm: LlmSettings, section: str, standby: bool) -> "ChatModel | GgufModel":
    if llm.model_path:
        from ragstone.models.gguf import GgufModel

        return GgufModel(llm, section, standby)
    from ragstone.models.chat import ChatModel

    return ChatModel(llm, section, standby)
