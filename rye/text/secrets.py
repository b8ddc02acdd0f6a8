"""Find secrets in text that is about to become public: private keys, access tokens, `.env` assignments.

A registry keeps everything permanently, so a leaked secret cannot be recalled. Both sides check: ``rye publish`` before it sends
anything, the server before it serves anything. Only patterns that are almost never anything else are errors; a word such as
``password`` in prose is not. Documentation uses placeholders, so an obvious placeholder (``<token>``, ``xxxx``, ``${TOKEN}``,
``EXAMPLE``) is not a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_PATTERNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # description; strings, one of which is in every match; the pattern
    ("a private key", ("-----BEGIN ",), r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"),
    (
        "a signed-note private key",
        ("PRIVATE+KEY+",),
        r"\bPRIVATE\+KEY\+[^\s+]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{20,}",
    ),
    ("a PuTTY private key", ("PuTTY-User-Key-File-",), r"\bPuTTY-User-Key-File-[23]:"),
    ("an age secret key", ("AGE-SECRET-KEY-1",), r"\bAGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("a Rye upload token", ("rye_",), r"\brye_[0-9a-f]{16}_[A-Za-z0-9_-]{43}"),
    (
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})",
    ),
    (
        "a GitLab token",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"),
        r"\bgl(?:pat|dt|rt|ptt|cbt|soat)-[A-Za-z0-9_-]{20,}",
    ),
    ("an AWS access key id", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("a Slack token", ("xox",), r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}"),
    (
        "a Slack webhook",
        ("https://hooks.slack.com/",),
        r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}",
    ),
    (
        "an API key of a language model service",
        ("sk-",),
        r"\bsk-(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{32,}",
    ),
    ("a Google API key", ("AIza",), r"\bAIza[A-Za-z0-9_-]{35}"),
    ("a Stripe secret key", ("sk_live_", "rk_live_"), r"\b[rs]k_live_[A-Za-z0-9]{20,}"),
    ("an npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}"),
    ("a PyPI token", ("pypi-AgE",), r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    ("a SendGrid key", ("SG.",), r"\bSG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{40,}"),
    ("a Hugging Face token", ("hf_",), r"\bhf_[A-Za-z0-9]{34,}"),
    (
        "a signed web token",
        (".eyJ",),
        r"\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{20,}",
    ),
    (
        "a password inside an address",
        ("://",),
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@<>{}\"'`$]{1,100}:(?P<value>[^\s/:@<>\"'`]{6,200})@",
    ),
)
#: A line of a `.env` file: an upper-case name that suggests a secret, `=`, an opaque value, and nothing else.
_ASSIGNMENT = (
    r"(?:export )?(?:[A-Z][A-Z0-9_]{0,60}_)?(?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY|CREDENTIALS?)"
    r"(?:_[A-Z0-9_]{1,40})?=(?P<quote>[\"']?)(?P<value>[^\s\"']{8,400})(?P=quote)"
)
_ASSIGNED = ("SECRET", "TOKEN", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "PRIVATE", "ACCESS", "CREDENTIAL")
"""Strings, one of which is in every such line."""
_PLACEHOLDER = r"(?i)[<>{}$]|\.\.\.|x{4,}|\*{3,}|example|placeholder|change_?me|changeit|your[_-]|dummy|redacted|0{6,}"
#: Applies only to values without a recognizable form: text with a token's prefix and length is a token, whatever its digits.
_PLAIN_VALUE = r"(?i)1234567|pass(?:word)?$|secret$"
_LONGEST_LINE = 20_000
"""Lines are searched in overlapping pieces of this length, so that the cost stays linear in their length."""
_OVERLAP = 1_000
_LONGEST_ASSIGNMENT = 600


#: How compressed files begin: fonts, pictures, archives. A secret inside one is not legible as it is.
_PACKED = (
    b"\x00\x01\x00\x00", b"OTTO", b"ttcf", b"true", b"wOFF", b"wOF2",
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF",
    b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf",
)  # fmt: skip


def secrets_in_file(data: bytes) -> list[tuple[int, str]]:
    """Like :func:`find_secrets`, for the bytes of any file.

    Bytes that are not UTF-8 are searched as they are, so a token in the middle of a binary file is found as well. Fonts,
    pictures and archives contain no legible text and are skipped.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        if data.startswith(_PACKED):
            return []
        text = data.decode("latin-1")
    return find_secrets(text)


def find_secrets(text: str) -> list[tuple[int, str]]:
    """Return every secret in ``text`` as ``(line from 1, description)``, in order, each kind once per line, never the secret.

    A pattern is searched only in lines that contain a string it needs, so the other lines cost almost nothing.
    """
    seen: dict[tuple[int, str], None] = {}
    for what, needed, pattern in _PATTERNS:
        for start, end in _lines_with(text, needed):
            if any(_holds(_compiled(pattern), piece) for piece in _pieces(text, start, end)):
                seen[start, what] = None
    if "=" in text:
        for start, end in _lines_with(text, _ASSIGNED):
            if end - start < _LONGEST_ASSIGNMENT and _assigns(text[start:end]):
                seen[start, "an assignment of a secret, as in a .env file"] = None
    order = {what: number for number, (what, _, _) in enumerate(_PATTERNS)}
    found = sorted(seen, key=lambda entry: (entry[0], order.get(entry[1], len(order))))
    numbers: list[tuple[int, str]] = []
    line, counted = 1, 0
    for start, what in found:
        line += text.count("\n", counted, start)
        counted = start
        numbers.append((line, what))
    return numbers


def _lines_with(text: str, needed: tuple[str, ...]) -> list[tuple[int, int]]:
    """Start and end of each line that contains one of these strings."""
    lines: dict[int, int] = {}
    for one in needed:
        at = text.find(one)
        while at >= 0:
            start = text.rfind("\n", 0, at) + 1
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            lines[start] = end
            at = text.find(one, end)
    return list(lines.items())


def _pieces(text: str, start: int, end: int) -> Iterator[str]:
    for first in range(start, max(end, start + 1), _LONGEST_LINE):
        yield text[first : min(first + _LONGEST_LINE + _OVERLAP, end)]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)  # in binary data, \b must not depend on non-ASCII letters


def _holds(pattern: re.Pattern[str], piece: str) -> bool:
    """Whether the piece contains a match that is not a placeholder."""
    for match in pattern.finditer(piece):
        value = match.groupdict().get("value")
        if not (_compiled(_PLACEHOLDER).search(match.group()) if value is None else _is_placeholder(value)):
            return True
    return False


def _assigns(line: str) -> bool:
    if "=" not in line:
        return False
    assignment = _compiled(_ASSIGNMENT).fullmatch(line.strip())
    return assignment is not None and not _is_placeholder(assignment["value"])


def _is_placeholder(value: str) -> bool:
    return bool(_compiled(_PLACEHOLDER).search(value) or _compiled(_PLAIN_VALUE).search(value))


def is_secret_file(path: str) -> bool:
    """Whether a file's name alone says that it contains secrets (`.env`, private keys). Such files are never attached."""
    name = path.rpartition("/")[2].lower()
    return (
        name == ".env"
        or (name.startswith(".env.") and name not in {".env.example", ".env.sample", ".env.template"})
        or name.endswith((".env", ".p12", ".pfx", ".key", ".ppk", ".jks", ".keystore"))
        or name in {"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".npmrc", ".pypirc", "credentials.json"}
    )
