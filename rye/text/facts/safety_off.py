"""``safety-off``: switches and commands that disable a safeguard. One row each: trigger words, pattern, and the value to show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from rye.text.facts.fact import SAFETY_OFF
from rye.text.facts.shell import shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import ByWord, triggers


class Guard(NamedTuple):
    """One way to disable a safeguard. ``value`` is shown; if it is empty, the matched text is."""

    words: frozenset[bytes]
    pattern: re.Pattern[str]
    value: str = ""
    needs: frozenset[bytes] = frozenset()
    """Words of which the file must contain one, where the pattern alone is too vague."""


def _guard(words: str, pattern: str, value: str = "", needs: str = "") -> Guard:
    return Guard(triggers(words), re.compile(pattern, re.IGNORECASE), value, triggers(needs))


_GUARDS: Final = (
    _guard(
        "dangerously dangerous danger",
        r"--(?:allow-)?dangerous(?:ly)?(?:-[a-z]+){0,8}|\bdanger-full-access\b|\bdangerously[A-Z]\w{2,40}|"
        r"\bdangerously_\w{2,40}",
    ),
    _guard("verify", r"--no-verify(?![\w-])", "--no-verify"),
    _guard("commit", r"\bgit\s+commit\s+(?:-[a-z]*\s+){0,3}-[a-mo-z]*n[a-z]*(?=\s|$|[\"'`])", "--no-verify"),
    _guard("husky skip_hooks pre_commit_allow_no_config skip", r"\bHUSKY=0\b|\bHUSKY_SKIP_HOOKS=1\b|\bSKIP_HOOKS=\w"),
    _guard("sudo doas pkexec", r"(?<![\w./-])(?:sudo|doas|pkexec)(?![\w.=/-]|\))"),
    _guard("runas", r"-Verb\s+RunAs\b|\brunas\s+/user", "runas"),
    _guard("chmod", r"\bchmod\s+(?:-\S+\s+){0,4}(?:0?777|[1-7]777|a(?:ll)?\+rwx|ugo\+rwx|a=rwx|\+rwx)\b", "chmod 777"),
    _guard("icacls", r"\bicacls\b[^\n]{0,120}\bEveryone:\S{0,10}F\b", "icacls Everyone:F"),
    _guard(
        "rm",
        r"\brm\s+(?:-\S+\s+){1,6}(?:--\s+)?[\"']?(?:/(?:\*|\.\*)?|~/?\*?|\$\{?HOME\}?/?\*?|/\*)[\"']?(?=\s|$|[;&|"
        r"`)\"',]|\.(?:\s|$))",
        "rm -rf /",
    ),
    _guard(
        "rm",
        r"\brm\s+[\"']?(?:/(?:\*|\.\*)?|~/?\*?|\$\{?HOME\}?/?\*?)[\"']?\s+(?:-[a-zA-Z]*[rR]\w*|--recursive)\b",
        "rm -rf /",
    ),
    _guard("preserve", r"--no-preserve-root\b"),
    _guard(
        "rmtree rimraf remove",
        r"\brmtree\(\s*[\"'](?:/|~)[\"']|\brmtree\(\s*(?:Path\.home\(\)|"
        r"os\.path\.expanduser\(\s*[\"']~[\"']\s*\))|"
        r"\bRemove-Item\s[^\n]{0,80}-Recurse[^\n]{0,40}\s(?:C:\\\s*(?:$|[\"'`])|/(?=\s|$)|~(?=\s|$)|\$HOME\b)",
    ),
    _guard(
        "mkfs dd shred",
        r"\bmkfs(?:\.\w{2,6})?\s+\S{0,10}/dev/\w{2,12}|\bdd\s[^\n]{0,120}\bof=/dev/(?:sd|nvme|disk|hd|vd)\w{0,8}|"
        r"\bshred\s[^\n]{0,40}/dev/\w{2,12}",
    ),
    _guard("yolo", r"--yolo\b|--approval-mode[= ]yolo\b|\byolo\s+mode\b|\"yolo\"\s*:\s*true"),
    _guard("bypasspermissions bypass_permissions", r"\bbypass_?Permissions\b", "bypassPermissions"),
    _guard(
        "auto approve approval approvals permissions trust allow always autoapprove auto_approve",
        r"--full-auto\b|--auto-approve(?:-\w+)?\b|--trust(?:-all-tools|-workspace)?(?![\w-])|--allow-all-(?:tools|paths)\b|"
        r"--yes-always\b|\bauto_?approve\w{0,20}[\"']?\s*[:=]\s*[\"']?true\b|--skip-permissions?(?:-\w+)*|"
        r"--no-approval\b|--ask-for-approval[= ]never\b|--bypass-approvals?[\w-]{0,40}|\bskipPermissions\b",
    ),
    _guard("full", r"--full-auto\b"),
    _guard(
        "approval_policy sandbox_mode sandbox",
        r"\bapproval_policy[\"']?\s*[:=]\s*[\"']?never\b|--no-sandbox\b|--disable-sandbox\b|"
        r"\bdangerouslyDisableSandbox\b|\bsandbox[\"']?\s*[:=]\s*[\"']?(?:false|off|none)\b|--sandbox[= ](?:none|"
        r"off)\b",
    ),
    _guard(
        "enableallprojectmcpservers",
        r"\benableAllProjectMcpServers[\"']?\s*[:=]\s*true\b",
        "enableAllProjectMcpServers",
    ),
    _guard(
        "insecure curl",
        r"(?<![\w-])--insecure\b|\bcurl\s+(?:-\S+\s+){0,6}-(?-i:[a-jl-zA-Z]*k[a-zA-Z]*)(?=\s)",
        "--insecure",
    ),
    _guard("certificate", r"--no-check-certificate\b|-SkipCertificateCheck\b"),
    _guard("skipcertificatecheck", r"-SkipCertificateCheck\b"),
    _guard(
        "node_tls_reject_unauthorized rejectunauthorized",
        r"\bNODE_TLS_REJECT_UNAUTHORIZED\s*=\s*[\"']?0|\brejectUnauthorized\s*:\s*false",
    ),
    _guard(
        "verify",
        r"\bverify\s*=\s*False\b",
        needs="requests httpx session urllib3 ssl boto3 aiohttp client https",
    ),
    _guard("_create_unverified_context cert_none", r"_create_unverified_context\b|\bCERT_NONE\b"),
    _guard(
        "git_ssl_no_verify sslverify strict",
        r"\bGIT_SSL_NO_VERIFY\b|\bhttp\.sslVerify[= ]\s*[\"']?(?:false|0)|\bstrict-ssl[= ]\s*false",
    ),
    _guard(
        "stricthostkeychecking ostricthostkeychecking",
        r"(?:\b|-o)StrictHostKeyChecking[= ]\s*no\b",
        "StrictHostKeyChecking=no",
    ),
    _guard("hookspath", r"\bcore\.hooksPath[= ]\s*[\"']?/dev/null\b", "core.hooksPath=/dev/null"),
    _guard("trusted", r"--trusted-host\b"),
    _guard(
        "unauthenticated gpg", r"--allow-unauthenticated\b|--no-gpg-checks?\b|--nogpgcheck\b|--disable-gpg-checks?\b"
    ),
    _guard(
        "privileged cap docker",
        r"--privileged\b|--cap-add[= ](?:ALL|SYS_ADMIN)\b|/var/run/docker\.sock\b|--pid[= ]host\b",
    ),
    _guard(
        "privileged hostpid hostnetwork hostpath pid allowprivilegeescalation",
        r"\bprivileged\s{0,3}:\s{0,3}true\b|\bhost(?:PID|IPC)\s{0,3}:\s{0,3}true\b|\bpid\s{0,3}:\s{0,3}host\b|"
        r"\bhostPath\s{0,3}:\s{0,3}\{\s{0,3}path\s{0,3}:\s{0,3}/\s{0,3}[,}]|\bhost_?path\s{0,3}[=:]\s{0,3}/(?=\s|$)",
    ),
    _guard("path", r"(?<![\w-])path\s{0,3}:\s{0,3}/\s{0,3}(?:$|[,}#])", "hostPath /", needs="hostpath"),
    _guard("chroot", r"\bchroot[\s,]{1,4}/(?:host|mnt|rootfs|hostfs|host-root|node)\w{0,10}(?=[\s,\]/;]|$)"),
    _guard("nsenter", r"\bnsenter\b[^\n;|]{0,60}(?:-t|--target)[\s=,]{0,4}1\b"),
    _guard("docker podman nerdctl volumes run", r"(?<![\w/.:-])(?:-v[\s=]|--volume[\s=]|-\s)/:/\w[\w/-]{0,40}"),
    _guard("web", r"--disable-web-security\b"),
    _guard(
        "setenforce ufw iptables apparmor nft",
        r"\bsetenforce\s+0\b|\bufw\s+disable\b|\biptables\s+-F\b|\bnft\s+flush\s+ruleset\b|\baa-(?:disable|"
        r"teardown)\b",
    ),
    _guard(
        "spctl csrutil quarantine gatekeeper",
        r"\bspctl\s+--(?:master|global)-disable\b|\bcsrutil\s+disable\b|"
        r"\bxattr\s+(?:-\S+\s+){1,3}(?:[\"']?com\.apple\.quarantine)?",
    ),
    _guard(
        "xattr",
        r"\bxattr\s+-[a-z]*(?:c|d)[a-z]*\b(?:\s+(?:-\S+\s+){0,2}com\.apple\.quarantine)?",
        "xattr com.apple.quarantine",
    ),
    _guard(
        "executionpolicy", r"-?ExecutionPolicy\s+(?:-Scope\s+\w+\s+)?(?:-ExecutionPolicy\s+)?(?:Bypass|Unrestricted)\b"
    ),
    _guard("mppreference", r"\b(?:Set|Add)-MpPreference\b[^\n;|]{0,80}"),
    _guard(
        "histfile histsize history histfilesize wevtutil",
        r"\bunset\s+HIST(?:FILE|SIZE)\b|\bHISTFILE=(?:/dev/null|[\"']{2})?(?=\s|$|;)|\bHIST(?:FILE)?SIZE=0\b|(?<![\w-])history\s+-c\b|\bset\s+\+o\s+history\b|"
        r"\b(?:Clear-History|Remove-Item\s+\(Get-PSReadlineOption\)\.HistorySavePath)|\bwevtutil(?:\.exe)?\s+cl\b|\bHISTCONTROL=ignorespace\b",
    ),
    _guard(
        "bash_history zsh_history wtmp btmp lastlog auth syslog",
        r"\b(?:rm|shred|truncate|unlink)\s[^\n;|&]{0,60}(?:\.(?:bash|zsh|python)_history|/var/log/(?:wtmp|btmp|lastlog|auth\.log|syslog|secure))\b|(?:^|[\s;])(?::|true)?\s*>\s*[~\w$/{}]{0,40}\.(?:bash|zsh)_history\b",
    ),
    _guard("nopasswd", r"\bNOPASSWD\b", "NOPASSWD"),
    # settings files: a sandbox, approvals or trust switched off
    _guard(
        "foldertrust allowunsandboxedcommands",
        r"\bfolderTrust\b[^\n]{0,60}\bfalse|\ballowUnsandboxedCommands\"?\s*[:=]\s*true",
    ),
    _guard(
        "autoaccept autoapproveall alwaysallow autoallow autorun autoexecute allowall allow_all autoconfirm trustall "
        "auto_accept always_allow alwaysapprove",
        r"\b(?:auto_?(?:accept|approve(?:All)?|allow|run|execute|confirm)\w{0,12}|always_?(?:allow|approve)|allow_?all\w{0,12}|trust_?all\w{0,12})[\"']?\s*[:=]\s*(?:true\b|\[[^\]\n]{0,40}\*|[\"'](?:\*|all|always|true)[\"'])",
    ),
    _guard(
        "autoapprove auto_approve",
        r"\bauto_?approve\w{0,12}[\"']?\s*[:=]\s*(?:\[[^\]\n]{0,40}\*|[\"'](?:\*|all|always)[\"'])",
    ),
    _guard(
        "trust",
        r"\bworkspace\.trust\.enabled[\"']?\s*[:=]\s*false|\"trust\"\s*:\s*true(?=[^\n]{0,200}$)",
        needs="mcpservers security workspace",
    ),
    _guard(
        "allow allowedtools alwaysallow permission",
        r"\"(?:allow|allowedTools|alwaysAllow)\"\s*:\s*\[[^\]\n]{0,400}\"(?:Bash\(\*\)|Bash\(:\*\)|Bash|\*)\"|\"bash\"\s*:\s*\"allow\"|\"permission\"\s*:\s*\"allow\"",
    ),
    _guard(
        "allowedtools allowed allow",
        r"--allow(?:ed)?-?tools?[= ]+[\"']?(?:\*|all\b|Bash\(\*\)|Bash\(:\*\))|--allow-all(?![\w-])",
    ),
    _guard("disableallhooks", r"\bdisableAllHooks[\"']?\s*[:=]\s*true"),
    _guard(
        "codex approval ask_for_approval askforapproval",
        r"\bcodex\s[^\n;|&]{0,120}\s-a\s+never\b|\bask[_-]?(?:for[_-]?)?approval[\"']?\s*[:= ]\s*[\"']?(?:never|false|off|"
        r"no)\b|\b(?:exec\.)?ask[\"']?\s*[:=]\s*[\"']off[\"']",
    ),
    _guard(
        "goose_mode defaultmode approvalmode",
        r"\bGOOSE_MODE\s*[=:]\s*[\"']?auto\b|\bdefaultMode\"?\s*:\s*\"(?:bypassPermissions|dontAsk|acceptEdits)\"|\bapprovalMode\"?\s*[:=]\s*\"(?:yolo|auto_?edit|never|auto)\"",
    ),
    _guard("cursor droid", r"\bcursor-agent\s[^\n;|&]{0,120}--force\b|\bdroid\s[^\n;|&]{0,80}--skip-permissions\S*"),
    # the checks of what is fetched, and of programs
    _guard(
        "pythonhttpsverify npm_config_strict_ssl ssl_verify",
        r"\bPYTHONHTTPSVERIFY\s*=\s*[\"']?0|\bnpm_config_strict_ssl\s*=\s*[\"']?false|\bssl_verify\s*[:=]\s*[\"']?(?:false|no|0)",
    ),
    _guard("ssl strict", r"\bstrict-ssl\s+(?:false|0)\b|\bsslverify\s*=\s*(?:0|false)"),
    _guard(
        "gpgcheck trusted userknownhostsfile",
        r"\bgpgcheck\s*=\s*0|\[\s?trusted=yes\s?\]|\bUserKnownHostsFile[= ]\s*/dev/null",
    ),
    _guard(
        "lsquarantine codesign testsigning enablelua",
        r"\bLSQuarantine\s+-bool\s+(?:false|no)|\bcodesign\s+--remove-signature|\btestsigning\s+on\b|\bEnableLUA\b[^\n]{0,60}\b0\b",
    ),
    _guard(
        "disableantispyware disablerealtimemonitoring windefend sense tamperprotection",
        r"\bDisable(?:AntiSpyware|AntiVirus|RealtimeMonitoring|BehaviorMonitoring)\b|\b(?:sc|net|Stop-Service)(?:\.exe)?\s[^\n]{0,20}\b(?:WinDefend|Sense)\b|\bTamperProtection\b[^\n]{0,40}\b0\b",
    ),
    _guard(
        "advfirewall mpssvc netfirewallprofile setnetfirewallprofile",
        r"\bnetsh(?:\.exe)?\s+advfirewall\s[^\n]{0,60}\bstate\s+off\b|\bSet-NetFirewallProfile\b[^\n]{0,80}\bFalse\b",
    ),
    _guard(
        "auditd apparmor firewalld ufw falcon clamav xprotect auditctl selinux osquery osqueryd rsyslog fail2ban crowdsec "
        "sentinelone",
        r"\b(?:systemctl|service|launchctl|rc-service)\s+(?:--\w+\s+)?(?:stop|disable|mask|unload|bootout|kill)\s[^\n;|&]{0,60}\b(?:auditd|apparmor|firewalld|ufw|falcon|clam\w{0,12}|xprotect|osquery\w?|rsyslog|fail2ban|crowdsec|sentinel\w{0,8})\b|"
        r"\bservice\s+(?:auditd|apparmor|firewalld|ufw|rsyslog)\s+stop\b|\bauditctl\s+-(?:e\s*0|D)\b|\bSELINUX\s*=\s*(?:disabled|permissive)|/etc/selinux/config\b",
    ),
    # what Windows watches and keeps
    _guard(
        "amsiutils amsiinitfailed amsiscanbuffer etweventwrite amsicontext",
        r"\bamsi(?:Utils|InitFailed|ScanBuffer|Context)\b|\bEtwEventWrite\b",
    ),
    _guard(
        "auditpol vssadmin wbadmin bcdedit deletejournal eventlog",
        r"\bauditpol\s[^\n;|&]{0,120}:disable\b|\bvssadmin(?:\.exe)?\s+delete\s+shadows\b|\bwbadmin\s+delete\b|"
        r"\bbcdedit\s[^\n;|&]{0,80}recoveryenabled\s+no\b|\bdeletejournal\b|\b(?:Clear|Remove)-EventLog\b",
    ),
    _guard(
        "fodhelper computerdefaults ms",
        r"\bms-settings\\{1,2}shell\\{1,2}open\\{1,2}command\b|\b(?:fodhelper|computerdefaults)(?:\.exe)?\b",
    ),
    _guard("permission", r"--permission-mode[= ](?:bypassPermissions|dontAsk|acceptEdits)\b"),
)
#: A sandbox or the trust in folders, switched off in a file of settings; its parts can stand in several lines.
_SETTINGS = re.compile(
    r"\"?(?:sandbox|folderTrust)\"?\s{0,8}[:=]\s{0,8}\{[^{}]{0,300}?\"?enabled\"?\s{0,8}[:=]\s{0,8}false"
)
_SETTINGS_WORDS: Final = triggers("sandbox foldertrust")
_BY_WORD: Final = ByWord(guard.words for guard in _GUARDS)


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every safeguard that is disabled, each once per line."""
    seen: set[tuple[str, int]] = set()
    if source.has(_SETTINGS_WORDS) and "false" in source.text:
        for match in _SETTINGS.finditer(source.text):
            number = source.line_at(match.start())
            yield RuleMatch(SAFETY_OFF, shown(match[0]), number, match.start() - source.text_starts[number])
    for index in _BY_WORD.rows(source.words):
        guard = _GUARDS[index]
        if guard.needs and not source.has(guard.needs):
            continue
        for number in source.lines_with(guard.words):
            raw = source.lines[number]
            text = raw.replace('"', "").replace("'", "") if '"' in raw or "'" in raw else raw
            for match in guard.pattern.finditer(raw) if guard.pattern.search(raw) else guard.pattern.finditer(text):
                value = guard.value or shown(match[0]).lstrip("| ")
                if (value, number) not in seen:
                    seen.add((value, number))
                    yield RuleMatch(SAFETY_OFF, value, number, match.start())
