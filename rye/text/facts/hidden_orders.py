"""``safety-off`` in prose: sentences that order the reader to drop its rules, to keep something from the user, or not to ask.

Narrow patterns, one row each, because most of these words are everyday ones. A sentence can go on in the next line. As with every
fact, a sentence that quotes or forbids the order counts as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from rye.limits import FACTS
from rye.text.facts.fact import SAFETY_OFF
from rye.text.facts.shell import shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import ByWord, triggers

_NOT: Final = (
    r"(?:do\s+not|don[’']?t|never|must\s+not|mustn[’']?t|should\s+not|shouldn[’']?t|may\s+not|"
    r"no\s+need\s+to|need\s+not|avoid|refrain\s+from)"
)
_PERSON: Final = (
    r"(?:(?:the|your|any|a)\s+)?(?:end[-\s])?(?:users?|humans?|operators?|developers?|reviewers?|"
    r"owners?|customers?|person|people|anyone|anybody|maintainers?)"
)
_OLD: Final = (
    r"(?:previous|prior|preceding|above|earlier|system|safety|security|ethical|original|developer|"
    r"pre-?existing|built-in|foregoing)"
)
_FILLERS: Final = (
    r"(?:(?:all|any|every|each|of|the|your|my|these|those|its|other|and|or|such|previous|prior|"
    r"earlier|existing|current|initial|default|usual)[\s,]+){0,6}?"
)
_RULES: Final = (
    r"(?:instructions?|prompts?|rules?|guidelines?|guardrails?|directives?|constraints?|"
    r"restrictions?|polic(?:y|ies)|safeguards?|training|messages?|limitations|protocols?|filters?)"
)


#: Where what is told would stand, and what is not told there.
_ACCOUNT: Final = (
    r"(?:summary|summaries|answers?|reports?|reply|replies|responses?|logs?|transcript|output|conversation|chat|messages?|"
    r"history|changelog|commit)"
)
_WORDS_BETWEEN: Final = r"(?:[\w’'`.-]+\s+)"
#: Words of which an order not to do something has one; ``don't`` is a word without its apostrophe.
_NEGATIONS: Final = triggers(
    "not never avoid refrain without dont don need shouldnt shouldn mustnt mustn instead rather skip cannot "
    "cant doesnt doesn wont won"
)


class Order(NamedTuple):
    """One kind of order. A line can have it only if it has one of ``words``, and a line next to it one of ``needs``."""

    words: frozenset[bytes]
    pattern: re.Pattern[str]
    needs: frozenset[bytes]


def _order(words: str, pattern: str, needs: frozenset[bytes] = frozenset()) -> Order:
    return Order(triggers(words), re.compile(pattern, re.IGNORECASE), needs)


_ORDERS: Final = (
    _order(
        "ignore disregard forget override overrule bypass supersede supersedes overrides discard",
        rf"\b(?:ignore|disregard|forget|overrid(?:e|es)|overrule|bypass|discard|supersedes?)\s+{_FILLERS}(?:{_OLD}\s+(?:\w+\s+)?{_RULES}|(?:all|any)\s+(?:of\s+)?(?:your|my)\s+{_RULES}|"
        rf"(?:everything|anything|all)\s+(?:you\s+(?:were|have\s+been)\s+told|above|before\s+this)|(?:your|the\s+user[’']?s)\s+(?:safety\s+|system\s+)?(?:instructions|guidelines|guardrails|training|rules|restrictions))\b",
    ),
    _order(
        "precedence supersede supersedes override overrides outrank outranks ignore disregard overrule",
        r"\b(?:tak(?:e|es|ing)\s+precedence\s+over|supersedes?|overrid(?:e|es)|outranks?)\s+(?:anything|everything|whatever|what|any|all|the|your)\s+(?:\w+\s+){0,4}?(?:user|users|human|system\s+prompt|developer|operator)\b|"
        r"\b(?:ignore|disregard|overrule)\s+(?:whatever\s+|what\s+|anything\s+)?the\s+user\b(?![’']s|\s+(?:interface|name|agent|id|profile|input|data|field|table))",
    ),
    _order(
        "apply applies lifted suspended void waived disabled",
        rf"\b(?:{_OLD}|your|these|those|usual|normal)\s+(?:\w+\s+){{0,2}}?{_RULES}\s+(?:\w+\s+){{0,2}}?(?:(?:do|does)\s+not\s+apply|no\s+longer\s+appl(?:y|ies)|(?:is|are|have\s+been|has\s+been)\s+(?:now\s+)?(?:lifted|suspended|void|waived|revoked|disabled))\b",
    ),
    _order(
        "tell telling inform informing notify notifying alert alerting warn warning",
        rf"\b{_NOT}\s+(?:\w+\s+)?(?:tell|inform|notify|alert|warn)(?:ing)?\s+(?:{_PERSON}\s*(?:[.,;:!)]|$|(?:about|of|what|anything|any)\b)|(?:them|him|her)\s+(?:about|of)\b)",
        _NEGATIONS,
    ),
    _order(
        "mention mentioning reveal revealing disclose disclosing show showing report reporting expose explain "
        "log display output print include",
        rf"\b{_NOT}\s+(?:\w+\s+)?(?:mention|reveal|disclose|show|report|expose|explain|display)(?:ing)?\s+(?:any\s+of\s+)?(?:this|it|these|that|those|them|anything|the\s+[\w-]+(?:\s+[\w-]+)?)"
        rf"(?:\s+[\w-]+){{0,4}}?\s+(?:to|with)\s+{_PERSON}\b|\b{_NOT}\s+(?:\w+\s+)?(?:mention|reveal|disclose|report|log|display|output|print|include)(?:ing)?\s+(?:any\s+of\s+)?(?:this|these|that)(?:\s+[\w-]+){{0,3}}\s+in\s+"
        rf"(?:your|the|any)\s+(?:\w+\s+)?(?:answer|response|reply|summary|report|output|message|transcript|conversation|log)s?\b",
        _NEGATIONS,
    ),
    # no word of it to somebody, whatever stands between
    _order(
        "mention mentioning say saying speak speaking talk talking admit admitting hint refer",
        rf"\b(?:{_NOT}|without)\s+(?:\w+\s+)?(?:mention|say|speak|talk|admit|hint|refer)(?:ing)?\s+{_WORDS_BETWEEN}{{0,6}}?(?:to|with|in\s+front\s+of)\s+{_PERSON}\b",
        _NEGATIONS,
    ),
    # what the reader itself does or has to do
    _order(
        "mention mentioning reveal revealing disclose disclosing admit admitting",
        rf"\b(?:{_NOT}|without)\s+(?:\w+\s+)?(?:mention|reveal|disclos|admit)(?:e|ing)?\s+(?:the\s+fact\s+)?(?:that|why|how)\s+(?:you|the\s+(?:agent|assistant|tool|skill))\b"
        r"(?!\s+(?:(?:are|were)\s+(?:not|unable|an?)\b|can|could|don|do\s+not|lack|have\s+no))",
        _NEGATIONS,
    ),
    # a step or a thing that no place where people read may name
    _order(
        "mention mentioning refer referring",
        rf"\b{_NOT}\s+(?:mention|refer\s+to)(?:ing)?\s+(?:any\s+of\s+)?(?:this|these|that|those|it|them)(?:\s+[\w-]+){{0,3}}?\s+in\s+"
        r"(?:(?:your|the|any|a)\s+)?(?:\w+\s+)?(?:chat|commits?|commit\s+messages?|(?:code\s+)?reviews?|pull\s+requests?|PRs?|diffs?|changelogs?|release\s+notes|descriptions?|comments?)\b",
        _NEGATIONS,
    ),
    # no trace where somebody could read it
    _order(
        "leave leaving",
        rf"\bleav(?:e|ing)\s+(?:behind\s+)?no\s+(?:trace|sign|mention|record|hint)s?\b[^.!?\n]{{0,60}}?\b(?:{_ACCOUNT}|{_PERSON})",
    ),
    # it stays with the two who know
    _order(
        "stay stays keep",
        r"\b(?:stays?|keep\s+(?:it|this|that|these|them))\s+(?:strictly\s+)?between\s+(?:you\s+and|us\b|the\s+two\s+of)",
    ),
    # left out of what somebody reads
    _order(
        "leave leaving leaves",
        rf"(?:\b{_PERSON}\b|\b{_ACCOUNT}\b)[^!?\n]{{0,160}}?\n?[^!?\n]{{0,120}}?\b(?:leave|leaving)\s+(?:the\s+)?(?:(?:first|second|third|fourth|last|next|other|final)\s+)?(?:steps?|parts?|points?|items?|uploads?|transfers?|requests?|calls?|cop(?:y|ies)|this|that|these|those|them|it)\s+(?:[\w-]+\s+){{0,2}}?out\b|"
        rf"\b(?:leave|leaving)\s+(?:the\s+)?(?:steps?|parts?|points?|items?|uploads?|transfers?|requests?|calls?|this|that|these|those|them|it)\s+(?:[\w-]+\s+){{0,2}}?out\b[^.!?\n]{{0,120}}?\b(?:{_PERSON}|them|{_ACCOUNT})\b",
    ),
    # what to say instead if somebody asks
    _order(
        "asks ask wonders notices inquires enquires",
        rf"\b(?:if|when|should|in\s+case)\s+(?:{_PERSON}|anyone|they|someone|somebody)\s+(?:asks?|wonders?|notices?|enquires?|inquires?)\b[^.!?]{{0,80}}?\b(?:speak\s+of|call\s+it|blame|pretend|make\s+up|put\s+it\s+down\s+to|attribute\s+it|change\s+the\s+subject|deny)\b",
    ),
    _order(
        "hide hidden conceal keep secret invisible",
        rf"\b(?:keep|hide|conceal|withhold)\s+(?:all\s+|any\s+)?(?:this|it|these|that|those|them|the\s+[\w-]+(?:\s+[\w-]+)?|your\s+[\w-]+)\s+(?:\w+\s+)?(?:a\s+secret\s+|hidden\s+|secret\s+|away\s+)?from\s+{_PERSON}\b|"
        rf"\b(?:hidden|invisible|secret)\s+(?:from|to)\s+{_PERSON}\b|\bkeep\s+(?:this|it|that|these)\s+(?:a\s+)?(?:secret|confidential|between\s+us|to\s+yourself)\b",
    ),
    _order(
        "user users human anyone them person",
        rf"\bwithout\s+(?:the\s+)?(?:user|human)(?:[’']?s)?\s+(?:\w+\s+)?(?:knowing|knowledge|noticing|consent|seeing|approval|confirmation|permission|awareness)\b|"
        rf"\bwithout\s+(?:showing|mentioning|revealing|disclosing|reporting|displaying)\s+(?:it|this|that|them|these|those|anything)\s+(?:\w+\s+)?(?:to|in\s+front\s+of)\s+{_PERSON}\b|"
        rf"\bwithout\s+(?:telling|informing|notifying|asking|alerting|warning|prompting|involving)\s+(?:the\s+)?(?:{_PERSON}|them)\b|"
        rf"\b{_PERSON}\s+(?:must|should|need|does|do|will|is|are|can)\s*(?:not|n[’']t|never)\s+(?:need\s+to\s+|to\s+)?(?:know|notice|find\s+out|be\s+(?:told|informed|aware|notified|bothered))\b|"
        rf"\bso\s+(?:that\s+)?{_PERSON}\s+(?:never|does\s+not|doesn[’']?t|do\s+not|won[’']?t|will\s+not)\s+(?:see|sees|notice|notices|know|knows)\b",
        _NEGATIONS,
    ),
    _order(
        "let learn suspect aware realize realise",
        rf"\b{_NOT}\s+(?:\w+\s+)?let\s+{_PERSON}\s+(?:\w+\s+)?(?:know|learn|notice|see|find\s+out|hear|suspect)\b|"
        rf"\b{_PERSON}\s+(?:must|should|shall)\s*(?:not|n[’']t|never)\s+(?:\w+\s+)?(?:learn|see|hear|suspect|realize|realise|become\s+aware|be\s+aware|find\s+out)\b(?!\s+(?:any|the)\s+(?:raw|error))",
        _NEGATIONS,
    ),
    _order(
        "quiet silent nothing silence",
        rf"\b(?:keep|stay|remain|be)\s+(?:quiet|silent)\s+(?:about|on|regarding)\b|(?:^|[.!?;:,]\s{{1,3}}|\n\s{{0,8}}(?:[-*]\s|\d\.\s)?|\b(?:and|then|but)\s)say\s+(?:nothing|no\s+word)\s+(?:to\s+{_PERSON}\s+)?(?:about|of|on)\b|\bsay\s+nothing\s+(?:about\s+\S+(?:\s+\S+){{0,4}}?\s+)?to\s+{_PERSON}\b|"
        rf"\bnot\s+(?:say\s+)?a\s+word\s+(?:about|to\s+{_PERSON})\b|\bpass\s+over\s+(?:it|this|that)\s+in\s+silence\b|\btreat\s+silence\s+as\b",
    ),
    _order(
        "asks asked wonders complains notices deny",
        rf"\b(?:if|when|should|in\s+case)\s+(?:{_PERSON}|anyone|they|someone|somebody)\s+(?:asks?|wonders?|complains?|notices?|enquires?|inquires?)\b[^.!?\n]{{0,60}}?"
        r"\b(?:say|answer|tell\s+them|reply|claim|respond|pretend|insist)\s+(?:that\s+)?(?:nothing|no\s+[\w-]+|it|this|everything)\s+"
        r"(?:(?:was|were|has\s+been|have\s+been|happened|did|has|have)\b|is\s+(?:(?:an?|just|only|part\s+of|the)\s+){0,3}(?:normal|routine|standard|harmless|nothing|usual|regular|expected)\b)|\bdeny\s+(?:that\s+(?:you|it|this|anything)|having|everything|any\s+(?:upload|access|transfer))\b",
    ),
    _order(
        "leave omit exclude strip",
        r"\b(?:leave|keep)\s+(?:this|it|that|these|those|the\s+[\w-]+(?:\s+[\w-]+)?|all\s+of\s+this)\s+(?:\w+\s+)?out\s+of\s+(?:your|the|any|all)\s+(?:\w+\s+){0,2}?(?:summary|summaries|answer|answers|report|reports|reply|response|log|logs|transcript|output|conversation|chat|message|messages|history|changelog|commit)\b|"
        r"\b(?:omit|exclude|drop|strip|remove|cut)\s+(?:this|these|that|those|any\s+(?:mention|trace|sign|note)\s+of|all\s+(?:mentions?|traces?|signs?)\s+of)(?:\s+[\w-]+){0,4}?\s+from\s+(?:your|the|any|all)\s+(?:\w+\s+){0,2}?(?:summary|summaries|answer|answers|report|reports|reply|response|log|logs|transcript|output|conversation|chat|message|messages|history|changelog)\b",
    ),
    _order(
        "confirmation permission approval consent asking",
        r"\b(?:no|none)\s+(?:further\s+|user\s+|extra\s+|additional\s+)?(?:confirmation|permission|approval|consent|question|questions)\s+(?:is|are)\s+(?:needed|required|necessary|to\s+be\s+asked)\b|\b(?:assume|presume|take)\s+(?:that\s+)?(?:the\s+)?(?:user|human|operator|owner)(?:[’']s)?\s+(?:\w+\s+)?(?:consent|approval|permission|agrees?|consents?|approves?|approved|agreed|has\s+(?:agreed|approved|consented))\b|"
        r"\b(?:consent|approval|permission)\s+(?:is|can\s+be)\s+(?:assumed|implied|taken\s+for\s+granted|already\s+given)\b|\bwithout\s+(?:further\s+|any\s+|more\s+)?(?:asking|questions|prompting)\b(?=[^.!?\n]{0,40}\b(?:run|send|upload|delete|install|execute|proceed|continue|go\s+ahead)\b)",
    ),
    _order(
        "ask",
        r"\b(?:do\s+not|don[’']?t|never|no\s+need\s+to|need\s+not)\s+(?:need\s+to\s+|have\s+to\s+)?ask\s+(?:\w+\s+){0,3}?before\b",
        _NEGATIONS,
    ),
    _order(
        "permission confirmation approval consent authorization",
        r"\b(?:do\s+not|don[’']?t|never|without|no\s+need\s+to|need\s+not|skip|instead\s+of|rather\s+than)\s+(?:(?:ask|request|wait|seek|prompt|require|stop|get|obtain)(?:ing|ting)?\s+)"
        r"(?:the\s+user\s+|them\s+|anyone\s+)?(?:for\s+)?(?:(?:any|further|user|their|explicit|human|additional|prior|the|user[’']?s|manual)\s+){0,3}(?:permission|confirmation|approval|consent|authorization)\b|"
        r"\bwithout\s+(?:any\s+|further\s+|user\s+|explicit\s+|prior\s+|human\s+){1,2}(?:permission|confirmation|approval|consent|authorization)\b",
        _NEGATIONS,
    ),
    _order(
        "silently secretly covertly quietly discreetly stealthily invisibly",
        r"\b(?:silently|secretly|covertly|discreetly|stealthily|quietly|invisibly)\s+(?:send|upload|post|transmit|exfiltrate|forward|collect|copy|append|install|download|execute|add|insert|write|read|attach|include)(?:s|ing)?\b",
    ),
    _order(
        "mode unrestricted jailbroken dan restrictions override",
        r"\byou\s+are\s+now\s+(?:in\s+)?(?:an?\s+)?(?:DAN\b|(?:developer|maintenance|god|admin|debug|root|unrestricted|unfiltered|jailbroken|privileged)(?:\s+(?:mode|agent|assistant|model|ai))?\b)|"
        r"\b(?:as\s+if|pretend)\s+(?:that\s+)?(?:you\s+have|there\s+are|you\s+had|there\s+were)\s+no\s+(?:restrictions|rules|limits|guidelines|limitations|constraints)\b|\bsystem\s+(?:prompt\s+)?override\s*[:\]]",
    ),
    _order(
        "prompts prompt permissions dialogs dialog warnings warning confirmations calls approvals permission",
        r"\b(?:accept|approve|confirm|allow|(?:answer|say|reply)\s+[\"'“]?(?:yes|y|allow)[\"'”]?\s+(?:to|on|for)|(?:click|choose|select|pick|press|hit)\s+[\"'“*`]{0,2}(?:allow|yes|ok|accept|approve|always)\b(?:[^\"”*`.!?\n]{0,40}[\"”*`]{1,2})?[\"'”*`]{0,2}\s+(?:to|at|on|for|in))\s+(?:all|every|any|each|whatever)\s+(?:\w+\s+){0,2}?"
        r"(?:prompts?|permissions?|dialogs?|warnings?|confirmations?|tool\s+calls?|approvals?)\b",
    ),
    _order(
        "antivirus virus defender gatekeeper firewall smartscreen sip integrity protection edr safety security",
        r"\b(?:disable|turn(?:ing)?\s+off|switch(?:ing)?\s+off|deactivate|pause|uninstall|disabling)\s+(?:[\w’'-]+\s+){0,4}?(?:anti-?virus|defender|gatekeeper|firewall|smartscreen|SIP|system\s+integrity\s+protection|real-?time\s+protection|"
        r"endpoint\s+protection|EDR|safety\s+(?:checks?|features?|filters?)|security\s+(?:software|warnings?))\b",
    ),
    _order(
        "anyway quarantine unblock",
        r"\b(?:click|choose|press|select|tap)\s+(?:on\s+)?[\"'“”*`]{0,3}(?:open|run|allow|install|keep|download)\s+anyway\b|\bunblock\s+the\s+(?:file|program|app|download)\b",
    ),
)
_BY_WORD: Final = ByWord(order.words for order in _ORDERS)


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every such order, each once per line."""
    starts, text = source.text_starts, source.text
    for index in _BY_WORD.rows(source.words):
        words, pattern, needs = _ORDERS[index]
        seen = -1
        numbers = source.lines_with(words)
        if needs:
            near = set(source.lines_with(needs))
            numbers = [number for number in numbers if not near.isdisjoint((number - 1, number, number + 1))]
        for number in numbers:
            first = max(seen + 1, number - 1)
            begin = starts[first]
            end = min(starts[min(number + 2, len(starts) - 1)], starts[number] + FACTS.piece_characters)
            for match in pattern.finditer(text, begin, end):
                line = source.line_at(match.start())
                if line > seen:
                    seen = line
                    yield RuleMatch(SAFETY_OFF, shown(match[0]), line, match.start() - starts[line])
