"""``host``: host and port of each address. A public IP address is an alarm, because it has no owner's name.

It is an alarm where something reaches it: with a scheme, as an argument of a program that reaches hosts, in a call that connects,
or as what a program calls its server. Elsewhere (a packet in a diagram, what a command prints, a sample of data, the number of a
section) it is a caution.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts import addresses, shell
from rye.text.facts.fact import ALARM, CAUTION, HOST
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

_NETWORK_WORDS = triggers("curl wget ssh scp sftp rsync nc ncat netcat telnet ping iwr irm ftp socat")
_SCP = re.compile(
    r"(?<![\w.@/-])[\w.-]{1,60}@((?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}|\d{1,3}(?:\.\d{1,3}){3}):(?!\d{1,5}\b)[\w~./-]"
)
_NAMED = re.compile(r"(?:[\w-]{1,63}\.){1,8}([A-Za-z]{2,24})(?::(\d{1,5}))?(/\S*)?")
_NUMERIC = re.compile(
    r"(?:[\w.-]{1,60}@)?(0[xX][0-9A-Fa-f]{8}|0[0-7]{9,11}|[1-9]\d{7,9}|(?:0[xX][0-9A-Fa-f]{1,2}|"
    r"\d{1,4})(?:\.(?:0[xX][0-9A-Fa-f]{1,2}|\d{1,8})){1,3})(?::(\d{1,5}))?(?:/\S*)?"
)
_LEAD: Final = 100
"""How many characters before four numbers tell whether they are an address."""
_BEHIND: Final = 16
"""How many characters behind a resolver tell whether it is asked for names."""
_MOST_SECTIONS: Final = 30
"""Four numbers up to this are more likely a section or a version than an address."""
_RESOLVERS: Final = word_set(
    "8.8.8.8 8.8.4.4 1.1.1.1 1.0.0.1 1.1.1.2 1.0.0.2 1.1.1.3 1.0.0.3 9.9.9.9 9.9.9.10 149.112.112.112 208.67.222.222 "
    "208.67.220.220 94.140.14.14 94.140.15.15 76.76.2.0 76.76.10.0 223.5.5.5 223.6.6.6 119.29.29.29 114.114.114.114 "
    "4.2.2.1 4.2.2.2 2606:4700:4700::1111 2606:4700:4700::1001 2001:4860:4860::8888 2001:4860:4860::8844 2620:fe::fe"
)
"""Public resolvers. Everybody knows whose they are, so asking them for a name is a caution; sending them anything else is not."""
_ASKS = word_set("ping")
_ASKS_BY_OPTION = word_set("--dns-servers --dns-ipv4-addr --dns --dns-server --nameserver")
_ASKED = re.compile(r"/(?:dns-query|resolve)\b")
"""The path under which a resolver answers over HTTPS."""
_ASKED_PORTS: Final = word_set("53 853")
_NEVER_SECTIONS: Final = word_set("8.8.8.8 8.8.4.4 9.9.9.9")
"""``1.1.1.1`` is also the number of an enzyme or a section; these are addresses wherever somebody writes them."""
#: Somebody asks what follows for names, or only tries to reach it.
_NAMES_RESOLVER = re.compile(
    r"(?<![A-Za-z])(?:dns\w*|resolv\w*|nameservers?|nslookup|dig|ping|hosts|upstreams?|(?<!_)connections?)(?![A-Za-z(])[^\n]{0,60}$|"
    r"\bhost[ \t]+(?:-\w+[ \t]+)*[\w.-]+[ \t]+$",
    re.IGNORECASE,
)
#: How a program asks which address of its own machine it would send from: nothing is sent.
_OWN_ADDRESS = re.compile(r"(?:.*?\W)?\w{0,20}\.connect\(\(\s?[\"']\|[\"'],\s?(?:80|53|1)\)\).*", re.DOTALL)
_SHORT: Final = 40
_PREFIX = re.compile(r"/(?:3[0-2]|[12]?\d)(?![\w/.])")
#: A call that reaches its argument.
_CONNECTS = re.compile(
    r"(?<![A-Za-z])(?:\w{0,30}(?:connect\w{0,20}|Connect\w{0,20}|[dD]ial\w{0,12}|[sS]ocket|Socket\w{0,12}|Client)|sendto|open_connection|fsockopen|"
    r"stream_socket_client|urlopen|fetch|(?:requests|axios|http|https)\.\w{1,12})[!?]?\([^()\n]{0,40}\(?[^()\n]{0,40}$"
)
#: Schemes without slashes: ``turn:HOST:PORT``.
_SCHEME = re.compile(r"(?<![\w-])(?:turns?|stuns?|sips?|tcp|udp|mqtts?):$")
_SERVER: Final = (
    r"(?:hosts?|servers?|c2|url|uri|endpoint|webhook|remote|proxy|relay|beacon|callback|listener|collector|upload_?to|target)"
    r"(?:_?(?:ip|addr|address|host|name|url))?"
)
#: What a program calls a place that it reaches: a name that gets it, or a function, unless it asks something about it
#: (``isPublicUrl("…")``, ``api.host("…")``).
_IS_SERVER = re.compile(
    rf"(?<![A-Za-z])\w{{0,30}}{_SERVER}[\"'\]]{{0,2}}[ \t]{{0,8}}(?::[ \t]?\w{{1,20}})?[ \t]{{0,8}}(?::=|=>|[=:])"
    r"[ \t]{0,4}[\"'`(\[]{0,2}$|"
    rf"(?<![\w.>])(?!is|has|can|should|check|valid|parse|normal|resolve|lookup|look_up|find|get|assert|expect|test|block|allow|scan)"
    rf"\w{{0,30}}{_SERVER}[ \t]{{0,4}}\([ \t]{{0,4}}[\"'`(\[]{{0,2}}$|"
    rf"\.(?:set|use|with|add)_?\w{{0,20}}{_SERVER}\([ \t]{{0,4}}[\"'`(\[]{{0,2}}$",
    re.IGNORECASE,
)
#: Somebody is told to reach what follows.
_TOLD = re.compile(
    r"(?:^|[.:;,!?*>|`-]|\b(?:to|must|should|please|then|and|now|always|will|can|you))[ \t]*"
    r"(?:connect|reach|send|post|upload|download|fetch|open|visit|browse|tunnel|forward|dial|exfiltrate|report|deliver|submit|"
    r"proxy(?!\s+(?:ip|address|host|server|port)\b))\b[^\n.!?()]{0,60}(?:\b(?:to|from|at|with|via|through|on)\b[^\n.!?()]{0,12}|[^\w()]{1,3})$",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"(?:^|\s)(?://|#|--|;|<!--|\*)\s")
#: Blocks whose lines are printed or drawn, not run.
_SHOWN: Final = word_set("text txt plain plaintext output log console diff mermaid ascii")
_TAKE_HOSTS = triggers("nc ssh ping curl wget")
#: Options whose value is a number, not a host.
_COUNTED = re.compile(
    r"--[a-z-]*(?:max|limit|size|time|timeout|retry|delay|speed|rate|bytes|redirs|port|pid|id)[a-z-]*|-[myYCrzc]"
)
_FILES = word_set(
    "sh py js ts md txt json yaml yml toml zip gz tgz tar xz bz2 html htm xml csv exe bin deb rpm pdf png jpg "
    "log conf cfg ps1 rb pl whl jar pem key sql c h go rs lock out dmg pkg apk img iso bat db"
)


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield the hosts, each once per line."""
    text = source.text
    seen: set[tuple[str, int]] = set()
    starts = source.text_starts
    for logical in source.logical_lines(_NETWORK_WORDS):
        for commands in source.commands(logical):
            for command, _ in commands:
                for value, host, at in _arguments(command):
                    number, column = source.place(logical, at, value.partition(":")[0])
                    if (value, number) not in seen:
                        seen.add((value, number))
                        found = _found(host, value, number, column)
                        asks = host in _RESOLVERS and any(
                            shell.program(text) in _ASKS or text in _ASKS_BY_OPTION for text in command.texts()
                        )
                        asks = asks or _is_version(command, value, at) or _is_counted(source.lines[number], host, value)
                        yield found._replace(level=CAUTION) if found.level and asks else found
    for line in source.lines_of_bytes(b"@"):
        for match in _SCP.finditer(text, starts[line], starts[line + 1]):
            host, _ = addresses.host_and_port(match[1])
            if host and (host, line) not in seen:
                seen.add((host, line))
                yield _found(host, host, line, match.start() - starts[line])
    for address in source.addresses:
        line = source.line_at(address.start)
        key = (address.value, line)
        if key not in seen:
            seen.add(key)
            found = _found(address.host, address.value, line, address.start - starts[line])
            before = text[max(starts[line], address.start - _LEAD) : address.start]
            if found.level and address.text[0].isalpha():
                found = found._replace(level=_addressed_level(source, address, line))
            if found.level and _is_asked(address, before, text[address.end : address.end + _BEHIND]):
                found = found._replace(level=CAUTION)
            elif found.level and address.text[0].isdigit():
                found = found._replace(level=_bare_level(source, address, line))
            yield found


def _bare_level(source: Source, address: addresses.Address, line: int) -> str:
    """The level of a public address without a scheme: an alarm if the line reaches it.

    A prefix (``203.0.112.0/20``) is a network, not a place that something is sent to.
    """
    starts = source.text_starts
    if address.bare and _PREFIX.match(source.text, address.end):
        return ""
    before = source.text[max(starts[line], address.start - _LEAD) : address.start]
    if source.original is not source and address.host not in source.original.text and not _counts(address.host):
        return ALARM  # no string of the file has it as a whole
    if _COMMENT.search(source.text[starts[line] : address.start][-_COMMENTED:]) is not None:
        return CAUTION
    language = source.language(line)
    if not source.is_code(line) or (source.markdown and (not language or language in _SHOWN)):
        return ALARM if _TOLD.search(before) is not None else CAUTION
    if _CONNECTS.search(before) is not None or _SCHEME.search(before) is not None:
        return ALARM
    quoted = before.endswith(("'", '"', "`"))
    if address.host in _RESOLVERS or (quoted and _counts(address.host)):
        return CAUTION
    return ALARM if _IS_SERVER.search(before) is not None and not _is_indicator(source, line) else CAUTION


def _is_indicator(source: Source, line: int) -> bool:
    """Whether a line belongs to a list or a table that is called one of indicators, or of what is blocked."""
    indent = len(source.lines[line]) - len(source.lines[line].lstrip())
    for number in range(line - 1, max(-1, line - _TABLE_LINES), -1):
        raw = source.lines[number][:_COMMENTED]
        if raw.strip() and len(raw) - len(raw.lstrip()) < indent:
            return _INDICATORS.search(raw) is not None
    return False


_TABLE_LINES: Final = 20
_INDICATORS = re.compile(
    r"(?:indicator|(?<![a-z])iocs?(?![a-z])|(?:watch|block|deny)_?list|threat|malicious|suspicious|known_?bad|sinkhole)\w*[\"']?"
    r"[^=:\n]{0,40}[=:][ \t]*[\[{(]",
    re.IGNORECASE,
)


def _addressed_level(source: Source, address: addresses.Address, line: int) -> str:
    """The level of a public address with a scheme: an alarm in a command, in a call or a setting that names a server, and where a
    sentence has somebody reach it. Else it is a string among others, or an example of how an address looks."""
    scheme, _, authority = address.text.partition("://")
    if _COUNT.fullmatch(authority) is not None and scheme.lower() not in _SCHEMES:
        return CAUTION  # ``containerd://1.7.6``, or the number of a report
    if source.text.startswith("*", address.end):
        return CAUTION  # a pattern: ``http://192.168.*``
    plain = authority.lower() in (address.value, address.host)
    if not plain or (source.original is not source and address.host not in source.original.text):
        return ALARM  # it is written in a way that hides it
    before = source.text[max(source.text_starts[line], address.start - _LEAD) : address.start]
    if _IN_QUERY.search(before) is not None:
        return CAUTION  # what another address is given
    if _RUNS.search(before) is not None:
        return ALARM
    if _COMMENT.search(source.text[source.text_starts[line] : address.start][-_COMMENTED:]) is not None:
        return CAUTION
    language = source.language(line)
    if not source.is_code(line) or (source.markdown and language in _SHOWN):
        return ALARM if before.endswith("](") or _TOLD.search(before) is not None else CAUTION
    if language not in _STRINGS_OF and not (source.markdown and not language):
        return ALARM
    return ALARM if _CONNECTS.search(before) is not None or _IS_SERVER.search(before) is not None else CAUTION


_IN_QUERY = re.compile(r"://[^\s\"'`]{1,90}[?&][\w.-]{1,40}=$")
#: Languages in which an address is a string, which says nothing of what is done with it.
_STRINGS_OF: Final = word_set(
    "py pyw ipynb python js mjs cjs jsx javascript ts mts cts tsx typescript json jsonc json5 html htm csv tsv xml svg md txt "
    "text go rs rust java kt kotlin cs csharp swift"
)
_SCHEMES: Final = word_set(
    "http https ftp ftps ws wss tcp udp ssh sftp socks4 socks5 redis mysql postgres postgresql mongodb amqp"
)
_COUNT = re.compile(r"\d{1,12}(?:\.\d{1,3}){0,2}")
#: A program that reaches what follows, whatever text it stands in.
_RUNS = re.compile(
    r"(?<![\w-])(?:curl|wget|iwr|irm|aria2c|Invoke-\w{3,14}|pip3?|npm|git|docker|bash|sh|powershell|mshta|certutil|bitsadmin)"
    r"(?:\.exe)?[ \t][^\n`]{0,90}$"
)


_COMMENTED: Final = 400


def _is_asked(address: addresses.Address, before: str, after: str) -> bool:
    """Whether a public resolver is only named, or asked for names."""
    if address.host not in _RESOLVERS or address.text.startswith("/dev/"):
        return False
    if address.bare and not _RESOLVERS.isdisjoint((*before.split()[-1:], *after.split()[:1])):
        return True  # one of several
    if address.bare and _OWN_ADDRESS.fullmatch(before[-_SHORT:] + "|" + after[:_SHORT]) is not None:
        return True
    if address.bare:
        return _NAMES_RESOLVER.search(before) is not None
    return address.port in _ASKED_PORTS or (not address.port and _ASKED.match(after) is not None)


def _counts(host: str) -> bool:
    """Whether four numbers could as well count sections or versions: ``"3.2.17.0"`` in quotes is rarely an address."""
    return host not in _NEVER_SECTIONS and all(int(part) <= _MOST_SECTIONS for part in host.split("."))


def _is_version(command: shell.Command, value: str, at: int) -> bool:
    """Whether an argument is two or three small numbers and nothing else: ``curl 8.19.0`` is more likely a version of it."""
    word = next((word.text for word in command.words if word.start == at), "").strip("[](),\"'").rstrip(".,;:!?")
    return _VERSION.fullmatch(word) is not None


def _is_counted(line: str, host: str, value: str) -> bool:
    """Whether a single number stands among other words in quotes: data with a time, not an address."""
    return value == host and any(addresses.ipv4(match[2]) == host for match in _IN_TEXT.finditer(line[:_COMMENTED]))


_IN_TEXT = re.compile(r"([\"'])[^\"'\n]{0,300}[^\"'\s\n=:/@]\s(\d{8,10})(?=[\s\"'])")
_VERSION = re.compile(r"\d{1,3}\.\d{1,3}(?:\.\d{1,3})?")


def _found(host: str, value: str, line: int, column: int) -> RuleMatch:
    return RuleMatch(HOST, value, line, column, ALARM if addresses.is_public_ip(host) else "")


def _arguments(command: shell.Command) -> Iterator[tuple[str, str, int]]:
    """Hosts without a scheme among the arguments of network programs: value, host, and offset."""
    names = [shell.program(word.text).encode() for word in command.words]
    index = next((at for at, name in enumerate(names) if name in _NETWORK_WORDS), -1)
    before = ""
    for word in command.words[index + 1 :] if index >= 0 else ():
        label = before.endswith(":")
        counts = _COUNTED.fullmatch(before) is not None and word.text.isdigit()
        before = word.text
        text = word.text.strip("[](),\"'").rstrip(".,;:!?")
        if counts or "://" in text or text.startswith(("-", "/", ".", "$", "~")) or (label and "." not in text):
            continue  # ``{"chat_id": 123456789}`` has a number, not an address
        host, port = _named(text, names[index]) or _numbered(text)
        if host:
            yield (f"{host}:{port}" if port else host), host, word.start


def _named(text: str, program: bytes) -> tuple[str, str] | None:
    """Host and port of a domain; None if the word is not a domain or could just as well be a file."""
    bare = text.rpartition("@")[2]
    match = _NAMED.fullmatch(bare)
    if match is None or match[1].lower() in _FILES:
        return None
    if not (match[3] or match[2] or program in _TAKE_HOSTS):
        return None
    return addresses.host_and_port(bare.partition("/")[0])


def _numbered(text: str) -> tuple[str, str]:
    """Host and port of a numeric address; empty if the word is not one, or is only a number."""
    match = _NUMERIC.fullmatch(text)
    if match is None or ("." not in match[1] and len(match[1]) < 8):
        return "", ""
    host = addresses.ipv4(match[1].lower())
    return (host, match[2] or "") if host and (match[1].count(".") != 1 or "/" in text) else ("", "")
