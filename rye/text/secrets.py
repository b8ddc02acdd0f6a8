"""Find secrets in text that is about to become public: private keys, access tokens, assignments, passwords in addresses.

A registry keeps everything permanently, so a leaked secret cannot be recalled. Both sides check: ``rye publish`` before it sends
anything, the server before it serves anything. Only what is almost never anything else is an error: a form that one service uses,
or a value that a machine drew (:mod:`rye.text.randomness`) where a secret belongs. A placeholder (``<token>``, ``xxxx``,
``${TOKEN}``, ``password123``, ``api-key-here``) is not a secret, nor is the first line of a key without the key.

A line that contains ``rye:allow-secret REASON`` declares that what looks like a secret in it is none. Such a declaration is not
hidden: :func:`declared_secrets` lists it, and it becomes a fact that whoever installs the item sees.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from rye.text.randomness import is_drawn, residue

_KEY: Final = "a private key"
_NOTE_KEY: Final = "a signed-note private key"
_ADDRESS: Final = "a password inside an address"
_WEB_TOKEN: Final = "a signed web token"
_MODEL_KEY: Final = "an API key of a language model service"
_ASSIGNS: Final = "an assignment of a secret, as in a .env file"
_PATTERNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # description; strings, one of which is in every match; the pattern
    (_KEY, ("-----BEGIN ",), r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"),
    (
        _NOTE_KEY,
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
    ("a Slack token", ("xox",), r"\bxox[abeoprs]-(?P<drawn>[A-Za-z0-9-]{20,})"),
    (
        "a Slack webhook",
        ("https://hooks.slack.com/",),
        r"https://hooks\.slack\.com/(?:services|workflows)/(?P<drawn>[A-Za-z0-9/_-]{20,})",
    ),
    (
        _MODEL_KEY,
        ("sk-",),
        r"\bsk-(?:ant-|proj-|or-|svcacct-)?(?P<drawn>[A-Za-z0-9_-]{32,})",
    ),
    ("a Google API key", ("AIza",), r"\bAIza[A-Za-z0-9_-]{35}"),
    ("a Stripe secret key", ("sk_live_", "rk_live_"), r"\b[rs]k_live_[A-Za-z0-9]{20,}"),
    ("an npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}"),
    ("a PyPI token", ("pypi-AgE",), r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    ("a SendGrid key", ("SG.",), r"\bSG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{40,}"),
    ("a Hugging Face token", ("hf_",), r"\bhf_[A-Za-z0-9]{34,}"),
    (
        _WEB_TOKEN,
        (".eyJ",),
        r"\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.(?P<drawn>[A-Za-z0-9_-]{20,})",
    ),
    (
        _ADDRESS,
        ("://",),
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@<>{}\"'`$]{1,100}:(?P<value>[^\s/:@<>\"'`]{6,200})@(?P<host>[^\s/:?#\"'`<>]{0,255})",
    ),
)
#: A line of a `.env` file: an upper-case name that suggests a secret, `=`, an opaque value, and nothing else.
_ASSIGNMENT = (
    r"(?:export )?(?:[A-Z][A-Z0-9_]{0,60}_)?(?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY|CREDENTIALS?)"
    r"(?:_[A-Z0-9_]{1,40})?=(?P<quote>[\"']?)(?P<value>[^\s\"']{8,400})(?P=quote)"
)
_PLACEHOLDER = r"(?i)[<>{}$]|\.\.\.|x{4,}|\*{3,}|example|placeholder|change_?me|changeit|your[_-]|dummy|redacted|0{6,}"
#: A quoted value after a name that suggests a secret, in a program or a configuration: ``"api_key": "…"``, ``token = '…'``.
_QUOTED = (
    r"(?i)\b[\w.-]{0,40}(?:secret|token|passwd|password|api[_-]?key|private[_-]?key|access[_-]?key|credential)[\w-]{0,20}[\"']?"
    r"\s{0,8}(?:=>|:=|[:=])\s{0,8}[\"'`](?P<value>[A-Za-z0-9+/=_.~-]{20,200})[\"'`]"
)
#: The same with a shorter value, which is only looked for where the line itself says that it has no secret.
_QUOTED_SHORT: Final = _QUOTED.replace("{20,200}", "{8,200}")
_QUOTED_NEEDS: Final = ("secret", "token", "passw", "key", "credential")
_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_QUOTED_LEAST: Final = 16
#: What a published example of a token ends in.
_PUBLISHED: Final = frozenset(("SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",))
#: What follows the first line of a private key: headers, and then its text, on lines or with written line breaks.
_BODY = (
    r"(?:[\s\"'`+,\\>#*|-]|\\[nr]){0,60}"
    r"(?:[A-Z][A-Za-z-]{2,30}: [^\n\\]{0,200}(?:\s|\\[nr]){1,40}){0,8}(?P<body>[A-Za-z0-9+/]{40,2000})"
)
_BODY_CHARACTERS: Final = 4_000
_DRAWN: Final = 12
"""Letters and digits without order that a token needs whose form alone is not enough."""
_KEY_DRAWN: Final = 20
_PASSWORD: Final = 8
_OWN_HOSTS = (
    r"(?i)(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|host|hostname|server|db|"
    r"[\w.-]*\bexample(?:\.\w+)?|[\w.-]+\.(?:test|invalid|local))?"
)
#: The declaration that a line has no secret, and the reason.
_ALLOWED = re.compile(r"rye:allow-secret(?![\w-])[ \t:]*(?P<reason>[^\n]{0,400})")
_REASON_ENDS: Final = " \t\r\"'`|,;)}]#"
#: A reason ends with its comment or its string.
_REASON_END = r"-->|\*/|%>|[\"`]"
_REASON_CHARACTERS: Final = 200
_WORD_IN_REASON = re.compile(r"[^\W\d_]{3,}")
_NO_REASON: Final = " (its rye:allow-secret gives no reason)"
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


class DeclaredSecret(NamedTuple):
    """What looks like a secret, in a line that says why it is none."""

    line: int
    """The line, from 1."""
    what: str
    """What it looks like, never the value."""
    reason: str
    """The publisher's reason: one line, at most 200 characters."""


def find_secrets(text: str) -> list[tuple[int, str]]:
    """Return every secret in ``text`` as ``(line from 1, description)``, in order, each kind once per line, never the secret.

    What a line declares with ``rye:allow-secret REASON`` is left out; without a reason it is listed, and the description says so.
    A pattern is searched only in lines that contain a string it needs, so the other lines cost almost nothing.
    """
    return [(line, what) for line, what, reason in _findings(text) if not reason]


def declared_secrets(text: str) -> list[DeclaredSecret]:
    """Return what lines with ``rye:allow-secret REASON`` declare, in order. A declaration over nothing is left out."""
    if "rye:allow-secret" not in text:
        return []
    return [DeclaredSecret(line, what, reason) for line, what, reason in _findings(text) if reason]


def _findings(text: str) -> list[tuple[int, str, str]]:
    """Line from 1, description, and the reason of a declaration, empty without one."""
    seen: dict[tuple[int, str], int] = {}
    for what, needed, pattern in _PATTERNS:
        for start, end in _lines_with(text, needed):
            if any(_holds(what, _compiled(pattern), piece, text, at) for piece, at in _pieces(text, start, end)):
                seen[start, what] = end
    lowered = text.translate(_LOWER) if "=" in text or ":" in text else ""
    known = {start for start, _ in seen}
    for start, end in _lines_with(lowered, _QUOTED_NEEDS):
        if start not in known and end - start < _LONGEST_ASSIGNMENT and _assigns(text[start:end]):
            seen[start, _ASSIGNS] = end
    order = {what: number for number, (what, _, _) in enumerate(_PATTERNS)}
    found = sorted(seen, key=lambda entry: (entry[0], order.get(entry[1], len(order))))
    numbers: list[tuple[int, str, str]] = []
    line, counted = 1, 0
    for start, what in found:
        line += text.count("\n", counted, start)
        counted = start
        allowed = _ALLOWED.search(text, start, seen[start, what])
        reason = _reason(allowed["reason"]) if allowed is not None else ""
        numbers.append((line, f"{what}{_NO_REASON}" if allowed is not None and not reason else what, reason))
    return numbers


def _reason(written: str) -> str:
    """A reason without the end of the comment that it stands in; empty if it has no word."""
    reason = _compiled(_REASON_END).split(written, maxsplit=1)[0].strip(_REASON_ENDS)[:_REASON_CHARACTERS]
    words = ("…" if is_drawn(word, least=_DRAWN) else word for word in reason.split(" "))
    printable = "".join(character if character.isprintable() else " " for character in " ".join(words))
    return printable if _WORD_IN_REASON.search(printable) else ""


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


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[str, int]]:
    """Overlapping pieces of a line, each with its offset."""
    for first in range(start, max(end, start + 1), _LONGEST_LINE):
        yield text[first : min(first + _LONGEST_LINE + _OVERLAP, end)], first


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)  # in binary data, \b must not depend on non-ASCII letters


def _holds(what: str, pattern: re.Pattern[str], piece: str, text: str, offset: int) -> bool:
    """Whether the piece, which begins at ``offset`` of the text, contains a match that is not a placeholder."""
    for match in pattern.finditer(piece):
        groups = match.groupdict()
        if what == _ADDRESS:
            if _is_password(match["value"], match["host"]):
                return True
        elif _compiled(_PLACEHOLDER).search(match.group()):
            continue
        elif what == _KEY:
            if _has_body(text, offset + match.end()):
                return True
        elif "drawn" not in groups or (groups["drawn"] not in _PUBLISHED and is_drawn(groups["drawn"], least=_DRAWN)):
            return True
    return False


def _has_body(text: str, end: int) -> bool:
    """Whether a key follows its first line, which may say something after its dashes, such as that the key is allowed."""
    next_line = text.find("\n", end)
    return any(
        (body := _compiled(_BODY).match(text, start, start + _BODY_CHARACTERS)) is not None
        and is_drawn(body["body"], least=_KEY_DRAWN)
        for start in (end, next_line)
        if start >= 0
    )


def _is_password(value: str, host: str) -> bool:
    """Whether the password of an address is one. At a host of one's own only a drawn one is."""
    if _compiled(_PLACEHOLDER).search(value):
        return False
    if is_drawn(value):
        return True
    left = residue(value, spoken=False)
    return left.classes > 1 and len(left.text) >= _PASSWORD and not _compiled(_OWN_HOSTS).fullmatch(host)


def _assigns(line: str) -> bool:
    """Whether the line assigns a drawn value to a name that suggests a secret, as in a ``.env`` file or in quotes."""
    assignment = _compiled(_ASSIGNMENT).match(line.strip())
    if assignment is not None and _is_drawn_value(assignment["value"], 8):
        rest = line.strip()[assignment.end() :].strip()
        if not rest or rest.startswith("#") or _ALLOWED.search(rest):
            return True
    if any(_is_drawn_value(match["value"], _QUOTED_LEAST) for match in _compiled(_QUOTED).finditer(line)):
        return True
    if _ALLOWED.search(line) is None:
        return False
    return any(_is_drawn_value(match["value"], _PASSWORD) for match in _compiled(_QUOTED_SHORT).finditer(line))


def _is_drawn_value(value: str, least: int) -> bool:
    """Whether an assigned value is drawn and no placeholder."""
    return not _compiled(_PLACEHOLDER).search(value) and is_drawn(value, least=least)


def is_secret_file(path: str) -> bool:
    """Whether a file's name alone says that it contains secrets (`.env`, private keys). Such files are never attached."""
    name = path.rpartition("/")[2].lower()
    return (
        name == ".env"
        or (name.startswith(".env.") and name not in {".env.example", ".env.sample", ".env.template"})
        or name.endswith((".env", ".p12", ".pfx", ".key", ".ppk", ".jks", ".keystore"))
        or name in {"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".npmrc", ".pypirc", "credentials.json"}
    )
