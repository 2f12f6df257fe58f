"""Operations: `rag.call("opening_lines.show")` returns how the documents of a collection begin."""

from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from ragstone.core.turn import Principal
from ragstone.service.added import AddedService
from ragstone.service.routes import require_role


@dataclass(frozen=True)
class OpeningLine:
    """How a document begins."""

    path: str
    text: str


class OpeningLines(Protocol):
    """How documents begin."""

    @require_role("reader")
    async def show(
        self, principal: Principal, collection: str, *, limit: Annotated[int, Field(ge=1)] = 10
    ) -> list[OpeningLine]:
        """How the documents that the principal may read begin. Raises UnknownCollection."""
        ...


OPENING_LINES: AddedService[OpeningLines] = AddedService(
    "opening_lines", OpeningLines, "ragstone_example.beginnings:open_service"
)
