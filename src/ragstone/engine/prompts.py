"""What a stage tells the chat model: the tenant's own prompt, else the shipped one."""

from collections.abc import Mapping

from ragstone.core.turn import Turn
from ragstone.language.language import detect
from ragstone.language.templates import choose_by_language, fill_places, load_shipped
from ragstone.ports import Adapters


async def prompt(turn: Turn, adapters: Adapters, name: str, **values: str) -> str:
    """Return the prompt `name` for this question, in its language where there is one, with its
    places filled."""
    own = await own_text(turn, adapters, name)
    return fill_places(own or load_shipped(name) or "", **values).strip()


async def own_text(turn: Turn, adapters: Adapters, name: str) -> str:
    """Return the text that replaces the shipped prompt `name` for this question, empty for none."""
    own = await own_texts(turn, adapters)
    return choose_by_language(own, name, lambda: detect(turn.question or turn.ask.question))


async def own_texts(turn: Turn, adapters: Adapters) -> Mapping[str, str]:
    """Return all prompts that replace shipped ones for this question's tenant."""
    return await adapters.templates.texts(turn.ask.principal.tenant)


async def prompt_text(adapters: Adapters, tenant: str, name: str) -> str:
    """Return the prompt `name` of a tenant, in no language in particular."""
    own = await adapters.templates.texts(tenant)
    return (own.get(name) or load_shipped(name) or "").strip()
