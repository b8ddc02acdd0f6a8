"""What a program reads from a place of secrets and gives to a call that sends it; all secrets of a repository in a workflow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from rye.text.facts.calls import NEAR_LINES, window_of
from rye.text.facts.calls.following import NAMES, ContentOrigin, Followed, Meanings
from rye.text.facts.calls.kinds import STARTED, Kind
from rye.text.facts.environment import RESOLVERS, names_of, sends_in, used_as_a_whole
from rye.text.facts.exfiltration.own_functions import connections_in, functions_that_read, functions_that_send
from rye.text.facts.fact import ALARM, SECRET_PATH
from rye.text.facts.secret_paths import HARMLESS, SETTINGS, STORE, holds_secrets, is_store, places_in
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import triggers

#: Calls that read a file, or put it into an archive.
_READS = re.compile(
    r"\bopen\((?![^()\n]{0,200},\s*[\"'][wax]|\s*[\"'][wax]b?[\"'])|\.read_(?:text|bytes)\(|\b[rR]ead(?:File|TextFile|Text|AllBytes|AllText|AllLines|Lines|_file|_to_string)(?:Sync)?\(|"
    r"\bfile_get_contents\(|\bFile\.(?:bin)?read\(|\bos\.ReadFile\(|\bioutil\.ReadFile\(|\bfs::read(?:_to_string)?\(|\bcreateReadStream\(|"
    r"\bshutil\.(?:copy\w{0,8}|make_archive)\(|\b(?:zf?|zip\w{0,8}|\w{0,20}archive|index|bundle|out|tar|tf)\.(?:write|add|file|directory)\(|\bsqlite3\.connect\(|"
    r"\bfopen\(|\bslurp\(|\bFileInputStream\(|\bFiles\.(?:readAllBytes|readString|lines)\(|\bBun\.file\(|\bcopyFile(?:Sync)?\(|\bcpSync\(|\bcat\s|\bGet-Content\s|\bgc\s(?=[\"'$~])"
)
_READ_WORDS: Final = triggers(
    "open read_text read_bytes readfile readfilesync readtextfile readtextfilesync readtext readallbytes readalltext "
    "readalllines readlines read_to_string file_get_contents read binread readstream createreadstream copy copy2 copyfile "
    "copytree make_archive copyfilesync cpsync write add directory file connect fopen slurp fileinputstream readstring cat "
    "content gc check_output popen subprocess execsync spawnsync execfilesync"
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
#: Programs that read, started with a list of words or a line of them.
_STARTS_READER = re.compile(
    rf"\b{STARTED}\(\s{{0,8}}[\[({{]?\s{{0,8}}[rfb]?[\"'`](?:/usr)?(?:/bin/)?(?:cat|base64|tar|zip|gpg|openssl|xxd|head|tail|sqlite3|type|7z|strings|od)\b"
)
#: Calls that read a store as a whole without naming a file.
_READS_STORE = re.compile(
    r"\b(?:browser_?cookie3|rookiepy)\.\w{2,20}\(|\bchrome_cookies\(|\bkeytar\.findCredentials\(|\bSecItemCopyMatching\(|"
    r"[\"']security[\"'],\s{0,4}[\"']dump-keychain|[\"'`](?:security\s+dump-keychain|kubectl\s+config\s+view\b[^\"'`\n]{0,60}--raw|"
    r"kubectl\s+get\s+secrets?\b[^\"'`\n]{0,80}-o\s?(?:yaml|json)|secret-tool\s+search|bw\s+(?:export|list)|op\s+item\s+list)"
)
_STORE_MARKS: Final = (
    "cookie3",
    "rookiepy",
    "chrome_cookies(",
    "findCredentials",
    "SecItemCopyMatching",
    "dump-keychain",
)
_STORE_COMMANDS: Final = (
    "kubectl config view",
    "kubectl get secret",
    "secret-tool search",
    "bw export",
    "bw list",
    "op item list",
)
_READ: Final = Kind(
    re.compile(f"{_READS.pattern}|{_STARTS_READER.pattern}|{_READS_STORE.pattern}|{_OPENS.pattern}"), _READ_WORDS
)
_PLACED: Final = Kind(re.compile(rf"[\"'`]|{_OPENS.pattern}"), frozenset())
_MOST_READS: Final = 64
_MOST_LINES: Final = 40


def reads_store(source: Source) -> set[int]:
    """The lines with a call that reads a store as a whole without naming a file, or that has a command print one."""
    if source.markdown or not any(mark in source.text for mark in (*_STORE_MARKS, *_STORE_COMMANDS)):
        return set()
    return {source.line_at(match.start()) for match in _READS_STORE.finditer(source.text)}


def find(source: Source, stores: set[int], settings: set[int]) -> Iterator[RuleMatch]:
    """What a program reads from a place of secrets and gives to a call that sends it. ``stores``, ``settings``: the lines that
    name a place of these sorts; settings count only if they are sent as a whole."""
    text = source.text
    stores = {number for number in stores if source.is_code(number)} if source.markdown else stores
    settings = {number for number in settings if _is_program(source, number)}
    if settings and not any(mark in text for mark in _READ_MARKS):
        settings = set()
    read = _settings_read(source, settings) if settings else []
    if not stores and not read:
        return
    connections = connections_in(text)
    sends = [
        *(
            match
            for match in sends_in(text)
            if not match[0].startswith("resolve") or text[: match.start()].endswith(RESOLVERS)
        ),
        *(match for pattern in (_WRITES, _STARTS_SENDER) for match in pattern.finditer(text)),
        *(connections.finditer(text) if connections is not None else ()),
    ]
    takes_path = list(_SENDS_FILE.finditer(text)) if stores else []
    if not sends and not takes_path:
        return
    sends += functions_that_send(text, sends, _HEADERS)
    if stores:
        yield from _in_started(source, stores)
        yield from _of_stores(source, stores, sends, takes_path)
    if read:
        yield from _of_settings(source, read, settings, sends)


def _of_stores(
    source: Source, stores: set[int], sends: Sequence[re.Match[str]], takes_path: Sequence[re.Match[str]]
) -> Iterator[RuleMatch]:
    """What is read from a store, and whatever is made of it."""
    text = source.text
    reads, paths = _reads_of(source, stores, STORE)
    for match in takes_path:
        window = window_of(text, match.end())
        number = source.line_at(match.start())
        inside = not stores.isdisjoint(range(number, number + _LINES_OF_CALL)) and is_store(window[:_NEAR])
        if inside or any(paths.at(name, match.start()) for name in NAMES.findall(window)):
            yield _found(source, match, window, None)
    if not reads and not any(mark in text for mark in _ARCHIVE_MARKS):
        return
    contents = Followed(_without_signing(source), _READ, _with_openers(source, reads[:_MOST_READS]), False).names
    archives = _archives(text, reads)
    added, packed = _added_to_archives(text, stores, source, paths)
    reads, archives = sorted({*reads, *added}), archives + packed
    for match in sends:
        whole = _with_chain(text, match.end())
        window = _HEADERS.sub("", whole)
        begin = match.end()
        direct = any(begin <= at < begin + len(window) for at in reads) or any(made.search(window) for made in archives)
        direct = direct or any(
            begin <= at < begin + len(whole) and _ENCODED_READ.search(text[at - _BEFORE : at]) for at in reads
        )
        direct = direct or (text[: begin - len(match[0])].rstrip().endswith(".pipe(") and _reads_before(match, reads))
        encoded = NAMES.findall(" ".join(_ENCODES.findall(whole))) if window is not whole else []
        held = (contents.at(name, match.start()) for name in (*NAMES.findall(window), *encoded))
        origin = next((known for known in held if known is not None), None)
        if direct or origin is not None:
            yield _found(source, match, window, origin)


def _settings_read(source: Source, settings: set[int]) -> list[int]:
    """Where a program reads a file of settings as a whole."""
    text = source.text
    reads, _ = _reads_of(source, settings, SETTINGS)
    reads = sorted({*reads, *(match.start() for match in _PARSED_SETTINGS.finditer(text))})
    return [at for at in reads if _TAKEN_FROM.match(text, at) is None or _is_loop(source, at)]


def _of_settings(
    source: Source, reads: list[int], settings: set[int], sends: Sequence[re.Match[str]]
) -> Iterator[RuleMatch]:
    """A file of settings that a program reads and sends as a whole. Honest programs read them all the time, and take out what
    they need and hand the rest to their own functions, so that this is a caution unless the file is named, read and sent close
    together, and in one function."""
    text = source.text
    named = [line for line in map(source.line_at, reads) if not settings.isdisjoint(range(line - NEAR_LINES, line + 1))]
    used = used_as_a_whole(names_of(source, reads, _TAKES_ONE))
    for match in sends:
        window = _HEADERS.sub("", window_of(text, match.end()))
        begin = match.end()
        direct = any(begin <= at < begin + len(window) for at in reads)
        if direct or (used is not None and used.search(window) is not None):
            number = source.line_at(match.start())
            near = direct or any(_is_in_one_go(source, line, number) for line in named)
            found = _found(source, match, window, None)
            yield found if near else found._replace(level="")


def _is_in_one_go(source: Source, first: int, last: int) -> bool:
    """Whether two lines are close to each other, and the second one is in no function that begins between them."""
    if not 0 <= last - first <= NEAR_LINES:
        return False
    indent = len(source.lines[last]) - len(source.lines[last].lstrip())
    functions = map(_BEGINS_FUNCTION.match, source.lines[first + 1 : last + 1])
    return not any(match is not None and len(match[1]) < indent for match in functions)


_BEGINS_FUNCTION = re.compile(
    r"([ \t]*)(?:(?:export|default|async|pub|public|private|protected|static|local)[ \t]+){0,4}(?:def|function|func|fn|sub)[ \t*]"
)


def _reads_of(source: Source, numbers: set[int], holds: str) -> tuple[list[int], Meanings]:
    """Where a program reads a place of this sort, and the names that hold its path."""
    text, starts = source.text, source.text_starts
    named = [
        starts[number] + at
        for number in sorted(numbers)
        for at, place in places_in(source.lines[number][:_LONGEST], holds)
        if HARMLESS.search(place) is None
    ]
    whole = [match.start() for match in _READS_STORE.finditer(text)] if holds == STORE else []
    if not named:
        return whole, Meanings()
    lines = {source.line_at(offset) for offset in named}
    paths = Followed(source, _PLACED, _with_openers(source, named), False).names
    calls = list(_READS.finditer(text)) if holds == STORE else _marked_reads(source)
    calls += _STARTS_READER.finditer(text) if holds == STORE or "check_output(" in text else ()
    reads = []
    for match in (*calls, *functions_that_read(text, calls)):
        number = source.line_at(match.start())
        window = window_of(text, match.end())[:_NEAR]
        if number in lines or any(
            paths.at(name, match.start()) for name in NAMES.findall(_before(text, match) + window)
        ):
            reads.append(match.start())
    return sorted({*reads, *whole}), paths


def _marked_reads(source: Source) -> list[re.Match[str]]:
    """The calls that read a file, on the lines that have one of the marks of such calls: settings are named in many texts."""
    text, starts = source.text, source.text_starts
    numbers: set[int] = set()
    for mark in _READ_MARKS:
        at = text.find(mark)
        while at >= 0:
            number = source.line_at(at)
            numbers.add(number)
            at = text.find(mark, starts[number + 1]) if number + 1 < len(starts) else -1
    return [match for number in sorted(numbers) for match in _READS.finditer(text, starts[number], starts[number + 1])]


def _without_signing(source: Source) -> Source:
    """The file without the lines that only sign with a key: a signature, an account or a connection made with it is not it."""
    text = _SIGNS.sub(lambda match: " " * len(match[0]), source.text)
    return source if text == source.text else Source(source.path, text, source.files)


_SIGNS = re.compile(
    r"^[^\n]{0,300}(?:\bjwt\.(?:encode|sign)\(|\.sign\w{0,12}\(|\bcreateSign\(|[kK]ey[pP]air\.from|\bfrom_private_key|"
    r"\bfromSecretKey\(|\bAccount\.from_key|\bprivateKeyTo\w{4,8}\(|\bload_pem_private_key\(|\bparsePrivateKey|"
    r"\bParsePrivateKey)[^\n]{0,300}$",
    re.MULTILINE,
)


def _is_loop(source: Source, offset: int) -> bool:
    """Whether a line goes through what it reads."""
    return source.lines[source.line_at(offset)].lstrip().startswith(("for ", "for("))


def _is_program(source: Source, number: int) -> bool:
    """Whether a line can be one of a program: it has a string, or reads settings without naming a file."""
    raw = source.lines[number]
    return ('"' in raw or "'" in raw or "dotenv_values(" in raw) and source.is_code(number)


def _with_chain(text: str, start: int) -> str:
    """The arguments of a call, and of the calls of its chain that get what is sent: ``post(url).body(key).send()``."""
    window = window_of(text, start)
    end = start + len(window)
    for _ in range(_MOST_CHAINED):
        chained = _CHAINED.match(text, end)
        if chained is None:
            break
        more = window_of(text, chained.end())
        window, end = f"{window} {more}", chained.end() + len(more)
    return window


_CHAINED = re.compile(
    r"\s{0,60}\.(?:body|json|form|multipart|data|field|attach|query|send\w{0,8}|timeout|type|set|header|end|write|await)\("
)
_MOST_CHAINED: Final = 6


def _reads_before(match: re.Match[str], reads: Sequence[int]) -> bool:
    """Whether what a stream is piped to a call was read right before it."""
    return any(match.start() - _NEAR <= at < match.start() for at in reads)


def _found(source: Source, match: re.Match[str], window: str, origin: ContentOrigin | None) -> RuleMatch:
    number = source.line_at(match.start())
    call = shown(plain(match[0].lstrip() + window))
    value = call if origin is None else f"{shown(plain(origin.text))} ; {call}"
    near = origin is None or abs(number - source.line_at(origin.offset)) <= NEAR_LINES
    return RuleMatch(SECRET_PATH, value, number, match.start() - source.text_starts[number], ALARM if near else "")


#: Calls that send the file whose path they are given.
_SENDS_FILE = re.compile(
    r"\.(?:upload_file|upload_from_filename|fput_object|UploadFile(?:Async|TaskAsync)?|fastPut|putFile|sendMail|send_document|sendDocument)\(|"
    r"\bsftp\w{0,8}\.put\("
)
_READ_MARKS: Final = (
    *(
        "open(",
        "read_text(",
        "read_bytes(",
        "readFile",
        "dotenv_values(",
        "dotenv.parse(",
        "readTextFile",
        "File.read",
        "ReadFile(",
    ),
    *("read_to_string", "file_get_contents(", "check_output(", "popen(", "ReadAll", "Bun.file(", "createReadStream("),
)
"""Of these, a program has one that reads a file of settings as a whole."""
_PARSED_SETTINGS = re.compile(r"\bdotenv_values\(|\bdotenv\.parse\(")
#: A read whose result is cut at once: ``dotenv_values()["KEY"]``.
_TAKEN_FROM = re.compile(
    r"[\w.]{1,60}\([^()\n]{0,200}(?:\([^()\n]{0,100}\)[^()\n]{0,100}){0,3}\)(?:\.\w{1,20}\([^()\n]{0,40}\)){0,3}\s?"
    r"(?:\[|\.(?:get|match|split|find|search|includes|indexOf)\()"
)
#: What takes one setting out of a file of them, or uses it to sign something.
_TAKES_ONE = re.compile(
    r"\bre\.|\.(?:group|match|split|find|index|get|exec|startswith|startsWith|partition|includes|sign)\(|\bnext\(|\bjwt\b|"
    r"\blen\(|\.length\b|[\"']\s+(?:not\s+)?in\s|==|\bbool\("
)
_ENCODES = re.compile(
    r"(?:b64encode|b32encode|hexlify|btoa|quote\w{0,5}|encodeURIComponent|Buffer\.from)\(([^()\n]{1,120})"
)


def _in_started(source: Source, stores: set[int]) -> Iterator[RuleMatch]:
    """A program that sends, started with the place among its words: ``run(["curl", "-F", "f=@/root/.ssh/id_rsa", …])``."""
    for match in _STARTS_SENDER.finditer(source.text):
        window = window_of(source.text, match.end())[:_NEAR]
        number = source.line_at(match.start())
        if (
            _FILE_WORD.search(window) is not None
            and holds_secrets(window)
            and not stores.isdisjoint(range(number, number + _LINES_OF_CALL))
        ):
            call = shown(plain(match[0] + window))
            yield RuleMatch(SECRET_PATH, call, number, match.start() - source.text_starts[number], ALARM)


_FILE_WORD = re.compile(r"@|-T\b|--upload-file|--post-file|--body-file|<")


def _added_to_archives(
    text: str, stores: set[int], source: Source, paths: Meanings
) -> tuple[list[int], list[re.Pattern[str]]]:
    """Where a place is put into an archive that a program holds under a name of its own, and the names of such archives."""
    added: list[int] = []
    names: list[str] = []
    for made in (
        islice(_HOLDS_ARCHIVE.finditer(text), _MOST_READS) if any(mark in text for mark in _ARCHIVE_MARKS) else ()
    ):
        handle = made["handle"] or made["name"]
        for match in re.finditer(
            rf"(?<![\w.]){re.escape(handle)}\.(?:add|write|addLocalF\w{{3,5}}|directory|file|append)\(", text
        ):
            window = window_of(text, match.end())[:_NEAR]
            number = source.line_at(match.start())
            if (number in stores and is_store(window)) or any(
                paths.at(name, match.start()) for name in NAMES.findall(window)
            ):
                added.append(match.start())
                names += [handle, *filter(None, _ARCHIVE_INTO.findall(made[0]))]
    return added, [re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)") for name in dict.fromkeys(names)]


_ARCHIVE_MARKS: Final = ("tarfile.open(", "ZipFile(", "TarFile.open(", "AdmZip(", "archiver(", "JSZip(")
_HOLDS_ARCHIVE = re.compile(
    r"(?:tarfile\.open|TarFile\.open|ZipFile)\((?P<into>[^\n]{0,200})\)\s+as\s+(?P<handle>\w{1,60})|"
    r"(?P<name>\w{1,60})\s{0,4}=\s{0,4}(?:new\s+)?(?:tarfile\.open|(?:zipfile\.)?ZipFile|AdmZip|archiver|JSZip)\([^\n]{0,200}"
)
#: What an archive is written to: the first argument, if it is a name, or ``fileobj``.
_ARCHIVE_INTO = re.compile(r"(?:(?:open|File)\(\s*|fileobj\s*=\s*)([A-Za-z_]\w{0,60})\s*[,)]")
_ENCODED_READ = re.compile(
    r"(?:b64encode|b32encode|hexlify|btoa|Buffer\.from|encodeURIComponent|quote)\(\s*(?:await\s)?[\w.]{0,20}$"
)
_BEFORE: Final = 60


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
_LINES_OF_CALL: Final = 8


def _before(text: str, match: re.Match[str]) -> str:
    """What a method is called on: the path of ``path.read_text()``."""
    if not match[0].startswith(".") and text[match.start() - 1 : match.start()] != ".":
        return ""
    return text[max(0, match.start() - _BEFORE) : match.start()].rpartition("\n")[2]


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
