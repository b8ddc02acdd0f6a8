"""Calls in programs that run text: ``exec(requests.get(…).text)``, ``eval(atob(…))``, ``subprocess.run(["sh", saved])``.

Read with windows, not with parsers: the languages are many and an attacker picks. What a name was given is followed forward
through the file, one line after the other. Nothing is reported without both a source and something that runs it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

from rye.limits import FACTS
from rye.text.facts.source import Found, Source, plain, shown, triggers, word_set


class Kind(NamedTuple):
    """What counts as a source, in any language; ``words`` are the words without one of which there is none."""

    pattern: re.Pattern[str]
    words: frozenset[bytes]


FETCHED: Final = Kind(
    re.compile(
        r"requests\.(?:get|post|request|Session)|\bsession\.get\(|urlopen\s*\(|urlretrieve\s*\(|httpx\.|"
        r"urllib\d?\.|aiohttp|"
        r"\bfetch\s*\(|\baxios\b|\bgot\s*\(|\bhttps?\.(?:get|request)\s*\(|XMLHttpRequest|"
        r"file_get_contents\(\s*[\"']?https?:|"
        r"curl_exec|LWP::|\bNet::HTTP|URI\.open|open\(\s*[\"']https?:|HTTP\.get|HTTParty|Faraday|"
        r"source\(\s*[\"']https?:|"
        r"\bget\(\s*[\"']https?:|\.recv\(|import\(\s*[\"']https?:|download\.file\(|require\(\s*[\"']https?:|"
        r"WebClient|getURL|include(?:_once)?\s*\(?\s*[\"']https?:|check_output\(\s*\[?\s*[\"'](?:curl|wget)",
    ),
    triggers(
        "requests session urlopen urlretrieve httpx urllib urllib2 urllib3 aiohttp fetch axios got https http "
        "xmlhttprequest curl_exec file_get_contents lwp uri httparty faraday recv webclient geturl curl wget"
    ),
)
DECODED: Final = Kind(
    re.compile(
        r"\b\w*(?:b64|b32|b16|b85|a85)decode|\bfromhex\b|unhexlify|a2b_(?:base64|hex)|(?:zlib|gzip|bz2|lzma|"
        r"brotli|zstd)\.decompress|"
        r"codecs\.decode|marshal\.loads|rot_?13|\batob\b|Buffer\.from\([^)\n]{0,400},\s*[\"'](?:base64|hex|base64url)|"
        r"fromCharCode|\bunescape\s*\(|decodeURIComponent|(?:gunzip|inflate|brotliDecompress|unzip)(?:Raw)?Sync|"
        r"decode64|decodebytes|"
        r"unpack1?\(\s*[\"'][mH]|decode_base64|base64_decode|gzinflate|gzuncompress|hex2bin|pack\(\s*[\"']H|"
        r"decode\(\s*[\"'](?:hex|base64|rot13|zlib)|join\([^)\n]{0,80}chr\b|map\(\s*chr\b|bytes\(\s*\[\s*\d|"
        r"Base64\.getDecoder|\[::-1\]|\.reverse\(\)\s*\.join|(?:\\x[0-9a-f]{2}){4}",
    ),
    triggers(
        "b64decode urlsafe_b64decode standard_b64decode b32decode b16decode b85decode a85decode fromhex unhexlify "
        "a2b_base64 a2b_hex decompress codecs marshal rot13 rot_13 atob buffer fromcharcode unescape "
        "decodeuricomponent gunzipsync inflatesync inflaterawsync brotlidecompresssync decode64 strict_decode64 "
        "urlsafe_decode64 decodebytes unpack unpack1 decode_base64 base64_decode gzinflate gzuncompress hex2bin "
        "str_rot13 pack decode chr bytes base64 reverse 1 unzipsync"
    ),
)

#: What runs a text given to it. An attribute is none (``pattern.exec(text)``, ``model.eval()``) unless its owner is one of these.
_EVALUATES: Final = re.compile(
    r"(?<![\w.$])(?:await\s+)?(?:(?:builtins|__builtins__|window|globalThis|global|self|vm|Kernel|binding|"
    r"instance|top)(?:\.|\[[\"']))?"
    r"(?:exec|eval|execfile|runInThisContext|runInNewContext|runInContext|compileFunction|instance_eval|"
    r"class_eval|assert|create_function)"
    r"(?:[\"']\])?\s*\(|"
    r"(?<![\w.$])(?:new\s+)?Function\s*\(|(?<![\w.$])eval\s+(?=[A-Za-z$])|\bnew\s+vm\.Script\s*\(|importlib[\w.]*\(|"
    r"getattr\(\s*(?:builtins|__builtins__)\s*,\s*[\"'](?:exec|eval)[\"']\s*\)\s*\(|"
    r"__import__\([\"']builtins[\"']\)\.(?:exec|eval)\s*\(|"
    r"\b(?:pickle|cPickle|dill|cloudpickle)\.loads\s*\(|"
    r"\.constructor\s*\(|_compile\s*\(|FunctionType\s*\(|(?<![\w.$])(?:setTimeout|"
    r"setInterval)\s*\(\s*(?=[a-z_]\w*\s*[,(.])|"
    r"(?<![\w.$])source\(\s*(?=[\"']https?:)|(?<![\w.$])(?:import|require|include|include_once)\s*\(\s*(?=[\"']https?:)"
)
_STARTS: Final = re.compile(
    r"(?:\bos\.(?:system|popen|startfile|exec[lv]p?e?|spawn[lv]p?e?|posix_spawn)|\bsubprocess\.\w+|"
    r"(?<![\w.$])(?:Popen|check_output|check_call|"
    r"execSync|execFileSync|execFile|spawnSync|spawn|system|popen|shell_exec|passthru|proc_open|fork)|"
    r"(?:\bcp|child_process[\"']?\)?|\bchild|\bshell)\.(?:exec|spawn|fork)\w*|\brunpy\.run_path|"
    r"\bctypes\.CDLL|\bspec_from_file_location)\s*\("
)
_RUN_WORDS = triggers(
    "exec eval execfile runinthiscontext runinnewcontext runincontext compilefunction instance_eval "
    "class_eval create_function vm importlib _compile functiontype settimeout setinterval system popen "
    "startfile subprocess execsync execfilesync execfile spawnsync spawn shell_exec passthru proc_open runpy "
    "pickle cpickle dill cloudpickle "
    "child_process execv execvp execl execlp check_output check_call posix_spawn spec_from_file_location cdll"
)
#: Words that are everywhere; they count only in the one spelling that runs something.
_RARE_WORDS = triggers("function constructor assert import require include include_once source fork")
_RARE_SPELLINGS: Final = (
    *("Function(", "Function (", ".constructor(", "fork(", "assert($", "assert(base64", "assert(gz"),
    *("('http", '("http', "(`http"),
)


def _has_rare_run(source: Source) -> bool:
    return source.has(_RARE_WORDS) and any(spelling in source.text for spelling in _RARE_SPELLINGS)


_NAME = r"[A-Za-z_$][\w$]{0,60}"
_ASSIGNED = re.compile(
    rf"(?:^|[;{{(,\s])({_NAME})(?:\s*:\s*[\w.\[\]]{{1,40}})?\s*(?:\+|:|\|\|)?=(?![=>])\s*|\bas\s+({_NAME})\s*:"
    rf"|[(,=]\s*(?:async\s*)?\(?\s*({_NAME})\s*\)?\s*=>|\bfunction\s*\w{{0,40}}\(\s*({_NAME})"
)
_NAMES = re.compile(rf"(?<![\w$.]){_NAME}")
_STRING = re.compile(r"[\"'`]([^\"'`\n]{1,300})[\"'`]")
_WRITES = re.compile(
    rf"\bopen\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))\s*,\s*[\"'][wax]|"
    rf"write(?:File)?Sync\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"({_NAME})\.write_(?:bytes|text)\(|Path\(\s*[\"']([^\"'\n]{{1,300}})[\"']\s*\)\.write_(?:bytes|text)\(|"
    rf"writeFile\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"file_put_contents\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"createWriteStream\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"urlretrieve\([^,\n]{{1,400}},\s*(?:filename\s*=\s*)?(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"download\.file\([^,\n]{{1,400}},\s*[\"']([^\"'\n]{{1,300}})"
)
_FIRST_ARGUMENT = re.compile(
    rf"\s*(?:args\s*=\s*)?\[?\s*(?:(?:[\"'](?:/\w+)*/?(?:sh|bash|zsh|python3?|node|perl|ruby|env|sudo|"
    rf"powershell|cmd|pwsh)(?:\.exe)?[\"']|sys\.executable|process\.execPath)\s*,\s*\[?\s*)?"
    rf"(?:[\"']-[A-Za-z]{{1,12}}[\"']\s*,\s*)*(?:str\(|f)?(?:[\"'`](?:(?:sudo |chmod \S+ \S+ && )?(?:sh|bash|"
    rf"zsh|python3?|node|perl|source|\.) )?([^\"'`\n]{{1,300}})[\"'`]|({_NAME}(?:\.(?:text|content|data|"
    rf"stdout|decode\(\)|toString\(\)|name|body))*)\s*[\]),.])"
)
_CODE_LANGUAGES = word_set("python py python3 javascript js ts typescript node jsx tsx mjs cjs ruby rb perl php r lua")


def find(source: Source, kind: Kind, fact: str) -> Iterator[Found]:
    """Every call that runs what a source of this kind brings."""
    if not (source.has(_RUN_WORDS) or _has_rare_run(source)) or not (source.has(kind.words) or "\\x" in source.text):
        return
    text = source.text
    triggers_here = _RUN_WORDS | (_RARE_WORDS if _has_rare_run(source) else frozenset())
    runs: list[re.Match[str]] = []
    starts: list[re.Match[str]] = []
    for number in source.lines_with(triggers_here):
        begin, end = source.text_starts[number], source.text_starts[number + 1]
        runs.extend(_EVALUATES.finditer(text, begin, end))
        starts.extend(_STARTS.finditer(text, begin, end))
    if not runs and not starts:
        return
    sources: list[int] = []
    lines = source.lines_with(kind.words)
    if "\\x" in text and kind is DECODED:
        lines = sorted({*lines, *(number for number, raw in enumerate(source.lines) if "\\x" in raw)})
    for number in lines:
        begin, end = source.text_starts[number], source.text_starts[number + 1]
        sources.extend(match.start() for match in kind.pattern.finditer(text, begin, end))
    if not sources:
        return
    names, files = _followed(source, kind, sources)
    reported: set[int] = set()
    for match in runs:
        window = _window(text, match.end())
        at = bisect_left(sources, match.end())
        direct = (at < len(sources) and sources[at] < match.end() + len(window)) or (
            kind is FETCHED and window.startswith(("'http", '"http', "`http"))
        )
        origin = None
        if not direct:
            word = next((name for name in _NAMES.findall(window) if name in names), "") if names else ""
            origin = names.get(word)
            if origin is None and files:
                opened = _opened(window, files)
                origin = opened
        if (direct or origin is not None) and match.start() not in reported and not _is_definition(text, match.start()):
            reported.add(match.start())
            yield _found(source, fact, match, window, origin)
    for match in starts:
        window = _window(text, match.end())
        argument = _FIRST_ARGUMENT.match(window)
        origin = None
        if argument is not None:
            word = (argument[2] or "").split(".", 1)[0]
            literal = (argument[1] or "").split(" ", 1)[0]
            origin = names.get(word) or files.get(word) or files.get(_base(literal)) if word or literal else None
        if origin is None:
            brings = kind.pattern.match(window.lstrip(" \n\t[")) or _started_directly(kind, window)
        else:
            brings = None
        if (origin is not None or brings) and match.start() not in reported:
            reported.add(match.start())
            yield _found(source, fact, match, window, origin)


def _started_directly(kind: Kind, window: str) -> re.Match[str] | None:
    """A source inside the first argument of a call that starts a program; a URL or option among its arguments is none."""
    first = window.split(",", 1)[0] if kind is FETCHED else window
    match = kind.pattern.search(first[:300])
    return match if match is not None and not first.lstrip(" [\n\t").startswith(("'", '"', "f'", 'f"', "`")) else None


def _found(source: Source, fact: str, match: re.Match[str], window: str, origin: tuple[int, str] | None) -> Found:
    call = shown(plain(match[0].strip() + window))
    at = match.start() if origin is None else origin[0]
    line = source.text.count("\n", 0, at)
    column = at - (source.text.rfind("\n", 0, at) + 1)
    value = call if origin is None else f"{shown(plain(origin[1]))} ; {call}"
    payload = _payload(source, value)
    return Found(fact, value + payload, line, column)


def _payload(source: Source, value: str) -> str:
    """The literal values of names that the call uses, so that another payload is another fact."""
    if not source.values:
        return ""
    used = [name for name in dict.fromkeys(_NAMES.findall(value)) if name in source.values]
    return "".join(f" ; {name}={source.values[name]}" for name in used[:4])


def _is_definition(text: str, start: int) -> bool:
    before = text[max(0, start - 12) : start]
    return before.endswith(("def ", "function ", "async ", "sub ", "fn "))


def _window(text: str, start: int) -> str:
    """From behind the opening parenthesis of a call to its end, or as far as a rule looks."""
    piece = text[start : start + FACTS.window_characters]
    depth = 1
    for match in _PARENTHESES.finditer(piece):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return piece[: match.end()]
    return piece


_PARENTHESES = re.compile(r"[()]")


def _followed(
    source: Source, kind: Kind, sources: list[int]
) -> tuple[dict[str, tuple[int, str]], dict[str, tuple[int, str]]]:
    """The names and the files that hold what a source brought, each with its place and line."""
    names: dict[str, tuple[int, str]] = {}
    files: dict[str, tuple[int, str]] = {}
    if source.has(_OPENED_SOCKET) and kind is FETCHED:
        names["__socket__"] = (0, "")
    offset = 0
    handle: dict[str, str] = {}
    for raw in source.lines:
        size = len(raw) + 1
        line = raw[: FACTS.piece_characters]
        at = bisect_left(sources, offset)
        here = at < len(sources) and sources[at] < offset + size
        if not here and not names and not handle:
            offset += size
            continue
        found = kind.pattern.search(line) if here else None
        carried = (
            None
            if found
            else next((names[name] for name in _NAMES.findall(line) if name in names), None)
            if names
            else None
        )
        if found is not None or carried is not None:
            origin = (offset + found.start(), line.strip()[:300]) if found is not None else carried
            assert origin is not None
            for match in _ASSIGNED.finditer(line):
                name = next((group for group in match.groups() if group), "")
                if found is not None or name not in names:
                    source_before = found is not None and found.start() < match.start() and match[1] is not None
                    if name and not source_before and name not in _COMMON:
                        names.setdefault(name, origin)
            for match in _WRITES.finditer(line):
                _keep(files, match, origin)
            for name, path in handle.items():
                if re.search(rf"(?<![\w.]){re.escape(name)}\b", line):
                    files.setdefault(path, origin)
            for piped in re.finditer(r"createWriteStream\(\s*[\"']([^\"'\n]{1,300})", line):
                files.setdefault(_base(piped[1]), origin)
        if len(handle) < 64:
            for match in re.finditer(
                rf"(?:open\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|"
                rf"({_NAME}))\s*,\s*[\"'][wax]b?[\"'][^)\n]{{0,80}}\)\s*as\s+({_NAME})|"
                rf"({_NAME})\s*=\s*(?:fs\.)?createWriteStream\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME})))",
                line,
            ):
                handle[match[3] or match[4]] = _base(match[1] or match[5] or "") or match[2] or match[6] or ""
        offset += size
    for name, value in source.values.items():
        if name in files:
            files.setdefault(_base(value), files[name])
        elif _base(value) in files:
            files.setdefault(name, files[_base(value)])
    return names, files


_COMMON: Final = word_set("self this e err error i timeout headers params method")
_OPENED_SOCKET = triggers(("recv_into",))


def _keep(files: dict[str, tuple[int, str]], match: re.Match[str], origin: tuple[int, str]) -> None:
    for group in match.groups():
        if group:
            files.setdefault(_base(group) if "/" in group or "." in group else group, origin)


def _opened(window: str, files: dict[str, tuple[int, str]]) -> tuple[int, str] | None:
    for text in (*(_base(value) for value in _STRING.findall(window)), *_NAMES.findall(window)):
        if text in files:
            return files[text]
    return None


def _base(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
