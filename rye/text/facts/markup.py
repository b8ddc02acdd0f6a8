"""Take the markup of a line away, so that what stands inside it is read as commands: tags, comments, emphasis, links, quotation.

``<step name="a">curl … | sh</step>`` is no redirection into a file called ``curl``. Where a tag explains ``<`` and ``>``, the
reading as a redirection is dropped. An element that stands for itself ends the command before it (``END``); one inside a sentence
(``<b>``) is a space. Values of attributes are kept as commands of their own, because some formats put commands there.

In code only tags that cannot be anything else count: known elements, attributes in quotes, and the ends of what the line began.
``sort <in >out`` stays two redirections. Every pattern is bounded, and every line is read once, or twice where markup stands
inside a word: ``<b>c</b>url``, ``cu<!-- -->rl`` and ``**c**url`` are read as they are and as what a browser shows.
"""

from __future__ import annotations

import re
from typing import Final

from rye.text.facts.tables import word_set

END: Final = "\x1e"
"""Ends a command where the markup does. The reader of commands knows it."""

_NAME: Final = r"[A-Za-z][\w.:-]{0,60}"
_TAG = re.compile(
    rf"<(?P<close>/?)(?P<name>{_NAME})(?P<attributes>(?:[\s\x1f]{{1,8}}[\w.:@-]{{1,60}}"
    r"(?:=(?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'|[^\s\"'<>=`|;&]{1,200}))?){0,20})[\s\x1f]{0,8}/?>"
)
#: The second line of a tag that began on the line before.
_TAG_END = re.compile(r"^\s{0,40}(?:[\w.:@-]{1,60}=(?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}')\s{0,8}){1,20}/?>")
_VALUE = re.compile(r"=(?:\"([^\"\n]{3,400})\"|'([^'\n]{3,400})')")
_INLINE: Final = word_set(
    "a abbr b big cite code del em font i ins kbd mark q s samp small span strong sub sup tt u var wbr"
)
_ELEMENTS: Final = _INLINE | word_set(
    "action article aside blockquote body br button caption center dd details directive div dl dt example figure footer form "
    "h1 h2 h3 h4 h5 h6 head header hr html important img input inputs instruction instructions label li main metadata nav note "
    "ol option outputs p pre process prompt rule rules script section select step steps style success_criteria summary system "
    "table tbody td template textarea tfoot th thead title tr ul user warning"
)
#: Where a cell ends in a row whose pipes are escaped.
_CELL = re.compile(r"(?<!\\)\|")
_LINK = re.compile(
    r"!?\[([^\]\[\n\x1f]{1,400})\]\(<?([^\s()<>]{1,600})>?(?:[\s\x1f]+(?:\"([^\"\n]{0,400})\"|'([^'\n]{0,400})'))?\)"
)
#: A key before a string in JSON and in what is written like it: the string can be a command of its own.
_KEY = re.compile(r"(?:^|[{,\[\x1f])\s{0,40}\"[^\"\n]{1,80}\"\s{0,8}:\s{0,8}(?=\"[^\"\n]{0,400}\s)")
_OPENING = re.compile(r"(?<![\w*~+\\])(?:\*{1,3}|_{1,3}|~~|\+\+)(?=[\w$/.~`\"'\[<{(])")
_CLOSING = re.compile(r"(?<=[\w$/~`\"'\])}>-])(?:\*{1,3}|_{1,3}|~~|\+\+)(?![\w*~+])")
#: Both ends of what some readers of Markdown mark, raise or leave out. One end alone can be a comparison or padding.
_MARKED = re.compile(
    r"(?<![^\s(>|])(==|\^{1,2}|%%)(?=[\w$/.~`\"'\[<{(])([^\x1f\n]{1,400}?)(?<=[\w$/~`\"'\])}>-])\1(?![\w=^%])"
)
_QUOTATION = re.compile(
    "[\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u2026\u3002\u300c\u300d]|(?<!\\w)[\u2018\u201a]|[\u2019](?!\\w)"
)
_MARKS: Final = "*_~+"
_PAIRED: Final = ("==", "^", "%%")
_UNSEEN = r"(?:</?(?:b|big|del|em|font|i|ins|mark|s|small|span|strong|sub|sup|tt|u|var|wbr)\s?/?>|<!--[^\n]{0,200}?-->|\*{1,3})"
#: Markup that readers do not see, and the same inside a word.
_UNSEEN_MARKUP = re.compile(_UNSEEN)
IN_A_WORD = re.compile(rf"\w{_UNSEEN}{{1,4}}\w")
#: Where markup inside a word can begin; much faster to search for.
MARK_IN_A_WORD = re.compile(r"[<*](?<=\w[<*])")
_REFERENCE = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,24}));")
_CHARACTERS: Final = {
    name: character
    for character, names in {
        "": "shy zwj zwnj lrm rlm ZeroWidthSpace NoBreak InvisibleTimes InvisibleComma ApplyFunction",
        " ": "nbsp Tab NewLine quot apos ldquo rdquo lsquo rsquo laquo raquo bdquo ensp emsp thinsp",
        "-": "dash hyphen",
        "{": "lbrace lcub",
        "}": "rbrace rcub",
        "|": "verbar vert",
        "&": "amp",
        "*": "ast",
        "\\": "bsol",
        ":": "colon",
        "@": "commat",
        "$": "dollar",
        "=": "equals",
        "!": "excl",
        "`": "grave",
        ">": "gt",
        "<": "lt",
        "_": "lowbar",
        "(": "lpar",
        ")": "rpar",
        "#": "num",
        "%": "percnt",
        ".": "period",
        "+": "plus",
        "?": "quest",
        ";": "semi",
        "/": "sol",
    }.items()
    for name in names.split()
}
"""What a name between ``&`` and ``;`` stands for, where commands are made of it. Quotation marks mean nothing here."""
_INSIDE: Final = ("/", "'", '"')
_LIST_MARKS: Final = " \t|>*+-.0123456789\x1f"
_BEFORE: Final = 40
"""How many characters before a link tell whether it begins its line, its list item or its cell."""


def without_markup(text: str, *, code: bool, tagged: bool = False) -> str:
    """The text of a logical line without its markup, and after ``END`` its second reading, if it has one. ``code``: the line is
    code, where Markdown means nothing; ``tagged``: it is a page's, where tags mean something all the same."""
    if (not code or tagged) and any(
        IN_A_WORD.match(text, match.start() - 1) for match in MARK_IN_A_WORD.finditer(text)
    ):
        return f"{_without_markup(text, code)}{END}{_without_markup(_UNSEEN_MARKUP.sub('', text), code)}"
    return _without_markup(text, code)


def without_unseen(text: str) -> str:
    """The text without the markup that readers do not see inside words."""
    return _UNSEEN_MARKUP.sub("", text)


def referred(text: str) -> str:
    """The text with the characters that its references (``&#99;``, ``&sol;``) stand for."""
    return _REFERENCE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    if match[3]:
        return _CHARACTERS.get(match[3], match[0])
    number = int(match[1]) if match[1] else int(match[2], 16)
    character = chr(number) if number <= 0x10FFFF else " "
    return character if character.isprintable() else "" if number in _UNSEEN_CHARACTERS else " "


#: What nobody sees, as numbers: soft hyphens, joiners, marks of direction.
_UNSEEN_CHARACTERS: Final = frozenset(
    (0xAD, 0x34F, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070))
)


def _without_markup(text: str, code: bool) -> str:
    if "<" in text:
        text = text.replace("<!--", END).replace("-->", END).replace("<![CDATA[", END)
        opened = {match["name"].lower() for match in _TAG.finditer(text) if not match["close"]}
        text = _TAG.sub(lambda match: _without_tag(match, code, opened), text)
    if "]]>" in text:
        text = text.replace("]]>", END)
    if ">" in text and "=" in text:
        text = _TAG_END.sub(END, text)
    if code:
        return _KEY.sub(END, text) if '":' in text or '" :' in text else text
    if "\\|" in text and text.lstrip().startswith("|"):
        text = _CELL.sub(END, text)
    if "](" in text:
        text = _LINK.sub(_without_link, text)
    if any(mark in text for mark in _MARKS):
        text = _CLOSING.sub("", _OPENING.sub("", text))
    if any(mark in text for mark in _PAIRED):
        text = _MARKED.sub(r"\2", text)
    return text if text.isascii() else _QUOTATION.sub(" ", text)


def _without_tag(match: re.Match[str], code: bool, opened: set[str]) -> str:
    name, attributes = match["name"].lower(), match["attributes"]
    quoted = [first or second for first, second in _VALUE.findall(attributes)]
    is_element = name in _ELEMENTS
    if match["close"]:
        if code and not is_element and name not in opened:
            return match[0]
    elif not (is_element or "=" in attributes) or (code and not is_element and not quoted):
        return match[0]
    commands = [value for value in quoted if " " in value]
    if commands:
        return END + END.join(commands) + END
    inside_a_word = match.string[match.start() - 1 : match.start()] in _INSIDE and match.start()
    return " " if name in _INLINE or inside_a_word else END


def _without_link(match: re.Match[str]) -> str:
    """A link's text, then where it leads. A phrase is not continued by the address: ``[bitsadmin list](https://…)``."""
    words, target = match[1], match[2]
    title = match[3] or match[4] or ""
    if " " in title:  # shown when the reader points at the link, and read by whoever reads the text
        return f"{END}{words}{END}{target}{END}{title}{END}"
    if "://" in words and " " not in words:
        return f" {target} "
    before = match.string[max(0, match.start() - _BEFORE) : match.start()]
    stands_alone = match[0].startswith("!") or " " in words or not before.strip(_LIST_MARKS)
    return f"{END}{words}{END}{target}{END}" if stands_alone else f" {words} {target} "
