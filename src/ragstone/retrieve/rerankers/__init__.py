"""What compares the best candidates with the question a second time, by name."""

from dataclasses import dataclass

from ragstone.core.errors import ConfigError
from ragstone.models.named import NamedModels
from ragstone.ports import Completer, Embedders, Reranker, Templates
from ragstone.registry import Extension, Registry
from ragstone.retrieve.held_tokens import HeldTokens
from ragstone.retrieve.rerankers.late_interaction import LateInteraction
from ragstone.retrieve.sampled_rarity import SampledRarity
from ragstone.settings import RerankSettings


@dataclass(frozen=True, slots=True)
class RerankerParts:
    """What a reranker may be made of: its settings, the chat model if there is one, the prompts,
    the token vectors, embedders and word statistics of the index, and where named models are."""

    settings: RerankSettings
    chat: Completer | None
    templates: Templates
    tokens: HeldTokens
    embedders: Embedders
    rarity: SampledRarity
    models: NamedModels


def build_reranker(parts: RerankerParts) -> Reranker:
    """Return the reranker that the settings name; raises ConfigError."""
    settings = parts.settings
    if settings.base_url:
        return RERANKERS.make("endpoint", parts)
    name = settings.model or "late-interaction"
    if name in RERANKERS:
        return RERANKERS.make(name, parts)
    if source := parts.models.find(name):
        return source.reranker(settings)
    raise ConfigError(
        f"RERANK__MODEL is {name!r}: use one of {', '.join(RERANKERS)}, a model's folder, "
        "package:NAME or OWNER/NAME, or set RERANK__BASE_URL to the endpoint that has it."
    )


def _late_interaction(parts: RerankerParts) -> Reranker:
    return LateInteraction(parts.tokens, parts.embedders, parts.rarity)


RERANKERS: Registry[Reranker] = Registry(
    "ragstone.rerankers",
    "reranker",
    {"late-interaction": Extension(_late_interaction, "Token by token, with the bundled model")},
    makes=Reranker,
)
"""Rerankers by RERANK__MODEL, made of `RerankerParts`."""
