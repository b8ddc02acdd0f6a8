"""Prepares a call's parameters for the log: removes secrets and shortens long texts.

A value is a secret if its key is named like one, if it contains a value known to be one (an environment variable that is
named like a secret or granted to a tool), or if it has the form of a credential. Redaction only looks at text and promises
no more than that (docs/explanation/security.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache

from rye.limits import RUNTIME

REDACTED = "[redacted]"
_SHORTEST_VALUE = 6
"""Shorter values of environment variables occur in too many texts to search for."""
_NAMES = ("secret", "token", "password", "passwd", "passphrase", "credential", "authorization", "cookie", "privatekey")
_WHOLE_NAMES = frozenset(
    {"key", "auth", "pwd", "pass", "pat", "pin", "otp", "apikey", "accesskey", "sshkey", "signingkey"}
)
_DEPTH = 16


def is_secret_name(name: str) -> bool:
    """Whether a key or variable is named like a secret: ``GITHUB_TOKEN``, ``apiKey``, ``db_password``."""
    folded = re.sub(r"[^a-z0-9]", "", name.lower())
    last = re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())[-1]
    return (
        any(each in folded for each in _NAMES)
        or folded in _WHOLE_NAMES
        or folded.endswith("apikey")
        or last in _WHOLE_NAMES
    )


def known_secrets(environment: Mapping[str, str], granted: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the values of variables that are named like secrets or are ``granted`` to a tool, longest first. The line end that
    a value from a file may have is none of it, since nobody repeats it."""
    names = set(granted)
    found = {
        stripped
        for name, value in environment.items()
        if len(stripped := value.strip()) >= _SHORTEST_VALUE and (name in names or is_secret_name(name))
    }
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def redacted(value: object, secrets: tuple[str, ...] = ()) -> object:
    """Return a JSON value as it may be logged: without secrets, at most :data:`rye.limits.RUNTIME` ``.logged_bytes``."""
    found = _redacted(value, secrets, 0)
    size = len(json.dumps(found).encode())
    return found if size <= RUNTIME.logged_bytes else {"omitted_bytes": size}


def redacted_text(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return a text with its secrets replaced by ``[redacted]``."""
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return _forms().sub(_without_credential, text)


def _redacted(value: object, secrets: tuple[str, ...], depth: int) -> object:
    if depth > _DEPTH:
        return "[nested deeper]"
    if isinstance(value, dict):
        return {
            _cut(redacted_text(str(key), secrets)): REDACTED
            if is_secret_name(str(key)) and inner is not None
            else _redacted(inner, secrets, depth + 1)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_redacted(inner, secrets, depth + 1) for inner in value]
    if isinstance(value, str):
        return _cut(redacted_text(value, secrets))
    if isinstance(value, int) and not isinstance(value, bool) and str(value) in secrets:
        return REDACTED
    return value


def _cut(text: str) -> str:
    most = RUNTIME.logged_characters
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def _without_credential(found: re.Match[str]) -> str:
    """Replace a credential, but keep the parts that are not secret, such as the scheme of a URL."""
    for group in ("scheme", "bearer", "name"):
        if found[group]:
            return f"{found[group]}{REDACTED}{'@' if group == 'scheme' else ''}"
    return REDACTED


@cache
def _forms() -> re.Pattern[str]:
    """Forms of credentials; compiled on first use. Clients write the texts, so nothing that several matches could begin in is
    read by each of them to its end: the time must grow with the length of a text alone."""
    return re.compile(
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----(?:BEGIN|END) ).){0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?"
        r"|(?P<scheme>\b[a-z][a-z0-9+.-]{0,20}://)[^\s/@:]{0,200}:[^\s/@]{1,500}@"
        r"|(?P<bearer>\b(?:bearer|basic)\s{1,4})[A-Za-z0-9._~+/=-]{8,4000}"
        r"|(?P<name>(?:secret|token|passw(?:or)?d|passphrase|api[_-]?key)[A-Za-z0-9_-]{0,20}[\"']?\s{0,3}[:=]\s{0,3}[\"']?)"
        r"[^\s\"',;&]{4,4000}"
        r"|\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}|glpat-[A-Za-z0-9_-]{16,255}"
        r"|sk-[A-Za-z0-9_-]{16,255}|xox[abeoprs]-[A-Za-z0-9-]{10,255}|A(?:KIA|SIA)[A-Z0-9]{16}"
        r"|AIza[A-Za-z0-9_-]{30,60}|npm_[A-Za-z0-9]{30,60}|pypi-[A-Za-z0-9_-]{30,400}"
        r"|(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,4000})",
        re.IGNORECASE | re.DOTALL,
    )
