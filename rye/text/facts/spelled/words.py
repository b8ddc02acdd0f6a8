"""What the forms of :mod:`rye.text.facts.spelled` share: names that matter, and the lines that have a mark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final

from rye.text.facts import decoders, fetchers, interpreters
from rye.text.facts.tables import triggers, word_set

MODULES: Final = (
    r"(?:node:)?(?:os|subprocess|child_process|builtins|importlib(?:\.util)?|runpy|marshal|pickle|types|code|vm|socket|net|tls|"
    r"requests|httpx|urllib3?(?:\.request)?|urllib2|aiohttp|http|https|http\.client|axios|got|node-fetch|undici|needle|superagent|"
    r"base64|binascii|codecs|zlib|gzip|bz2|lzma|worker_threads|module)"
)
"""Modules whose functions fetch, decode or run; without ``node:``."""
PROPERTIES: Final = (
    r"(?:eval|exec|execSync|execFile|execFileSync|spawn|spawnSync|system|popen|Popen|check_output|run|call|Function|constructor|"
    r"compile|get|post|request|fetch|urlopen|atob|b64decode|decompress|loads|child_process|runInThisContext|runInNewContext|"
    r"require|_load|text|content|read|decode)"
)
"""Names of functions and attributes that matter."""
NAME: Final = r"[A-Za-z_$][\w$]{0,60}"
STRING: Final = r"[\"'`][^\"'`\n]{0,80}[\"'`]"
MOST_TABLES: Final = 64
LONGEST: Final = 200
"""How long a value can be that takes the place of its name."""

WORDS = re.compile(r"[\"'`]([^\"'`\n]{0,80})[\"'`]")
_MOST_LINES: Final = 1_024
LINE: Final = 2_000
MOST_VALUES: Final = 256


def named(match: re.Match[str], value: str) -> str:
    """The name that is spelled in another way. Longer text stays: that it is encoded is what matters about it."""
    return f"'{value}'{breaks(match)}" if SPELLED.fullmatch(value) is not None else match[0]


def breaks(match: re.Match[str]) -> str:
    """The line ends of a match, so that what takes its place has as many."""
    return "\n" * match[0].count("\n")


SPELLED = re.compile(
    rf"{PROPERTIES}|{MODULES}|base64_decode|assert|[0-9.]{{7,15}}|https?://[\w.:/-]{{3,60}}|(?:[~.]?[\w-]{{0,20}}/){{1,4}}[\w.-]{{1,40}}|"
    r"urllib|request|curl|wget|(?:ba|z|da|k)?sh|python3?|powershell|pwsh|iex|irm|iwr|Invoke-\w{2,20}|Start-Process|"
    r"\.[a-z]\w{2,20}(?:/\w{2,20}){0,2}|id_\w{2,8}|credentials|Login Data|__\w{3,20}__"
)

HIDDEN: Final = word_set(
    "curl wget bash powershell pwsh certutil bitsadmin mshta regsvr32 rundll32 wscript cscript osascript netcat ncat socat "
    "base64 aria2c "
    "eval exec execsync execfile execfilesync execve execvp popen system subprocess spawnsync child_process builtins "
    "__builtins__ "
    "__import__ __globals__ import_module importlib getattr compile instance_eval class_eval module_eval public_send loadstring "
    "load loadfile dofile iex invoke expression restmethod webrequest irm iwr downloadstring downloadfile frombase64string "
    "shell_exec passthru proc_open create_function base64_decode gzinflate str_rot13 fromcharcode atob b64decode urlopen marshal "
    "runinthiscontext runtime processbuilder getruntime"
)
"""Programs and functions that fetch, decode or run. Nobody has an honest reason to put the name of one together."""
FRAGMENTS: Final = (
    frozenset(
        word[begin:end]
        for word in (*HIDDEN, "sh", "zsh")
        for begin in range(len(word))
        for end in range(begin + 1, len(word) + 1)
        if end - begin < len(word)
    )
    - HIDDEN
    - word_set(
        "sh zsh run time get file import module string process open code from send public class instance base do in on web "
        "request method child builder port 64 sub create char this context function down expression rest spawn sync proc gets "
        "to it is as at or an url text tex pass end global min ins os cat shell"
    )
)
"""The parts of these names."""

INSTALL: Final = word_set("npx uvx bunx pnpx pipx pip pip3 npm pnpm yarn dlx")
"""In a line with one of these, any name can be the one of a package."""
INSTALL_WORDS: Final = triggers(INSTALL)
WORDS_OF_LINE = re.compile(r"[a-z_][a-z0-9_]+")
MATTERS: Final = (
    HIDDEN
    | fetchers.PROGRAMS
    | decoders.PROGRAMS
    | interpreters.SHELLS
    | interpreters.LANGUAGES
    | frozenset(re.findall(r"[a-z_]{3,}", f"{PROPERTIES} {MODULES}".lower()))
    | word_set(
        "http https ftp iex irm iwr icm invoke expression restmethod webrequest command start process npx uvx bunx pnpx "
        "pipx pip npm pnpm yarn "
        "docker install git clone gh kubectl helm cargo go gem brew crontab systemctl launchctl schtasks reg builtins "
        "__builtins__ __import__ "
        "import_module importlib urllib request base64_decode gzinflate assert passthru shell_exec proc_open constructor "
        "function "
        "ssh aws credentials gnupg kube docker netrc npmrc pypirc env id_rsa id_ed25519 id_dsa id_ecdsa login keychain "
        "keychains wallet wallets "
        "gcloud azure bashrc bash_profile profile zshrc zshenv zprofile bash_login config claude codex gemini cursor "
        "agents settings launchagents "
        "launchdaemons systemd autostart hooks memory soul tcp udp environ metadata cookies logins key4 dangerously yolo "
        "skip permissions verify "
        "insecure sudo chmod quarantine rimraf rm bypasspermissions hookspath autoapprove"
    )
) - word_set("at command call run")


def may_matter(value: str) -> bool:
    """Whether a rule looks for a word of the value."""
    return any(word in MATTERS for word in WORDS_OF_LINE.findall(value.lower()))


def lines_with(text: str, marks: Iterable[str]) -> list[int]:
    """The numbers of the lines that have one of these marks, in order; at most ``_MOST_LINES``."""
    places: list[int] = []
    for mark in marks:
        at = text.find(mark)
        while at >= 0 and len(places) < _MOST_LINES:
            places.append(at)
            end = text.find("\n", at)
            at = text.find(mark, end) if end >= 0 else -1
    return lines_of(sorted(places), text)


def lines_of(places: Iterable[int], text: str) -> list[int]:
    """The numbers of the lines of these offsets, which are in order; at most ``_MOST_LINES``."""
    numbers: list[int] = []
    number = last = 0
    for place in islice(places, _MOST_LINES):
        number += text.count("\n", last, place)
        last = place
        if not numbers or numbers[-1] != number:
            numbers.append(number)
    return numbers


def in_lines(text: str, marks: Sequence[str], change: Callable[[str], str]) -> str:
    """The text with the lines changed that have one of these marks."""
    numbers = lines_with(text, marks)
    if not numbers:
        return text
    lines = text.split("\n")
    for number in numbers:
        if len(lines[number]) <= LINE:
            lines[number] = change(lines[number])
    return "\n".join(lines)
