"""Metadata of a tool's code without executing it: Python by ``ast``, JavaScript, TypeScript and shell by their leading lines.

Everywhere the names are ``__version__``, ``__category__``, ``__tool_description__``, ``__dependencies__`` and other
``__names__`` with a plain text, number or list of texts. A name that is assigned twice is refused: what programs and readers
would take for its value could differ. Outside Python only the lines at the top count, up to the first one that is
neither blank, comment, import, ``set``/``use strict`` nor a constant.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

_DUNDER = re.compile(r"__[a-z][a-z0-9_]{0,60}__")
_COMMENT = re.compile(r"(__[a-z][a-z0-9_]{0,60}__)[ \t]*[:=][ \t]*(.*)")
_SCRIPT = re.compile(
    r"(?:export[ \t]+)?(?:const|let|var)[ \t]+(__[a-z][a-z0-9_]{0,60}__)[ \t]*(?::[^=\n]{0,100})?=[ \t]*(.*?);?[ \t]*(?://.*)?$"
)
_SHELL = re.compile(r"(?:(?:readonly|export|declare(?:[ \t]+-[a-zA-Z]+)*)[ \t]+)?(__[a-z][a-z0-9_]{0,60}__)=(.*)$")
_TEXT = re.compile(r"\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|`[^`\\$\n]*+`")
_AS = re.compile(r"[ \t]+as[ \t]+[\w \t]{1,60}$")


class ToolSyntaxError(ValueError):
    """The code does not parse; ``line`` is the file's."""

    def __init__(self, message: str, line: int | None):
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(slots=True)
class CodeMetadata:
    """Constants by name (underscores stripped) with their lines, and names that are assigned more than once."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    repeated: list[tuple[str, int]] = field(default_factory=list)

    def put(self, name: str, value: Any, line: int) -> None:
        plain = name.strip("_")
        if plain in self.lines:
            self.repeated.append((name, line))
            return
        self.values[plain] = value
        self.lines[plain] = line


def from_python(text: str) -> CodeMetadata:
    """The module-level constants. Raises ToolSyntaxError, also for code nested too deep to parse."""
    found = CodeMetadata()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        raise ToolSyntaxError(error.msg, error.lineno) from None
    except ValueError:  # a NUL character
        raise ToolSyntaxError("the code holds a NUL character", None) from None
    except (RecursionError, MemoryError):
        raise ToolSyntaxError("the code is nested too deep", None) from None
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name) and _DUNDER.fullmatch(target.id):
                found.put(target.id, _constant(value), node.lineno)
    return found


def _constant(node: ast.expr) -> Any:
    """A constant or a flat list of them; None for everything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        return [element.value if isinstance(element, ast.Constant) else None for element in node.elts]
    return None


def from_script(text: str) -> CodeMetadata:
    """The leading constants and comments of JavaScript or TypeScript."""
    found = CodeMetadata()
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        line = lines[index].strip()
        if line.startswith("/*"):
            end = next((n for n in range(index, len(lines)) if "*/" in lines[n]), len(lines) - 1)
            for number in range(index, end + 1):
                _put_comment(found, lines[number].strip().removeprefix("/*").removesuffix("*/").strip("* \t"), number)
            index = end
        elif line.startswith("//"):
            _put_comment(found, line.lstrip("/").strip(), index)
        elif constant := _SCRIPT.match(line):
            found.put(constant[1], _literal(_AS.sub("", constant[2])), index + 1)
        elif re.match(r"import\b(?!\()|export\b.*\bfrom\b", line):
            while index < len(lines) - 1 and not re.search(r"[\"']", lines[index]):
                index += 1
        elif (
            line
            and not line.startswith("#!")
            and not re.match(r"[\"']use \w+[\"']|(?:const|var|let)\b.*\brequire\(", line)
        ):
            break
        index += 1
    return found


def from_shell(text: str) -> CodeMetadata:
    """The leading assignments and comments of a shell script."""
    found = CodeMetadata()
    for index, raw in enumerate(text.split("\n")):
        line = raw.strip()
        if line.startswith("#"):
            _put_comment(found, line.lstrip("#").strip(), index)
        elif assigned := _SHELL.match(line):
            found.put(assigned[1], _literal(re.sub(r"\s+#.*$", "", assigned[2]), bare=True), index + 1)
        elif line and not re.match(r"set[ \t]+[-+]|shopt\b|[A-Za-z_][A-Za-z0-9_]*=", line):
            break
    return found


def _put_comment(found: CodeMetadata, line: str, index: int) -> None:
    if match := _COMMENT.fullmatch(line):
        found.put(match[1], _literal(match[2], bare=True), index + 1)


def _literal(text: str, *, bare: bool = False) -> Any:
    """A quoted text, a list of them, or, where ``bare``, the text as it is; None for anything else."""
    text = text.strip()
    if _TEXT.fullmatch(text):
        return _unquoted(text)
    if text.startswith(("[", "(")) and text.endswith(("]", ")")):
        return [_unquoted(match[0]) for match in _TEXT.finditer(text)]
    if bare:
        return text
    return text if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", text) else None


def _unquoted(text: str) -> str | None:
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    try:
        return str(json.loads(text)) if text[0] == '"' else inner.replace("\\'", "'").replace("\\\\", "\\")
    except ValueError:
        return None
