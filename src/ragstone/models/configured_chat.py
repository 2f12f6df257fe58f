"""The chat model of the settings. Its libraries take a second to import, so it is imported only
when there is one."""

from typing import TYPE_CHECKING

from ragstone.errors import ConfigError
from ragstone.models.fallback import ChatAnswerer, WithFallback
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


def _one(llm: LlmSettings, section: str, standby: bool) -> "ChatModel | GgufModel":
    if llm.model_path:
        from ragstone.models.gguf import GgufModel

        return GgufModel(llm, section, standby)
    from ragstone.models.chat import ChatModel

    return ChatModel(llm, section, standby)
