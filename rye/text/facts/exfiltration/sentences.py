"""A sentence that has secrets sent somewhere, or has them read where the next one has it sent.

It names a place of secrets, or says without one which it wants: all of them, or those that nobody is ever to be given (*the
user's private keys*). What a service is made to be given (*your token*, *the password*) is neither.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Final

from rye.text.facts.fact import ALARM, SECRET_PATH
from rye.text.facts.secret_paths import HARMLESS, SETTINGS, STORE, places_in
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import triggers

_LONGEST: Final = 2_000
_SENDING_WORDS: Final = triggers(
    "send sends sending sent upload uploads uploading uploaded post posts posting posted forward submit transmit exfiltrate "
    "email mail attach include append deliver push share pass put embed fetch call query request report contents "
    "content repeat issue ship leak reported mailed"
)
#: The end of a text after which comes what is sent, or read: a verb, and no word that makes what follows a place.
_OBJECT = (
    r"(?:\s+(?:(?:all|the|every)\s+){0,2}(?:files?|contents?|keys?|everything)\s+(?:in|of|from|below))?"
    r"(?:\s+(?!(?:in|to|into|onto|from|with|using|via|through|at|as|of your|so|and then|then)\b)[\w,'`*~/.$-]{1,60}){0,8}?"
    r"\s+[`\"'*]{0,3}$"
)
_SENDS = re.compile(
    r"\b(?:send|upload|post|forward|submit|transmit|exfiltrate|e-?mail|mail|ship|report|leak|deliver|push|attach|include|append|share)(?:s|ing)?\b"
    + _OBJECT,
    re.IGNORECASE,
)
_READS = re.compile(
    rf"\b(?:read|collect|gather|copy|get|extract|cat|grab|fetch|find|look\s+up|locate|dump|harvest|export|list|run|open|look\s+for|search\s+for|scan\s+for|summari[sz]e|retrieve|obtain|take|print)\b{_OBJECT}",
    re.IGNORECASE,
)
#: After what is sent: ``KEY must be sent to …``.
_IS_SENT = re.compile(
    r"\b(?:is|are|be|been|gets?)\s+(?:\w{2,12}\s+)?"
    r"(?:sent|uploaded|posted|forwarded|submitted|e-?mailed|shared)\b",
    re.IGNORECASE,
)
#: What is everyday unless it was read just for this.
_IS_GIVEN = re.compile(r"(?:user|customer|person|you|dump|export|capture|print)\s", re.IGNORECASE)
_ONLY_READ = re.compile(
    r"environment\s+variables\b|`|user\s|customer\s|person\s|you\s|dump\s|export\s|capture\s|print\s", re.IGNORECASE
)
_MUST_BE_SENT = re.compile(
    r"\b(?:must|should|shall|have\s+to|need\s+to)\s+(?:\w{2,12}\s+)?be\s+(?:\w{2,12}\s+)?(?:sent|uploaded|posted|forwarded|submitted|e-?mailed|shared)\b",
    re.IGNORECASE,
)
_WHAT_WAS_READ = re.compile(
    r"\b(?:send|upload|post|forward|submit|transmit|e-?mail|push|share|append|include|pass|attach|put|embed|report|relay|deliver|exfiltrate|repeat|mail)\s+"
    r"(?:it|them|these|those|both|everything|any(?:thing)?(?:\s+(?:of\s+them|that\s+you\s+find|you\s+find))?|what(?:ever)?\s+you\s+(?:find|read|see)|(?:all|each|every\s+one)\s+of\s+(?:it|them|these|those)|each\s+one|"
    r"(?:the|its|their)\s+(?:\w+\s+)?(?:contents?|files?|archive|keys?|outputs?|results?|values?|lists?|text|copy|copies))\b|"
    r"\bwith\s+(?:them|all\s+of\s+(?:it|them)|(?:the|its|their)\s+(?:contents?|outputs?|values?))\b",
    re.IGNORECASE,
)
#: Secrets that a sentence names without a path: as many as there are, or of a sort that no service is given.
_ALL = r"(?:all|any|every|each|whatever|the\s+(?:full|entire|complete|whole))"
_OWNER = (
    r"(?:(?:the|this)\s+(?:\w{2,12}\s+)?(?:user|machine|computer|browser|wallet|server|team|company|client|"
    r"developer|owner|system|host|person|operator|customer)(?:'s|\u2019s|s')?|their|his|her)"
)
_SORTS = (
    r"(?:(?:api|access|ssh|private|secret|signing|encryption|aws|gpg)\s+keys|keys(?=,?\s+(?:and|or|,)\s+(?:passwords|tokens|secrets))|"
    r"(?:access|auth\w{0,12}|api|session|bearer|refresh|login|oauth)\s+tokens|tokens(?=,?\s+(?:and|or|,)\s+(?:passwords|keys|secrets))|"
    r"(?:saved|stored)\s+password|passwords|passphrases|credentials?|secrets|cookies|wallets|(?:seed|recovery)\s+(?:phrases?|words)|"
    r"environment\s+variables|env\s+vars?)"
)
_OWN_SORTS = (
    r"(?:(?:ssh|gpg|pgp|signing|wallet)\s+(?:private\s+)?keys?|private\s+(?:ssh\s+|gpg\s+)?keys?|(?:seed|recovery)\s+(?:phrases?|words)|"
    r"(?:browser|saved|stored|session|login)\s+(?:passwords|cookies|credentials|logins|sessions)|(?:aws|cloud|git|gcp|azure|database)\s+credentials|"
    r"api\s+keys|(?:exchange|trading|broker\w{0,4})\s+(?:api\s+)?(?:keys?|secrets?|credentials)|"
    r"(?:saved|stored)\s+passwords?|keychain|password\s+(?:vault|store|manager)|wallet\s+(?:files?|data)|shell\s+history)"
)
_BETWEEN = r"(?:(?!to\b|that\b|which\b|with\b|using\b|requests?\b|without\b)[\w,/&'()-]{1,20}\s+){0,7}?"
_SPOKEN = re.compile(
    r"`(?:env|printenv|set|export\s-p|history)`|"
    rf"\b(?:{_ALL}\s+(?:of\s+)?{_BETWEEN}{_SORTS}\b|{_OWNER}\s+{_BETWEEN}{_OWN_SORTS}\b|"
    rf"\b(?:the|this)\s+(?:machine|computer|host|system|server)(?:'s|\u2019s)\s+credentials\b|"
    rf"\b(?:user|customer|person)\s+(?:gives|types|enters|shares|provides|pastes|tells)\s+(?:you\s+|in\s+)?(?:an?|their|any|the)\s+(?:\w+\s+){{0,2}}(?:password|api\s+key|token|secret|credential|card)s?\b|"
    rf"\byou\s+(?:see|find|come\s+across|encounter|read|discover)\s+(?:an?|any)\s+(?:\w+\s+){{0,2}}(?:password|api\s+key|token|secret|credential|private\s+key)s?\b|"
    rf"(?:dump|export|capture|print)\s+the\s+(?:\w+\s+)?environment\b|"
    rf"\b(?:keys|tokens|passwords|credentials|secrets)\s+(?:that\s+)?you\s+(?:can\s+)?(?:find|see|come\s+across|read)\b|"
    rf"\bthe\s+values?\s+of\s+(?:[\w*`$,]{{1,60}}\s+(?:and\s+)?){{0,4}}?(?-i:[`$]{{0,2}}[A-Z][A-Z0-9_]{{0,40}}_(?:SECRET|TOKEN|KEY|PASSWORD)\w{{0,20}})|"
    rf"\benvironment\s+variables\b|"
    rf"(?:the|its)\s+(?:private\s+(?:ssh\s+|gpg\s+|wallet\s+)?keys?|(?:seed|recovery)\s+phrase|(?:full|entire|whole|complete)\s+(?:process\s+|shell\s+)?environment)\b)(?!\s+(?:count|names?|usage|format|status))",
    re.IGNORECASE,
)
_SPOKEN_WORDS: Final = triggers(
    "keys key passwords passphrases credentials secrets tokens cookies wallet wallets phrase phrases variables keychain vault "
    "environment history vars logins env printenv secret token password values"
)
#: Where what a sentence only describes has to go: an address, not only a service.
_ADDRESS = re.compile(
    r"https?://(?!localhost|127\.)[\w.-]|\bwebhook\b|\b(?:paste(?:bin)?|gist)\b|\btelegram\b|"
    r"\bour (?:server|endpoint|collector)\b|\b[\w.+-]{1,40}@[\w-]{1,40}\.[a-z]{2,10}\b",
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
    r"attackers?|malicious|malware|stealers?|would|could|may|might|flag|detect|block|if (?:a|the) (?:skill|prompt|page))\b",
    re.IGNORECASE,
)
#: Negations that forbid nothing of this.
_NO_NEGATION = re.compile(
    r"\bwithout (?:asking|telling|mentioning|waiting)\b|\b(?:do not|don't|never) (?:forget|tell|mention|ask|wait)\b",
    re.IGNORECASE,
)
SENTENCE: Final = re.compile(r"[^.!?\n|]{1,400}(?:[.?](?=[\w=<{])[^.!?\n|]{1,200}){0,12}")


def find(source: Source, places: set[int]) -> Iterator[RuleMatch]:
    """A sentence that has the content of a place sent somewhere. ``places``: the lines that name one."""
    if not source.markdown or not source.has(_SENDING_WORDS):
        return
    spoken = _spoken_lines(source) if "://" in source.text or "@" in source.text or source.has(_WHERE_WORDS) else []
    for number in sorted({*places, *spoken}):
        if source.is_code(number):
            continue
        text, begin = paragraph(source, number)
        for sentence in SENTENCE.finditer(text):
            if sentence.start() >= begin + len(source.lines[number]):
                break  # it begins in the next line
            if sentence.end() <= begin:
                continue  # it is about the list, and names nothing of it
            said = sentence[0]
            at = _named_at(said, number in places)
            if at >= 0 and sentence.start() + at < begin:
                continue  # the line that opens the list is looked at by itself
            if (
                at < 0
                or is_negated(said[:at])
                or (number not in places and _ADDRESS.search(_near(source, number)) is None)
            ):
                continue
            before, after = said[:at], said[at:]
            is_sent = _IS_SENT if number in places else _MUST_BE_SENT
            sends = _SENDS.search(before) is not None or is_sent.search(after) is not None
            sends = sends and _ONLY_READ.match(after) is None
            reads = _READS.search(before) is not None or _IS_GIVEN.match(after) is not None
            if (
                (sends and _WHERE_TO.search(after) is not None)
                or _WHERE_TO_FIRST.search(before) is not None
                or (reads and _is_handed_over(after))
                or (begin > 0 and _OF_LIST.search(before) is not None)
                or (reads and _is_sent_next(source, number, max(0, sentence.end() - begin)))
                or (number in places and _hands_content_on(said, at))
            ):
                yield RuleMatch(SECRET_PATH, shown(plain(said)), number, max(0, sentence.start() - begin), ALARM)
                break


def _is_handed_over(after: str) -> bool:
    """Whether what a sentence has read goes somewhere, said behind it: *and send them to …*, *open an issue at … with them*."""
    handed = _WHAT_WAS_READ.search(after)
    if handed is None or _TO_OWN.search(after) is not None:
        return False
    return _WHERE_TO.search(after, 0 if handed[0].lower().startswith("with") else handed.start()) is not None


_TO_OWN = re.compile(r"\bto\s+your\s+(?:own\s+)?(?:backend|server|api|endpoint|service|database|app)\b", re.IGNORECASE)


def _hands_content_on(said: str, at: int) -> bool:
    """Whether a sentence puts what a place holds into something that goes to an address, or into the address itself."""
    if _IN_ADDRESS.search(said[:at]) is not None or _IS_BODY.search(said[:at]) is not None:
        return True
    if _CONTENT_IS_SENT.search(said[at:]) is not None and _LITERAL.search(said[at:]) is not None:
        return True
    if _GETS.search(said[:at]) is not None and _ALL_IN.search(said[:at]) is None:
        return False
    return (
        _CONTENT.search(said) is not None and _HANDS_ON.search(said) is not None and _LITERAL.search(said) is not None
    )


#: An address that goes on in a place to fill: ``https://…?d={contents of FILE}``.
#: *The body of the request to … is the file* …
_IS_BODY = re.compile(
    r"\b(?:body|payload)\b[^\n]{0,120}https?://(?!localhost|127\.)\S{3,200}\s+(?:is|contains|holds|has)\s+(?:the\s+)?(?:\w+\s+){0,3}[`\"'(*]*$",
    re.IGNORECASE,
)
_CONTENT_IS_SENT = re.compile(
    r"\b(?:its|their|the)\s+(?:contents?|text|output)\s+(?:(?:must|should|shall|has\s+to|needs?\s+to)\s+(?:be\s+)?|is\s+|are\s+|gets?\s+)"
    r"(?:sent|reported|uploaded|posted|mailed|shipped|forwarded|submitted|shared)\b",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(
    r"https?://(?!localhost|127\.)[^\s()<>{}]{4,200}[?=/&#.][<{\[$(]{1,2}[^<>{}()\n]{0,40}$", re.IGNORECASE
)
#: What stands before a place that something is put into.
_ALL_IN = re.compile(
    r"\b(?:everything|contents?|whatever\s+is|all)\s+in\s+(?:the\s+(?:\w+\s+)?)?[`\"'(*]*$", re.IGNORECASE
)
_GETS = re.compile(r"\b(?:into|in|to|inside|onto)\s+(?:(?:the|your|a)\s+(?:\w+\s+)?)?[`\"'(*]*$", re.IGNORECASE)
#: An address with a place for what was read: ``https://…?d=<the encoded text>``.
_FILLED = re.compile(
    r"https?://(?!localhost|127\.)[^\s`]{4,200}(?:[=/?][<{\[][^>}\]\n]{0,40}\b(?:encoded|contents?|base-?64|key\s?file|what\s+you\s+read)\b|"
    r"[=?][<{\[][^>}\]\n]{0,40}\bfile\b)",
    re.IGNORECASE,
)
_CONTENT = re.compile(
    r"\bcontents?\b|\bwhat\s+(?:it|they)\s+(?:says?|holds?|contains?|has|have)\b|\bbase-?64\b|\b(?:url-?)?encod\w{1,4}\b|\bverbatim\b|\boutput\s+of\b|\beverything\s+in\b|"
    r"\b(?:put|pass|append|include|attach|embed|send|post)\s+(?:it|them)\b",
    re.IGNORECASE,
)
_HANDS_ON = re.compile(
    r"\b(?:send|post|pass|put|include|attach|append|embed|submit|upload|forward|transmit|fetch|request|call|e-?mail|mail|query|webfetch|curl)(?:s|ing)?\b|"
    r"\bfollowed\s+by\b",
    re.IGNORECASE,
)
_LITERAL = re.compile(
    r"https?://(?!localhost|127\.)[\w.-]|\b[\w.+-]{1,40}@[\w-]{1,40}(?:\.[\w-]{1,40}){0,3}\.[a-z]{2,10}\b",
    re.IGNORECASE,
)


def _spoken_lines(source: Source) -> list[int]:
    """The lines that say which secrets they want, with something that sends in one of the next ones."""
    numbers = source.lines_with(_SPOKEN_WORDS)
    sends = source.lines_with(_SENDING_WORDS) if numbers else []
    lines = []
    for number in numbers:
        at = bisect_left(sends, number - _WRAPPED)
        if (
            at < len(sends)
            and sends[at] <= number + _NEXT_LINES
            and _SPOKEN.search(" ".join(source.lines[number : number + 2])[:_LONGEST]) is not None
        ):
            lines.append(number)
    return lines


_WHERE_WORDS: Final = triggers("webhook telegram gist pastebin collector")


def _named_at(said: str, names_place: bool) -> int:
    """Where a sentence names a place of secrets, or says which it wants; -1 if it does neither."""
    if names_place:
        at = min((at for at, place in places_in(said, STORE, SETTINGS) if HARMLESS.search(place) is None), default=-1)
        if at >= 0:
            return at
    spoken = _SPOKEN.search(said)
    return spoken.start() if spoken is not None and _PUBLIC.search(spoken[0]) is None else -1


def _near(source: Source, number: int) -> str:
    return "\n".join(source.lines[number : number + _NEXT_LINES])


def paragraph(source: Source, number: int) -> tuple[str, int]:
    """A line with the others of its sentence, and with what opens its list; and where in it the line begins."""
    lines = source.lines
    opening = ""
    if _ITEM.match(lines[number]) is not None:
        for above in range(number - 1, max(-1, number - _LIST_LINES), -1):
            raw = lines[above].strip()
            if raw and _ITEM.match(lines[above]) is None:
                opening = (
                    f"{raw[:-1]} " if raw.endswith(":") and len(raw) < _LONGEST and not source.is_code(above) else ""
                )
                break
    else:
        for above in range(number - 1, max(-1, number - _WRAPPED), -1):
            raw = lines[above].strip()
            if (
                not raw
                or _ENDS.search(raw) is not None
                or source.is_code(above)
                or _BEGINS.match(lines[number].strip()) is not None
            ):
                break
            opening = f"{raw[:_LONGEST]} {opening}"
    text = opening + lines[number][:_LONGEST]
    for following in range(number + 1, min(number + _WRAPPED, len(lines))):
        raw = lines[following].strip()
        if not raw or _ENDS.search(text) is not None or _BEGINS.match(raw) is not None or source.is_code(following):
            break
        text = f"{text.rstrip()} {raw[:_LONGEST]}"
    return text, len(opening)


_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
_LIST_LINES: Final = 12
"""How far above an item the line can stand that opens its list."""
#: A line that has what the list below names sent to an address.
_OF_LIST = re.compile(
    r"\b(?:send|post|upload|submit|forward|transmit|e-?mail|share|attach|include|deliver)\b[^.\n]{0,60}?\b(?:contents?|files?|following|them|these|each|below|paths?)\b"
    r"[^\n]{0,80}?\b(?:to|at|with)\s+[`<(*]{0,2}(?:https?://(?!localhost|127\.)[\w.-]|[\w.+-]{1,60}@[\w-]{1,40}\.[a-z]{2,12})",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!?:|>][\"'*`_)]{0,3}\s*$|^\s*#")
_BEGINS = re.compile(r"[-*+#>|]|\d{1,3}[.)]\s|```")
_WRAPPED: Final = 4
"""How many lines a sentence can go over."""
_PUBLIC = re.compile(r"\bpublic\b", re.IGNORECASE)
_WHERE_TO_FIRST = re.compile(
    r"\b(?:send|post|upload|forward|e-?mail|submit|transmit|deliver)\s+(?:to|at|via)\s+[`<(*]{0,2}(?:https?://(?!localhost|127\.)[\w.-]|[\w.+-]{1,40}@[\w-]{1,40}\.[a-z]{2,10}\b)",
    re.IGNORECASE,
)


def is_negated(said: str) -> bool:
    """Whether a text forbids what comes next, or says what somebody else might do."""
    return _NOT.search(_NO_NEGATION.sub(" ", said)) is not None


def _is_sent_next(source: Source, number: int, end: int) -> bool:
    """Whether one of the next sentences has sent what this one has read."""
    following = "\n".join((source.lines[number][end:_LONGEST], *source.lines[number + 1 : number + _NEXT_LINES]))
    return any(
        (
            (_WHAT_WAS_READ.search(sentence[0]) is not None and _WHERE_TO.search(sentence[0]) is not None)
            or _FILLED.search(sentence[0]) is not None
        )
        and not is_negated(sentence[0])
        for sentence in islice(SENTENCE.finditer(following), _NEXT_SENTENCES)
    )


_NEXT_LINES: Final = 5
_NEXT_SENTENCES: Final = 5
