"""``rye.lock``: exactly what is installed, from where, signed by whom, and which rights a person approved.

Deterministic: the same content always gives the same bytes. Packages are sorted by kind and id, with one value per
line, so that the locks of two branches merge if they change different packages. Read strictly: unknown or invalid
content is refused, because reviewers approve what the lock says.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Struct, defstruct, field, structs
from msgspec.structs import replace

from rye.consent.ask import MOST_RULES, NOTHING, RULES, SIGNER, Approved, Key, approved_in, row_fields
from rye.consent.sorts import lock_keys
from rye.errors import RyeError
from rye.items.agent_tools import AgentTools, from_words
from rye.items.consented import HookAction, Run
from rye.items.identity import Identity, is_id
from rye.items.kinds import KINDS
from rye.project.declared_sources import (
    EDITABLE_PREFIX,
    GIT_PREFIX,
    PATH_PREFIX,
    BadSource,
    folder_path,
    git_address,
    git_rev,
    inner_path,
    is_commit,
)
from rye.project.lock_canonical import read_canonical
from rye.text.lazy import lazy_pattern
from rye.text.toml_keys import has_long_key

CONFLICT_MARKER = "<<<<<<<"
LOCK_VERSION = 1
MOST_HEADS = 64
"""Registries of one lock."""
MOST_HEAD_CHARACTERS = 8_000
"""One signed checkpoint: a few hundred, with one signature of the log."""
COMMIT_DIGITS = 8
"""So many digits of a commit stand for it where a person reads or types it."""
_SOURCE_KEYS = ("git", "ref", "commit", "tree", "path")
OF_REGISTRIES = ("registry", "log", "keyset", "signer")

_PATH = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")


_KEYS = {"agent_tools": "agent-tools", "agent_limits": "agent-limits"}
"""Fields with a different name in the file."""


class LockedFile(Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """An attached file: relative path, size in bytes, hash, whether it is executable."""

    path: str
    size: int
    sha256: str
    executable: bool = False


class LockedSource(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where an item of ``[sources]`` comes from: a commit of a git repository (``git``, ``commit``, ``tree``, ``ref``), or a
    folder (``path``). It is not signed: each machine checks for itself that the bytes match the commit or folder."""

    place: str
    """The path of the item's own file, relative to the repository's root or to the folder, with ``/``."""
    git: str | None = None
    """The repository's address."""
    ref: str | None = None
    """The requested ref: ``refs/tags/v1.4.0``, ``refs/heads/main``, ``HEAD``, or the commit itself."""
    commit: str | None = None
    tree: str | None = None
    """The hash of the commit's whole tree."""
    path: str | None = None
    editable: bool = False
    """For folders: whether the item is read from the folder each time. It is then not in ``.ai/packages``, and the row only
    records what was approved."""

    @property
    def origin(self) -> str:
        """The repository or folder, without its state."""
        if self.git is not None:
            return f"{GIT_PREFIX}{self.git}"
        return f"{EDITABLE_PREFIX if self.editable else PATH_PREFIX}{self.path}"

    def as_json(self) -> dict[str, object]:
        """Return every field for JSON output; fields that do not apply are null."""
        return {
            "git": self.git,
            "ref": self.ref,
            "commit": self.commit,
            "tree": self.tree,
            "path": self.path,
            "place": self.place,
            "editable": self.editable,
        }

    @property
    def unsigned(self) -> str:
        """The placeholder for the signer of an unsigned item."""
        if self.git is not None:
            return f"none (git commit {self.commit})"
        return f"none ({'editable ' * self.editable}folder {self.path})"


def in_words(signer: str) -> str:
    """What a sentence says of an item with this signer, a fingerprint or :attr:`LockedSource.unsigned`."""
    nobody = "none ("
    return f"not signed ({signer.removeprefix(nobody)}" if signer.startswith(nobody) else f"signed by {signer}"


class LockedItem(Struct, frozen=True, forbid_unknown_fields=True, rename=_KEYS, kw_only=True):
    """One installed item."""

    kind: str
    id: str
    version: str
    size: int
    sha256: str
    suffix: str
    """The suffix of the item's file in ``.ai/packages`` (``.md``, ``.py``, …; ``SKILL.md`` for skills)."""
    registry: str = ""
    """The registry's origin; for an item from ``[sources]`` the source's origin, which is not written to the file."""
    log: int = 0
    """Position of the release in the registry's log."""
    keyset: int = 0
    signer: str = ""
    """Fingerprint (``SHA256:…``) of the key that signed the release. For an item from ``[sources]``: its source's origin, unless
    a key that this user trusts signed the file."""
    source: LockedSource | None = None
    """Where the item comes from, if not from a registry. The four fields above are then not in the file."""
    attached: tuple[LockedFile, ...] = ()
    dependencies: tuple[str, ...] = ()
    """Identities of its resolved dependencies."""
    capabilities: tuple[str, ...] = ()
    hooks: tuple[HookAction, ...] = ()
    agent_tools: tuple[str, ...] = ()
    """Tools of the agent program that an agent or a skill may use (:attr:`rye.items.agent_tools.AgentTools.names`)."""
    agent_limits: tuple[str, ...] = ()
    """Restrictions on them (:attr:`rye.items.agent_tools.AgentTools.limits`)."""
    runs: tuple[Run, ...] = ()
    """The parts of it that can run, including attached files."""
    approved: Approved = NOTHING
    """What a person approved; installing asks again only for anything not in here. The file has a key for each sort
    (:func:`rye.consent.sorts.lock_keys`). A lock from an older version without them approves nothing of these sorts."""
    groups: tuple[str, ...] = ("main",)
    """The manifest's groups that need it."""
    forced: str | None = None
    """The range that ``[overrides]`` forced (:mod:`rye.project.forced_versions`), or None."""

    @property
    def identity(self) -> Identity:
        """Its kind and id."""
        return Identity(self.kind, self.id)

    @property
    def signed_by(self) -> str:
        """The signer to show to a person: a fingerprint or ``none (git commit …)``."""
        if self.source is not None and self.signer == self.source.origin:
            return self.source.unsigned
        return self.signer

    @property
    def how_signed(self) -> str:
        """The same in words: ``signed by FINGERPRINT`` or ``not signed (git commit …)``."""
        return in_words(self.signed_by)

    def with_signer(self, fingerprint: str | None) -> LockedItem:
        """Return an item from a source with the key that signed it; other items are unchanged."""
        return self if self.source is None or fingerprint is None else replace(self, signer=fingerprint)

    @property
    def release(self) -> tuple[object, ...]:
        """What an approval is for. The same version and file with other attached files, or from elsewhere, is another release."""
        return self.version, self.sha256, frozenset(self.attached), self.registry

    @property
    def is_editable(self) -> bool:
        """Whether it is read from its folder each time and has no files in ``.ai/packages``."""
        return self.source is not None and self.source.editable

    @property
    def is_unsigned(self) -> bool:
        """Whether no trusted key signed it."""
        return self.source is not None and self.signer == self.source.origin

    @property
    def state(self) -> str | None:
        """This state of the item as ``rye diff`` names it: with the version, or with the first digits of a repository's commit.
        None for a folder's, which nobody keeps."""
        if self.source is None:
            return f"{self.identity}@{self.version}"
        return f"{self.identity}@{self.source.commit[:COMMIT_DIGITS]}" if self.source.commit is not None else None

    @property
    def tools(self) -> AgentTools | None:
        """The agent tools as a value; None if it names none."""
        return from_words(self.agent_tools, self.agent_limits)


def comparison(old: LockedItem, new: LockedItem) -> str | None:
    """The command that compares two states of an item at any time; None if there is none."""
    is_same_source = (old.source and old.registry) == (new.source and new.registry)
    if old.state is None or new.state is None or old.state == new.state or not is_same_source:
        return None
    return f"rye diff {old.state} {new.state}"


_NAMES = tuple(name for name in LockedItem.__struct_fields__ if name != "approved")
_SAID = attrgetter(*_NAMES)
"""What a row of the file and an item have alike."""


class Lock(Struct, frozen=True):
    """A whole lock. ``wanted``: the manifest's keys and ranges when it was written; if they differ, the lock is stale."""

    wanted: Mapping[str, str] = field(default_factory=dict)
    items: tuple[LockedItem, ...] = ()
    heads: Mapping[str, str] = field(default_factory=dict)
    """Origin of each registry → the signed checkpoint that its rows were chosen under. It proves nothing by itself: who reads the
    lock compares it with the registry's present head (docs/reference/lock.md)."""

    def after(self, before: Lock, heads: Mapping[str, str]) -> Lock:
        """Return the lock with these heads, or with those of ``before`` if nothing else changed."""
        if (self.wanted, self.by_identity()) == (before.wanted, before.by_identity()):
            return replace(self, heads=before.heads)
        used = {item.registry for item in self.items if item.source is None}
        known = {**before.heads, **heads}
        return replace(self, heads={origin: known[origin] for origin in sorted(used & known.keys())})

    def find(self, identity: Identity) -> LockedItem | None:
        """The row of an item, or None."""
        return next((item for item in self.items if item.identity == identity), None)

    def by_identity(self) -> dict[Identity, LockedItem]:
        """Return all rows by identity. Faster than :meth:`find` for many lookups."""
        return {item.identity: item for item in self.items}


@lru_cache(maxsize=2)
def file_type(keys: tuple[Key, ...]) -> type[Struct]:
    """The type of the file, with these keys for what a row approves. It gives the schema as well."""
    parts: list[Any] = []
    for part in structs.fields(LockedItem):
        if part.name == "approved":
            parts += row_fields(keys)
        else:
            parts.append((part.name, part.type, *(() if part.default is msgspec.NODEFAULT else (part.default,))))
    names = {name: name.replace("_", "-") for name, *_ in parts if "_" in name}
    row = defstruct(
        "LockedItem", parts, rename=names, forbid_unknown_fields=True, namespace={"__doc__": LockedItem.__doc__}
    )
    whole: list[Any] = [
        ("version", int),
        ("wanted", dict[str, str], {}),
        ("heads", dict[str, tuple[str, ...]], {}),
        ("item", tuple.__class_getitem__((row, ...)), ()),
    ]
    said = {"__doc__": "The file format: ``[wanted]``, ``[heads]`` and ``[[item]]``."}
    return defstruct("LockFile", whole, forbid_unknown_fields=True, namespace=said)


class LockError(RyeError):
    """``rye.lock`` is invalid."""

    def __init__(self, message: str, hint: str | None = None):
        hint = hint or (
            "Restore it from version control. If you have no good copy, delete it and run `rye install`, which asks for "
            "every approval again."
        )
        super().__init__("bad-lock", f"rye.lock: {message}", hint, what="project")


# -- writing ------------------------------------------------------------------------------------------------------------


def lock_text(lock: Lock) -> str:
    """The canonical text of a lock."""
    out = ["# Made by rye; do not edit. Reviews should look at `approved`.", f"version = {LOCK_VERSION}", ""]
    if lock.wanted:
        out += ["[wanted]", *(f"{_quote(key)} = {_quote(lock.wanted[key])}" for key in sorted(lock.wanted)), ""]
    if lock.heads:
        heads = sorted(lock.heads.items())
        rows = [_list(_quote(origin), list(map(_quote, note.split("\n")[:-1]))) for origin, note in heads]
        out += ["[heads]", *(line for row in rows for line in row), ""]
    for item in sorted(lock.items, key=lambda i: (i.kind, i.id)):
        out += [
            "[[item]]",
            f"kind = {_quote(item.kind)}",
            f"id = {_quote(item.id)}",
            f"version = {_quote(item.version)}",
            f"size = {item.size}",
            f"sha256 = {_quote(item.sha256)}",
            f"suffix = {_quote(item.suffix)}",
        ]
        if item.source is not None:
            out.append(f"source = {_source(item.source)}")
        else:
            out += [
                f"registry = {_quote(item.registry)}",
                f"log = {item.log}",
                f"keyset = {item.keyset}",
                f"signer = {_quote(item.signer)}",
            ]
        if item.forced is not None:
            out.append(f"forced = {_quote(item.forced)}")
        out += _list("groups", [_quote(g) for g in sorted(item.groups)] if item.groups != ("main",) else [])
        out += _list("attached", [_attached(entry) for entry in sorted(item.attached)])
        out += _list("dependencies", [_quote(d) for d in sorted(item.dependencies)])
        out += _list("capabilities", [_quote(c) for c in sorted(item.capabilities)])
        out += _list("agent-tools", [_quote(t) for t in sorted(item.agent_tools)])
        out += _list("agent-limits", [_quote(limit) for limit in sorted(item.agent_limits)])
        out += _list("runs", [_run(run) for run in sorted(item.runs)])
        out += _list("hooks", [_hook(hook) for hook in item.hooks])
        out += _approved(item.approved)
        out.append("")
    return "\n".join(out)  # the last line of each part is empty


def _approved(approved: Approved) -> list[str]:
    """The lines of what a row approves: texts and runs, the rules that found the facts, hooks, and the last approved signer."""
    out: list[str] = []
    late: list[str] = []
    for key in lock_keys():
        values = approved.of(key.name)
        if key.form == "hooks":
            late += _list(key.key, [_hook(hook) for hook in values])
        else:
            write = _run if key.form == "runs" else _quote
            out += _list(key.key, [write(value) for value in sorted(values)])
    if approved.rules != 1:
        out.append(f"{RULES} = {approved.rules}")
    out += late
    if approved.signer is not None:
        out.append(f"{SIGNER} = {_quote(approved.signer)}")
    return out


def _list(key: str, rows: Sequence[str]) -> list[str]:
    return [f"{key} = [", *(f"  {row}," for row in rows), "]"] if rows else []


def _attached(entry: LockedFile) -> str:
    flag = ", executable = true" if entry.executable else ""
    return f"{{ path = {_quote(entry.path)}, size = {entry.size}, sha256 = {_quote(entry.sha256)}{flag} }}"


def _source(source: LockedSource) -> str:
    named = (source.git, source.ref, source.commit, source.tree, source.path)
    pairs = [f"{key} = {_quote(value)}" for key, value in zip(_SOURCE_KEYS, named, strict=True) if value is not None]
    pairs.append(f"place = {_quote(source.place)}")
    return f"{{ {', '.join([*pairs, *(['editable = true'] if source.editable else [])])} }}"


def _run(run: Run) -> str:
    return (
        f"{{ what = {_quote(run.what)}, where = {_quote(run.where)}, action = {_quote(run.action)}, "
        f"sha256 = {_quote(run.sha256)} }}"
    )


def _hook(hook: HookAction) -> str:
    inputs = ", ".join(f"[{_quote(name)}, {_quote(value)}]" for name, value in hook.inputs)
    tail = f", inputs = [{inputs}]" if inputs else ""
    return f"{{ when = {_quote(hook.when)}, item_type = {_quote(hook.item_type)}, item_id = {_quote(hook.item_id)}{tail} }}"


def _quote(text: str) -> str:
    """A TOML basic string; characters that are not printable are escaped, so that reviewers see them."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = []
    for character in text:
        if character in '"\\':
            out.append("\\" + character)
        elif character.isprintable():
            out.append(character)
        else:
            out.append(f"\\U{ord(character):08X}")
    return '"' + "".join(out) + '"'


# -- reading ------------------------------------------------------------------------------------------------------------


def row_lines(text: str) -> dict[str, int]:
    """Return the first line of each item's row by ``kind:id``. Only finds rows in the form that rye writes."""
    numbers: dict[str, int] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line == "[[item]]" and number + 1 < len(lines):
            kind, identifier = lines[number], lines[number + 1]
            if kind.startswith('kind = "') and identifier.startswith('id = "'):
                numbers[f"{kind[8:-1]}:{identifier[6:-1]}"] = number
    return numbers


def is_conflicted(text: str) -> bool:
    """Whether git left conflict markers at the start of a line. Only LF ends a line: an author's text may contain a marker."""
    return f"\n{CONFLICT_MARKER}" in f"\n{text}"


def parse_lock(text: str) -> Lock:
    """Parse a lock. Raises LockError for unknown or missing keys and wrong types."""
    if is_conflicted(text):
        raise LockError(
            "it contains git's conflict markers; `rye install` or `rye lock` resolves them.",
            "If rye.toml has conflict markers, resolve those first. Then run `rye install`.",
        )
    table = read_canonical(text)
    if table is None:
        table = _read_toml(text)
    if table.get("version") != LOCK_VERSION:
        raise LockError(f"its version is {table.get('version')!r}; this rye reads version {LOCK_VERSION}.")
    _check_origins(table.get("item"))
    keys = lock_keys()
    try:
        found: Any = msgspec.convert(table, file_type(keys))
    except msgspec.ValidationError as error:
        raise LockError(f"{error}.") from None
    items = tuple(_item(row, approved_in(row, keys)) for row in found.item)
    if any(item.source is not None for item in items):
        items = tuple(item if item.source is None else _of_source(item, item.source) for item in items)
        _check_sources(items)
    for item in items:
        _check_item(item)
    names = [item.identity for item in items]
    if len(set(names)) != len(names):
        raise LockError("it has duplicate items.")
    return Lock(found.wanted, items, _heads(found.heads))


def _heads(rows: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The notes whose lines the file has. What they say is checked where they are compared with a registry."""
    if len(rows) > MOST_HEADS:
        raise LockError(f"it has heads of more than {MOST_HEADS} registries.")
    for origin, lines in rows.items():
        if not lines or lines[0] != origin or sum(map(len, lines)) > MOST_HEAD_CHARACTERS or "\n" in "".join(lines):
            raise LockError(f"the head of {origin[:80]!r} is not a checkpoint of that registry.")
    return {origin: "".join(f"{line}\n" for line in lines) for origin, lines in rows.items()}


def _read_toml(text: str) -> dict[str, Any]:
    if has_long_key(text):
        raise LockError("a key has too many parts.")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise LockError(f"not valid TOML: {error}.") from None


def _check_origins(rows: object) -> None:
    """Check that each row names either its release in a registry or its source."""
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict):
            continue
        given = [key for key in OF_REGISTRIES if key in row]
        if len(given) != (0 if "source" in row else len(OF_REGISTRIES)):
            name = f"{row.get('kind')}:{row.get('id')}"
            raise LockError(f"{name} needs either source, or all of registry, log, keyset and signer.")


def _item(row: Any, approved: Approved) -> LockedItem:
    """The item of a row as the file has it."""
    item = LockedItem(approved=approved, **dict(zip(_NAMES, _SAID(row), strict=True)))
    return item if item.groups else replace(item, groups=("main",))


def _of_source(item: LockedItem, source: LockedSource) -> LockedItem:
    """Check a row's source and fill in the fields that follow from it."""
    is_git = source.git is not None
    for_git = (source.ref, source.commit, source.tree)
    if is_git == (source.path is not None):
        raise LockError(f"{item.id}: its source must be either a git repository or a folder.")
    if is_git and source.editable:
        raise LockError(f"{item.id}: only items from a folder can be editable.")
    if (None in for_git) if is_git else (for_git != (None, None, None)):
        raise LockError(f"{item.id}: a git repository needs ref, commit and tree; a folder must not have them.")
    try:
        if source.git is not None:
            git_address(source.git)
            for name in (source.commit or "", source.tree or ""):
                if not is_commit(name):
                    raise BadSource(f"{name!r} is not a git hash")
            git_rev(source.ref or "")
        else:
            folder_path(source.path or "")
        if not inner_path(source.place) or inner_path(source.place) != source.place:
            raise BadSource(f"{source.place!r} is not a valid file path")
    except BadSource as error:
        raise LockError(f"{item.id}: its source: {error}.") from None
    return replace(item, registry=source.origin, signer=source.origin)


def _check_sources(items: Sequence[LockedItem]) -> None:
    """Check that all items of a namespace come from the same source in the same state."""
    seen: dict[str, LockedSource | None] = {}
    for item in items:
        state = replace(item.source, place="") if item.source is not None else None
        if seen.setdefault(item.identity.namespace, state) != state:
            raise LockError(f"the items of {item.identity.namespace!r} come from more than one place.")


def _check_item(item: LockedItem) -> None:
    kind = KINDS.get(item.kind)
    if kind is None or not is_id(item.id) or "/" not in item.id:
        raise LockError(f"{item.kind}:{item.id} is not an item name.")
    if not kind.nested and item.id.count("/") != 1:
        raise LockError(f"{item.id}: a {item.kind} must be directly below its namespace.")
    if item.suffix not in kind.endings:
        raise LockError(f"{item.id}: a {item.kind} cannot have the suffix {item.suffix!r}.")
    hashes = [item.sha256]
    if item.attached or item.runs or item.approved is not NOTHING:
        hashes += [entry.sha256 for entry in item.attached]
        hashes += [run.sha256 for run in (*item.runs, *item.approved.of("run"))]
    if not all(map(_is_hash, hashes)):
        raise LockError(f"{item.id}: a hash is not 64 lower-case hex digits.")
    if item.agent_tools or item.agent_limits or item.approved is not NOTHING:
        try:
            _ = item.tools, item.approved.tools  # malformed ones raise
        except ValueError as error:
            raise LockError(f"{item.id}: {error}.") from None
    if not all(":" in name for name in item.dependencies):
        raise LockError(f"{item.id}: a dependency is not an item's kind and id.")
    if not 1 <= item.approved.rules <= MOST_RULES:
        raise LockError(f"{item.id}: {RULES} must be a number from 1 to {MOST_RULES}.")
    if not item.attached:
        return
    folded = [entry.path.lower() for entry in item.attached]
    if kind.main_file is None:
        raise LockError(f"{item.id}: a {item.kind} cannot have attached files.")
    if kind.main_file is not None:
        folded.append(kind.main_file.lower())
    if not all(_PATH.fullmatch(entry.path) for entry in item.attached) or len(set(folded)) != len(folded):
        raise LockError(f"{item.id}: an attached file's path is unsafe or a duplicate.")


def _is_hash(text: str) -> bool:
    return len(text) == 64 and not text.strip("0123456789abcdef")
