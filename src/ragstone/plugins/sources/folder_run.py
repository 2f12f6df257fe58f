"""A run of a source that is a folder of this machine: an ingest of it, with all that stands beside
the files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ragstone.core.sync import MAX_REASONS, FailedItem, SourceRun
from ragstone.ingest import file_threads
from ragstone.ingest.files import FoundFile, discover
from ragstone.ingest.places import find_archive, resolve_links
from ragstone.plugins.sources.run import RunRecord, forget_documents
from ragstone.service import IngestRequest, Progress


async def sync_folder(record: RunRecord, folder: Path) -> None:
    """Index what is new and changed in the folder, and forget what is gone."""
    source, parts, before = record.source, record.parts, record.run
    request = IngestRequest(
        (str(folder),),
        await record.name_collection(),
        source.tenant,
        source.readers,
        prune=True,
        metadata={"source": source.name},
        hold=not record.request.accept_removals,
    )
    real = await file_threads.run([folder], resolve_links, folder)
    if source.folder not in ("", real):
        # Somebody has named another folder: nothing of the earlier one is found in it.
        record.count(removed=await forget_documents(parts, source))
        before = record.run
    await parts.store.change(source.id, folder=real)
    last = await parts.pipeline.ingest(
        before.id,
        request,
        lambda progress: record.change(_with_progress(before, progress)),
        source.collection,
    )
    record.change(_with_progress(before, last))


async def preview_folder(record: RunRecord, folder: Path) -> None:
    """Count what a run would do, by how the files look: none is read."""
    source, catalog, settings = record.source, record.parts.catalog, record.parts.settings

    def find_files() -> tuple[str, Sequence[FoundFile]]:
        found = discover([folder], pictures=settings.ocr)
        return resolve_links(folder), [item for item in found if isinstance(item, FoundFile)]

    def find_archives() -> Mapping[str, str]:
        return {place: find_archive(place) for place in known}

    real, found = await file_threads.run([folder], find_files)
    known = await catalog.sources(source.tenant, source.collection, [], [real])
    archives = await file_threads.run([folder], find_archives)
    opened = set(archives.values())
    ids = {
        item.place: record.document_id(known[item.place][0])
        for item in found
        if item.place in known
    }
    looks = await catalog.looks(list(ids.values()))
    # A file that was indexed as soon as it was written has no look yet.
    documents = await catalog.find_documents(list(ids.values()))
    for item in found:
        id = ids.get(item.place, "")
        look = looks.get(id) or documents.get(id)
        if item.place not in known and item.place not in opened:
            record.count(added=1)
        elif look and (look.size, look.modified) != (item.size, item.modified):
            record.count(changed=1)
        else:
            record.count(unchanged=1)
    here = {item.place for item in found}
    gone = sum(place not in here and archives[place] not in here for place in known)
    record.may_remove(gone, len(known), empty=not found)


def _with_progress(before: SourceRun, progress: Progress) -> SourceRun:
    """Return a run with what its ingest has done."""
    changed = progress.indexed - progress.added - progress.rights
    return replace(
        before,
        added=before.added + progress.added,
        changed=before.changed + changed,
        rights=before.rights + progress.rights,
        removed=before.removed + progress.pruned,
        held=progress.held,
        unchanged=progress.unchanged,
        failed=progress.failures,
        failures=tuple(
            FailedItem(failure.path, failure.reason) for failure in progress.failed[:MAX_REASONS]
        ),
        notes=(*before.notes, *progress.notes),
    )
