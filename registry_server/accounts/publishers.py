"""Trusted publishers: repository workflows that get short-lived tokens for a namespace, without a stored secret.

The claims of a build server's identity token are compared with the operator's configuration:

=========== ==========================================================================================================
repository  ``repository`` (GitHub and others) or ``project_path`` (GitLab), case-insensitive
workflow    the file in ``job_workflow_ref``, else ``workflow_ref`` (GitHub), or ``ci_config_ref_uri`` (GitLab), which must be in
the same repository; for an issuer that has none of these, ``workflow`` unchanged. Never GitHub's ``workflow``,
which is a title that any file can have
environment ``environment``, case-insensitive (A to Z), if the operator named one
owner       ``repository_owner_id`` (GitHub) or ``namespace_id`` (GitLab): a number that is never reused. The first exchanged
token binds the publisher to it, so someone who registers the owner's name later is refused
=========== ==========================================================================================================
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence

import sqlalchemy as sa
from msgspec import Struct

from registry_server.accounts import tokens
from registry_server.accounts.issuers import Claims, check_issuer, refused
from registry_server.accounts.times import after
from registry_server.storage.schema import exchanged_jwts, trusted_publishers
from rye.errors import RyeError
from rye.items.identity import is_segment

TOKEN_SECONDS = 15 * 60
ALLOWED_SCOPES = ("read", "publish", "stage", "yank")
DEFAULT_SCOPES = ("stage",)
GITHUB = "https://token.actions.githubusercontent.com"
GITLAB = "https://gitlab.com"
SHORT = {"github": GITHUB, "gitlab": GITLAB}
"""Short names of issuers."""
_REPOSITORY = re.compile(r"[A-Za-z0-9._-]{1,100}(?:/[A-Za-z0-9._-]{1,100}){1,9}")
_WORKFLOW = re.compile(r"[A-Za-z0-9._ -]{1,100}(?:/[A-Za-z0-9._ -]{1,100}){0,9}")
_COLUMN_CHARACTERS = 400
"""The longest repository and workflow that the database stores."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_KEPT_SECONDS = 2 * 86_400


class Publisher(Struct, frozen=True, kw_only=True):
    """One trusted publisher: a workflow, and what its tokens may do."""

    id: str
    namespace: str
    issuer: str
    repository: str
    workflow: str
    environment: str
    scopes: tuple[str, ...]
    created: str
    owner: str | None = None
    """The ID of the repository's owner; None: no token has been exchanged yet, or the issuer does not state it."""

    def as_json(self) -> dict[str, object]:
        """The publisher as ``rye-registry publisher list --json`` shows it; no environment is null."""
        document = {name: getattr(self, name) for name in self.__struct_fields__}
        return {**document, "scopes": list(self.scopes), "environment": self.environment or None}


class Identity(Struct, frozen=True):
    """A build as its identity token describes it."""

    repository: str
    workflow: str
    environment: str
    owner: str = ""


def add(
    connection: sa.Connection,
    namespace: str,
    issuer: str,
    repository: str,
    workflow: str,
    environment: str,
    scopes: Sequence[str],
    now: str,
) -> Publisher:
    """Trust a workflow. Raises RyeError for invalid values, and ``already-exists``."""
    if not is_segment(namespace):
        raise RyeError(
            "invalid-value",
            f"{namespace[:80]!r} is not a namespace.",
            "Use a-z, 0-9, - and _, at most 64.",
            what="namespace",
        )
    check_issuer(issuer)
    if _REPOSITORY.fullmatch(repository) is None or len(repository) > _COLUMN_CHARACTERS:
        raise RyeError(
            "invalid-value", f"{repository[:200]!r} is not a repository.", "Write OWNER/NAME.", what="repository"
        )
    if _WORKFLOW.fullmatch(workflow) is None or ".." in workflow or len(workflow) > _COLUMN_CHARACTERS:
        raise RyeError(
            "invalid-value",
            f"{workflow[:200]!r} is not a workflow file.",
            "Write its file name, such as release.yml.",
            what="workflow",
        )
    if len(environment) > 255 or not environment.isprintable():
        raise RyeError(
            "invalid-value", "An environment's name is at most 255 printable characters.", None, what="environment"
        )
    if not scopes or not set(scopes) <= set(ALLOWED_SCOPES):
        raise RyeError(
            "invalid-value",
            "A trusted publisher cannot have these scopes.",
            f"Scopes: {', '.join(ALLOWED_SCOPES)}.",
            what="scope",
        )
    row = {
        "namespace": namespace,
        "issuer": issuer,
        "repository": repository,
        "workflow": workflow,
        "environment": environment,
    }
    table = trusted_publishers.c
    same = sa.and_(*(table[name] == value for name, value in row.items()))
    if connection.scalar(sa.select(table.id).where(same)) is not None:
        raise RyeError(
            "already-exists",
            "This publisher is already trusted.",
            "`rye-registry publisher list` shows all of them.",
            what="publisher",
        )
    identifier = secrets.token_hex(8)
    values = {**row, "id": identifier, "scopes": " ".join(scopes), "created": now}
    connection.execute(trusted_publishers.insert().values(values))
    return _publisher(connection.execute(sa.select(trusted_publishers).where(table.id == identifier)).one())


def remove(connection: sa.Connection, identifier: str) -> Publisher:
    """Stop trusting it; the tokens that it holds expire within minutes. Raises RyeError ``no-such-entry``."""
    where = trusted_publishers.c.id == identifier
    row = connection.execute(sa.select(trusted_publishers).where(where)).first()
    if row is None:
        raise RyeError(
            "no-such-entry",
            f"There is no trusted publisher {identifier[:80]!r}.",
            "`rye-registry publisher list` shows all of them.",
            what="publisher",
        )
    connection.execute(trusted_publishers.delete().where(where))
    return _publisher(row)


def listing(
    connection: sa.Connection, namespace: str | None = None, issuer: str | None = None, *, hold: bool = False
) -> list[Publisher]:
    """All trusted publishers, or those of a namespace or an issuer, by namespace and age. ``hold``: nobody changes or removes one
    before this transaction ends; on SQLite, every writing transaction has this effect."""
    query = sa.select(trusted_publishers).order_by(trusted_publishers.c.namespace, trusted_publishers.c.created)
    if hold:
        query = query.with_for_update()
    if namespace is not None:
        query = query.where(trusted_publishers.c.namespace == namespace)
    if issuer is not None:
        query = query.where(trusted_publishers.c.issuer == issuer)
    return [_publisher(row) for row in connection.execute(query)]


def identity_of(claims: Claims) -> Identity:
    """The build that verified claims describe. Raises RyeError ``oidc-refused``."""
    repository = _text(claims, "repository") or _text(claims, "project_path")
    if not repository:
        raise refused("it names no repository")
    environment = _text(claims, "environment")
    owner = _number(claims, "repository_owner_id") or _number(claims, "namespace_id")
    for name in ("job_workflow_ref", "workflow_ref"):
        reference = _reference(claims, name)
        if reference:
            return Identity(repository, _file_in(_path_of(reference), f"{repository}/"), environment, owner)
    reference = _reference(claims, "ci_config_ref_uri")
    if reference:
        place, _, file = _path_of(reference).partition("//")
        if _folded(place.partition("/")[2]) != _folded(repository):
            raise refused("its workflow is in another repository")
        return Identity(repository, file, environment, owner)
    if claims.get("iss") == GITHUB:
        raise refused("it names no workflow file")
    return Identity(repository, _text(claims, "workflow"), environment, owner)


def is_meant(publisher: Publisher, identity: Identity) -> bool:
    """Whether the publisher is this build."""
    file = identity.workflow if "/" in publisher.workflow else identity.workflow.rpartition("/")[2]
    return (
        _folded(publisher.repository) == _folded(identity.repository)
        and publisher.workflow == file
        and (not publisher.environment or _folded(publisher.environment) == _folded(identity.environment))
        and (publisher.owner is None or publisher.owner == identity.owner)
    )


def _folded(name: str) -> str:
    """A name as names are compared: only A to Z have another case. Who may push a workflow can make an environment of any name,
    and U+212A, the sign of the unit kelvin, is a k in lower case."""
    return "".join(character.lower() if character.isascii() else character for character in name)


def bind(connection: sa.Connection, trusted: Sequence[Publisher], identity: Identity) -> None:
    """Bind the publisher to the repository's owner at the first exchange."""
    if not identity.owner:
        return
    table = trusted_publishers.c
    where = sa.and_(table.id.in_([publisher.id for publisher in trusted]), table.owner.is_(None))
    connection.execute(trusted_publishers.update().where(where).values(owner=identity.owner))


def use_once(connection: sa.Connection, token: str, claims: Claims, now: str) -> None:
    """Record the exchange of a token, which is allowed once. Raises RyeError ``oidc-refused``."""
    connection.execute(exchanged_jwts.delete().where(exchanged_jwts.c.expires <= now))
    jti = claims.get("jti")
    # Without an ID, the signed part identifies it: a signature can be encoded in several ways.
    what = f"jti {jti}" if isinstance(jti, str) and jti else f"text {token.rpartition('.')[0]}"
    key = hashlib.sha256(f"{claims.get('iss')}\n{what}".encode()).hexdigest()
    if connection.execute(_USED, {"sha256": key, "expires": after(now, _KEPT_SECONDS)}).rowcount != 1:
        raise refused("it has already been exchanged")


_USED = sa.text("INSERT INTO exchanged_jwts (sha256, expires) VALUES (:sha256, :expires) ON CONFLICT DO NOTHING")


def make_token(
    connection: sa.Connection, trusted: Sequence[Publisher], identity: Identity, now: str, read: bool
) -> str:
    """A token for the namespaces of these publishers, with the scopes that they have in common.

    ``read``: the registry is private, so publishing requires reading it.
    """
    common = set(ALLOWED_SCOPES).intersection(*(publisher.scopes for publisher in trusted))
    scopes = [scope for scope in ALLOWED_SCOPES if scope in common or (scope == "read" and read)]
    if not common:
        raise refused("its publishers have no scope in common")
    name = f"{identity.repository} {identity.workflow.rpartition('/')[2]}"[:100]
    namespaces = [publisher.namespace for publisher in trusted]
    return tokens.create(connection, name, namespaces, now, scopes=scopes, seconds=TOKEN_SECONDS)


def _reference(claims: Claims, name: str) -> str:
    """The workflow that a claim names; empty if there is no such claim. One that cannot be read is not taken for none: the next
    claim is about another workflow, and a ref can have any length and any characters."""
    reference = _text(claims, name)
    if not reference and claims.get(name) not in (None, ""):
        raise refused(f"its {name} cannot be read")
    return reference


def _path_of(reference: str) -> str:
    """The part before ``@``, which must precede a full ref or a commit: a file name can also contain ``@``."""
    path, _, ref = reference.partition("@")
    if not ref.startswith("refs/") and _COMMIT.fullmatch(ref) is None:
        raise refused("it names no workflow file at a ref")
    return path


def _number(claims: Claims, name: str) -> str:
    value = claims.get(name)
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return text if text.isascii() and text.isdecimal() and len(text) <= 20 else ""


def _file_in(path: str, folder: str) -> str:
    if not _folded(path).startswith(_folded(folder)):
        raise refused("its workflow is in another repository")
    return path[len(folder) :]


def _text(claims: Claims, name: str) -> str:
    value = claims.get(name)
    return value if isinstance(value, str) and len(value) < 1000 and value.isprintable() else ""


def _publisher(row: sa.Row[tuple[object, ...]]) -> Publisher:
    return Publisher(
        id=row.id,
        namespace=row.namespace,
        issuer=row.issuer,
        repository=row.repository,
        workflow=row.workflow,
        environment=row.environment,
        scopes=tuple(row.scopes.split()),
        created=row.created,
        owner=row.owner,
    )
