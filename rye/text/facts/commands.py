"""``command``: the programs that shell blocks, inline commands and scripts name. A note: a review starts with knowing them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts import shell
from rye.text.facts.fact import COMMAND
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import word_set

SHELL_LANGUAGES: Final = word_set(
    "sh bash zsh shell console terminal shell-session shellsession sh-session fish ksh powershell pwsh ps1 ps "
    "cmd bat batch ! dos"
)
_SHELL_FILES = (".sh", ".bash", ".zsh", ".ksh", ".fish", ".ps1", ".bat", ".cmd", ".command")
_SHEBANG = re.compile(r"#!\s*/\S*?(?:/|env\s+(?:-S\s+)?)(?:ba|z|da|k|a)?sh\b")
#: An unlabelled block or a code span counts as commands only if it starts with one of these.
KNOWN: Final = word_set(
    "git npm npx pnpm yarn bun bunx node deno python python3 pip pip3 pipx uv uvx curl wget docker podman "
    "kubectl helm terraform aws gcloud az gh make cmake cargo rustup go brew apt apt-get dnf yum apk pacman "
    "sudo chmod chown rm cp mv mkdir ls cat echo export source bash sh zsh cd tar unzip ssh scp rsync jq sed "
    "awk grep rg find xargs tee openssl base64 systemctl crontab launchctl claude codex gemini cursor osascript "
    "powershell pwsh iwr irm iex conda mamba poetry ruff pytest mypy java mvn gradle dotnet ruby gem bundle php "
    "composer perl psql mysql sqlite3 redis-cli ffmpeg pandoc nc ncat nmap dig tmux screen nohup kill pkill "
    "code rye"
)
_COMMAND = re.compile(
    r"(?:^|[|;&(`{\x1e]|\$\(|\b(?:then|do|else|sudo|exec|nohup|time|xargs|if|while|until)\s)[ \t]*(?:[$>%#][ "
    r"\t]+|PS[^>\n]{0,40}> ?|! ?)?"
    r"(?:[A-Za-z_]\w{0,60}=[^\s;|&]{0,200}[ \t]+)*([A-Za-z_.~/][\w.~/+-]{0,120})(?=[\s;|&)`}]|$)",
    re.MULTILINE,
)
_NOT_PROGRAMS: Final = word_set(
    "if then else elif fi for do done while until case esac in function return local declare readonly true "
    "false set unset shift exit break continue select and or not the a to is of with this that it param foreach "
    "try catch end begin"
)
_FUNCTION = re.compile(r"^[ \t]*(?:function[ \t]+)?([A-Za-z_][\w-]{0,60})[ \t]*\(\)", re.MULTILINE)
_INLINE = re.compile(r"(!?)`([^`\n]{1,400})`")
_CALLS = re.compile(
    r"(?:\bos\.(?:system|popen)|\bsubprocess\.\w{2,20}|\bexecSync|\bexecFileSync|\bexecFile|\bspawnSync|"
    r"\bspawn|\bPopen|\bcheck_output|"
    r"\bcheck_call)\(\s*\[?\s*[rf]?[\"'`]([\w./~+-]{1,120})"
)


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield the programs, each once per file."""
    seen: set[str] = set()
    for name, line, column in _named(source):
        program = shell.program(name)
        if (
            program
            and program not in seen
            and program not in _NOT_PROGRAMS
            and not program[0].isdigit()
            and program.strip("._-/~")
        ):
            seen.add(program)
            yield RuleMatch(COMMAND, program, line, column)


def _named(source: Source) -> Iterator[tuple[str, int, int]]:
    lines = source.lines
    if source.markdown:
        if "```" in source.text or "~~~" in source.text:
            yield from _blocks(source)
        for number in source.lines_of_bytes(b"`"):
            if source.fences[number] is None:
                for match in _INLINE.finditer(lines[number]):
                    first = match[2].split(None, 1)
                    if first and (match[1] or (len(first) > 1 and first[0].lstrip("$!").lower() in KNOWN)):
                        yield first[0].lstrip("$"), number, match.start()
        return
    if source.path.lower().endswith(_SHELL_FILES) or _SHEBANG.match(source.text):
        yield from _script(lines, 0)
        return
    for match in _CALLS.finditer(source.text):
        line = source.line_at(match.start())
        yield match[1], line, match.start() - source.text_starts[line]


def _blocks(source: Source) -> Iterator[tuple[str, int, int]]:
    for language, start, end in source.blocks:
        body = source.lines[start:end]
        if language in SHELL_LANGUAGES:
            yield from _script(body, start)
        elif not language:
            kept = [line if _starts_with_known(line) else "" for line in body]
            if any(kept):
                yield from _script(kept, start)


def _starts_with_known(line: str) -> bool:
    words = line.split(None, 2)
    return bool(words) and (words[0] in KNOWN or (words[0] in ("$", ">", "%") and len(words) > 1))


def _script(lines: list[str], first: int) -> Iterator[tuple[str, int, int]]:
    text = "\n".join(line if "#" not in line or line.lstrip()[:1] != "#" else "" for line in lines)
    functions = {match[1].lower() for match in _FUNCTION.finditer(text)} if "()" in text else set()
    seen: set[str] = set()
    closing = ""
    number = 0
    for number, line in enumerate(text.split("\n")):
        if closing:
            if line.strip() == closing:
                closing = ""
            continue
        if not line:
            continue
        for match in _COMMAND.finditer(line[:4000]):
            name = match[1]
            if name not in seen:
                seen.add(name)
                if name.lower() not in functions:
                    yield name, first + number, match.start(1)
        for match in _WRAPPED.finditer(line[:4000]) if _WRAPS.search(line) else ():
            if match[1] not in seen:
                seen.add(match[1])
                yield match[1], first + number, match.start(1)
        if "<<" in line:
            heredoc = _HEREDOC.search(line)
            closing = heredoc[1] if heredoc is not None else ""


_WRAPS = re.compile(r"\b(?:sudo|exec|nohup|time|xargs|env)\s")
_WRAPPED = re.compile(
    r"\b(?:sudo|exec|nohup|time|xargs|env)\s+(?:-\S{1,40}\s+){0,4}([A-Za-z_./~][\w./~+-]{0,100})(?=\s|$)"
)
_HEREDOC = re.compile(r"<<-?\s*[\"']?([A-Za-z_]\w{0,40})")
