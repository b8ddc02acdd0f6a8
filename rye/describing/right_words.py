"""What a right allows, in one sentence: capabilities of Rye and tools of the agent program (DESIGN §7.3). Pure, plain text.
Every surface takes the sentence from here.

* A sentence says no less than the right allows. A pattern says how wide it is.
* What these rules do not know is said to be unknown and to count as everything.
* Of what an author wrote, a sentence repeats only printable ASCII, at most :attr:`~rye.limits.DescribingLimits.right_characters`
  of it. Anything else has no sentence of its own, whatever it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from rye.items.agent_tools import BASH, EVERY, AgentTools, limits_nothing, named
from rye.items.capabilities import EVERYTHING, ITEM_TYPES, PRIMARIES, is_path_pattern
from rye.limits import DESCRIBING
from rye.permissions.containment import is_action
from rye.permissions.patterns import has_wildcards
from rye.permissions.risk import FILE_SYSTEM, NAMED_FOR, tiers

UNKNOWN_RIGHT = "names nothing that Rye knows: treat it as if it allowed everything"
UNUSUAL_PATTERN = "may do whatever its unusual pattern matches: treat it as if it allowed everything"
UNKNOWN_TOOL = "may use a tool that Rye does not know: treat it as if it could do everything"

_CLASS = re.compile(r"\[!?[^\]]*\]")
"""A class of characters: what is in it is no part of a name."""
_DOES = {"execute": "run", "search": "search for", "load": "read the text of", "sign": "sign"}
_NOUNS = {"knowledge": "knowledge item"}


@lru_cache(maxsize=4096)
def right_words(capability: str) -> str:
    """What one capability allows. Any text has a sentence."""
    if capability == EVERYTHING:
        return "may run, search for, read and sign every item, whoever publishes it: everything that Rye can grant"
    rye, _, rest = capability.partition(".")
    primary, _, rest = rest.partition(".")
    if rye != "rye" or primary not in PRIMARIES:
        return _other(capability)
    does = f"may {_DOES[primary]}"
    if rest == "*":
        return f"{does} every item, whoever publishes it, now and later{_reach(primary, '*')}"
    item_type, dot, path = rest.partition(".")
    if primary == "search" and rest in ITEM_TYPES:
        return f"{does} {noun(rest)}s, without naming one"
    if item_type not in ITEM_TYPES or not dot or not is_path_pattern(path):
        return _other(capability)
    if has_wildcards(path):
        return f"{does} every {noun(item_type)}{_width(path)}{_reach(primary, path)}"
    if not is_action(capability):
        return UNKNOWN_RIGHT
    return f"{does} the {noun(item_type)} {_clipped(path.replace('.', '/'))}{_reach(primary, path)}"


def riskiest_first(capabilities: Iterable[str]) -> list[str]:
    """Return the sentences of several, those with the highest tier first."""
    levels = tiers(capabilities)
    return [right_words(right) for right in sorted(levels, key=lambda right: (-levels[right], right))]


def _other(capability: str) -> str:
    return UNUSUAL_PATTERN if has_wildcards(capability) else UNKNOWN_RIGHT


def noun(item_type: str) -> str:
    """What one item of a kind is called in a sentence."""
    return _NOUNS.get(item_type, item_type)


def _width(path: str) -> str:
    """Which items a pattern of ids covers."""
    fixed = re.split(r"[*?\[]", path, maxsplit=1)[0]
    shown = _clipped(path.replace(".", "/"))
    if not path.strip("*"):
        which = ""
    elif fixed + "*" == path:
        begins = _clipped(fixed.replace(".", "/"))
        which = f" below {begins}" if fixed.endswith(".") else f" whose name begins with {begins}"
    else:
        which = f" whose name matches {shown}"
    return f"{which}{'' if '.' in fixed else ', whoever publishes it'}, now and later"


def _reach(primary: str, path: str) -> str:
    """What such items are for, going by names alone. Only running an item does what it is for."""
    if primary != "execute":
        return ""
    words = _CLASS.sub("?", path).replace("/", ".").split(".")
    named = [purpose for purpose, segments in NAMED_FOR if not segments.isdisjoint(words)]
    if f"{'.'.join(words)}.".startswith(FILE_SYSTEM):
        named.append("work with files")
    fixed = re.split(r"[*?\[]", path, maxsplit=1)[0]
    said = [f"named for {' and '.join(named)}"] if named else []
    if "." not in fixed and fixed != path:
        said.append("also those that run programs or reach other machines")
    return f" ({'; '.join(said)})" if said else ""


# -- tools of the agent program ------------------------------------------------------------------------------------------

_TOOLS = {
    "Read": ("read every file that your agent can read", "read files that match {}"),
    "NotebookRead": ("read every notebook that your agent can read", "read notebooks that match {}"),
    "Glob": ("find files by their names", "find files that match {}"),
    "Grep": ("search and read files", "search and read files that match {}"),
    "LS": ("list folders", "list folders that match {}"),
    "Write": ("create and overwrite every file that your agent can write", "create and overwrite files that match {}"),
    "Edit": ("create and change every file that your agent can write", "create and change files that match {}"),
    "MultiEdit": ("create and change every file that your agent can write", "create and change files that match {}"),
    "NotebookEdit": ("change every notebook that your agent can write", "change notebooks that match {}"),
    "TodoWrite": ("keep a list of tasks", "keep a list of tasks"),
    "BashOutput": ("read what commands in the background print", "read what commands in the background print"),
    "WebFetch": (
        "fetch any address, and send it what it knows",
        "fetch addresses that match {}, and send them what it knows",
    ),
    "WebSearch": ("search the web", "search the web within {}"),
    "Task": ("start other agents, with the tools that these have", "start the agent {}, with the tools that it has"),
    "Agent": ("start other agents, with the tools that these have", "start the agent {}, with the tools that it has"),
    "Skill": ("use every other skill", "use skills that match {}"),
    "SlashCommand": ("run every command of the agent program", "run commands of the agent program that match {}"),
}
"""Of each tool, what it does and what it does with an argument. Everything else is unknown."""
_MCP = re.compile(r"mcp__([A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*)(?:__(\*|[A-Za-z0-9_-]+))?")


def tool_words(name: str, tools: AgentTools) -> str:
    """What one of the names of ``tools`` allows. Any text has a sentence."""
    if name == EVERY:
        command = ", and so run any shell command" if tools.any_command else ""
        return f"may use every tool of the agent program{', within the limits that it names' if tools.limits else ''}{command}"
    mcp = _MCP.fullmatch(name)
    if mcp is not None:
        tool = "every tool" if mcp[2] in (None, "*") else f"the tool {_clipped(mcp[2])}"
        return f"may call {tool} of the MCP server {_clipped(mcp[1])}"
    called, given = named(name)
    if called not in (BASH, *_TOOLS):
        return UNKNOWN_TOOL
    argument = (given or "").strip()
    does, within = _TOOLS.get(called, ("", ""))
    if called == BASH:
        is_filtered = tools.filtered and not tools.any_command
        does = "run shell commands, as far as its filter lets them through" if is_filtered else "run any shell command"
        argument, within = _command(argument)
    if limits_nothing(argument.removeprefix("domain:") if called == "WebFetch" else argument):
        return f"may {does}"
    if not (argument.isascii() and argument.isprintable()) or "`" in argument:
        return f"may {does}, within a limit that cannot be shown here"
    return f"may {within.format(f'`{_clipped(argument)}`')}"


def _command(argument: str) -> tuple[str, str]:
    """A command that an item limits the shell to, and what is said of it."""
    start = argument.removesuffix(":*")
    if start != argument and not has_wildcards(start):
        return start, "run every shell command that begins with {}"
    verb = "every shell command that matches {}" if has_wildcards(argument) else "the shell command {}"
    return argument, f"run {verb}"


def _clipped(text: str) -> str:
    most = DESCRIBING.right_characters
    return f"{text[:most]}…" if len(text) > most else text
