"""Reading ``rye.toml``, the manifest that people write. Unknown keys are errors, with a suggestion.

:mod:`rye.project.manifest_edit` edits it. All tables:

::

    [project]
    name = "storefront"                # shown to people
    namespace = "acme"                 # what this project's own items are published under
    registry = "https://…"             # for every namespace that [registries] does not map

    [dependencies]
    "acme/workflows/deploy_and_test" = "^1.2"
    "tool:acme/shell/docker" = { version = "1.0.3", pre-release = true }

    [groups.dev]                       # a separate group, left out with --without dev
    "acme/checks/review" = "*"

    [overrides]                        # versions that are forced on the whole graph, see rye.project.forced_versions
    "acme/shell/docker" = "1.2.3"

    [workspace]                        # only at its root: folders with their own rye.toml, see rye.project.members
    members = ["services/*"]

    [registries]                       # namespace = address; never a fallback from one to the other
    acme = "https://…"

    [sources]                          # items from git repositories or folders, see docs/how-to/sources.md
    team = { git = "https://…", rev = "v1.4.0", path = "items" }
    shared = { path = "../shared-items" }

    [environment]
    provides = ["docker-runtime"]      # features that <requires> can name
    tools = ["TodoWrite"]              # agent tools beyond the known ones

    [policy]                           # see rye.permissions.policy
    max-tier = "write"
    allow = ["rye.search.*"]
    forbid = ["rye.execute.tool.*.shell.*"]
    required-signers = ["SHA256:…"]
    minimum-release-age = "3d"
    allow-override-widening = false
    [policy.risk]                      # your own tiers; in a project, they only raise the built-in ones
    "rye.execute.tool.acme.payments.*" = "elevated"
    [policy.limits]                    # for every run (docs/explanation/runtime.md)
    calls = 200
    spend = 2.50
    [policy.approval]                  # which calls a person is asked about: ask | deny | allow
    "rye.execute.tool.acme.shell.*" = "ask"

    [deploy]                           # see docs/how-to/agents.md
    targets = ["claude", "codex"]
    after-install = true               # add, update and remove end with a deploy
    include = ["skill:*"]              # default: the items that this file asks for
    prefix = "never"                   # never | on-clash | always
    [deploy.opencode]
    exclude = ["role:*"]
    [sandbox."tool:acme/net/fetch"]    # what a tool may do beyond its sandbox, see docs/how-to/tools.md
    network = ["api.example.com:443"]
    [audit]                            # findings that rye audit ignores, each until a date and with a reason
    ignore = [{ id = "RYE-2026-0001", until = "2026-12-31", reason = "We never call it" }]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Any

from msgspec import Struct, field

from rye.errors import UsageError
from rye.items.identity import is_id, is_segment
from rye.items.kinds import KINDS
from rye.items.needs import BadNeeds, Needs, parse_needs
from rye.limits import SOURCES, WORKSPACE
from rye.permissions.policy_table import PolicyReader, PolicyTable
from rye.project.agent_programs import program_names
from rye.project.declared_sources import (
    BadSource,
    GitSource,
    PathSource,
    Source,
    folder_path,
    git_address,
    git_rev,
    inner_path,
)
from rye.project.forced_versions import ForcedVersion, contradicting
from rye.project.member_patterns import BadPattern, check_pattern
from rye.text.addresses import without_credentials
from rye.text.lazy import lazy_pattern
from rye.text.spelling import close_words
from rye.text.tables import ManifestError
from rye.text.toml_keys import has_long_key

PREFIXES = ("never", "on-clash", "always")
_TABLES = {
    "project",
    "dependencies",
    "groups",
    "workspace",
    "overrides",
    "registries",
    "sources",
    "environment",
    "policy",
    "deploy",
    "audit",
    "sandbox",
}
_TOOL = "tool:"
MAIN_GROUP = "main"
"""The group that ``[dependencies]`` defines."""
BYTE_ORDER_MARK = "\ufeff"
"""Some editors put one at the start of a file; it is ignored."""


class Requested(Struct, frozen=True):
    """One line of ``[dependencies]`` or of a group."""

    id: str
    kind: str | None
    """None: the only kind with this id, or the kind in the lock."""
    range: str
    group: str = MAIN_GROUP
    pre_release: bool = False
    member: str = ""
    """The folder of the workspace member whose manifest has this line, relative to the root; empty: the root."""

    @property
    def key(self) -> str:
        """The key in the manifest: ``[kind:]id``."""
        return f"{self.kind}:{self.id}" if self.kind else self.id

    @property
    def file(self) -> str:
        """The manifest that has this line, relative to the root."""
        return f"{self.member}/rye.toml" if self.member else "rye.toml"


class DeployTable(Struct, frozen=True):
    """``[deploy]`` as written: which programs get which items (docs/how-to/agents.md)."""

    targets: tuple[str, ...] = ()
    """Names of :data:`rye.project.agent_programs.PROGRAMS`; empty: nothing is deployed unless a command asks for it."""
    after_install: bool = True
    """Whether installing also deploys, if there are targets."""
    include: tuple[str, ...] | None = None
    """Patterns of ``kind:id``; None: the manifest's direct dependencies."""
    prefix: str = "never"
    """One of :data:`PREFIXES`: whether names are prefixed with the namespace."""
    excluded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Target → patterns of items that are not deployed to it."""


class Ignored(Struct, frozen=True):
    """A finding of ``rye audit`` that is ignored until a date."""

    id: str
    """An advisory number or ``RULE:KIND:ID``."""
    until: date
    """The last day on which the finding is ignored."""
    reason: str


class MemberName(Struct, frozen=True):
    """One member of a workspace."""

    path: str
    """Its folder, relative to the root, with ``/``."""
    name: str | None
    """Its ``[project] name``."""


class Manifest(Struct, frozen=True, kw_only=True):
    """A whole ``rye.toml``."""

    name: str | None = None
    namespace: str | None = None
    registry: str | None = None
    dependencies: tuple[Requested, ...] = ()
    """The lines of all groups, sorted by group and key."""
    registries: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    """``[sources]`` by name. The name is the namespace of the source's items in this project."""
    provides: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    policy: PolicyTable = field(default_factory=PolicyTable)
    deploy: DeployTable = field(default_factory=DeployTable)
    ignored: tuple[Ignored, ...] = ()
    """``[audit] ignore``, in file order."""
    sandbox: Mapping[str, Needs] = field(default_factory=dict)
    """``[sandbox]``: grants by ``tool:id``. They take effect once this user has approved them (DESIGN 6.1)."""
    overrides: tuple[ForcedVersion, ...] = ()
    """``[overrides]``, sorted by key."""
    workspace: tuple[str, ...] | None = None
    """``[workspace] members``: patterns; None: not a workspace."""
    members: tuple[MemberName, ...] = ()
    """The members whose dependencies were merged in (:func:`rye.project.members.whole_manifest`); not read from this file."""

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of all dependency groups, sorted; the main group is always included."""
        return tuple(sorted({wanted.group for wanted in self.dependencies} | {MAIN_GROUP}))


def _as_range(value: object) -> str:
    """What was probably meant by a range that is no text."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"^{value}" if is_number and len(str(value)) <= _LONGEST_NUMBER else "^1.2"


_LONGEST_NUMBER = 12
"""Of a number that is repeated in a hint."""


@lru_cache(maxsize=4)
def parse_manifest(text: str, source: str = "rye.toml") -> Manifest:
    """Parse a manifest. Cached, because a command needs it several times. Raises ManifestError for anything unknown."""
    if has_long_key(text):
        raise ManifestError("a key has too many parts.", "No key of rye.toml has more than three.", source)
    try:
        table = tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError) as error:
        if "\n<<<<<<< " in f"\n{text}":
            hint = "Resolve the conflict and delete the lines with <<<<<<<, ======= and >>>>>>>."
            raise ManifestError("it contains git's conflict markers.", hint, source) from None
        raise ManifestError(f"not valid TOML: {error}.", "Fix that line.", source) from None
    reader = _ManifestReader(source)
    reader.known(table, "", _TABLES)
    project = reader.table(table, "project")
    reader.known(project, "project", {"name", "namespace", "registry"})
    namespace = reader.text(project, "project", "namespace")
    if namespace is not None and not is_segment(namespace):
        raise ManifestError(
            f"[project] namespace {namespace!r} is not a valid name.", "Use a-z, 0-9, '-' and '_'.", source
        )
    wanted = list(reader.dependencies(reader.table(table, "dependencies"), MAIN_GROUP))
    for group, rows in reader.table(table, "groups").items():
        if not is_segment(group) or group == MAIN_GROUP or not isinstance(rows, dict):
            raise ManifestError(f"[groups.{group}] is not a group of dependencies.", "Write [groups.dev].", source)
        wanted.extend(reader.dependencies(rows, group))
    environment = reader.table(table, "environment")
    reader.known(environment, "environment", {"provides", "tools"})
    return Manifest(
        name=reader.text(project, "project", "name"),
        namespace=namespace,
        registry=reader.text(project, "project", "registry"),
        dependencies=tuple(sorted(wanted, key=lambda w: (w.group, w.key))),
        registries=reader.registries(reader.table(table, "registries")),
        sources=reader.sources(reader.table(table, "sources"), {*reader.table(table, "registries"), namespace}),
        provides=frozenset(reader.texts(environment, "environment", "provides")),
        tools=frozenset(reader.texts(environment, "environment", "tools")),
        policy=reader.policy(reader.table(table, "policy")),
        deploy=reader.deploy(reader.table(table, "deploy")),
        ignored=reader.ignored(reader.table(table, "audit")),
        sandbox=reader.sandbox(reader.table(table, "sandbox")),
        overrides=reader.overrides(reader.table(table, "overrides")),
        workspace=reader.workspace(reader.table(table, "workspace")) if "workspace" in table else None,
    )


_ADVISORY = lazy_pattern(r"[A-Z0-9-]{1,64}")
_DAY = lazy_pattern(r"\d{4}-\d{2}-\d{2}")


_IGNORE_HINT = 'Write ignore = [{ id = "yanked:directive:acme/work/item", until = "2026-12-31", reason = "…" }].'


_SOURCE_HINT = 'Write team = { git = "https://…", rev = "v1.4.0", path = "items" } or shared = { path = "../items" }.'


class _ManifestReader(PolicyReader):
    """The tables of a manifest."""

    def dependencies(self, table: Mapping[str, Any], group: str) -> list[Requested]:
        where = "dependencies" if group == MAIN_GROUP else f"groups.{group}"
        requests = []
        for key, value in table.items():
            kind, identifier = self.item_name(where, key)
            pre_release = False
            if isinstance(value, dict):
                self.known(value, f"{where}.{key}", {"version", "pre-release"})
                pre_release = self.flag(value, f"{where}.{key}", "pre-release")
                value = value.get("version", "*")
            if not isinstance(value, str):
                raise self.fail(
                    f"[{where}] {key!r} must be a version range or a table with one.",
                    f'Write "{key}" = "{_as_range(value)}", in quotes, or "*" for any version.',
                )
            requests.append(Requested(identifier, kind, value.strip() or "*", group, pre_release))
        return requests

    def overrides(self, table: Mapping[str, Any]) -> tuple[ForcedVersion, ...]:
        """``[overrides]``: ``"[kind:]id" = "range"``."""
        forced = []
        for key, value in table.items():
            kind, identifier = self.item_name("overrides", key)
            if not isinstance(value, str) or not value.strip():
                raise self.fail(f"[overrides] {key!r} must be a version or a range.", f'Write "{key}" = "1.2.3".')
            forced.append(ForcedVersion(identifier, kind, value.strip()))
        twice = contradicting(forced)
        if twice is not None:
            raise self.fail(
                f"[overrides] has {twice!r} both with a kind and without one.",
                "Keep one line, or put the kind in each.",
            )
        return tuple(sorted(forced, key=lambda override: override.key))

    def workspace(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        """``[workspace]``: ``members``."""
        self.known(table, "workspace", {"members"})
        patterns = self.texts(table, "workspace", "members")
        if len(patterns) > WORKSPACE.patterns:
            raise self.fail(f"[workspace] members has more than {WORKSPACE.patterns} patterns.", "Use wildcards.")
        for pattern in patterns:
            try:
                check_pattern(pattern)
            except BadPattern as error:
                hint = 'Write members = ["services/*", "tools/lint"].'
                raise self.fail(f"[workspace] members {pattern!r}: {error}.", hint) from None
        return tuple(dict.fromkeys(patterns))

    def item_name(self, where: str, key: str) -> tuple[str | None, str]:
        """The kind, if any, and the id of ``[kind:]namespace/category/name``."""
        kind, colon, identifier = key.rpartition(":")
        if (colon and kind not in KINDS) or not is_id(identifier) or "/" not in identifier:
            raise self.fail(
                f"[{where}] {key!r} is not an item name.", 'Write "[kind:]namespace/category/name" = "range".'
            )
        return kind or None, identifier

    def registries(self, table: Mapping[str, Any]) -> dict[str, str]:
        for namespace, address in table.items():
            if not is_segment(namespace) or not isinstance(address, str):
                raise self.fail(
                    f"[registries] {namespace!r} must map a namespace to an address.",
                    f'Write {namespace} = "https://registry.example.org".',
                )
        return dict(table)

    def sources(self, table: Mapping[str, Any], taken: set[str | None]) -> dict[str, Source]:
        """``[sources]``. ``taken``: namespaces of registries and of this project."""
        if len(table) > SOURCES.sources:
            raise self.fail(
                f"[sources] has {len(table)} sources; the limit is {SOURCES.sources}.",
                "Remove those that nothing uses.",
            )
        return {name: self._source(name, row, taken) for name, row in table.items()}

    def _source(self, name: str, row: object, taken: set[str | None]) -> Source:
        where = f"sources.{name}"
        if not is_segment(name) or not isinstance(row, dict):
            raise self.fail(f"[sources] {name!r} must be a name with a table.", _SOURCE_HINT)
        if name in taken:
            message = f"[sources] {name!r} is already the namespace of a registry or of this project."
            raise self.fail(message, "A source's name is the namespace of its items. Choose another name.")
        values = {key: self.text(row, where, key) for key in ("git", "rev", "path") if key in row}
        try:
            if "git" in row:
                self.known(row, where, {"git", "rev", "path"})
                rev = values.get("rev")
                inner = inner_path(values.get("path") or "")
                return GitSource(name, git_address(values["git"] or ""), git_rev(rev) if rev else None, inner)
            self.known(row, where, {"path", "editable"})
            return PathSource(name, folder_path(values.get("path") or ""), self.flag(row, where, "editable") or False)
        except BadSource as error:
            named = next(
                (f"{key} = {without_credentials(str(values[key]))!a}" for key in ("git", "path") if key in values),
                "needs git or path",
            )
            raise self.fail(f"[sources] {name}: {named}: {error}.", _SOURCE_HINT) from None

    def deploy(self, table: Mapping[str, Any]) -> DeployTable:
        where, keys = "deploy", {"targets", "after-install", "include", "prefix"}
        names = program_names()
        self.known(table, where, {*keys, *names})
        targets = self.texts(table, where, "targets")
        for name in targets:
            if name not in names:
                near = close_words(name, names)
                hint = f"Did you mean {near[0]!r}?" if near else f"Targets: {', '.join(names)}."
                message = f"{self.source}: [deploy] targets {name!r} is not a target."
                raise UsageError("unknown-name", message, hint, what="target")
        prefix = self.text(table, where, "prefix") or "never"
        if prefix not in PREFIXES:
            raise self.fail(f"[deploy] prefix {prefix!r} is not a known value.", f"Write one of {', '.join(PREFIXES)}.")
        excluded = {}
        for name in names:
            if name in table:
                rows = self.table(table, name)
                self.known(rows, f"deploy.{name}", {"exclude"})
                excluded[name] = self.texts(rows, f"deploy.{name}", "exclude")
        return DeployTable(
            targets=tuple(dict.fromkeys(targets)),
            after_install=self.flag(table, where, "after-install", default=True),
            include=self.texts(table, where, "include") if "include" in table else None,
            prefix=prefix,
            excluded=excluded,
        )

    def sandbox(self, table: Mapping[str, Any]) -> dict[str, Needs]:
        """``[sandbox."tool:acme/net/fetch"]``: for each tool the keys of ``__needs__``."""
        grants = {}
        for key, rows in table.items():
            if not key.startswith(_TOOL) or not is_id(key.removeprefix(_TOOL)) or not isinstance(rows, dict):
                raise self.fail(f"[sandbox] {key!r} is not a tool.", 'Write [sandbox."tool:acme/net/fetch"].')
            try:
                grants[key] = parse_needs(rows)
            except BadNeeds as error:
                raise self.fail(f'[sandbox."{key}"]: {error}.', "See docs/how-to/tools.md, Needs and grants.") from None
        return grants

    def ignored(self, table: Mapping[str, Any]) -> tuple[Ignored, ...]:
        """``[audit] ignore``: tables with exactly ``id``, ``until`` and ``reason``."""
        where = "audit"
        self.known(table, where, {"ignore"})
        rows = table.get("ignore", [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self.fail("[audit] ignore must be a list of tables.", _IGNORE_HINT)
        return tuple(self._ignored_one(row) for row in rows)

    def _ignored_one(self, row: Mapping[str, Any]) -> Ignored:
        where = "audit.ignore"
        self.known(row, where, {"id", "until", "reason"})
        missing = [key for key in ("id", "until", "reason") if key not in row]
        if missing:
            raise self.fail(f"[audit] ignore: {missing[0]!r} is missing in {dict(row)}.", _IGNORE_HINT)
        name, reason = self.text(row, where, "id") or "", self.text(row, where, "reason") or ""
        _, _, about = name.partition(":")
        kind, _, identifier = about.partition(":")
        if _ADVISORY.fullmatch(name) is None and (kind not in KINDS or not is_id(identifier)):
            raise self.fail(f"[audit] ignore: {name!r} is neither an advisory number nor RULE:KIND:ID.", _IGNORE_HINT)
        return Ignored(name, self._day(row["until"]), reason)

    def _day(self, value: object) -> date:
        """Parse a day, either a TOML date or text."""
        if type(value) is date:
            return value
        if isinstance(value, str) and _DAY.fullmatch(value):
            try:
                return date.fromisoformat(value)
            except ValueError:
                pass
        raise self.fail(f"[audit] ignore: until = {value!r} is not a date.", 'Write until = "2026-12-31".')
