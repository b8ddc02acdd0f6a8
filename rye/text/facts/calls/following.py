"""Track forward, line by line, the names and files of a program that hold what a source brought in."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection
from itertools import islice
from typing import Final, NamedTuple

from rye.limits import FACTS
from rye.text.facts.calls.kinds import Kind
from rye.text.facts.calls.scopes import Scopes
from rye.text.facts.source import Source
from rye.text.facts.tables import triggers, word_set

NAME: Final = r"[A-Za-z_$][\w$]{0,60}"
NAMES: Final = re.compile(rf"(?<![\w$.]){NAME}")
_NAME: Final = NAME
_ASSIGNED = re.compile(
    rf"(?:^|[;{{(,\s]|(?<==>))({_NAME})(?:\s*:\s*[\w.\[\]]{{1,40}})?\s*(?:\+|:|\|\|)?=(?![=>])\s*|\bas\s+({_NAME})\s*:|\bimport\s+(?:[\w.]{{1,60}}\s+as\s+(?={_NAME})|(?=(?:get|post)\b))({_NAME})"
    rf"|\bfor\s+(?:await\s)?\(?\s*(?:(?:const|let|var)\s)?\s*({_NAME})(?:\s*,\s*\w{{1,40}}){{0,2}}\s+(?:in|of)\b"
    rf"|[(,=]\s*(?:async\s*)?\(?\s*({_NAME})\s*\)?\s*=>|\bfunction\s*\w{{0,40}}\(\s*({_NAME})"
    rf"|[(,=]\s*\(?\s*\{{\s*(?:\w{{1,40}}\s*:\s*)?({_NAME})\s*\}}\s*\)?\s*=>|\{{\s*(?:\w{{1,40}}\s*:\s*)?({_NAME})\s*\}}\s*=(?![=>])"
    # what a pattern takes out of a result, and the parameters of blocks: Rust, Swift, Ruby, Kotlin
    rf"|\b(?:Ok|Some)\(\s*(?:mut\s+|ref\s+)?({_NAME})\s*\)\s*=(?!=)|(?:[{{(,]|\bdo)\s*(?:move\s+)?\|\s*&?(?:mut\s+)?({_NAME})(?:\s*:[^|\n]{{1,40}})?\s*\||"
    rf"\{{\s*\(?({_NAME})\)?\s*(?:->|in\b)"
)
#: The first of several names that a line assigns: ``path, headers = urlretrieve(…)``.
_SEVERAL = re.compile(
    rf"(?:^|[;{{}}])\s{{0,40}}(?:(?:let|var|val|const)\s*)?\(?(?:_\s?,\s?({_NAME})\s*(?:,[\w\s,*]{{1,60}})?|({_NAME})\s*,[\w\s,*]{{1,60}})\)?\s{{0,4}}:?=(?![=>])"
)
_FIRST_PARAMETER: Final = 5
_LAST_PARAMETER: Final = 7
"""Between these groups, ``_ASSIGNED`` matches parameters of functions."""
_WRITES = re.compile(
    rf"\bopen\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))\s*,\s*[\"'][wax]|"
    rf"write(?:File)?Sync\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"({_NAME})\.write_(?:bytes|text)\(|Path\(\s*[\"']([^\"'\n]{{1,300}})[\"']\s*\)\.write_(?:bytes|text)\(|"
    rf"writeFile\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"file_put_contents\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"createWriteStream\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"urlretrieve\([^,\n]{{1,400}},\s*(?:filename\s*=\s*)?(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"(?:shutil\.copyfileobj|\.pipe)\([^()\n]{{0,200}}?(?:createWriteStream|open)\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"\bSaveToFile[\s(]\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|\bBun\.write\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"Deno\.writeTextFile(?:Sync)?\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|File\.(?:bin)?write\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"download\.file\([^,\n]{{1,400}},\s*[\"']([^\"'\n]{{1,300}})|"
    # Go, Rust, Java, C#, Ruby, PHP, Perl, Lua, Julia and Swift
    rf"\bos\.(?:WriteFile|OpenFile|Create)\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|\bioutil\.WriteFile\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"\b(?:fs::write|File::create)\(\s*&?(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"\b(?:FileOutputStream|FileWriter)\(\s*(?:new\s+File\()?(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|\bFiles\.(?:copy\(\s*[^,\n]{{1,160}},|write\w{{0,6}}\()\s*(?:Paths?\.(?:get|of)\()?\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"\bWriteAll\w{{4,14}}\(\s*@?(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|\b[dD]ownloadFile\w{{0,12}}\([^,\n]{{1,400}},\s*@?(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"\bcopy_stream\([^,\n]{{1,200}},\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|\b(?:copy|getstore|mirror|wget\.download|download|download_file)\(\s*[^,()\n]{{1,300}},\s*(?:(?:out|dest|output|path|filename|file)\s*=\s*)?(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"\bopen\(\s*(?:my\s+)?\$\w{{1,30}}\s*,\s*[\"']>{{1,2}}[^\"']{{0,20}}[\"']\s*,\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"\b(?:writeTextFile|writeFile|outputFile|Deno\.writeFile)\(\s*(?:[\"'`]([^\"'`\n]{{1,300}})[\"'`]|({_NAME}))|"
    # Swift, Kotlin and Dart
    rf"\.write\(\s*to(?:File)?:\s*(?:URL\(\s*(?:fileURLWithPath|filePath):\s*)?(?:\"([^\"\n]{{1,300}})\"|({_NAME}))|"
    rf"({_NAME})\.(?:write(?:Bytes|Text)|outputStream|openWrite|writeAs(?:Bytes|String)(?:Sync)?)\(|"
    rf"\bURLDownloadToFile\w?\(\s*\w{{1,20}}\s*,[^,\n]{{1,300}},\s*(?:L|TEXT\(|_T\()?(?:\"([^\"\n]{{1,300}})\"|({_NAME}))"
)
#: Calls that write the file which their first argument computes: ``fs::write(dir.join("x"), …)``.
_WRITES_COMPUTED = re.compile(
    r"(?:\bfs::write|\bFile::create|\bwrite(?:_?[fF]ile)?(?:Sync)?|\bcreateWriteStream|\bWriteAll\w{4,14}|\bos\.(?:WriteFile|Create)|"
    r"\bfile_put_contents|\bFiles\.write\w{0,6})\((?=[^,\n]{0,200}[(/+])"
)
#: A program that unpacks, in a string or a list of words.
_UNPACKERS: Final = word_set("tar unzip 7z 7za bsdtar unrar expand-archive")
_UNPACKS_BY_PROGRAM = re.compile(r"\b(?:tar|unzip|7za?|bsdtar|unrar|Expand-Archive)\b")
_WORDS_OF_CALL = re.compile(r"[^\s\"'`,\[\]()]{1,200}")
_HANDLES = re.compile(
    rf"(?:open\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))\s*,\s*[\"'][wax]b?[\"'][^)\n]{{0,80}}\)\s*as\s+({_NAME})|"
    rf"({_NAME})\s*=\s*(?:fs\.)?createWriteStream\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME})))"
)
#: The same in Go, Rust, Ruby, Lua and PHP: ``f, err := os.Create(path)``, ``f = io.open(path, "w")``.
_OPENED_BY_NAME = re.compile(
    rf"(?P<handle>{_NAME})\s*(?:,\s*\w{{1,20}}\s*)?:?=\s*(?:(?:os\.(?:Create|OpenFile)|(?:fs::)?File::create|new\s+(?:java\.io\.)?File)\(\s*&?(?:[\"'](?P<path>[^\"'\n]{{1,300}})[\"']|(?P<name>{_NAME}))|"
    rf"(?:File\.(?:open|new)|io\.open|fopen|open)\(\s*(?:[\"'](?P<other>[^\"'\n]{{1,300}})[\"']|(?P<second>{_NAME}))\s*,\s*[\"'][wax])"
)
#: A temporary file: a number and a path, or an object whose name is the path.
_TEMPORARY = re.compile(rf"({_NAME})\s*,\s*({_NAME})\s*=\s*(?:tempfile\.)?mkstemp\(")
_OPENED = re.compile(
    rf"fdopen\(\s*({_NAME})[^)\n]{{0,80}}\)\s*as\s+({_NAME})|({_NAME})\s*=\s*(?:os\.)?fdopen\(\s*({_NAME})"
    rf"|TemporaryFile\([^)\n]{{0,200}}\)\s*as\s+({_NAME})|({_NAME})\s*=\s*(?:tempfile\.)?NamedTemporaryFile\("
)
_COMMON: Final = word_set(
    "self this e err error i timeout headers params method input check stdin stdout stderr shell encoding capture_output cwd"
)
#: A function's first line; a method has ``self``.
_BEGINS_FUNCTION = re.compile(
    rf"\s{{0,40}}(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:def\s+({_NAME})\s*\(\s*(?P<self>(?:self|cls)\b)?|function\s*\*?\s*({_NAME})|sub\s+({_NAME})|"
    rf"(?:const|let|var)\s+({_NAME})\s*=\s*(?:async\s*)?(?:\([^()\n]{{0,200}}\)|{_NAME})\s*=>|(?:local\s+)?function\s+({_NAME})|"
    rf"(?:(?:public|private|protected|static|async|override)\s+){{0,4}}(?P<method>(?!if\b|for\b|while\b|switch\b|catch\b|function\b){_NAME})\s*\([^()\n]{{0,200}}\)\s*(?::\s*[^{{}}\n]{{1,60}})?\{{\s*$)"
)
_RETURNS = re.compile(r"^\s*(?:return|yield)\b|\breturn\s|=>\s*(?!\{)")
_STRINGS = re.compile(r"[\"'`]([^\"'`\n]{1,300})[\"'`]")
#: What gathers parts: ``chunks.push(part)``, ``files[path] = part``.
_GATHERS = re.compile(
    rf"(?<![\w$.])({_NAME})(?:\.(?:push|append|extend|concat|update|attach|add_attachment)\(|\.Write[ \t]+(?=\w)|"
    r"\[[^\[\]\n]{1,60}\]\s{0,4}\+?=(?!=))"
)
#: Several names that are taken out of an object: ``const { cmd, args } = …``.
_BRACES = re.compile(r"\{([\w$:, \t]{1,200})\}{1,3}\s*=(?![=>])")
_UNPACKS = re.compile(
    rf"(?:\.(?:extractall|extract_all|extractAllTo|extractTo)\(\s*|(?:unpack_archive|\.extract|ExtractToDirectory|tar\.x)\(\s*(?:[^()\n]{{0,120}}?,\s*)?)(?:(?:path|cwd|extract_dir)\s*[=:]\s*)?(?:[rf]?[\"'`]([^\"'`\n]{{1,300}})[\"'`]|(?:str\(|os\.fspath\()?({_NAME}))"
)
_METHODS = re.compile(rf"(?<=[\w)\]])(\.{_NAME})\(")
_MOST_WRITES: Final = 8
_ARGUMENT: Final = 400
"""How long the first argument of a call can be that writes a file, and how many such calls of a line are read."""
_INTO: Final = word_set("-c -d --directory -destinationpath")
_SOCKET: Final = triggers(("recv_into",))
_MOST_HANDLES: Final = 64
_STARTERS: Final = (
    r"(?:(?:ba|z|da|k|c|tc|fi)?sh|python[\d.]*|pypy\d?|node(?:js)?|deno|bun|perl|ruby|php|lua|rscript|osascript|powershell|pwsh|cmd|"
    r"eval|sudo|doas|su|env|nohup|exec|setsid|nice|time|timeout|xargs|parallel|find|fd|ssh|docker|podman|nerdctl|kubectl|oc|lxc|"
    r"chroot|nsenter|wsl|start|open|call|make|uv|uvx|npx|bunx|pipx|tsx|java|mono|wine|dotnet|awk|gawk|sed|tclsh|expect|screen|tmux|at|"
    r"watch|script|git|tar|zip|rsync|busybox|command|runuser|systemd-run|ld|crontab)"
)


_PACKED: Final = 1_000
"""A line of code that is longer holds many statements."""
_SHORT: Final = 2
_STATEMENT = re.compile(r"[^;]{1,2000};?")


class ContentOrigin(NamedTuple):
    """Where foreign content came from: its text, and the line."""

    offset: int
    text: str
    since: int = 0
    until: int = 0
    """Between which offsets the name means this, if it belongs to a function or is its parameter; 0 if it means it everywhere."""

    def holds_at(self, offset: int) -> bool:
        """Whether the name means this at an offset."""
        return not self.until or self.since <= offset <= self.until


class Meanings:
    """What names hold, each by where it means that."""

    def __init__(self) -> None:
        self._origins: dict[str, list[ContentOrigin]] = {}

    def __bool__(self) -> bool:
        return bool(self._origins)

    @property
    def words(self) -> Collection[str]:
        """The names that hold something anywhere."""
        return self._origins.keys()

    def at(self, name: str, offset: int) -> ContentOrigin | None:
        """What a name holds at an offset."""
        return next((origin for origin in self._origins.get(name, ()) if origin.holds_at(offset)), None)

    def keep(self, name: str, origin: ContentOrigin, offset: int) -> None:
        """Keep what a name holds from a line at an offset on, unless that is known; what it means everywhere comes first."""
        known = self._origins.setdefault(name, [])
        here = next((other for other in known if other.holds_at(offset)), None)
        if len(known) < FACTS.meanings and (here is None or (here.until and not origin.until)):
            known.insert(len(known) if origin.until else 0, origin)

    def replace(self, name: str, origin: ContentOrigin) -> None:
        """Keep what a name holds from now on."""
        self._origins.setdefault(name, []).insert(0, origin)


class Followed:
    """The names and files in which a program keeps what its sources bring in."""

    def __init__(self, source: Source, kind: Kind, sources: list[int], fetched: bool) -> None:
        self.kind = kind
        self.names = Meanings()
        self._scopes = Scopes(source)
        self._packed = False
        """Whether the line that is read holds many statements."""
        self.files: dict[str, ContentOrigin] = {}
        self.folders: dict[str, ContentOrigin] = {}
        """Folders that an archive is unpacked into, by path or by name."""
        self._handles: dict[str, str] = {}
        self._temporary: dict[str, str] = {}
        self._text = source.text
        self.functions: set[str] = set()
        """The names that are functions which return it."""
        self._programs: dict[str, list[tuple[int, int]]] = {}
        """The names that are lists of a program that runs no text and its arguments, and where they are."""
        self._list = ""
        """The one that the line which is read makes."""
        self._function = ""
        """The function that the lines being read belong to; a method's name begins with a dot."""
        if fetched and source.has(_SOCKET):
            self.names.keep("__socket__", ContentOrigin(0, ""), 0)
        self._handed_back = False
        self._read_all(source, sources)
        if self._handed_back:  # what a function above does with what it is given below
            self._read_all(source, sources)
        self._name_files(source.values)
        if self.files:
            self._hand_files_on(source.text)

    def _read_all(self, source: Source, sources: list[int]) -> None:
        for raw, offset in zip(source.lines, source.text_starts, strict=False):
            at = bisect_left(sources, offset)
            here = at < len(sources) and sources[at] <= offset + len(raw)
            self._begin(raw)
            opens = (
                "TemporaryFile" in raw
                or "mkstemp" in raw
                or ("open(" in raw and " as " in raw)
                or "createWriteStream" in raw
                or (
                    "=" in raw
                    and (
                        "os.Create(" in raw
                        or "os.OpenFile(" in raw
                        or "File::create(" in raw
                        or "io.open(" in raw
                        or "fopen(" in raw
                        or "new File(" in raw
                    )
                )
            )
            if here or self.names or self.files or self._handles or opens:
                if len(raw) <= _PACKED:
                    self._read(raw, offset, here)
                else:
                    self._read_packed(raw[: FACTS.piece_characters], offset, sources)

    def _read_packed(self, line: str, offset: int, sources: list[int]) -> None:
        """Read a long line of packed code statement by statement: what stands in one says nothing about the others. A short name
        means something else soon."""
        for match in _STATEMENT.finditer(line):
            start = offset + match.start()
            at = bisect_left(sources, start)
            self._packed = True
            self._read(match[0], start, at < len(sources) and sources[at] < offset + match.end())
            self._packed = False

    def _keep(self, name: str, origin: ContentOrigin, offset: int) -> None:
        """Keep what a name holds from a line at an offset on, in the function that the line belongs to."""
        since = until = 0
        if self._packed and len(name) <= _SHORT:
            since, until = origin.offset, origin.offset + FACTS.window_characters
        else:
            scope = self._scopes.at(offset, name)
            if scope is not None:
                since, until = scope.first, scope.last
        self.names.keep(name, origin._replace(since=since, until=until), offset)

    def _hand_on(self, line: str, origin: ContentOrigin, offset: int) -> None:
        """Keep what a function of the program is given: ``send(data)``, ``Thread(target=send, args=(data,))``."""
        for match in islice(_MENTIONED.finditer(line), _MOST_DEFINITIONS):
            for scope in self._scopes.by_name.get(match[1], ()) if not line.startswith(_DEFINES, match.start()) else ():
                if scope.first <= offset < scope.last:
                    continue
                given = _split(line[match.end() :]) if match[2] else []
                for at, parameter in enumerate(scope.parameters):
                    if match[2] and not self._is_given(parameter, at, given, offset):
                        continue
                    if self.names.at(parameter, scope.first) is None:
                        self._handed_back = self._handed_back or scope.first < offset
                        self.names.keep(parameter, origin._replace(since=scope.first, until=scope.last), scope.first)

    def _is_given(self, parameter: str, at: int, given: list[str], offset: int) -> bool:
        """Whether a parameter gets something foreign by its place or its name, or nobody can tell."""
        own = [text.partition("=")[2] for text in given if text.lstrip().startswith(f"{parameter}=")]
        texts = own or [*given[at : at + 1], *(text for text in given[:at] if text.lstrip().startswith("*"))]
        for text in texts:
            whole = _WHOLE.fullmatch(text)
            if self.kind.pattern.search(text) is not None or (whole is not None and self.names.at(whole[1], offset)):
                return True
        return False

    def _unpack(self, line: str, origin: ContentOrigin, offset: int) -> None:
        """Keep the folder that an archive is unpacked into: a name, or a path."""
        if "xtract" in line or "unpack" in line or "tar." in line or "unzip" in line:
            for match in _UNPACKS.finditer(line):
                folder = match[1] or match[2]
                if folder:
                    self.folders.setdefault(folder.rstrip("/"), origin)
                    if match[2]:
                        self._keep(folder, origin, offset)

    def _unpack_by_program(self, line: str) -> None:
        """Keep the folder that a started program unpacks a saved archive into: ``execSync("tar -xf x.tgz -C /tmp")``."""
        words = _WORDS_OF_CALL.findall(line)
        at = next((at for at, word in enumerate(words) if base(word).lower() in _UNPACKERS), -1)
        origin = next(
            (found for word in words[at + 1 :] if (found := self.files.get(base(word)) or self.files.get(word))), None
        )
        if at >= 0 and origin is not None:
            given = zip(words[at + 1 :], words[at + 2 :], strict=False)
            folder = next((after for option, after in given if option.lower() in _INTO), ".")
            self.folders.setdefault(folder.rstrip("/") or "/", origin)

    def _begin(self, line: str) -> None:
        """Keep the function that begins in this line."""
        if "def " in line or "function" in line or "=>" in line or "sub " in line or line.endswith("{"):
            begun = _BEGINS_FUNCTION.match(line)
            if begun is not None:
                name = begun["method"] or next(group for group in begun.groups() if group)
                self._function = f".{name}" if begun["self"] or begun["method"] else name

    def _read(self, line: str, offset: int, here: bool) -> None:
        found = self.kind.pattern.search(line) if here else None
        origin = (
            ContentOrigin(offset + found.start(), line.strip()[:300])
            if found is not None
            else self._carried(line, offset)
        )
        self._list = self._keep_program(line, offset) if "=" in line else ""
        if self.files and _UNPACKS_BY_PROGRAM.search(line) is not None:
            self._unpack_by_program(line)
        if origin is not None:
            for braces in _BRACES.finditer(line) if "{" in line else ():
                for name in NAMES.findall(braces[1]):
                    if name not in _COMMON or name == "headers":
                        self._keep(name, origin, offset)
            for gathered in _GATHERS.finditer(line):
                if gathered[1] not in _COMMON and not self._is_list_of(gathered[1], offset):
                    self._keep(gathered[1], origin, offset)
            self._unpack(line, origin, offset)
            several = _SEVERAL.search(line) if "," in line and "=" in line else None
            name = (several[1] or several[2]) if several is not None else ""
            if name and name not in _COMMON:
                self._keep(name, origin, offset)
            self._assign(line, origin, found, offset)
            if found is not None and found[0].startswith("except"):
                raised = re.search(rf"\bas\s+({_NAME})\s*:", line)
                if raised is not None:  # the body of an error is what the server sent
                    scope = self._scopes.at(offset, raised[1])
                    since, until = (scope.first, scope.last) if scope is not None else (0, 0)
                    self.names.replace(raised[1], origin._replace(since=since, until=until))
            if self._function and self._function not in self.functions and _RETURNS.search(line) is not None:
                self.names.keep(self._function, origin._replace(since=0, until=0), offset)
                self.functions.add(self._function)
            self._write(line, origin)
            if self._scopes.by_name:
                self._hand_on(line, origin, offset)
        if len(self._handles) < _MOST_HANDLES:
            self._keep_temporary(line)
        if (
            len(self._handles) < _MOST_HANDLES
            and ("pen(" in line or "reate(" in line or "File(" in line)
            and "=" in line
        ):
            for match in _OPENED_BY_NAME.finditer(line):
                self._handles[match["handle"]] = (
                    base(match["path"] or match["other"] or "") or match["name"] or match["second"]
                )
        if len(self._handles) < _MOST_HANDLES and ("open" in line or "createWriteStream" in line):
            for match in _HANDLES.finditer(line):
                path = base(match[1] or match[5] or "") or match[2] or match[6] or ""
                self._handles[match[3] or match[4]] = self._temporary.get(path, path)

    def _keep_temporary(self, line: str) -> None:
        if "mkstemp" in line:
            for match in _TEMPORARY.finditer(line):
                self._temporary[match[1]] = self._handles[match[1]] = match[2]
        if "fdopen" in line or "TemporaryFile" in line:
            for match in _OPENED.finditer(line):
                name = match[2] or match[3] or match[5] or match[6]
                number = match[1] or match[4]
                self._handles[name] = self._temporary.get(number, number) if number else name

    def _carried(self, line: str, offset: int) -> ContentOrigin | None:
        if not (self.names or self.files):
            return None
        for name in NAMES.findall(line):
            origin = self.names.at(name, offset)
            if origin is not None:
                return origin
        for name in _METHODS.findall(line):
            origin = self.names.at(name, offset)
            if origin is not None:
                return origin
        for text in _STRINGS.findall(line) if self.files else ():
            if base(text) in self.files:
                return self.files[base(text)]
        return None

    def _is_list_of(self, name: str, offset: int) -> bool:
        """Whether a name is a program and its arguments there, so that more of them are data: ``cmd = ["ffmpeg"]``."""
        return any(since <= offset < until for since, until in self._programs.get(name, ()))

    def _keep_program(self, line: str, offset: int) -> str:
        """Keep which name a line makes such a list, and forget it where the name gets something else. Return that name."""
        made = _PROGRAM_LIST.match(self._text, offset)
        if made is not None and len(self._programs) < _MOST_HANDLES and not self._runs_foreign(made, offset):
            scope = self._scopes.at(offset, made[1])
            until = scope.last if scope is not None else FACTS.parsed_characters
            self._programs[made[1]] = [*self._programs.get(made[1], [])[1 - FACTS.meanings :], (offset, until)]
            return made[1]
        other = _SETS.match(line) if self._programs else None
        if other is not None:
            self._programs.pop(other[1], None)
        return ""

    def _runs_foreign(self, made: re.Match[str], offset: int) -> bool:
        """Whether the script of an interpreter in such a list is foreign, or code is still to come."""
        return made["script"] is not None and any(
            self.names.at(name, offset) is not None for name in NAMES.findall(made["script"])
        )

    def _assign(self, line: str, origin: ContentOrigin, found: re.Match[str] | None, offset: int) -> None:
        for match in _ASSIGNED.finditer(line):
            name = next((group for group in match.groups() if group), "")
            if name == self._list:
                continue
            behind = (
                found is not None
                and found.start() < match.start()
                and match[1] is not None
                and "+=" not in match[0]  # a name that gathers what a callback is given
            )
            if name and not behind and name not in _COMMON:
                if _FIRST_PARAMETER <= (match.lastindex or 0) <= _LAST_PARAMETER:
                    until = origin.offset + FACTS.window_characters
                    self.names.keep(name, origin._replace(since=origin.offset, until=until), origin.offset)
                else:
                    self._keep(name, origin, offset)

    def _write(self, line: str, origin: ContentOrigin) -> None:
        for call in islice(_WRITES_COMPUTED.finditer(line), _MOST_WRITES):
            for text in _STRINGS.findall(_split(line[call.end() : call.end() + _ARGUMENT])[0]):
                if base(text):
                    self.files.setdefault(base(text), origin)
        for match in _WRITES.finditer(line):
            for group in match.groups():
                if group and _MEDIA_TYPE.fullmatch(group) is None:
                    self.files.setdefault(base(group) if "/" in group or "." in group else group, origin)
        for name, path in self._handles.items():
            if name in line and re.search(rf"(?<![\w.]){re.escape(name)}\b", line):
                self.files.setdefault(path, origin)

    def _hand_files_on(self, text: str) -> None:
        """Keep the files whose name a function takes as a parameter: ``download(address, path)`` saves to ``path``."""
        for match in islice(DEFINITION.finditer(text), _MOST_DEFINITIONS):
            name, parameters = defined(match)
            places = [at for at, parameter in enumerate(parameters) if parameter in self.files]
            if not places or (text.find(f"{name}(", match.end()) < 0 and text.find(f"{name}(") == match.start()):
                continue
            origin = self.files[parameters[places[0]]]
            for call in islice(re.finditer(rf"(?<![\w$]){re.escape(name)}\(([^\n]{{1,400}})", text), _MOST_DEFINITIONS):
                given = _split(call[1])
                for at in places:
                    target = given[at].strip().strip("\"'`") if at < len(given) else ""
                    if target and call.start() != match.start():
                        self.files.setdefault(base(target) if "/" in target or "." in target else target, origin)

    def _name_files(self, values: dict[str, str]) -> None:
        """If a name holds a file's path, track both."""
        for name, value in values.items() if self.files else ():
            if name in self.files:
                self.files.setdefault(base(value), self.files[name])
            elif base(value) in self.files:
                self.files.setdefault(name, self.files[base(value)])


#: A function that a line calls, or hands to another one together with what it is given.
_MENTIONED: Final = re.compile(r"(?<!\w)([A-Za-z_]\w{0,60})\b[ \t]*(?:(\()|(?=,))")
#: An argument that is a name, with what is taken out of it. A list or a text holds it beside other things.
_WHOLE: Final = re.compile(
    rf"\s*(?:\w{{1,60}}\s?=\s?)?\*{{0,2}}({NAME})(?:\.\w{{1,60}}|\[[^\[\]\n]{{1,60}}\]|\([^()\n]{{0,60}}\)){{0,6}}\s*"
)
_DEFINES: Final = ("def ", "async def ", "class ")
_SETS: Final = re.compile(rf"[ \t]*(?:(?:const|let|var)[ \t]+)?({NAME})[ \t]*(?::[^=\n]{{1,40}})?=(?!=)")
#: A list of words that begins with the name of a program, which is no interpreter and starts none.
_PROGRAM_LIST: Final = re.compile(
    rf"[ \t]*(?:(?:const|let|var)[ \t]+)?({NAME})(?:[ \t]?:[ \t]?[\w\[\], .]{{1,40}})?[ \t]*=[ \t]*"
    rf"\[\s*(?:[\"'](?!{_STARTERS}[\"'])[\w-]{{1,40}}[\"']\s*[,\]]|"
    # an interpreter and its script
    r"(?:[\"'](?:(?:ba|z)?sh|python[\d.]*|node|ruby|perl|php)[\"']|sys\.executable)\s*,\s*(?P<script>(?!\s|[\"']-)[^,\]\n]{1,120})[,\]])"
)
DEFINITION: Final = re.compile(
    r"\b(?:def|function)\s+([A-Za-z_$][\w$]{0,60})\s*\((?P<parameters>[^()\n]{1,200}(?:\([^()\n]{0,100}\)[^()\n]{0,100}){0,3})\)|"
    r"\b(?:const|let|var)\s+([A-Za-z_$][\w$]{0,60})\s*=\s*(?:async\s*)?\(?(?P<others>[\w$, ]{1,100})\)?\s*=>|"
    r"\b([A-Za-z_$][\w$]{0,60})\s*=\s*lambda\s+(?P<more>[\w, ]{1,100}):"
)
"""Where a function with parameters is defined, in Python, JavaScript and Lua."""
_MOST_DEFINITIONS: Final = 64


def defined(match: re.Match[str]) -> tuple[str, list[str]]:
    """The name and the parameters of a definition."""
    parameters = (match["parameters"] or match["others"] or match["more"]).split(",")
    return match[1] or match[3] or match[5], [
        part.strip().partition(":")[0].partition("=")[0].strip("* ") for part in parameters
    ]


def _split(arguments: str) -> list[str]:
    """The arguments of a call, up to its end. Commas in parentheses, brackets and strings separate none."""
    parts, depth, quote = [""], 0, ""
    for character in arguments:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'`":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif character == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += character
    return parts


def first_argument(window: str) -> str:
    """The first argument of a call, given the text behind its parenthesis."""
    return _split(window)[0]


#: A type of content, which no file is called.
_MEDIA_TYPE = re.compile(r"(?:application|text|image|audio|video|multipart|font|model|message)/[a-z][\w.+-]{1,60}")


def base(path: str) -> str:
    """The last component of a path."""
    return path.replace("\\", "/").rpartition("/")[2]
