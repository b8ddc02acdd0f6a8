"""An agent in a program's own form as an agent of Rye: the words of ``rye deploy``, read the other way. Pure.

====================  ============================================================================================
In the program        Here
====================  ============================================================================================
description           ``whenToUse``
the whole text        the prompt, headings included (``prompt: body``)
tools, permissions    ``tools``; a word that only the program knows is kept as it is, so that consent shows it
a sandbox             the tools that fit into it
model                 ``provider``, where the format has that provider
number of turns       ``limits.maxIterations``
hooks, MCP servers    the same keys, which consent shows as what a program would start
everything else       ``metadata``, below the program's name, without effect; :attr:`Converted.kept` names it
====================  ============================================================================================

The rights are never wider than the program's reading of the file: what asks before each use, and rules that Rye cannot express,
count as denied. The same bytes always give the same result: rye.lock has its hash, and a test keeps the results.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from rye.items.agent.model import KNOWN_TOOLS, TERMINAL
from rye.items.agent.program_forms import BY_PROGRAM, ProgramForm
from rye.items.agent_tools import EVERY
from rye.items.identity import is_segment
from rye.items.version_text import version_problem
from rye.text.frontmatter import FrontmatterError, split
from rye.text.toml_reading import TomlError, read_toml
from rye.text.yaml_reading import YamlError, json_safe, read_yaml

_OWN = ("whenToUse", "transitions")
_SERVERS = ("mcpServers", "mcp-servers", "mcp_servers")
_NOT_WORD = re.compile(r"[^a-z0-9_-]+")
_PLAIN_LINE = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):[ \t]*(.*)")
_LISTED = re.compile(r"[ \t]+-[ \t]+(.*)|-[ \t]+(.*)")
_COMMAND = re.compile(r"([^*?\[\]{}]+?)(?: ?\*)?")


class Converted(Struct, frozen=True):
    """The agent's file, and what it says that nothing here uses."""

    data: bytes
    kept: tuple[str, ...]
    """Keys of the program that are kept without effect, in the file's order."""
    by_lines: bool = False
    """Whether its frontmatter is not YAML and was read line by line."""


class NotConvertible(ValueError):
    """Why a file is not an agent of its program, as the end of a sentence."""


def agent_id(stem: str) -> str:
    """Return the id for an agent's name or its file's: lower case, other characters as ``-``, a letter first."""
    word = _NOT_WORD.sub("-", stem.lower()).strip("-_")[:58]
    return f"agent-{word}" if word and (not word[0].isalpha() or not is_segment(word) or word == TERMINAL) else word


def convert(program: str, name: str, text: str) -> Converted | None:
    """Return an agent of a program as an agent of Rye; None: it is one already. ``name``: its id here; ``text``: with LF line
    ends. Raises NotConvertible.
    """
    form = BY_PROGRAM[program]
    fields, body, by_lines = _toml(text) if program == "codex" else _markdown(form, text)
    if any(key in fields for key in _OWN):
        return None
    described = fields.pop("description", None)
    if not isinstance(described, str) or not described.strip():
        raise NotConvertible("it has no description, so nothing says when to use it")
    if not body.strip():
        raise NotConvertible("it has no text")
    agent: dict[str, Any] = {"name": name}
    own_name = fields.pop("name", None)
    if isinstance(own_name, str) and own_name.strip() and own_name != name:
        agent["displayName"] = own_name.strip()
    agent["whenToUse"] = described.strip()
    agent["tools"] = _tools(form, fields)
    agent["transitions"] = {"onSuccess": TERMINAL}
    agent["limits"] = _limits(form, fields)
    agent["provider"] = _provider(form, fields)
    version = fields.get("version")
    if isinstance(version, str) and version_problem(version) is None:
        agent["version"] = fields.pop("version")
    if fields.get("hooks"):
        agent["hooks"] = fields.pop("hooks")
    servers = {key: fields.pop(key) for key in _SERVERS if fields.get(key)}
    if servers:
        agent["mcpServers"] = next(iter(servers.values())) if len(servers) == 1 else servers
    agent["metadata"] = {program: fields} if fields else {}
    agent["prompt"] = "body"
    lines = (f"{key}: {_json(value)}" for key, value in agent.items() if value != {})
    return Converted("\n".join(["---", *lines, "---", "", body.strip("\n"), ""]).encode(), tuple(fields), by_lines)


# -- reading the program's file ----------------------------------------------------------------------------------------


def _markdown(form: ProgramForm, text: str) -> tuple[dict[str, Any], str, bool]:
    by_lines = False
    try:
        parts = split(text)
    except FrontmatterError as error:
        raise NotConvertible(error.message.rstrip(".").replace("The ", "the ", 1)) from None
    try:
        fields = read_yaml(parts.yaml).value
    except YamlError as error:
        by_lines = True
        try:
            fields = _lines(parts.yaml, form.program == "claude")
        except _Unclear as unclear:
            place = f"; line {parts.yaml_line + unclear.line} is not clear either" if unclear.line is not None else ""
            raise NotConvertible(f"its frontmatter is not valid YAML: {error.message}{place}") from None
    if not isinstance(fields, dict):
        raise NotConvertible("its frontmatter has no keys")
    return {str(key): value for key, value in fields.items()}, parts.body, by_lines


class _Unclear(Exception):
    """A line that programs could read in another way. ``line``: its index."""

    def __init__(self, line: int | None) -> None:
        super().__init__(line)
        self.line = line


_LONG = "description"
"""The only key whose value may go on over lines that are not indented."""
_KEYS = frozenset(
    (
        *("name", "description", "tools", "disallowedTools", "model", "color", "permissionMode", "maxTurns", "skills"),
        *("mcpServers", "hooks", "memory", "background", "effort", "isolation", "initialPrompt", "version", "category"),
    )
)
"""What Claude Code's agents may say, and what collections add to it."""
_QUOTING = tuple("\"'[{&*!|>%@`")
"""What begins a value of several lines that YAML reads in a way of its own."""
_SPOKEN = ("user", "assistant")
"""Words before a colon in descriptions with examples, besides those with a capital letter: no program has such keys."""
_LIMIT = re.compile(
    r"[\s\"'`?{\[,*_-]*(?:tools|(?:dis)?allowed[-_]?tools|permission[-_]?(?:mode|s)?|mcp[-_]?servers|hooks|readonly|sandbox[-_]?mode)"
    r"[\s\"'`*_]*[:=]|\s*[?:](?:\s|\Z)",
    re.IGNORECASE,
)
"""A line that says what an agent may use, as YAML or a person could write it, and YAML's signs for a key and a value."""
_TAG = re.compile(r"<(/?)(example|commentary|good-example|bad-example)>")


def _lines(yaml: str, goes_on: bool) -> dict[str, Any]:
    """Read keys with one line or a list each, as programs do with ``description: Use it when: …``, which is not YAML.

    ``goes_on``: the description may have more lines, indented or not, as Claude Code's own documentation writes descriptions
    with examples. It ends at a key that an agent may have. Raises _Unclear for anything that this could read in another way than
    programs do: such a key inside an example, one given twice or written in another way, any other word with a colon that could
    be a key, text after another key. So no line that could be a limit of its rights is ever taken for text.
    """
    fields: dict[str, Any] = {}
    last = ""
    opened: list[str] = []
    """Tags that are open in the description."""
    unquoted = False
    for number, line in enumerate(yaml.split("\n")):
        long = goes_on and last == _LONG and unquoted
        if not line.strip() or (line.startswith("#") and not long):
            if long:
                fields[last] += "\n"
            continue
        plain, entry = _PLAIN_LINE.fullmatch(line), _LISTED.fullmatch(line)
        worded = _PLAIN_LINE.fullmatch(line.strip())
        is_text = worded is None or worded[1] in _SPOKEN or worded[1][0].isupper()
        if long and (_LIMIT.match(line) if is_text else opened or plain is None):
            raise _Unclear(number)
        if long and is_text:
            fields[last] += f"\n{line.rstrip()}"
            _follow_tags(line, opened)
        elif plain is not None and plain[1] not in fields and (not long or plain[1] in _KEYS):
            last = plain[1]
            fields[last] = _unquoted(plain[2].strip(), number, last)
            if last == _LONG and plain[2].strip()[:1] not in _QUOTING:
                unquoted = True
                _follow_tags(plain[2], opened)
        elif plain is None and entry is not None and last and (fields[last] == "" or isinstance(fields[last], list)):
            fields[last] = [*(fields[last] or ()), _unquoted((entry[1] or entry[2]).strip(), number, last)]
        else:
            raise _Unclear(number)
    if opened or any(value in ("|", ">", "|-", ">-") for value in fields.values() if isinstance(value, str)):
        raise _Unclear(None)
    return fields


def _follow_tags(line: str, opened: list[str]) -> None:
    for closing, tag in _TAG.findall(line):
        if not closing:
            opened.append(tag)
        elif opened[-1:] == [tag]:
            opened.pop()


def _unquoted(value: str, number: int, key: str) -> Any:
    """The value of one line. Raises _Unclear for one that YAML reads in another way than as it stands; a description may be."""
    if value[:1] in "[{\"'&*!" and value:
        try:
            return read_yaml(value).value
        except YamlError:
            if key != _LONG:
                raise _Unclear(number) from None
    if key != _LONG and (" #" in value or value[:1] in _SIGNS or value.startswith(("- ", "? "))):
        raise _Unclear(number)
    return value


_SIGNS = tuple("`@%|>,]}#")
"""Characters with which no plain value begins (YAML 1.2.2 §7.3.3)."""


def _toml(text: str) -> tuple[dict[str, Any], str, bool]:
    try:
        fields = dict(read_toml(text).value)
    except TomlError as error:
        raise NotConvertible(f"it is not valid TOML: {error.message}") from None
    body = fields.pop("developer_instructions", None)
    if not isinstance(body, str):
        raise NotConvertible("it has no developer_instructions")
    return fields, body, False


# -- what it may use ---------------------------------------------------------------------------------------------------


def _tools(form: ProgramForm, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the agent's ``tools``, and take the keys that it comes from out of ``fields``."""
    if form.sandboxes:
        return _sandboxed(form, fields)
    if form.program == "opencode":
        return _permitted(form, fields)
    given = fields.pop("tools", None)
    listed = _words(given)
    if given is not None and listed is None:
        raise NotConvertible("its tools are neither names nor a list of names")
    tools: dict[str, Any] = {}
    if listed is not None and EVERY not in listed:
        tools["allowed"] = _translated(form, listed)
    denied = _words(fields.get("disallowedTools"))
    if denied is None and fields.get("disallowedTools") is not None and form.program == "claude":
        raise NotConvertible("its disallowedTools are neither names nor a list of names")
    if denied is not None and form.program == "claude":
        fields.pop("disallowedTools")
        tools["blocked"] = _translated(form, denied)
    return tools


def _words(value: object) -> list[str] | None:
    if isinstance(value, str):
        return [word for word in re.split(r",\s*(?![^()]*\))", value.strip()) if word]
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return [word.strip() for word in value if word.strip()]
    return None


def _translated(form: ProgramForm, words: Iterable[str]) -> list[str]:
    """Return the tools of the format that the program's words mean; other words as they are."""
    meant = (form.tools.get(word.lower(), (word,)) for word in words)
    return list(dict.fromkeys(tool for tools in meant for tool in tools))


def _sandboxed(form: ProgramForm, fields: dict[str, Any]) -> dict[str, Any]:
    key = "readonly" if form.program == "cursor" else "sandbox_mode"
    word = str(json_safe(fields.get(key, ""))).lower()
    if key not in fields:
        return {}
    if word not in form.sandboxes:
        raise NotConvertible(f"its {key} is none that {form.title} has")
    fields.pop(key)
    tools = form.sandboxes[word]
    return {} if tools is None else {"allowed": [tool for tool in KNOWN_TOOLS if tool in tools]}


def _permitted(form: ProgramForm, fields: dict[str, Any]) -> dict[str, Any]:
    """Return what OpenCode's ``permission`` and its older ``tools`` allow together. In both, the last rule that fits wins."""
    rules: list[tuple[str, Any]] = []
    for key in ("tools", "permission"):
        value = fields.get(key)
        if value is None:
            continue
        if isinstance(value, str):
            value = {"*": value}
        if not isinstance(value, dict):
            raise NotConvertible(f"its {key} is not a list of words with what each may do")
        rules += [(str(word), rule) for word, rule in value.items()]
    everything = True
    says: dict[str, bool] = {}
    commands: list[str] = []
    exact = True
    for word, rule in rules:
        allows, only, same = _rule(word, rule)
        exact &= same
        if word == "*":
            everything, says, commands = allows, {}, []
            continue
        for tool in form.tools.get("edit" if word in ("write", "patch") else word, (word,)):
            says[tool] = allows
        if word == "bash":
            commands = only
    if exact:
        for key in ("tools", "permission"):
            fields.pop(key, None)
    tools: dict[str, Any] = {}
    if not everything:
        tools["allowed"] = [tool for tool, allows in says.items() if allows]
    elif not all(says.values()):
        tools["blocked"] = [tool for tool, allows in says.items() if not allows]
    return {**tools, "bashFilter": {"allowedCommands": commands}} if commands else tools


_SECRETS = {"*": "allow", "*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"}
"""OpenCode's default for reading, which its adapter writes as well."""


def _rule(word: str, rule: object) -> tuple[bool, list[str], bool]:
    """Return whether a rule allows its tool, the only commands that it allows, and whether that is all it says."""
    if isinstance(rule, bool):
        return rule, [], True
    if isinstance(rule, str):
        return rule == "allow", [], rule in ("allow", "deny")
    if not isinstance(rule, dict) or not rule:
        return False, [], False
    if word == "read" and rule == _SECRETS:
        return True, [], True
    if word == "bash" and next(iter(rule.items()))[0] == "*" and rule["*"] != "allow":
        rest = {pattern: part for pattern, part in rule.items() if pattern != "*"}
        found = [_COMMAND.fullmatch(str(pattern)) for pattern, part in rest.items() if part == "allow"]
        if rest and all(part == "allow" for part in rest.values()) and all(found):
            names = dict.fromkeys(one[1].strip() for one in found if one is not None)
            return True, [name for name in names if name], rule["*"] == "deny"
    return set(rule.values()) == {"allow"}, [], False


# -- what else it asks for ---------------------------------------------------------------------------------------------


def _limits(form: ProgramForm, fields: dict[str, Any]) -> dict[str, Any]:
    turns = fields.get(form.turns) if form.turns else None
    if isinstance(turns, int) and not isinstance(turns, bool) and turns > 0:
        fields.pop(form.turns)
        return {"maxIterations": turns}
    return {}


def _provider(form: ProgramForm, fields: dict[str, Any]) -> dict[str, Any]:
    model = fields.get("model")
    if model == "inherit":
        fields.pop("model")
    elif form.models_of is not None and isinstance(model, str) and model.strip():
        return {"name": form.models_of, "model": fields.pop("model")}
    return {}


def _json(value: object) -> str:
    """Write a value as JSON, which is YAML, and without the dashes that some readers take for the frontmatter's end."""
    return json.dumps(json_safe(value), ensure_ascii=False).replace("---", "--\\u002d")
