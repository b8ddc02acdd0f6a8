"""A lock as a software bill of materials: CycloneDX 1.6, JSON. Pure and deterministic.

Every item is a component with its purl (``pkg:generic``; from a git repository with its ``vcs_url``), its SHA-256, its
attached files, and its approvals as properties. The serial number is derived from the content unless one is given. A timestamp
is included only if one is given.
"""

from __future__ import annotations

import hashlib
import uuid
from urllib.parse import quote

from rye import __version__
from rye.items.identity import Identity
from rye.project.lock import Lock, LockedItem, lock_text

_NAMESPACE = uuid.UUID("5f1d1b0e-3f0a-5c55-9d5c-0d8a6f3f6d21")


def bill_of_materials(
    lock: Lock, project: str, direct: list[Identity], *, time: str | None = None, serial: str | None = None
) -> dict[str, object]:
    """Return the document. ``time``: ``YYYY-MM-DDTHH:MM:SSZ``; ``serial``: ``urn:uuid:…``; ``direct``: direct dependencies."""
    content = f"{project}\0{lock_text(lock)}".encode()
    items = sorted(lock.items, key=lambda item: item.identity)
    root = f"project:{project}"
    metadata: dict[str, object] = {
        "tools": {"components": [{"type": "application", "name": "rye", "version": __version__}]},
        "component": {"type": "application", "bom-ref": root, "name": project},
    }
    if time is not None:
        metadata = {"timestamp": time, **metadata}
    refs = {item.identity: _ref(item) for item in items}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": serial or f"urn:uuid:{uuid.uuid5(_NAMESPACE, hashlib.sha256(content).hexdigest())}",
        "version": 1,
        "metadata": metadata,
        "components": [_component(item) for item in items],
        "dependencies": [
            {"ref": root, "dependsOn": [refs[i] for i in sorted(set(direct)) if i in refs]},
            *(
                {"ref": refs[item.identity], "dependsOn": sorted({refs[i] for i in _needs(item) if i in refs})}
                for item in items
            ),
        ],
    }


def _component(item: LockedItem) -> dict[str, object]:
    component: dict[str, object] = {
        "type": "library",
        "bom-ref": _ref(item),
        "group": "/".join(_path(item)[:-1]),
        "name": _path(item)[-1],
        "version": item.version,
        "hashes": [{"alg": "SHA-256", "content": item.sha256}],
        "purl": _purl(item),
        "properties": [{"name": f"rye:{name}", "value": value} for name, value in _properties(item)],
    }
    if item.attached:
        component["components"] = [
            {
                "type": "file",
                "bom-ref": f"{_ref(item)}#{quote(entry.path)}",
                "name": entry.path,
                "hashes": [{"alg": "SHA-256", "content": entry.sha256}],
                "properties": [{"name": "rye:executable", "value": str(entry.executable).lower()}],
            }
            for entry in sorted(item.attached)
        ]
    return component


def _properties(item: LockedItem) -> list[tuple[str, str]]:
    return [
        ("kind", item.kind),
        *_origin(item),
        *(("group", group) for group in sorted(item.groups)),
        *(("capability", capability) for capability in sorted(item.capabilities)),
        *(("hook", f"{hook.item_type} {hook.item_id} when {hook.when}") for hook in item.hooks),
    ]


def _origin(item: LockedItem) -> list[tuple[str, str]]:
    """Return where an item comes from: a registry and its log, or a source."""
    if item.source is None:
        return [("registry", item.registry), ("log", str(item.log)), ("signer", item.signer)]
    named = (("ref", item.source.ref), ("commit", item.source.commit), ("tree", item.source.tree))
    return [
        ("source", item.registry),
        *((name, value) for name, value in named if value is not None),
        ("place", item.source.place),
        *([("editable", "true")] if item.is_editable else []),
        ("signer", item.signed_by),
    ]


def _ref(item: LockedItem) -> str:
    """``pkg:generic/<namespace>/<kind>/<category>/<name>@<version>`` with the checksum: the component's name in the document."""
    path = "/".join(map(quote, _path(item)))
    return f"pkg:generic/{path}@{quote(item.version, safe='')}?checksum=sha256:{item.sha256}"


def _purl(item: LockedItem) -> str:
    """The same with, for an item from a git repository, its address and commit as ``vcs_url`` (purl specification, known
    qualifiers): the name and version alone are known to no scanner."""
    if item.source is None or item.source.commit is None:
        return _ref(item)
    return f"{_ref(item)}&vcs_url={quote(f'{item.registry}@{item.source.commit}', safe='/:')}"


def _path(item: LockedItem) -> list[str]:
    """Return the segments of the purl's namespace and name. All but the last are the component's group."""
    return [item.identity.namespace, item.kind, *item.identity.local_id.split("/")]


def _needs(item: LockedItem) -> list[Identity]:
    return [Identity(*name.split(":", 1)) for name in item.dependencies]
