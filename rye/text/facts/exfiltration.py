"""``secret-path`` as an alarm: what is kept in a place of secrets is read and sent.

A place that is only named is a caution (:mod:`rye.text.facts.secret_paths`), and so is a whole environment that a program writes
out (:mod:`rye.text.facts.environment`). On command lines the content is followed through pipes, files and names
(:mod:`rye.text.facts.flow`) until a command sends it: as data, as a file, or within an address. In a program, the place leads to
the call that reads it, and that to the call that sends. A sentence is read by itself: it names a place, sending, and where to.

What a service is made to be given is none: a header, a user, a certificate, a key that a connection uses, one setting out of a
file of them, a public key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

from rye.text.facts import fetchers, shell
from rye.text.facts.calls import window_of
from rye.text.facts.calls.following import NAMES, Followed
from rye.text.facts.calls.kinds import STARTED, Kind
from rye.text.facts.environment import SENDS, dumps, dumps_in
from rye.text.facts.environment import VALUE as ENVIRONMENT
from rye.text.facts.fact import ALARM, SECRET_PATH
from rye.text.facts.flow import Flow, Outputs, child_origin
from rye.text.facts.secret_paths import SETTINGS, STORE, lines_of, places_in
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import Line, Origin, RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

#: Parts of such places that are no secret.
_HARMLESS = re.compile(r"(?:\.pub|/known_hosts|\.(?:ssh|aws)/config|authorized_keys|/sudoers)[\"')]?$", re.IGNORECASE)

# -- commands ------------------------------------------------------------------------------------------------------------

#: Programs that put out a file as it is, packed or encoded.
_READERS: Final = word_set(
    "cat head tail less more tac nl bat base64 base32 xxd od hexdump gzip zcat bzip2 xz zstd strings type get-content gc "
    "certutil dd pv tee uuencode basenc"
)
#: Programs that put several files or a folder into one, or copy them.
_PACKERS: Final = word_set(
    "tar zip 7z 7za 7zr rar gpg gpg2 openssl age cpio ar bsdtar compress-archive cp copy copy-item install mv move xcopy "
    "robocopy sqlite3 find ditto"
)
#: Commands that print what a store holds, with their first words.
_PRINTS = re.compile(
    r"security (?:dump-keychain|find-(?:generic|internet)-password)\b|secret-tool search\b|"
    r"kubectl get secrets?\b.*-o ?(?:yaml|json)|aws configure export-credentials\b|"
    r"bw (?:export|list)\b|op item (?:get|list)\b|gh auth token\b|"
    r"git credential fill\b|history\b|"
    r"gpg2? (?:\S+ )*--export-secret-keys\b|netsh wlan show profile\b.*key=clear"
)
_PRINTERS: Final = word_set("security secret-tool kubectl aws bw op gh git history gpg gpg2 netsh")
_PRINTER_MARKS: Final = (
    *(b"dump-keychain", b"find-generic-password", b"find-internet-password", b"secret-tool search", b"get secret"),
    *(
        b"export-credentials",
        b"bw export",
        b"bw list",
        b"op item ",
        b"auth token",
        b"credential fill",
        b"export-secret-keys",
    ),
    *(b"key=clear", b"history |", b"history|", b"history >"),
)
_OUTPUT_OPTIONS: Final = word_set(
    "-o --output -out --out -f -czf -cf -czvf -cvf -cjf -cJf -zcf -zcvf -jcf -destinationpath"
)
_TAR_FILE = re.compile(r"-?[A-Za-z]{0,8}f")
_ONTO: Final = word_set("cp copy copy-item install mv move xcopy ditto")
_ARCHIVERS: Final = word_set("zip 7z 7za 7zr rar compress-archive")
_DATA_OPTIONS: Final = word_set(
    "-d --data --data-ascii --data-binary --data-raw --data-urlencode --json -F --form --form-string -T --upload-file "
    "-body -infile -form --post-file --body-file --post-data --body-data --body --url-query"
)
_FILE_OPTIONS: Final = word_set("-T --upload-file -infile --post-file --body-file")
#: Options of curl and the like whose value is no data; the others have none or are not worth a row.
_OTHER_OPTIONS: Final = word_set(
    "-H --header -u --user -b --cookie -A --user-agent -e --referer --cert --key --cacert --capath -E -K --config -o "
    "--output -x --proxy --netrc-file -w --write-out -X --request -m --max-time -c --cookie-jar --oauth2-bearer -headers "
    "-credential -certificate -method -uri -outfile -contenttype --resolve --connect-to --retry --proxy-user -U"
)
#: Those whose value can be several words here, because a variable is in it.
_HEADER_OPTIONS: Final = word_set("-h --header -headers -u --user")
_CURLS: Final = word_set(
    "curl curlie wget wget2 xh http https iwr irm invoke-webrequest invoke-restmethod uploadfile uploadstring uploaddata"
)
_TAKES_INPUT: Final = word_set("http https xh iwr irm invoke-webrequest invoke-restmethod")
_PIPES: Final = word_set("nc ncat netcat socat telnet websocat tftp ftp openssl mosquitto_pub ntfy ssh logger")
_MAILERS: Final = word_set("mail mailx mutt neomutt sendmail msmtp swaks send-mailmessage")
_RESOLVERS: Final = word_set("dig nslookup host drill ping kdig dog resolve-dnsname")
_GITHUBS: Final = word_set("gh glab")
_GITHUB_SENDS: Final = word_set("gist issue pr release snippet api mr")
_SENDERS: Final = _CURLS | _PIPES | _MAILERS | _RESOLVERS | _GITHUBS
_ALL_SENDERS: Final = _SENDERS | fetchers.PROGRAMS
_EVERYDAY: Final = word_set("http https host mail ftp gh")
_SENDER_WORDS: Final = triggers(
    (_SENDERS | word_set("tcp udp webrequest restmethod webclient mailmessage")) - _EVERYDAY
)
_SENDER_MARKS: Final = (
    *(b"http post", b"http put", b"http -", b"https post", b"https put", b"host ", b"mail -", b"ftp -", b"gh gist"),
    *(b"gh issue", b"gh pr", b"gh api", b"gh release", b"| mail ", b"ssh "),
)
_PRINTER_WORDS: Final = triggers(_PRINTERS)
_SOCKET_WORDS: Final = triggers(("tcp", "udp"))
_CONNECTIONS: Final = ("/dev/tcp/", "/dev/udp/", "/inet/")
_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?:[:/]|$)")
_OWN_HOSTS: Final = ("169.254.", "metadata.google.internal")


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every place where secrets, or the whole environment, are sent. :func:`secret_paths.find` has read the file before."""
    stores, places = lines_of(source, STORE), lines_of(source, STORE, SETTINGS)
    words = dumps_in(source)
    if any(mark in source.lowered for mark in _PRINTER_MARKS):
        words |= _PRINTER_WORDS
    if (words or places) and (source.has(_SENDER_WORDS) or any(mark in source.lowered for mark in _SENDER_MARKS)):
        yield from _Leak(source, SECRET_PATH, words | _SOCKET_WORDS, _opened).followed(places)
    if stores:
        yield from _in_programs(source, stores)
    if "toJSON(" in source.text:
        yield from _in_workflows(source)
    if places and source.has(_SENDING_WORDS):
        yield from _in_sentences(source, places)


def _places(text: str) -> bool:
    return any(_HARMLESS.search(place) is None for _, place in places_in(text, STORE, SETTINGS))


def _opened(command: shell.Command, _: str) -> Origin | None:
    """What a command puts out of a place of secrets, or of the environment."""
    dumped = dumps(command)
    if dumped is not None:
        return dumped
    first = shell.head(command)
    if first < 0:
        return None
    texts = command.texts()
    name = shell.program(texts[first])
    if name in _PRINTERS and _PRINTS.match(" ".join((name, *texts[first + 1 :]))) is not None:
        return Origin(shown(" ".join(texts)), 0, 0)
    words = [*texts[first + 1 :], *(word.text for word in command.reads)]
    reads = name in _READERS or name in _PACKERS or bool(command.reads) or texts[0] == "$()"
    if not reads or not any("." in word or "/" in word for word in words) or not any(map(_places, words)):
        return None
    return Origin(shown(" ".join(texts)), 0, 0, _packed(name, texts[first + 1 :]))


def _packed(name: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """The files that a command makes of what it reads."""
    if name in _ONTO:
        return tuple(arguments[-1:])
    if name in _ARCHIVERS:
        files = [argument for argument in arguments if not argument.startswith("-")]
        named = [after for option, after in pairwise(arguments) if option.lower() == "-destinationpath"]
        return tuple(named or files[1 if files[:1] == ["a"] else 0 :][:1])
    saves = []
    for option, after in pairwise([*arguments, ""]):
        if option.lower() in _OUTPUT_OPTIONS or (name in ("tar", "bsdtar") and _TAR_FILE.fullmatch(option)):
            saves.append(after)
        elif option.startswith("of="):
            saves.append(option.removeprefix("of="))
    return tuple(saved for saved in saves if saved and saved != "-")


class _Leak(Flow):
    """Follows the content of a place of secrets until a command sends it."""

    def followed(self, places: set[int]) -> list[RuleMatch]:
        """Return where it leaves. ``places``: the lines that name one."""
        self.sockets: set[str] = set()
        numbers = places | set(self.source.lines_with(self.words))
        if numbers:
            self._pass(numbers)
            if self.files or self.names:
                self._pass(numbers)  # a function that sends can stand before the line that reads
        return self.found

    def _origin(self, command: shell.Command, line: Line) -> Origin | None:
        own = super()._origin(command, line)
        if own is None and (self.files or self.names):
            first = shell.head(command)
            name = shell.program(command.words[first].text) if first >= 0 else ""
            if name in _READERS or name in _PACKERS:
                arguments = command.texts()[first + 1 :]
                for text in (*arguments, *(word.text for word in command.reads)):
                    known = self._saved(text) or self._named(text)
                    if known is not None:
                        return known._replace(saves=_packed(name, arguments))
        return own

    def _loop(self, command: shell.Command) -> None:
        super()._loop(command)
        texts = command.texts()
        if len(texts) > 3 and texts[2] == "in":
            # the variable is the name of a file: only what opens it has its content
            origin = next((known for text in texts[3:] if (known := self._named(text)) is not None), None)
            if origin is None and any(map(_places, texts[3:])):
                origin = Origin(shown(" ".join(texts)), 0, 0)
            if origin is not None:
                self.files.setdefault(f"${texts[1]}", origin)

    def _runs(self, command: shell.Command, line: Line, incoming: Origin | None, outputs: Outputs) -> None:
        texts = command.texts()
        if texts[0] == "exec" and any(target.startswith(_CONNECTIONS) for target in command.writes):
            self.sockets.add(f"&{texts[-1].strip('{}')}")
        if any(target.startswith(_CONNECTIONS) or target in self.sockets for target in command.writes):
            own = incoming or _opened(command, line.text) or self._handed_on(command, outputs)
            self._leaves(own, command, line)
        for index in _senders(texts):
            if self._sends(command, index, line, incoming, outputs):
                return
        first = shell.head(command)
        if first >= 0 and shell.program(texts[first]) in _ALL_SENDERS:
            self._sends_environment(command, first, line, incoming, outputs)

    def _sends_environment(
        self, command: shell.Command, index: int, line: Line, incoming: Origin | None, outputs: Outputs
    ) -> None:
        """Whatever takes the whole environment to the network, in whatever form."""
        found = incoming
        for word in command.words[index + 1 :]:
            found = found or child_origin(word, outputs) or self._named(word.text)
            found = found or self._saved(word.text.rpartition("@")[2])
        if found is not None and found.text == ENVIRONMENT:
            self._leaves(found, command, line)

    def _sends(self, command: shell.Command, index: int, line: Line, incoming: Origin | None, outputs: Outputs) -> bool:
        texts = command.texts()
        name = shell.program(texts[index])
        arguments = command.words[index + 1 :]
        if any(_LOCAL.match(word.text) or word.text.startswith(_OWN_HOSTS) for word in arguments):
            return False
        taken: list[tuple[shell.Word, bool]] = []
        """Words that are sent, and whether each names a file whose content is."""
        if name in _CURLS:
            taken = _data_of(arguments, is_httpie=name in ("http", "https", "xh"))
            incoming = incoming if _takes_input(name, command.words) else None
        elif name in _PIPES:
            if name == "openssl" and "s_client" not in texts:
                return False
            taken = [(word, True) for word in command.reads]
            if name in ("mosquitto_pub", "ntfy"):
                taken += [(word, False) for word in arguments]
        elif name in _MAILERS:
            taken = [(word, True) for word in (*command.reads, *arguments)]
        elif name in _RESOLVERS:
            taken, incoming = [(word, False) for word in arguments], None
        elif name in _GITHUBS:
            if len(arguments) < 2 or arguments[0].text not in _GITHUB_SENDS:
                return False
            taken = [
                (word, word.text.startswith(("@", "~", "/", ".", "$")) or "=@" in word.text) for word in arguments[1:]
            ]
            incoming = incoming if any(word.text == "-" or word.text.endswith("=-") for word in arguments) else None
        origin = incoming
        for word, is_file in taken:
            origin = origin or child_origin(word, outputs) or self._named(word.text)
            if origin is None and is_file:
                path = word.text.rpartition("@")[2].removeprefix("<").partition(";")[0]
                origin = self._saved(path)
                if origin is None and (_places(path) or (path == "{}" and any(map(_places, texts)))):
                    origin = Origin(shown(line.text[command.words[0].start : command.end]), line.first, 0)
        return self._leaves(origin, command, line)

    def _leaves(self, origin: Origin | None, command: shell.Command, line: Line) -> bool:
        if origin is None:
            return False
        last = shown(line.text[command.words[0].start : command.end])
        value = last if origin.text in last else f"{origin.text} {'|' if command.before is not None else ';'} {last}"
        number, column = self.source.place(line, command.words[0].start, command.words[0].text)
        self.found.append(RuleMatch(SECRET_PATH, value, number, column, ALARM))
        return True


def _senders(texts: Sequence[str]) -> Iterator[int]:
    """Which words of a command are programs that send."""
    for index, text in enumerate(texts[:16]):
        if text and (text[0].isalpha() or text[0] in "/.\"'") and "://" not in text and shell.program(text) in _SENDERS:
            yield index


def _data_of(arguments: Sequence[shell.Word], *, is_httpie: bool) -> list[tuple[shell.Word, bool]]:
    """What curl, wget and the like are told to send: the values of options for data, and what an address contains."""
    taken: list[tuple[shell.Word, bool]] = []
    skip = in_header = False
    for word, after in pairwise([*arguments, shell.Word("", 0)]):
        text = word.text
        option, equals, value = text.partition("=")
        in_header = in_header and not text.startswith("-") and "://" not in text
        if skip or in_header:
            skip = False
        elif option.lower() in _DATA_OPTIONS or option in _DATA_OPTIONS:
            is_file = option in _FILE_OPTIONS or option.lower() in _FILE_OPTIONS
            given = value if equals and option.startswith("--") else after.text
            word = word if equals and option.startswith("--") else after
            taken.append((word, is_file or "@" in given or "=<" in given))
            skip = word is after
        elif text in _OTHER_OPTIONS or text.lower() in _OTHER_OPTIONS:
            skip, in_header = True, text.lower() in _HEADER_OPTIONS
        elif text[:2] in ("-d", "-F", "-T") and len(text) > 2 and not text.startswith("--"):
            taken.append((word, "@" in text or text.startswith("-T")))
        elif "://" in text or "$" in text or word.children:
            taken.append((word, False))
        elif is_httpie and "@" in text:
            taken.append((word, True))
    return taken


def _takes_input(name: str, words: Sequence[shell.Word]) -> bool:
    """Whether a program sends what it is piped."""
    texts = [word.text for word in words]
    if name in _TAKES_INPUT or "xargs" in texts or "parallel" in texts:
        return True
    return any(
        text.endswith(("@-", "=-", "@/dev/stdin", "=/dev/stdin")) or text in ("-T-", "-T.") for text in texts
    ) or any(option in ("-T", "--upload-file") and after in ("-", ".") for option, after in pairwise(texts))


# -- programs ------------------------------------------------------------------------------------------------------------

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


def _in_programs(source: Source, stores: set[int]) -> Iterator[RuleMatch]:
    """What a program reads from a store and gives to a call that sends it. ``stores``: the lines that name one."""
    text, starts = source.text, source.text_starts
    if SENDS.search(text) is None and _STARTS_SENDER.search(text) is None:
        return
    named = [
        starts[number] + at
        for number in sorted(stores)
        for at, place in places_in(source.lines[number][:_LONGEST], STORE)
        if _HARMLESS.search(place) is None
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
            and _places(window)
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


# -- workflows -----------------------------------------------------------------------------------------------------------

_ALL_SECRETS = re.compile(r"\btoJSON\(\s{0,4}secrets\s{0,4}\)")
_UPLOADS = re.compile(
    r"\b(?:curl|wget)\b[^\n]{0,300}(?:\s-[dFT]|--(?:data|json|form|upload-file|post|body))|\bnc\s|/dev/tcp/"
)
_NEAR_LINES: Final = 12


def _in_workflows(source: Source) -> Iterator[RuleMatch]:
    """All secrets of a repository, in a step that sends something."""
    for match in _ALL_SECRETS.finditer(source.text):
        number = source.line_at(match.start())
        for line in range(max(0, number - _NEAR_LINES), min(len(source.lines), number + _NEAR_LINES)):
            sends = _UPLOADS.search(source.lines[line][:_LONGEST])
            if sends is not None:
                value = f"{match[0]} ; {shown(plain(source.lines[line].strip()))}"
                yield RuleMatch(SECRET_PATH, value, line, sends.start(), ALARM)
                break


# -- sentences -----------------------------------------------------------------------------------------------------------

_SENDING_WORDS: Final = triggers(
    "send sends sending upload uploads uploading post posts posting forward submit transmit exfiltrate email mail attach include "
    "append pass embed add deliver push"
)
_SENDING = re.compile(
    r"\b(?:send|upload|post|forward|submit|transmit|exfiltrate|e-?mail|deliver|push|attach|include|append|pass|embed|add)(?:s|ing)?\b",
    re.IGNORECASE,
)
_GATHERING = re.compile(
    r"\b(?:read|collect|gather|copy|get|load|open|extract|cat|grab|fetch|find|look up)\b", re.IGNORECASE
)
_WHAT_WAS_READ = re.compile(
    r"\b(?:send|upload|post|forward|submit|transmit|e-?mail|push)\s+(?:it|them|these|those|both|everything|all of (?:it|them)|"
    r"(?:the|its|their)\s+(?:\w+\s+)?(?:contents?|files?|output|results?|values?|archive|data|text))\b",
    re.IGNORECASE,
)
_WHERE_TO = re.compile(
    r"\b(?:to|at|via|through|into|using|with|call(?:ing)?|request(?:ing)?)\b[^.!?\n]{0,60}?(?:https?://(?!localhost|127\.)[\w.-]|\bwebhook\b|"
    r"\b(?:telegram|discord|slack)\b|\bpaste(?:bin)?\b|\bgist\b|\bour (?:server|endpoint|collector)\b|"
    r"\b[\w.+-]{1,40}@[\w-]{1,40}\.[a-z]{2,10}\b)",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:never|not|don't|doesn't|avoid|without|cannot|can't|no one|must not|should not|refuse|prevent|instead of|"
    r"attacker|malicious|would|could|may|might|flag|detect|block|if (?:a|the) (?:skill|prompt|page))\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n|]{1,400}(?:[.](?=\w)[^.!?\n|]{1,200}){0,12}")


def _in_sentences(source: Source, places: set[int]) -> Iterator[RuleMatch]:
    """A sentence that has the content of a place sent somewhere. ``places``: the lines that name one."""
    if not source.markdown:
        return
    for number in sorted(places):
        raw = source.lines[number][:_LONGEST]
        if source.is_code(number):
            continue
        for sentence in _SENTENCE.finditer(raw):
            said = sentence[0]
            if _NOT.search(said) is not None or not _places(said):
                continue
            sends = _SENDING.search(said) is not None and _WHERE_TO.search(said) is not None
            if sends or (_GATHERING.search(said) is not None and _is_sent_next(source, number, sentence.end())):
                yield RuleMatch(SECRET_PATH, shown(plain(said)), number, sentence.start(), ALARM)


def _is_sent_next(source: Source, number: int, end: int) -> bool:
    """Whether one of the next sentences has sent what this one has read."""
    following = "\n".join((source.lines[number][end:_LONGEST], *source.lines[number + 1 : number + _NEXT_LINES]))
    return any(
        _WHAT_WAS_READ.search(sentence[0]) is not None
        and _WHERE_TO.search(sentence[0]) is not None
        and _NOT.search(sentence[0]) is None
        for sentence in islice(_SENTENCE.finditer(following), _NEXT_SENTENCES)
    )


_NEXT_LINES: Final = 5
_NEXT_SENTENCES: Final = 5
