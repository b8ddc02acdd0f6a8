"""What is in a place of secrets, followed on command lines until a command sends it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Final

from rye.text.facts import fetchers, shell
from rye.text.facts.environment import VALUE as ENVIRONMENT
from rye.text.facts.environment import dumps, dumps_in
from rye.text.facts.fact import ALARM, SECRET_PATH
from rye.text.facts.flow import Flow, Outputs, child_origin
from rye.text.facts.secret_paths import STORE, holds_secrets, places_in
from rye.text.facts.shell import shown
from rye.text.facts.source import Line, Origin, RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

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
    r"security dump-keychain\b|secret-tool search\b|"
    r"kubectl get secrets?\b.*-o ?(?:yaml|json)|aws configure export-credentials\b|"
    r"bw (?:export|list)\b|op item list\b|gh auth token\b|"
    r"git credential fill\b|kubectl config view\b.*--raw\b|history\b|"
    r"gpg2? (?:\S+ )*--export-secret-keys\b|netsh wlan show profile\b.*key=clear"
)
_PRINTERS: Final = word_set("security secret-tool kubectl aws bw op gh git history gpg gpg2 netsh")
_PRINTER_MARKS: Final = (
    *(b"dump-keychain", b"view --raw", b"--minify --raw", b"secret-tool search", b"get secret"),
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
#: What takes one setting out of a file of them, or looks for some.
_CUTS: Final = word_set("cut awk gawk head tail wc")
_SEARCHES: Final = word_set("grep egrep rg")
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
_CLUSTERED = re.compile(r"-[fgikLnNpqsSv#]{0,6}([dFT])")
#: Those whose value can be several words here, because a variable is in it.
_HEADER_OPTIONS: Final = word_set("-h --header -headers -u --user")
_CURLS: Final = word_set(
    "curl curlie wget wget2 xh http https iwr irm invoke-webrequest invoke-restmethod uploadfile uploadstring uploaddata"
)
_TAKES_INPUT: Final = word_set("http https xh iwr irm invoke-webrequest invoke-restmethod")
_PIPES: Final = word_set("nc ncat netcat socat telnet websocat tftp ftp openssl mosquitto_pub ntfy ssh logger")
_OWN_MACHINES: Final = word_set("ssh logger")
"""They mostly talk to machines of one's own: settings are what one deploys there."""
_ATTACHES: Final = word_set("-a -A --attach -attachments")
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


def find(source: Source, places: set[int]) -> Iterator[RuleMatch]:
    """Yield every command that sends secrets, or the whole environment. ``places``: the lines that name a place of secrets."""
    words = dumps_in(source)
    if any(mark in source.lowered for mark in _PRINTER_MARKS):
        words |= _PRINTER_WORDS
    if (words or places) and (source.has(_SENDER_WORDS) or any(mark in source.lowered for mark in _SENDER_MARKS)):
        yield from _Leak(source, SECRET_PATH, words | _SOCKET_WORDS, _opened).followed(places)


def _is_store(text: str) -> bool:
    return any(True for _ in places_in(text, STORE))


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
    words = [*_taken(texts[first + 1 :]), *(word.text for word in command.reads)]
    reads = name in _READERS or name in _PACKERS or bool(command.reads) or texts[0] == "$()"
    if not reads or not any("." in word or "/" in word for word in words) or not any(map(holds_secrets, words)):
        return None
    return Origin(shown(" ".join(texts)), 0, 0, _packed(name, texts[first + 1 :]))


def _taken(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments without those that say what is left out."""
    skip = False
    for text, after in pairwise([*arguments, ""]):
        if skip or text.startswith(("--exclude", "-xr!", "-x!")):
            skip = text == "--exclude"
        elif text in ("-x", "!", "-not"):
            if text != "-x":
                return
            skip = True
        elif after != "-prune":
            yield text


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

    def _incoming(self, command: shell.Command, group: shell.Group, outputs: Outputs, line: Line) -> Origin | None:
        incoming = super()._incoming(command, group, outputs, line)
        first = shell.head(command) if incoming is not None else -1
        if incoming is None or first < 0:
            return incoming
        name, after = shell.program(command.words[first].text), [word.text for word in command.words[first + 1 :]]
        counts = name == "wc" or (name in _SEARCHES and "-c" in after)
        takes_one = name in _CUTS or (name in _SEARCHES and any(text.startswith("^") for text in after))
        return None if counts or (takes_one and not _is_store(incoming.text)) else incoming

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
            if origin is None and any(map(holds_secrets, texts[3:])):
                origin = Origin(shown(" ".join(texts)), 0, 0)
            if origin is not None:
                self.files.setdefault(f"${texts[1]}", origin)

    def _assign(self, command: shell.Command, outputs: Outputs) -> None:
        last = {id(word): _printed_by(word, outputs) for word in command.words if word.children}
        if all(origin is not None for origin in last.values()):
            super()._assign(command, outputs)

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
            found = found or _printed_by(word, outputs) or self._named(word.text)
            found = found or self._saved(word.text.rpartition("@")[2])
        if found is not None and found.text == ENVIRONMENT:
            self._leaves(found, command, line)

    def _sends(self, command: shell.Command, index: int, line: Line, incoming: Origin | None, outputs: Outputs) -> bool:
        texts = command.texts()
        name = shell.program(texts[index])
        arguments = command.words[index + 1 :]
        addresses = [word.text for word in arguments if "://" in word.text]
        if addresses and all(
            _LOCAL.match(text) or text.partition("://")[2].startswith(_OWN_HOSTS) for text in addresses
        ):
            return False
        taken: list[tuple[shell.Word, bool]] = []
        """Words that are sent, and whether each names a file whose content is."""
        if name in _CURLS:
            taken = _data_of(arguments, is_httpie=name in ("http", "https", "xh"))
            if _takes_input(name, command.words):
                taken += [(word, True) for word in command.reads]
            else:
                incoming = None
        elif name in _PIPES:
            if name == "openssl" and "s_client" not in texts:
                return False
            taken = [(word, True) for word in command.reads]
            if name in _OWN_MACHINES:
                taken = [entry for entry in taken if _is_store(entry[0].text)]
                incoming = incoming if incoming is not None and _is_store(incoming.text) else None
            if name in ("mosquitto_pub", "ntfy"):
                taken += [(word, False) for word in arguments]
        elif name in _MAILERS:
            attached = [after for option, after in pairwise(arguments) if option.text in _ATTACHES]
            taken = [(word, True) for word in (*command.reads, *attached)]
        elif name in _RESOLVERS:
            taken, incoming = [(word, False) for word in arguments], None
        elif name in _GITHUBS:
            if len(arguments) < 2 or arguments[0].text not in _GITHUB_SENDS:
                return False
            files = [after for option, after in pairwise(arguments) if option.text in ("-F", "--body-file")]
            if texts[index + 1 : index + 3] == ["gist", "create"]:
                files += takewhile(lambda word: not word.text.startswith("#"), arguments[2:])
            files += [word for word in arguments if "=@" in word.text]
            said = [after for option, after in pairwise(arguments) if option.text in ("-b", "--body", "-n", "--notes")]
            taken = [*((word, True) for word in files if " " not in word.text), *((word, False) for word in said)]
            incoming = incoming if any(word.text == "-" or word.text.endswith("=-") for word in arguments) else None
        origin = incoming
        for word, is_file in taken:
            origin = origin or _printed_by(word, outputs) or self._named(word.text)
            if origin is None and is_file:
                path = word.text.rpartition("@")[2].removeprefix("<").partition(";")[0]
                origin = self._saved(path)
                if origin is None and (holds_secrets(path) or (path == "{}" and any(map(holds_secrets, texts)))):
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


def _printed_by(word: shell.Word, outputs: Outputs) -> Origin | None:
    """What the substitutions of a word print: what the last command of each pipe does."""
    for child in word.children:
        read = {id(command.before) for command in child.commands}
        for command in child.commands:
            if id(command) not in read and outputs.get(id(command)) is not None:
                return outputs[id(command)]
    return child_origin(word, outputs) if any(len(child.commands) < 2 for child in word.children) else None


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
        elif (clustered := _CLUSTERED.match(text)) is not None:
            word = word if len(text) > clustered.end() else after
            taken.append((word, clustered[1] == "T" or "@" in word.text))
            skip = word is after
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
