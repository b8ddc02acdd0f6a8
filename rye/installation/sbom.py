"""What a bill of materials names, in no format yet: the walk of a lock. Pure and deterministic.

Every item is a component with its purl (``pkg:generic``; from a git repository with its ``vcs_url``), its SHA-256, its
attached files, and its approvals as properties. :mod:`rye.installation.cyclonedx` and :mod:`rye.installation.spdx` write it.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from urllib.parse import quote

from msgspec import Struct

from rye.items.identity import Identity
from rye.project.lock import Lock, LockedFile, LockedItem, lock_text

_NAMESPACE = uuid.UUID("5f1d1b0e-3f0a-5c55-9d5c-0d8a6f3f6d21")


class Component(Struct, frozen=True, kw_only=True):
    """One thing in a bill."""

    ref: str
    """Its name within the document."""
    group: str = ""
    name: str
    version: str
    sha256: str | None = None
    purl: str
    supplier: str | None = None
    """Who publishes it, as a name; None: not known."""
    properties: tuple[tuple[str, str], ...] = ()
    files: tuple[LockedFile, ...] = ()
    needs: tuple[str, ...] = ()
    """The refs of what it depends on, sorted."""


class Bill(Struct, frozen=True, kw_only=True):
    """What a project consists of."""

    project: str
    version: str
    """Of the project; one that has none is named by the SHA-256 of what its bill is made of."""
    supplier: str
    components: tuple[Component, ...]
    direct: tuple[str, ...]
    """The refs of what the project itself asks for, sorted."""
    serial: str
    """``urn:uuid:…``: the document's name."""
    time: str | None
    """``YYYY-MM-DDTHH:MM:SSZ``; None: nobody gave one."""


def serial_of(content: bytes) -> str:
    """The serial number of a bill that is made of this content alone."""
    return f"urn:uuid:{uuid.uuid5(_NAMESPACE, hashlib.sha256(content).hexdigest())}"


def lock_bill(
    lock: Lock,
    project: str,
    direct: Iterable[Identity],
    *,
    supplier: str,
    time: str | None = None,
    serial: str | None = None,
) -> Bill:
    """The bill of a lock. ``direct``: the project's own dependencies; ``time`` and ``serial`` as in :class:`Bill`, the serial
    number derived from the lock unless one is given."""
    content = f"{project}\0{lock_text(lock)}".encode()
    items = sorted(lock.items, key=lambda item: item.identity)
    refs = {item.identity: _ref(item) for item in items}
    return Bill(
        project=project,
        version=f"sha256:{hashlib.sha256(content).hexdigest()}",
        supplier=supplier,
        components=tuple(_component(item, refs) for item in items),
        direct=tuple(refs[identity] for identity in sorted(set(direct)) if identity in refs),
        serial=serial or serial_of(content),
        time=time,
    )


def _component(item: LockedItem, refs: dict[Identity, str]) -> Component:
    path = _path(item)
    needs = (Identity(*name.split(":", 1)) for name in item.dependencies)
    return Component(
        ref=refs[item.identity],
        group="/".join(path[:-1]),
        name=path[-1],
        version=item.version,
        sha256=item.sha256,
        purl=_purl(item),
        supplier=item.identity.namespace,
        properties=tuple(_properties(item)),
        files=tuple(sorted(item.attached)),
        needs=tuple(sorted({refs[each] for each in needs if each in refs})),
    )


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
