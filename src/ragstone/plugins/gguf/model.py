"""A chat model from a GGUF file, run by llama.cpp in this process (the extra `gguf`).

llama.cpp serves on a free loopback port under a key that only this process knows, so the same
code talks to it as to any other server.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from ragstone.core.answer import Instructions
from ragstone.core.clock import has_failed
from ragstone.core.errors import ConfigError
from ragstone.core.turn import Ask, Passage
from ragstone.models.profiles import profile
from ragstone.ports import Profile, Said
from ragstone.settings import LlmSettings

if TYPE_CHECKING:
    from ragstone.models.chat import ChatModel

PARALLEL = 2
"""Questions that llama.cpp works on at a time; each has its own window in memory."""

WINDOW = 8192
"""Tokens: a longer window takes memory, so it must be asked for."""

MAGIC = b"GGUF"


class GgufModel:
    """`ports.Answerer` that loads `settings.model_path` with the first question."""

    def __init__(self, settings: LlmSettings, section: str = "LLM", standby: bool = False) -> None:
        path = Path(settings.model_path).expanduser()
        _check(path, section)
        self.name = settings.model_name
        known = profile(settings)
        window = settings.context_window or min(known.context_window, WINDOW)
        self.profile: Profile = replace(known, context_window=window)
        self._path = path
        self._settings = settings
        self._section = section
        self._standby = standby
        self._server: Any = None
        self._loading: asyncio.Task[ChatModel] | None = None

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        chat = await self._load_model()
        stream = chat.answer(ask, passages, instructions)
        try:
            async for said in stream:
                yield said
        finally:
            await stream.aclose()

    async def converse(self, ask: Ask, rules: str) -> AsyncGenerator[Said, None]:
        async with aclosing((await self._load_model()).converse(ask, rules)) as stream:
            async for said in stream:
                yield said

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        return await (await self._load_model()).complete(rules, text, max_tokens, temperature)

    async def ready(self) -> str:
        return await (await self._load_model()).ready()

    async def aclose(self) -> None:
        loading, self._loading = self._loading, None
        if loading:
            await asyncio.wait([loading])
            if not has_failed(loading):
                await loading.result().aclose()
        # Dropping the last reference stops llama.cpp; it has no method for that.
        server, self._server = self._server, None
        del server

    async def _load_model(self) -> "ChatModel":
        """The model, loaded once: a caller that leaves meanwhile does not make it load again."""
        if self._loading is None or has_failed(self._loading):
            self._loading = asyncio.create_task(asyncio.to_thread(self._load))
        # The load goes on for the next question when this caller leaves.
        return await asyncio.shield(self._loading)

    def _load(self) -> "ChatModel":
        from xllamacpp import CommonParams, Server  # type: ignore[attr-defined]

        from ragstone.models.chat import ChatModel

        key = secrets.token_urlsafe(32)
        params = CommonParams()
        params.model.path = str(self._path)
        params.hostnames = ["127.0.0.1"]
        # Any free one: the key keeps other programs out.
        params.port = 0
        params.api_keys = [key]
        params.n_ctx = self.profile.context_window * PARALLEL
        params.n_parallel = PARALLEL
        params.offline, params.ui, params.warmup = True, False, False
        params.verbosity = -1
        try:
            self._server = Server(params)
        except RuntimeError as error:
            raise ConfigError(f"llama.cpp cannot load {self._path}: {error}.") from error
        changes = {
            "base_url": f"{self._server.listening_address}/v1",
            "api_key": SecretStr(key),
            "model": self.name,
            "context_window": self.profile.context_window,
        }
        settings = self._settings.model_copy(update=changes)
        return ChatModel(settings, self._section, self._standby, PARALLEL)


def _check(path: Path, section: str) -> None:
    try:
        import xllamacpp  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"{section}__MODEL needs llama.cpp: install it with pip install 'ragstone[gguf]'."
        ) from error
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except OSError as error:
        raise ConfigError(f"{section}__MODEL: {path} cannot be read ({error.strerror}).") from error
    if magic != MAGIC:
        raise ConfigError(f"{section}__MODEL: {path} is not a GGUF file.")
