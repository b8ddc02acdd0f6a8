"""Bearer tokens of `rye mcp serve --http`: who a request speaks for, in a project, until when.

::

    rye1.<base64url of JSON {"as","version","sha256","project","id","expires"}>.<base64url of HMAC-SHA256>

The key is 32 random bytes in the user's data folder and never leaves it. A token is bound to the directive's exact bytes and
to the project's folder: with another version, another project or a changed byte it is worth nothing. Reading is strict:
canonical base64, known keys, no other form.
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
from rye.project.layout import Project
from rye.storage.folders import data_dir
from rye.storage.private_files import Exposed, make_folder, read_trusted, write_new

_PREFIX = "rye1."
_KEY_BYTES = 32
_FOLDER, _KEY = "mcp", "token-key"
_TTL = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Grant(Struct, frozen=True, forbid_unknown_fields=True):
    """What a token says."""

    directive: str = msgspec.field(name="as")
    """The whole id."""
    version: str | None
    sha256: str
    """Of the effective text: a token for other bytes is void."""
    project: str
    id: str
    """Names the token; each has a run of its own."""
    expires: int
    """Seconds since 1970."""


class TokenRefused(RyeError):
    """A token that gives nothing. Codes: ``token-expired``, ``token-refused``."""


def parse_ttl(text: str) -> timedelta:
    """``8h``, ``30m``, ``1d``. Raises UsageError ``bad-ttl``."""
    found = _TTL.fullmatch(text)
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < seconds <= RUNTIME.token_seconds:
        days = RUNTIME.token_seconds // 86400
        raise UsageError("bad-ttl", f"{text!r} is not a life of a token.", f"Write 30m, 8h or 1d; at most {days}d.")
    return timedelta(seconds=seconds)


def project_mark(project: Project) -> str:
    """What names a project in its tokens: a hash of its real place."""
    return hashlib.sha256(os.path.realpath(project.root).encode()).hexdigest()[:32]


def token_key() -> bytes:
    """The user's key, made at first use. Raises RyeError ``token-key``."""
    place = _place()
    try:
        make_folder(place.parent)
        if not os.path.lexists(place):
            _make_key(place)
        key = bytes.fromhex(read_trusted(place).decode("ascii"))
    except Exposed as error:
        raise RyeError("token-key", f"{error}.", f"`{error.fix}`, or remove it: then all tokens are void.") from error
    except (OSError, ValueError) as error:
        raise RyeError(
            "token-key", f"{place} cannot be used: {error}.", "Remove it: then all tokens are void."
        ) from error
    if len(key) != _KEY_BYTES:
        raise RyeError("token-key", f"{place} holds no key.", "Remove it: then all tokens are void.")
    return key


def _make_key(place: Path) -> None:
    """Whole or not at all; another program that was faster wins."""
    temporary = place.with_name(f".{place.name}.{os.urandom(8).hex()}")
    write_new(temporary, secrets.token_hex(_KEY_BYTES))
    try:
        with contextlib.suppress(FileExistsError):
            os.link(temporary, place)
    finally:
        temporary.unlink()


def _place() -> Path:
    return data_dir() / _FOLDER / _KEY


def issue(
    key: bytes, project: Project, directive: str, version: str | None, sha256: str, now: datetime, ttl: timedelta
) -> str:
    """A token for a directive's exact bytes."""
    grant = Grant(directive, version, sha256, project_mark(project), secrets.token_hex(8), int((now + ttl).timestamp()))
    payload = msgspec.json.encode(grant)
    return f"{_PREFIX}{_encoded(payload)}.{_encoded(_mac(key, payload))}"


def read_token(key: bytes, project: Project, token: str, now: datetime) -> Grant:
    """What a token says, once it is true. Raises TokenRefused."""
    refused = TokenRefused(
        "token-refused", "The token is not one of this server's.", "`rye mcp token --as ID` makes one."
    )
    if len(token) > RUNTIME.token_characters or not token.startswith(_PREFIX):
        raise refused
    payload_text, dot, mac_text = token.removeprefix(_PREFIX).partition(".")
    payload, mac = _decoded(payload_text), _decoded(mac_text)
    if not dot or payload is None or mac is None or not hmac.compare_digest(_mac(key, payload), mac):
        raise refused
    try:
        grant = msgspec.json.decode(payload, type=Grant)
    except msgspec.MsgspecError:
        raise refused from None
    if grant.project != project_mark(project):
        raise TokenRefused("token-refused", "The token is for another project.", "Make one in this project.")
    if now.timestamp() >= grant.expires:
        raise TokenRefused(
            "token-expired", "The token has expired.", f"`rye mcp token --as {grant.directive}` makes one."
        )
    return grant


def _mac(key: bytes, payload: bytes) -> bytes:
    return hmac.new(key, b"rye mcp token v1\n" + payload, hashlib.sha256).digest()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes | None:
    """The bytes of base64url without padding, in its one spelling; None for anything else."""
    if not text.isascii():
        return None
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if _encoded(data) == text else None
