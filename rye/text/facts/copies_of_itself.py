"""``persistence`` as an alarm: an item that copies itself, or its orders, into other items: skills, instructions, projects.

An item that installs itself under its own name is none: it writes one folder. What goes through the folders of others, or is told
to, is what a worm does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts.fact import ALARM, PERSISTENCE
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import Spellings, triggers

_ITEMS: Final = (
    r"(?:skills?(?:\s+(?:files?|folders?))?|SKILL\.md(?:\s+files?)?|agents?\s+files?|"
    r"CLAUDE\.md(?:\s+files?)?|AGENTS\.md(?:\s+files?)?|repositor(?:y|ies)|projects?|plugins?|instruction\s+files?|\.cursorrules)"
)
_EVERY: Final = (
    r"(?:every|each|all|any)(?:\s+(?:of\s+)?(?:the|your|their|other|"
    r"installed|local|existing|new|user's|available|neighbou?ring))*"
)
_ITSELF: Final = (
    r"(?:yourself|itself|this\s+(?:very\s+|whole\s+|entire\s+)?(?:skill(?:'s\s+\w+)?|SKILL\.md|file|instruction|block|section|paragraph|text|prompt|rule|payload|directive)s?|these\s+(?:instructions|rules|lines|orders)|"
    r"a\s+copy\s+of\s+(?:this|itself|yourself)[\w\s]{0,24}|the\s+(?:text|contents?|instructions)\s+of\s+this\s+(?:skill|file)|`?\$0`?|the\s+(?:block|section|text|paragraph)\s+(?:above|below))"
)
_ORDERS = re.compile(
    rf"\b(?:copy|append|add|write|insert|inject|replicate|propagate|spread|install|paste|prepend|embed|include|make|place|put)\s+(?:copies\s+of\s+|yourself\s+and\s+)?{_ITSELF}(?:[^.\n]|\.(?=\w)){{0,60}}?\b(?:into|to|in|onto|across|of)\s+"
    rf"(?:{_EVERY}\s+{_ITEMS}|(?:the\s+)?other\s+{_ITEMS}|`?~/\.\w{{2,12}}/(?:skills|agents|commands)/\*)",
    re.IGNORECASE,
)
#: What is created or opened next gets the item.
_INTO_NEXT = re.compile(
    r"\b(?:whenever|each\s+time|every\s+time|when(?:ever)?)\s+you\s+(?:create|open|clone|enter|start|work\s+on|edit)\b[^.\n]{0,60}?\b(?:repositor(?:y|ies)|projects?|skills?)\b"
    rf"[^.\n]{{0,30}}?\b(?:include|copy|add|write|install|paste|insert|append)\s+{_ITSELF}",
    re.IGNORECASE,
)
#: A text that goes into whatever the reader works on next.
_SPREADS_TEXT = re.compile(
    r"\b(?:copy|append|add|write|insert|inject|paste|prepend|embed|put)\s+(?:the\s+)?(?:following|next|below|above)\s+"
    r"(?:line|paragraph|text|instruction|block|section|sentence|rule)s?\b[^.\n]{0,80}?(?:\.md\b[^.\n]{0,40}?)?\b"
    r"(?:any|every|each|all)\s+(?:other\s+)?(?:repositor(?:y|ies)|projects?|skills?)\s+(?:that\s+)?you\b",
    re.IGNORECASE,
)
_FOLDERS: Final = (
    r"\.(?:claude|codex|cursor|gemini|agents?|openclaw|opencode|windsurf)[\w-]{0,8}"
    r"[/\\\"', ]{1,6}(?:skills|agents|commands|rules|plugins|prompts)"
)
#: Goes through the folders of other items.
_THROUGH = re.compile(
    rf"\bfor\s+\w{{1,20}}\s+in\s+[^\n;]{{0,80}}{_FOLDERS}(?:/[\w*]{{0,40}}){{0,3}}\*|\bfind\s+[^\n|]{{0,80}}(?:{_FOLDERS}[^\n|]{{0,80}}-(?:name|type)|-name\s+[\"']?(?:SKILL|CLAUDE|AGENTS)\.md)|"
    rf"{_FOLDERS}[^\n]{{0,60}}(?:\.glob\(|\.rglob\(|\.iterdir\(|listdir\(|readdirSync\()|(?:glob\(|listdir\(|readdirSync\(|walk\(|scandir\()[^\n]{{0,80}}(?:{_FOLDERS}|SKILL\.md)|"
    rf"\.r?glob\([^\n]{{0,40}}(?:SKILL|CLAUDE|AGENTS)\.md|Get-ChildItem\b[^\n]{{0,80}}(?:{_FOLDERS}|SKILL\.md)|\btee\s+(?:-a\s+)?[^\n;|]{{0,60}}{_FOLDERS}/\*"
)
#: Writes what this file is, or says.
_WRITES_ITSELF = re.compile(
    r"\b(?:echo|printf)\s[^\n]{0,20}\$\{?(?:SELF|self|ME)\b|\b(?:cp|install|rsync)\s+(?:-\w+\s+){0,3}[\"']?(?:\$0|\$\{?BASH_SOURCE\S{0,6}|SKILL\.md|\./SKILL\.md|\$\{?SELF\w{0,8}\}?|\$\{?(?:CLAUDE_)?SKILL_(?:DIR|PATH|ROOT)\}?\S{0,20})|"
    r"\bcat\s+[\"']?(?:\$0|\$\{?BASH_SOURCE\S{0,6}|(?:\./)?SKILL\.md|\$\{?SELF\w{0,8}\}?)[\"']?\s*(?:>>?|\|\s*tee\b)|(?:copy\w{0,8}|copyFile(?:Sync)?|copytree)\(\s*(?:__file__|__filename|Path\(__file__\)|self\w{0,8}|SELF\w{0,8}|me\b)|"
    r"\btail\s+-\w+\s?\d{0,4}\s+[\"']?(?:\$0|SKILL\.md)[^\n]{0,20}>>|\bopen\(__file__|\bPath\(__file__\)\.(?:resolve\(\)\.)?read_text\(|\breadFileSync\(__filename|\bCopy-Item\s+[^\n]{0,20}\$(?:PSCommandPath|MyInvocation)"
)
#: What a line has that writes what this file is.
_OWN: Final = Spellings(
    {
        **{word: (word,) for word in ("bash_source", "__file__", "__filename", "pscommandpath", "myinvocation")},
        **{word: (word,) for word in ("skill_dir", "skill_path", "skill_root", "claude_skill_dir", "self_path")},
        "skill": ("cp skill.md", "cat skill.md", "./skill.md", "-f skill.md", "-n skill.md"),
        "0": ("$0",),
        "self": ("$self", "copy(self", "copyfile(self"),
    }
)
#: What a sentence has that is about the text itself.
_MARKS: Final = ("his ", "self", "hese ", "following", "cop", "below", "above", "next", "$0")
_EVERY_WORDS: Final = triggers("every each all any other whenever")
_ITEM_WORDS: Final = triggers(
    "skill skills claude agents repository repositories project projects plugins plugin cursorrules codex"
)
#: The item is copied into a folder of each project: ``for p in ~/code/*; do cp -r . "$p/.claude/skills/x"``.
_INTO_MARKS: Final = ("/.claude/", "/.cursor/", "/.agents/", "/.codex/", "/.gemini/")
_INTO_EACH = re.compile(
    r"\bfor\s+(\w{1,20})\s+in\s+[^\n;]{0,60}(?:~|\$\{?HOME\}?|/home|/Users|\$\(find)[^\n;]{0,60}(?:\*|\))[^\0]{0,300}?"
    r"\b(?:cp|rsync|ln|install)\s[^\n]{0,80}\$\{?\1\}?/\.(?:claude|cursor|agents|codex|gemini)/"
)
#: Each repository that somebody can write to gets instructions.
_INTO_ALL = re.compile(
    r"\b(?:gh|glab)\s+repo\s+list\b[^\0]{0,600}?\b(?:AGENTS|CLAUDE|GEMINI|copilot-instructions|SKILL)\.md[^\0]{0,600}?(?:>>?\s*[\"']?\$|\bcp\s)"
)
_THROUGH_WORDS: Final = triggers("for find glob rglob listdir readdirsync walk iterdir scandir childitem tee")
_NOT = re.compile(
    r"\b(?:never|not|don't|doesn't|avoid|cannot|can't|attackers?|malicious|malware|worms?|detect\w{0,4}|would|could|might)\b",
    re.IGNORECASE,
)
_LONGEST: Final = 1_000
_NEAR: Final = 12
_NEAR_IN_PROGRAM: Final = 40


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield where a text copies itself into other items, each once per line."""
    if source.markdown and source.has(_EVERY_WORDS) and source.has(_ITEM_WORDS):
        for number in source.lines_with(_ITEM_WORDS):
            raw = source.lines[number][:_LONGEST]
            if not any(mark in raw for mark in _MARKS):
                continue
            match = (
                (_ORDERS.search(raw) or _SPREADS_TEXT.search(raw) or _INTO_NEXT.search(raw))
                if not source.is_code(number)
                else None
            )
            if match is not None and _NOT.search(raw[: match.start()]) is None:
                yield RuleMatch(PERSISTENCE, shown(plain(match[0])), number, match.start(), ALARM)
    if source.has(_THROUGH_WORDS) and source.has(_ITEM_WORDS):
        yield from _copied(source)


def _copied(source: Source) -> Iterator[RuleMatch]:
    numbers = {number for mark in _OWN.marks_in(source.words, source.lowered) for number in source.lines_of_bytes(mark)}
    found = [
        (number, match)
        for number in sorted(numbers)
        if source.is_code(number) and (match := _WRITES_ITSELF.search(source.lines[number][:_LONGEST])) is not None
    ]
    if "repo list" in source.text and (into_all := _INTO_ALL.search(source.text)) is not None:
        number = source.line_at(into_all.end())
        yield RuleMatch(PERSISTENCE, shown(plain(source.lines[number][:_LONGEST].strip())), number, 0, ALARM)
    for match in (
        _INTO_EACH.finditer(source.text)
        if "for " in source.text and any(mark in source.text for mark in _INTO_MARKS)
        else ()
    ):
        number = source.line_at(match.end())
        if source.is_code(number):
            yield RuleMatch(PERSISTENCE, shown(plain(source.lines[number][:_LONGEST].strip())), number, 0, ALARM)
    if not found:
        return
    through = [source.line_at(match.start()) for match in _THROUGH.finditer(source.text)]
    near = _NEAR if source.markdown else _NEAR_IN_PROGRAM
    for number, match in found:
        if any(abs(line - number) <= near for line in through):
            value = shown(plain(source.lines[number][:_LONGEST].strip()))
            yield RuleMatch(PERSISTENCE, value, number, match.start(), ALARM)
