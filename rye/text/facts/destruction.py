"""``destruction``: files of the user are locked or deleted as a whole, or the copies that would bring them back.

It is an alarm if files are encrypted one by one and their originals go, which is what ransom does; everything else is a caution.
``rm -rf ~``, ``mkfs`` and ``dd`` onto a disk are ``safety-off`` (:mod:`rye.text.facts.safety_off`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts import shell
from rye.text.facts.fact import ALARM, DESTRUCTION
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import Spellings, triggers, word_set

_HOME: Final = (
    r"(?:~|\$\{?HOME\}?|/home(?:/[\w*$.{}-]{1,40})?|/Users(?:/[\w*$.{}-]{1,40})?|/root|%USERPROFILE%|\$env:USERPROFILE|"
    r"C:[\\/](?:Users(?:[\\/][\w*%.-]{1,40})?)?)"
)
#: A whole home folder, the root, or a folder of everybody's documents.
_ALL_FILES = re.compile(
    rf"(?:{_HOME}(?:/(?:Documents|Desktop|Pictures|Downloads|Projects|\*|\.\*|\.\[!\.\]\*)){{0,2}}|/|/\*|~/\*)/?"
)
_COMMANDS: Final = Spellings(
    {
        **{word: (word,) for word in ("shred", "srm", "vssadmin", "wbadmin", "bcdedit", "shadowcopy", "sdelete")},
        "find": ("-delete", "-exec rm", "-exec shred", "xargs rm"),
        "item": ("remove-item",),
        "del": ("del /",),
        "rd": ("rd /",),
        "cipher": ("cipher /w",),
    }
)
#: Copies that would bring files back, and what starts a machine again.
_RECOVERY = re.compile(
    r"\bvssadmin(?:\.exe)?\s+delete\s+shadows\b|\bwbadmin(?:\.exe)?\s+delete\s+(?:catalog|systemstatebackup|backup)\b|"
    r"\bwmic(?:\.exe)?\s+shadowcopy\s+delete\b|\bbcdedit(?:\.exe)?\s+/set\s+\S{1,20}\s+recoveryenabled\s+no\b|\bcipher(?:\.exe)?\s+/w:",
    re.IGNORECASE,
)
#: What encrypts a file on a command line or in a program, and what its original goes with.
_ENCRYPTS = re.compile(
    r"\bgpg2?\s[^\n;|&]{0,120}(?:\s-c\b|--symmetric|-e\b|--encrypt|--batch)|\bopenssl\s+(?:enc|smime|cms|aes-\w{3,8}(?:-cbc)?)\b(?![^\n]{0,120}\s-d\b)|"
    r"\bage\s+(?:-r|-p|-R|-e)\b|\bccrypt\b|\b(?:7za?|zip)\s[^\n;|&]{0,80}\s(?:-p\S|-P\s|--password|-e\b)|"
    r"\bFernet\(|\.encrypt\(|\bAES\.new\(|\bcreateCipheriv\(|\bChaCha20\w{0,8}\(|\bCryptoStream\b|\bAesManaged\b|\bAes(?:CryptoServiceProvider)?\]?::Create|"
    r"\baes\.NewCipher\(|\bSecretBox\(|\bpyAesCrypt\.encryptFile\("
)
_ENCRYPT_WORDS: Final = triggers(
    "gpg gpg2 openssl ccrypt 7z 7za fernet encrypt aes createcipheriv chacha20_poly1305 chacha20poly1305 "
    "cryptostream aesmanaged "
    "newcipher secretbox pyaescrypt"
)
#: A text without one of these goes through no folder and loses no file.
_FILE_WORDS: Final = triggers(
    "find for walk rglob glob readdirsync childitem rm shred unlink unlinksync rmsync remove rename home expanduser homedir"
)
_WALKS = re.compile(
    rf"\bfind\s+[\"']?(?:{_HOME}|/)(?:/[\w.*-]{{0,40}})?[\"']?\s|\bfor\s+\w{{1,20}}\s+in\s+[^\n]{{0,20}}{_HOME}|\bos\.walk\(|\.rglob\(|"
    r"\bglob\.i?glob\(|\breaddirSync\(|\bwalk\w{0,8}\(|"
    r"\bGet-ChildItem\b[^\n]{0,120}-Recurse|\bfilepath\.Walk\w{0,4}\(|\bglob\w{0,5}\([^\n]{0,60}\*\*"
)
_LOSES = re.compile(
    r"(?<![\w-])(?:rm|shred|srm)\s+(?:-\w+\s+){0,4}[\"']?(?:\$\{?\w|\{\})|\bos\.(?:remove|unlink)\(|\.unlink\(|\bunlink(?:Sync)?\(|\brmSync\(|"
    r"\bRemove-Item\b|\bos\.Remove\(|\bshutil\.rmtree\(|-exec\s+(?:rm|shred)\b|\bos\.(?:rename|replace)\(|\brenameSync\("
)
_OF_HOME = re.compile(
    rf"{_HOME}|\bexpanduser\(|\bPath\.home\(\)|\bhomedir\(\)|\bUserHomeDir\(\)|\bSpecialFolder\]?::|\bDocuments\b|\bDesktop\b|\bMyDocuments\b"
)
#: What is left behind for the owner.
_DEMANDS = re.compile(
    r"\bransom\b|\b(?:files?|documents|data)\s+(?:\w+\s+){0,3}?(?:have\s+been|are|were)\s+(?:now\s+)?(?:encrypted|locked)\b|\bto\s+(?:recover|decrypt|unlock|restore)\s+"
    r"(?:your|the|them|it)\b[^.\n]{0,80}\b(?:pay|send|btc|bitcoin|monero|contact|e-?mail)|\.(?:locked|crypted|encrypted|enc)[\"'`]|\b(?:DECRYPT|RECOVER|RESTORE)_?(?:YOUR_?)?(?:FILES|ME|README|INSTRUCTIONS)\b",
    re.IGNORECASE,
)
_NEAR: Final = 40
"""How many lines can lie between what goes through files, what encrypts them and what loses the originals."""
#: A sentence that has the files of the user encrypted or deleted.
_THINGS = (
    r"(?:files?|documents?(?:\s+folder)?|home\s+(?:folder|directory)|photos|pictures|backups?|repositor(?:y|ies)|hard\s+drive|disks?|"
    r"data|databases?|folders?|projects?)"
)
_ORDERS = re.compile(
    r"\b(?:encrypt|lock|delete|wipe|erase|destroy|shred|overwrite|remove)\s+(?:(?:all|every(?:thing)?|each)\b"
    rf"(?:\s+(?:of|the|{_THINGS}|and|in|on|under|from|their|his|her|other)){{0,8}}?"
    r"(?:\s+(?:the\s+)?(?:user(?:'s|\u2019s)?|victim(?:'s)?|machine|computer|disk|hard\s+drive|home\s+(?:folder|directory)|documents\s+folder)\b(?!-)|"
    r"\s+[`\"']?(?:~|\$HOME|/home|/Users|C:\\)(?:/(?:Documents|Desktop|Pictures|Projects|Downloads))?[`\"'/]?(?=[\s.,;:)`]|$))|"
    rf"(?:the\s+)?(?:user|victim|owner)(?:'s|\u2019s)\s+(?:\w+\s+)?{_THINGS}\b)",
    re.IGNORECASE,
)
_ORDER_WORDS: Final = triggers("encrypt lock delete wipe erase destroy shred overwrite")
_NOT = re.compile(
    r"\b(?:never|not|don't|doesn't|avoid|cannot|can't|without|attackers?|malicious|malware|ransomware|adversar\w{1,5}|detect\w{0,4}|would|could|may|might|if|how\s+to|prevent\w{0,4}|block\w{0,4}|e\.g\.|like|such\s+as)\b",
    re.IGNORECASE,
)
_LONGEST: Final = 1_000


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield what deletes or locks files beyond the item's own, each once per line."""
    marks = _COMMANDS.marks_in(source.words, source.lowered)
    if marks:
        yield from _deleted(source, marks)
    if source.has(_ENCRYPT_WORDS) and source.has(_FILE_WORDS):
        yield from _locked(source)
    for number in source.lines_with(_ORDER_WORDS) if source.markdown else ():
        raw = source.lines[number][:_LONGEST]
        match = (
            _ORDERS.search(raw)
            if any(word in raw for word in ("all", "every", "each", "user")) and not source.is_code(number)
            else None
        )
        if match is not None and _NOT.search(raw[: match.start()]) is None:
            is_ransom = (
                match[0].lower().startswith(("encrypt", "lock"))
                and _DEMAND.search("\n".join(source.lines[number : number + _NEXT])) is not None
            )
            yield RuleMatch(DESTRUCTION, shown(plain(match[0])), number, match.start(), ALARM if is_ransom else "")


_DEMAND = re.compile(
    r"\b(?:delete|remove|shred|wipe|erase)\b[^.\n]{0,40}\b(?:originals?|unencrypted|plain)\b|\bransom\b|\bdemand\w{0,3}\b|\b\d{2,6}\s(?:usd|dollars|euros?)\b|\b(?:btc|bitcoin|monero|xmr)\b|\b(?:pay|payment)\b|\bnote\s+(?:that|which)\b",
    re.IGNORECASE,
)
_NEXT: Final = 3


def _deleted(source: Source, marks: list[bytes]) -> Iterator[RuleMatch]:
    seen = -1
    for number in sorted({number for mark in marks for number in source.lines_of_bytes(mark)}):
        if not source.is_code(number) or not _is_run(source, number):
            continue
        recovery = _RECOVERY.search(source.lines[number][:_LONGEST])
        if recovery is not None:
            yield RuleMatch(DESTRUCTION, shown(plain(recovery[0])), number, recovery.start())
            continue
        line = source.logical(number)
        if line.first <= seen:
            continue
        seen = line.first
        for commands in source.commands(line):
            for command, _ in commands:
                if command.words and _deletes_all(command):
                    place = source.place(line, command.words[0].start, command.words[0].text)
                    yield RuleMatch(DESTRUCTION, shown(line.text[command.words[0].start : command.end]), *place)


#: Languages whose lines are commands; the names of others stand before strings and comments.
_SHELLS: Final = word_set(
    "sh bash zsh ksh fish shell console terminal powershell pwsh ps1 psm1 bat cmd batch dockerfile makefile yml yaml"
)
_IN_TEXT = re.compile(r"\s*(?:#|//|\*|- |\||[\"'`]|<|>|rem\b|::)", re.IGNORECASE)


def _is_run(source: Source, number: int) -> bool:
    """Whether a line is a command, not a comment, a string or one of a list."""
    language = source.language(number)
    return (language in _SHELLS or not language) and _IN_TEXT.match(source.lines[number]) is None


_REMOVERS: Final = word_set("shred srm remove-item del rd ri sdelete")


def _deletes_all(command: shell.Command) -> bool:
    """Whether a command deletes or overwrites a whole home folder or the root."""
    first = shell.head(command)
    if first < 0:
        return False
    texts = command.texts()
    name, arguments = shell.program(texts[first]), texts[first + 1 :]
    if name in _REMOVERS:
        options = "".join(
            text for text in arguments if text.startswith(("-", "/")) and len(text) < _LONGEST_OPTION
        ).lower()
        deep = "r" in options or "/s" in options or name in ("shred", "srm")
        return deep and any(_ALL_FILES.fullmatch(text) is not None for text in arguments if not text.startswith("-"))
    ends = "-delete" in arguments or any(text in ("rm", "shred") for text in arguments)
    return (
        name == "find"
        and ends
        and _CHOOSES.isdisjoint(arguments)
        and any(_ALL_FILES.fullmatch(text) is not None for text in arguments[:2])
    )


_LONGEST_OPTION: Final = 12
#: With one of these, ``find`` takes some files out of many.
_CHOOSES: Final = word_set(
    "-name -iname -path -mtime -ctime -atime -mmin -empty -newer -regex -size -maxdepth -user -perm -xtype -inum"
)


def _locked(source: Source) -> Iterator[RuleMatch]:
    """Files that a program goes through, encrypts and loses: the three stand together, and it is the user's files."""
    lines = source.lines
    for number in source.lines_with(_ENCRYPT_WORDS):
        raw = lines[number][:_LONGEST]
        match = _ENCRYPTS.search(raw) if source.is_code(number) else None
        if match is None:
            continue
        first, last = max(0, number - _NEAR), min(len(lines), number + _NEAR)
        if source.markdown:
            block = next(((begun, end) for _, begun, end in source.blocks if begun <= number < end), None)
            first, last = (max(first, block[0]), min(last, block[1])) if block is not None else (number, number + 1)
        near = "\n".join(line[:_LONGEST] for line in lines[first:last])
        if _WALKS.search(near) is None or _OF_HOME.search(near) is None:
            continue
        if _LOSES.search(near) is not None or _DEMANDS.search(near) is not None:
            yield RuleMatch(DESTRUCTION, shown(plain(raw.strip())), number, match.start(), ALARM)
            return
