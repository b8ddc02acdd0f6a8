"""The paths of pages: writing and parsing.

    /-/KIND/NAMESPACE/…/NAME[@VERSION]                 an item
    /-/KIND/NAMESPACE/…/NAME[@VERSION]/source[/PATH]   the source of its file, or of an attached one
    /-/KIND/NAMESPACE/…/NAME[@VERSION]/raw[/PATH]      the same as plain text
    /-/KIND/NAMESPACE/…/NAME[@VERSION]/diff[/A..B]     what changed between two versions
    /-/KIND/NAMESPACE/…/NAME/versions                  all versions
    /-/KIND/NAMESPACE/…/NAME/dependents                the items that depend on it
    /-/KIND/NAMESPACE/…/NAME@latest, …@1, …@1.2        leads to the newest version that fits

No part of an id contains ``@`` or ``.``, so a version, a range or a file's path marks ``source``, ``raw`` and ``diff`` as views.
Without any of these they are the last part of a name. ``versions`` and ``dependents`` are lists only where no item has that name.
"""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import quote, urlencode

from msgspec import Struct

from rye.items.identity import Identity, is_id
from rye.items.kinds import KINDS
from rye.items.version_text import version_problem
from rye.registry.protocol.page_paths import item_page_path
from rye.registry.protocol.statements import is_attached_path

View = Literal["item", "source", "raw", "diff"]


class ItemAddress(Struct, frozen=True):
    """The item, version and view that a path names."""

    identity: Identity
    version: str | None = None
    """None: the highest version that is not withdrawn."""
    view: View = "item"
    rest: str = ""
    """For ``source`` the attached file's path, empty for the item's own file; for ``diff`` the two versions, empty for
    the default."""

    @property
    def path(self) -> str:
        """The path in its canonical spelling."""
        return item_path(self.identity, self.version, self.view, self.rest)


def item_path(identity: Identity, version: str | None = None, view: View = "item", rest: str = "") -> str:
    """Return the path of an item's page, or of another view of the item."""
    path = item_page_path(identity, version)
    if view != "item":
        path += f"/{view}"
        if rest:
            path += f"/{quote(rest, safe='/+')}"
    return path


def raw_path(source: str) -> str:
    """Return the path of a file as plain text, from that of its page."""
    path, _, rest = source.rpartition("/source")
    return f"{path}/raw{rest}"


def diff_path(identity: Identity, old: str, new: str) -> str:
    """Return the path of the page that compares two versions."""
    return item_path(identity, None, "diff", f"{old}..{new}")


def read_item_path(path: str) -> ItemAddress | None:
    """Parse a decoded path; None if it is not an item's path."""
    if len(path) > 2_000 or not path.startswith("/-/"):
        return None
    kind, _, rest = path.removeprefix("/-/").partition("/")
    if kind not in KINDS:
        return None
    name, at, after = rest.partition("@")
    if at:
        version, _, viewed = after.partition("/")
        view, _, detail = viewed.partition("/")
        if version_problem(version) is not None or after.endswith("/") or view == "item":
            return None
        return _address(kind, name, version, view or "item", detail)
    before, mark, detail = rest.rpartition("/diff/")
    if mark and ".." in detail:
        return _address(kind, before, None, "diff", detail)
    for view in ("source", "raw"):
        before, mark, detail = rest.partition(f"/{view}/")
        if mark and "." in detail:
            return _address(kind, before, None, view, detail)
    return _address(kind, rest, None, "item", "")


def _address(kind: str, name: str, version: str | None, view: str, detail: str) -> ItemAddress | None:
    if "/" not in name or not is_id(name):
        return None
    identity = Identity(kind, name)
    if view == "item" and not detail:
        return ItemAddress(identity, version)
    if view in ("source", "raw") and (not detail or is_attached_path(detail)):
        return ItemAddress(identity, version, "source" if view == "source" else "raw", detail)
    if view == "diff" and (not detail or _are_two_versions(detail)):
        return ItemAddress(identity, version, "diff", detail)
    return None


def _are_two_versions(text: str) -> bool:
    versions = text.split("..")
    return len(versions) == 2 and all(version_problem(version) is None for version in versions)


def namespace_path(namespace: str) -> str:
    """Return the path of a namespace's page."""
    return f"/-/namespaces/{namespace}"


def feed_path(namespace: str) -> str:
    """Return the path of a namespace's feed."""
    return f"{namespace_path(namespace)}/feed.atom"


def item_feed_path(identity: Identity) -> str:
    """Return the path of an item's feed."""
    return f"{item_path(identity)}/feed.atom"


def versions_path(identity: Identity, start: int = 0) -> str:
    """Return the path of the page of all versions of an item."""
    return f"{item_path(identity)}/versions" + (f"?offset={start}" if start else "")


def dependents_path(identity: Identity, start: int = 0) -> str:
    """Return the path of the list of the items that depend on an item."""
    return f"{item_path(identity)}/dependents" + (f"?offset={start}" if start else "")


def read_wanted_path(path: str) -> tuple[Identity, str] | None:
    """Parse a decoded path that asks for the newest version of an item: ``latest``, or the beginning of a version. None: it is
    another path."""
    before, mark, wanted = path.rpartition("@")
    item = read_item_path(before) if mark and _WANTED.fullmatch(wanted) else None
    return (item.identity, wanted) if item is not None and item.view == "item" and item.version is None else None


_WANTED = re.compile(r"latest|(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8}))?")


def entry_path(position: int) -> str:
    """Return the path of a log entry's page."""
    return f"/-/log/{position}"


def search_path(query: str, offset: int = 0, kind: str = "", order: str = "relevance") -> str:
    """Return the path of a page of search results. ``kind``: empty for all kinds."""
    asked = {
        "q": query,
        **({"kind": kind} if kind else {}),
        **({"sort": order} if order != "relevance" else {}),
        **({"offset": str(offset)} if offset else {}),
    }
    return f"/-/search?{urlencode(asked)}"
