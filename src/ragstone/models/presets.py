"""Model servers that run beside Ragstone, by the name that stands before the model's.

The providers that pydantic-ai has a client for, such as `anthropic:...`, are known to it.
"""

import os

from ragstone.settings import LlmSettings

SERVERS = {
    "ollama": "http://127.0.0.1:11434/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
}
"""Where each listens unless it is told otherwise; all speak OpenAI's API."""


def with_address(settings: LlmSettings) -> LlmSettings:
    """The settings with the address of the server that `ollama:name` and the like name. An
    address of its own, and a variable such as OLLAMA_BASE_URL, count more."""
    server, _, model = settings.model.partition(":")
    if settings.base_url or settings.model_path or server not in SERVERS:
        return settings
    address = os.environ.get(f"{server.upper()}_BASE_URL", "").strip().rstrip("/")
    if address and not address.endswith("/v1"):
        address += "/v1"
    return settings.model_copy(update={"base_url": address or SERVERS[server], "model": model})
