"""``persistence``: writing what outlives the session: agents' settings and memory, hooks, shell profiles, timers, services.

A path alone does not count; something on the same line or next to it must write. Commands that register something (``crontab -``,
``systemctl enable``) count on their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts.fact import PERSISTENCE
from rye.text.facts.shell import shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import ByWord, triggers, word_set

_HOME = r"(?:(?:~|\$\{?HOME\}?|\$\{?\w{1,30}\}?|%\w{1,30}%|/(?:home|Users)/[\w.$*-]{1,60}|/root|\.)/)?"
_TARGETS: Final = re.compile(
    rf"(?<![\w.-]){_HOME}(?:"
    r"\.claude(?:-code)?/(?:settings(?:\.local)?\.json|hooks(?:/[\w.-]{1,60})?|commands(?:/[\w.-]{1,60})?|"
    r"agents(?:/[\w.-]{1,60})?|skills(?:/[\w.-]{1,60}){0,2}|CLAUDE\.md|plugins(?:/[\w.-]{1,60})?|"
    r"keybindings\.json)|\.claude\.json"
    r"|\.codex/(?:config\.toml|AGENTS\.md|hooks[\w./-]{0,60}|prompts[\w./-]{0,60}|skills[\w./-]{0,60})|"
    r"\.gemini/(?:settings\.json|GEMINI\.md|extensions[\w./-]{0,60})|\.cursor/(?:mcp\.json|"
    r"rules[\w./-]{0,60}|hooks[\w./-]{0,60}|settings\.json)|\.cursorrules|\.windsurfrules|\.clinerules"
    r"|\.(?:openclaw|clawdbot|moltbot)/[\w./-]{1,80}|\.config/(?:opencode|goose|crush|zed|Code|Cursor)/[\w./ "
    r"-]{1,80}|claude_desktop_config\.json|\.mcp\.json|opencode\.jsonc?|\.aider\.conf\.yml|"
    r"\.continue/config\.\w{2,4}"
    r"|\.vscode/(?:settings|tasks|mcp|launch)\.json|\.github/(?:copilot-instructions\.md|"
    r"workflows/[\w.-]{1,60}|hooks/[\w./-]{1,60})|\.husky/[\w-]{1,40}|\.agents?/[\w./-]{1,60}"
    r"|(?:[\w./-]{1,60}/)?(?:CLAUDE(?:\.local)?|AGENTS|GEMINI|SOUL|MEMORY|HEARTBEAT|TOOLS|IDENTITY|USER)\.md"
    r"|(?:[\w./$(){}-]{1,60}/)?\.git/(?:hooks(?:/[\w.-]{1,40})?|config)|"
    r"\.git-templates?(?:/hooks(?:/[\w.-]{1,40})?)?|\.gitconfig"
    r"|\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|"
    r"kshrc|cshrc|tcshrc|xinitrc|xprofile|inputrc|vimrc|tmux\.conf)\b|\.config/fish/[\w./-]{1,60}|"
    r"/etc/(?:profile(?:\.d/[\w.-]{1,60})?|bash\.bashrc|zsh/\w{1,20}|environment|rc\.local|ld\.so\.preload|"
    r"crontab|cron\.\w{1,8}(?:/[\w.-]{1,60})?|init\.d/[\w.-]{1,60}|systemd/[\w./@-]{1,80}|"
    r"sudoers\.d/[\w.-]{1,60}|xdg/autostart[\w./-]{0,60})"
    r"|\.config/(?:systemd/user[\w./@-]{0,80}|autostart[\w./-]{0,60})|"
    r"/(?:usr/)?lib/systemd/system/[\w.@-]{1,80}|/var/spool/cron[\w./-]{0,60}|/?Library/Launch(?:Agents|"
    r"Daemons)(?:/[\w.-]{1,80})?"
    r"|\.ssh/(?:authorized_keys2?|rc|config)|(?:sitecustomize|usercustomize)\.py|"
    r"[\w./-]{0,60}site-packages/[\w-]{1,40}\.pth"
    r"|[\w./$(){}~-]{0,80}(?:^|[\w/}\"])hooks/(?:applypatch-msg|pre-applypatch|post-applypatch|pre-commit|pre-merge-commit|prepare-commit-msg|commit-msg|"
    r"post-commit|pre-rebase|post-checkout|post-merge|pre-push|post-rewrite|post-receive|update)(?![\w./-])|\$\{?hooks\w{0,10}\}?/[\w.-]{1,40}"
    r"|\.config/(?:nvim|vim|emacs|doom|helix|yazi|wezterm|ghostty|hypr|sway|i3|pip|nixpkgs|home-manager|starship|micro|ranger|lf|mpv)[\w./@-]{1,80}|\.(?:vim|emacs\.d|ipython|jupyter|julia|irbrc|pryrc|gdbinit|lldbinit|"
    r"psqlrc|sqliterc|curlrc|wgetrc|screenrc|nanorc|Rprofile|Renviron|emacs|pdbrc|iex\.exs|ghci|node_repl_history|bunfig\.toml|npmrc|yarnrc(?:\.yml)?|pypirc|condarc|gemrc|bundle/config|cargo/config\.toml|m2/settings\.xml|gradle/init\.d)"
    r"(?:/[\w./@-]{1,80})?|/etc/(?:udev/rules\.d|pam\.d|update-motd\.d|apt/apt\.conf\.d|NetworkManager/dispatcher\.d|sysctl\.d|modules-load\.d|ld\.so\.conf\.d|logrotate\.d|sudoers|hosts|anacrontab|binfmt\.d|skel|acpi|dhcp)(?:/[\w./@-]{1,80})?"
    r"|\$\{?__fish_config_dir\}?/[\w./-]{1,60}|\.config/(?:nushell|environment\.d|git|direnv|powershell|alacritty|kitty|systemd)/[\w./-]{1,60}|\.pam_environment|\.pythonrc|\.zlogout|\.envrc"
    r"|\.local/share/(?:applications|systemd)/[\w./-]{1,60}|\.devcontainer/[\w./-]{1,40}|\.pre-commit-config\.yaml|\.(?:windsurf|kiro|roo|amazonq|qwen|trae|zed|cline|opencode|copilot)/[\w./-]{1,80}"
    # a profile whose shell is a variable, and the folder of hooks that git is asked for
    r"|(?:~|\$\{?HOME\}?|\{\{[^{}\n]{0,40}HOME[^{}\n]{0,20}\}\})/\.(?:\$\{[^{}\n]{1,40}\}|\$\([^()\n]{1,60}\)|\$\w{1,30}|\{\{[^{}\n]{1,80}\}\})(?:rc|env|_?profile|_login)?"
    r"|\$\(git\s+rev-parse\s+--git-(?:common-)?(?:dir|path)[^()\n]{0,20}\)(?:/?hooks(?:/[\w-]{1,40})?)?"
    r"|\$PROFILE(?:\.\w{1,30})?\b|Microsoft\.PowerShell_profile\.ps1|[\w %:\\/.-]{0,80}(?:Start "
    r"Menu[\\/]Programs[\\/]Startup|shell:startup)[\w\\/.-]{0,60}"
    r")(?![\w-])",
    re.IGNORECASE,
)
#: A line without any of these words cannot name a target. Each has the spellings in which it is one.
_TARGET_WORDS: Final = {
    **{
        word.encode(): (f".{word}".encode(),)
        for word in word_set(
            "codex cursor cursorrules windsurfrules clinerules openclaw clawdbot moltbot mcp aider continue "
            "vscode github husky agent git gitconfig config ssh tmux bashrc bash_profile bash_login bash_logout "
            "bash_aliases zshrc zshenv zprofile pam_environment pythonrc zlogout envrc devcontainer windsurf kiro "
            "roo amazonq qwen trae zed cline copilot zlogin kshrc cshrc tcshrc xinitrc xprofile inputrc vimrc pth"
        )
    },
    **{
        word.encode(): (f"{word}.md".encode(),) for word in ("soul", "memory", "heartbeat", "identity", "user", "tools")
    },
    **{
        word.encode(): (f".{word}".encode(),)
        for word in word_set(
            "vim emacs ipython jupyter julia irbrc pryrc gdbinit lldbinit psqlrc sqliterc curlrc wgetrc screenrc "
            "nanorc rprofile renviron pdbrc iex ghci bunfig npmrc yarnrc condarc gemrc bundle cargo m2 gradle"
        )
    },
    b"claude": (b".claude", b"claude.md", b"claude.local.md"),
    b"gemini": (b".gemini", b"gemini.md"),
    b"agents": (b".agents", b"agents.md"),
    b"opencode": (b"opencode.json",),
    b"claude_desktop_config": (b"claude_desktop_config.json",),
    b"profile": (b".profile", b"$profile"),
    b"microsoft": (b"powershell_profile",),
    b"hooks": (b"hooks/", b"$hooks", b"${hooks"),
    b"rev": (b"rev-parse --git-",),
    b"home": (b"home/.$", b"home}/.$", b"/.{{"),
    b"shell": (b"~/.$",),
    b"basename": (b"~/.$",),
    b"pre": (b".pre-commit-config",),
    b"__fish_config_dir": (b"__fish_config_dir",),
    b"local": (b".local/share/",),
    b"etc": (b"/etc",),
    b"systemd": (b"systemd",),
    b"cron": (b"cron",),
    b"launchagents": (b"launchagents",),
    b"launchdaemons": (b"launchdaemons",),
    b"sitecustomize": (b"sitecustomize.py",),
    b"usercustomize": (b"usercustomize.py",),
    b"startup": (b"programs/startup", b"programsstartup", b"shell:startup"),
}
_WRITES: Final = re.compile(
    r"(?:^|[^\w<=|-])>{1,2}\|?\s*[\"']?[\w~$./{%]|\btee\b|\bcp\s|\bmv\s|\bln\s+-|\bsed\s+-i|\bprintf\b|"
    r"\bcat\s*<<|\binstall\s+-|\btouch\s|\bchmod\s|\bcurl\b[^\n]{0,200}\s-o\b|\bwget\b[^\n]{0,200}\s-O\b|"
    r"\bopen\([^\n]{0,200},\s*(?:mode\s*=\s*)?[\"'][wax]|\.open\(\s*(?:mode\s*=\s*)?[\"'][wax]|\blineinfile\b|\bblockinfile\b|\.write(?:_text|_bytes|lines)?\(|write_?File|"
    r"append_?File|copyFile|symlink|json\.dump\(|shutil\.(?:copy|move)|file_put_contents|Set-Content|"
    r"Add-Content|Out-File|New-Item|"
    r"(?<!\ba\s)(?<!\ban\s)(?<!\bthe\s)(?<!\bany\s)(?<!\bevery\s)\b(?:add|adds|added|adding|append|appends|appended|appending|write|writes|writing|written|edit|edits|"
    r"editing|insert|inserts|inserting|put|puts|create|creates|creating|update|updates|updating|modify|"
    r"modifies|modifying|"
    r"register|registers|save|saves|saved|saving|copy|copies|(?<!\bis\s)(?<!\bare\s)sets?|configure|place|inject|injects|paste|"
    r"install|installs|symlink|store|stores|persist|persists|merge|change|patch|extend|enable|prepend|"
    r"overwrite|replace|generate|scaffold)\b",
    re.IGNORECASE,
)
_REGISTERS: Final = (
    (
        triggers(("crontab",)),
        re.compile(r"\bcrontab\s+(?!-l|-r)(?:-u\s+\w+\s+)?(?:-(?=\s|$|[\"'`)])|-e\b|[\w~$./]\S{0,80})|\|\s*crontab\b"),
    ),
    (
        triggers(("systemctl", "loginctl", "rc", "chkconfig")),
        re.compile(
            r"\bsystemctl\s+(?:--\w+\s+){0,3}(?:enable|link)\s[\w@. -]{0,60}|\bloginctl\s+enable-linger|"
            r"\bupdate-rc\.d\s+\S{1,40}|\bchkconfig\s+\S{1,40}\s+on"
        ),
    ),
    (triggers(("launchctl",)), re.compile(r"\blaunchctl\s+(?:load|bootstrap|submit|enable)\b[^\n;&|`]{0,80}")),
    (
        triggers(("schtasks", "scheduledtask", "register", "new")),
        re.compile(r"\bschtasks(?:\.exe)?\s+/create\b|\b(?:Register|New)-ScheduledTask\w{0,20}", re.IGNORECASE),
    ),
    (
        triggers(("currentversion", "runonce", "run")),
        re.compile(
            r"^(?![^\n]{0,200}\b(?:reg(?:\.exe)?\s+query|Get-Item\w{0,12}|printkey)\b|[^\n]{0,200}--key\s)[^\n]{0,1000}?"
            r"(CurrentVersion[\\/]{1,2}Run(?:Once)?)\b",
            re.IGNORECASE,
        ),
    ),
    (
        triggers(("git", "hookspath", "templatedir")),
        re.compile(
            r"\bcore\.hooksPath\b|\binit\.templateDir\b|\bgit\s+config\s[^\n;|&]{0,60}?(?:\balias\.[\w-]{1,30}\s+[\"']{0,2}!|"
            r"\bcore\.(?:pager|editor|sshCommand|fsmonitor)\s|\bcredential\.helper\s|\b(?:filter|diff|merge)\.[\w-]{1,30}\.(?:clean|smudge|process|textconv|driver)\s)",
            re.IGNORECASE,
        ),
    ),
    (
        triggers(("sc", "nssm", "service")),
        re.compile(r"\b(?:sc(?:\.exe)?\s+create|nssm\s+install|New-Service)\b", re.IGNORECASE),
    ),
    (
        triggers("winlogon appinit_dlls loginhook eventfilter __eventfilter image"),
        re.compile(
            r"\bCurrentVersion\\{1,2}Winlogon\b|\bAppInit_DLLs\b|\bLoginHook\b|\b__EventFilter\b|"
            r"\bImage File Execution Options\b",
            re.IGNORECASE,
        ),
    ),
    (
        triggers("calendar boot restart"),
        re.compile(
            r"\bsystemd-run\s[^\n;|&]{0,80}--on-(?:calendar|boot|active|unit-active)\b|"
            r"\bdocker\s+run\s[^\n;|&]{0,120}--restart[= ](?:always|unless-stopped)\b"
        ),
    ),
    (triggers("cron"), re.compile(r"\b(?:openclaw|clawdbot|hermes)\s+cron\s+(?:add|create)\b")),
    (
        triggers(("config",)),
        re.compile(
            r"\b(?:npm|pnpm|yarn)\s+config\s+set\s[^\n;|&]{0,40}\b(?:script-shell|registry|prefix|ignore-scripts|node-options|userconfig|globalconfig|npmRegistryServer)\b[^\n;|&]{0,60}|"
            r"\bpip3?\s+config\s+(?:--\w+\s+)?set\s[^\n;|&]{0,100}"
        ),
    ),
    (
        triggers("include includeif insteadof"),
        re.compile(
            r"\bgit\s+config\s[^\n;|&]{0,40}\b(?:include|includeIf)\.[^\n;|&]{0,80}path\b|\bgit\s+config\s[^\n;|&]{0,40}\burl\.[^\n;|&]{0,80}\.insteadOf\b"
        ),
    ),
    (triggers(("services",)), re.compile(r"\bbrew\s+services\s+(?:start|restart|run)\s[\w@.-]{1,60}")),
    (
        triggers(("mcp",)),
        re.compile(
            r"\b(?:code|cursor|code-insiders|windsurf)\s[^\n;|&]{0,40}--add-mcp\b|\b(?:openclaw|opencode|qwen|amp|droid|copilot|q|kiro)\s+mcp\s+add\b"
        ),
    ),
    (
        triggers("supervisorctl runit sv initctl rcctl sysrc"),
        re.compile(
            r"\bsupervisorctl\s+(?:update|add|reread)\b|\bsysrc\s+\w{1,40}_enable=|\brc-update\s+add\b|\brcctl\s+enable\b"
        ),
    ),
    (
        triggers(
            (
                "userinitmprlogonscript",
                "inprocserver32",
                "setnotifycmdline",
                "extensioninstallforcelist",
                "nativemessaginghosts",
            )
        ),
        re.compile(
            r"\bUserInitMprLogonScript\b|\bInprocServer32\b|/SetNotifyCmdLine\b|\bExtensionInstallForcelist\b|\bNativeMessagingHosts\b",
            re.IGNORECASE,
        ),
    ),
    (
        triggers("getusersitepackages getsitepackages"),
        re.compile(r"\bget(?:user)?sitepackages\([^\n]{0,80}\.pth\b|\bgetusersitepackages\("),
    ),
    # components of Windows that register what runs later
    (
        triggers(
            "schedule registertaskdefinition newtask taskservice specialfolders regwrite win32_scheduledjob getspecialfolder "
            "specialfolder createshortcut"
        ),
        re.compile(
            r"\bSchedule\.Service\b|\.RegisterTaskDefinition\(|\bTaskService\.Instance\b|\bnew\s+TaskService\(|"
            r"\bSpecialFolders\(\s*[\"']Startup|\bSpecialFolder\.(?:Common)?Startup\b|\bWin32_ScheduledJob\b|"
            r"\.RegWrite\b[^\n]{0,120}(?:\\Run|Winlogon)",
            re.IGNORECASE,
        ),
    ),
    # modules of Ansible that register, and the same in other tools that set machines up
    (
        triggers("cron authorized_key systemd systemd_service cron_d scheduled_task win_scheduled_task win_regedit"),
        re.compile(
            r"^[ \t]*(?:-[ \t]+)?(?:ansible\.(?:builtin|posix)\.|community\.windows\.)?"
            r"(?:cron|authorized_key|win_scheduled_task):[ \t]*(?:$|\w+=)|"
            r"^[ \t]*(?:cron|cron_d|scheduled_task|launchd|systemd_unit)[ \t]+[\"'{][^\n]{1,60}(?:\bdo\b|:)[ \t]*$"
        ),
    ),
    (triggers(("login",)), re.compile(r"\bmake\s+(?:new\s+)?login\s+item\b", re.IGNORECASE)),
    (triggers(("pm2",)), re.compile(r"\bpm2\s+(?:startup|save)\b")),
    (triggers(("at",)), re.compile(r"(?:\|\s*|^\s*)at\s+(?:now|midnight|noon|\d{1,2}:\d\d)\b", re.MULTILINE)),
    (
        triggers(("claude", "codex", "gemini")),
        re.compile(r"\b(?:claude|codex|gemini)\s+(?:mcp\s+add(?:-json)?|config\s+set|plugin\s+install)\b"),
    ),
)
_REGISTERS_BY_WORD: Final = ByWord(words for words, _ in _REGISTERS)
_PIECES = re.compile(r"[\"']\s*[\])]?\s*(?:/|,)\s*[\"']")
_HOME_VALUE = re.compile(r"^(?:\$\{?HOME\}?|/(?:home|Users)/[^/]{1,60}|/root|%USERPROFILE%)(?=/)", re.IGNORECASE)


_COMMENTS: Final = ("#", "//", "*", "--")


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield what is written to outlive the session, each once per line."""
    yield from _written(source)
    for index in _REGISTERS_BY_WORD.rows(source.words):
        words, pattern = _REGISTERS[index]
        for number in source.lines_with(words):
            for match in pattern.finditer(source.lines[number]):
                at = match.lastindex or 0
                yield RuleMatch(PERSISTENCE, shown(match[at]).strip("| "), number, match.start(at))


def _written(source: Source) -> Iterator[RuleMatch]:
    """Yield the targets that the text says are written."""
    marks = {mark for word in source.words & _TARGET_WORDS.keys() for mark in _TARGET_WORDS[word]}
    if b"programsstartup" in source.lowered:
        marks.add(b"programsstartup")
    numbers = sorted({number for mark in marks for number in source.lines_of_bytes(mark)})
    if not numbers:
        return
    writes_somewhere = not source.markdown and any(
        _WRITES.search(line) for line in source.lines if not line.lstrip().startswith(_COMMENTS)
    )
    for number in numbers:
        raw = source.bare(number)
        joined = '"' in raw and _PIECES.search(raw) is not None
        text = _PIECES.sub("/", raw) if joined else raw
        for match in _TARGETS.finditer(text.replace("\\\\", "/") if "\\" in text else text):
            comment = raw.lstrip().startswith(_COMMENTS)
            if (
                (writes_somewhere and not comment and (joined or _is_written_in_code(match[0])))
                or _is_written(source, number)
                or (writes_somewhere and not comment and _is_written_near(source, number, raw, match))
            ):
                value = _HOME_VALUE.sub("~", shown(match[0])).removeprefix("./").rstrip("/.")
                column = match.start() if raw == source.lines[number] else max(0, source.lines[number].find(match[0]))
                yield RuleMatch(PERSISTENCE, value, number, 0 if joined else column)


def _is_written_near(source: Source, number: int, raw: str, match: re.Match[str]) -> bool:
    """Whether a program that names a file in quotes writes within a few lines."""
    if raw[match.end() : match.end() + 1] not in ("'", '"', "`") or match.end() > len(raw):
        return False
    near = source.lines[max(0, number - _NEAR) : number + _NEAR + 1]
    return any(_WRITES_IN_CODE.search(line) for line in near)


_NEAR: Final = 6
_WRITES_IN_CODE: Final = re.compile(
    r"\bopen\([^\n]{0,200}[\"'][wax][bt+]?[\"']|\.write(?:_text|_bytes|lines)?\(|(?:write|append)_?File|copyFile|file_put_contents|shutil\.(?:copy|move)|Set-Content|Add-Content|Out-File"
)


def _is_written_in_code(path: str) -> bool:
    """Whether a program writes the path: there, the path and the call that writes are often far apart."""
    return "/" in path or path.startswith((".", "~", "$", "claude_desktop_config"))


def _is_written(source: Source, number: int) -> bool:
    lines = source.lines
    if _WRITES.search(source.bare(number)):
        return True
    for near in (number - 1, number - 2, number + 1):
        if not (0 <= near < len(lines) and lines[near].strip()) or source.is_code(number) == source.is_code(near):
            continue
        if _WRITES.search(lines[near]):
            return True
    before = number - 1
    return (
        before >= 0
        and bool(lines[before].strip())
        and source.is_code(before) == source.is_code(number)
        and bool(_WRITES.search(lines[before]))
    )
