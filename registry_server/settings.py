"""Every setting and limit of the server, in one place. Sizes in bytes, times in seconds unless the name says otherwise.

A value comes from the command's flag, or from the environment (``RYE_REGISTRY_<NAME>`` in upper case), or from
``registry.toml`` in the data folder, or is the default here: the first that is given wins. An unknown name in the file
is an error, so a typing mistake cannot silently leave a limit at its default. Limits on an item's content are the
client's as well; they are in :mod:`rye.limits`.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import urlsplit

from registry_server.upstream_settings import Upstream, read_upstreams
from rye.errors import RyeError, UsageError
from rye.limits import MIB, PUBLISHING, REGISTRY

READERS = ("skills", "git", "apm", "renovate", "osv")
"""The kinds of other programs that can read a registry."""
SETTINGS_FILE = "registry.toml"
ENVIRONMENT_PREFIX = "RYE_REGISTRY_"


@dataclass(kw_only=True, frozen=True, slots=True)
class Settings:
    """The settings of one server process. ``data`` is the folder that contains everything."""

    data: Path

    # Where it listens, and its public address.
    host: str = "127.0.0.1"
    """Address to listen on. Loopback by default: put a TLS proxy in front before listening anywhere else."""
    port: int = 8420
    """TCP port; 0: a free one (printed, and written to ``--ready-file``)."""
    address: str = ""
    """The registry's address as people and build servers know it, e.g. ``https://registry.example.org``. Links begin with it,
    and OIDC tokens must be issued for it. Empty: the address that it listens on."""
    trusted_proxies: str = ""
    """Proxies whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are trusted: addresses, or networks such as
    ``10.0.0.0/8``, separated by commas. Empty: loopback."""
    api: str = "/api/v1"
    """The API's address in ``/config.json``: a path on the same host, or an absolute address."""

    # Who is responsible. Each is an address that begins with ``https:``, or with ``mailto:`` where that makes sense.
    about: str = ""
    """A page about the registry. Shown in the foot of every page, like the others."""
    contact: str = ""
    """How to reach the operator."""
    terms: str = ""
    """Terms of use."""
    report: str = ""
    """Where items are reported; the item is added to the address. Empty: ``contact``."""
    docs: str = ""
    """Documentation for its users."""
    security: str = ""
    """Where faults of the registry itself are reported: ``/.well-known/security.txt`` (RFC 9116) names it. Empty: ``contact``."""

    # What it writes to its log.
    log_format: str = "auto"
    """``json``: one object per line, for programs; ``text``: for people; ``auto``: text on a terminal, JSON elsewhere."""
    log_requests: str = "changes"
    """Which requests are logged: ``none``; ``changes``, which are writes and internal errors; or ``all``."""

    # Where it keeps things.
    database: str = ""
    """SQLAlchemy address of the database, e.g. ``postgresql+psycopg://…``. Empty: SQLite in the data folder."""
    objects: str = ""
    """Where static files go: empty for ``public/`` in the data folder, or ``s3://bucket/prefix`` (credentials from the
    standard ``AWS_*`` variables)."""
    s3_endpoint: str = ""
    """Address of an S3-compatible service other than Amazon's."""
    s3_region: str = ""
    """Region of the bucket. Empty: from the environment."""

    # Who may do what.
    read: str = "public"
    """Who may read: ``public``, everyone; ``members``, who have a token or an account; or ``namespaces``, members, who read the
    bytes of items only where their token and role allow the namespace."""
    oidc_issuer: str = ""
    """The OIDC issuer that signs people in, e.g. ``https://id.example.org``. Empty: only the operator's links sign people in."""
    oidc_client_id: str = ""
    """This registry's client ID at the issuer."""
    oidc_client_secret_file: str = ""
    """A file with the client secret, mode 0600; relative to the data folder. Empty: a public client."""
    oidc_scope: str = "openid profile email"
    """What is asked for at a sign-in. Many issuers name groups only if it contains ``groups``."""
    oidc_groups_claim: str = "groups"
    """The claim of identity tokens that lists a person's groups (`rye-registry team map`). Empty: none counts at sign-in."""
    webhooks: bool = False
    """Whether webhooks are called for new entries of the log."""
    webhook_networks: tuple[str, ...] = ()
    """Networks that are not public, such as ``10.20.0.0/16``, with receivers of webhooks. Only in the file. Empty: none."""
    owner_proofs: bool = True
    """Whether owners can prove that a domain or a repository is theirs. The server then sends requests to these, when a proof is
    published and once a day."""
    audit_push: str = ""
    """Where audit events go: ``syslog://HOST:PORT`` (TCP), ``syslog+tls://HOST:PORT`` or an https address. Empty: nowhere."""
    audit_push_authorization_file: str = ""
    """A file with the header ``Authorization`` for an https address, mode 0600; relative to the data folder. Empty: none."""
    audit_in_head: bool = False
    """Whether signed heads name the number of audit events and the last one's hash. Clients from before this setting refuse
    such heads."""
    open_claims: bool = True
    """Whether a token that is not bound to namespaces may claim a free one."""
    metrics: str = "loopback"
    """Who may read ``/metrics``: ``loopback``, this machine, not through a proxy; ``public``; or ``off``. A registry that is not
    public requires a token as well."""

    # Other registries that this one serves, as tables [[upstream]] of the file.
    upstream: tuple[Upstream, ...] = ()
    """Allowed namespaces of other registries, verified and kept here (:mod:`registry_server.upstream_settings`)."""
    upstream_bytes: int = 2048 * MIB
    """Room for files of other registries. What was not used for longest makes way, nothing that was used in the last hour."""
    upstream_check_seconds: float = 30.0
    """How old the knowledge of another registry's newest head may be."""
    upstream_names: int = 5_000
    """Items of one other registry that are kept ready for when it does not answer: those that were asked for last."""
    upstream_threads: int = 4
    """Files of one other registry that are fetched or checked at the same time."""
    upstream_waiting: int = 64
    """Requests for such files that wait for one of these threads; more get 503 with ``Retry-After``."""

    # Programs that know nothing of Rye.
    interoperate: tuple[str, ...] = READERS
    """What they can read: the well-known index of ``skills``, plugin marketplaces over ``git``, ``apm``'s registry,
    ``renovate``'s data source, advisories as ``osv``. Empty: nothing."""
    reader_threads: int = 4
    """Requests of theirs that run at the same time."""
    reader_waiting: int = 64
    """Requests that wait for one of these threads; more get 503 with ``Retry-After``."""
    reader_skills: int = 10_000
    """Skills in one index or repository."""
    reader_versions: int = 200
    """Versions of one skill in apm's list: the latest ones."""
    reader_bytes: int = 128 * MIB
    """Memory for repositories and archives."""
    repository_bytes: int = 64 * MIB
    """The files of one namespace's repository, all together."""
    git_request_bytes: int = MIB
    """One request from ``git``, uncompressed."""
    git_sending: int = 16
    """Repositories that are sent to ``git`` at the same time; more get 503."""
    advisories: int = 50_000
    """Advisories in ``/osv/all.zip``."""

    # The log.
    heartbeat_seconds: int = 24 * 3600
    """When the newest snapshot is this old, the server signs a new one even if nothing was published. Clients warn at 72 h and
    stop at 7 d."""
    heartbeat_check_seconds: float = 60.0
    """How often the server checks the head's age."""
    batch_statements: int = 1000
    """Statements in one batch of the sequencer, which get one signed head."""
    batch_interval_seconds: float = 0.0
    """Minimum time from the start of one batch to the start of the next: fewer heads, and fewer new files behind a CDN."""
    clock_skew_seconds: int = REGISTRY.clock_skew_seconds
    """How far in the future a statement's time may be, and how far this server's clock may be from another witness of time: as
    much as clients accept for a head."""
    root_days: int = 365
    """How long a new root statement is valid."""

    # Witnesses of the log.
    witness_quorum: str = ""
    """How many witnesses must have cosigned the head that is served as cosigned: a number, or a file with a policy (C2SP
    tlog-policy), relative to the data folder. Empty: all that are configured (`rye-registry witness add`)."""
    witness_policy: str = ""
    """A file with a policy of witnesses, relative to the data folder, that people see as a suggestion when they pin the registry.
    Empty: none."""
    witness_seconds: float = 10.0
    """Time for one witness's whole answer."""
    witness_refresh_seconds: int = 6 * 3600
    """When cosignatures are this old, witnesses are asked to cosign the same head again. Clients refuse cosignatures of 24 h."""

    # Requests.
    blob_bytes: int = 8 * MIB
    """One uploaded blob."""
    request_bytes: int = 4 * MIB
    """The body of ``POST /api/statements``."""
    request_statements: int = PUBLISHING.request_statements
    """Statements in one request. They are accepted or refused together."""
    request_seconds: float = 30.0
    """Time for a request's whole body to arrive, however slowly the client sends."""
    answer_seconds: float = 60.0
    """How long a publish waits for its entries to be in a signed, durable checkpoint."""
    examiners: int = 8
    """Extra processes that check requests under load: at most as many as the machine has cores. 0: none."""
    writer_process: bool = True
    """Whether an extra process appends to the log under load, where the machine has several cores."""
    concurrent_writes: int = 64
    """Writing requests that run at the same time; more get 503 with ``Retry-After``."""
    account_requests: int = 96
    """Writing requests of one account in flight at the same time, slow bodies included; more get 429. A token without an
    account counts as an account."""
    account_places: int = 48
    """One account's share of ``concurrent_writes``, never more than three quarters; more get 429."""
    sign_in_tries: int = 120
    """Per minute, from one address, each counted by itself: sign-ins begun or ended, links opened, programs that ask to be signed
    in, identity tokens exchanged. More get 429. A program that waits may ask ten times as often."""
    form_tries: int = 60
    """Per minute, of one account: forms sent on its pages, and codes of programs looked up."""
    account_tokens: int = 100
    """Active tokens of one account."""
    uploads_bytes: int = 512 * MIB
    """Total size of uploaded blobs that no statement refers to yet."""
    account_uploads_bytes: int = 128 * MIB
    """One token's share of these."""
    namespace_bytes: int = 0
    """Total size of the files of one namespace's releases. 0: no limit."""
    namespace_quotas: tuple[str, ...] = ()
    """The same for single namespaces: ``acme=10737418240``."""
    uploads_hours: int = 24
    """How long such a blob is kept."""
    stages_bytes: int = 1024 * MIB
    """Total size of the files of releases that wait for approval."""
    account_stages_bytes: int = 128 * MIB
    """The share of one account, or of one token without an account."""
    stage_days: int = 14
    """How long a release waits for approval."""
    search_characters: int = 200
    """Length of a search query."""
    search_results: int = 100
    """Results in one page of a search."""
    search_threads: int = 2
    """Searches that run at the same time, each with its own thread and database connection."""
    search_waiting: int = 16
    """Searches that wait for one of these threads; more get 503 with ``Retry-After``."""
    search_seconds: float = 5.0
    """Time limit for one search in the database."""
    page_threads: int = 2
    """Pages that are rendered at the same time, each with its own thread and database connection."""
    page_waiting: int = 64
    """Pages that wait for one of these threads; more get 503 with ``Retry-After``."""

    # Start and stop.
    stop_seconds: int = 10
    """Time for running requests to finish after SIGTERM."""
    database_wait_seconds: float = 30.0
    """How long a transaction waits for the writer's lock; then the request gets 503."""
    leader_seconds: float = 20.0
    """PostgreSQL: how long a writer may be silent before it loses the lock to another process."""
    store_wait_seconds: float = 8.0
    """Time limit for one request to the bucket. A request that fails is tried again until this time is over. With
    PostgreSQL, less than half of ``leader_seconds``, so that a writer's last attempt ends before another process takes over."""

    @property
    def database_url(self) -> str:
        """The database's address, with the default filled in."""
        return self.database or f"sqlite:///{self.database_file.resolve()}"

    @property
    def database_file(self) -> Path:
        """The database, unless ``database`` names another."""
        return self.data / "registry.db"

    @property
    def public_address(self) -> str:
        """The registry's address for links, without a trailing slash."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.address or f"http://{host}:{self.port}").rstrip("/")

    @property
    def oidc_client_secret(self) -> str:
        """The secret in ``oidc_client_secret_file``. Raises RyeError ``exposed-secret`` if other users can read the
        file.
        """
        if not self.oidc_client_secret_file:
            return ""
        return read_secret(self.data / self.oidc_client_secret_file)

    @property
    def audit_push_authorization(self) -> str:
        """The text in ``audit_push_authorization_file``. Raises RyeError ``exposed-secret``."""
        name = self.audit_push_authorization_file
        return read_secret(self.data / name) if name else ""

    @property
    def keys(self) -> Path:
        """Folder of the private keys (0700)."""
        return self.data / "keys"

    @property
    def public(self) -> Path:
        """Folder of the static registry, unless it is in a bucket."""
        return self.data / "public"

    @property
    def staged(self) -> Path:
        """Folder of the files of releases that wait for approval. Nothing in it is served."""
        return self.data / "staged"

    @property
    def uploads(self) -> Path:
        """Folder of uploaded blobs that are not published yet. Nothing in it is served."""
        return self.data / "uploads"

    @property
    def upstream_files(self) -> Path:
        """Folder of the verified files of other registries."""
        return self.data / "upstream"

    @property
    def analyses(self) -> Path:
        """Folder of what pages say about released files. Nothing in it is served."""
        return self.data / "analyses"

    def open_to_others(self) -> list[Path]:
        """The private parts of the data folder that other users of the machine can read, because an earlier version made
        them or someone opened them: the database, staged, uploaded and analysed files, and with private reading all files.
        """
        if os.name == "nt" or not self.data.is_dir() or not self.data.stat().st_mode & 0o001:
            return []
        folders = [self.staged, self.uploads, self.analyses, *([self.public] if self.read != "public" else [])]
        folders += [] if self.database else [self.database_file]
        return [path for path in folders if path.exists() and path.stat().st_mode & 0o005]


_CHOICES = {
    "read": ("public", "members", "namespaces"),
    "metrics": ("loopback", "public", "off"),
    "log_format": ("auto", "json", "text"),
    "log_requests": ("none", "changes", "all"),
}
_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    tuple: "a list",
}
"""How a message names the type of a setting."""
_PARTS = {"interoperate": READERS}
"""What a list may contain; other lists contain any texts."""
_FILE_ONLY = frozenset({"webhook_networks"})
"""Settings that neither the environment nor a flag can give: whoever can change only those must not open the network."""
_ADDRESSES = {
    **dict.fromkeys(("contact", "report", "security"), ("https://", "mailto:")),
    **dict.fromkeys(("about", "terms", "docs"), ("https://",)),
}
"""Settings that are addresses, and how each may begin."""
_ADDRESS_CHARACTERS = 300
_MOST = {"port": 65_535, "search_threads": 256, "page_threads": 256, "search_results": 1_000}
_TABLES = frozenset({"data", "upstream"})
"""What neither a flag nor the environment can give."""
_TYPES: dict[str, type] = {field.name: type(field.default) for field in fields(Settings) if field.name not in _TABLES}


def load(data: Path, flags: Mapping[str, object | None], environ: Mapping[str, str]) -> Settings:
    """Return the settings in force. ``flags``: values from the command line, None where it gave none. Raises
    RyeError.
    """
    path = data / SETTINGS_FILE
    if not path.is_file():
        raise RyeError(
            "no-registry",
            f"There is no registry in {data}: it contains no {SETTINGS_FILE}.",
            f"Create one with `rye-registry init --data {data} --origin NAME`. One that is lost comes back from a backup with "
            f"`rye-registry restore --from BACKUP --data {data}`.",
        )
    return from_file(path, data, flags, environ)


def from_file(path: Path, data: Path, flags: Mapping[str, object | None], environ: Mapping[str, str]) -> Settings:
    """Return the settings of a registry in ``data`` with ``path`` as its file. Raises RyeError."""
    try:
        written = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RyeError(
            "bad-config", f"{path} cannot be read: {error}.", "Fix the file: it must be valid TOML."
        ) from error
    if isinstance(written.get("database"), str) and holds_password(written["database"]):
        refuse_exposed(path)
    values: dict[str, object] = {"upstream": read_upstreams(written.pop("upstream", []), str(path))}
    for name, value in written.items():
        values[name] = _checked(name, value, str(path))
    values.update(from_environment(environ))
    for name, given in flags.items():
        if given is not None:
            values[name] = _checked(name, given, "the command line")
    settings = Settings(data=data, **values)  # type: ignore[arg-type]
    _check_waiting(settings)
    return settings


def _check_waiting(settings: Settings) -> None:
    has_both = bool(settings.objects) and settings.database.startswith("postgresql")
    if has_both and settings.store_wait_seconds * 2 >= settings.leader_seconds:
        raise UsageError(
            "bad-setting",
            f"store_wait_seconds is {settings.store_wait_seconds:g}, and leader_seconds is {settings.leader_seconds:g}: "
            "a writer that waits for the bucket could lose the log to another process.",
            f"Set store_wait_seconds to less than half of leader_seconds: {settings.leader_seconds / 2.5:g}, for example.",
        )


def read_secret(path: Path) -> str:
    """Return the content of a file that no other user can read, stripped. Raises RyeError ``exposed-secret``,
    ``bad-config``.
    """
    refuse_exposed(path)
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise RyeError("bad-config", f"{path} cannot be read: {error}.", "Check the path and its owner.") from error


def refuse_exposed(path: Path) -> None:
    """Raise RyeError ``exposed-secret`` if other users of the machine can read the file."""
    if os.name != "nt" and path.exists() and path.stat().st_mode & 0o077:
        raise RyeError("exposed-secret", f"Other users can read {path}, which holds a secret.", f"chmod 600 {path}")


def holds_password(database: str) -> bool:
    """Whether a database's address contains a password."""
    parts = urlsplit(database)
    return bool(parts.password) or "password=" in parts.query.lower()


def from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """Return the settings that the environment gives. Raises RyeError."""
    given = {name: environ.get(ENVIRONMENT_PREFIX + name.upper()) for name in _TYPES}
    for name in _FILE_ONLY:
        if given[name] is not None:
            where = ENVIRONMENT_PREFIX + name.upper()
            raise UsageError(
                "bad-setting", f"{where} is set.", f"Set {name} in {SETTINGS_FILE} only, and unset {where}."
            )
    return {name: _from_text(name, text) for name, text in given.items() if text is not None}


def _checked(name: str, value: object, where: str) -> object:
    kind = _TYPES.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, _TYPES, n=1)
        hint = f"Did you mean {near[0]}?" if near else "docs/reference/registry-settings.md lists the settings."
        raise UsageError("unknown-name", f"{name} in {where} is not a setting.", hint, what="setting")
    if kind is float and type(value) is int:
        value = float(value)
    if kind is tuple and isinstance(value, list):
        value = tuple(value)
    if type(value) is not kind:
        raise UsageError("bad-setting", f"{name} in {where} is {value!r}, which is not {_KINDS[kind]}.", None)
    if isinstance(value, tuple):
        if not all(isinstance(part, str) for part in value):
            raise UsageError(
                "bad-setting", f"{name} in {where} is {list(value)!r}, which is not a list of texts.", None
            )
        if name in _PARTS and (not set(value) <= set(_PARTS[name]) or len(set(value)) < len(value)):
            hint = f"List some of these, each at most once: {', '.join(_PARTS[name])}."
            raise UsageError("bad-setting", f"{name} in {where} is {list(value)!r}.", hint)
    choices = _CHOICES.get(name)
    if choices is not None and value not in choices:
        raise UsageError("bad-setting", f"{name} in {where} is {value!r}.", f"Use one of {', '.join(choices)}.")
    begins = _ADDRESSES.get(name)
    if begins is not None and isinstance(value, str) and value and not _is_address(value, begins):
        hint = f"Give an address that begins with {' or '.join(begins)}, at most {_ADDRESS_CHARACTERS} characters."
        raise UsageError("bad-setting", f"{name} in {where} is {value[:80]!r}.", hint)
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        raise UsageError("bad-setting", f"{name} in {where} is negative.", "Give 0 or a larger number.")
    most = _MOST.get(name)
    if most is not None and isinstance(value, int | float) and value > most:
        raise UsageError("bad-setting", f"{name} in {where} is {value}.", f"Give {most} or a smaller number.")
    return value


def _is_address(text: str, begins: tuple[str, ...]) -> bool:
    """Whether a text can be a link: printable ASCII without spaces, quotes and brackets."""
    return text.startswith(begins) and re.fullmatch(r"[!#-;=?-\[\]_a-z~]{10,300}", text) is not None


def _from_text(name: str, text: str) -> object:
    kind = _TYPES[name]
    where = ENVIRONMENT_PREFIX + name.upper()
    try:
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        if kind is tuple:
            return _checked(name, [part.strip() for part in text.split(",") if part.strip()], where)
        return _checked(name, kind(text), where)
    except (ValueError, KeyError):
        raise UsageError("bad-setting", f"{where} is {text!r}, which is not {_KINDS[kind]}.", None) from None
