"""Follow what was fetched or decoded until something runs it, through pipes, substitutions, variables and saved files.

One pass over the logical lines that can matter: those with a source and, after one, those that mention what it was saved as.
``pipe_to_shell`` and ``decode_and_run`` define sources; what runs them is the same for both. ``across`` does the same between the
files of an item.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import islice, pairwise
from typing import Final

from rye.limits import FACTS
from rye.text.facts import fetchers, interpreters, shell
from rye.text.facts.fact import CAUTION
from rye.text.facts.file_names import is_data
from rye.text.facts.functions import Function, extents_in, functions_in
from rye.text.facts.shell import BREAK, shown
from rye.text.facts.source import Line, Origin, RuleMatch, Source, Sources
from rye.text.facts.tables import triggers, word_set

_DRIVE = re.compile(r"[A-Za-z]:/")
#: What a container sees of a machine's folder (``./data:/var/lib/x``), and a place on another machine (``host:/srv``).
_VOLUME = re.compile(r"(?:[.~/$][^:\s]{0,200}|[\w.-]{2,80}):/[^:\s/][^:\s]{0,200}(?::\w{1,8})?")
_NAME = re.compile(r"\$(?:\{?(?:env:)?)([A-Za-z_]\w{0,80})")
_ASSIGNS = re.compile(r"(?:\$(?:env:)?)?([A-Za-z_]\w{0,80})\+?=")
_TOKENS = re.compile(r"\.?[A-Za-z_0-9][\w.-]*")
_ECHO: Final = word_set("echo printf cat print write-output type tee get-content gc tac less head tail")
_PRINTS_WORDS: Final = word_set("echo printf")
#: Programs that write their input to the files that they are given.
_WRITERS: Final = word_set("tee save sponge dd out-file set-content add-content sc")
_RUNS_ITS_WORD: Final = word_set("iex invoke-expression")
_EXPRESSION_WORDS: Final = triggers("iex expression")
_READERS: Final = word_set("mapfile readarray")
_OPENERS: Final = word_set("open start start-process xdg-open invoke-item ii")
_MOVERS: Final = word_set("mv cp install ln move copy move-item copy-item")
_UNPACKERS: Final = word_set("tar unzip 7z 7za unrar bsdtar expand-archive gunzip unxz")
_INTO_FOLDER: Final = word_set("-d --directory -destinationpath")
_OWN_FOLDERS: Final = frozenset(("", ".", "..", "~", "/", "/dev", "$HOME", "$1", "$2"))
_INTO_SHORT = re.compile(r"-[a-z]{0,6}C")
_BIN = re.compile(r"(?:^|/)s?bin/[^/]*$")
#: A mode of ``chmod`` that lets nobody execute the file.
_NOT_EXECUTABLE = re.compile(r"0?[0246]{3}|[ugoa]*[+=][rw]+|[ugoa]*-[rwxst]+")
_PROGRAM_SUFFIXES: Final = (".exe", ".bat", ".cmd", ".ps1", ".msi", ".hta", ".vbs", ".command", ".app", ".run")
_SCRIPT_SUFFIXES: Final = (".sh", ".py", ".js", ".ps1", ".exe")
_IGNORED_FILES: Final = frozenset(("-", "null", "stdin", "stdout", "stderr", "", ".git", ".svn", ".hg"))
#: Languages whose backquotes run nothing: a template, a name, an escape.
_PLAIN_BACKQUOTES: Final = word_set(
    "py python python3 js mjs cjs jsx javascript node ts mts cts tsx typescript json jsonc json5 toml css html htm xml svg "
    "go golang rs rust c h cc cpp hpp java kt kotlin swift scala cs csharp sql yar yara md markdown ps1 psm1 powershell pwsh"
)
_POWERSHELL: Final = word_set("ps1 psm1 powershell pwsh")
_BATCH: Final = word_set("bat cmd batch")
#: Languages in which a function that runs a file can stand before the line that fetches it.
_HAS_FUNCTIONS: Final = word_set(
    "sh bash zsh ksh fish bats ps1 psm1 bat cmd py js mjs cjs ts mts cts jsx tsx rb pl php lua go rs java kt kts cs vbs groovy "
    "swift dart"
)
_CLOSES: Final = frozenset(("}", "done", "fi"))
_COMPARES: Final = word_set("!= == = =~ -eq -ne -lt -gt -le -ge < >")
_MEDIA_TYPE = re.compile(r"(?:application|text|image|audio|video|multipart|font|model|message)/[\w.+-]{1,60}$")
#: Words of a sentence before a path: it only names the path (``cached at `/tmp/x` ``), unless one of them tells to start it.
_SENTENCE = re.compile(r"[A-Za-z]{2}[^\w\n&|;`]{1,4}`$")
_SENTENCE_END: Final = 8
"""Characters that it can match, with a line's end: searched from the start of a long text, it would take quadratic time."""
_EXPLAINED = re.compile(r"`[ \t]{0,3}[\u2013\u2014:-][ \t]")
#: Only English words tell whether a sentence has somebody start a file.
_FOREIGN_LETTER = re.compile(r"[^\W\d_a-zA-Z]")
_TOLD: Final = 80
"""How far before a path such a word can stand."""
#: What follows a program's name in the first line of its help: ``tool - what it does``.
_TITLE = re.compile(r"[-\u2013\u2014] [A-Z]")
_TELLS_TO_START = re.compile(
    r"\b(?:run|runs|running|execut\w*|launch(?:es|ed|ing)?|start\w*|open|opens|install\w*|use|invoke|call|usage|command|double-click|trigger)\b",
    re.IGNORECASE,
)
_SHELL_LANGUAGES: Final = word_set("sh bash zsh ksh shell console")
#: A value in double quotes in which words stand before a substitution.
_QUOTED_VALUE = re.compile(r"[ \t]*(?:export[ \t]+|local[ \t]+)?\w{1,60}=\"[^\"$`\n]{1,80}\$\(")
#: What a line prints, up to the end of its first string: the bars of a table in it are no pipes.
_PRINTED_STRING = re.compile(
    r"[ \t]*(?:\[{1,2}[^\[\]\n]{1,80}\]{1,2}[ \t]*(?:&&|\|\|)[ \t]*)?(?:echo|printf)[ \t]+(?:-\w{1,3}[ \t]+)?"
    r"(\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
)
#: Another command, or a substitution.
_GOES_ON = re.compile(r"[|;&`(]")
#: Lines up to a mark are printed, and go nowhere else.
_PRINTS_LINES = re.compile(
    r"[ \t]*cat[ \t]+(?:>{1,2}[ \t]*(?P<into>\S{1,200})[ \t]+)?<<-?[ \t]*[\"']?(?P<end>\w{1,40})[\"']?[ \t]*"
    r"(?:>{1,2}[ \t]*(?P<behind>\S{1,200})[ \t]*)?"
)
_PRINTED_LINES: Final = 60
#: A line that does nothing but print one string, in which a redirection is a part of the text.
_ECHOES = re.compile(r"[ \t]*echo[ \t]+(?:-\w{1,3}[ \t]+)?\"[^\"\n]*\"[ \t]*")
_CALLERS: Final = word_set("call start")
_LOOP_VARIABLE = re.compile(r"%{1,2}~?[A-Za-z]{1,6}")
_CLOSES_BLOCK = re.compile(r"[ \t]*(?:[})]|done\b|fi\b|esac\b)[ \t]*(?:\||>|\d>|&>)")
_AFTER_SUBSHELL = re.compile(r"[ \t]*\)[ \t]*\|&?[ \t]*")
_OPENS_BLOCK = re.compile(r"[{(][ \t]*$|\b(?:do|then)[ \t]*$|^[ \t]*(?:for|while|until|if|case)\b")
_LOOPS: Final = word_set("for while until")
_FINDERS: Final = word_set("find fd")
#: Programs that run a part of a package or a library that they are given.
_INSTALLERS: Final = word_set(
    "dpkg rpm installer msiexec gdebi java wine mono rundll32 regsvr32 import-module installutil msbuild pip "
    "pip3 npm pnpm yarn gem apt apt-get dnf yum "
    "zypper pacman apk brew snap flatpak code docker adb luarocks add-appxpackage dotnet launchctl at ansible-playbook "
    "papermill snakemake jbang"
)
_TAKES_ARCHIVE: Final = word_set("load import build")
_STARTS_IN_CONTAINER: Final = word_set("exec run")
#: Of these, the ones that take a word without a folder or a suffix for the name of a package.
_NAMES_PACKAGES: Final = word_set(
    "pip pip3 npm pnpm yarn gem apt apt-get dnf yum zypper pacman apk brew snap flatpak luarocks dotnet"
)
_SETTING = re.compile(r"[A-Za-z]\w{0,40}[.-][\w.-]{1,60}=")
_ABSOLUTE = re.compile(r"/[\w./-]{1,200}")
_END_OF_TEST: Final = frozenset(("]", "]]"))
_ASKS: Final = frozenset(("-v", "-V"))
#: Their settings whose value they run.
_RUN_SETTINGS: Final = word_set("script-shell shell editor node-options git onload-script init-module")
_CERTIFICATES: Final = (".pem", ".crt", ".cer")
#: Variables whose value a program runs or loads.
_LOADED_BY_NAME = re.compile(
    r"(?:LD_PRELOAD|DYLD_INSERT_LIBRARIES|LD_AUDIT|PYTHONSTARTUP|BASH_ENV|ENV|NODE_OPTIONS|PERL5OPT|RUBYOPT|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF|EDITOR|VISUAL|PAGER|PROMPT_COMMAND|JAVA_TOOL_OPTIONS|RUSTC_WRAPPER|CC|CXX|PYTHONBREAKPOINT|PERL5DB|LESSOPEN|MANPAGER|GIT_ASKPASS|SSH_ASKPASS|SUDO_ASKPASS|BROWSER|GIT_PAGER|GIT_EDITOR|GIT_SSH|ZDOTDIR|PHPRC|BASH_LOADABLES_PATH)=(.*)"
)
#: Options with which programs that usually run nothing run a command or load a file, as words.
_RUNNING_OPTION = re.compile(
    r"--(?:checkpoint-action|to-command|use-compress-program|rsh|init-file|rcfile|rc-file|require|import|loader|preload|exec|script|filter|"
    r"(?:pre|post|deploy|renew)-hook|plugin|load|command)(?:=.*)?|(?:Proxy|Local|Remote|KnownHosts)Command=.*|core\.(?:pager|editor|sshCommand|"
    r"fsmonitor)=.*|-javaagent:.*|auto_prepend_file=.*|-(?:exec|ok)(?:dir)?"
)
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
_ONLY_WITH_OPTION: Final = word_set("at enable")
"""Of these, everyday words that take a file behind ``-f``."""
_MULTIPLEXERS: Final = word_set("tmux screen")
_OF_MULTIPLEXERS: Final = frozenset(("-L", "-S", "-c", "-f", "-T", "-e", "-h", "-s"))
"""Their options that take a value."""
_RUN_FILES: Final = word_set("systemd-run at crontab start-stop-daemon enable")
"""Programs that run the files, or load the libraries, that their arguments name."""
_MOUNTERS: Final = word_set("hdiutil mount")
#: Programs that make a folder or a drive of a share in the network, and where.
_SHARES: Final = word_set("net mount sshfs new-psdrive mount_webdav rclone s3fs curlftpfs")
_MOUNTED_AT = re.compile(r"[A-Za-z]:/?|/(?!/)[\w./-]{2,100}|[~$%]\w{0,40}%?(?:/[\w./-]{1,100})")
_BACKWARDS = re.compile(
    r"\bmk(?:fifo|nod)\b|\bdone\s{0,4}<|\btrap\s|^make -f |\b(?:BASH_ENV|LD_PRELOAD|PYTHONSTARTUP|NODE_OPTIONS|"
    r"PROMPT_COMMAND|DYLD_INSERT_LIBRARIES)=",
    re.MULTILINE,
)
_CONFIGURED_OUTPUT = re.compile(r"^[ \t]*-{0,2}o(?:utput)?[ \t]*[=: ][ \t]*[\"']?([^\s\"']{1,200})", re.MULTILINE)
#: The last element of a list in a string: ``X="[\"$a\",\"$b\"]"``.
_ENDS_LIST = re.compile(r"\$[\w{}]{1,80}\]")
_POSITIONAL = re.compile(r"\$\{?[0-9@*]\}?")
_DESCRIPTOR = re.compile(r"(?:&|/dev/fd/|/proc/self/fd/)\$?\{?(\w{1,40})\}?")
_UNPACKED_INTO: Final = frozenset(("/tmp", "/opt", "/srv", "/var", "/home", "/mnt"))
_MOST_RUNS: Final = 3
"""How many places are told of that run what one source brings in: a program that is downloaded once is used on many lines."""
_BODY: Final = 32
"""How many commands of a group are searched for what it brings in."""
_FOLDER_LINES: Final = 8
"""Above a line that saves a file, where a command may have changed the folder."""
_MOST_TARGETS: Final = 8
"""How many places are kept that files of one name were saved in."""
_UNPACKED_LINES: Final = 10
"""A relative path that runs within this many lines of an unpacked archive counts as coming out of it."""
_PROJECT_FOLDER = re.compile(r"(?:\./)?(?!\.)[\w.-]{1,80}(?:/(?!\.)[\w.-]{1,80}){0,8}/?")
_LEAVES_FOLDER = re.compile(
    r"\b(?:cd|chdir|pushd|sl|set-location|push-location|mv|cp|ln|install|rsync|move|copy|xcopy|robocopy|mklink|(?:move|copy)-item)\b|"
    r"path=|--(?:absolute-names|transform|xform|chdir)\b|(?:\btar\s+|\s-)(?-i:[a-z]*P)",
    re.IGNORECASE,
)
"""How a file of the folder that an archive was unpacked into runs by another path: a command goes there or moves it."""

Outputs = dict[int, "Origin | None"]


class Flow:
    """One rule's pass over one file. ``functions`` are those of other files. ``files`` and ``names`` hold what is foreign so far,
    ``ready`` what can be executed."""

    def __init__(
        self,
        source: Source,
        fact: str,
        words: frozenset[bytes],
        find_source: Sources,
        files: Mapping[str, Origin] | None = None,
        functions: Mapping[str, Function] | None = None,
    ) -> None:
        self.source = source
        self.fact = fact
        self.words = words
        self.find_source = find_source
        self.files: dict[str, Origin] = dict(files or {})
        self.saved_as: dict[str, set[str]] = {}
        """Where files were saved, as the commands write it, by their names."""
        self.names: dict[str, Origin] = {}
        self.ready: set[str] = set()
        self.unpacked: tuple[Origin, int] | None = None
        self.unpacked_into = ""
        """The folder of the project that the last archive was unpacked into, if the command names one."""
        self.folders: dict[str, Origin] = {}
        """Folders that something foreign was unpacked into, as the commands write them."""
        self.filled_folders: dict[str, Origin] = {}
        """Folders that a foreign file was saved in. What runs each file of such a folder runs it."""
        self.at = 0
        """The line (from 0) that is read."""
        self.in_text = False
        """Whether the command stands in parentheses that begin no command: in a string."""
        self.runs_words = not _EXPRESSION_WORDS.isdisjoint(source.words)
        """Whether the file names PowerShell's command that runs the text it is given."""
        self.loops: list[str] = []
        """Variables that ``read`` gets from a loop's input, which stands behind the loop."""
        self.looped: tuple[Origin, int] | None = None
        """What a loop of cmd goes through, and its line: its variables stand for parts of it."""
        self.blocks: list[tuple[int, Origin]] = []
        """What commands print that nothing takes, by line: it may go to what follows the end of their block."""
        self.functions = {**(functions or {}), **functions_in(source, find_source)}
        self.found: list[RuleMatch] = []
        self.reported: Counter[tuple[str, int, int, str]] = Counter()
        """How often what each source brings in was run, by level."""

    def run(self) -> list[RuleMatch]:
        """Return every place where what the sources bring in is run."""
        numbers = set(self.source.lines_with(self.words))
        if self.functions:
            called = triggers(re.split(r"\W", name.lower())[-1] for name in self.functions)
            numbers.update(self.source.lines_with(called))
        if not numbers and not self.files:
            return self.found
        self._pass(numbers)
        if (self.files or self.names) and (
            self.source.language(0) in _HAS_FUNCTIONS or _BACKWARDS.search(self.source.text) is not None
        ):
            # what is written later in the text is read earlier: a function, a pipe with a name, a loop's input
            self._pass(numbers)
        return self.found

    def _pass(self, numbers: set[int]) -> None:
        seen = -1
        for number in range(0 if self.files else min(numbers), len(self.source.lines)):
            if number in numbers or self._matters(number):
                line = self.source.logical(number)
                if line.first > seen:
                    seen = line.first
                    self._line(line)

    def _matters(self, number: int) -> bool:
        """Whether the line names something foreign, or might start something unpacked right before."""
        raw = self.source.lines[number]
        if self.looped is not None and "%" in raw and number - self.looped[1] <= _BODY:
            return True
        if self.blocks and _CLOSES_BLOCK.match(raw) is not None:
            return True
        if not (self.files or self.names or self.unpacked or self.folders):
            return False
        if any(folder in raw for folder in self.folders) or any(folder in raw for folder in self.filled_folders):
            return True
        if self.unpacked is not None and number - self.unpacked[1] <= _UNPACKED_LINES and ("/" in raw or "." in raw):
            return True
        files, names, values = self.files, self.names, self.source.names.values
        if "<" in raw and "&" in raw and any(file.startswith("&") for file in files):
            return True
        for word in _TOKENS.findall(raw.replace('"', "").replace("'", "")):
            if word in files or f"${word}" in files or word.rstrip(".") in files or word.partition(".")[0] in names:
                return True
            if word in values and (_file_name(values[word]) in files or f"%{word}%" in files):
                return True
        if "$" in raw and any("$" in file and file in raw for file in files):
            return True
        return any(word.startswith("/dev/fd/") for word in raw.split())

    def _line(self, line: Line) -> None:
        self.at = line.first
        for commands in self.source.commands(line):
            outputs: Outputs = {}
            for command, group in commands:
                if command.words:
                    outputs[id(command)] = self._command(command, group, line, outputs)
                elif command.reads or command.writes:
                    outputs[id(command)] = self._redirected(command, group, outputs)

    def _redirected(self, command: shell.Command, group: shell.Group, outputs: Outputs) -> Origin | None:
        """What a redirection without a command puts out: ``$(< file)``."""
        return next((origin for word in command.reads if (origin := self._saved(word.text)) is not None), None)

    def _command(self, command: shell.Command, group: shell.Group, line: Line, outputs: Outputs) -> Origin | None:
        """Process one command. Return the foreign content that it passes on, if any."""
        incoming = self._incoming(command, group, outputs, line)
        self.in_text = interpreters.stands_in_text(group)
        own = self._origin(command, line)
        self._runs(command, line, incoming, outputs)
        if self.functions:
            own = self._calls(command, line, incoming, outputs) or own
            self._calls_back(command, line, incoming)
        brought = own or incoming or self._handed_on(command, outputs)
        first = shell.head(command)
        name = shell.program(command.words[first].text) if first >= 0 else ""
        if brought is not None:
            if not command.writes or _ECHOES.fullmatch(self.source.lines[line.first]) is None:
                self._save_output(command, name, brought, own)
            if own is not None and not own.saves and not command.writes and line.code:
                self.blocks = [*self.blocks[-_BODY:], (line.first, brought)]
        self._assign(command, outputs)
        if self.names:
            self._write_by_call(command)
        if command.words[0].text in _LOOPS or (
            command.words[0].text.lstrip("@").lower() == "for" and len(command.words) > 3
        ):
            self._loop(command)
            self._each_line(command, line, outputs)
        self._move(command, first, name, brought, line)
        return brought

    # What a command reads and passes on.

    def _incoming(self, command: shell.Command, group: shell.Group, outputs: Outputs, line: Line) -> Origin | None:
        incoming = outputs.get(id(command.before)) if command.before is not None else None
        if command is group.commands[0] and _reads_owners_input(group):
            assert group.owner is not None
            before = group.owner.before
            incoming = outputs.get(id(before)) if before is not None else incoming
            if incoming is None and group.opened == ">(" and self.find_source(group.owner, "") is not None:
                incoming = self.find_source(group.owner, "")  # its own output or file: ``curl … > >(sh)``
        if command.words[0].text in _CLOSES:
            incoming = incoming or _closed(command, group, outputs) or self._printed_in_block(line)
        elif command.before is None and _AFTER_SUBSHELL.fullmatch(line.text[: command.words[0].start]) is not None:
            incoming = incoming or self._printed_in_block(line)
        for word in command.reads:
            incoming = incoming or child_origin(word, outputs) or self._saved(word.text)
        return incoming

    def _printed_in_block(self, line: Line) -> Origin | None:
        """What the commands of a block print whose end is in this line, up to the line with the same indent that opens it."""
        raw = self.source.lines[line.first]
        indent = len(raw) - len(raw.lstrip())
        for number in range(line.first - 1, max(-1, line.first - _BODY), -1):
            above = self.source.lines[number]
            if above.strip() and len(above) - len(above.lstrip()) <= indent and _OPENS_BLOCK.search(above) is not None:
                return next((origin for at, origin in self.blocks if number <= at < line.first), None)
        return None

    def _origin(self, command: shell.Command, line: Line) -> Origin | None:
        origin = self.find_source(command, line.text)
        if origin is None:
            return None
        number, column = self.source.place(line, command.words[0].start, origin.text.split(" ", 1)[0])
        saves = origin.saves
        if "-K" in origin.text or "--config" in origin.text:
            saves += self._configured(command)
        return origin._replace(line=number, column=column, saves=saves)

    def _configured(self, command: shell.Command) -> tuple[str, ...]:
        """Where curl saves what it fetches, if a file of the item says it (``curl --config FILE``)."""
        saves: list[str] = []
        for option, after in pairwise([*command.texts(), ""]):
            named = after if option in ("-K", "--config") else option.removeprefix("--config=").removeprefix("-K")
            text = (
                self.source.files.get(named.removeprefix("./"))
                if named != option or option in ("-K", "--config")
                else None
            )
            if text is not None:
                saves.extend(match[1] for match in islice(_CONFIGURED_OUTPUT.finditer(text), FACTS.saved_files))
        return tuple(saves)

    def _calls(self, command: shell.Command, line: Line, incoming: Origin | None, outputs: Outputs) -> Origin | None:
        """A call of one of the file's functions: report what it runs of its input and its parameters; return what it prints."""
        first = shell.head(command)
        function = self.functions.get(command.words[first].text) if first >= 0 else None
        if function is None or function.first <= line.first < function.last:
            return None
        if function.runs_input:
            self._report(incoming, command, line)
        for word in command.words[first + 1 :] if function.runs_parameters else ():
            given = child_origin(word, outputs) or self._named(word.text) or self._saved(word.text)
            self._report(given, command, line, CAUTION)
        own = self.find_source(command, line.text)
        for parameter in function.saves:
            if first + parameter < len(command.words):
                text = shown(_text(command, line))
                place = self.source.place(line, command.words[0].start, command.words[first].text)
                self._save(command.words[first + parameter].text, Origin(text, *place))
        if function.prints is None or own is not None:
            return None
        number, column = self.source.place(line, command.words[0].start, command.words[first].text)
        text = f"{shown(_text(command, line))} {{ {function.prints.text} }}"
        return function.prints._replace(text=text, line=number, column=column, saves=())

    def _calls_back(self, command: shell.Command, line: Line, incoming: Origin | None) -> None:
        """``mapfile -C name``: report a function that is given each line of the input, if it runs its parameters."""
        texts = command.texts()
        if shell.program(texts[0]) in _READERS and "-C" in texts[:-1]:
            function = self.functions.get(texts[texts.index("-C") + 1])
            if function is not None and function.runs_parameters:
                self._report(incoming, command, line)

    def _handed_on(self, command: shell.Command, outputs: Outputs) -> Origin | None:
        """The foreign content that a command prints: ``echo "$x"``, ``cat saved``, the words of a here-string."""
        first = shell.head(command)
        name = shell.program(command.words[first].text) if first >= 0 else ""
        if (
            first >= 0
            and command.words[first].children
            and len(command.words) > first + 1
            and command.words[first + 1].text.startswith(("-", "."))
        ):
            return child_origin(command.words[first], outputs)  # PowerShell: an expression, ``(irm …) -join ''``
        if command.words[0].text in _LOOPS and len(command.words) > 3:
            return next(
                (found for word in command.words[3:] if (found := child_origin(word, outputs)) is not None), None
            )
        if name in _ECHO or first < 0 or command.here:
            for word in command.words:
                origin = child_origin(word, outputs) or self._named(word.text)
                if origin is None and name not in _PRINTS_WORDS:
                    origin = self._saved(word.text)
                if origin is not None:
                    return origin
        elif command.words[first].children and len(command.words) == 1:
            return child_origin(command.words[first], outputs)
        elif len(command.words) == 1 and command.words[first].text.startswith("$"):
            return self._named(command.words[first].text)
        elif len(command.words) > 2 and command.words[1].text == "in" and command.words[0].text.startswith("$"):
            return self._named(command.words[2].text)
        elif len(command.words) > 2 and command.words[1].text == "=":
            return next(
                (origin for word in command.words[2:] if (origin := child_origin(word, outputs)) is not None), None
            )
        return None

    def _named(self, text: str) -> Origin | None:
        if "$" not in text or not self.names:
            return None
        for name in _NAME.findall(text):
            if name in self.names:
                return self.names[name]
        return None

    def _saved(self, text: str) -> Origin | None:
        if not self.files:
            return None
        descriptor = _DESCRIPTOR.fullmatch(text)
        if descriptor is not None:
            return self.files.get(f"&{descriptor[1]}")
        name = _file_name(text)
        origin = self.files.get(name)
        if origin is not None and _POSITIONAL.fullmatch(name) and not self._in_same_function(origin):
            return None  # ``$1`` is another one in each function
        return origin

    def _in_same_function(self, origin: Origin) -> bool:
        extents = extents_in(self.source).values()
        here, there = (
            next((extent for extent in extents if extent[0] <= line < extent[1]), None)
            for line in (self.at, origin.line)
        )
        return here == there and not origin.elsewhere

    # What a command runs.

    def _runs(self, command: shell.Command, line: Line, incoming: Origin | None, outputs: Outputs) -> None:
        for word in command.words:
            loaded = _LOADED_BY_NAME.match(word.text) if "=" in word.text else None
            if loaded is not None and loaded[1].startswith("-") and self.files:  # NODE_OPTIONS="--require FILE"
                for following in command.words[command.words.index(word) + 1 :][:1]:
                    self._report_file(following.text, command, line)
            if loaded is not None:
                self._report(child_origin(word, outputs) or self._named(loaded[1]), command, line)
                for part in re.split(r"[=:\s@]", loaded[1]) if self.files else ():
                    self._report_file(part, command, line)
        if self.looped is not None and 0 <= line.first - self.looped[1] <= _BODY:
            self._runs_looped(command, line, self.looped[0])
        if self.files:
            self._runs_by_option(command, line)
        at = interpreters.position(command)
        if at >= 0:
            self._interprets(command, at, line, incoming, outputs)
            return
        for word, following in pairwise((*command.words[1:], *command.words[-1:])) if self.runs_words else ():
            if (
                shell.program(word.text) in _RUNS_ITS_WORD and line.code
            ):  # in a string: ``c = "powershell -c iex(irm …)"``
                self._report(child_origin(word, outputs) or child_origin(following, outputs), command, line)
        if incoming is not None and interpreters.runs_stdin(command):
            self._report(incoming, command, line)
        index = shell.head(command)
        if index < 0:
            return
        word = command.words[index]
        if self.in_text and self.source.language(line.first) not in _POWERSHELL | _BATCH:
            return
        opened = word.children[0].opened if word.children else ""
        if line.text[: command.start].endswith("((") and word.text.startswith("$"):
            return  # arithmetic: its value is a number
        if self._is_given(command, word, line):
            return
        if word.text != "$()" or not (opened == "$(" or (opened == "`" and self._substitutes(line))):
            self._starts(command, index, line)
        elif line.code and not self._is_printed(line, word) and not (opened == "`" and self._is_quoted(line)):
            self._report(child_origin(word, outputs), command, line)

    def _is_given(self, command: shell.Command, word: shell.Word, line: Line) -> bool:
        """Whether a word is what a command reads, or is given behind a string of several lines."""
        if line.text[: word.start].rstrip(" \t'\"").endswith("<<<"):
            return True
        above, cut, own = line.text[: command.words[0].start].rpartition(BREAK)
        return (
            line.code and not own.strip() and self.source.begins_in_argument(line.first + above.count(BREAK) + len(cut))
        )

    def _is_full_stop(self, command: shell.Command, at: int, line: Line) -> bool:
        """Whether a dot in a sentence ends another one, since no path and no value follows: ``[x](…). This means …``."""
        if line.code or command.words[at].text != ".":
            return False
        following = command.words[at + 1 : at + 2]
        return not following or not (following[0].children or any(mark in following[0].text for mark in "/$.~"))

    def _is_behind_code(self, word: shell.Word, line: Line) -> bool:
        """Whether a word is an argument of code in quotes that ends in the word's line: ``' "$code"`` behind ``python3 -c '``."""
        above, cut, _ = line.text[: word.start].rpartition(BREAK)
        number = line.first + above.count(BREAK) + len(cut)
        if not cut or number >= len(self.source.lines):
            return False
        closes = self.source.lines[number].lstrip().startswith(("'", '"'))
        return closes and self.source.begins_in_argument(number)

    def _is_quoted(self, line: Line) -> bool:
        """Whether backquotes only quote what they enclose: in a comment of a script, escaped in a string, or beside other words
        in a block that names no language."""
        raw = self.source.lines[line.first].strip()
        if self.source.markdown and not self.source.language(line.first) and not (raw[:1] == raw[-1:] == "`"):
            return True
        return raw.startswith("#") or ("\\`" in raw and "`" not in raw.replace("\\`", ""))

    def _is_printed(self, line: Line, word: shell.Word) -> bool:
        """Whether a substitution or a variable is a part of a text: of a value in quotes (``X="Basic $(…)"``), behind a line
        end in a string (``X="a\\n$x"``), or in lines that ``cat <<EOF`` prints."""
        raw = self.source.lines[line.first]
        if self.source.markdown and self.source.language(line.first) not in _SHELL_LANGUAGES:
            return False
        if word.text == "$()" and _QUOTED_VALUE.match(raw) is not None:
            return True
        if word.text != "$()" and f"\\n{word.text}" in raw:
            return True
        printed = _PRINTED_STRING.match(raw)
        if printed is not None and _GOES_ON.search(raw, printed.end()) is None:
            return not any(map(interpreters.is_interpreter, raw.split()))
        for number in range(line.first - 1, max(-1, line.first - _PRINTED_LINES), -1):
            above = self.source.lines[number]
            begun = _PRINTS_LINES.fullmatch(above) if "<<" in above else None
            if begun is not None:
                into = begun["into"] or begun["behind"] or ""
                if into and not is_data(_file_name(into)):
                    return False  # what is printed into a script may run
                return begun["end"] not in (text.strip() for text in self.source.lines[number + 1 : line.first])
        return False

    def _runs_looped(self, command: shell.Command, line: Line, origin: Origin) -> None:
        """cmd: report a variable of a loop that is run as a program, or handed to one that runs it."""
        words = command.texts()
        words = [word.lstrip("@") for word in words[words.index("do") + 1 if "do" in words else 0 :]]
        runs = bool(words) and (interpreters.is_interpreter(words[0]) or words[0].lower() in _CALLERS)
        given = next((word for word in words[runs:] if not word.startswith(("/", "-", "$()"))), "")
        if _LOOP_VARIABLE.fullmatch(given) is not None:
            self._report(origin, command, line)

    def _runs_by_option(self, command: shell.Command, line: Line) -> None:
        """Report a foreign file that a program is told to run or to load by one of its options, or by nothing else."""
        first = shell.head(command)
        if first < 0:
            return
        name = shell.program(command.words[first].text)
        if line.code and command.words[first].text in _RUN_FILES:
            if name in _ONLY_WITH_OPTION and "-f" not in command.texts():
                return
            for word in command.words[first + 1 :]:
                self._report_file(word.text, command, line)
        short = _SHORT_OPTIONS.get(name, ())
        texts = [*command.texts(), "", ""]
        for index in range(first + 1, len(texts) - 2):
            text = texts[index]
            if name in _MULTIPLEXERS and not text.startswith("-") and texts[index - 1] not in _OF_MULTIPLEXERS:
                break  # a command of its own, which can tell ``-f`` to another program
            if text not in short and _RUNNING_OPTION.fullmatch(text) is None:
                continue
            if text.startswith("--import") and not interpreters.is_interpreter(texts[first]):
                continue  # of keys, for instance
            value = re.split(r"[=:]", text)[-1] if "=" in text or ":" in text else texts[index + 1]
            follows = texts[index + 1] if "=" in text or ":" in text else texts[index + 2]
            self._report_file(follows if interpreters.is_interpreter(value) else value, command, line)

    def _interprets(
        self, command: shell.Command, at: int, line: Line, incoming: Origin | None, outputs: Outputs
    ) -> None:
        """A shell, a language, ``eval`` or ``source``: report foreign input, code words, or the file it is given."""
        if command.words[at].text == "Source" or self._is_full_stop(command, at, line):  # the first word of a sentence
            return
        if incoming is not None and interpreters.runs_stdin(command):
            self._report(incoming, command, line)
        words = interpreters.code_words(command)
        script = interpreters.script(command)
        if any(word.text.startswith("{}") for word in command.words[at:]):
            self._each(command, line)
        if script is not None and incoming is not None and script.text.startswith(("/dev/fd/", "/proc/self/fd/")):
            self._report(incoming, command, line)
        if script is not None and interpreters.is_interpreter(command.words[at].text):
            children = [child for child in script.children if child.opened in ("<(", "$(", "`", "(")]
            if children and (self._substitutes(line) or children[0].opened != "`"):
                words = [*words, script]
            self._report_file(script.text, command, line)
            if "*" in script.text.rpartition("/")[2]:
                self._report(self.filled_folders.get(script.text.rpartition("/")[0]), command, line)
        elif interpreters.is_expression(command.words[at].text):
            name = shell.program(command.words[at].text)
            only = name == "source"  # its other words are arguments, or a sentence
            for before, word in pairwise(command.words[at : at + 2 if only else None]):
                if name != "eval" or before is command.words[at] or interpreters.is_interpreter(before.text):
                    self._report_file(word.text, command, line)
        language = shell.program(command.words[at].text) in interpreters.LANGUAGES
        for word in command.words[at + 1 :] if command.here else words:
            if not command.here and self._is_behind_code(word, line):
                break
            origin = _evaluated_origin(word, outputs) if language else child_origin(word, outputs)
            self._report(origin or self._named(word.text), command, line)
        if script is not None:
            self._report_unpacked(script.text, command, line)

    def _is_named_only(self, command: shell.Command, line: Line) -> bool:
        """Whether a path is only named: alone in the cell of a table, as a place, or a type of content (``application/json``)."""
        if _MEDIA_TYPE.match(command.words[0].text) is not None:
            return True
        before = line.text[: command.words[0].start]
        if not line.code and len(command.words) == 1 and not command.words[0].text.startswith("./"):
            after = line.text[command.end : command.end + _TOLD]
            if _EXPLAINED.match(after) is not None and not before.strip(" -*`\t"):
                return _TELLS_TO_START.search(after) is None
            if _SENTENCE.search(before[-_SENTENCE_END:]) is not None and _FOREIGN_LETTER.search(before) is None:
                return _TELLS_TO_START.search(before[-_TOLD:]) is None
        return not line.code and len(command.words) == 1 and line.text.lstrip().startswith("|")

    def _each(self, command: shell.Command, line: Line) -> None:
        """Report a command that runs each file of a folder: ``find d -exec sh {} \\;``, ``ls d/* | xargs -I{} sh {}``."""
        for word in (*command.words, *(command.before.words if command.before is not None else ())):
            text = word.text.rstrip("/*")
            origin = self.filled_folders.get(text) or self.filled_folders.get(text.rpartition("/")[0] or text)
            if origin is not None and not (
                origin.line == line.first and origin.text in line.text[command.start : command.end]
            ):
                self._report(origin, command, line)
                return
            for folder, origin in self.folders.items():
                if word.text.rstrip("/") == folder or word.text.startswith(f"{folder}/"):
                    self._report(origin, command, line)
                    return

    def _substitutes(self, line: Line) -> bool:
        """Whether backquotes on this line run what they enclose."""
        return line.code and self.source.language(line.first) not in _PLAIN_BACKQUOTES

    def _is_explained(self, command: shell.Command, index: int) -> bool:
        """Whether a name is followed by words in parentheses, which no command is: ``- jq (reads JSON)``."""
        after = command.words[index + 1 : index + 2]
        return bool(after) and after[0].text == "$()" and [child.opened for child in after[0].children] == ["("]

    def _is_place(self, command: shell.Command, index: int, line: Line) -> bool:
        """Whether a path in a sentence is a place, not a program: neither its name nor words before say that it is run, and no
        option follows. The item's own files are what a sentence is about."""
        word = command.words[index]
        text = word.text
        own = self._is_attached(text)
        if _TELLS_TO_START.search(line.text[max(0, word.start - _TOLD) : word.start]) is not None:
            return False
        if "/" not in text or any(after.text[:1] == "-" for after in command.words[index + 1 :]):
            return False
        return own or not (text.startswith("./") or text.lower().endswith((*_PROGRAM_SUFFIXES, *_SCRIPT_SUFFIXES)))

    def _opens(self, text: str, line: Line) -> bool:
        """Whether a word is a program that starts the next one. With a capital letter it is the first word of a sentence."""
        if shell.program(text) not in _OPENERS:
            return False
        return text[:1].islower() or "-" in text or self.source.language(line.first) in _POWERSHELL | _BATCH

    def _starts(self, command: shell.Command, index: int, line: Line) -> None:
        """Report a file started by its path, through a variable, by ``start`` or ``open``, or by PowerShell's ``&``."""
        word = command.words[index]
        name = shell.program(word.text)
        if _VOLUME.fullmatch(word.text) is not None or self._is_explained(command, index):
            return
        if not line.code and self._is_place(command, index, line):
            return
        if _SETTING.match(word.text) is not None or command.words[-1].text in _END_OF_TEST:
            return  # ``input-file=PATH`` of a file of settings, or the rest of ``[[ a || "$b" -gt 1 ]]``
        before = command.texts()[:index]
        if word.text.startswith("$") and "command" in before and not _ASKS.isdisjoint(before):
            return  # where it is, is only asked
        if "*" in word.text and self.source.markdown and not self.source.language(line.first):
            return  # a pattern of paths, in a sentence
        if line.text[: word.start].strip() in ("---", "+++"):
            return  # the head of a difference: ``--- a/hello``
        if ("://" in word.text and not _DRIVE.match(word.text)) or _ENDS_LIST.fullmatch(word.text) is not None:
            return
        by_name = (
            word.text.startswith("$")
            and line.code
            and not self.in_text
            and self.source.language(line.first) not in _POWERSHELL
        )
        if name == "run-parts":
            self._each(command, line)
        elif name in _FINDERS:
            if any(
                option.startswith("-exec") and target.startswith("{}") for option, target in pairwise(command.texts())
            ):
                self._each(command, line)
        elif any(self._opens(other.text, line) for other in command.words[: index + 1]):
            for other in command.words[index:]:
                if "://" in other.text and not _DRIVE.match(other.text):
                    continue  # a page that is shown
                self._report_start(other.text, command, line)
                if "/" in other.text and not is_data(_file_name(other.text)):
                    self._report(self._in_folder(other.text), command, line)
        elif self._is_named_only(command, line) or _TITLE.match(" ".join(command.texts()[index + 1 : index + 3])):
            return
        elif "/" in word.text or word.text.lower().endswith(_PROGRAM_SUFFIXES) or name in self.ready or by_name:
            if by_name and self._is_printed(line, word):
                return
            self._report_start(word.text, command, line)
            if by_name and not (len(command.words) > index + 1 and command.words[index + 1].text in _COMPARES):
                self._report(self._named(word.text), command, line, CAUTION)
            self._report_unpacked(word.text, command, line)
            if name in _INSTALLERS:
                self._installs(command, index, line)
        elif name in _INSTALLERS:
            self._installs(command, index, line)
        elif name == "cmd" or word.text == "&":
            self._report_start(command.words[-1].text, command, line)

    def _installs(self, command: shell.Command, index: int, line: Line) -> None:
        name = shell.program(command.words[index].text)
        texts = command.texts()
        if name in _ONLY_WITH_OPTION and "-f" not in texts:
            return
        if name in _NAMES_PACKAGES and "config" in texts[index + 1 : index + 3] and _RUN_SETTINGS.isdisjoint(texts):
            return  # ``npm config set cafile FILE`` keeps the name of a file
        if name == "docker" and _TAKES_ARCHIVE.isdisjoint(texts[index + 1 :]):
            # other words name images and containers, but for the program that a container starts
            starts = not _STARTS_IN_CONTAINER.isdisjoint(texts[index + 1 :])
            texts = [text for text in texts if starts and "/" not in text and not is_data(text)]
            index = -1
        for text in texts[index + 1 :]:
            if name in _NAMES_PACKAGES and text.lower().endswith(_CERTIFICATES):
                continue  # whom it trusts
            if name not in _NAMES_PACKAGES or "/" in text or "." in text or "$" in text:  # else a package of an index
                self._report_file(text.partition(",")[0], command, line)

    # What is kept for later lines.

    def _save_output(self, command: shell.Command, name: str, brought: Origin, own: Origin | None) -> None:
        for target in (*command.writes, *(own.saves if own else ())):
            self._save(target, brought)
        for folder in fetchers.folders_of(command) if own is not None else ():
            if folder not in _OWN_FOLDERS and len(self.folders) < FACTS.saved_files:
                self.folders.setdefault(folder, brought)
        words = command.texts()
        if words[0] == "exec" and command.reads and len(words) > 1:
            self.files.setdefault(f"&{words[-1].strip('{}')}", brought)
        if name in _WRITERS:
            for target in words[1:]:
                if not target.startswith("-"):
                    self._save(target.removeprefix("of="), brought)
        if words[0] in _CLOSES:
            for loop in self.loops[-1:]:
                self.names.setdefault(loop, brought)
        if "read" in words:
            for read in words[words.index("read") + 1 :]:
                if read.isidentifier():
                    self.names[read] = brought
        if len(words) > 2 and words[1] == "in" and words[0].startswith("$"):
            self.names[words[0].lstrip("$")] = brought
        if words[0] == "for" and len(words) > 3 and words[2] == "in":
            self.names[words[1]] = brought
            self.files.setdefault(f"${words[1]}", brought)
        if len(words) > 2 and words[1] == "=" and words[0].startswith("$"):
            variable = words[0].lstrip("$")
            self.names[variable.partition(":")[2] or variable] = brought

    def _assign(self, command: shell.Command, outputs: Outputs) -> None:
        for word in command.words:
            match = _ASSIGNS.match(word.text)
            if match is not None and (word.children or "$" in word.text):
                origin = child_origin(word, outputs) or self._named(word.text)
                if origin is not None:
                    self.names[match[1]] = origin

    def _write_by_call(self, command: shell.Command) -> None:
        """.NET's calls that write a file: ``[IO.File]::WriteAllBytes("a.exe", $bytes)``."""
        for word in command.words:
            if word.children and "writeall" in word.text.lower():
                given = [
                    inner.text.strip(",") for child in word.children for part in child.commands for inner in part.words
                ]
                origin = next((known for text in given if (known := self._named(text)) is not None), None)
                if origin is not None and given:
                    self._save(given[0], origin)

    def _each_line(self, command: shell.Command, line: Line, outputs: Outputs) -> None:
        """cmd: ``for /f %i in ('command') do %i`` runs each line that the command prints."""
        words = command.texts()
        variable = next((text for text in words if text.startswith("%")), "")
        if not variable or "do" not in words:
            return
        origin = next((found for word in command.words if (found := child_origin(word, outputs)) is not None), None)
        if origin is not None:
            self.looped = (origin, line.first)
        after = words[words.index("do") + 1 :]
        if after and (
            after[0].lstrip("@") == variable or (interpreters.is_interpreter(after[0]) and variable in after)
        ):
            self._report(origin, command, line)

    def _loop(self, command: shell.Command) -> None:
        """Keep what a loop's variable stands for: a file of an unpacked folder, or what ``read`` gets."""
        words = command.texts()
        if "read" in words:
            self.loops = [*self.loops[-_BODY:], words[-1]]
        if len(words) > 3 and words[2] == "in":
            for text in words[3:]:
                origin = self._saved(text) or self._in_folder(text)
                if origin is None and text.endswith(("/*", "/*.sh", "/*.py")):
                    origin = self.filled_folders.get(text.rpartition("/")[0])
                if origin is not None:
                    self.files.setdefault(f"${words[1]}", origin)

    def _move(self, command: shell.Command, first: int, name: str, brought: Origin | None, line: Line) -> None:
        """Track foreign files that are made executable, moved or unpacked."""
        if name in _MOUNTERS and self.files:
            mounted = next((found for word in command.words if (found := self._saved(word.text)) is not None), None)
            if mounted is not None:
                for folder in ("/Volumes", command.words[-1].text):
                    self.folders.setdefault(folder.rstrip("/"), mounted)
        if name in _SHARES and brought is not None:
            for word in command.words:
                if _MOUNTED_AT.fullmatch(word.text) is not None and len(self.folders) < FACTS.saved_files:
                    self.folders.setdefault(word.text.rstrip("/"), brought)
        if name in _UNPACKERS:
            self._unpack(command, first, brought, line)
        if not (self.files or self.folders) or first < 0 or (name != "chmod" and name not in _MOVERS):
            return
        arguments = [word.text for word in command.words[first + 1 :] if not word.text.startswith("-")]
        if name == "chmod":
            executable = bool(arguments) and _NOT_EXECUTABLE.fullmatch(arguments[0]) is None
            self.ready.update(key for key in map(_file_name, arguments[1:]) if executable and key in self.files)
        elif len(arguments) >= 2:
            target = arguments[-1]
            for argument in arguments[:-1]:
                origin = self._saved(argument)
                origin = origin or self._in_folder(argument)
                if origin is not None:
                    if _file_name(argument).endswith(".app"):
                        target = f"{target.rstrip('/')}/{_file_name(argument)}"
                    self._save(target, origin)
                    if _BIN.search(target) or _file_name(argument) in self.ready:
                        self.ready.update((_file_name(target), _file_name(argument)))

    def _in_folder(self, text: str) -> Origin | None:
        return next((origin for folder, origin in self.folders.items() if text.startswith(f"{folder}/")), None)

    def _unpack(self, command: shell.Command, first: int, brought: Origin | None, line: Line) -> None:
        saved = (self._saved(word.text) for word in command.words[first + 1 :])
        origin = brought or next((found for found in saved if found is not None), None)
        if origin is not None:
            self.unpacked = (origin, line.first + line.text.count(BREAK))
            arguments = command.texts()[first + 1 :]
            into = _destination(arguments)
            self.unpacked_into = into.removeprefix("./").rstrip("/") if _PROJECT_FOLDER.fullmatch(into) else ""
            folder = _folder(arguments)
            if folder and len(self.folders) < FACTS.saved_files:
                self.folders.setdefault(folder, origin)

    def _save(self, target: str, origin: Origin) -> None:
        key = _file_name(target)
        if key not in _IGNORED_FILES and not key.isdigit() and any(map(str.isalnum, key)):
            self.files.setdefault(key, origin)
            targets = self.saved_as.setdefault(key, set())
            if len(targets) < _MOST_TARGETS:
                targets.add(target.strip("\"'"))
            folder = target.strip("\"'").rpartition("/")[0]
            if folder not in _OWN_FOLDERS and len(self.filled_folders) < FACTS.saved_files:
                self.filled_folders.setdefault(folder, origin)
            if _BIN.search(target):
                self.ready.add(key)

    # What is reported.

    def _report_start(self, text: str, command: shell.Command, line: Line) -> None:
        """Report a file that is started by its own path. A file of data is only named or opened."""
        if not is_data(_file_name(text)):
            self._report_file(text, command, line)

    def _is_another(self, text: str, origin: Origin) -> bool:
        """Whether a path probably means another file of the same name: one that the item has, unless its folder is named where
        the file was saved (``cd scripts``, ``-P scripts``), or, on a page, one in another folder than the file was saved in
        (``/tmp/a.js`` and ``/static/a.js``)."""
        path = text.removeprefix("./")
        if "/" in path and path in self.source.files and not any(saved.endswith(path) for saved in origin.saves):
            folder = rf"(?<![\w.-]){re.escape(path.rpartition('/')[0].rpartition('/')[2])}(?![\w.-])"
            above = self.source.lines[max(0, origin.line - _FOLDER_LINES) : origin.line + 1]
            return origin.elsewhere or not any(re.search(folder, raw) for raw in above)
        targets = self.saved_as.get(_file_name(text), set()) if self.source.markdown and text.startswith("/") else set()
        return (
            0 < len(targets) < _MOST_TARGETS and text not in targets and all(map(_ABSOLUTE.fullmatch, (text, *targets)))
        )

    def _report_file(self, text: str, command: shell.Command, line: Line) -> None:
        origin = self._saved(text)
        if origin is not None and origin.elsewhere and _file_name(text) == _file_name(self.source.path):
            return  # how this file is used, in its own words
        if origin is not None and self._is_another(text, origin):
            origin = origin._replace(weak=True)
        if origin is not None and not (origin.line == line.first and origin.text == shown(_text(command, line))):
            self._report(origin, command, line)

    def _report_unpacked(self, text: str, command: shell.Command, line: Line) -> None:
        inside = self._in_folder(text)
        if inside is not None:
            self._report(inside, command, line)
            return
        if self.unpacked is None or not line.code or not 0 <= line.first - self.unpacked[1] <= _UNPACKED_LINES:
            return
        relative = "/" in text and not text.startswith(("/", "~", "http", "-"))
        if not (text.startswith("./") or (relative and text.endswith(_SCRIPT_SUFFIXES))) or self._is_attached(text):
            return
        if not self._is_beside_unpacked(text, command, line):
            self._report(self.unpacked[0], command, line)

    def _is_beside_unpacked(self, text: str, command: shell.Command, line: Line) -> bool:
        """Whether a path of the project lies outside the folder that the archive was unpacked into, and the command gets only
        data from there: ``tar xz -C data`` and then ``python scripts/plot.py data/births.csv``."""
        folder = self.unpacked_into
        if not folder or self.unpacked is None or ".." in text or "$" in text or "*" in text:
            return False
        for word in command.texts():
            inside = word.removeprefix("./").startswith(f"{folder}/")
            if inside and (word == text or not is_data(_file_name(word))):
                return False
        begin = max(0, self.unpacked[1] - 1)
        since = "\n".join(self.source.lines[begin : line.first + line.text.count(BREAK) + 1])
        return _LEAVES_FOLDER.search(since) is None

    def _is_attached(self, text: str) -> bool:
        """Whether the item itself contains this file, so that it does not have to come from an archive."""
        return text.removeprefix("./") in self.source.files

    def _report(self, origin: Origin | None, command: shell.Command, line: Line, level: str = "") -> None:
        if origin is None:
            return
        level = CAUTION if origin.weak else level
        last = shown(_text(command, line))
        self.source.run_lines.add(self.source.place(line, command.words[0].start, "")[0])
        value = last if origin.text in last else f"{origin.text} {'|' if command.before is not None else ';'} {last}"
        if origin.elsewhere:
            place = self.source.place(line, command.words[0].start, command.words[0].text)
        else:
            place = (origin.line, origin.column)
        source = (*origin[:3], level)
        self.reported[source] += 1
        if self.reported[source] <= _MOST_RUNS:
            self.found.append(RuleMatch(self.fact, value, *place, level))


def _reads_owners_input(group: shell.Group) -> bool:
    """Whether a group's first command reads the pipe of the command that contains the group: ``| (sh)``, ``>(sh)``."""
    if group.owner is None or group.opened not in (">(", "("):
        return False
    first = group.owner.words[0] if group.owner.words else None
    return group.opened == ">(" or (first is not None and first.text == "$()" and group in first.children)


def _closed(command: shell.Command, group: shell.Group, outputs: Outputs) -> Origin | None:
    """The foreign output of the commands before a closing brace, ``done`` or ``fi``, which is the output of the whole."""
    origin = None
    for other in group.commands[-_BODY:]:
        if other is command:
            break
        origin = outputs.get(id(other)) or origin
    return origin


def child_origin(word: shell.Word, outputs: Outputs) -> Origin | None:
    """The foreign output of a word's substitutions, at any depth."""
    pending = list(word.children)
    while pending:
        for command in pending.pop().commands:
            origin = outputs.get(id(command))
            if origin is not None:
                return origin
            for inner in command.words:
                pending.extend(inner.children)
    return None


def _evaluated_origin(word: shell.Word, outputs: Outputs) -> Origin | None:
    """The foreign output that code of a language evaluates: a shell's substitutions, and the arguments of ``exec`` or ``eval``.
    Other functions get data (``json.loads(b64decode(x))``)."""
    for group in word.children:
        if group.opened != "(" or _EVALUATOR.search(word.text) is not None:
            return child_origin(word, outputs)
        for command in group.commands:
            for inner in command.words:
                origin = _evaluated_origin(inner, outputs)
                if origin is not None:
                    return origin
    return None


_EVALUATOR = re.compile(r"(?:^|\W)(?:exec\w{0,4}|eval|compile|Function|loadstring|\w{3,9}_eval|iex)(?:\$\(\))?$")


def _folder(arguments: list[str]) -> str:
    """Where an archive is unpacked. A folder of the project is none: what it holds beside cannot be told apart."""
    folder = _destination(arguments).rstrip("/")
    return folder if "/" in folder.lstrip("/") or folder.startswith(("$", "%", "~")) or folder in _UNPACKED_INTO else ""


def _destination(arguments: list[str]) -> str:
    """The word after ``-d``, ``-C`` or ``-DestinationPath``, or the end of ``-o…``; empty if there is none."""
    folder = ""
    for option, after in pairwise([*arguments, ""]):
        if option.lower() in _INTO_FOLDER or _INTO_SHORT.fullmatch(option):
            folder = after
        elif option.startswith("-o") and len(option) > len("-o"):
            folder = option[len("-o") :]
    return folder


def _text(command: shell.Command, line: Line) -> str:
    return line.text[command.words[0].start : command.end]


def _file_name(text: str) -> str:
    bare = text.replace("${", "$").strip("\"'[]{}(),:").rstrip(".,;!?)")
    return bare.replace("\\", "/").rpartition("/")[2]
