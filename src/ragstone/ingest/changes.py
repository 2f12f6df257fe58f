"""Compares found files with known documents: unchanged, changed, another owner's, or gone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragstone.core.errors import PathTaken
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Principal
from ragstone.ingest import handed
from ragstone.ingest.files import FoundFile
from ragstone.ingest.write import document_id
from ragstone.service import IngestRequest


def described(
    collection: Collection, request: IngestRequest, item: FoundFile, said: Mapping[str, Any]
) -> Document:
    """The document of a file that has not been read yet. `said` is what stands about it in files
    beside it; what the request says of all counts more."""
    metadata = {**said, **request.metadata}
    title = metadata.get("title")
    document = Document(
        id=document_id(collection.tenant, collection.id, item.path),
        tenant=collection.tenant,
        collection=collection.id,
        path=item.path,
        allowed=request.allowed,
        source=str(item.source),
        size=item.size,
        modified=item.modified,
        title=title if isinstance(title, str) else "",
        metadata=metadata or None,
    )
    return handed.described(document, item.handed) if item.handed else document


def at_known_paths(
    found: Sequence[FoundFile], known: Mapping[str, Sequence[str]]
) -> Iterator[FoundFile]:
    """Each file once, at the path that it has in the collection already: the same file given with
    another folder, or alone, is no other document. `known` are the paths by source."""
    seen: set[Path] = set()
    for item in found:
        if item.handed is None:
            if item.source in seen:
                continue
            seen.add(item.source)
            paths = known.get(str(item.source), ())
            if paths and item.path not in paths:
                item = replace(item, path=paths[0])
        yield item


def unchanged(known: Document, document: Document) -> bool:
    """Whether nothing is to be done."""
    return (
        known.version > 0
        and known.source == document.source
        and known.status in ("text", "ready")
        and known.content_hash == document.content_hash
        and known.allowed == document.allowed
    )


def refuse_if_hidden(known: Document | None, by: Principal | None) -> None:
    """Raise if `by`, who hands a document over, may not read the one that has its path."""
    if known and by and not set(by.names) & set(known.allowed):
        raise _path_taken(known)


def refuse_if_taken(known: Document, document: Document, by: Principal | None = None) -> None:
    """Raise if a file elsewhere, still there, already has this path in the collection."""
    elsewhere = known.version > 0 and known.source != document.source
    if elsewhere and Path(known.source).exists():
        if by:  # Who hands documents over need not know the files of this machine.
            raise _path_taken(known)
        raise PathTaken(
            f"{known.path} is already the document of {known.source}. "
            "Use another collection, or rename the folder."
        )


def _path_taken(known: Document) -> PathTaken:
    return PathTaken(f"{known.path} is the place of another document. Choose another path.")


def gone(
    collection: Collection,
    known: Mapping[str, Sequence[str]],
    request: IngestRequest,
    found: Sequence[FoundFile],
) -> list[str]:
    """The ids of documents whose file under the given paths no longer exists. `known` are the
    paths by source."""
    roots = [Path(path).resolve() for path in request.paths]
    here = {str(item.source) for item in found}
    return [
        document_id(collection.tenant, collection.id, path)
        for source, paths in known.items()
        if source not in here
        and any(Path(source).is_relative_to(root) for root in roots)
        and not Path(source).exists()
        for path in paths
    ]
