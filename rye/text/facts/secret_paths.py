"""``secret-path``: places that hold secrets: keys, credentials, keychains, wallets, browser profiles, metadata services.

One table: trigger words, without which the pattern cannot match, and the pattern. The value is the path as written, with the home
folder as ``~``; for a metadata service, its address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from rye.text.facts.fact import SECRET_PATH
from rye.text.facts.shell import shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import ByWord, triggers


class SecretPlace(NamedTuple):
    """Where one kind of secret is kept."""

    words: frozenset[bytes]
    pattern: re.Pattern[str]
    holds: str
    """``STORE``, ``SETTINGS`` or ``ONE``."""


STORE: Final = "store"
"""No program but its owner has a reason to read it: keys, wallets, keychains, browser profiles."""
SETTINGS: Final = "settings"
"""Programs take what they need out of it. Read as a whole it is a store."""
ONE: Final = "one"
"""One secret, which is made to be handed to a service, or a place that is only named."""


#: Parts of such places that are no secret.
HARMLESS = re.compile(r"(?:\.pub|/known_hosts|\.(?:ssh|aws)/config|authorized_keys|/sudoers)[\"')]?$", re.IGNORECASE)
_REST = r"(?:/[\w.@*{}-]{1,80}){0,4}"
_HOME: Final = re.compile(
    r"^(?:\$\{?HOME\}?|/(?:home|Users)/[^/]{1,60}|/root|%USERPROFILE%|\$env:USERPROFILE)(?=/)", re.IGNORECASE
)
_PREFIX = r"(?<![\w.])(?:(?:~|\$\{?\w{1,30}\}?|%\w{1,30}%|/(?:home|Users)/[\w.$*{}-]{1,60}|/root)/)?"


def _place(words: str, pattern: str, holds: str = STORE) -> SecretPlace:
    return SecretPlace(triggers(words.split()), re.compile(pattern, re.IGNORECASE), holds)


_PLACES: Final = (
    _place(
        "ssh id_rsa id_dsa id_ecdsa id_ed25519 authorized_keys",
        rf"{_PREFIX}\.ssh(?![\w-]){_REST}|(?<![\w])id_(?:rsa|dsa|ecdsa|ed25519)\b(?!\.pub)",
    ),
    _place(
        "env envrc",
        r"(?<![\w)\]}.$*])(?:~/|\./|[\w$./{}-]{1,80}/)?\.env(?:rc)?(?:\.(?!example|sample|template|dist|"
        r"schema|test\b)[a-z]{2,20})?(?![\w.=(\[-]|\.?(?:example|sample|template))",
        SETTINGS,
    ),
    _place("aws credentials", rf"{_PREFIX}\.aws(?![\w.-]){_REST}|(?<![\w-])aws[/_-]credentials\b"),
    _place(
        "gcloud application_default_credentials azure accesstokens",
        rf"{_PREFIX}\.config/gcloud\b{_REST}|application_default_credentials(?:\.json)?|"
        rf"{_PREFIX}\.azure(?![\w.-]){_REST}|AppData/Roaming/gcloud",
        SETTINGS,
    ),
    _place("kube kubeconfig", rf"{_PREFIX}\.kube(?![\w.-]){_REST}|/etc/kubernetes/admin\.conf", SETTINGS),
    _place("docker", rf"{_PREFIX}\.docker/config\.json", SETTINGS),
    _place(
        "netrc _netrc npmrc pypirc git pgpass my cargo gem terraform credentials vault htpasswd",
        rf"{_PREFIX}(?:\.netrc|_netrc|\.npmrc|\.pypirc|\.git-credentials|\.pgpass|\.my\.cnf|"
        rf"\.cargo/credentials(?:\.toml)?|\.gem/credentials|\.vault-token|\.terraform\.d/credentials\.tfrc\.json|"
        rf"\.htpasswd)(?![\w-])",
        SETTINGS,
    ),
    _place("gnupg password", rf"{_PREFIX}\.(?:gnupg|password-store)(?![\w-]){_REST}"),
    _place("shadow gshadow sudoers master", r"(?<![\w])/etc/(?:g?shadow|sudoers|master\.passwd|ssl/private)(?![\w-])"),
    _place("environ", r"/proc/(?:self|\d+|\*|\[0-9\][*+]?|\$\{?\w+\}?|\$\$)/environ"),
    _place(
        "keychain keychains",
        rf"{_PREFIX}Library/Keychains{_REST}|login\.keychain(?:-db)?|\bsecurity\s+(?:find-(?:generic|"
        rf"internet)-password|dump-keychain|export|unlock-keychain)",
    ),
    _place(
        "security secret keyring keyrings kwallet kwalletd libsecret",
        rf"\bsecurity\s+(?:find-(?:generic|internet)-password|dump-keychain)|\bsecret-tool\s+(?:lookup|search)|"
        rf"{_PREFIX}\.local/share/(?:keyrings|kwalletd){_REST}|\bkeyring\s+get\b",
    ),
    _place(
        "cmdkey vaultcmd lsass dpapi sam mimikatz",
        r"\bcmdkey\s+/list|\bvaultcmd\s+/list|\blsass\b|\bmimikatz\b|\\config\\SAM\b|\bCryptUnprotectData\b",
        ONE,
    ),
    _place(
        "wallet wallets electrum ethereum keystore bitcoin solana exodus metamask phantom ledger monero coinbase "
        "seed mnemonic",
        rf"(?<![\w-])wallet\.dat\b|{_PREFIX}\.(?:electrum|bitcoin|ethereum|monero|litecoin|dogecoin|"
        rf"zcash)(?![\w-]){_REST}|{_PREFIX}\.config/solana\b{_REST}|(?:Application Support|AppData/\w+|"
        rf"AppData\\\w+|\.config)[/\\](?:Exodus|Electrum|atomic|Ledger Live|Coinomi)[\w/\\. -]{{0,40}}|"
        rf"\bexodus\.wallet\b|\bkeystore/UTC--[\w.-]{{0,60}}|"
        r"\b(?:metamask|phantom|exodus|electrum|ledger|coinbase)\s+(?:wallets?|vaults?|keystores?|extension)\b|"
        r"\b(?:wallet|seed)\s+(?:seed\s+)?phrases?\b|\b(?:wallet|crypto(?:currency)?)\s+(?:files?|keys?|private "
        r"keys?)\b",
    ),
    _place(
        "nkbihfbeogaeaoehlefnkodbefgpgknn bfnaelmomeimhlpmgjnjophhpkkoljpa",
        r"\b(?:nkbihfbeogaeaoehlefnkodbefgpgknn|bfnaelmomeimhlpmgjnjophhpkkoljpa)\b",
    ),
    _place(
        "chrome chromium brave bravesoftware edge firefox mozilla safari opera vivaldi login logins key4 cookies "
        "cookies profile",
        r"(?:(?:Google|BraveSoftware|Microsoft|Chromium|Vivaldi)[/\\][\w -]{2,20}[/\\](?:User "
        r"Data[/\\])?)(?:Default|Profile \d|User Data|Local State)?[/\\]?(?:Login Data|Cookies|Web Data|Local "
        r"State|Local Extension Settings)?|"
        rf"{_PREFIX}\.config/(?:google-chrome|chromium|BraveSoftware|microsoft-edge|vivaldi){_REST}|"
        rf"{_PREFIX}\.mozilla/firefox{_REST}|Library/Application Support/(?:Firefox|Google/Chrome)(?:/[\w. "
        rf"-]{{1,40}}){{0,3}}|"
        r"\bLogin Data\b|\blogins\.json\b|\bkey4\.db\b|\bcookies\.sqlite\b|Library/(?:Cookies|"
        r"Safari)(?:/[\w.]{1,40})?|\b(?:chrome|firefox|brave|safari|edge|"
        r"browser)(?:'s)?\s+(?:saved\s+)?(?:passwords?|cookies|profiles?|login data)\b",
    ),
    _place(
        "codex claude gh hub openclaw clawdbot credentials auth hosts",
        rf"{_PREFIX}\.claude/\.?credentials(?:\.json)?|{_PREFIX}\.codex/auth\.json|"
        rf"{_PREFIX}\.config/(?:gh/hosts\.yml|hub)\b|{_PREFIX}\.(?:openclaw|clawdbot)/(?:\.env|credentials|"
        rf"config\.json|openclaw\.json)[\w./]{{0,40}}|{_PREFIX}\.gemini/oauth_creds\.json",
        SETTINGS,
    ),
    _place(
        "credentials serviceaccount service service_account client_secret token secrets",
        r"(?<![\w.-])(?:credentials|client_secrets?|service[_-]account(?:[_-]key)?)\.json\b|"
        r"/(?:var/)?run/secrets/[\w./-]{1,80}",
        ONE,
    ),
    _place("bash_history zsh_history history", rf"{_PREFIX}\.(?:bash|zsh|python|psql|mysql|node_repl)_history\b"),
    _place(
        "auth gcloud configure op",
        r"\bgh\s+auth\s+token\b|\bgcloud\s+auth\s+(?:application-default\s+)?print-(?:access|identity)-token\b|"
        r"\baws\s+configure\s+export-credentials\b|\bop\s+(?:read|item\s+get)\s+[\"']?[\w:/-]{2,80}",
        ONE,
    ),
    _place(
        "pem p12 pfx ppk jks",
        r"(?<![\w.])(?:~/|/|\./)?[\w./-]{0,80}?\b(?:private|server|client|key|id|tls|deploy)[\w-]{0,20}\.(?:pem|"
        r"p12|pfx|ppk|jks)\b",
        ONE,
    ),
    _place(
        "rclone pulumi kaggle huggingface wandb s3cfg boto oci aliyun tccli fly doctl heroku stripe vercel netlify "
        "railway hcloud configstore "
        "composer subversion nuget oauth copilot op filezilla sitemanager recentservers putty winscp krb5 krb5cc "
        "terraformrc m2 gradle yarnrc "
        "snowflake databrickscfg databricks dbt linode vultr jfrog argocd sops age",
        rf"{_PREFIX}(?:\.config/(?:rclone/rclone\.conf|rclone|doctl|heroku|stripe|hcloud|configstore|op|github-copilot|sops/age|linode-cli|argocd|gh-copilot|filezilla|wandb)|\.pulumi|\.kaggle/kaggle\.json|"
        rf"\.(?:cache/)?huggingface/token|\.s3cfg|\.boto|\.oci/config|\.aliyun|\.tccli|\.fly/config\.yml|\.vercel/auth\.json|\.netlify/config\.json|\.railway/config\.json|\.composer/auth\.json|"
        rf"\.subversion/auth|\.nuget/NuGet\.Config|\.terraformrc|\.m2/settings(?:-security)?\.xml|\.gradle/gradle\.properties|\.snowflake/\w{{1,20}}|\.databrickscfg|\.dbt/profiles\.yml|\.jfrog)(?![\w-]){_REST}|"
        rf"\bsitemanager\.xml\b|\brecentservers\.xml\b|\bSimonTatham\b|/etc/krb5\.keytab\b|/tmp/krb5cc_\w{{0,20}}|\.local/share/com\.vercel\.cli\b",
        SETTINGS,
    ),
    _place(
        "tdata discord leveldb signal kdbx keepass bitwarden telegram slack",
        r"\bTelegram(?: Desktop)?[/\\ ]{1,3}(?:Desktop/)?tdata\b|(?<=/)tdata\b|\b[dD]iscord(?:canary|ptb)?/Local "
        r"Storage(?:/leveldb)?|\bLocal Storage/leveldb\b|\bSignal/(?:config\.json|sql/db\.sqlite)|"
        r"[\w*~/.-]{1,60}\.kdbx\b|\bBitwarden/data\.json\b|\bSlack/(?:Cookies|storage)\b",
    ),
    _place(
        "credential bw lpass gopass az kubectl aws pass kwallet",
        r"\bgit\s+credential\s+fill\b|\bbw\s+(?:get|export|list)\s+\w|\blpass\s+(?:show|export)\b|\bgopass\s+(?:show|cat)\b|\baz\s+account\s+get-access-token\b|"
        r"\bkubectl\s+config\s+view\s[^\n]{0,40}--raw\b|\bkubectl\s+get\s+secrets?\s[^\n;|&]{0,80}-o\s?(?:yaml|json)|\baws\s+configure\s+get\s+aws_secret\w{0,20}|\bpass\s+show\b|\bkwallet-query\b",
        ONE,
    ),
    # libraries and calls that read what browsers and keyrings keep
    _place(
        "browser_cookie3 browsercookie pycookiecheat rookiepy hackbrowserdata lazagne firefox_decrypt chainbreaker keytar "
        "win32crypt secitemcopymatching protecteddata secretstorage getpassword findcredentials get_password keyring "
        "chromecookies chrome-cookies-secure",
        r"\b(?:browser_?cookie3?|pycookiecheat|rookiepy|hackbrowserdata|firefox_decrypt|chainbreaker)\b|\blazagne\b|"
        r"\bkeytar\.(?:getPassword|findCredentials|findPassword)\(|\bkeyring\.get_(?:password|credential)\(|"
        r"\bSecItemCopyMatching\b|\bwin32crypt\b|\bProtectedData\]?(?:::|\.)Unprotect\b|\bsecretstorage\.\w{3,40}\(|"
        r"\bchrome-cookies-secure\b",
    ),
    # the passwords of networks
    _place(
        "wlan",
        r"\bnetsh\s+wlan\s+(?:show\s+profiles?\s[^\n]{0,60}key=clear|export\s+profile\b)",
    ),
    # all secrets of a run at once
    _place("secrets tojson", r"\$\{\{[^{}\n]{0,60}\btoJSON\(\s*secrets\s*\)[^{}\n]{0,60}\}\}"),
    _place(
        "metadata google internal",
        r"\bmetadata\.google\.internal\b|\bmetadata\.goog\b|\binstance-data\.ec2\.internal\b",
        ONE,
    ),
)
_METADATA: Final = frozenset(("169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "fd00:ec2::254"))
_LINES: Final = "lines of places"
_PARTS = re.compile(r"[a-z0-9_]+")
_BY_WORD: Final = ByWord(place.words for place in _PLACES)
_JOINED = re.compile(r"[\"']\s*[\])]?\s*(?:/|,)\s*[\"']")


def lines_of(source: Source, *holds: str) -> set[int]:
    """The lines (from 0) that name a place of these sorts. :func:`find` has read the file before."""
    known: dict[str, set[int]] = source.kept.get(_LINES, {})
    return {number for sort in holds for number in known.get(sort, ())}


def places_in(raw: str, *holds: str) -> Iterator[tuple[int, str]]:
    """Yield where a line names a place of these sorts: the offset, and the place as written."""
    for place in _PLACES:
        if place.holds in holds:
            yield from _named(place, raw)


def holds_secrets(raw: str) -> bool:
    """Whether a line names a store or a file of settings, and not only a part of one that is no secret."""
    return any(HARMLESS.search(place) is None for _, place in places_in(raw, STORE, SETTINGS))


def is_store(raw: str) -> bool:
    """Whether a text names a store, and not only a part of one that is no secret."""
    return any(HARMLESS.search(place) is None for _, place in places_in(raw, STORE))


def is_own_secret(raw: str) -> bool:
    """Whether a text names a store, or settings in a home folder: a project's settings are what one deploys."""
    return is_store(raw) or any(
        _IN_HOME.match(place) is not None and HARMLESS.search(place) is None for _, place in places_in(raw, SETTINGS)
    )


_IN_HOME = re.compile(r"(?:~|\$\{?HOME\}?|/(?:home|Users)/[^/]{1,60}|/root)/\.(?!env\b)", re.IGNORECASE)


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every place of secrets, each once per line."""
    yield from _paths(source)
    if b"254" in source.words or "://" in source.text:
        yield from _metadata(source)


def _paths(source: Source) -> Iterator[RuleMatch]:
    lines: dict[str, set[int]] = {}
    source.kept[_LINES] = lines
    numbers = {index: set(source.lines_with(_PLACES[index].words)) for index in _BY_WORD.rows(source.words)}
    if "\\" in source.text:
        for number, raw in enumerate(source.lines):
            if "\\" in raw:  # a path of Windows: what is between its backslashes is no word of the text
                parts = frozenset(part.encode() for part in _PARTS.findall(raw.lower()))
                for index in _BY_WORD.rows(parts):
                    numbers.setdefault(index, set()).add(number)
    for index in sorted(numbers):
        place = _PLACES[index]
        for number in sorted(numbers[index]):
            seen: set[str] = set()
            for start, written in _named(place, source.lines[number]):
                value = _HOME.sub("~", shown(written)).rstrip("/.,")
                if value and value not in seen:
                    seen.add(value)
                    lines.setdefault(place.holds, set()).add(number)
                    yield RuleMatch(SECRET_PATH, value, number, start)


def _named(place: SecretPlace, raw: str) -> Iterator[tuple[int, str]]:
    joined = _JOINED.search(raw) is not None
    text = _JOINED.sub("/", raw) if joined else raw
    if "\\" in text:
        text = text.replace("\\\\", "/").replace("\\", "/")
    for match in place.pattern.finditer(text):
        yield 0 if joined else match.start(), match[0]


def _metadata(source: Source) -> Iterator[RuleMatch]:
    for address in source.addresses:
        if address.host in _METADATA:
            line = source.line_at(address.start)
            yield RuleMatch(SECRET_PATH, address.host, line, address.start - source.text_starts[line])
