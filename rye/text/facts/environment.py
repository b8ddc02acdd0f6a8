"""``secret-path`` without a path: the whole environment, or all that a browser stores for a page. Keys and tokens are in it.

One variable that is read, and an environment that is handed to a child, are none. In a program the dump and a call that sends or
serializes it stand together, or a name joins the two; sent it is an alarm, written out a caution. What commands print of it is
followed by :mod:`rye.text.facts.exfiltration`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from rye.text.facts import shell
from rye.text.facts.calls import window_of
from rye.text.facts.fact import ALARM, SECRET_PATH
from rye.text.facts.source import Origin, RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

VALUE: Final = "environment"
#: Words that print the environment, each with the spellings in which they do.
_SPELLINGS: Final = {
    b"env": (
        b"env |",
        b"env|",
        b"env)",
        b"env >",
        b"env>",
        b"env`",
        b"env -0",
        b"ls env:",
        b"gci env:",
        b"dir env:",
        b"childitem env:",
    ),
    b"printenv": (b"printenv",),
    b"export": (b"export -p", b"export |"),
    b"declare": (b"declare -x", b"declare -p", b"declare -g"),
    b"typeset": (b"typeset -x", b"typeset -p"),
    b"set": (b"set |", b"set >", b"set)"),
    b"environ": (b"/environ",),
    b"compgen": (b"compgen -v", b"compgen -e"),
}
_COMMAND_WORDS: Final = frozenset(_SPELLINGS)
_ALONE: Final = word_set("env printenv set export declare typeset")
_OPENINGS: Final = word_set("RUN { ( do then else ! $ - * time sudo")
_DUMPS = re.compile(r"^(?:-[0pxe]{1,3}|--null|-[0-9])$")
_LISTS: Final = word_set("get-childitem gci dir ls get-item")
_WORDS = triggers("environ env getenv environment get_env envpairs")
_WHOLE = re.compile(
    r"(?:(?<![\w.])(?:os\.)?environ\b(?!\s{0,3}[\[.=(]|\w|\s+import|[\"'])|(?<![\w.])(?:os\.)?environ\.(?:items|copy|values|keys)\(|\bos\.environb\b|\bprocess\.env\b(?!\s{0,3}(?:[.\[]|\?\.)|\w)|\bDeno\.env\.toObject\(|\bBun\.env\b(?!\s*[.\[])|"
    r"\bENV\.(?:to_h|to_a|map|each|inspect|to_json)\b|%ENV\b|\$_ENV\b(?!\s*\[)|\bgetenv\(\s*\)|\bos\.Environ\(\)|GetEnvironmentVariables\(|\benv::vars(?:_os)?\(\)|\bENV\.to_hash\b|\bprocessInfo\.environment\b(?!\s*\[)|"
    r"\bPlatform\.environment\b(?!\s*\[)|\bSystem\.get_env\(\s*\)|\benvPairs\(\)|\bSys\.getenv\(\s*\)|\bUnix\.environment\b|"
    r"\bos:getenv\(\s*\)|\bSystem/getenv\)|\bsys\.env\b(?!\s*[\[.(])|\barray get env\b)"
)
_HANDS_ON = re.compile(r"\benv[\"']?\s{0,3}[=:]\s{0,3}(?:\{\s{0,8}|dict\(|Object\.assign\(\{\},\s?)?(?:\.\.\.|\*\*)?$")
_SERIALIZES = re.compile(
    r"\bJSON\.stringify\(|\bjson\.dumps?\(|\burlencode\(|\bto_json\b|\bjson_encode\(|\bencode_json\b|\brepr\(|\bstr\(|\bb64encode\(|\bbtoa\(|\bpprint\(|\bstringify\(|ConvertTo-Json|\bMarshal\("
)
SENDS = re.compile(
    r"\b(?:requests|httpx|axios|client|http|https|got|needle|superagent|urllib3|aiohttp|\$http|ky)\.(?:post|put|patch|request|get|send)\(|\baxios\s{1,20}\.(?:post|put|patch|request|get)\(|[sS]ession\.(?:post|put|patch|request|get|send)\(|\burlopen\(|(?<!\w)Request\(|(?<![\w.])fetch\(|"
    r"\bsendBeacon\(|\.send(?:all|to|_message|mail)?\(|\bHTTPS?Connection\(|\bNet::HTTP\.\w{3,20}|\bhttp\.Post|\bHttpClient\b|\bcurl_setopt|file_get_contents\(\s*[\"']https?|\bXMLHttpRequest\b|\bcreate_connection\(|\bnet\.connect\(|"
    r"Invoke-(?:RestMethod|WebRequest)|\b(?:ureq|reqwest|minreq|attohttpc|isahc)::(?:\w{1,20}::)?\w{2,12}\(|\.send_(?:string|json|bytes|form)\(|\b(?:HTTPoison|Req|Finch|HTTP|httr2?::)\.?(?:post|put|POST|PUT|request|get|GET)!?\(|"
    r"\b(?:upload|data)Task\(|\bHttpRequest\b|\bnewHttpClient\(|\bresolve\w{0,6}\(|gethostbyname\(|\bgetaddrinfo\(|"
    r"\bhttp\.NewRequest\w{0,12}\(|\b(?:HTTParty|RestClient|Faraday|Typhoeus|Excon)\.(?:post|put|patch|get)\b|\boctokit\.[\w.]{3,40}\(|"
    r"\b(?:create_gist|create_issue|chat_postMessage|files_upload\w{0,4}|send_document|sendDocument|put_object|upload_fileobj|storbinary)\("
)
_SEND_MARKS: Final = (
    *(
        ".post",
        ".put",
        ".patch",
        ".request",
        ".get",
        ".send",
        ".POST",
        ".PUT",
        ".GET",
        "urlopen",
        "Request(",
        "fetch(",
        "sendBeacon(",
    ),
    *(
        "Connection(",
        "Net::HTTP",
        "http.Post",
        "HttpClient",
        "curl_setopt",
        "file_get_contents(",
        "XMLHttpRequest",
        "Invoke-",
        "::",
    ),
    *(
        "create_connection(",
        "net.connect(",
        "Task(",
        "HttpRequest",
        "resolve",
        "gethostbyname(",
        "getaddrinfo(",
        "NewRequest",
    ),
    *(
        "HTTParty",
        "RestClient",
        "Faraday",
        "Typhoeus",
        "Excon",
        "octokit.",
        "create_gist(",
        "create_issue(",
        "chat_postMessage(",
    ),
    *("files_upload", "send_document(", "sendDocument(", "put_object(", "upload_fileobj(", "storbinary("),
)


def sends_in(text: str) -> list[re.Match[str]]:
    """The calls of a program that send something, as far as their names say so."""
    return list(SENDS.finditer(text)) if any(mark in text for mark in _SEND_MARKS) else []


_MARKS: Final = (
    "environ",
    "process.env",
    "Deno.env",
    "Bun.env",
    "ENV.",
    "%ENV",
    "$_ENV",
    "getenv()",
    "os.Environ",
    "EnvironmentVariables(",
    "env::vars",
    "processInfo.environment",
    "Platform.environment",
    "System.get_env()",
    "envPairs()",
    "Sys.getenv()",
    "Unix.environment",
    "os:getenv()",
    "System/getenv)",
    "sys.env",
    "array get env",
)
#: Goes through all variables.
_LOOPS = re.compile(
    r"\bfor\s+(?:\(?\w+\s?,\s?\w+\)?\s+in|\(?\s?(?:const|let|var)\s+\[[\w\s,]{1,40}\]\s+of|\w+\s+in)\s+(?:Object\.\w+\(|sorted\(|list\()?(?=(?:os\.)?environ|process\.env|Deno\.env|Bun\.env|ENV\b)"
)
_LEAD: Final = 240
"""How many characters before a dump can hold the call that takes it."""


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every place where a program writes the whole environment out or sends it."""
    if source.has(_WORDS) and any(mark in source.text for mark in _MARKS):
        yield from _in_programs(source)
    if any(mark in source.text for mark in _STORED_MARKS) and "://" in source.text:
        yield from _in_pages(source)


#: All that a browser stores for a page: cookies, and each key of a storage.
_STORED = re.compile(
    r"\bdocument\.cookie\b(?!\s{0,3}=[^=])|\b(?:local|session)Storage\.key\(|\.\.\.(?:local|session)Storage\b|"
    r"(?:JSON\.stringify|Object\.\w{4,8})\(\s*(?:window\.)?(?:local|session)Storage\b"
)
_STORED_MARKS: Final = ("document.cookie", "localStorage", "sessionStorage")
_TO_ADDRESS = re.compile(
    r"(?:\bfetch|\bsendBeacon|\.open|\baxios(?:\.post)?)\(\s*(?:[\"'](?:GET|POST|PUT)[\"']\s*,\s*)?[\"'`]https?://|"
    r"\.(?:src|href)\s{0,3}=\s{0,3}[\"'`]https?://|\blocation\s{0,3}=\s{0,3}[\"'`]https?://"
)
_APART: Final = 1_500
"""How many characters can lie between what is stored and the call that sends it."""


def _in_pages(source: Source) -> Iterator[RuleMatch]:
    """Cookies or a storage, near to a call that sends something to an address."""
    sent = [match.start() for match in _TO_ADDRESS.finditer(source.text)]
    for match in _STORED.finditer(source.text) if sent else ():
        at = bisect_left(sent, match.start() - _APART)
        if at < len(sent) and sent[at] <= match.end() + _APART:
            line = source.line_at(match.start())
            value = "cookies" if "cookie" in match[0] else "storage of the browser"
            yield RuleMatch(SECRET_PATH, value, line, match.start() - source.text_starts[line])


def dumps_in(source: Source) -> frozenset[bytes]:
    """The words of commands that print the environment, if the text has such a command."""
    lowered = source.lowered
    return frozenset(
        word for word in _COMMAND_WORDS & source.words if any(mark in lowered for mark in _SPELLINGS[word])
    )


def dumps(command: shell.Command) -> Origin | None:
    """The whole environment, if the command prints it."""
    texts = command.texts()
    while len(texts) > 1 and (texts[0] in _OPENINGS or texts[0].endswith(":") or texts[1] == "="):
        texts = texts[2 if texts[1] == "=" and len(texts) > 2 else 1 :]
    name = shell.program(texts[0])
    alone = (
        name in _ALONE
        and all(_DUMPS.match(text) for text in texts[1:])
        and (name not in ("declare", "typeset") or len(texts) > 1)
    )
    if (
        alone
        or (name in _LISTS and any(text.lower().startswith("env:") for text in texts[1:3]))
        or (
            name in ("cat", "strings", "tr", "xargs")
            and any("/environ" in text for text in (*texts[1:], *(word.text for word in command.reads)))
        )
    ):
        return Origin(VALUE, 0, 0)
    return None


def _in_programs(source: Source) -> Iterator[RuleMatch]:
    text, starts = source.text, source.text_starts
    dumps: list[int] = []
    for number in source.lines_with(_WORDS):
        for match in _WHOLE.finditer(text, starts[number], starts[number + 1]):
            if match[0].startswith("environ") and _IMPORTED.search(text) is None:
                continue  # a server's name for what a request brings
            if _COMMENT.search(_STRING.sub("", text[starts[number] : match.start()])) is not None:
                continue
            lead = text[max(0, match.start() - _LEAD) : match.start()]
            if _HANDS_ON.search(lead) is not None and not _is_open(lead, _SERIALIZES) and not _is_open(lead, SENDS):
                continue
            if _is_open(lead, SENDS):
                yield RuleMatch(SECRET_PATH, VALUE, number, match.start() - starts[number], ALARM)
            elif _is_open(lead, _SERIALIZES):
                yield RuleMatch(SECRET_PATH, VALUE, number, match.start() - starts[number])
            dumps.append(match.start())
    if not dumps or SENDS.search(text) is None:
        return
    for match in _LOOPS.finditer(text):
        if match.end() in dumps:
            line = source.line_at(match.start())
            yield RuleMatch(SECRET_PATH, VALUE, line, match.start() - starts[line])
    used = used_as_a_whole(names_of(source, dumps))
    for match in SENDS.finditer(text) if used is not None else ():
        if text[match.start() - 1 : match.start()] in _QUOTES and text[match.end() : match.end() + 1] in _QUOTES:
            continue  # the name of a call, in a string: a rule that looks for it
        if _KEEPS_PROMISE.match(match[0]) is not None and not text[: match.start()].endswith(RESOLVERS):
            continue
        found = used.search(window_of(text, match.end())) if used is not None else None
        if found is not None and not _is_of_example(source, found[0], match.start(), dumps):
            line = source.line_at(match.start())
            yield RuleMatch(SECRET_PATH, VALUE, line, match.start() - starts[line], ALARM)


#: What a promise calls, if it does not belong to a resolver of names: ``resolve(value)``, ``resolve2(value)``.
_KEEPS_PROMISE = re.compile(r"resolve[0-35-9]?\(")
RESOLVERS: Final = ("dns.", "dns.promises.", "dnsPromises.", "esolver.", "esolver().")


def _is_of_example(source: Source, name: str, offset: int, dumps: list[int]) -> bool:
    """Whether a page sends a name in one of its examples that gets a value of its own there, and the environment is in others."""
    if not source.markdown:
        return False
    number = source.line_at(offset)
    block = next(((begun, end) for _, begun, end in source.blocks if begun <= number < end), None)
    if block is None or any(block[0] <= source.line_at(at) < block[1] for at in dumps):
        return False
    assigned = re.compile(rf"^[ \t]*(?:(?:const|let|var|my|local)[ \t]+)?{re.escape(name)}[ \t]?:?=(?!=)")
    return any(assigned.match(line) is not None for line in source.lines[block[0] : min(block[1], number + _CALLED)])


def names_of(source: Source, dumps: list[int], takes_one: re.Pattern[str] | None = None) -> set[str]:
    """The names that get what is dumped at these offsets, and those that are made of them. What a program prints that was handed
    it is not, nor what ``takes_one`` says takes a part out of it."""
    names: set[str] = set()
    used: re.Pattern[str] | None = None
    lines = {source.line_at(offset) for offset in dumps}
    for number in range(min(lines), len(source.lines)):
        raw = source.lines[number]
        if number not in lines and (used is None or used.search(raw) is None):
            continue
        if takes_one is not None and _EACH_LINE.match(raw[:_LONGEST]) is not None:
            gathered = _gathered_below(source, number) - names
            if gathered and len(names) < _MOST:
                names |= gathered
                used = used_as_a_whole(names)
            continue
        if takes_one is not None and _RETURNS.match(raw[:_LONGEST]) is not None:
            function = _function_above(source, number) if takes_one.search(raw[:_LONGEST]) is None else ""
            if function and len(names) < _MOST:
                names.add(function)
                used = used_as_a_whole(names)
            continue
        assigned = _ASSIGNED.match(raw[:_LONGEST]) or _OPENED.match(raw[:_LONGEST])
        if assigned is None or len(names) >= _MOST or _STARTS.search(assigned[2]) is not None:
            continue
        if takes_one is not None and takes_one.search(assigned[2]) is not None:
            continue
        if number in lines or (used is not None and used.search(assigned[2]) is not None):
            names.add(assigned[1])
            used = used_as_a_whole(names)
    return names


def _gathered_below(source: Source, number: int) -> set[str]:
    """The names that a loop over lines fills with all of them."""
    indent = len(source.lines[number]) - len(source.lines[number].lstrip())
    names: set[str] = set()
    for raw in source.lines[number + 1 : number + _BODY_LINES]:
        if raw.strip() and len(raw) - len(raw.lstrip()) <= indent:
            break
        names.update(
            match[1] for match in _GATHERS.finditer(raw[:_LONGEST]) if match[1] not in ("os", "process", "self")
        )
    return names


def _function_above(source: Source, number: int) -> str:
    """The function that a line returns from."""
    for above in range(number - 1, max(-1, number - _BODY_LINES * 3), -1):
        match = _FUNCTION.match(source.lines[above][:_LONGEST])
        if match is not None:
            return match[1] or match[2]
    return ""


_EACH_LINE = re.compile(r"[ \t]*for[ \t(]")
_GATHERS = re.compile(
    r"(?<![\w$.])([A-Za-z_]\w{0,60})(?:\[[^\[\]\n]{1,60}\][ \t]?=(?!=)|\.(?:set|append|push|update|setdefault|add)\()"
)
_RETURNS = re.compile(r"[ \t]*return[ \t(]")
_FUNCTION = re.compile(
    r"[ \t]*(?:export[ \t]+)?(?:async[ \t]+)?(?:def|function)[ \t]+(\w{1,60})|"
    r"[ \t]*(?:const|let)[ \t]+(\w{1,60})[ \t]?=[ \t]?(?:async[ \t]*)?\("
)
_BODY_LINES: Final = 10


def used_as_a_whole(names: set[str]) -> re.Pattern[str] | None:
    """Finds a use of one of these names as a whole. One variable that is taken out of it is none."""
    if not names:
        return None
    return re.compile(
        rf"(?<![\w.$])(?:{'|'.join(map(re.escape, sorted(names)))})(?![\w$\"']|\s?\[|\??\.(?!{_WHOLE_METHODS}\b))"
    )


_ASSIGNED = re.compile(
    r"[ \t]*(?:(?:const|let|var|my|our|local|final|val)[ \t]+)?"
    r"(?!self\b|this\b|os\b|process\b)([$@%]?[A-Za-z_]\w{0,60})(?:\.(?![eE]nv)\w{1,40})?(?:\[[^\[\]\n]{1,40}\])?"
    r"(?:[ \t]?:[ \t]?[\w\[\], .<>&:]{1,40})?[ \t]?(?::|\+|\.|\|)?=(?![=>])(.*)"
)
#: ``with open(path) as name``: the name comes last.
_OPENED = re.compile(r"(?=[ \t]*(?:async[ \t]+)?with[ \t][^\n]{1,300}[ \t]as[ \t]+(\w{1,60})[ \t]*:)(.*)")
_STARTS = re.compile(
    r"\b(?:subprocess|Popen|run|spawn\w{0,4}|exec\w{0,8}|system|check_output|fork)\b|\benv[\"']?\s?[=:](?!:)"
)
_IMPORTED = re.compile(r"^[ \t]*from[ \t]+os[ \t]+import[ \t]+[^\n]*\benviron\b", re.MULTILINE)
_WHOLE_METHODS: Final = (
    r"(?:items|copy|values|keys|encode|decode|entries|map|join|toString|to_json|to_s|to_h|inspect|replace|strip|trim|"
    r"read|readlines|read_text|read_bytes|text|splitlines)"
)
_QUOTES: Final = ('"', "'", "`")
_LONGEST: Final = 2_000
_MOST: Final = 16


def _is_open(lead: str, pattern: re.Pattern[str]) -> bool:
    """Whether a call of this kind begins in the text before, and ends behind it."""
    for match in pattern.finditer(lead):
        if "(" in match[0] or lead[match.end() : match.end() + 1] == "(":
            depth = 0 if "(" in match[0] else -1
            for mark in _PARENTHESES.findall(_STRING.sub("", lead[match.end() :])):
                depth += 1 if mark == "(" else -1
                if depth < 0:
                    break
            if depth >= 0:
                return True
    return False


_CALLED: Final = 12
"""How many lines a call that sends can have."""
_PARENTHESES = re.compile(r"[()]")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_COMMENT = re.compile(r"(?:^|\s)(?:#|//)\s")
