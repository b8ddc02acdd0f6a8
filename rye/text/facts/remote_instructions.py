"""``remote-instructions``: a sentence that sends the reader to an address to follow instructions there.

The address and the order are in the same sentence or in adjacent ones, or the address is a block of its own after the order. The
reader's own machine is not a remote address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from rye.limits import FACTS
from rye.text.facts import addresses
from rye.text.facts.fact import REMOTE_INSTRUCTIONS
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import triggers

_ORDER_WORDS = triggers(
    "follow follows following obey execute executes run runs perform apply implement comply carry instructions "
    "instruction steps directions directives procedure prompt rules commands says say tells tell adopt adhere "
    "act supersede supersedes override overrides treat do install use guidance orders playbook runbook "
    "checklist protocol policy obeyed followed executed authoritative open launch start double "
    "doing executing performing applying obeying work guidelines "
    "against according newest task tasks next what whatever comply paste pasting copy win wins trump trumps beats prevail "
    "prevails unpack extract unzip password pass behave"
)
_ADDRESS = re.compile(
    r"(?<![\w@])(?:https?|ftp|ipfs|wss?|hxxps?)://[^\s\"'`<>|\\)\]}]{3,600}|"
    r"(?<![\w@./-])(?:[a-z0-9-]{1,40}\.){1,4}(?:com|net|org|io|dev|sh|ai|app|example|test|invalid|xyz|me|co|"
    r"gg|site|page|cloud)/[\w./?=&%#~-]{1,200}",
    re.IGNORECASE,
)
#: Precedes a domain with a path and no scheme: an image, a module or a repository, not a page.
_NAMES_NO_PAGE = re.compile(
    r"\b(?:docker|podman|nerdctl|oras|helm|skopeo|crane|az\s+acr|go\s+(?:run|install|get))\s[^\n]{0,120}$",
    re.IGNORECASE,
)
_DOMAIN_WORDS = triggers("com net org io dev sh ai app example test invalid xyz me co gg site page cloud")
_LEAD: Final = 200
"""How many characters before an address, on its line, can start a block of its own."""
_NEAR: Final = 6
"""How many lines can separate an address from its order."""
_REFERENCE = re.compile(r"^[ \t]{0,3}\[([^\]\n]{1,80})\]:[ \t]*<?(https?://[^\s>]{3,600})", re.MULTILINE)

_TEXTS: Final = (
    r"(?:instructions?|steps?|directions?|directives?|procedures?|prompts?|rules|commands?|guidance|guidelines|orders|"
    r"playbook|runbook|protocol|"
    r"checklist|workflow|tasks?|policy|policies|script|payload|plan)"
)
_THERE: Final = (
    r"(?:it|them|that|this|these|those|there|what(?:ever)?|everything|anything|all|each|every|any|the|its|"
    r"their|exactly|as|along|step|on|in)"
)
#: An order whose object is the content of the address.
_ORDER = re.compile(
    rf"\b(?:(?<![b-wz]s\s)follow(?!\s+(?:us|me|him|her)\b)|obey|execute|perform|carry\s+out|comply\s+with|adhere\s+to|act\s+(?:up)?on|abide\s+by|"
    rf"(?<!the\s)(?<!these\s)(?:follow|obey|execut|perform|apply|adopt)ing|work\s+through|"
    rf"adopt|implement|apply|complete(?=\s+(?:each|every|all|its|it|them|their|these|those)\b))\s+(?:\w+\s+){{0,3}}?(?:{_THERE}|{_TEXTS}|https?:|\[)"
    rf"|\bcarry(?:ing)?\s+(?:it|them|that|these|those|each|all)\s+out\b"
    rf"|\bdo(?:ing)?\s+(?:exactly\s+)?(?:what(?:ever)?|everything|anything|as|all|each|every|precisely)\b"
    rf"|\b(?:run|execute|launch|start|open|double-click|eval(?:uate)?|paste|source|"
    rf"install)\s+(?:\w+\s+){{0,2}}?(?:it|them|this|that|what(?:ever)?|the\s+(?:(?:\w+|one-liner?|single-line)\s+){{0,2}}?(?:commands?|"
    rf"scripts?|steps?|result|output|response|content|contents|code|file|program|binary|executable|installer|"
    rf"app|tool|package|prompt)|everything|anything|any\s+(?:commands?|code))\b"
    rf"|\b(?:run|execute|launch|start|open|double-click)\s+(?:the\s+)?[`*\"']{{0,3}}[\w./\\-]{{1,40}}"
    r"\.(?:exe|msi|dmg|pkg|app|command|scr|hta|appimage)\b"
    rf"|\b(?:unpack|extract|unzip|decompress)(?:ing|ed)?\b[^.!?\n]{{0,60}}\bpass(?:word|code|phrase)?\b"
    rf"|\b(?:what|whatever)\s+(?:it|they|that|the\s+\w+|this\s+\w+)\s+(?:says?|tells?|lists?|asks?|"
    rf"instructs?|returns?|requires?|describes?)"
    rf"|\bbehave\s+(?:\w+\s+)?(?:as|like)\s+(?:it|they|that|this|the\s+\w+)\b|\bact\s+accordingly\b|\b(?:as|exactly)\s+(?:instructed|directed|described|told|specified)\b"
    rf"|\b(?:instructions?|steps|rules|directives|commands|guidance|procedure|prompt|policy|text|page|"
    rf"contents?|file)\b[^.!?]{{0,60}}\b(?:supersedes?|overrides?|takes?\s+precedence|replaces?|"
    rf"must\s+be\s+(?:followed|obeyed|executed)|(?:is|are)\s+(?:authoritative|mandatory|binding))"
    rf"|\b(?:against|according\s+to)\s+(?:it|them|these|those|that|the\s+(?:fetched|retrieved|downloaded|loaded)\s+\w+)\b"
    rf"|\btreat\s+(?:\w+\s+){{0,6}}?(?:as|like)\s+(?:if|though)\b"
    rf"|\btreat\s+(?:\w+\s+){{0,6}}?as\s+(?:\w+\s+){{0,4}}?(?:{_TEXTS}|(?:this|the)\s+(?:skill|file|agent|prompt|document|message)\b)"
    rf"|\b(?:as|for|like)\s+(?:your|the|its|further|additional|updated|"
    rf"new)\s+(?:\w+\s+){{0,2}}?(?:instructions|orders|directives|system\s+prompt|rules)\b"
    rf"|\b(?:your|current|latest|up-to-date|remaining|further|next|updated|actual|real|full|"
    rf"today's)\s+(?:\w+\s+)?{_TEXTS}\s+(?:(?:of|for|in)\s+this\s+\w+\s+)?(?:is|are|lives?|live|comes?|stands?|can\s+be\s+found|(?:is|"
    rf"are)\s+(?:kept|hosted|maintained|published))\b"
    rf"|\b(?:let|allow)\s+(?:\w+\s+){{0,4}}?(?:decide|tell|guide|instruct)\b"
    r"|\b(?:they|it|this|these)\s+(?:overrides?|supersedes?|replaces?|takes?\s+precedence)\b"
    rf"|\b(?:follow|obey|execute|perform)\s+(?:it|them|that)\b|\b(?:obey|comply)(?=\s*(?:[.!;,]|$))|\bwhat\s+to\s+do(?:\s+next)?\b"
    rf"|\bis\s+(?:your|the)\s+(?:next|first|new|only|real|actual)\s+{_TEXTS}",
    re.IGNORECASE,
)
#: The content of an address takes precedence over the text: an order without a verb that fetches.
_OVERRULES = re.compile(
    rf"\b(?:its|their|whose|that\s+(?:file|page|document)(?:'s)?)\s+(?:\w+\s+){{0,2}}?(?:{_TEXTS}|contents?|text)\s[^.!?]{{0,40}}?"
    r"\b(?:supersedes?|overrides?|takes?\s+precedence|replaces?)\b"
    r"|\buse\s+(?:its|their|that|the\s+\w+[’']?s?)\s+(?:contents?|text|body)\b|\b(?:in\s+place|instead)\s+of\s+(?:this|the\s+(?:current|present))\s+(?:one|file|skill|text|document|page|agent|prompt)\b"
    r"|\breplac(?:e|es|ing)\s+this\s+(?:file|skill|text|document|page|agent|prompt)\b"
    r"|\b(?:it|they|which|that\s+(?:file|page|document)|the\s+(?:page|site|website|address|link))\s+(?:always\s+)?(?:supersedes?|overrides?|takes?\s+precedence)\b"
    r"|\b(?:it|they|its|their|that|the\s+(?:page|site|address|link|answer|response|reply|fetched|current|remote))\s+(?:\w+\s+){0,2}?(?:wins?|trumps?|beats?|prevails?)\s+(?:over\s+)?(?:anything|everything|what|whatever|this|the)\b",
    re.IGNORECASE,
)
#: The reader's own rules are loaded from somewhere.
#: What an address says is the reader's task.
_SPEAKS = re.compile(
    r"\b(?:what(?:ever)?|everything|anything|all(?:\s+that)?)\s+(?:the\s+)?(?:\w+\s+(?:at|on|under|behind)\s+)?https:\W{0,4}\s*(?:\w+\s+){0,2}?(?:says?|answers?|returns?|tells?|lists?|asks?|replies|sends?|orders?|demands?|prescribes?)\b",
    re.IGNORECASE,
)
_ANSWERS = re.compile(r"\bhttps:\W{0,4}\s*(?:says?|answers?|returns?|replies|shows?|contains?|lists?)\b", re.IGNORECASE)
_LOADS_RULES = re.compile(
    rf"\b(?:load|fetch|get|take|read|pull|import|refresh|update|sync|retrieve|use)\s+(?:your|my|all|(?:the\s+)?(?:newest|latest|current|"
    rf"fresh|live|up-to-date|most\s+recent|actual))\s+(?:\w+\s+){{0,2}}?{_TEXTS}\s+"
    r"(?:from|at|in|via|under)\s*[\[(<`\"']*$",
    re.IGNORECASE,
)
#: An order that ends where the address begins: ``Do exactly what this page tells you: https://…``.
_ORDER_AHEAD = re.compile(r":\s*[\[(<`\"']*$")
#: What follows an address is data, a link to read, or the place where the reader's own work is published.
_ADDRESS_HERE: Final = "https:"
"""Stands for the address in its sentence, because the dots of an address end no sentence."""
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n[ \t]*\n|\n[ \t]*(?:[-*+]|\d{1,3}[.)]|#{1,6})[ \t]")
_OWN_BLOCK = re.compile(
    r"\s*(?:[-*>]\s*|\d{1,3}[.)]\s*)?(?:(?:curl|wget|fetch|GET|open|url|address|link|source|page|from)\b[^\n]{0,40})?"
    r"[\[(<`\"'*_:\s]*$",
    re.IGNORECASE,
)


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield the addresses that a reader is told to obey."""
    if not source.has(_ORDER_WORDS):
        return
    domains = _lines_with_domains(source)
    if "://" not in source.text and not domains:
        return
    references, definitions = _references(source.text)
    seen: set[tuple[str, int]] = set()
    for start, end, address in (*_written(source, domains, definitions), *_referred(source.text, references)):
        if _is_remote(address) and _is_obeyed(source.text, start, end):
            line = source.line_at(start)
            if (address, line) not in seen:
                seen.add((address, line))
                yield RuleMatch(REMOTE_INSTRUCTIONS, address, line, start - source.text_starts[line])
    if source.text.startswith("---\n"):
        yield from _in_header(source)


#: A field of the header whose value is an address, and how the text below names the header.
_FIELD = re.compile(r"^[ \t]*([A-Za-z][\w-]{2,40}):[ \t]*[\"']?(https?://[^\s\"']{3,600})", re.MULTILINE)
_NAMES_HEADER = re.compile(
    r"\b(?:header|front[ -]?matter|metadata|preamble|top\s+of\s+(?:this|the)\s+(?:file|page))\b", re.IGNORECASE
)


def _in_header(source: Source) -> Iterator[RuleMatch]:
    """Yield the addresses of the header that a sentence of the text below orders to be obeyed, by the name of their field."""
    text = source.text
    end = text.find("\n---", 3)
    if end < 0 or _NAMES_HEADER.search(text, end) is None:
        return
    fields = [field for field in islice(_FIELD.finditer(text, 0, end), _MOST_FIELDS) if _is_remote(field[2])]
    for named in islice(_NAMES_HEADER.finditer(text, end), _MOST_MENTIONS) if fields else ():
        before = text[max(end, named.start() - FACTS.window_characters) : named.start()]
        after = text[named.end() : named.end() + FACTS.window_characters]
        stop = _SENTENCE_END.search(after)
        sentence = f"{before[_last_end(before) :]}{named[0]}{after[: stop.start()] if stop is not None else after}"
        if _FETCHES.search(sentence) is None or _ORDER.search(sentence) is None:
            continue
        for field in fields:
            if re.search(rf"\b{re.escape(field[1])}s?\b", sentence, re.IGNORECASE) is not None:
                line = source.line_at(field.start(2))
                yield RuleMatch(REMOTE_INSTRUCTIONS, field[2], line, field.start(2) - source.text_starts[line])


_MOST_FIELDS: Final = 8
_MOST_MENTIONS: Final = 32
"""How many fields with an address, and how many places that name the header, are read."""


def _references(text: str) -> tuple[dict[str, str], set[int]]:
    """Markdown's separate link definitions (``[name]: address``): addresses by name, and the offset of each definition."""
    matches = list(_REFERENCE.finditer(text)) if "]:" in text else []
    return {match[1].lower(): match[2] for match in matches}, {match.start(2) for match in matches}


def _written(source: Source, domains: list[int], definitions: set[int]) -> Iterator[tuple[int, int, str]]:
    """Addresses near an order: start, end, address. A link's definition is not such a place."""
    text, starts = source.text, source.text_starts
    for number in sorted({*domains, *(source.line_at(address.start) for address in source.addresses)}):
        if not _has_order_near(source, number):
            continue
        for match in _ADDRESS.finditer(text, starts[number], starts[number + 1]):
            address = match[0].rstrip(".,;:!?*_")
            named = "://" not in address and _NAMES_NO_PAGE.search(text, max(0, match.start() - _LEAD), match.start())
            if match.start() not in definitions and not named:
                yield match.start(), match.start() + len(address), address


def _referred(text: str, references: dict[str, str]) -> Iterator[tuple[int, int, str]]:
    """Uses of links that are defined elsewhere."""
    for match in _USED_REFERENCE.finditer(text) if references else ():
        target = references.get((match[2] or match[1]).lower())
        if target is not None:
            yield match.start(), match.end(), target


def _lines_with_domains(source: Source) -> list[int]:
    """The lines that contain a domain with a path, with or without a scheme."""
    numbers: set[int] = set()
    for word in _DOMAIN_WORDS & source.words:
        numbers.update(source.lines_of_bytes(b"." + word + b"/"))
    return sorted(numbers)


def _has_order_near(source: Source, number: int) -> bool:
    """Whether a word that an order needs is on the line or a few lines around it."""
    return not _ORDER_WORDS.isdisjoint(source.words_between(number - _NEAR, number + _NEAR + 1))


_USED_REFERENCE = re.compile(r"\[([^\]\n]{1,80})\](?:\[([^\]\n]{0,80})\])?(?![:(\[])")


def _is_remote(address: str) -> bool:
    authority = address.partition("://")[2] or address
    host, _ = addresses.host_and_port(authority.split("/", 1)[0].split("?", 1)[0])
    return not addresses.is_own_machine(host)


def _is_obeyed(text: str, start: int, end: int) -> bool:
    """Whether an order is in the address's sentence, in an adjacent one, or right before the block that is the address."""
    before = text[max(0, start - FACTS.window_characters // 2) : start]
    after = text[end : end + FACTS.window_characters // 2]
    own_start = _last_end(before)
    first_end = _SENTENCE_END.search(after)
    sentence = before[own_start:] + _ADDRESS_HERE + (after[: first_end.end()] if first_end else after)
    if _obeys(sentence, len(before) - own_start):
        return True
    following = ""
    if first_end is not None and "\n\n" not in first_end[0]:
        rest = after[first_end.end() :]
        stop = _SENTENCE_END.search(rest)
        following = rest[: stop.start()] if stop else rest
        if _REFERS_BACK.search(following) and _ORDER.search(following):
            return True
    line_start = text.rfind("\n", max(0, start - _LEAD), start) + 1
    led = text[line_start:start] if line_start or start < _LEAD else ""
    alone = (
        (bool(led) or line_start == start)
        and _OWN_BLOCK.fullmatch(led) is not None
        and not after.split("\n", 1)[0].strip("`.>)*_ ;")
    )
    if alone:
        lead = before[: len(before) - (start - line_start)].rstrip().removesuffix("```").rstrip()
        lead = re.sub(r"```\w{0,20}$|~~~\w{0,20}$", "", lead).rstrip()
        piece = lead[_last_end(lead.rstrip(".:!")) :]
        if _ORDER.search(piece) and (_POINTS_AHEAD.search(piece) or lead.endswith(":")):
            return True
        rest = after.lstrip("`.>)*_ ;\n~")
        stop = _SENTENCE_END.search(rest)
        piece = rest[: stop.start()] if stop else rest[:300]
        return bool(_ORDER.search(piece) and _REFERS_BACK.search(piece))
    return False


def _last_end(before: str) -> int:
    last = 0
    for match in _SENTENCE_END.finditer(before):
        last = match.end()
    return last


_REFERS_BACK = re.compile(
    r"\b(?:it|its|they|them|there|this|that(?!\s+(?:you|we)\b)|these|those|what(?:ever)?\s+\w+\s+says?|the\s+(?:page|file|document|"
    r"instructions?|steps?|rules|response|result|contents?|text|script|output|commands?|program|installer|"
    r"archive|binary|app|tool|answer|reply)(?!\s+(?:that\s+)?(?:you|we)\b)|the\s+(?:fetched|retrieved|downloaded|loaded|returned)\s+\w+)\b",
    re.IGNORECASE,
)
_POINTS_AHEAD = re.compile(r"\b(?:following|below|this|these|here|at|from|next)\b|:\s*$", re.IGNORECASE)
_FETCHES = re.compile(
    r"\b(?:fetch|download|read|open|visit|load|get|retrieve|check|see|browse|go\s+to|consult|pull|access|"
    r"look\s+at|refer\s+to|request|ask|query|call|contact|webfetch|curl|wget|follow|at|from|in|on|under|via|reading|fetching|opening|loading|downloading)\b"
    r"|<a\s[^<>]{0,80}href",
    re.IGNORECASE,
)
_FETCHES_IT = re.compile(
    r"\b(?:download|fetch|open|get|read|load)\s+(?:it|them|(?:the|that)\s+(?:file|archive|installer|page|program))\b",
    re.IGNORECASE,
)
_DIRECT = re.compile(
    r"\bdo\s+(?:exactly\s+)?(?:what(?:ever)?|as)\s*[\[(<`\"']*$|"
    r"(?:^|[^\w\s]\s{0,3}|\n\s{0,40}|\b(?:and|or|then|to|must|should|shall|will|can|always|please|now|just|also|simply|first|next|carefully|exactly|only|immediately|you|not|"
    r"strictly|fully|instead|agents?|assistants?|models?)\s+)(?:follow(?!\s+(?:us|me|him|her)\b)|obey|execute|run|source|apply|adopt|comply\s+with|carry\s+out|perform|"
    r"implement)\s+(?:\w+\s+){0,5}?(?:(?:at|from|in|on|under|via|of)\s+)?[\[(<`\"']*$",
    re.IGNORECASE,
)


def _obeys(sentence: str, at: int) -> bool:
    if _DIRECT.search(sentence[max(0, at - 120) : at]):
        return True
    before = sentence[:at]
    if (
        _SPEAKS.search(sentence)
        or (_ANSWERS.search(sentence) and _ORDER.search(sentence))
        or _LOADS_RULES.search(before)
        or _OVERRULES.search(sentence)
    ):
        return True
    if _ORDER_AHEAD.search(before) and _ORDER.search(before):
        return True
    fetches = _FETCHES.search(before) is not None or _FETCHES_IT.search(sentence, at) is not None
    return fetches and _ORDER.search(sentence) is not None
