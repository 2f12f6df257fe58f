"""Which of the HTTP dialects answer."""

from pydantic import ConfigDict, Field, model_validator

from ragstone.registry import Extension, find_installed
from ragstone.settings.section import Section


class DialectSettings(Section):
    """One switch for each dialect; the routes of one that is off do not exist. A dialect of another
    package has a switch of its name too."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, bool]

    chat_core: bool = Field(True, description="`/v2/{rag,gpt,pa}/query`.")
    pipeline: bool = Field(True, description="Chat completions with `mode`.")
    rag_v1: bool = Field(True, description="`/api/v1/rag/*`.")
    plone: bool = Field(True, description="`@rag-ask` and its kin, below any path of a site.")
    chats: bool = Field(True, description="`/chat/{chat_id}/*`.")
    openai: bool = Field(True, description="`/v1/*`.")
    retrieval: bool = Field(True, description="`/api/v1/retrieval/*`.")
    mcp: bool = Field(True, description="Tools for agents at `/mcp`.")

    def is_on(self, name: str) -> bool:
        """Whether a dialect answers; that of another package does unless it is switched off."""
        return bool(getattr(self, name, True))

    @model_validator(mode="after")
    def _all_known(self) -> "DialectSettings":
        known = find_added_dialects() if self.__pydantic_extra__ else {}
        for name in self.__pydantic_extra__:
            if name not in known:
                raise ValueError(
                    f"there is no dialect {name!r}; 'ragstone plugins' shows what there is"
                )
        return self


def find_added_dialects() -> dict[str, Extension]:
    """The dialects of other packages by name, as far as none of ours has it."""
    added = dict(find_installed().get("ragstone.dialects", ()))
    return {name: item for name, item in added.items() if name not in DialectSettings.model_fields}
