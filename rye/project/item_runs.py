"""The parts of an item on disk that can run."""

from __future__ import annotations

from rye.items.attached import attached_files
from rye.items.consented import Run
from rye.items.runs import attached_runs
from rye.limits import RUNS
from rye.project.item_file import ItemFile
from rye.storage.safe_files import read_bytes


def runs_of(item: ItemFile) -> tuple[Run, ...]:
    """Return the parts of an item on disk that can run, attached files included. Raises RyeError for an unreadable file."""
    metadata = item.reading.metadata
    own = metadata.runs if metadata is not None else ()
    if item.kind.main_file is None or item.path.name != item.kind.main_file:
        return own
    found = [
        (file.path, file.executable, file.sha256, read_bytes(item.path.parent / file.path, RUNS.head_bytes))
        for file in attached_files(item.path)[0]
    ]
    return tuple(sorted({*own, *attached_runs(found)}))
