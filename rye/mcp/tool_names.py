"""Names of single tools under ``--expand``: ``acme/fs/write`` becomes ``acme__fs__write``; unique, at most 64 characters.
Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

from rye.limits import RUNTIME

_HASH = 8


def tool_names(ids: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return the ids by name. A name ends in a hash of the id if it is too long, in ``taken``, or would stand for two ids
    (``a__b/c`` and ``a/b/c``)."""
    wanted = {item_id: item_id.replace("/", "__") for item_id in sorted(set(ids))}
    often = Counter([*wanted.values(), *taken])
    most = RUNTIME.tool_name_characters
    names: dict[str, str] = {}
    for item_id, name in wanted.items():
        if len(name) > most or often[name] > 1:
            digest = sha256(item_id.encode()).hexdigest()[:_HASH]
            name = f"{name[: most - _HASH - 1]}_{digest}"
        names[name] = item_id
    return names
