"""``pipe-to-shell``: something is fetched and run, at once or after it was saved. Without something fetched it is none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rye.text.facts import calls, flow, shell
from rye.text.facts.fact import PIPE_TO_SHELL
from rye.text.facts.flow import Flow, Origin
from rye.text.facts.shell import shown
from rye.text.facts.source import Found, Source
from rye.text.facts.tables import triggers, word_set

#: Programs that fetch what their arguments name.
_FETCHERS: Final = word_set(
    "curl wget curlie xh aria2c axel iwr irm invoke-webrequest invoke-restmethod lwp-request lwp-download "
    "certutil bitsadmin start-bitstransfer tftp nc ncat netcat socat dig nslookup drill rclone"
)
#: Words that are common elsewhere, and fetch only with an address behind them.
_WITH_ADDRESS: Final = word_set(
    "fetch http https get lynx w3m links elinks ftp gsutil s3cmd scp sftp rsync downloadstring downloadfile "
    "downloaddata aws gh webclient httpclient mshta regsvr32 msiexec rundll32 perl php ruby python python3 node "
    "deno bun openssl"
)
_TRIGGERS = triggers(
    (
        _FETCHERS
        | {
            "lynx",
            "w3m",
            "links",
            "elinks",
            "ftp",
            "gsutil",
            "s3cmd",
            "scp",
            "sftp",
            "rsync",
            "mshta",
            "regsvr32",
            "msiexec",
        }
    )
    - {"invoke-webrequest", "invoke-restmethod", "lwp-request", "lwp-download", "start-bitstransfer"}
    | {"downloadstring", "downloadfile", "downloaddata", "webclient", "webrequest", "restmethod", "bitstransfer", "lwp"}
)
#: Words that are everywhere, with the spelling in which they fetch something.
_SPELLINGS: Final = (
    (re.compile(rb"fetch [^\n]{0,60}https?://"), triggers(("fetch",))),
    (re.compile(rb"https?[ \t]+(?:-|get\b|post\b|https?:|[a-z0-9-]+[.:])"), triggers(("http", "https"))),
    (re.compile(rb"get[ \t]+https?:"), triggers(("get",))),
    (re.compile(rb"gh api "), triggers(("gh",))),
    (re.compile(rb"aws s3 "), triggers(("aws",))),
    (
        re.compile(rb"urlopen|file_get_contents|open-uri|requests\.|https?\.get|fetch\("),
        triggers("python python3 node perl php ruby deno bun"),
    ),
    (re.compile(rb"deno run |bun run |deno install "), triggers(("deno", "bun"))),
    (re.compile(rb"s_client"), triggers(("openssl",))),
)
_FETCHING_CODE = re.compile(
    r"urlopen|requests\.(?:get|post)|urllib|httpx\.|fetch\(|https?\.get|axios|file_get_contents|open-uri|"
    r"net/http|LWP|get\(http|"
    r"URI\.open|downloadstring|downloadfile|downloaddata",
    re.IGNORECASE,
)
_EVALUATING = re.compile(r"\b(?:exec|eval|Function|system|instance_eval|runInThisContext)\b", re.IGNORECASE)
_ADDRESS = re.compile(r"[$%/.:{@]|^url$|^localhost$|^address$|^\d{7,10}$", re.IGNORECASE)
_OUTPUT: Final = word_set("-o --output -O --output-document -OutFile -outfile -Destination --out -out")
_QUIET_TOOLS: Final = frozenset(["wget", "wget2", "aria2c", "axel"])
_CURL_REMOTE_NAME = re.compile(r"-[A-Za-z]*O[A-Za-z]*")
_TO_STDOUT = re.compile(r"-[A-Za-z]*O-?")
_REVERSE = re.compile(r"/dev/(?:tcp|udp)/[^\s/]{1,255}/[\w${}]{1,40}")
_NC_RUNS = re.compile(r"-[a-z]*[ec]")


def find(source: Source) -> Iterator[Found]:
    """Every place where something fetched is run."""
    words = _TRIGGERS
    for spelling, more in _SPELLINGS:
        if source.has(more) and spelling.search(source.lowered):
            words |= more
    if source.has(words):
        passed = Flow(source, PIPE_TO_SHELL, words, _fetches)
        yield from passed.run()
        source.saved[PIPE_TO_SHELL] = passed.files
    if source.has(_SELF_RUNNING_WORDS) and "://" in source.text:
        for line in source.logical_lines(_SELF_RUNNING_WORDS):
            for match in _SELF_RUNNING.finditer(line.text):
                yield Found(PIPE_TO_SHELL, shown(match[0]), *source.place(line, match.start(), match[0].split()[0]))
    if source.has(_CONNECTION_WORDS):
        yield from _reverse_shells(source)
    yield from calls.find(source, calls.FETCHED, PIPE_TO_SHELL)


def across(sources: Sequence[Source]) -> Iterator[tuple[Source, Found]]:
    """What one file of the item fetches and another runs."""
    return flow.across(sources, [source.saved.get(PIPE_TO_SHELL, {}) for source in sources], PIPE_TO_SHELL, _fetches)


def _fetches(command: shell.Command, _: str) -> Origin | None:
    words = command.words
    for index, word in enumerate(words):
        name = shell.program(word.text)
        lowered = word.text.lower()
        if (
            "downloadstring" in lowered
            or "downloaddata" in lowered
            or "downloadfile" in lowered
            or "webclient" in lowered
        ):
            inner = [text for child in word.children for part in child.commands for text in part.texts()]
            saves = tuple(part.strip(",)") for part in inner if "://" not in part) if "file" in lowered else ()
            return Origin(f"{_shown(words[index:])} {shown(' '.join(inner))}".rstrip(), 0, 0, saves)
        if name in _FETCHERS:
            arguments = [other.text for other in words[index + 1 :]]
            if not any(_is_argument(other) for other in arguments) and not any(
                other.children for other in words[index + 1 :]
            ):
                continue
            if name == "certutil" and "urlcache" not in " ".join(arguments).lower():
                continue
            return Origin(_shown(words[index:]), 0, 0, _saves(name, arguments))
        if name in _WITH_ADDRESS:
            rest = " ".join(other.text for other in words[index + 1 :])
            if name in ("perl", "php", "ruby", "python", "python3", "node", "deno", "bun"):
                if _FETCHING_CODE.search(rest):
                    return Origin(_shown(words[index:]), 0, 0)
                continue
            if (
                "://" in rest
                or (name in ("scp", "rsync", "sftp") and ":" in rest)
                or (name == "gh" and " api " in f" {rest} ")
            ):
                arguments = rest.split()
                saves = (
                    (arguments[-1],)
                    if name in ("scp", "rsync", "gsutil", "aws", "s3cmd") and arguments[-1] != "-"
                    else ()
                )
                return Origin(_shown(words[index:]), 0, 0, saves or _saves(name, arguments))
    return None


def _is_argument(text: str) -> bool:
    return not text.startswith("-") and _ADDRESS.search(text.strip(".,;:!?")) is not None


def _saves(name: str, arguments: list[str]) -> tuple[str, ...]:
    """The files in which a fetching command puts what it fetches."""
    saves = []
    by_address = name in _QUIET_TOOLS
    for index, argument in enumerate(arguments):
        following = arguments[index + 1] if index + 1 < len(arguments) else ""
        option = argument.partition("=")
        if option[0] in ("--output", "--output-document", "--out") and option[2]:
            saves.append(option[2])
            by_address = False
        elif name == "wget" and argument.startswith("-") and _TO_STDOUT.fullmatch(argument):
            by_address = False
            if not argument.endswith("-"):
                saves.append(following)
        elif name != "wget" and (argument == "--remote-name" or _CURL_REMOTE_NAME.fullmatch(argument)):
            by_address = True
        elif argument in _OUTPUT or (re.fullmatch(r"-[A-Za-z]*o", argument) and name != "wget"):
            saves.append(following)
            by_address = False
        elif name in ("certutil", "bitsadmin", "start-bitstransfer", "tftp") and "://" not in argument:
            saves.append(argument)
    if by_address:
        for argument in arguments:
            if "/" in argument and not argument.startswith("-"):
                saves.append(argument.partition("?")[0].partition("#")[0].rstrip("/"))
    return tuple(saves)


def _shown(words: list[shell.Word]) -> str:
    return shown(" ".join(word.text for word in words))


#: Programs that run what an address gives, without a pipe; and a promise handed to ``eval``.
_SELF_RUNNING_WORDS = triggers("mshta regsvr32 deno bun then")
_SELF_RUNNING = re.compile(
    r"\b(?:mshta|regsvr32|deno\s+run|bun\s+run)(?:\.exe)?\s(?:-\S{1,60}\s|/\S{1,20}\s){0,6}\S{0,10}https?://[^\s`;|)]{1,300}"
    r"|\bfetch\([^\s]{1,200}\)\.then[^\n]{0,100}\.then\(eval\b",
    re.IGNORECASE,
)
_CONNECTION_WORDS = triggers(("tcp", "udp", "nc", "ncat", "netcat", "socat"))


def _reverse_shells(source: Source) -> Iterator[Found]:
    """A shell whose input is a connection runs what the other end sends."""
    for line in source.logical_lines(_CONNECTION_WORDS):
        text = line.text
        match = _REVERSE.search(text)
        if match is not None and re.search(r"\b(?:sh|bash|zsh|exec|eval|cat|source)\b", text):
            yield Found(PIPE_TO_SHELL, match[0], *source.place(line, match.start(), "/dev/"))
            continue
        for piece, offset in shell.pieces(text):
            for command, _ in shell.walk(shell.read(piece, offset)):
                names = [shell.program(word.text) for word in command.words]
                index = next((at for at, name in enumerate(names) if name in ("nc", "ncat", "netcat", "socat")), -1)
                if index >= 0 and any(
                    (_NC_RUNS.fullmatch(a.text) and b in ("sh", "bash", "cmd", "zsh", "powershell"))
                    or "exec:" in a.text.lower()
                    for a, b in zip(command.words[index + 1 :], [*names[index + 2 :], ""], strict=True)
                ):
                    yield Found(
                        PIPE_TO_SHELL, _shown(command.words[index:]), *source.place(line, command.start, names[index])
                    )
