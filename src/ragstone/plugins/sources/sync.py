"""One run of a source, however it ends."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from ragstone.core.clock import state_time
from ragstone.core.errors import RagstoneError, StateUnavailable, StorageFull
from ragstone.core.sync import SourceRun, StoredSource
from ragstone.plugins.sources.folder_run import preview_folder, sync_folder
from ragstone.plugins.sources.item_run import ItemRun
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.options import open_options
from ragstone.plugins.sources.run import RunRecord, SyncParts, SyncRequest
from ragstone.plugins.sources.schedule import find_due
from ragstone.ports.sources import FolderSource, ItemSource, SourceParts

log = logging.getLogger(__name__)


def open_source(parts: SyncParts, source: StoredSource) -> ItemSource | FolderSource:
    """Make the source itself, for which its kind may have much to import. Raises ConfigError,
    InputError."""
    declared = SOURCES.get(source.kind)
    options = open_options(source.kind, declared, source.options)
    with SOURCES.explain_errors(source.kind):
        return declared.open(SourceParts(source.name, options, parts.folder(source.id)))


async def run_source(
    parts: SyncParts,
    source: StoredSource,
    request: SyncRequest,
    earlier: SourceRun,
    report: Callable[[SourceRun], None],
) -> SourceRun:
    """Sync a source, store how it went and when the next run is due; what fails is in the run.

    Nobody else syncs it meanwhile. Raises StateUnavailable and StorageFull: then the same run is to
    be run again. A run that has ended already is given back: whoever reads that it has may close
    the process before its job says so, and what changed since belongs to the next run.
    """
    if earlier.state != "running":
        return earlier
    async with parts.catalog.alone(source.tenant, f"source {source.id}"):
        # Another run may have gone further while this one waited, or somebody has removed it.
        now = await parts.store.get(source.id)
        if now is None:
            return replace(earlier, state="stopped", ended_at=state_time())
        source = now
        record = RunRecord(parts, source, request, earlier, report)
        checkpoint, retry_after = None, 0.0
        try:
            await record.store()
            checkpoint = await _sync(record)
            ended = replace(record.run, state="done")
        except (StateUnavailable, StorageFull):
            raise
        except RagstoneError as error:
            retry_after = getattr(error, "retry_after", None) or 0.0
            ended = replace(record.run, state="failed", error=error.message)
        except Exception as error:
            # Its text may hold an address or a secret; the log is the operator's alone.
            log.exception("The source %s broke", source.name)
            sentence = f"The kind {source.kind} broke ({type(error).__name__}); the log says where."
            ended = replace(record.run, state="failed", error=sentence)
        if not request.dry:
            await _schedule(parts, source, ended, checkpoint, retry_after)
        ended = replace(ended, ended_at=state_time())
        record.change(ended)
        await record.store()
        return ended


async def _sync(record: RunRecord) -> str | None:
    opened = await asyncio.to_thread(open_source, record.parts, record.source)
    try:
        await opened.check()
        if not isinstance(opened, FolderSource):
            return await ItemRun(record, opened).sync()
        folder = await opened.update()
        if record.request.dry:
            await preview_folder(record, folder)
        else:
            await sync_folder(record, folder)
        return None
    finally:
        await opened.aclose()


async def _schedule(
    parts: SyncParts,
    source: StoredSource,
    run: SourceRun,
    checkpoint: str | None,
    retry_after: float,
) -> None:
    """Say when the next run is due: after each failure twice as late."""
    failures = source.failures + 1 if run.state == "failed" else 0
    # It may have got another schedule meanwhile.
    now = await parts.store.get(source.id) or source
    due = find_due(now.every, now.cron, state_time(), failures=failures, retry_after=retry_after)
    values: dict[str, object] = {"failures": failures, "next_at": due}
    if checkpoint is not None:
        values["checkpoint"] = checkpoint
    await parts.store.change(source.id, **values)
