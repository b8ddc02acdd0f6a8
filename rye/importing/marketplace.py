"""The plugins in ``.claude-plugin/marketplace.json`` of a project, read as Claude Code reads it.

A plugin's ``source`` is a folder of the project (``"./plugins/x"``, below ``metadata.pluginRoot``), or an object: ``github``
(``repo``), ``url`` (``url``), ``git-subdir`` (``url``, ``path``), each with ``ref`` and ``sha``. Other sources, such as ``npm``,
are not supported. Of a plugin, Rye imports skills and agents.
"""

from __future__ import annotations

from typing import Any

from rye.importing import git_words
from rye.importing.foreign import (
    Cannot,
    Foreign,
    ForeignEntry,
    ForeignRow,
    GitPlace,
    LeftOut,
    Place,
    bad_file,
    folder_here,
    folder_in,
    json_object,
    shown,
)
from rye.limits import IMPORTS

MARKETPLACE = ".claude-plugin/marketplace.json"
_NOT_ITEMS = ("commands", "hooks", "mcpServers", "lspServers", "outputStyles", "monitors", "themes")
_SOURCE_KEYS = ("source", "repo", "url", "path", "ref", "sha")


def read_marketplace(data: bytes, file: str = MARKETPLACE) -> Foreign:
    """Read the plugins of a marketplace. Raises RyeError ``bad-foreign-file``."""
    table = json_object(file, data)
    plugins = table.get("plugins")
    if not isinstance(plugins, list) or len(plugins) > IMPORTS.entries:
        raise bad_file(file, f"it has no list of plugins, or more than {IMPORTS.entries}")
    metadata = table.get("metadata")
    root = metadata.get("pluginRoot", "") if isinstance(metadata, dict) else ""
    if not isinstance(root, str):
        raise bad_file(file, "its pluginRoot is not text")
    entries: list[ForeignEntry] = []
    left_out: list[LeftOut] = []
    for plugin in plugins:
        if not isinstance(plugin, dict):
            raise bad_file(file, "a plugin in it is not an object")
        name = shown(plugin.get("name", "?"))
        try:
            entries.append(ForeignEntry(file=file, name=name, place=_place(plugin, root), is_plugin=True))
        except Cannot as error:
            left_out.append(LeftOut(file, name, str(error)))
        beside = [key for key in _NOT_ITEMS if plugin.get(key)]
        if beside:
            left_out.append(LeftOut(file, name, f"its {', '.join(beside)} are not Rye items"))
    return Foreign(tuple(entries), tuple(left_out))


def _place(plugin: dict[str, Any], root: str) -> Place:
    source = plugin.get("source")
    if isinstance(source, str):
        if len(source) > IMPORTS.text_characters or (not source.startswith("./") and not root):
            raise Cannot(f"its source {shown(source)!r} is not a folder of the project")
        inner = folder_in(f"{root.removeprefix('./').rstrip('/')}/{source.removeprefix('./')}".lstrip("/"))
        if not inner:
            raise Cannot("it is the project itself, whose own items need no source")
        return folder_here(inner)
    row = ForeignRow(source, _SOURCE_KEYS)
    sort = row.required("source")
    ref, sha = git_words.ref(row.text("ref")), git_words.commit(row.text("sha"))
    if sort == "github":
        return GitPlace(git_words.hosted(git_words.GITHUB, row.required("repo")), ref, sha)
    if sort == "url":
        return GitPlace(git_words.address(row.required("url")), ref, sha)
    if sort == "git-subdir":
        url = row.required("url")
        where = git_words.address(url) if "://" in url or "@" in url else git_words.hosted(git_words.GITHUB, url)
        return GitPlace(where, ref, sha, folder_in(row.required("path")))
    raise Cannot(f"it comes from {shown(sort)!r}, which is not a git repository")
