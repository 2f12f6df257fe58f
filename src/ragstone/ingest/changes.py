"""Compares found files with known documents: unchanged, changed, another owner's, or gone."""

import os
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragstone.core.errors import PathTaken, ReadersRefused
from ragstone.core.readers import FolderReaders, is_subset, resolve_readers
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Principal
from ragstone.ingest import uploads
from ragstone.ingest.file_threads import report_progress
from ragstone.ingest.files import FoundFile
from ragstone.ingest.places import find_archive, is_archive, resolve_links
from ragstone.ingest.write import document_id
from ragstone.service import IngestRequest

MAX_GONE, MAX_GONE_SHARE = 10, 0.5
"""Documents that may be gone at once, and their share of all, where `hold` is asked for."""


def describe_file(
    collection: Collection, request: IngestRequest, item: FoundFile, said: Mapping[str, Any]
) -> Document:
    """Return the document of a file that has not been read yet. `said` is what stands about it in
    files beside it; what the request says of all counts more."""
    metadata = {**said, **request.metadata}
    title = metadata.get("title")
    document = Document(
        id=document_id(collection.tenant, collection.id, item.path),
        tenant=collection.tenant,
        collection=collection.id,
        path=item.path,
        own_readers=request.allowed or None,
        source=item.place,
        size=item.size,
        modified=item.modified,
        title=title if isinstance(title, str) else "",
        metadata=metadata or None,
    )
    return uploads.describe_document(document, item.handed) if item.handed else document


def assign_readers(
    document: Document, known: Document | None, rules: Sequence[FolderReaders]
) -> Document:
    """Return the document with its readers: those that the request names or that it has already,
    within those of its folders, else theirs, else the collection's."""
    own, fixed = document.own_readers, False
    if known and (own is None or known.readers_fixed):
        own, fixed = known.own_readers, known.readers_fixed
    found = resolve_readers(document.path, own or (), fixed, rules)
    return replace(document, allowed=found.allowed, readers_fixed=fixed)


def refuse_readers(
    document: Document, known: Document | None, rules: Sequence[FolderReaders], by: Principal | None
) -> None:
    """Raise ReadersRefused if nobody could read the document, or if who hands it over would open a
    known one to others by that."""
    told = document.own_readers
    if not document.allowed:
        said = resolve_readers(document.path, told or (), False, rules).reasons
        names = "; ".join(", ".join(item.readers) for item in said)
        raise ReadersRefused(
            f"Nobody could read {document.path}: its readers and those of its folders have no name "
            f"in common ({names}). Leave its readers out, or name them in its folders too."
        )
    if by and known and told and not known.readers_fixed and not is_subset(told, known.allowed):
        raise ReadersRefused(
            f"{document.path} is for {', '.join(known.allowed)} already. Leave readers out to keep "
            "that; an administrator can change it."
        )


def gives_readers(known: Document, document: Document) -> bool:
    """Tell whether a document whose content is known comes with other readers."""
    told = document.own_readers is not None and not known.readers_fixed
    return known.allowed != document.allowed or (told and known.own_readers != document.own_readers)


def keep_known_paths(
    found: Sequence[FoundFile], known: Mapping[str, Sequence[str]]
) -> Iterator[FoundFile]:
    """Yield each file once, at the path that it has in the collection already: the same file given
    with another folder, or alone, is no other document. `known` are the paths by source."""
    seen: set[str] = set()
    for item in found:
        if item.handed is None:
            if item.place in seen:
                continue
            seen.add(item.place)
            paths = known.get(item.place, ())
            if paths and item.path not in paths:
                item = replace(item, path=paths[0])
        yield item


def is_unchanged(known: Document, document: Document) -> bool:
    """Tell whether nothing is to be done."""
    return (
        known.version > 0
        and known.source == document.source
        and known.status in ("text", "ready")
        and known.content_hash == document.content_hash
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


@dataclass(frozen=True, slots=True)
class Gone:
    """The ids of documents whose file is gone, and sentences on what could not be told. `known` is
    how many documents there were in the given folders, where `hold` is asked for."""

    documents: list[str]
    notes: list[str]
    known: int


def is_suspicious(gone: int, known: int, *, empty: bool) -> bool:
    """Tell whether so many of the known documents or items are gone at once, or all where the
    listing is `empty`, that this, or the disk, is more likely not whole."""
    return gone > 0 and (empty or (gone > MAX_GONE and gone > known * MAX_GONE_SHARE))


def explain_held(gone: int, known: int) -> str:
    """Return what is said of removals that are held back."""
    return (
        f"{gone:,} of {known:,} are gone at once, as where a listing is not whole: they stay. If "
        "they are gone for good, sync once and accept the removals (--accept-removals)."
    )


def find_gone(
    collection: Collection,
    known: Mapping[str, Sequence[str]],
    request: IngestRequest,
    found: Sequence[FoundFile],
    shares: Set[str] = frozenset(),
    opened: Set[str] = frozenset(),
) -> Gone:
    """Return the documents whose file under the given paths no longer exists. `known` are the paths
    by source. Nothing is gone because a given folder is not there, or is empty at once: a share
    that is not mounted looks like that. Nor because one of the `shares` is not mounted, or an
    archive is not among those that were `opened`."""
    # Places and not paths: a file may be known at another path.
    here = {item.place for item in found}
    named = {resolve_links(path) for path in request.only}
    roots = [Path(resolve_links(path)) for path in request.paths]
    places = tuple(f"{str(root).rstrip('/')}/" for root in roots)
    total = sum(source.startswith(places) for source in known) if request.hold else 0
    documents: list[str] = []
    notes: list[str] = []
    for share in sorted(entry for entry in shares if not os.path.ismount(entry)):
        inside = [source for source in known if source not in here and _is_inside(source, share)]
        if any(_is_inside(share, resolve_links(path)) for path in request.paths) and inside:
            here.update(inside)
            notes.append(
                f"{share} is not mounted: its {len(inside):,} documents stay. Forget them with "
                "'ragstone delete'."
            )
    for path, root in zip(request.paths, roots, strict=True):
        missing = [
            source
            for source in known
            if source not in here and Path(source).is_relative_to(root) and _is_gone(source, opened)
        ]
        if not missing:
            continue
        alone = missing == [str(root)] or (is_archive(root.name) and not root.is_dir())
        folder = root.parent if alone else root
        # A watcher may have seen these go, one by one.
        # An empty mount point looks like a folder whose files were all deleted.
        if _has_entries(folder, least=0 if named.issuperset(missing) else 1):
            here.update(missing)
            documents += (
                document_id(collection.tenant, collection.id, at)
                for source in missing
                for at in known[source]
            )
        else:
            notes.append(
                f"{path} is not there or is empty, as a share is that is not mounted: its "
                f"{len(missing):,} documents stay. Forget them with 'ragstone delete'."
            )
    return Gone(documents, notes, total)


def _is_inside(place: str, folder: str) -> bool:
    return place.startswith(f"{folder}/")


def _has_entries(folder: Path, least: int) -> bool:
    """Tell whether a folder can be read and holds at least none or one."""
    try:
        with os.scandir(folder) as entries:
            return least == 0 or next(entries, None) is not None
    except OSError:
        return False


def _is_gone(source: str, opened: Set[str]) -> bool:
    """Tell whether there is no such file; what cannot be told is there."""
    report_progress(source)
    try:
        Path(source).stat()
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        archive = find_archive(source)
        return not archive or archive in opened
    except OSError:
        return False
    return False
