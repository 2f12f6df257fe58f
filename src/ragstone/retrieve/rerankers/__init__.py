"""What compares the best candidates with the question a second time, by name."""

from dataclasses import dataclass

from ragstone.core.errors import ConfigError
from ragstone.ports import Completer, Embedders, Reranker, Templates
from ragstone.registry import Extension, Registry
from ragstone.retrieve.held_tokens import HeldTokens
from ragstone.retrieve.rerankers.late_interaction import LateInteraction
from ragstone.retrieve.rerankers.listwise import ListwiseReranker
from ragstone.retrieve.sampled_rarity import SampledRarity
from ragstone.settings import RerankSettings


@dataclass(frozen=True, slots=True)
class RerankerParts:
    """What a reranker may be made of: its settings, the chat model if there is one, the prompts,
    and the token vectors, embedders and word statistics of the index."""

    settings: RerankSettings
    chat: Completer | None
    templates: Templates
    tokens: HeldTokens
    embedders: Embedders
    rarity: SampledRarity


def reranker_of(parts: RerankerParts) -> Reranker:
    """The reranker that the settings name; raises ConfigError."""
    settings = parts.settings
    if settings.model_path:
        return RERANKERS.make("cross-encoder", parts)
    if settings.base_url:
        return RERANKERS.make("endpoint", parts)
    name = settings.model or "late-interaction"
    if name not in RERANKERS:
        raise ConfigError(
            f"RERANK__MODEL is {name!r}: set RERANK__BASE_URL to the endpoint that has it, or use "
            f"one of {', '.join(RERANKERS)}."
        )
    return RERANKERS.make(name, parts)


def _late_interaction(parts: RerankerParts) -> Reranker:
    return LateInteraction(parts.tokens, parts.embedders, parts.rarity)


def _cross_encoder(parts: RerankerParts) -> Reranker:
    from ragstone.retrieve.rerankers.cross_encoder import CrossEncoder

    if not parts.settings.model_path:
        raise ConfigError("RERANK__MODEL is cross-encoder: set RERANK__MODEL_PATH to its folder.")
    return CrossEncoder(parts.settings)


def _endpoint(parts: RerankerParts) -> Reranker:
    from ragstone.retrieve.rerankers.remote import RemoteReranker

    if not parts.settings.base_url:
        raise ConfigError("RERANK__MODEL is endpoint: set RERANK__BASE_URL to its address.")
    return RemoteReranker(parts.settings)


def _listwise(parts: RerankerParts) -> Reranker:
    if parts.chat is None:
        raise ConfigError("RERANK__MODEL is llm, but no chat model is set: set LLM__MODEL.")
    return ListwiseReranker(parts.chat, parts.settings.weight, parts.templates)


RERANKERS: Registry[Reranker] = Registry(
    "ragstone.rerankers",
    "reranker",
    {
        "late-interaction": Extension(_late_interaction, "Token by token, with the bundled model"),
        "cross-encoder": Extension(_cross_encoder, "The ONNX model of RERANK__MODEL_PATH"),
        "endpoint": Extension(_endpoint, "The server of RERANK__BASE_URL"),
        "llm": Extension(_listwise, "The chat model puts the passages in order"),
    },
    makes=Reranker,
)
"""Rerankers by RERANK__MODEL, made of `RerankerParts`."""
