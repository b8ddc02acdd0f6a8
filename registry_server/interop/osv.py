"""Advisories in the Open Source Vulnerability format (OSV schema 1.7): one at ``/osv/ID.json``, all at
``/osv/all.zip``.

The schema has no ecosystem for items like ours, so an entry has no ``package``. The item is in ``ecosystem_specific``,
and ``versions`` lists every release that the advisory is about, including withdrawn ones, because people may still have
them. An id is ``x_rye-``, the advisory's number and a hash of registry, item and number, so ids are unique and never
change.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from hashlib import sha256

from rye.errors import RyeError
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Advisory
from rye.registry.trust.records import ItemHistory, concerns
from rye.resolution.ranges import Range

SCHEMA_VERSION = "1.7.0"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every entry in the archive: the earliest that the format has."""


def identifier(advisory: Advisory) -> str:
    """Return an id that is unique among all registries."""
    named = f"{advisory.origin}\n{advisory.identity}\n{advisory.number}"
    return f"x_rye-{advisory.number}-{sha256(named.encode()).hexdigest()[:32]}"


def entries(history: ItemHistory, address: str) -> dict[str, bytes]:
    """Return the entries of an item's advisories in force, by id: without those that were withdrawn.

    If the registry's owners and the namespace use one number, the owners' is told, unless they withdrew it.
    """
    versions = [record.version for record in history.records]
    told: dict[str, Advisory] = {}
    for advisory in history.advisories:  # the owners' first
        if _is_withdrawn(advisory):
            continue
        known = told.get(identifier(advisory))
        if known is None or not any(concerns(known, version) for version in versions):
            told[identifier(advisory)] = advisory
    return {name: entry(advisory, versions, address) for name, advisory in told.items()}


def _is_withdrawn(advisory: Advisory) -> bool:
    """Whether its range contains no version at all, which takes back what it said."""
    try:
        return Range.parse(advisory.range).versions.is_empty()
    except RyeError:
        return False


def entry(advisory: Advisory, versions: Iterable[str], address: str) -> bytes:
    """Return the entry of one advisory. ``versions``: all versions of the item that were ever released."""
    identity = identifier(advisory)
    item = str(advisory.identity)
    document = {
        "schema_version": SCHEMA_VERSION,
        "id": identity,
        "modified": write_time(advisory.time),
        "summary": advisory.title,
        "affected": [
            {
                "versions": [version for version in versions if concerns(advisory, version)],
                "ecosystem_specific": {
                    "registry": advisory.origin,
                    "item": item,
                    "range": advisory.range,
                    "severity": advisory.severity,
                },
            }
        ],
        "references": [{"type": "ADVISORY", "url": f"{address}/osv/{identity}.json"}],
        "database_specific": {
            "registry": advisory.origin,
            "number": advisory.number,
            "signed_by": "the registry's owners" if advisory.keyset is None else advisory.identity.namespace,
        },
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return all entries as a reproducible zip: sorted, with one time for all, not compressed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as packed:
        for name in sorted(files):
            info = zipfile.ZipInfo(f"{name}.json", _EPOCH)
            info.create_system, info.external_attr = 3, 0o100644 << 16
            packed.writestr(info, files[name])
    return stream.getvalue()
