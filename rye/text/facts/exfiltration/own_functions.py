"""How one program names its connections, and which of its own functions send or read what they are given."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from rye.text.facts.calls import window_of
from rye.text.facts.calls.following import DEFINITION, NAME, NAMES, defined

_MAKERS: Final = (
    r"(?:requests\.[sS]ession|httpx\.(?:Async)?Client|(?:aiohttp\.)?ClientSession|axios\.create|(?:urllib3\.)?PoolManager|"
    r"(?:http\.client\.)?HTTPS?Connection|smtplib\.\w{4,10}|(?:socket\.)?(?:socket|create_connection)|(?:ftplib\.)?FTP(?:_TLS)?|"
    r"(?:paramiko\.)?SFTPClient\.from_transport|\w{1,40}\.open_sftp|boto3\.(?:client|resource)|(?:storage\.)?Client|"
    r"https?\.request|net\.(?:connect|createConnection|Socket)|tls\.connect|WebSocket|websockets?\.(?:connect|create_connection)|"
    r"nodemailer\.createTransport|Octokit|S3Client|BlobServiceClient\.\w{1,40}|got\.extend|ky\.create|superagent\.agent|"
    r"(?:System\.Net\.)?(?:WebClient|HttpClient)|http\.NewRequest\w{0,12}|(?:telegram\.|telebot\.|new\s)?(?:TeleBot|TelegramBot|Bot)|Github)"
)
_CONNECTIONS = re.compile(
    rf"(?<![\w$.])(?:self\.|this\.)?(?P<name>{NAME})(?:\s?:\s?[\w.\[\]]{{1,40}})?\s{{0,4}}:?=\s{{0,4}}(?:await\s)?(?:new\s)?{_MAKERS}\s?\(|"
    rf"(?<![\w.]){_MAKERS}\([^\n]{{0,200}}\)\s+as\s+(?P<opened>{NAME})"
)
_MAKER_MARKS: Final = (
    *(
        "ession(",
        "Client",
        "axios.create",
        "PoolManager(",
        "Connection",
        "smtplib.",
        "socket",
        "FTP",
        "open_sftp",
        "boto3",
    ),
    *(
        "http.request(",
        "https.request(",
        "net.",
        "tls.connect(",
        "WebSocket(",
        "createTransport(",
        "Octokit(",
        "got.extend(",
    ),
    *("ky.create(", "superagent.agent(", "NewRequest", "Bot(", "Github("),
)
_METHODS: Final = (
    r"\.(?:post|put|patch|request|get|send\w{0,12}|write|putheader|end|emit|publish|stor(?:binary|lines)|upload\w{0,20}|put_object|putfo|"
    r"create_\w{2,20}|chat_postMessage|files_upload\w{0,4}|[dD]o|PostAsync|SendAsync|PutAsync)\("
)
_MOST_NAMES: Final = 16
_MOST_DEFINITIONS: Final = 128
_MOST_CALLS: Final = 16
_BODY: Final = 1_500
"""How many characters of a function are looked at."""
_ROUNDS: Final = 2
"""A function that hands its parameter on to one that sends it sends it as well; so often."""
_IGNORED: Final = frozenset(
    ("", "self", "cls", "this", "url", "headers", "params", "path", "timeout", "method", "host", "port")
)
_TAKES_PATH: Final = frozenset(("", "self", "cls", "this"))


def connections_in(text: str) -> re.Pattern[str] | None:
    """Calls that send something by a connection which this program opened under a name of its own."""
    if not any(mark in text for mark in _MAKER_MARKS):
        return None
    names = {match["name"] or match["opened"] for match in islice(_CONNECTIONS.finditer(text), _MOST_NAMES)}
    if not names:
        return None
    return re.compile(rf"(?<![\w$.])(?:self\.|this\.)?(?:{'|'.join(map(re.escape, sorted(names)))}){_METHODS}")


def functions_that_send(text: str, sends: Sequence[re.Match[str]], headers: re.Pattern[str]) -> list[re.Match[str]]:
    """The calls of the program's own functions which send one of their parameters. ``headers``: what is not sent of a call."""
    return _calls_of_own(text, sends, lambda match: headers.sub("", window_of(text, match.end())), _IGNORED)


def functions_that_read(text: str, reads: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """The calls of the program's own functions which read the file that one of their parameters names."""

    def given(match: re.Match[str]) -> str:
        return text[max(0, match.start() - 60) : match.start()].rpartition("\n")[2] + window_of(text, match.end())[:300]

    return _calls_of_own(text, reads, given, _TAKES_PATH)


def _calls_of_own(
    text: str, calls: Sequence[re.Match[str]], given: Callable[[re.Match[str]], str], ignored: frozenset[str]
) -> list[re.Match[str]]:
    """The calls of functions that hand one of their parameters to one of ``calls``. ``given``: what a call is given."""
    definitions = list(islice(DEFINITION.finditer(text), _MOST_DEFINITIONS)) if calls else []
    own_calls: list[re.Match[str]] = []
    known = sorted(calls, key=re.Match.start)
    names: set[str] = set()
    for _ in range(_ROUNDS if definitions else 0):
        offsets = [call.start() for call in known]
        new: set[str] = set()
        for at, match in enumerate(definitions):
            name, parameters = defined(match)
            taken = set(parameters) - ignored
            if name in names or not taken or len(names) + len(new) >= _MOST_NAMES:
                continue
            end = min(match.end() + _BODY, _end_of(text, definitions, at))
            taken |= _made_of(text[match.end() : end], taken)
            first = bisect_left(offsets, match.end())
            for call in known[first : first + _MOST_CALLS]:
                if call.start() >= end:
                    break
                if not taken.isdisjoint(NAMES.findall(given(call))):
                    new.add(name)
                    break
        if not new:
            break
        names |= new
        pattern = re.compile(
            rf"(?<![\w$])(?<!def )(?<!function )(?:self\.|this\.|await\s)?(?:{'|'.join(map(re.escape, sorted(new)))})\("
        )
        more = list(pattern.finditer(text))
        own_calls += more
        known = sorted((*known, *more), key=re.Match.start)
    return own_calls


def _made_of(body: str, names: set[str]) -> set[str]:
    """The names that a function makes of its parameters."""
    made_names: set[str] = set()
    for raw in body.split("\n"):
        made = _MADE.match(raw)
        if made is not None and not (names | made_names).isdisjoint(NAMES.findall(made[3])):
            made_names.add(made[1] or made[2])
    return made_names


_MADE = re.compile(
    r"[ \t]*(?:(?:const|let|var)\s+)?(?:for\s+\(?(?:const\s+|let\s+)?(\w{1,60})\s+(?:in|of)\s|(\w{1,60})\s?=(?!=))(.{1,300})"
)


def _end_of(text: str, definitions: Sequence[re.Match[str]], at: int) -> int:
    """Where the next function begins that is not inside of this one."""
    indent = _indent(text, definitions[at].start())
    for other in definitions[at + 1 :]:
        if _indent(text, other.start()) <= indent:
            return other.start()
    return len(text)


def _indent(text: str, offset: int) -> int:
    line = text[text.rfind("\n", 0, offset) + 1 : offset + 1]
    return len(line) - len(line.lstrip())
