"""Finding secrets in text that is about to become public: private keys, access tokens, `.env` assignments.

A registry keeps what it was given for ever, so a secret that gets in cannot be taken back. Both ends look: ``rye publish`` before
anything is sent, the server before anything is served. Only patterns that are hardly ever something else are
errors; a word such as ``password`` in prose is not. Documentation uses placeholders, so a value that is plainly one
(``<token>``, ``xxxx``, ``${TOKEN}``, ``EXAMPLE``) is not a secret.
"""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

_PATTERNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # what it is; texts of which one is in every match; the pattern
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
#: A line of a `.env` file: an upper-case name that says secret, `=` and an opaque value, and nothing else.
_ASSIGNMENT = (
    r"(?:export )?(?:[A-Z][A-Z0-9_]{0,60}_)?(?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY|CREDENTIALS?)"
    r"(?:_[A-Z0-9_]{1,40})?=(?P<quote>[\"']?)(?P<value>[^\s\"']{8,400})(?P=quote)"
)
_ASSIGNED = ("SECRET", "TOKEN", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "PRIVATE", "ACCESS", "CREDENTIAL")
"""Texts of which one is in every such line."""
_PLACEHOLDER = r"(?i)[<>{}$]|\.\.\.|x{4,}|\*{3,}|example|placeholder|change_?me|changeit|your[_-]|dummy|redacted|0{6,}"
#: What only a value without a form of its own may be: a text with a token's prefix and length is one, whatever digits it has.
_PLAIN_VALUE = r"(?i)1234567|pass(?:word)?$|secret$"
_LONGEST_LINE = 20_000
"""Lines are searched in pieces of this length (they overlap), so that no line costs more than its length."""
_OVERLAP = 1_000


class _Search(Struct, frozen=True):
    """What one text is searched for: what its letters cannot hold is left out, so that most text costs one look for each."""

    patterns: tuple[tuple[str, re.Pattern[str]], ...]
    assignments: bool


def find_secrets(text: str) -> list[tuple[int, str]]:
    """Every secret in ``text``: ``(line from 1, what it is)``, in order, each kind once per line. Never the secret itself."""
    search = _Search(
        tuple((what, _compiled(pattern)) for what, needed, pattern in _PATTERNS if any(one in text for one in needed)),
        "=" in text and any(one in text for one in _ASSIGNED),
    )
    if not search.patterns and not search.assignments:
        return []
    found: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        seen: set[str] = set()
        for start in range(0, max(len(line), 1), _LONGEST_LINE):
            piece = line[start : start + _LONGEST_LINE + _OVERLAP]
            for what in _in_piece(piece, search):
                if what not in seen:
                    seen.add(what)
                    found.append((number, what))
    return found


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _in_piece(line: str, search: _Search) -> list[str]:
    found = []
    for what, pattern in search.patterns:
        for match in pattern.finditer(line):
            value = match.groupdict().get("value")
            if not (_compiled(_PLACEHOLDER).search(match.group()) if value is None else _is_placeholder(value)):
                found.append(what)
                break
    if search.assignments and len(line) < 600 and "=" in line:
        assignment = _compiled(_ASSIGNMENT).fullmatch(line.strip())
        if assignment and not _is_placeholder(assignment["value"]):
            found.append("an assignment of a secret, as in a .env file")
    return found


def _is_placeholder(value: str) -> bool:
    return bool(_compiled(_PLACEHOLDER).search(value) or _compiled(_PLAIN_VALUE).search(value))


def is_secret_file(path: str) -> bool:
    """Whether a file's name alone says that it holds secrets (`.env`, private keys); such files are never attached."""
    name = path.rpartition("/")[2].lower()
    return (
        name == ".env"
        or (name.startswith(".env.") and name not in {".env.example", ".env.sample", ".env.template"})
        or name.endswith((".env", ".p12", ".pfx", ".key", ".ppk", ".jks", ".keystore"))
        or name in {"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".npmrc", ".pypirc", "credentials.json"}
    )
