"""Calls that run their argument, in any language: those that evaluate text, and those that start a program."""

from __future__ import annotations

import re
from typing import Final

from rye.text.facts.source import Source
from rye.text.facts.tables import triggers

#: Calls that run their text argument. An attribute (``pattern.exec(text)``, ``model.eval()``) counts only with these owners.
EVALUATES: Final = re.compile(
    r"(?<![\w.$])(?:await\s+)?(?:(?:builtins|__builtins__|window|globalThis|global|self|vm|Kernel|binding|"
    r"instance|top)(?:\.|\[[\"']))?"
    r"(?:exec|eval|execfile|runInThisContext|runInNewContext|runInContext|compileFunction|instance_eval|"
    r"class_eval|assert|create_function)"
    r"(?:[\"']\])?\s*\(|"
    r"(?<![\w.$])(?:new\s+)?Function\s*\(|(?<![\w.$])eval\s+(?=[A-Za-z$\"'])|\bnew\s+vm\.Script\s*\(|importlib[\w.]*\(|"
    r"getattr\(\s*(?:builtins|__builtins__|__import__\([\"']builtins[\"']\))\s*,[^()\n]{1,80}\)\s*\(|"
    r"__import__\([\"']builtins[\"']\)\.(?:exec|eval)\s*\(|"
    r"\b(?:pickle|cPickle|dill|cloudpickle)\.loads\s*\(|"
    r"\.constructor\s*\(|_compile\s*\(|FunctionType\s*\(|(?<![\w.$])(?:setTimeout|"
    r"setInterval)\s*\(\s*(?=[a-z_]\w*\s*[,(.])|"
    r"(?<![\w.$])source\(\s*(?=[\"']https?:)|(?<![\w.$])(?:import|require|include|include_once)\s*\(\s*(?=[\"']https?:)"
)
STARTS: Final = re.compile(
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
    "builtins __builtins__ pickle cpickle dill cloudpickle "
    "child_process execv execvp execl execlp check_output check_call posix_spawn spec_from_file_location cdll"
)
#: Very common words; they count only in the one spelling that runs something.
_RARE_WORDS = triggers("function constructor assert import require include include_once source fork")
_RARE_SPELLINGS: Final = (
    *("Function(", "Function (", ".constructor(", "fork(", "assert($", "assert(base64", "assert(gz"),
    *("= Function", "=Function"),
    *("('http", '("http', "(`http"),
)


_ALIASED = re.compile(
    r"([A-Za-z_$][\w$]{0,60})\s*=\s*(?:(?:window|globalThis|global|self|builtins|__builtins__)\.)?"
    r"(?:eval|exec|Function)[ \t]*(?:[;,\n]|$)"
)
_MOST_ALIASES: Final = 8


def aliases(text: str, begin: int, end: int) -> list[str]:
    """Other names that this part of the text gives to an evaluating function: ``run = eval``."""
    return [match[1] for match in _ALIASED.finditer(text, begin, end)][:_MOST_ALIASES]


def calls_of(names: list[str]) -> re.Pattern[str]:
    """A pattern for calls by these names."""
    return re.compile(rf"(?<![\w.$])(?:{'|'.join(map(re.escape, names[:_MOST_ALIASES]))})\s*\(")


def run_words(source: Source) -> frozenset[bytes]:
    """The words of the file that occur in calls that run something; empty if there is no such call."""
    words = _RUN_WORDS & source.words
    rare = _RARE_WORDS & source.words
    return words | rare if rare and any(spelling in source.text for spelling in _RARE_SPELLINGS) else words
