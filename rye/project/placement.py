"""Where an installed item's files are: ``.ai/packages/<namespace>/<kind folder>/<category>/<name><suffix>`` (DESIGN
§6).

An item of an editable folder has such a path for messages and lookups, but no file there, so code that reads the path finds
nothing.
"""

from __future__ import annotations

from rye.items.kinds import KINDS
from rye.project.lock import LockedItem


def item_folder(item: LockedItem) -> str:
    """The folder that contains the item's own file, relative to the project, with ``/``."""
    return item_path(item).rpartition("/")[0]


def item_path(item: LockedItem) -> str:
    """The item's own file."""
    kind = KINDS[item.kind]
    namespace, _, local_id = item.id.partition("/")
    place = f".ai/packages/{namespace}/{kind.folder}/{local_id}"
    return f"{place}/{kind.main_file}" if kind.main_file is not None else place + item.suffix


def item_files(item: LockedItem) -> dict[str, tuple[str, bool]]:
    """Map the path of each file of the item → (SHA-256, executable). Empty for an editable item."""
    if item.is_editable:
        return {}
    files = {item_path(item): (item.sha256, False)}
    if item.attached:
        folder = item_folder(item)
        files.update({f"{folder}/{entry.path}": (entry.sha256, entry.executable) for entry in item.attached})
    return files
