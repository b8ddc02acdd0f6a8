"""Creates the release note of one item, after every check that the registry will repeat (docs/reference/statements.md,
rye.release/v1).

An item can be released if its file is UTF-8 with LF line ends and without BOM; it follows the rules of its kind, including
those for publishing; it has a version; its in-file signature is ``valid`` by a key in the namespace's keyset; and nothing in
it looks like a secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.consented import Run
from rye.items.identity import Identity, is_id
from rye.items.reading import Metadata
from rye.items.runs import attached_runs
from rye.project.item_file import ItemFile
from rye.registry.protocol.derivation import Resolve, derived_lines, note_description
from rye.registry.protocol.lines import StatementError, read_version
from rye.registry.protocol.statements import AttachedFile, FileEntry, Release
from rye.signing.item_secrets import secrets_in_item
from rye.signing.keys import PublicKey
from rye.signing.verification import verify
from rye.text.diagnostics import Diagnostic
from rye.text.facts import ALARM, Fact, find_facts
from rye.text.facts.readable import readable_text
from rye.text.secrets import is_secret_file, secrets_in_file


class AttachedBytes(Struct, frozen=True):
    """A file that is published with its item."""

    path: str
    data: bytes
    executable: bool


class Publishable(Struct, frozen=True, kw_only=True):
    """An item that passed all checks that need no registry."""

    identity: Identity
    version: str
    suffix: str
    data: bytes
    metadata: Metadata
    attached: tuple[AttachedBytes, ...]
    shown: str
    path: Path

    @property
    def paths(self) -> list[Path]:
        """Every file that is published."""
        return [self.path, *(self.path.parent / entry.path for entry in self.attached)]

    @property
    def attached_runs(self) -> tuple[Run, ...]:
        """The attached files that can run."""
        return attached_runs(
            ((entry.path, entry.executable, sha256(entry.data).hexdigest(), entry.data) for entry in self.attached),
            self.data,
        )

    @property
    def alarms(self) -> tuple[Fact, ...]:
        """The alarms of its texts; ``Fact.path`` is as a person sees it. Found anew at each call."""
        main = Path(self.shown)
        main = main if main.name == self.path.name else main / self.path.name
        texts = {main.as_posix(): readable_text(self.data)}
        texts |= {(main.parent / entry.path).as_posix(): readable_text(entry.data) for entry in self.attached}
        return tuple(fact for fact in find_facts(texts) if fact.level == ALARM)

    @property
    def blobs(self) -> dict[str, bytes]:
        """All bytes to upload, by their SHA-256."""
        return {sha256(data).hexdigest(): data for data in (self.data, *(entry.data for entry in self.attached))}

    @property
    def size(self) -> int:
        """The total size of all its files, in bytes."""
        return len(self.data) + sum(len(entry.data) for entry in self.attached)


def publishable(
    item: ItemFile, namespace: str, attached: Sequence[AttachedBytes] = (), version: str | None = None
) -> Publishable:
    """Check an item read with ``ReadOptions(publishing=True)``. ``version``: for formats that do not contain one.

    Raises RyeError: ``invalid-item``, ``no-version``, ``other-version``, ``bad-argument``.
    """
    errors = [finding for finding in item.reading.diagnostics if finding.severity == "error"]
    metadata = item.reading.metadata
    if errors or metadata is None:
        raise _invalid(item, errors)
    identity = Identity(item.kind.name, f"{namespace}/{item.location.local_id}")
    if not is_id(identity.id):
        raise UsageError(
            "bad-argument",
            f"{item.shown}: {identity.id!r} cannot be published: names are a-z, 0-9, '-' and '_'.",
            "Rename the file or its folders.",
            what="item name",
        )
    found = _version(item, metadata, version)
    return Publishable(
        identity=identity,
        version=found,
        suffix=item.suffix,
        data=item.data,
        metadata=metadata,
        attached=tuple(attached),
        shown=item.shown,
        path=item.path,
    )


def _invalid(item: ItemFile, errors: Sequence[Diagnostic]) -> RyeError:
    first = errors[0] if errors else None
    place = f":{first.line}" if first is not None and first.line else ""
    return RyeError(
        "invalid-item",
        f"{item.shown}{place} does not validate: {first.message if first else 'it cannot be read.'}",
        f"`rye validate {item.shown}` shows what to fix.",
        details={"diagnostics": [finding.as_json() for finding in errors]},
    )


def _version(item: ItemFile, metadata: Metadata, given: str | None) -> str:
    if metadata.version is None:
        if given is None:
            raise UsageError(
                "no-version",
                f"{item.shown} has no version.",
                f"Give one: `rye publish {item.shown} --version 1.0.0`.",
            )
        return _strict(item, given, f"--version {given}")
    if given is not None and given != metadata.version:
        raise RyeError(
            "other-version", f"{item.shown} says that it is version {metadata.version}.", "Leave --version out."
        )
    return _strict(item, metadata.version, f"its version {metadata.version}")


def _strict(item: ItemFile, version: str, what: str) -> str:
    """Return the version if a release note accepts it: SemVer 2 without build metadata. Raises UsageError ``bad-version``."""
    try:
        return read_version(version)
    except StatementError:
        raise UsageError(
            "bad-version",
            f"{item.shown} cannot be published: {what} is not X.Y.Z or X.Y.Z-pre (build metadata is not allowed).",
            "Give a version such as 1.0.0.",
        ) from None


def refuse_secrets(item: Publishable) -> None:
    """Refuse an item that contains secrets, because anything published stays public. Raises RyeError ``secret-found``."""
    found = [(item.shown, secrets_in_item(item.identity.kind, item.suffix, item.data))]
    for entry in item.attached:
        if is_secret_file(entry.path):
            raise _secret(f"{entry.path} of {item.shown} is a file for secrets", item)
        found.append((f"{item.shown} ({entry.path})", secrets_in_file(entry.data)))
    for shown, secrets in found:
        if secrets:
            line, what = secrets[0]
            raise _secret(f"{shown}:{line} looks like {what}", item, by_text=True)


_NO_SECRET = (
    " If it is not a secret, say why in its line: `rye:allow-secret REASON`. Whoever installs the item sees the reason."
)


def _secret(what: str, item: Publishable, *, by_text: bool = False) -> RyeError:
    return RyeError(
        "secret-found",
        f"{what}; anything published stays public permanently.",
        f"Remove it from {item.shown}, replace the secret wherever it is used, and publish again.{_NO_SECRET if by_text else ''}",
    )


def check_signature(item: Publishable, keys: Iterable[PublicKey], own: Mapping[PublicKey, str] | None = None) -> None:
    """Require a ``valid`` in-file signature by one of the namespace's keys. Raises RyeError ``not-signed``.

    ``own``: the publisher's keys with their names, for the hint.
    """
    keys = tuple(keys)
    verification = verify(item.data, item.identity.kind, f"x{item.suffix}", keys)
    if not verification.ok:
        raise RyeError(
            "not-signed",
            f"{item.shown} is not signed by a key of {item.identity.namespace!r} ({verification.verdict}): "
            f"{verification.detail}",
            _signing_hint(item, keys, own or {}, replaces=verification.verdict in ("untrusted", "bad-signature")),
        )


def _signing_hint(item: Publishable, keys: Iterable[PublicKey], own: Mapping[PublicKey, str], *, replaces: bool) -> str:
    """Return how an owner signs it or, for someone without a key of the namespace, how to become an owner. ``replaces``: it has
    a signature that does not count here, which `rye sign` would leave alone if its key is the user's as well."""
    names = [own[key] for key in keys if key in own]
    if names:
        force = " --force" if replaces else ""
        return f"`rye sign {item.shown} --key {names[0]}{force}` signs it with a key of {item.identity.namespace!r}."
    namespace = item.identity.namespace
    return (
        f"None of your keys belongs to {namespace!r}: an owner adds one with `rye namespace keys add {namespace} FILE`, "
        "or publish under a namespace of your own."
    )


def release_note(item: Publishable, origin: str, keyset: int, now: datetime, resolve: Resolve) -> Release:
    """Return the statement that binds the item's name, version and bytes. Raises RyeError ``unresolved-reference``."""
    lines = derived_lines(item.identity, item.metadata, resolve)
    return Release(
        origin=origin,
        identity=item.identity,
        version=item.version,
        keyset=keyset,
        time=now,
        description=note_description(item.metadata),
        file=FileEntry(item.suffix, len(item.data), sha256(item.data).hexdigest()),
        attached=tuple(
            AttachedFile(entry.path, len(entry.data), sha256(entry.data).hexdigest(), entry.executable)
            for entry in item.attached
        ),
        depends_on=lines.depends_on,
        requires=lines.requires,
        conflicts_with=lines.conflicts_with,
        capabilities=lines.capabilities,
        hooks=lines.hooks,
    )


def dependencies_first(releases: Sequence[Release]) -> list[Release]:
    """Return the batch in an order in which each item comes after its dependencies in the batch.

    Items in a dependency cycle are ordered by name.
    """
    by_identity = {release.identity: release for release in releases}
    ordered: dict[Identity, Release] = {}
    visiting: set[Identity] = set()
    for start in sorted(by_identity):
        stack = [(start, False)]
        while stack:
            identity, done = stack.pop()
            if done:
                ordered.setdefault(identity, by_identity[identity])
                continue
            if identity in visiting:
                continue
            visiting.add(identity)
            stack.append((identity, True))
            needed = sorted(
                (r.identity for r in by_identity[identity].depends_on if r.identity in by_identity), reverse=True
            )
            stack.extend((other, False) for other in needed if other is not None)
    return list(ordered.values())
