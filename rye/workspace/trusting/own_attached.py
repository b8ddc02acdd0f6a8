"""The files attached to a project's own items, which no signature covers: what a yes to them is for (DESIGN 6.1).

Whoever can commit can change them, and a deploy puts them where an agent program runs them. So they count once this user agreed
to their exact bytes: by signing the item with rye, by taking it over with ``rye fork``, or with ``rye trust project``.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from rye.consent.ask import Ask
from rye.customization.effective_files import Tree, runs_of_files
from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.limits import CONTENT
from rye.project.item_file import read_item_bytes
from rye.project.layout import Project
from rye.project.manifest import Manifest
from rye.project.spaces import Entry, entries_of
from rye.storage.home import Home
from rye.workspace.items.item_tree import folder_tree
from rye.workspace.trusting.acceptance import remember, remembered

SORT = "own-files"


def approval(entry: Entry, tree: Tree, text: str) -> Ask:
    """What to agree to for these files of an own item. ``text``: the item's own."""
    lines = (f"{file.sha256} {'x' if file.executable else '-'} {path}\n" for path, file in sorted(tree.items()))
    digest = sha256("".join(lines).encode()).hexdigest()
    runs = sorted({run.where for run in runs_of_files(tree, text)})
    said = f", of which these can run: {', '.join(runs)}" if runs else ""
    count = f"{len(tree)} attached file{'s' * (len(tree) != 1)}"
    return Ask(f"{entry.location.kind}:{entry.id}", SORT, f"{count}{said} (sha256 {digest[:32]})")


def own_approvals(home: Home, project: Project, manifest: Manifest) -> Iterator[Ask]:
    """What to agree to for all own items of a project that have attached files."""
    for entry in entries_of(home, "project", project, manifest.namespace):
        if KINDS[entry.location.kind].main_file is not None:
            found = _read(entry)
            if found is not None and found[0]:
                yield approval(entry, *found)


def _read(entry: Entry) -> tuple[Tree, str] | None:
    """The attached files and the text of an own item; None if it cannot be read, and then it is not deployed either."""
    try:
        text = read_item_bytes(entry.path, CONTENT.item_bytes).decode("utf-8", "replace")
        tree, problems = folder_tree(entry.path)
    except RyeError:
        return None
    return None if problems else (tree, text)


def not_agreed_files(home: Home, project: Project, manifest: Manifest) -> tuple[Ask, ...]:
    """Those of :func:`own_approvals` that this user has not agreed to."""
    return remembered(home, project).missing(own_approvals(home, project, manifest))


def remember_own_files(home: Home, project: Project, manifest: Manifest, names: frozenset[str]) -> None:
    """Remember that this user agrees to the files that these own items (``kind:id``) have now, because they just made them."""
    mine = [ask for ask in own_approvals(home, project, manifest) if ask.item in names]
    if mine:
        remember(home, project, mine)
