"""Which tokenizer a chat model has, by its name."""

import re

_FAMILIES = (
    (r"gpt-?oss|gpt-?4o|gpt-?4\.[15]|gpt-?5|chatgpt-4o|\bo[1345](?:-|\b)", "o200k_base"),
    (r"gpt-?4|gpt-?3\.5|text-embedding|davinci-00[23]", "cl100k_base"),
    (r"llama-?3|llama3|hermes-?3", "llama3"),
    (r"qwen|qwq", "qwen3"),
    (r"deepseek", "deepseek_v3"),
    (r"gemma", "gemma3"),
    (r"glm", "glm4"),
    (r"mistral|mixtral|codestral|ministral|magistral|devstral", "mistral_v3"),
)
"""The first that fits: a distilled model (deepseek-r1-distill-qwen) has its own tokenizer, not that
of the model that it learnt from."""


def tokenizer_family(model: str) -> str:
    """The family, as `text.tokens.count` knows it; empty for a model that is not known."""
    name = model.casefold().replace("_", "-")
    return next((family for known, family in _FAMILIES if re.search(known, name)), "")
