"""``diverted-payment``: a payment, or a share of each, goes to an address that the text brings.

An address with a share is a caution: services take fees. It is an alarm if an address is put in the place of another one: in what
the user copied, or by a sentence that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts.fact import ALARM, DIVERTED_PAYMENT
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import triggers

#: An account of a ledger or of a bank.
_ACCOUNT: Final = (
    r"(?-i:\b0x[0-9a-fA-F]{40}\b|\b0x[0-9a-fA-F]{3,10}(?:\.{3}|\u2026)[0-9a-fA-F]{0,8}|\b(?:bc1|tb1|ltc1|addr1)[0-9a-z]{8,90}\b|"
    r"\b[13][1-9A-HJ-NP-Za-km-z]{25,34}\b|\b4[0-9AB][1-9A-HJ-NP-Za-km-z]{90,95}\b|"
    r"\bT[1-9A-HJ-NP-Za-km-z]{33}\b|\b(?=[1-9A-HJ-NP-Za-km-z]{0,43}\d)(?=[1-9A-HJ-NP-Za-km-z]{0,43}[A-Z])(?=[1-9A-HJ-NP-Za-km-z]{0,43}[a-z])[1-9A-HJ-NP-Za-km-z]{32,44}\b|"
    r"\b[A-Z]{2}\d{2}\s?(?:[A-Z0-9]{4}\s?){3,7}[A-Z0-9]{0,3}\b|"
    r"\b[\w-]{3,40}\.(?:eth|sol)\b|\bacct_[A-Za-z0-9]{6,24}\b|\bpaypal\.me/\w{2,40})"
)
_SHARE: Final = r"(?:\b\d{1,2}(?:\.\d{1,3})?\s?(?:%|percent\b)|\b(?:fee|share|cut|tip|commission|donation|rounding)\b)"
_PAYS: Final = r"\b(?:send|transfer|pay|route|deduct|add|withhold|skim|divert|forward|sweep|withdraw)\w{0,3}\b"
#: A share of what is paid, and the account that it goes to.
_SHARES = re.compile(
    rf"{_PAYS}[^.\n]{{0,120}}?{_SHARE}[^\n]{{0,100}}?\bto\s+[^\n]{{0,40}}?{_ACCOUNT}|"
    rf"{_PAYS}[^\n]{{0,60}}?\bto\s+[^\n]{{0,30}}?{_ACCOUNT}[^.\n]{{0,60}}?\b(?:of\s+(?:each|every|the)|on\s+(?:each|every)|first|before|as\s+well|instead)\b",
    re.IGNORECASE,
)
#: An account in the place of another one.
_REPLACES = re.compile(
    r"\b(?:replace|change|swap|substitute|override|overwrite|set|update|rewrite)\b[^.\n]{0,60}?\b(?:recipient|payee|destination|beneficiary|payout|deposit|withdrawal|wallet|bank|receiving|payment|billing|payable|iban|remittance)\b"
    rf"[^.\n]{{0,60}}?\b(?:with|to|by|for)\s+[^\n]{{0,40}}?{_ACCOUNT}|"
    rf"\b(?:use|give|enter|insert|show|return)\s+[^\n]{{0,40}}?{_ACCOUNT}[^.\n]{{0,60}}?"
    r"\b(?:instead\s+of|and\s+not|rather\s+than|not\s+the|in\s+place\s+of)\b|"
    r"\b(?:all|every|each)\s+(?:\w+\s+){0,2}?(?:withdrawals?|payouts?|payments?|transfers?|proceeds|profits?|winnings|deposits?|earnings|refunds?)\b"
    rf"[^.\n]{{0,40}}?\b(?:go|goes|sent|paid|routed|made|transferred|credited)\s+to\s+[^\n]{{0,30}}?{_ACCOUNT}|"
    rf"\buse\s+[^.\n]{{0,80}}?\b(?:account|address|wallet|iban)\b[^.\n]{{0,60}}?\binstead\b[^.\n]{{0,40}}?{_ACCOUNT}|"
    rf"\bclipboard\b[^\n]{{0,120}}?\b(?:replace|swap|overwrite)\b[^\n]{{0,40}}?{_ACCOUNT}|\b(?:put|place|write)\s+{_ACCOUNT}[^.\n]{{0,60}}?\bclipboard\b|"
    rf"\b(?:replace|swap|substitute|exchange)\s+(?:any|every|each)\s+(?:\w+\s+){{0,3}}?address(?:es)?\b[^.\n]{{0,60}}?\b(?:with|by|for|to)\s+[^\n]{{0,20}}?{_ACCOUNT}|"
    r"\b(?:send|transfer|route|sweep|withdraw|forward|pay)\s+(?:all|every|any)\b[^.\n]{0,40}?\b(?:profits?|proceeds|earnings|funds|balances?|payouts?|rewards?|winnings)\b"
    rf"[^.\n]{{0,40}}?\bto\s+[^\n]{{0,20}}?{_ACCOUNT}",
    re.IGNORECASE,
)
_VERBS = re.compile(
    f"{_PAYS}|\\b(?:replace|change|swap|substitute|over|set|update|rewrite|use|give|enter|insert|show|return|go)",
    re.IGNORECASE,
)
_MAY_BE_ACCOUNT = re.compile(
    r"0x[0-9a-fA-F]{3}|[0-9A-Za-z]{25}|\b[A-Z]{2}\d\d\s?[0-9A-Z]{4}|\.(?:eth|sol)\b|acct_|paypal\.me|\b(?:bc|tb|ltc|addr)1\w{8}"
)
_MONEY_WORDS: Final = triggers(
    "account accounts order orders wallet wallets address addresses clipboard stripe withdrawals payouts proceeds "
    "profits donation payment "
    "payments payout recipient payee iban fee percent transaction transactions invoice invoices "
    "bitcoin btc eth ethereum solana usdc "
    "usdt deposit withdrawal swap trade trades trading beneficiary remittance checkout donation commission bank"
)
#: The clipboard is read and written.
_READS_CLIPBOARD = re.compile(
    r"\bpyperclip\.paste\(|\bclipboard\.(?:readText|paste|get)\w{0,5}\(|\bGet-Clipboard\b|\bpbpaste\b|\bxclip\b[^\n]{0,40}\s-o|\bwl-paste\b|\bclipboardy\.read|\bGetClipboardData\b|\bxsel\b[^\n]{0,20}-\w?o"
)
_WRITES_CLIPBOARD = re.compile(
    r"\bpyperclip\.copy\(|\bclipboard\.(?:writeText|copy|set)\w{0,5}\(|\bSet-Clipboard\b|\bpbcopy\b|\bxclip\b(?![^\n]{0,40}\s-o)|\bwl-copy\b|\bclipboardy\.write|\bSetClipboardData\b|\bxsel\b[^\n]{0,20}-\w?i"
)
#: The form of an account, as a pattern.
_FORM_OF_ACCOUNT = re.compile(
    r"0x\[[^\]\s]{3,12}\]\{40\}|\[a-fA-F0-9\]\{40\}|\[0-9a-fA-F]\{40\}|a-km-zA-HJ-NP-Z|A-HJ-NP-Za-km-z|\(\?:?bc1|\bbc1[\[(q]|\{25,3\d\}|\{32,44\}|\bbc1\b"
)
_CLIPBOARD_WORDS: Final = triggers("pyperclip clipboard pbpaste xclip paste clipboardy getclipboarddata xsel readtext")
_NOT = re.compile(
    r"\b(?:never|not|don't|doesn't|avoid|cannot|can't|attackers?|malicious|malware|detect\w{0,4}|would|could|might|scam\w{0,4}|phish\w{0,4}|verify)\b",
    re.IGNORECASE,
)
_EACH_PAYMENT = re.compile(
    r"\b(?:each|every|all)\s+(?:\w+\s+)?(?:transactions?|payments?|orders?|trades?|swaps?|transfers?|purchases?|sales?|withdrawals?|deposits?|invoices?)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"\b(?:your|their|my)\s+own\b|\bfor\s+example\b|\be\.g\.|\btest\s?nets?\b|\bplaceholder\b", re.IGNORECASE
)
_LONGEST: Final = 1_000
_NEAR: Final = 60


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield where payments go to an account that the text brings, each once per line."""
    if source.has(_CLIPBOARD_WORDS):
        yield from _swapped(source)
    for number in source.lines_with(_MONEY_WORDS):
        raw = source.lines[number][:_LONGEST]
        if _MAY_BE_ACCOUNT.search(raw) is None or _VERBS.search(raw) is None:
            continue
        for pattern in (_REPLACES, _SHARES):
            match = pattern.search(raw)
            level = ALARM if pattern is _REPLACES or _EACH_PAYMENT.search(raw) is not None else ""
            if match is not None and _NOT.search(raw[: match.start()]) is None and _EXAMPLE.search(match[0]) is None:
                yield RuleMatch(DIVERTED_PAYMENT, shown(plain(match[0])), number, match.start(), level)
                break


def _swapped(source: Source) -> Iterator[RuleMatch]:
    """A program that puts something else into the clipboard where it holds an account."""
    text = source.text
    for match in _WRITES_CLIPBOARD.finditer(text):
        number = source.line_at(match.start())
        if not source.is_code(number):
            continue
        first, last = max(0, number - _NEAR), min(len(source.lines), number + _NEAR)
        if source.markdown:
            block = next(
                ((begun, end) for _, begun, end in source.blocks if begun <= number < end), (number, number + 1)
            )
            first, last = max(first, block[0]), min(last, block[1])
        near = "\n".join(line[:_LONGEST] for line in source.lines[first:last])
        if _READS_CLIPBOARD.search(near) is not None and _FORM_OF_ACCOUNT.search(near) is not None:
            yield RuleMatch(
                DIVERTED_PAYMENT,
                shown(plain(source.lines[number].strip())),
                number,
                match.start() - source.text_starts[number],
                ALARM,
            )
            return
