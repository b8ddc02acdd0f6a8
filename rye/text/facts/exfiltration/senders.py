"""What programs send of what they are given: which of their words, and whether what they are fed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Final, NamedTuple

from rye.text.facts import fetchers, shell
from rye.text.facts.secret_paths import is_store
from rye.text.facts.tables import triggers, word_set


class Given(NamedTuple):
    """A word that a command sends."""

    word: shell.Word
    is_file: bool
    """Whether it names a file whose content is sent."""
    is_header: bool = False
    """Whether it is a header, a cookie or a user, which services are made to be given: only what a store holds counts."""


class Sent(NamedTuple):
    """What a command sends."""

    given: list[Given]
    takes_input: bool
    to_own: bool = False
    """Whether such programs mostly talk to machines and spaces of one's own: settings are what one deploys there."""


_DATA_OPTIONS: Final = word_set(
    "-d --data --data-ascii --data-binary --data-raw --data-urlencode --json -F --form --form-string -T --upload-file "
    "-body -infile -form --post-file --body-file --post-data --body-data --body --url-query"
)
_FILE_OPTIONS: Final = word_set("-T --upload-file -infile --post-file --body-file")
#: Options of curl and the like whose value is no data; the others have none or are not worth a row.
_OTHER_OPTIONS: Final = word_set(
    "--cert --key --cacert --capath -E -K --config -o "
    "--output -x --proxy --netrc-file -w --write-out -X --request -m --max-time -c --cookie-jar --oauth2-bearer "
    "-credential -certificate -method -uri -outfile -contenttype --resolve --connect-to --retry --proxy-user -U"
)
_HEADER_OPTIONS: Final = word_set("-H --header -headers -u --user -b --cookie -A --user-agent -e --referer -useragent")
_CLUSTERED = re.compile(r"-[fgikLnNpqsSv#]{0,6}([dFT])")
#: Those whose value can be several words here, because a variable is in it.
_LONG_HEADERS: Final = word_set("-h --header -headers -u --user")
_CURLS: Final = word_set("curl curlie wget wget2 xh http https iwr irm invoke-webrequest invoke-restmethod")
#: A method of .NET's: ``$client.UploadFile(…)``.
_UPLOADS = re.compile(r"\.Upload(File|String|Data|Values)(?:Async|TaskAsync)?(?:\W|$)", re.IGNORECASE)
_TAKES_INPUT: Final = word_set("http https xh iwr irm invoke-webrequest invoke-restmethod")
_PIPES: Final = word_set("nc ncat netcat socat telnet websocat tftp openssl mosquitto_pub ntfy ssh logger")
_OWN_MACHINES: Final = word_set("ssh logger")
_SOCAT_FILE = re.compile(r"(?:FILE|OPEN|GOPEN|EXEC|SYSTEM):(?:cat )?([^,\s]{1,200})", re.IGNORECASE)
_ATTACHES: Final = word_set("-a -A --attach -attachments -i --file --image --document --body-file --attach-body")
_MAILERS: Final = word_set("mail mailx mutt neomutt sendmail msmtp swaks send-mailmessage telegram-send ssmtp himalaya")
_RESOLVERS: Final = word_set("dig nslookup host drill ping kdig dog resolve-dnsname delv")
_GITHUBS: Final = word_set("gh glab")
_GITHUB_SENDS: Final = word_set("gist issue pr release snippet api mr repo")
_FTPS: Final = word_set("ftp sftp lftp psftp tnftp")
_PUTS = re.compile(
    r"(?:^|[\s;\"'&|])(?:m?put|reput|mirror\s+(?:-\w+\s+){0,3}(?:-R|--reverse)(?:\s+-\w+){0,3})\s+(?:-\w+\s+){0,2}([^\s;\"']{1,300})"
)
PUTS: Final = word_set("put mput reput mirror")
"""What one types at the prompt of such a program."""
RUNS_BATCH: Final = re.compile(r"\b(?:p?sftp|lftp)\b[^\n]*\s-[bf]\s?\S|^\s*-[bf]\s+\S+\s+\S+@\S")
"""How such a program is told to run a file of what one types."""
STARTS_FTP: Final = re.compile(r"(?<![\w./-])(?:s|l|ps|tn)?ftp\s+(?!put\b)\S")


class _Copier(NamedTuple):
    """A program that copies files to another machine or into a space for files."""

    verbs: frozenset[str]
    """One of them stands before the files; if there are none, all arguments are looked at."""
    remote: re.Pattern[str] | None
    """What the last file must look like; None if all files are sent, wherever."""
    options: frozenset[str] = frozenset()
    """Options whose values are files that are sent."""


_REMOTE = re.compile(r"(?:[\w.@${}\[\]-]{2,120}:|(?:scp|rsync|sftp)://)(?!\\)")
_COPIERS: Final = {
    "scp": _Copier(frozenset(), _REMOTE),
    "pscp": _Copier(frozenset(), _REMOTE),
    "rsync": _Copier(frozenset(), _REMOTE),
    "aws": _Copier(word_set("cp mv sync put-object"), re.compile(r"s3://|$^"), word_set("--body")),
    "s5cmd": _Copier(word_set("cp mv sync"), re.compile("s3://")),
    "s3cmd": _Copier(word_set("put sync"), re.compile("s3://")),
    "gsutil": _Copier(word_set("cp mv rsync"), re.compile("gs://")),
    "gcloud": _Copier(word_set("cp mv rsync"), re.compile("gs://")),
    "azcopy": _Copier(word_set("copy cp sync"), re.compile("https?://")),
    "az": _Copier(word_set("upload upload-batch"), re.compile("$^"), word_set("-f --file -s --source")),
    "oci": _Copier(word_set("put bulk-upload"), re.compile("$^"), word_set("--file --src-dir")),
    "rclone": _Copier(word_set("copy copyto sync move moveto rcat"), re.compile(r":?[\w.$@{}-]{1,60}:")),
    "mc": _Copier(word_set("cp mirror put mv"), re.compile(r"[\w$-]{1,40}/")),
    "b2": _Copier(word_set("upload-file sync upload"), None),
    "start-bitstransfer": _Copier(frozenset(), re.compile("$^"), word_set("-source")),
    "ncftpput": _Copier(frozenset(), None),
    "wormhole": _Copier(word_set("send"), None),
    "wormhole-william": _Copier(word_set("send"), None),
    "croc": _Copier(word_set("send"), None),
    "ffsend": _Copier(word_set("upload"), None),
    "ipfs": _Copier(word_set("add"), None),
}
#: Options of copiers whose value is no file that is copied.
_COPIER_VALUES: Final = word_set(
    "-i -F -o -P -S -J -l -c -e --rsh --exclude --include --exclude-from --include-from --files-from --password-file "
    "--log-file --filter -f --bwlimit --port --rsync-path --temp-dir -T --partial-dir --backup-dir --link-dest "
    "--compare-dest --profile --region --endpoint-url --acl --content-type --sse --metadata --config --transfers "
    "--checkers --sftp-key-file --account --project --cache-control --storage-class --exclude-pattern --include-pattern "
    "--no-sign-request -u -p"
)
_SENDERS: Final = _CURLS | _PIPES | _MAILERS | _RESOLVERS | _GITHUBS | _FTPS | _COPIERS.keys()
ALL: Final = _SENDERS | fetchers.PROGRAMS
"""Every program that sends something, or fetches by sending something."""
EVERYDAY: Final = word_set("http https host mail ftp gh mc b2 az")
WORDS: Final = triggers(word.rpartition("-")[2] if "-" in word else word for word in (_SENDERS - EVERYDAY)) | triggers(
    [
        "tcp",
        "udp",
        "uploadfile",
        "uploadstring",
        "uploaddata",
        "uploadvalues",
        "webrequest",
        "restmethod",
        "webclient",
        "mailmessage",
        "ncftpput",
        "git",
        "http.server",
    ]
)
"""Without one of these words or ``MARKS``, no command of a text sends anything."""
MARKS: Final = (
    *(b"http post", b"http put", b"http -", b"https post", b"https put", b"host ", b"mail -", b"ftp -", b"gh gist"),
    *(
        b"gh issue",
        b"gh pr",
        b"gh api",
        b"gh release",
        b"| mail ",
        b"ssh ",
        b"ftp ",
        b"mc cp",
        b"mc mirror",
        b"b2 ",
        b"az storage",
    ),
)


def senders(command: shell.Command) -> Iterator[int]:
    """Which words of a command are programs that send. A program that looks for words, or prints them, only names some."""
    texts = command.texts()
    first = shell.head(command)
    if first >= 0 and shell.program(texts[first]) in _ONLY_NAMES:
        return
    for index, text in enumerate(texts[:_MOST_WORDS]):
        if not text or "://" in text:
            continue
        if index != first and shell.program(text) in EVERYDAY:
            continue  # a word of a sentence
        starts = text[0].isalpha() or text[0] in "/.\"'"
        if (starts and shell.program(text) in _SENDERS) or (text[0] in "$([" and _UPLOADS.search(text) is not None):
            yield index


_ONLY_NAMES: Final = word_set(
    "grep egrep fgrep rg echo printf which type man apt apt-get brew pip pip3 npm dnf yum apk pacman alias export sed awk pkill "
    "killall pgrep systemctl service"
)
_MOST_WORDS: Final = 16


def sent(command: shell.Command, index: int) -> Sent | None:
    """What the program at ``index`` of a command sends; None if it is told to do something else."""
    texts = command.texts()
    name = shell.program(texts[index])
    arguments = command.words[index + 1 :]
    reads = [Given(word, True) for word in command.reads]
    uploads = _UPLOADS.search(texts[index])
    if uploads is not None:
        inner = [word for child in command.words[index].children for part in child.commands for word in part.words]
        return Sent([Given(word, "://" not in word.text and uploads[1].lower() == "file") for word in inner], False)
    if name in _CURLS:
        given = _data_of(arguments, is_httpie=name in ("http", "https", "xh"))
        takes_input = _takes_input(name, command.words)
        return Sent([*given, *reads] if takes_input else given, takes_input)
    if name in _COPIERS:
        return _copied(name, arguments, reads)
    if name in _FTPS:
        return _put(command, arguments, reads)
    if name in _PIPES:
        if name == "openssl" and "s_client" not in texts:
            return None
        if name in ("mosquitto_pub", "ntfy"):
            reads += [Given(word, False) for word in arguments]
        elif name == "socat":
            for word in arguments:
                reads += [Given(shell.Word(match[1], word.start), True) for match in _SOCAT_FILE.finditer(word.text)]
        return Sent(reads, True, name in _OWN_MACHINES)
    if name in _MAILERS:
        attached = [after for option, after in pairwise(arguments) if option.text in _ATTACHES]
        return Sent(
            [*reads, *(Given(word, True) for word in attached), *(Given(word, False) for word in arguments)], True
        )
    if name in _RESOLVERS:
        return Sent([Given(word, False) for word in arguments], "xargs" in texts)
    return _given_to_github(texts, index, arguments)


def _given_to_github(texts: Sequence[str], index: int, arguments: Sequence[shell.Word]) -> Sent | None:
    if len(arguments) < 2 or arguments[0].text not in _GITHUB_SENDS:
        return None
    files = [after for option, after in pairwise(arguments) if option.text in ("-F", "--body-file", "--input")]
    if texts[index + 1 : index + 3] in (["gist", "create"], ["release", "upload"], ["release", "create"]):
        files += takewhile(lambda word: not word.text.startswith("#"), arguments[2:])
    files += [word for word in arguments if "=@" in word.text]
    if texts[index + 1 : index + 3] == ["repo", "create"]:
        files = (
            [after for option, after in pairwise(arguments) if option.text in ("--source", "-s")]
            if "--push" in texts
            else []
        )
    said = [
        after
        for option, after in pairwise(arguments)
        if option.text in ("-b", "--body", "-n", "--notes", "-f", "-F", "--field", "--raw-field")
    ]
    takes_input = any(word.text == "-" or word.text.endswith("=-") for word in arguments)
    return Sent(
        [*(Given(word, True) for word in files if " " not in word.text), *(Given(word, False) for word in said)],
        takes_input,
    )


def _copied(name: str, arguments: Sequence[shell.Word], reads: list[Given]) -> Sent | None:
    """The files that a copier sends somewhere else."""
    copier = _COPIERS[name]
    texts = [word.text for word in arguments]
    if name == "start-bitstransfer" and "upload" not in (text.lower() for text in texts):
        return None
    begin = next((at + 1 for at, text in enumerate(texts) if text in copier.verbs), -1) if copier.verbs else 0
    if begin < 0:
        return None
    named = [after for option, after in pairwise(arguments) if option.text.lower() in copier.options]
    named += [
        after
        for option, after in pairwise(arguments)
        if option.text in ("--include", "--filter") and is_store(after.text)
    ]
    files: list[shell.Word] = []
    skip = False
    for word in arguments[begin:]:
        option, equals, _ = word.text.partition("=")
        if skip:
            skip = False
        elif word.text.startswith("#"):
            break
        elif word.text.startswith("-") and len(word.text) > 1:
            skip = not equals and (option in _COPIER_VALUES or option in copier.options)
        else:
            files.append(word)
    if copier.remote is None:
        named += files
    elif len(files) > 1 and copier.remote.match(files[-1].text) is not None:
        named += [word for word in files[:-1] if copier.remote.match(word.text) is None or name == "mc"]
    if not named:
        return None
    given = [Given(word, True) for word in named if word.text != "-"]
    takes_input = any(word.text == "-" for word in named)
    return Sent([*given, *reads] if takes_input else given, takes_input, to_own=True)


def _put(command: shell.Command, arguments: Sequence[shell.Word], reads: list[Given]) -> Sent | None:
    """What a program for transfers is told to put: on its command line, or by a command before the pipe."""
    before = command.before.words if command.before is not None else []
    said = " ".join(word.text for word in before) + " ; " + " ".join(word.text for word in arguments)
    start = command.words[0].start
    return Sent([*(Given(shell.Word(match[1], start), True) for match in _PUTS.finditer(said))], False, to_own=True)


def _data_of(arguments: Sequence[shell.Word], *, is_httpie: bool) -> list[Given]:
    """What curl, wget and the like are told to send: the values of options for data, and what an address contains."""
    taken: list[Given] = []
    skip = in_header = False
    for word, after in pairwise([*arguments, shell.Word("", 0)]):
        text = word.text
        option, equals, value = text.partition("=")
        in_header = in_header and not text.startswith("-") and "://" not in text
        if skip or in_header:
            skip = False
            if in_header:
                taken.append(Given(word, False, True))
        elif option.lower() in _DATA_OPTIONS or option in _DATA_OPTIONS:
            is_file = option in _FILE_OPTIONS or option.lower() in _FILE_OPTIONS
            given = value if equals and option.startswith("--") else after.text
            word = word if equals and option.startswith("--") else after
            taken.append(Given(word, is_file or "@" in given or "=<" in given))
            skip = word is after
        elif option in _HEADER_OPTIONS or text.lower() in _HEADER_OPTIONS or text.lower() in _LONG_HEADERS:
            is_joined = bool(equals) and option.startswith("--")
            taken.append(Given(word if is_joined else after, False, True))
            skip, in_header = not is_joined, text.lower() in _LONG_HEADERS
        elif text in _OTHER_OPTIONS or text.lower() in _OTHER_OPTIONS:
            skip = True
        elif (clustered := _CLUSTERED.match(text)) is not None:
            word = word if len(text) > clustered.end() else after
            taken.append(Given(word, clustered[1] == "T" or "@" in word.text))
            skip = word is after
        elif "://" in text or "$" in text or word.children:
            taken.append(Given(word, False))
        elif is_httpie and "@" in text:
            taken.append(Given(word, True))
    return taken


def _takes_input(name: str, words: Sequence[shell.Word]) -> bool:
    """Whether a program sends what it is piped."""
    texts = [word.text for word in words]
    if name in _TAKES_INPUT or "xargs" in texts or "parallel" in texts:
        return True
    return any(
        text.endswith(("@-", "=-", "@/dev/stdin", "=/dev/stdin")) or text in ("-T-", "-T.") for text in texts
    ) or any(option in ("-T", "--upload-file") and after in ("-", ".") for option, after in pairwise(texts))
