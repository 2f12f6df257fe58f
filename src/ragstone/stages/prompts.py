"""What a stage tells the chat model: the tenant's own prompt, else the shipped one."""

from collections.abc import Mapping

from ragstone.ports import Kit
from ragstone.text.language import detect
from ragstone.text.templates import filled, of_language, shipped
from ragstone.turn import Turn


async def prompt(turn: Turn, kit: Kit, name: str, **values: str) -> str:
    """The prompt `name` for this question, in its language where there is one, with its places
    filled."""
    own = await own_text(turn, kit, name)
    return filled(own or shipped(name) or "", **values).strip()


async def own_text(turn: Turn, kit: Kit, name: str) -> str:
    """The text that replaces the shipped prompt `name` for this question, empty for none."""
    own = await own_texts(turn, kit)
    return of_language(own, name, lambda: detect(turn.question or turn.ask.question))


async def own_texts(turn: Turn, kit: Kit) -> Mapping[str, str]:
    """All prompts that replace shipped ones for this question's tenant."""
    return await kit.templates.texts(turn.ask.principal.tenant) if kit.templates else {}


async def text_of(kit: Kit, tenant: str, name: str) -> str:
    """The prompt `name` of a tenant, in no language in particular."""
    own = await kit.templates.texts(tenant) if kit.templates else {}
    return (own.get(name) or shipped(name) or "").strip()
