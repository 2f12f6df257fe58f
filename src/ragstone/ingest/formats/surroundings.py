"""What is around a document in the folder that was given, as far as it may show it."""

from dataclasses import dataclass
from pathlib import Path

from ragstone.ingest.safe_open import resolve_links


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The given folder, and where in it a document is; both are whole paths without links."""

    folder: Path
    document: Path

    def find(self, base: Path, name: str) -> Path | None:
        """The place that a name means from `base`, links resolved; None outside of the folder."""
        target = Path(resolve_links(base / name.lstrip("/")))
        return target if target.is_relative_to(self.folder) else None

    def is_hidden(self, place: Path) -> bool:
        """Whether the name of a place in the folder, or of a folder that it is in, is hidden."""
        return any(part.startswith(".") for part in place.relative_to(self.folder).parts)
