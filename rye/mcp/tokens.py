"""Bearer tokens for `rye mcp serve --http`: which directive a request acts as, in which project, until when.

::

    rye1.<base64url of JSON {"as","version","sha256","project","id","expires"}>.<base64url of HMAC-SHA256>

The key is 32 random bytes in the user's data folder and never leaves it. A token is bound to the directive's exact bytes and
to the project's folder: it is invalid for another version, another project, or changed bytes. Parsing is strict: canonical
base64 and known fields only.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import os
import re
import secrets
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.limits import RUNTIME
from rye.project.context import require_project
from rye.project.layout import Project
from rye.runtime.event_log import timestamp
from rye.runtime.opening import read_directive
from rye.runtime.project_items import ProjectItems
from rye.storage.home import Home
from rye.storage.private_files import Exposed, make_folder, read_secret, write_new
from rye.text.json_reading import UNDECODABLE
from rye.workspace.context import Context

_PREFIX = "rye1."
_KEY_BYTES = 32
_FOLDER, _KEY = "mcp", "token-key"
_TTL = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DELETE_KEY = "Delete the file, which invalidates all tokens."


class Grant(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The content of a token."""

    directive: str = msgspec.field(name="as")
    """The full id of the directive."""
    version: str | None
    sha256: str
    """The hash of the effective text; the token is invalid for any other."""
    project: str
    """The project's :func:`project_mark`."""
    id: str
    """Identifies the token; each token has a separate run."""
    expires: int
    """Seconds since 1970."""
    may_approve: bool = msgspec.field(name="may-approve", default=False)
    """Whether the holder's client may answer for a person. Left out where false, as in tokens of earlier versions."""


class TokenRefused(RyeError):
    """The token is not accepted. Codes: ``token-expired``, ``token-refused``."""


def parse_ttl(text: str) -> timedelta:
    """Parse a lifetime such as ``8h``, ``30m`` or ``1d``. Raises UsageError ``bad-argument``."""
    found = _TTL.fullmatch(text)
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < seconds <= RUNTIME.token_seconds:
        days = RUNTIME.token_seconds // 86400
        raise UsageError(
            "bad-argument",
            f"{text!r} is not a valid lifetime.",
            f"Use 30m, 8h or 1d; at most {days}d.",
            what="lifetime",
        )
    return timedelta(seconds=seconds)


def project_mark(project: Project) -> str:
    """Return the identifier of a project in its tokens: a hash of its real path."""
    return hashlib.sha256(os.path.realpath(project.root).encode()).hexdigest()[:32]


def token_key(home: Home) -> bytes:
    """Return the user's key, and create it on first use. Raises RyeError ``token-key``."""
    place = home.data / _FOLDER / _KEY
    try:
        make_folder(place.parent)
        if not os.path.lexists(place):
            _make_key(place)
        key = bytes.fromhex(read_secret(place).decode("ascii"))
    except Exposed as error:
        hint = f"Run `{error.fix}`, or delete it, which invalidates all tokens."
        raise RyeError("token-key", f"{error}.", hint) from error
    except (OSError, ValueError) as error:
        raise RyeError("token-key", f"{place} cannot be used: {error}.", _DELETE_KEY) from error
    if len(key) != _KEY_BYTES:
        raise RyeError("token-key", f"{place} does not contain a key.", _DELETE_KEY)
    return key


def _make_key(place: Path) -> None:
    """Create the key atomically; if another program creates it first, that key stays."""
    temporary = place.with_name(f".{place.name}.{os.urandom(8).hex()}")
    write_new(temporary, secrets.token_hex(_KEY_BYTES))
    try:
        with contextlib.suppress(FileExistsError):
            os.link(temporary, place)
    finally:
        temporary.unlink()


def issue(
    key: bytes,
    project: Project,
    directive: str,
    version: str | None,
    sha256: str,
    now: datetime,
    ttl: timedelta,
    *,
    may_approve: bool = False,
) -> str:
    """Return a token for a directive's exact bytes. ``may_approve``: whether its holder may answer for a person."""
    expires = int((now + ttl).timestamp())
    grant = Grant(
        directive=directive,
        version=version,
        sha256=sha256,
        project=project_mark(project),
        id=secrets.token_hex(8),
        expires=expires,
        may_approve=may_approve,
    )
    payload = msgspec.json.encode(grant)
    return f"{_PREFIX}{_encoded(payload)}.{_encoded(_mac(key, payload))}"


def read_token(key: bytes, project: Project, token: str, now: datetime) -> Grant:
    """Verify a token and return its content. Raises TokenRefused."""
    refused = TokenRefused(
        "token-refused", "The token is not valid for this server.", "Create one with `rye mcp token --as ID`."
    )
    if len(token) > RUNTIME.token_characters or not token.startswith(_PREFIX):
        raise refused
    payload_text, dot, mac_text = token.removeprefix(_PREFIX).partition(".")
    payload, mac = _decoded(payload_text), _decoded(mac_text)
    if not dot or payload is None or mac is None or not hmac.compare_digest(_mac(key, payload), mac):
        raise refused
    try:
        grant = msgspec.json.decode(payload, type=Grant)
    except UNDECODABLE:
        raise refused from None
    if grant.project != project_mark(project):
        raise TokenRefused("token-refused", "The token is for another project.", "Create one in this project.")
    if now.timestamp() >= grant.expires:
        raise TokenRefused(
            "token-expired", "The token has expired.", f"Create a new one: `rye mcp token --as {grant.directive}`."
        )
    return grant


def _mac(key: bytes, payload: bytes) -> bytes:
    return hmac.new(key, b"rye mcp token v1\n" + payload, hashlib.sha256).digest()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes | None:
    """Decode canonical base64url without padding; None for anything else."""
    if not text.isascii():
        return None
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if _encoded(data) == text else None


class MadeToken(Struct, frozen=True):
    """A new token."""

    token: str
    label: str
    """``directive:ID@VERSION``."""
    expires: str
    """The time at which it expires, in UTC."""


def make_token(context: Context, reference: str, ttl: str, *, may_approve: bool = False) -> MadeToken:
    """Create a token for a directive. ``may_approve``: whether its holder's client may answer for a person.

    Raises RyeError if the directive may not be used, UsageError ``bad-argument``.
    """
    life = parse_ttl(ttl)
    project = require_project(context.cwd)
    item, _ = read_directive(ProjectItems(context, project), reference)
    now = context.now()
    token = issue(
        token_key(context.home), project, item.id, item.version, item.sha256, now, life, may_approve=may_approve
    )
    return MadeToken(token, item.label, timestamp(now + life))
