"""The user's own settings, credentials and policy, in their configuration folder.

``config.toml`` has the defaults for commands. ``credentials.toml`` (readable only by the user) has a token for each
registry address that they logged in to. Both are read strictly, and a token is never printed.
:mod:`rye.project.user_config_writing` writes them.

The project's ``[policy]`` is tightened by the user's and the organization's files: ``policy.toml`` in the user's
configuration folder, and the file that ``RYE_POLICY`` names (default ``/etc/rye/policy.toml``) hold a ``[policy]``
table like the manifest's. So does the policy of each organization that was joined (:mod:`rye.project.organizations`). Combining
policies only tightens them (:func:`rye.permissions.policy.combined`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from rye.errors import RyeError
from rye.permissions.policy_table import PolicyTable
from rye.project.manifest import Manifest, parse_manifest
from rye.project.organizations import PolicyInForce, policies_in_force, read_joined, stored_policy
from rye.storage.home import Home
from rye.storage.safe_files import read_regular

SETTINGS: dict[str, tuple[type, str]] = {
    # name: (type, what it is for)
    "registry": (str, "address of the registry to use if nothing else names one"),
    "color": (str, "auto, always or never"),
    "progress": (bool, "show progress bars"),
    "offline": (bool, "use no network"),
    "max-witness-age": (str, "how old witnesses' cosignatures may be, such as 36h"),
}


_NAMES = {str: "text", bool: "true or false"}
MODELS = "models"
"""The table of the user's models, which `rye run` reads."""
COLORS = ("auto", "always", "never")


class Credential(Struct, frozen=True):
    """A token for one registry address."""

    registry: str
    token: str
    name: str
    """The token's owner, as the registry reported when it was stored."""


def read_settings(home: Home) -> dict[str, Any]:
    """The user's settings. Raises RyeError ``bad-config`` for unknown settings and wrong types."""
    file = home.settings_file
    table = read_table(file)
    table.pop(MODELS, None)
    for name, value in table.items():
        known = SETTINGS.get(name)
        if known is None:
            raise RyeError("bad-config", f"{file}: unknown setting {name!r}.", f"Settings: {', '.join(SETTINGS)}.")
        if type(value) is not known[0]:
            raise RyeError(
                "bad-config",
                f"{file}: {name!r} must be {_NAMES[known[0]]}.",
                f"`rye config set {name} VALUE` writes it.",
            )
        if name == "color" and value not in COLORS:
            raise RyeError("bad-config", f"{file}: color cannot be {value!r}.", f"Use one of {', '.join(COLORS)}.")
    return table


def read_models(home: Home) -> object:
    """Return ``[models]`` as written; empty if there is none (:func:`rye.runtime.run.models.parse_models`). Raises RyeError
    ``bad-config`` for a file that is not TOML."""
    return read_table(home.settings_file).get(MODELS, {})


def credential(
    home: Home, environment: Mapping[str, str], registry: str, named: str | None = None
) -> Credential | None:
    """Return the token for this address. ``RYE_TOKEN`` takes precedence, but only for a registry that the user chose.

    ``named``: the address from ``--registry``, ``RYE_REGISTRY`` or the command's argument; by default the user's ``registry``
    setting. So a project's ``rye.toml`` cannot send the variable's token to another registry.
    """
    given = environment.get("RYE_TOKEN")
    if given:
        own = named or read_settings(home).get("registry")
        if own is not None and own.rstrip("/") == registry.rstrip("/"):
            return Credential(registry, given, "RYE_TOKEN")
    row = stored_credentials(home).get(registry.rstrip("/"))
    if row is None:
        return None
    return Credential(registry, row["token"], row.get("name", ""))


def stored_credentials(home: Home) -> Mapping[str, dict[str, str]]:
    """Token and name by registry address. Raises RyeError ``bad-config``."""
    path = home.credentials_file
    table = read_table(path)
    for row in table.values():
        if not isinstance(row, dict) or not isinstance(row.get("token"), str):
            raise RyeError("bad-config", f"{path} is damaged.", "Remove it and run `rye login` again.")
    return table


def read_table(path: Path) -> dict[str, Any]:
    """Return a TOML file's content; empty if it does not exist. Raises RyeError ``bad-config``."""
    try:
        data = read_regular(path)  # opened even where it is missing: a no-op install notes which files it opens
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error) from None
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RyeError("bad-config", f"{path} is not valid TOML: {error}.", "Fix the file or remove it.") from None


class OtherPolicies(Struct, frozen=True):
    """The user's and the organization's tables, read once, so that all decisions of a run use the same policy."""

    tables: tuple[PolicyTable, ...] = ()
    """The user's and the machine's tables, and those of organizations."""
    organizations: tuple[PolicyInForce, ...] = ()
    """Where the last of the tables come from."""

    @property
    def own(self) -> tuple[PolicyTable, ...]:
        """The user's and the machine's tables."""
        return self.tables[: len(self.tables) - len(self.organizations)]

    def restrict(self, manifest: Manifest) -> bool:
        """Whether any policy, including the project's, restricts anything. Cheap: it does not import the policy code."""
        return any(table != PolicyTable() for table in (manifest.policy, *self.tables))

    def allow_override_widening(self, manifest: Manifest) -> bool:
        """Whether an override may give a directive more rights: only if the project's policy and every other policy allow it.

        The project's policy is not enough: anyone who can commit an override can commit that policy too.
        """
        return bool(self.own) and all(table.allow_override_widening for table in (manifest.policy, *self.tables))


def read_other_policies(home: Home, now: datetime | None = None) -> OtherPolicies:
    """Read the two files, and the policies of organizations. ``now``: None: the machine's clock. Raises RyeError if one cannot be
    read, or is out of date."""
    found = policies_in_force(home, now or datetime.now(UTC))
    return OtherPolicies((*_other_tables(home), *(policy.table for policy in found)), found)


def policy_contents(home: Home) -> list[bytes | None]:
    """Return all that policies besides the project's say now, for hashes; None for a file that cannot be read. Using it reports
    why."""
    contents: list[bytes | None] = []
    for file in other_files(home):
        try:
            contents.append(read_regular(file))
        except OSError:
            contents.append(None)
    try:
        found = [stored_policy(home, row)[1].sha256().encode() for row in read_joined(home)]
    except RyeError:
        return [*contents, None]
    return [*contents, *found]


def _unreadable(file: Path, error: OSError) -> RyeError:
    hint = "Put a regular file that you can read in its place, or remove it."
    return RyeError("bad-config", f"{file} cannot be read: {error.strerror}.", hint)


def other_files(home: Home) -> tuple[Path, Path]:
    """Return the paths of the user's and the organization's file, whether or not they exist."""
    return home.policy_file, home.organization_policy


def _other_tables(home: Home) -> list[PolicyTable]:
    """Return the user's and the organization's tables. Raises RyeError if a file cannot be read."""
    tables = []
    for file in other_files(home):
        try:
            text = read_regular(file).decode("utf-8")
        except FileNotFoundError:
            if file == home.named_policy:
                raise RyeError("no-policy", f"RYE_POLICY names {str(file)!r}, which does not exist.") from None
            continue
        except OSError as error:
            raise _unreadable(file, error) from None
        except UnicodeDecodeError:
            raise RyeError("bad-config", f"{file} is not UTF-8 text.", "Save the file as UTF-8.") from None
        tables.append(parse_manifest(text, str(file)).policy)
    return tables
