"""``.ai/origins.toml``: which published release each fork among a project's own items was made from.

::

    ["skill:pdf"]
    item = "skill:acme/pdf"
    version = "1.0.0"
    digest = "9f86d081884c7d65…"
    source = "registry.example.org"
    signer = "SHA256:…"
    ref = "refs/tags/v1.4.0"    # these two of an item of a git repository only
    commit = "40 or 64 hex digits"

The key is the own item's kind and its id without a namespace. The file is committed and not signed, so it is only a claim:
``digest`` is of the release's files (:func:`digest_of`), which are fetched and compared before anything is made of them, and a
user who did not fork the item here is asked first (:mod:`rye.workspace.authoring.origins`). It is parsed strictly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct

from rye.consent.ask import Ask
from rye.errors import RyeError
from rye.items.identity import Identity, is_id
from rye.items.kinds import KINDS
from rye.project.declared_sources import HEAD, BadSource, git_rev, is_commit, is_git_origin, is_source_origin
from rye.text.display import visible
from rye.text.toml_reading import TomlError, read_toml
from rye.text.toml_writing import quoted

ORIGINS = ".ai/origins.toml"
_FIELDS = ("item", "version", "digest", "source", "signer")
_OF_GIT = ("ref", "commit")
"""With a git repository as the source. Files that were written before they existed have neither."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_HEAD = "# Where forks come from. `rye fork` writes this; `rye diff --origin` and `rye update --origin` read it.\n"


class ForkOrigin(Struct, frozen=True, kw_only=True):
    """What one own item was made from."""

    item: Identity
    version: str
    digest: str
    """SHA-256 of the release's files (:func:`digest_of`)."""
    source: str
    """The registry's origin, or the source's address."""
    signer: str
    """The fingerprint of the key that signed the release; ``none`` if nobody did."""
    ref: str | None = None
    """What rye.toml asked the git repository for: the full name of a ref, or a commit."""
    commit: str | None = None
    """The commit that the files are of. It is no part of what a user agrees to: its files must have ``digest``."""

    @property
    def is_of_source(self) -> bool:
        """Whether the item comes from a repository or folder, which has no releases."""
        return is_source_origin(self.source)

    def approval(self, label: str) -> Ask:
        """What this user agrees to: that the own item ``label`` (``kind:id``) follows this item of this source, which this key
        signed so far."""
        return Ask(label, "origin", f"{self.item} from {self.source}, signed by {self.signer}")


def digest_of(main: str, attached: Mapping[str, tuple[str, bool]]) -> str:
    """The digest of a release's files. ``main``: the SHA-256 of the item's own file, signature included; ``attached``: by path,
    the SHA-256 and the execute bit of each."""
    lines = [f"{main}\n"]
    lines += [f"{digest} {'x' if runs else '-'} {path}\n" for path, (digest, runs) in sorted(attached.items())]
    return sha256("".join(lines).encode()).hexdigest()


def read_origins(data: bytes) -> dict[str, ForkOrigin]:
    """Parse the file: origins by ``kind:local-id``. Raises RyeError ``bad-origins``."""
    try:
        read = read_toml(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise _bad("it is not UTF-8", None) from None
    except TomlError as error:
        raise _bad(f"it is not TOML: {error.message}", error.line) from None
    return {name: _origin(name, table, read.line(name)) for name, table in read.value.items()}


def _origin(name: str, table: object, line: int | None) -> ForkOrigin:
    kind, _, local = name.partition(":")
    if kind not in KINDS or not is_id(local):
        raise _bad(f"{visible(name)!r} is not KIND:ID", line)
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise _bad(f"{visible(name)!r} is not a table of texts", line)
    if set(table) != set(_FIELDS) and (set(table) != {*_FIELDS, *_OF_GIT} or not is_git_origin(table["source"])):
        of_git = f", and of a git repository also {' and '.join(_OF_GIT)}"
        raise _bad(f"{visible(name)!r} does not have exactly the texts {', '.join(_FIELDS)}{of_git}", line)
    of, _, identifier = table["item"].partition(":")
    if of != kind or not is_id(identifier) or "/" not in identifier:
        raise _bad(f"{visible(name)!r} comes from {visible(table['item'])!r}, which is not a {kind}", line)
    if (
        not _DIGEST.fullmatch(table["digest"])
        or not all(value.isprintable() and value for value in table.values())
        or not is_commit(table.get("commit", "0" * 40))
        or not _is_ref(table.get("ref", HEAD))
    ):
        raise _bad(f"{visible(name)!r} has a value that is not valid", line)
    fields = {key: value for key, value in table.items() if key != "item"}
    return ForkOrigin(item=Identity(of, identifier), **fields)


def _is_ref(ref: str) -> bool:
    try:
        return git_rev(ref) == ref
    except BadSource:
        return False


def _bad(said: str, line: int | None) -> RyeError:
    place = f"{ORIGINS}:{line}" if line is not None else ORIGINS
    return RyeError("bad-origins", f"{place}: {said}.", "Restore the file from git, or remove the entry.")


def origins_text(origins: Mapping[str, ForkOrigin]) -> str:
    """The text of the file, sorted. It reads back as the same origins."""
    return "\n".join([_HEAD, *(_table(name, origins[name]) for name in sorted(origins))])


def _table(name: str, origin: ForkOrigin) -> str:
    rows = ((key, getattr(origin, key)) for key in (*_FIELDS, *_OF_GIT))
    return "\n".join([f"[{quoted(name)}]", *(f"{key} = {quoted(str(value))}" for key, value in rows if value)]) + "\n"
