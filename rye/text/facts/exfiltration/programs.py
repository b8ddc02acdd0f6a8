"""What a program reads from a place of secrets and gives to a call that sends it; all secrets of a repository in a workflow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from rye.text.facts.calls import window_of
from rye.text.facts.calls.following import NAMES, Followed
from rye.text.facts.calls.kinds import STARTED, Kind
from rye.text.facts.environment import SENDS
from rye.text.facts.fact import ALARM, SECRET_PATH
from rye.text.facts.secret_paths import HARMLESS, STORE, holds_secrets, places_in
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import triggers

#: Calls that read a file, or put it into an archive.
_READS = re.compile(
    r"\bopen\((?![^()\n]{0,200},\s*[\"'][wax])|\.read_(?:text|bytes)\(|\bread(?:File|TextFile|Text|AllBytes|AllText|AllLines|Lines|_file|_to_string)(?:Sync)?\(|"
    r"\bfile_get_contents\(|\bFile\.(?:bin)?read\(|\bos\.ReadFile\(|\bioutil\.ReadFile\(|\bfs::read(?:_to_string)?\(|\bcreateReadStream\(|"
    r"\bshutil\.(?:copy\w{0,8}|make_archive)\(|\b(?:zf?|zip\w{0,8}|\w{0,20}archive|index|bundle|out|tar|tf)\.(?:write|add|file|directory)\(|\bsqlite3\.connect\(|"
    r"\bfopen\(|\bslurp\(|\bFileInputStream\(|\bFiles\.(?:readAllBytes|readString|lines)\(|\bBun\.file\(|\bcopyFile(?:Sync)?\(|\bcpSync\(|\bcat\s"
)
_READ_WORDS: Final = triggers(
    "open read_text read_bytes readfile readfilesync readtextfile readtextfilesync readtext readallbytes readalltext "
    "readalllines readlines read_to_string file_get_contents read binread readstream createreadstream copy copy2 copyfile "
    "copytree make_archive copyfilesync cpsync write add directory file connect fopen slurp fileinputstream readstring cat"
)
#: What is written to a request or a connection that the program opened.
_WRITES = re.compile(
    r"\b(?:req|request|clientRequest|sock|socket|conn|connection|client|ws)\.(?:write|end|emit|publish)\("
)
#: A program that sends, started with a list of words.
_STARTS_SENDER = re.compile(
    rf"\b{STARTED}\(\s{{0,8}}[\[({{]?\s{{0,8}}[rfb]?[\"'`](?:/usr/bin/)?(?:curl|wget|nc|ncat|netcat|socat)(?:\.exe)?\b"
)
#: Archives and copies that a program makes: what it sends of them is what it put in.
_ARCHIVES = re.compile(
    r"\b(?:ZipFile|tarfile\.open|TarFile|make_archive|AdmZip|createWriteStream)\(\s*(?:[\"']([^\"'\n]{1,200})[\"']|([A-Za-z_]\w{0,60}))"
    r"|\bshutil\.copy\w{0,8}\([^\n]{1,300},\s*(?:[\"']([^\"'\n]{1,200})[\"']|([A-Za-z_]\w{0,60}))\s*\)"
    r"|\bcopyFile(?:Sync)?\([^\n]{1,300},\s*(?:[\"'`]([^\"'`\n]{1,200})[\"'`]|([A-Za-z_]\w{0,60}))"
)
_PUTS = re.compile(r"(?:shutil|zf?|zip\w{0,8}|\w{0,20}archive|index|bundle|out|tar|tf)\.\w|copyFile|cpSync")
_HEADERS = re.compile(
    r"\b(?:headers|auth|cert|httpsAgent|cookies)[\"']?\s{0,4}[=:]\s{0,4}(?:\{[^{}]{0,600}\}|\([^()]{0,300}\)|[\w.]{1,80})"
)
#: The end of a line that begins a list or an object, not the body of a function.
_OPENS = re.compile(r"(?:[=:(,\[]|\breturn)\s{0,4}[\[{(]\s{0,4}$")
_READ: Final = Kind(re.compile(f"{_READS.pattern}|{_OPENS.pattern}"), _READ_WORDS)
_PLACED: Final = Kind(re.compile(rf"[\"'`]|{_OPENS.pattern}"), frozenset())
_MOST_READS: Final = 64
_MOST_LINES: Final = 40


def find(source: Source, stores: set[int]) -> Iterator[RuleMatch]:
    """What a program reads from a store and gives to a call that sends it. ``stores``: the lines that name one."""
    text, starts = source.text, source.text_starts
    if SENDS.search(text) is None and _STARTS_SENDER.search(text) is None:
        return
    named = [
        starts[number] + at
        for number in sorted(stores)
        for at, place in places_in(source.lines[number][:_LONGEST], STORE)
        if HARMLESS.search(place) is None
    ]
    if not named:
        return
    lines = {source.line_at(offset) for offset in named}
    paths = Followed(source, _PLACED, _with_openers(source, named), False).names
    reads = []
    for match in _READS.finditer(text):
        number = source.line_at(match.start())
        window = window_of(text, match.end())[:_NEAR]
        if number in lines or any(name in paths for name in NAMES.findall(_before(text, match) + window)):
            reads.append(match.start())
    yield from _in_started(source, stores)
    if not reads:
        return
    contents = Followed(source, _READ, _with_openers(source, reads[:_MOST_READS]), False).names
    archives = _archives(text, reads)
    for match in (*SENDS.finditer(text), *_WRITES.finditer(text), *_STARTS_SENDER.finditer(text)):
        window = _HEADERS.sub("", window_of(text, match.end()))
        begin = match.end()
        direct = any(begin <= at < begin + len(window) for at in reads) or any(made.search(window) for made in archives)
        origin = next((contents[name] for name in NAMES.findall(window) if name in contents), None)
        if direct or origin is not None:
            number = source.line_at(match.start())
            call = shown(plain(match[0].lstrip() + window))
            value = call if origin is None else f"{shown(plain(origin.text))} ; {call}"
            yield RuleMatch(SECRET_PATH, value, number, match.start() - starts[number], ALARM)


def _in_started(source: Source, stores: set[int]) -> Iterator[RuleMatch]:
    """A program that sends, started with the place among its words: ``run(["curl", "-F", "f=@/root/.ssh/id_rsa", …])``."""
    for match in _STARTS_SENDER.finditer(source.text):
        window = window_of(source.text, match.end())[:_NEAR]
        number = source.line_at(match.start())
        if (
            _FILE_WORD.search(window) is not None
            and holds_secrets(window)
            and not stores.isdisjoint(range(number, number + 8))
        ):
            call = shown(plain(match[0] + window))
            yield RuleMatch(SECRET_PATH, call, number, match.start() - source.text_starts[number], ALARM)


_FILE_WORD = re.compile(r"@|-T\b|--upload-file|--post-file|--body-file|<")


def _archives(text: str, reads: Sequence[int]) -> list[re.Pattern[str]]:
    """The archives and copies that are made of what a program reads, as they are named where they are made."""
    if not any(_PUTS.match(text, at) for at in reads):
        return []
    named = [next(filter(None, match.groups())) for match in islice(_ARCHIVES.finditer(text), _MOST_READS)]
    opened = []
    for name in named:
        if name.isidentifier():
            handle = re.search(
                rf"(?:\b{name}\.open|\bopen)\([^\n]{{0,80}}\)\s+as\s+(\w{{1,40}})|(\w{{1,40}})\s*=\s*open\(\s*{name}\b",
                text,
            )
            if handle is not None and name in handle[0]:
                opened.append(handle[1] or handle[2])
    return [re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)") for name in (*named, *opened)]


def _with_openers(source: Source, offsets: Sequence[int]) -> list[int]:
    """The offsets, and those of the lines that open the lists and objects around them: what a name gets over several lines."""
    found = set(offsets)
    for number in {source.line_at(offset) for offset in offsets}:
        depth = 0
        for above in range(number - 1, max(-1, number - _MOST_LINES), -1):
            raw = source.lines[above][:_LONGEST]
            depth += sum(map(raw.count, ")]}")) - sum(map(raw.count, "([{"))
            if depth < 0:
                opens = _OPENS.search(raw)
                if opens is not None:
                    found.add(source.text_starts[above] + opens.start())
                break
    return sorted(found)


_LONGEST: Final = 2_000
_NEAR: Final = 300


def _before(text: str, match: re.Match[str]) -> str:
    """What a method is called on: the path of ``path.read_text()``."""
    return text[max(0, match.start() - 60) : match.start()].rpartition("\n")[2] if match[0].startswith(".") else ""


_ALL_SECRETS = re.compile(r"\btoJSON\(\s{0,4}secrets\s{0,4}\)", re.IGNORECASE)
_UPLOADS = re.compile(
    r"\b(?:curl|wget)\b[^\n]{0,300}(?:\s-[dFT]|--(?:data|json|form|upload-file|post|body))|\bnc\s|/dev/tcp/"
)
_NEAR_LINES: Final = 12


def find_in_workflows(source: Source) -> Iterator[RuleMatch]:
    """All secrets of a repository, in a step that sends something."""
    for match in _ALL_SECRETS.finditer(source.text):
        number = source.line_at(match.start())
        for line in range(max(0, number - _NEAR_LINES), min(len(source.lines), number + _NEAR_LINES)):
            sends = _UPLOADS.search(source.lines[line][:_LONGEST])
            if sends is not None:
                value = f"{match[0]} ; {shown(plain(source.lines[line].strip()))}"
                yield RuleMatch(SECRET_PATH, value, line, sends.start(), ALARM)
                break
