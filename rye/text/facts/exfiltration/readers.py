"""What a command puts out of a place of secrets: a file as it is, packed, encoded or filtered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Final

from rye.text.facts import interpreters, shell
from rye.text.facts.secret_paths import holds_secrets, is_store
from rye.text.facts.shell import shown
from rye.text.facts.source import Origin
from rye.text.facts.tables import Spellings, triggers, word_set

#: Programs that put out a file as it is, packed or encoded.
READERS: Final = word_set(
    "cat head tail less more tac nl bat base64 base32 xxd od hexdump gzip zcat bzip2 xz zstd strings type get-content gc "
    "certutil dd pv tee uuencode basenc sort uniq rev fold paste shuf split pr fmt expand column iconv"
)
#: Programs that put several files or a folder into one, or copy them.
PACKERS: Final = word_set(
    "tar zip 7z 7za 7zr rar gpg gpg2 openssl age cpio ar bsdtar compress-archive cp copy copy-item install mv move xcopy "
    "robocopy sqlite3 find ditto"
)
#: Programs that put out what an expression chooses; most often that is one setting.
_FILTERS: Final = word_set("sed awk gawk mawk grep egrep fgrep zgrep rg jq cut perl")
#: Filters whose first argument is the expression, not a file.
_TAKES_EXPRESSION: Final = _FILTERS - {"cut"}
_EXPRESSION_OPTIONS: Final = word_set("-e -f --regexp --expression --file")
_VALUE_OPTIONS: Final = word_set("-d -F -v -m -A -B -C --max-count --include --exclude --color --arg")
#: Expressions that choose everything.
_WHOLE: Final = frozenset(
    ("", ".", "^", "$", ".*", "1", "p", "{print}", "{print $0}", "{ print }", "{ print $0 }", "NR")
)
#: With these, a filter prints none of the content: it writes to the file, counts, or names files.
_PRINTS_NONE = re.compile(
    r"-[a-zA-Z]{0,3}[qclLi][a-zA-Z]{0,3}(?:\.\w{1,8})?|--(?:quiet|count|files-with\w{0,12}|in-place\S{0,8})"
)
#: What openssl and gpg are told to do with a key other than to put it out.
_USES_KEY: Final = word_set(
    "-pubout -sign -verify -decrypt --sign --decrypt -s --detach-sign --verify --import s_client -d --armor-sign"
)
_KEEPS_KEY: Final = word_set("enc base64 smime cms zlib cat aes-256-cbc aes-128-cbc chacha20 rsa pkey ec pkcs12 pkcs8")
#: Commands that print what a store holds, with their first words.
_PRINTS = re.compile(
    r"security dump-keychain\b|secret-tool search\b|"
    r"kubectl get secrets?\b.*-o ?(?:yaml|json)|aws configure export-credentials\b|"
    r"bw (?:export|list)\b|op item list\b|gh auth token\b|"
    r"git credential fill\b|kubectl config view\b.*--raw\b|history\b|"
    r"gpg2? (?:\S+ )*--export-secret-keys\b|netsh wlan show profile\b.*key=clear"
)
_PRINTERS: Final = word_set("security secret-tool kubectl aws bw op gh git history gpg gpg2 netsh")
PRINTER_SPELLINGS: Final = Spellings(
    {
        "dump": ("dump-keychain",),
        "raw": ("view --raw", "--minify --raw"),
        "search": ("secret-tool search",),
        "secret": ("get secret",),
        "secrets": ("get secret",),
        "export": ("export-credentials", "bw export", "export-secret-keys"),
        "list": ("bw list",),
        "item": ("op item ",),
        "token": ("auth token",),
        "fill": ("credential fill",),
        "clear": ("key=clear",),
        "history": ("history |", "history|", "history >"),
    }
)
"""Spellings without which no command of a text prints a store."""
PRINTER_WORDS: Final = triggers(_PRINTERS)
#: Programs that name files for the command behind a pipe.
_LISTERS: Final = word_set("ls find fd locate echo printf dir get-childitem gci")
_OUTPUT_OPTIONS: Final = word_set(
    "-o --output -out --out -f -czf -cf -czvf -cvf -cjf -cJf -zcf -zcvf -jcf -destinationpath"
)
_TAR_FILE = re.compile(r"-?[A-Za-z]{0,8}f")
_ONTO: Final = word_set("cp copy copy-item install mv move xcopy ditto")
_ARCHIVERS: Final = word_set("zip 7z 7za 7zr rar compress-archive")


def opened(command: shell.Command, folder: str) -> Origin | None:
    """What a command puts out of a place of secrets. ``folder``: the place that it works in, if that is one."""
    first = shell.head(command)
    if first < 0:
        return None
    texts = command.texts()
    name = shell.program(texts[first])
    if name in interpreters.SHELLS:  # ``sh -c 'cat FILE'``
        code = interpreters.code_words(command)
        if len(code) < 2:
            return None
        first = command.words.index(code[0])
        name = shell.program(texts[first])
    if name in _PRINTERS and _PRINTS.match(" ".join((name, *texts[first + 1 :]))) is not None:
        return Origin(shown(" ".join(texts)), 0, 0, packed(name, texts[first + 1 :]))
    holds = holds_secrets
    arguments = texts[first + 1 :]
    if name in _FILTERS:
        arguments, is_whole = _files_of_filter(name, arguments)
        holds = holds_secrets if is_whole else is_store
    elif name in ("openssl", "gpg", "gpg2", "age") and _uses_key(name, arguments):
        return None
    elif not (
        name in READERS
        or name in PACKERS
        or (bool(command.reads) and (texts[0] == "$()" or first + 1 == len(texts) or name == "tr"))
        or texts[0] == "$()"
    ):
        return _listed(command, first)
    words = [*_taken(arguments, lists=name == "zip"), *(word.text for word in command.reads)]
    if folder:
        words += [within(word, folder) for word in words] or [folder]
    if not any("." in word or "/" in word for word in words) or not (any(map(holds, words)) or holds(" ".join(words))):
        return _listed(command, first) if name in READERS or name in PACKERS else None
    return Origin(shown(" ".join(texts)), 0, 0, packed(name, texts[first + 1 :]))


def _listed(command: shell.Command, first: int) -> Origin | None:
    """What ``xargs`` has a program read whose files the command before names: ``ls ~/.ssh/id_* | xargs cat``."""
    before = command.before
    texts = command.texts()
    takes_names = "xargs" in texts[:first] or ("-T" in texts and "-" in texts) or "--files-from=-" in texts
    if before is None or not before.words or not takes_names:
        return None
    named = before.texts()
    at = shell.head(before)
    name = shell.program(command.words[first].text)
    if (
        at < 0
        or shell.program(named[at]) not in _LISTERS
        or not (name in READERS or name in PACKERS or name in _FILTERS)
    ):
        return None
    if not any(map(is_store, named[at + 1 :])):
        return None
    return Origin(shown(f"{' '.join(named)} | {' '.join(texts)}"), 0, 0, packed(name, texts[first + 1 :]))


def within(text: str, folder: str) -> str:
    """A relative path as seen from outside of the folder; any other word as it is."""
    if not text or text[0] in "/~$-<{%\"'" or "://" in text or "=" in text:
        return text
    return f"{folder}/{text}"


def _files_of_filter(name: str, arguments: Sequence[str]) -> tuple[list[str], bool]:
    """The files that a filter reads, and whether its expression chooses everything."""
    files: list[str] = []
    expressions: list[str] = []
    skip = ""
    for text in arguments:
        if skip:
            if skip in _EXPRESSION_OPTIONS:
                expressions.append(text)
            skip = ""
        elif text in _VALUE_OPTIONS or (text in _EXPRESSION_OPTIONS and name != "cut"):
            skip = text
        elif text.startswith("-") and len(text) > 1:
            if _PRINTS_NONE.fullmatch(text) is not None and not (
                name in ("sed", "perl", "rg", "jq") and "i" not in text
            ):
                return [], False
        elif name in _TAKES_EXPRESSION and not expressions:
            expressions.append(text)
        else:
            files.append(text)
    if not files and len(expressions) == 1 and expressions[0].startswith(("/", "~", "$", "./")):
        return expressions, False  # an empty expression: its quotes are gone
    return files, bool(expressions) and all(text in _WHOLE for text in expressions)


def _uses_key(name: str, arguments: Sequence[str]) -> bool:
    """Whether openssl and its like only use a key that they are given: to sign, to decrypt, for its public half."""
    if name == "openssl" and (not arguments or arguments[0].removeprefix("-") not in _KEEPS_KEY):
        return True
    return not _USES_KEY.isdisjoint(arguments)


def _taken(arguments: Sequence[str], *, lists: bool) -> Iterator[str]:
    """The arguments without those that say what is left out. ``lists``: all words behind ``-x``, up to the next option."""
    skip = listed = False
    for text, after in pairwise([*arguments, ""]):
        listed = lists and (text in ("-x", "--exclude") or (listed and not text.startswith("-")))
        if listed:
            continue
        if skip or text.startswith(("--exclude", "-xr!", "-x!")):
            skip = text == "--exclude"
        elif text in ("-x", "!", "-not"):
            if text != "-x":
                return
            skip = True
        elif after != "-prune":
            yield text


def _is_no_switch(text: str) -> bool:
    """Whether a word is none of PowerShell's switches, whose values follow: ``-ErrorAction SilentlyContinue``."""
    return not (text[:1] == "-" and text[1:2].isupper() and len(text) > len("-Rf"))


def packed(name: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """The files that a command makes of what it reads."""
    if name in _ONTO:
        into = [after for option, after in pairwise(arguments) if option == "-t"]
        return tuple(into or [text for text in takewhile(_is_no_switch, arguments) if not text.startswith("-")][-1:])
    if name in _ARCHIVERS:
        files = [argument for argument in arguments if not argument.startswith("-")]
        named = [after for option, after in pairwise(arguments) if option.lower() == "-destinationpath"]
        return tuple(named or files[1 if files[:1] == ["a"] or name == "compress-archive" else 0 :][:1])
    saves = []
    for option, after in pairwise([*arguments, ""]):
        if option.lower() in _OUTPUT_OPTIONS or (name in ("tar", "bsdtar") and _TAR_FILE.fullmatch(option)):
            saves.append(after)
        elif option.startswith("of="):
            saves.append(option.removeprefix("of="))
    return tuple(saved for saved in saves if saved and saved != "-")
