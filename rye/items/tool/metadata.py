"""Read a tool's metadata without executing its code: Python with ``ast``, JavaScript, TypeScript and shell from the top.

In every language the names are ``__version__``, ``__category__``, ``__tool_description__``, ``__dependencies__`` and other
``__names__`` with a plain string, number or list of strings. ``__needs__`` is a table of such lists; in a shell, it is JSON in a
string. A name that is assigned more than once is refused, since programs and readers could disagree about its value. Outside
Python, only the top of the file counts, up to the first statement that is not blank, a comment, an import, ``set``/``use strict``
or a constant. A string that the program would compute (``f"…"``, ``${…}``, ``$(…)``) does not count.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

_NAME = r"__[a-z][a-z0-9_]{0,60}__"
_DUNDER = re.compile(_NAME)
_NEEDS = "__needs__"
_COMMENT = re.compile(rf"({_NAME})[ \t]*[:=][ \t]*(.*)")
_TEXT = re.compile(r"\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'|`[^`\\$\n]*+`")
_OURS = frozenset(["version", "category", "tool_description", "description", "dependencies", "tool_id", "needs"])
"""The names that are read. Python code can use others (``__all__``) freely."""

_CODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_UTF8 = frozenset(["utf-8", "utf8", "ascii", "us-ascii"])

_DECLARATION = re.compile(r"(?:export[ \t]+)?(?:const|let|var)[ \t]+|(?:module[ \t]*\.[ \t]*)?exports[ \t]*\.[ \t]*")
_DECLARATOR = re.compile(r"([A-Za-z_$][\w$]*)[ \t]*(?::[ \t]*[^=,;\n]{1,100})?=(?![=>])\s*")
_TYPED = re.compile(r"[ \t]+(?:as|satisfies)[ \t]+[\w \t.<>\[\]|\"']{1,60}")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?(?![\w.])|(?:true|false|null)\b")
_ARRAY = re.compile(rf"\[\s*+(?>(?:(?:{_TEXT.pattern})\s*+,?\s*+)*)\]")
_KEY = rf"(?:[A-Za-z_]\w{{0,30}}+|{_TEXT.pattern})\s*+:\s*+"
_OBJECT = re.compile(rf"\{{\s*+(?>(?:{_KEY}{_ARRAY.pattern}\s*+,?\s*+)*)\}}")
_ENTRY = re.compile(rf"({_KEY})({_ARRAY.pattern})")
_END = re.compile(r"[ \t]*(,\s*|;|(?=\n|//|/\*|$))")
_REQUIRE = re.compile(r"(?:const|let|var)\b[^\n=]{1,400}=[ \t]*require\([^\n]*")
_IMPORT = re.compile(
    r"(?:import\b(?![ \t]*[(.])[^\"';]{0,4000}|export\b[^\"';=]{0,4000}?\bfrom\s{0,100})"
    r"(?:\"[^\"\n]*\"|'[^'\n]*')[^\n;]*"
)
_DIRECTIVE = re.compile(r"(?:\"use \w+\"|'use \w+')")

_ASSIGNMENTS = re.compile(
    r"(?:(?:readonly|export|declare|typeset)(?:[ \t]+-[a-zA-Z]+)*[ \t]+)?(?=[A-Za-z_][A-Za-z0-9_]*=)"
)
_SHELL_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_WORD = re.compile(
    r"(?>(?:'[^']*+'|\"[^\"\\$`]*+(?:\\.[^\"\\$`]*+)*+\"|[^\s\"'\\$`;&|<>()#]++|(?<=\S)#|\\.)*)", re.DOTALL
)
_SETTING = re.compile(r"(?:set[ \t]+[-+]|shopt\b)[^\n;]*")


class ToolSyntaxError(ValueError):
    """The code does not parse. ``line`` is the file's."""

    def __init__(self, message: str, line: int | None):
        super().__init__(message)
        self.message = message
        self.line = line


class CodeMetadata(Struct):
    """Constants by name (without underscores) with their lines, and names that are assigned more than once."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    repeated: list[tuple[str, int]] = field(default_factory=list)

    def put(self, name: str, value: Any, line: int) -> None:
        """Add a constant, or note that its name is repeated."""
        plain = name.strip("_")
        if plain in self.lines:
            self.repeated.append((name, line))
            return
        self.values[plain] = value
        self.lines[plain] = line


def from_python(text: str) -> CodeMetadata:
    """Return the module-level constants. Raises ToolSyntaxError, also for code nested too deep to parse."""
    found = CodeMetadata()
    _require_utf8(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        raise ToolSyntaxError(error.msg, error.lineno) from None
    except ValueError:  # a NUL character
        raise ToolSyntaxError("the code contains a NUL character", None) from None
    except (RecursionError, MemoryError):
        raise ToolSyntaxError("the code is nested too deep", None) from None
    plain: set[int] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign):
            pairs = [pair for target in node.targets for pair in _pairs(target, node.value)]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        else:
            continue
        for target, value in pairs:
            if isinstance(target, ast.Name) and _DUNDER.fullmatch(target.id):
                found.put(target.id, _table(value) if target.id == _NEEDS else _constant(value), node.lineno)
                plain.add(id(target))
    for name, line in _other_bindings(tree, plain):
        bare = name.strip("_")
        if _DUNDER.fullmatch(name) and bare in _OURS and bare in found.lines:
            found.repeated.append((name, line))
    return found


def _require_utf8(text: str) -> None:
    """Refuse an encoding declaration (PEP 263) under which Python would run another text than the one that people read."""
    for number, line in enumerate(text.split("\n", 2)[:2], 1):
        if not (declared := _CODING.match(line)):
            if line.strip() and not line.lstrip().startswith("#"):
                return
        elif declared[1].lower().replace("_", "-") not in _UTF8:
            message = f"it declares the encoding {declared[1][:40]!r}, and Python would not read it as UTF-8"
            raise ToolSyntaxError(message, number)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """``a, b = "x", "y"`` as two assignments."""
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        if len(target.elts) == len(value.elts):
            yield from zip(target.elts, value.elts, strict=True)
    else:
        yield target, value


def _other_bindings(tree: ast.Module, plain: set[int]) -> Iterator[tuple[str, int]]:
    """Names that the module binds, changes or deletes other than in the ``plain`` assignments."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, local = waiting.pop()
        line = getattr(node, "lineno", 1)
        if isinstance(node, ast.Global):
            yield from ((name, line) for name in node.names)
        elif not local:
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in plain:
                yield node.id, line
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).split(".")[0], line
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name, line
        local = local or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda)
        waiting += [(child, local) for child in ast.iter_child_nodes(node)]


def _constant(node: ast.expr) -> Any:
    """A constant or a flat list of constants; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        return [element.value if isinstance(element, ast.Constant) else None for element in node.elts]
    return None


def _table(node: ast.expr) -> Any:
    """A dictionary of flat lists, or another plain value."""
    if not isinstance(node, ast.Dict):
        return _constant(node)
    keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
    if len(set(keys)) < len(keys):
        return None
    return {key: _constant(value) for key, value in zip(keys, node.values, strict=True)}


def from_script(text: str) -> CodeMetadata:
    """Return the leading constants and comments of JavaScript or TypeScript."""
    found = CodeMetadata()
    scan = _Scan(text)
    while scan.skip_blanks(" \t\r\n;"):
        if text.startswith(("//", "#!"), scan.at):
            number = scan.line()
            _put_comment(found, scan.rest_of_line().lstrip("/").strip(), number)
        elif text.startswith("/*", scan.at):
            number = scan.line()
            for offset, line in enumerate(scan.block_comment().split("\n")):
                _put_comment(found, line.strip("* \t\r"), number + offset)
        elif not (scan.take(_DIRECTIVE) or scan.take(_REQUIRE) or scan.take(_IMPORT) or _declaration(scan, found)):
            break
    return found


def _declaration(scan: _Scan, found: CodeMetadata) -> bool:
    """Read one ``const a = "x", b = "y";`` with plain values. Returns False where the leading constants end."""
    if not scan.take(_DECLARATION):
        return False
    while declarator := scan.take(_DECLARATOR):
        name, number = declarator[1], scan.line_of(declarator.start())
        literal = scan.take(_TEXT) or scan.take(_NUMBER) or scan.take(_ARRAY)
        literal = literal or (scan.take(_OBJECT) if name == _NEEDS else None)
        scan.take(_TYPED)
        end = scan.take(_END) if literal else None
        if _DUNDER.fullmatch(name):
            found.put(name, _literal(literal[0]) if literal and end else None, number)
        if end is None:
            # A computed value is not a constant. A computed __name__ is an error, so nothing after it would count anyway.
            scan.rest_of_line()
            return _DUNDER.fullmatch(name) is not None
        if not end[1].startswith(","):
            return True
    return False


def from_shell(text: str) -> CodeMetadata:
    """Return the leading assignments and comments of a shell script."""
    found = CodeMetadata()
    scan = _Scan(text)
    while scan.skip_blanks(" \t\r\n;"):
        if text.startswith("#", scan.at):
            number = scan.line()
            _put_comment(found, scan.rest_of_line().lstrip("#").strip(), number)
        elif scan.take(_ASSIGNMENTS):
            _assignments(scan, found)
        elif not scan.take(_SETTING):
            break
    return found


def _assignments(scan: _Scan, found: CodeMetadata) -> None:
    """Read ``a=1 b="2"`` up to the end of the command."""
    while name := scan.take(_SHELL_NAME):
        number = scan.line_of(name.start())
        value = _shell_value(scan)
        if _DUNDER.fullmatch(name[1]):
            found.put(name[1], value, number)
        if value is None:
            scan.rest_of_line()
            return
        scan.skip_blanks(" \t")


def _shell_value(scan: _Scan) -> str | list[str] | None:
    """Read a word, or a list of words in parentheses, without any expansion; None for anything else."""
    if scan.take(_OPEN):
        words: list[str] = []
        while scan.skip_blanks(" \t\n") and scan.text[scan.at] != ")":
            word = scan.take(_WORD)
            if word is None or not word[0]:
                return None
            words.append(_unquoted_words(word[0]))
        return words if scan.take(_CLOSE) else None
    word = scan.take(_WORD)
    ended = scan.at == len(scan.text) or scan.text[scan.at] in " \t\r\n;"
    return _unquoted_words(word[0] if word else "") if ended else None


_OPEN, _CLOSE = re.compile(r"\("), re.compile(r"\)")
_PIECE = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)|([^'\"\\]+)", re.DOTALL)


def _unquoted_words(word: str) -> str:
    """A shell word with its quotes removed."""
    out: list[str] = []
    for piece in _PIECE.finditer(word):
        single, double, escaped, bare = piece.groups()
        if double is not None:
            out.append(re.sub(r"\\([\\\"$`])", r"\1", double))
        else:
            out.append(next(part for part in (single, escaped, bare) if part is not None))
    return "".join(out)


class _Scan(Struct):
    """A position in a text."""

    text: str
    at: int = 0
    _counted: tuple[int, int] = (0, 1)
    """A position and its line. Counting continues from there, so it stays linear."""

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def skip_blanks(self, blanks: str) -> bool:
        """Skip these characters. Returns whether anything is left."""
        while self.at < len(self.text) and self.text[self.at] in blanks:
            self.at += 1
        return self.at < len(self.text)

    def rest_of_line(self) -> str:
        end = self.text.find("\n", self.at)
        start, self.at = self.at, len(self.text) if end < 0 else end
        return self.text[start : self.at]

    def block_comment(self) -> str:
        end = self.text.find("*/", self.at + 2)
        start, self.at = self.at + 2, len(self.text) if end < 0 else end + 2
        return self.text[start : len(self.text) if end < 0 else end]

    def line(self) -> int:
        return self.line_of(self.at)

    def line_of(self, position: int) -> int:
        at, line = self._counted
        line += self.text.count("\n", at, position)
        self._counted = (position, line)
        return line


def _put_comment(found: CodeMetadata, line: str, number: int) -> None:
    if match := _COMMENT.fullmatch(line):
        found.put(match[1], _literal(match[2], bare=True), number)


def _literal(text: str, *, bare: bool = False) -> Any:
    """A quoted string or a list of them or, if ``bare``, the text as it is; None for anything else."""
    text = text.strip()
    if _TEXT.fullmatch(text):
        return _unquoted(text)
    if text.startswith("{") and not bare:
        entries = [(_unquoted(key) if key[:1] in "\"'`" else key, values) for key, values in _entries(text)]
        return {key: _literal(values) for key, values in entries} if len(dict(entries)) == len(entries) else None
    if text.startswith(("[", "(")) and text.endswith(("]", ")")):
        return [_unquoted(match[0]) for match in _TEXT.finditer(text)]
    if bare:
        return text
    return text if text[:1].isdigit() else None


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """The keys (still quoted) and lists of an object that :data:`_OBJECT` matched."""
    for entry in _ENTRY.finditer(text):
        yield entry[1].rstrip().removesuffix(":").rstrip(), entry[2]


def _unquoted(text: str) -> str | None:
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    if text[0] != '"':  # the same escapes, except the quotes
        inner = re.sub(r"\\.|\"", lambda part: {"\\'": "'", '"': '\\"'}.get(part[0], part[0]), inner)
    try:
        return str(json.loads(f'"{inner}"'))
    except ValueError:
        return None
