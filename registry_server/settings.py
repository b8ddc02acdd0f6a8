"""Every setting and limit of the server, in one place. Sizes in bytes, times in seconds unless the name says otherwise.

A value comes from the command's flag, else from the environment (``RYE_REGISTRY_<NAME>`` in upper case), else from
``registry.toml`` in the data folder, else from the default here. A name that is not listed here is an error in the file, so that
a typing mistake cannot silently leave a limit at its default. The limits of an item's content are the client's too and stand
in :mod:`rye.limits`.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import urlsplit

from rye.errors import RyeError, UsageError
from rye.limits import MIB, PUBLISHING, REGISTRY

READERS = ("skills", "git", "apm", "renovate", "osv")
"""What other programs can read a registry as."""
SETTINGS_FILE = "registry.toml"
ENVIRONMENT_PREFIX = "RYE_REGISTRY_"


@dataclass(frozen=True, slots=True)
class Settings:
    """What one server process runs with. ``data`` is the folder that everything lives in."""

    data: Path

    # Where it listens and what it says of itself.
    host: str = "127.0.0.1"
    """Address to listen on. Loopback by default: put a TLS proxy in front before listening anywhere else."""
    port: int = 8420
    """TCP port; 0 takes a free one (printed, and written to ``--ready-file``)."""
    address: str = ""
    """The registry's address as people and build servers know it, e.g. ``https://registry.example.org``: what links begin with
    and what OIDC tokens must be made for. Empty: the one that it listens on."""
    trusted_proxies: str = ""
    """Addresses of the proxies whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are believed, or networks such as
    ``10.0.0.0/8``, separated by commas. Loopback is believed when this is empty."""
    api: str = "/api/v1"
    """What ``/config.json`` gives as the API's address: a path on the same host, or an absolute address."""

    # What it writes to its log.
    log_format: str = "auto"
    """``json``: one object a line, for programs; ``text``: for people; ``auto``: text on a terminal, else JSON."""
    log_requests: str = "changes"
    """Which requests get a line: ``none``; ``changes``, writing and what failed inside; or ``all``."""

    # Where it keeps things.
    database: str = ""
    """SQLAlchemy address of the database, e.g. ``postgresql+psycopg://…``; empty: SQLite in the data folder."""
    objects: str = ""
    """Where static files go: empty for ``public/`` in the data folder, or ``s3://bucket/prefix`` (credentials from the
    standard ``AWS_*`` variables)."""
    s3_endpoint: str = ""
    """Address of an S3-compatible service other than Amazon's."""
    s3_region: str = ""
    """Region of the bucket; empty: from the environment."""

    # Who may do what.
    read: str = "public"
    """Who may read: ``public``; ``members``, who have a token or an account; or ``namespaces``: members, and the bytes of items
    only where their token and role allow the namespace."""
    oidc_issuer: str = ""
    """The OIDC issuer that signs people in, e.g. ``https://id.example.org``; empty: links of the operator alone do."""
    oidc_client_id: str = ""
    """What the issuer calls this registry."""
    oidc_client_secret_file: str = ""
    """A file with the client secret, below the data folder unless it is absolute; 0600. Empty: a public client."""
    webhooks: bool = False
    """Whether webhooks are told of what is logged."""
    open_claims: bool = True
    """Whether a token that is not bound to namespaces may claim a free one."""
    metrics: str = "loopback"
    """Who may read ``/metrics``: ``loopback``, this machine itself and no proxy; ``public``; or ``off``. A registry that is not
    public asks for a token as well."""

    # Programs that know nothing of Rye.
    interoperate: tuple[str, ...] = READERS
    """What they may read: the well-known index of ``skills``, plugin marketplaces over ``git``, ``apm``'s registry,
    ``renovate``'s data source, advisories as ``osv``. Empty: nothing."""
    reader_threads: int = 4
    """Their questions at work at the same moment."""
    reader_waiting: int = 64
    """Questions that wait for one of these; more are answered 503 with ``Retry-After``."""
    reader_skills: int = 10_000
    """Skills in one index or repository."""
    reader_versions: int = 200
    """Versions of one skill in apm's list, the latest."""
    reader_bytes: int = 128 * MIB
    """Repositories and archives that are kept in memory."""
    repository_bytes: int = 64 * MIB
    """The files of one namespace's repository, all together."""
    git_request_bytes: int = MIB
    """What ``git`` sends in one request, uncompressed."""
    git_sending: int = 16
    """Repositories on their way to ``git`` at the same moment; more are answered 503."""
    advisories: int = 50_000
    """Advisories in ``/osv/all.zip``."""

    # The log.
    heartbeat_seconds: int = 24 * 3600
    """A snapshot older than this is signed afresh without any publish. Clients warn at 72 h and stop at 7 d."""
    heartbeat_check_seconds: float = 60.0
    """How often the age of the head is looked at."""
    batch_statements: int = 1000
    """Statements in one batch of the sequencer, i.e. under one signed head."""
    batch_interval_seconds: float = 0.0
    """From the beginning of one batch to that of the next, at least: fewer heads, and fewer new files behind a CDN."""
    clock_skew_seconds: int = REGISTRY.clock_skew_seconds
    """How far in the future a statement's time may lie: as far as clients accept a head's."""
    root_days: int = 365
    """For how long a new root statement is valid."""

    # Requests.
    blob_bytes: int = 8 * MIB
    """One uploaded blob."""
    request_bytes: int = 4 * MIB
    """The body of ``POST /api/statements``."""
    request_statements: int = PUBLISHING.request_statements
    """Statements in one request; they are accepted or refused together."""
    request_seconds: float = 30.0
    """A request's body must have arrived by then, however slowly its sender drips."""
    answer_seconds: float = 60.0
    """How long a publish waits for its entries to be in a signed, durable checkpoint."""
    examiners: int = 8
    """Processes that examine requests under load, beside this one: never more than the machine has further cores; 0: none."""
    concurrent_writes: int = 64
    """Writing requests at work at the same moment; more are answered 503 with ``Retry-After``."""
    account_requests: int = 96
    """Writing requests of one account under way at the same moment, slow bodies included; more are answered 429. A token without
    an account counts as one."""
    account_places: int = 48
    """Of ``concurrent_writes``, what one account may have, and never more than three quarters; more are answered 429."""
    sign_in_tries: int = 120
    """In a minute, from one address: sign-ins begun or ended, links opened, programs that ask to be signed in, identity tokens
    exchanged. More are answered 429. A program that waits may ask ten times as often."""
    form_tries: int = 60
    """In a minute, of one account: forms sent on its pages, and codes of programs looked up."""
    account_tokens: int = 100
    """Tokens that one account may have at the same time."""
    uploads_bytes: int = 512 * MIB
    """Uploaded blobs that no statement refers to yet, all together."""
    account_uploads_bytes: int = 128 * MIB
    """Of these, what one token may have."""
    uploads_hours: int = 24
    """How long such a blob is kept."""
    stages_bytes: int = 1024 * MIB
    """Files of releases that wait to be approved, all together."""
    account_stages_bytes: int = 128 * MIB
    """Of these, what one account may have, or one token without an account."""
    stage_days: int = 14
    """How long a release waits to be approved."""
    search_characters: int = 200
    """A search query."""
    search_results: int = 100
    """Results in one page of a search."""
    search_threads: int = 2
    """Searches at work at the same moment, each with a thread and a database connection of its own."""
    search_waiting: int = 16
    """Searches that wait for one of these; more are answered 503 with ``Retry-After``."""
    search_seconds: float = 5.0
    """How long one search may take its database."""
    page_threads: int = 2
    """Pages that are made at the same moment, each with a thread and a database connection of its own."""
    page_waiting: int = 64
    """Pages that wait for one of these; more are answered 503 with ``Retry-After``."""

    # Start and stop.
    stop_seconds: int = 10
    """How long requests at work may take to finish after SIGTERM."""
    database_wait_seconds: float = 30.0
    """How long a transaction waits for the writer lock; then the request gets 503."""
    leader_seconds: float = 20.0
    """PostgreSQL: how long a writer may say nothing before it loses the lock to another process."""
    store_wait_seconds: float = 20.0
    """One request to the bucket, its repeats included."""

    @property
    def database_url(self) -> str:
        """The database's address, with the default filled in."""
        return self.database or f"sqlite:///{(self.data / 'registry.db').resolve()}"

    @property
    def public_address(self) -> str:
        """The registry's address for links, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.address or f"http://{host}:{self.port}").rstrip("/")

    @property
    def oidc_client_secret(self) -> str:
        """The secret in ``oidc_client_secret_file``. Raises RyeError ``exposed-secret`` where others can read it."""
        if not self.oidc_client_secret_file:
            return ""
        return read_secret(self.data / self.oidc_client_secret_file)

    @property
    def keys(self) -> Path:
        """Folder of the private keys (0700)."""
        return self.data / "keys"

    @property
    def public(self) -> Path:
        """Folder of the static registry, when it is one."""
        return self.data / "public"

    @property
    def staged(self) -> Path:
        """Folder of the files of releases that wait to be approved: nothing in it is served."""
        return self.data / "staged"

    @property
    def uploads(self) -> Path:
        """Folder of uploaded blobs that are not published yet: nothing in it is served."""
        return self.data / "uploads"


_CHOICES = {
    "read": ("public", "members", "namespaces"),
    "metrics": ("loopback", "public", "off"),
    "log_format": ("auto", "json", "text"),
    "log_requests": ("none", "changes", "all"),
}
_PARTS = {"interoperate": READERS}
"""What a list may hold."""
_MOST = {"port": 65_535, "search_threads": 256, "page_threads": 256, "search_results": 1_000}
_TYPES: dict[str, type] = {field.name: type(field.default) for field in fields(Settings) if field.name != "data"}


def load(data: Path, flags: Mapping[str, object | None], environ: Mapping[str, str]) -> Settings:
    """The settings in force. ``flags``: what the command line gave, None where it gave nothing. Raises RyeError."""
    path = data / SETTINGS_FILE
    if not path.is_file():
        raise RyeError(
            "no-registry",
            f"{data} holds no registry: there is no {SETTINGS_FILE} in it.",
            f"Make one: rye-registry init --data {data} --origin NAME",
        )
    try:
        written = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RyeError("bad-settings", f"{path} cannot be read: {error}", "Mend the file; it is TOML.") from error
    if isinstance(written.get("database"), str) and holds_password(written["database"]):
        refuse_exposed(path)
    values: dict[str, object] = {}
    for name, value in written.items():
        values[name] = _checked(name, value, str(path))
    values.update(from_environment(environ))
    for name, given in flags.items():
        if given is not None:
            values[name] = _checked(name, given, "the command line")
    return Settings(data=data, **values)  # type: ignore[arg-type]


def read_secret(path: Path) -> str:
    """One line of a file that nobody else may read. Raises RyeError ``exposed-secret``, ``bad-settings``."""
    refuse_exposed(path)
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise RyeError("bad-settings", f"{path} cannot be read: {error}", "Check the path and its owner.") from error


def refuse_exposed(path: Path) -> None:
    """Raises RyeError ``exposed-secret`` for a file that other users of the machine can read."""
    if os.name != "nt" and path.exists() and path.stat().st_mode & 0o077:
        raise RyeError("exposed-secret", f"Other users can read {path}, which holds a secret.", f"chmod 600 {path}")


def holds_password(database: str) -> bool:
    """Whether a database's address has a password in it."""
    parts = urlsplit(database)
    return bool(parts.password) or "password=" in parts.query.lower()


def from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """The settings that the environment gives. Raises RyeError."""
    given = {name: environ.get(ENVIRONMENT_PREFIX + name.upper()) for name in _TYPES}
    return {name: _from_text(name, text) for name, text in given.items() if text is not None}


def _checked(name: str, value: object, where: str) -> object:
    kind = _TYPES.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, _TYPES, n=1)
        hint = (
            f"Did you mean {near[0]}?"
            if near
            else "See docs/reference/registry-settings.md for the settings there are."
        )
        raise UsageError("unknown-setting", f"{name} in {where} is not a setting.", hint)
    if kind is float and type(value) is int:
        value = float(value)
    if kind is tuple and isinstance(value, list):
        value = tuple(value)
    if type(value) is not kind:
        what = "list" if kind is tuple else kind.__name__
        raise UsageError("bad-setting", f"{name} in {where} is {value!r}, which is no {what}.", None)
    if isinstance(value, tuple):
        strange = [part for part in value if part not in _PARTS[name]]
        if strange or len(set(value)) < len(value):
            hint = f"A list of some of these, each once: {', '.join(_PARTS[name])}."
            raise UsageError("bad-setting", f"{name} in {where} is {list(value)!r}.", hint)
    choices = _CHOICES.get(name)
    if choices is not None and value not in choices:
        raise UsageError("bad-setting", f"{name} in {where} is {value!r}.", f"It is one of {', '.join(choices)}.")
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        raise UsageError("bad-setting", f"{name} in {where} is negative.", "Give a number from 0.")
    most = _MOST.get(name)
    if most is not None and isinstance(value, int | float) and value > most:
        raise UsageError("bad-setting", f"{name} in {where} is {value}.", f"Give a number up to {most}.")
    return value


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
        raise UsageError("bad-setting", f"{where} is {text!r}, which is no {kind.__name__}.", None) from None
