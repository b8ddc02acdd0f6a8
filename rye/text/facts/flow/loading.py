"""Which words of a command name a file that a program is told to run or to load: by a variable, an option, or as a package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts import interpreters, shell
from rye.text.facts.file_names import is_data
from rye.text.facts.tables import word_set

#: Variables whose value a program runs or loads.
_LOADED_BY_NAME = re.compile(
    r"(?:LD_PRELOAD|DYLD_INSERT_LIBRARIES|LD_AUDIT|PYTHONSTARTUP|BASH_ENV|ENV|NODE_OPTIONS|PERL5OPT|RUBYOPT|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF|EDITOR|VISUAL|PAGER|PROMPT_COMMAND|JAVA_TOOL_OPTIONS|RUSTC_WRAPPER|CC|CXX|PYTHONBREAKPOINT|PERL5DB|LESSOPEN|MANPAGER|GIT_ASKPASS|SSH_ASKPASS|SUDO_ASKPASS|BROWSER|GIT_PAGER|GIT_EDITOR|GIT_SSH|ZDOTDIR|PHPRC|BASH_LOADABLES_PATH)=(.*)"
)
_PARTS_OF_VALUE = re.compile(r"[=:\s@]")
#: Options with which programs that usually run nothing run a command or load a file, as words.
_RUNNING_OPTION = re.compile(
    r"--(?:checkpoint-action|to-command|use-compress-program|rsh|init-file|rcfile|rc-file|require|import|loader|preload|exec|script|filter|"
    r"(?:pre|post|deploy|renew)-hook|plugin|load|command)(?:=.*)?|(?:Proxy|Local|Remote|KnownHosts)Command=.*|core\.(?:pager|editor|sshCommand|"
    r"fsmonitor)=.*|-javaagent:.*|auto_prepend_file=.*|-(?:exec|ok)(?:dir)?"
)
_OPTION_END = re.compile(r"[=:]")
#: Short options that do the same, by program.
_SHORT_OPTIONS: Final = {
    **dict.fromkeys(("node", "ruby"), ("-r",)),
    **dict.fromkeys(("vim", "nvim"), ("-S", "-u")),
    **dict.fromkeys(("awk", "gawk", "tmux"), ("-f",)),
    "emacs": ("-l",),
    "gdb": ("-x",),
    "screen": ("-c",),
    "rsync": ("-e",),
    "tar": ("-I",),
    "zip": ("-TT",),
}
_MULTIPLEXERS: Final = word_set("tmux screen")
_OF_MULTIPLEXERS: Final = frozenset(("-L", "-S", "-c", "-f", "-T", "-e", "-h", "-s"))
"""Their options that take a value."""
_RUN_FILES: Final = word_set("systemd-run at crontab start-stop-daemon enable")
"""Programs that run the files, or load the libraries, that their arguments name."""
_ONLY_WITH_OPTION: Final = word_set("at enable")
"""Of these, everyday words that take a file behind ``-f``."""
#: Programs that run a part of a package or a library that they are given.
INSTALLERS: Final = word_set(
    "dpkg rpm installer msiexec gdebi java wine mono rundll32 regsvr32 import-module installutil msbuild pip "
    "pip3 npm pnpm yarn gem apt apt-get dnf yum "
    "zypper pacman apk brew snap flatpak code docker adb luarocks add-appxpackage dotnet launchctl at ansible-playbook "
    "papermill snakemake jbang"
)
#: Of these, the ones that take a word without a folder or a suffix for the name of a package.
_NAMES_PACKAGES: Final = word_set(
    "pip pip3 npm pnpm yarn gem apt apt-get dnf yum zypper pacman apk brew snap flatpak luarocks dotnet"
)
_TAKES_ARCHIVE: Final = word_set("load import build")
_STARTS_IN_CONTAINER: Final = word_set("exec run")
#: Their settings whose value they run.
_RUN_SETTINGS: Final = word_set("script-shell shell editor node-options git onload-script init-module")
_CERTIFICATES: Final = (".pem", ".crt", ".cer")


def variables(command: shell.Command) -> Iterator[tuple[int, str]]:
    """Yield the index and the value of each word that sets a variable whose value a program runs or loads."""
    for index, word in enumerate(command.words):
        loaded = _LOADED_BY_NAME.match(word.text) if "=" in word.text else None
        if loaded is not None:
            yield index, loaded[1]


def files_in_value(command: shell.Command, index: int, value: str) -> Iterator[str]:
    """Yield what may be a file in such a value; of an option (``NODE_OPTIONS="--require FILE"``), also the word behind it."""
    if value.startswith("-"):
        yield from (word.text for word in command.words[index + 1 : index + 2])
    yield from _PARTS_OF_VALUE.split(value)


def by_option(command: shell.Command, first: int, *, code: bool) -> Iterator[str]:
    """Yield the files that a program is told to run or to load by one of its options, or by nothing else. ``first`` is the index
    of the program's word, ``code`` whether the line is code."""
    texts = command.texts()
    name = shell.program(texts[first])
    if code and texts[first] in _RUN_FILES:
        if name in _ONLY_WITH_OPTION and "-f" not in texts:
            return
        yield from texts[first + 1 :]
    short = _SHORT_OPTIONS.get(name, ())
    texts += ["", ""]
    for index in range(first + 1, len(texts) - 2):
        text = texts[index]
        if name in _MULTIPLEXERS and not text.startswith("-") and texts[index - 1] not in _OF_MULTIPLEXERS:
            break  # a command of its own, which can tell ``-f`` to another program
        if text not in short and _RUNNING_OPTION.fullmatch(text) is None:
            continue
        if text.startswith("--import") and not interpreters.is_interpreter(texts[first]):
            continue  # of keys, for instance
        value, follows = texts[index + 1], texts[index + 2]
        if "=" in text or ":" in text:
            value, follows = _OPTION_END.split(text)[-1], value
        yield follows if interpreters.is_interpreter(value) else value


def installed(command: shell.Command, index: int) -> Iterator[str]:
    """Yield the files that one of the ``INSTALLERS`` is given, whose word has this index."""
    texts = command.texts()
    name = shell.program(texts[index])
    if name in _ONLY_WITH_OPTION and "-f" not in texts:
        return
    names_packages = name in _NAMES_PACKAGES
    if names_packages and "config" in texts[index + 1 : index + 3] and _RUN_SETTINGS.isdisjoint(texts):
        return  # ``npm config set cafile FILE`` keeps the name of a file
    given = texts[index + 1 :]
    if name == "docker" and _TAKES_ARCHIVE.isdisjoint(given):
        # other words name images and containers, but for the program that a container starts
        starts = not _STARTS_IN_CONTAINER.isdisjoint(given)
        given = [text for text in texts if starts and "/" not in text and not is_data(text)]
    for text in given:
        if names_packages and text.lower().endswith(_CERTIFICATES):
            continue  # whom it trusts
        if not names_packages or "/" in text or "." in text or "$" in text:  # else a package of an index
            yield text.partition(",")[0]
