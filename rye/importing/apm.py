"""``apm.yml`` and ``apm.lock.yaml`` (microsoft/apm; lockfile versions 1 and 2).

The manifest has ``dependencies.apm`` and ``devDependencies.apm``: ``OWNER/REPOSITORY[/PATH][#REF]``,
``HOST/OWNER/REPOSITORY``, a URL, a folder, or an object with ``git``, ``path``, ``ref`` and ``skills``. The lock has one row for
each package, including transitive dependencies: ``repo_url`` (OWNER/REPOSITORY, or a URL), ``host``, ``virtual_path``,
``resolved_commit`` and ``content_hash``, a hash over the package's files. A package in the lock is read from its row there; only
the others are read from the manifest.
"""

from __future__ import annotations

import re
from typing import Any

from rye.importing import git_words
from rye.importing.foreign import (
    Cannot,
    Digest,
    Foreign,
    ForeignEntry,
    ForeignRow,
    GitPlace,
    LeftOut,
    Place,
    bad_file,
    folder_here,
    folder_in,
    shown,
    yaml_object,
)
from rye.limits import IMPORTS

MANIFEST = "apm.yml"
LOCK = "apm.lock.yaml"
_PORTS = range(1, 65_536)
_SHA256 = "sha256:"
_LOCK_KEYS = (
    "repo_url",
    "name",
    "host",
    "host_type",
    "port",
    "registry_prefix",
    "resolved_commit",
    "resolved_ref",
    "version",
    "virtual_path",
    "is_virtual",
    "depth",
    "resolved_by",
    "package_type",
    "deployed_files",
    "deployed_file_hashes",
    "deployed_skills",
    "source",
    "local_path",
    "declaring_parent",
    "anchored_local_path",
    "content_hash",
    "tree_sha256",
    "is_dev",
    "discovered_via",
    "marketplace_plugin_name",
    "source_url",
    "source_digest",
    "is_insecure",
    "allow_insecure",
    "skill_subset",
    "target_subset",
    "resolved_url",
    "resolved_hash",
    "constraint",
    "resolved_tag",
    "resolved_at",
    "declared_license",
    "exec_status",
    "alias",
    "extensions",
    "materialization_repo_url",
    "replacement",
)
_OBJECT_KEYS = ("git", "path", "ref", "alias", "skills", "name", "id", "registry", "marketplace", "version", "targets")
_SAID_ELSEWHERE = frozenset({"name", "version", "description", "author", "license", "dependencies", "devDependencies"})
"""Keys of the manifest that need no warning: Rye reads them, or has no use for them."""
_FILE = re.compile(r".+\.(?:prompt|instructions|chatmode|agent|context|memory)\.md")
_RANGE = re.compile(r"[\^~><=*]|\d+\.[xX]|\d+\.\d+\.[xX]")


def read_apm(manifest: bytes | None, lock: bytes | None) -> Foreign:
    """Read both files, or one of them. Raises RyeError ``bad-foreign-file``."""
    locked = _read_lock(lock) if lock is not None else Foreign()
    declared = _read_manifest(manifest) if manifest is not None else Foreign()
    known = {_key(entry.place) for entry in locked.entries}
    repositories = {_key(entry.place)[0] for entry in locked.entries if isinstance(entry.place, GitPlace)}
    more = []
    for entry in declared.entries:
        if _key(entry.place) in known:
            continue
        if lock is not None and isinstance(entry.place, GitPlace):
            where = "another folder of it" if _key(entry.place)[0] in repositories else "nothing of it"
            entry = ForeignEntry(
                **{**_fields(entry), "note": f"{LOCK} has {where}: nothing says which commit was meant"}
            )
        more.append(entry)
    return Foreign((*locked.entries, *more), (*locked.left_out, *declared.left_out), locked.installed)


def _fields(entry: ForeignEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in ForeignEntry.__struct_fields__}


def _key(place: Place) -> tuple[str, str]:
    return (place.url.removesuffix(".git"), place.folder) if isinstance(place, GitPlace) else ("", place.folder)


# -- the lock ----------------------------------------------------------------------------------------------------------------


def _read_lock(data: bytes) -> Foreign:
    table = yaml_object(LOCK, data)
    if str(table.get("lockfile_version")) not in ("1", "2"):
        version = shown(table.get("lockfile_version"), 20)
        raise bad_file(LOCK, f"it is of version {version}; this Rye reads 1 and 2")
    rows = table.get("dependencies") or []
    if not isinstance(rows, list) or len(rows) > IMPORTS.entries:
        raise bad_file(LOCK, "its dependencies are not a list, or are too many")
    entries: list[ForeignEntry] = []
    left_out: list[LeftOut] = []
    for value in rows:
        name = _shown_name(value)
        try:
            entries.append(_locked(value))
        except Cannot as error:
            left_out.append(LeftOut(LOCK, name, str(error)))
    if table.get("mcp_servers"):
        left_out.append(LeftOut(LOCK, "mcp_servers", "MCP servers are not Rye items"))
    deployed = [path for value in rows if isinstance(value, dict) for path in _list(value.get("deployed_files"))]
    parts = [path.split("/") for path in deployed if isinstance(path, str)]
    names = frozenset(part[2] for part in parts if len(part) > 2 and part[1] == "skills" and part[0].startswith("."))
    return Foreign(tuple(entries), tuple(left_out), names)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _shown_name(value: object) -> str:
    if not isinstance(value, dict):
        return "?"
    path = value.get("virtual_path")
    return shown(f"{value.get('repo_url', '?')}{f'/{path}' if path else ''}")


def _locked(value: object) -> ForeignEntry:
    row = ForeignRow(value, _LOCK_KEYS)
    name = _shown_name(value)
    group = "dev" if row.flag("is_dev") else "main"
    only = row.texts("skill_subset")
    if row.has("replacement") or row.has("materialization_repo_url"):
        raise Cannot("it is fetched from a different place than its name says")
    digests, note = _digests(row)
    if row.text("source") == "local":
        if row.text("local_path") == ".":
            raise Cannot("it is the project itself, whose own items need no source")
        path = row.text("anchored_local_path") or row.required("local_path")
        return ForeignEntry(file=LOCK, name=name, place=folder_here(path), digests=digests, group=group, only=only)
    if row.text("source") not in (None, "git") or row.has("resolved_url"):
        raise Cannot("it comes from a registry of apm packages, which is not a git repository")
    if row.text("registry_prefix"):
        raise Cannot("it comes through a proxy")
    if row.flag("is_insecure"):
        raise Cannot("it was fetched over plain http")
    path = row.text("virtual_path") or ""
    if _FILE.fullmatch(path):
        raise Cannot("it is a single file that is none of Rye's kinds")
    place = GitPlace(
        _repository(row.required("repo_url"), _host(row)),
        _unpinned(git_words.ref(row.text("resolved_ref")), row.text("resolved_commit")),
        git_words.commit(row.text("resolved_commit")),
        folder_in(path) if path else "",
    )
    if place.commit is None:
        note = "the lock has no commit for it"
    return ForeignEntry(file=LOCK, name=name, place=place, digests=digests, group=group, only=only, note=note)


def _host(row: ForeignRow) -> str:
    """The host that the lock names, with its port."""
    host, port = row.text("host") or git_words.GITHUB, row.number("port")
    if port is None:
        return host
    if port not in _PORTS:
        raise Cannot(f"its port {port} is not a port")
    return f"{host}:{port}"


def _digests(row: ForeignRow) -> tuple[tuple[Digest, ...], str | None]:
    found = row.text("content_hash")
    if found is None:
        return (), "the lock has no digest for it; its commit is the one in the lock"
    digest = Digest("apm-package", git_words.hex_digest(found.removeprefix(_SHA256)))
    if row.text("package_type") == "marketplace_plugin" or row.has("discovered_via"):
        note = "its digest covers a file that apm generates, so only the commit was compared"
        return (), note
    return (digest,), None


def _unpinned(ref: str | None, commit: str | None) -> str | None:
    return None if ref == commit else ref


def _repository(word: str, host: str) -> str:
    if "://" in word or "@" in word:
        return git_words.address(word)
    return git_words.hosted(host, word)


# -- the manifest ------------------------------------------------------------------------------------------------------------


def _read_manifest(data: bytes) -> Foreign:
    table = yaml_object(MANIFEST, data)
    entries: list[ForeignEntry] = []
    left_out: list[LeftOut] = []
    for key, group in (("dependencies", "main"), ("devDependencies", "dev")):
        found = table.get(key) or {}
        if not isinstance(found, dict):
            raise bad_file(MANIFEST, f"its {key} is not a mapping with apm and mcp")
        rows = found.get("apm") or []
        if not isinstance(rows, list) or len(rows) > IMPORTS.entries:
            raise bad_file(MANIFEST, f"its {key}.apm is not a list, or is too long")
        for row in rows:
            try:
                entries.append(_declared(row, group))
            except Cannot as error:
                left_out.append(LeftOut(MANIFEST, _name_of(row), str(error)))
        servers = found.get("mcp") or []
        for server in servers if isinstance(servers, list) else [servers]:
            named = server.get("name", server) if isinstance(server, dict) else server
            left_out.append(LeftOut(MANIFEST, shown(named), "it is an MCP server, not a Rye item"))
    others = sorted(shown(key, 40) for key in table if key not in _SAID_ELSEWHERE)
    if others:
        left_out.append(LeftOut(MANIFEST, ", ".join(others), "rye.toml has no such setting"))
    return Foreign(tuple(entries), tuple(left_out))


def _declared(value: object, group: str) -> ForeignEntry:
    if isinstance(value, str):
        if len(value) > IMPORTS.text_characters or not value.isprintable():
            raise Cannot("it is too long or has control characters")
        return ForeignEntry(file=MANIFEST, name=shown(value), place=_place(value), group=group)
    row = ForeignRow(value, _OBJECT_KEYS)
    only = row.texts("skills")
    if not row.has("git"):
        if row.has("path") and not row.has("id"):
            return ForeignEntry(
                file=MANIFEST,
                name=row.required("path"),
                place=folder_here(row.required("path")),
                group=group,
                only=only,
            )
        raise Cannot("it comes from a marketplace or a registry of apm packages, which is not a git repository")
    git = row.required("git")
    if git == "parent":
        raise Cannot("it is a folder in the repository that names it, which only a package can use")
    named = row.required("git")
    path = row.text("path")
    if path and _FILE.fullmatch(path):
        raise Cannot("it is a single file that is none of Rye's kinds")
    place = _place(git)
    if not isinstance(place, GitPlace):
        raise Cannot("its git is not a repository")
    ref = git_words.ref(row.text("ref")) or place.ref
    found = GitPlace(place.url, _no_range(ref), folder=folder_in(path) if path else place.folder)
    return ForeignEntry(file=MANIFEST, name=shown(named), place=found, group=group, only=only)


def _place(word: str) -> Place:
    if word.startswith((".", "/", "~")):
        return folder_here(word)
    text, _, tail = word.partition("#")
    ref = _no_range(tail or None)
    if "://" in text or ("@" in text and ":" in text):
        return GitPlace(git_words.address(text), git_words.ref(ref))
    if "@" in text:
        raise Cannot("it comes from a marketplace of plugins; add the plugin's own repository")
    parts = text.split("/")
    host = git_words.GITHUB
    if "." in parts[0] and len(parts) > 2:
        host, parts = parts[0], parts[1:]
    path = "/".join(parts[2:])
    if _FILE.fullmatch(path):
        raise Cannot("it is a single file that is none of Rye's kinds")
    return GitPlace(
        git_words.hosted(host, "/".join(parts[:2])), git_words.ref(ref), folder=folder_in(path) if path else ""
    )


def _no_range(ref: str | None) -> str | None:
    if ref is not None and _RANGE.search(ref):
        raise Cannot(f"its {shown(ref)!r} is a range of tags, and a source has one branch, tag or commit")
    return ref


def _name_of(row: object) -> str:
    """What an entry is called for people: the repository or the name of a table, any other entry as it is."""
    names = (row.get(key) for key in ("git", "name", "path")) if isinstance(row, dict) else ()
    return shown(next((name for name in names if isinstance(name, str)), row))
