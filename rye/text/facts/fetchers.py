"""Programs that fetch what their arguments name, one row each: what makes them fetch, and where they write the result."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice, pairwise
from typing import Final, NamedTuple

from rye.text.facts.shell import Command, Word, program
from rye.text.facts.tables import word_set

Saves = Callable[[list[str]], tuple[str, ...]]

_ADDRESS = re.compile(r"[$%/.:{@]|^url$|^localhost$|^address$|^\d{7,10}$", re.IGNORECASE)
#: An address in the parentheses of a call, or a variable that can hold one.
_NAMES_ADDRESS: Final = re.compile(r"://|\$\w|%\w")
_OUTPUT: Final = word_set("-o --output -O --output-document -outfile -destination --out -out")
#: With these, ``--output`` says how the result is printed.
_FORMATS: Final = word_set("json yaml table text csv tsv wide name jsonl xml")
_LONG_OUTPUT: Final = word_set("--output --output-document --out")
_SHORT_OUTPUT = re.compile(r"-[A-Za-z]*o")
_CURL_REMOTE_NAME = re.compile(r"--remote-name(?:-all)?|-[#0-9afgijklnpqsvBGIJLMNRSV]*O[A-Za-z]*")
_WGET_OUTPUT = re.compile(r"-[A-Za-z]*O-?")
_CODE = re.compile(
    r"urlopen|requests\.(?:get|post)|urllib|httpx\.|fetch\(|https?\.get|axios|file_get_contents|open-uri|"
    r"net/http|LWP|get\(http|URI\.open|downloadstring|downloadfile|downloaddata|urlretrieve|\bcopy\(|getstore|mirror\(|fopen\(|curl_init|readfile\(|Net::HTTP|HTTP::Tiny|Mojo::|"
    r"socket\.|create_connection|open_uri|Faraday|Deno\.|dns\.|resolveTxt|pycurl|wget\.download",
    re.IGNORECASE,
)
_DOWNLOADS: Final = ("downloadstring", "downloaddata", "downloadfile", "webclient")


def _nothing(_: list[str]) -> tuple[str, ...]:
    return ()


def _last(arguments: list[str]) -> tuple[str, ...]:
    return () if arguments[-1:] == ["-"] else tuple(arguments[-1:])


def _behind_address(arguments: list[str]) -> tuple[str, ...]:
    """The argument behind the address or hash, and the value of ``-o``: not that of an option."""
    named = _after_output(arguments)
    at = next((at for at, argument in enumerate(arguments) if _REMOTE.search(argument)), len(arguments))
    return named or tuple(argument for argument in arguments[at + 1 : at + 2] if not argument.startswith("-"))


_REMOTE = re.compile(r"://|^Qm|^bafy|/ip[fn]s/")


def _added(arguments: list[str]) -> tuple[str, ...]:
    """The last argument of ``ADD``, without a comment behind it."""
    return _last(arguments[: arguments.index("#")] if "#" in arguments else arguments)


def _copied(arguments: list[str]) -> tuple[str, ...]:
    """The last argument; in a folder, the names of what is copied there."""
    folder = arguments[-1] if arguments else ""
    if folder.endswith("/") or folder in (".", "..", "~"):
        return tuple(argument.rpartition(":")[2] for argument in arguments[:-1] if ":" in argument)
    return _last(arguments)


def _from_store(arguments: list[str]) -> tuple[str, ...]:
    """The files that a copy out of a store writes: the words behind the first address, and its last part in a folder."""
    first = next((at for at, argument in enumerate(arguments) if "://" in argument), len(arguments))
    others = [
        argument
        for at, argument in enumerate(arguments[first + 1 :])
        if not argument.startswith("-") and (at == 0 or "/" in argument or "." in argument)
    ]
    targets = [argument for argument in others if "://" not in argument]
    if targets and (targets[0] in (".", "..", "~") or targets[0].endswith("/")):
        targets.append(arguments[first].rpartition("/")[2])
    return tuple(targets)


def _named(arguments: list[str]) -> tuple[str, ...]:
    """The argument of ``-o`` and similar; with curl's ``-O``, the last part of each address."""
    saves = _after_output(arguments)
    return saves or (_by_address(arguments) if any(map(_CURL_REMOTE_NAME.fullmatch, arguments)) else ())


def _into_folder(arguments: list[str]) -> tuple[str, ...]:
    """The argument of ``-o`` and similar, or the last one."""
    return _after_output(arguments) or _last(arguments)


def _released(arguments: list[str]) -> tuple[str, ...]:
    """The argument of ``-O`` or ``--output``. What goes into a folder has no name here."""
    return tuple(after for option, after in pairwise(arguments) if option in ("-O", "--output")) or _named(arguments)


def _named_or_address(arguments: list[str]) -> tuple[str, ...]:
    """The argument of ``-o`` and similar, or the last part of each address."""
    return _after_output(arguments) or _by_address(arguments)


def _wget(arguments: list[str]) -> tuple[str, ...]:
    """The argument of ``-O``, nothing for ``-O-``, otherwise the last part of each address."""
    for argument, following in pairwise([*arguments, ""]):
        if argument.startswith("-") and _WGET_OUTPUT.fullmatch(argument):
            return () if argument.endswith("-") or following == "-" else (following,)
        option, equals, value = argument.partition("=")
        if option in _LONG_OUTPUT:
            return (value if equals else following,)
    return _by_address(arguments)


def _written_by_code(arguments: list[str]) -> tuple[str, ...]:
    """The files that code on a command line names behind an address: ``copy('https://…', 'var/x.php')``."""
    code = " ".join(arguments)
    at = code.find("://")
    return tuple(match[1] for match in islice(_FILE_IN_CODE.finditer(code, at), _MOST_PROGRAMS)) if at >= 0 else ()


def _others(arguments: list[str]) -> tuple[str, ...]:
    return tuple(argument for argument in arguments if "://" not in argument and not argument.startswith("-"))


def _after_output(arguments: list[str]) -> tuple[str, ...]:
    saves = []
    for argument, following in pairwise([*arguments, ""]):
        option, equals, value = argument.partition("=")
        if (value if equals else following) in _FORMATS:
            continue
        if equals and option in _LONG_OUTPUT:
            saves.append(value)
        elif (argument.lower() in _OUTPUT and argument != "-O") or _SHORT_OUTPUT.fullmatch(argument):
            saves.append(following)
    return tuple(saves)


def _by_address(arguments: list[str]) -> tuple[str, ...]:
    bare = (
        argument.partition("?")[0].partition("#")[0].rstrip("/")
        for argument in arguments
        if "/" in argument and not argument.startswith("-")
    )
    return tuple(address for address in bare if "/" in address.partition("://")[2] or "://" not in address)


_FILE_IN_CODE = re.compile(
    r"(?:^|[\s,(])((?:[~.$]{0,2}[\w$-]{0,40}/){0,6}[\w-]{1,60}\.(?:sh|py|js|mjs|cjs|php|rb|pl|lua|exe|bin|ps1|bat|run|so|dll|dylib|jar)|/(?:tmp|var|dev/shm|opt|usr)/[\w./-]{1,80})(?=[\s,;)]|$)"
)
_HANDLES_FILES: Final = frozenset(("COPY", "cp", "mv", "ln", "rm", "ls", "chmod", "chown", "which", "hash", "test"))
"""Programs that take another one for a file."""
_MOST_PROGRAMS: Final = 8
"""How many words of a command are tried as the program that fetches."""


class Fetcher(NamedTuple):
    """How a group of programs fetches."""

    programs: frozenset[str]
    when: re.Pattern[str] | None = None
    """Must match the arguments, joined with spaces; None if one that looks like an address is enough."""
    saves: Saves = _named
    spelled: str = ""
    """How the program must be written, where other spellings are everyday words."""
    only_asks: str = ""
    """The option with which it brings nothing, and only asks whether something is there."""


_URL: Final = re.compile("://")
_FETCHERS: Final = (
    Fetcher(word_set("curl curlie xh iwr irm invoke-webrequest invoke-restmethod lwp-request")),
    Fetcher(
        word_set("nc ncat netcat telnet cryptcat"),
        re.compile(r"(?:^| )-[a-z]*l[a-z]*(?:$| )|[$%/.:{@]|(?:^| )\w[\w-]* \d{2,5}(?:$| )"),
    ),
    Fetcher(word_set("socat dig nslookup drill rclone ztcp")),
    Fetcher(word_set("wget wget2"), saves=_wget, only_asks="--spider"),
    Fetcher(word_set("aria2c axel lwp-download"), saves=_named_or_address),
    Fetcher(word_set("bitsadmin"), re.compile(r"://|[$%]|/(?:transfer|addfile)\b.*[:<\\]", re.IGNORECASE), _others),
    Fetcher(word_set("start-bitstransfer tftp"), saves=_others),
    Fetcher(word_set("certutil"), re.compile(r"urlcache\b.*[:/$%<{@]", re.IGNORECASE), _others),
    Fetcher(word_set("fetch http https get lynx w3m links elinks ftp mshta regsvr32 msiexec rundll32"), _URL),
    Fetcher(word_set("webclient httpclient"), _URL),
    Fetcher(word_set("finger"), re.compile("@")),
    Fetcher(word_set("add"), re.compile(r"^(?:--\S+ )*https?://"), _added, spelled="ADD"),
    Fetcher(
        word_set("git"),
        re.compile(r"(?:^| )(?:show|cat-file)\b.*(?:FETCH_HEAD|origin/|upstream/|remotes/)|(?:^| )archive\b.*--remote"),
    ),
    Fetcher(
        word_set("svn hg ipfs"),
        re.compile(r"(?:^| )(?:export|cat|checkout|co|get|clone)\b.*(?:(?<!file)://|Qm|bafy|/ip[fn]s/)"),
        _behind_address,
    ),
    Fetcher(word_set("kubectl"), re.compile(r"(?:^| )get\b.*(?:jsonpath|go-template)")),
    Fetcher(word_set("redis-cli"), re.compile(r"(?:^| )-[hu] .*\b(?:get|GET|LPOP|BLPOP|HGET)\b")),
    Fetcher(word_set("resolve-dnsname resolvectl host"), re.compile(r"(?i)\btxt\b")),
    Fetcher(word_set("openssl"), re.compile(r"://|(?:^| )s_client(?:$| )")),
    Fetcher(
        word_set("gsutil s3cmd aws"),
        re.compile(r"(?:^| )(?:cp|mv|sync|rsync|get|cat)\b.*://"),
        _from_store,
    ),
    #: What a service, a database, a registry or an image prints.
    Fetcher(word_set("consul etcdctl vault"), re.compile(r"(?:^| )(?:kv )?get\b"), _nothing),
    Fetcher(word_set("gcloud az mc"), re.compile(r"(?:^| )(?:storage )?(?:cat|cp|blob download|pipe)\b"), _last),
    Fetcher(
        word_set("npm yarn pnpm"),
        re.compile(
            r"^(?:view|info|show|v)\b(?!.* (?:versions?|dist-tags\S*|name|license|engines\S*|repository\S*|time\S*|"
            r"\w*[dD]ependencies\S*)(?: |$))"
        ),
        _nothing,
    ),
    Fetcher(word_set("psql mysql mongosh mongo clickhouse-client"), re.compile(r"://|(?:^| )(?:-h|--host)"), _nothing),
    Fetcher(word_set("docker podman nerdctl"), re.compile(r"^run\b(?!.* (?:-v|--volume|--mount|-w)\b)"), _nothing),
    Fetcher(
        word_set(
            "mosquitto_sub kcat kafkacat whois snmpget snmpwalk ldapsearch smbclient wscat websocat grpcurl nats ntfy "
            "fetchmail twurl"
        )
    ),
    Fetcher(word_set("net"), re.compile(r"^use\b.*(?:://|\\\\|//)", re.IGNORECASE), _nothing),
    Fetcher(
        word_set("mount sshfs new-psdrive mount_webdav s3fs curlftpfs"),
        re.compile(r"://|(?:^| )//\w|\w:/\w|\\\\"),
        _nothing,
    ),
    Fetcher(word_set("glab"), re.compile(r"(?:^| )(?:api|snippet) ")),
    Fetcher(word_set("sftp"), re.compile(":"), _copied),
    Fetcher(word_set("scp rsync"), re.compile(r"(?:^| )[\w.@${}-]{2,}:\S+(?: \S+)*? (?![\w.@${}-]{2,}:)\S+$"), _copied),
    Fetcher(word_set("ssh"), re.compile(r"(?:^| )(?!-)[\w.-]*[@.\w][\w.-]* (?!-)\S"), spelled="ssh"),
    Fetcher(
        word_set("gh"),
        re.compile(r"(?:^| )(?:api|gist view|release download) |://"),
        _released,
    ),
    Fetcher(word_set("oras crane"), re.compile(r"^(?:pull|copy|export|blob fetch|blob)\b"), _into_folder),
    Fetcher(word_set("perl php ruby python python3 node nodejs deno bun lua"), _CODE, _written_by_code),
)
_BY_PROGRAM: Final = {name: fetcher for fetcher in _FETCHERS for name in fetcher.programs}

PROGRAMS: Final = frozenset(_BY_PROGRAM)
"""Every program that can fetch."""


_FOLDER_OPTIONS: Final = word_set("-P --directory-prefix --output-dir -D --dir --destination-dir")
_INTO_FOLDERS: Final = word_set("oras crane")


def folders_of(command: Command) -> tuple[str, ...]:
    """The folders that a command which fetches fills, as far as it names them."""
    texts = command.texts()
    folders = [after for option, after in pairwise(texts) if option in _FOLDER_OPTIONS]
    programs = {program(text) for text in texts[:_MOST_PROGRAMS]}
    if not programs.isdisjoint(_INTO_FOLDERS):
        folders += _after_output(texts)
    return tuple(folder.rstrip("/") for folder in folders if folder.rstrip("/"))


def fetcher_of(command: Command) -> tuple[int, str, tuple[str, ...]] | None:
    """Return the index of the fetching word in ``command``, its arguments in parentheses, and the files that it writes."""
    words = command.words
    if words and words[0].text in _HANDLES_FILES and not any(word.text == "PROGRAM" for word in words):
        return None  # ``COPY --from=tools /bin/wget /usr/local/bin/`` fetches nothing
    given = command.before is not None and any(program(word.text) in ("xargs", "parallel") for word in words)
    last_address = max((at for at, word in enumerate(words) if word.children or _is_address(word.text)), default=-1)
    looked_at = 0
    for index, word in enumerate(words):
        lowered = word.text.lower()
        if any(name in lowered for name in _DOWNLOADS):
            inner = [text for child in word.children for part in child.commands for text in part.texts()]
            made = index > 0 and words[index - 1].text.lower() == "new-object"
            if not made and (not any(map(_NAMES_ADDRESS.search, inner)) if inner else last_address <= index):
                continue  # the name of a call, in a sentence about it, or its definition
            saves = (
                tuple(part.strip(",)") for part in inner if "://" not in part and _is_address(part) and part != "$()")
                if "file" in lowered
                else ()
            )
            return index, " ".join(inner), saves
        fetcher = _BY_PROGRAM.get(program(word.text))
        if (
            fetcher is None
            or looked_at >= _MOST_PROGRAMS
            or (fetcher.when is None and last_address <= index and not given)
        ):
            continue
        if (fetcher.spelled and word.text != fetcher.spelled) or word.text.endswith(":"):
            continue  # another spelling, or a key: ``"certutil.exe": {…}``
        looked_at += 1
        arguments = [other.text for other in words[index + 1 :]]
        if fetcher.only_asks and fetcher.only_asks in arguments:
            continue
        if fetcher.when is _CODE:
            arguments = [f"{other.text}{_parentheses(other)}" for other in words[index + 1 :]]
        if fetcher.when is None or fetcher.when.search(" ".join(arguments)):
            return index, "", fetcher.saves(arguments)
    return None


def _parentheses(word: Word) -> str:
    """A word's parentheses as code has them: ``copy(a, b)``."""
    return "".join(f"({' '.join(text for part in child.commands for text in part.texts())})" for child in word.children)


def _is_address(text: str) -> bool:
    return not text.startswith("-") and _ADDRESS.search(text.strip(".,;:!?")) is not None
