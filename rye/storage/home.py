"""A user's folders on this machine, and where each store is in them.

Everything that rye keeps of a user is below the folders of one :class:`Home`. A process may have several: what is signed,
trusted or pinned in one is unknown in the others. Only :meth:`Home.from_environment` knows the variables. Nothing is created
here, and no file is read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import force_setattr

from rye.storage.places import home_folder, place_of

if TYPE_CHECKING:
    from rye.storage.verdicts import Verdicts

SYSTEM_SPACE = Path("/usr/share/rye/ai")
"""Items that an administrator provides."""
ORGANIZATION_POLICY = Path("/etc/rye/policy.toml")
MANAGED_ORGANIZATIONS = Path("/etc/rye/org.toml")
"""What a machine's administrators joined for all of its users (:mod:`rye.project.organizations`). No variable names another."""


class Home(Struct, frozen=True):
    """The folders of one user. A relative path starts at the folder that is current when the value is made."""

    config: Path
    """The folder for keys, the trust store, user settings and customizations."""
    data: Path
    """The folder for the registries that they trust, what they agreed to, and results about their items."""
    cache: Path
    """The folder for anything that can be fetched again."""
    own_items: Path | None = None
    """The user space; None: ``items`` in the data folder."""
    system_space: Path = SYSTEM_SPACE
    """Items that an administrator provides to all users."""
    named_policy: Path | None = None
    """The organization's policy, which must exist; None: :data:`ORGANIZATION_POLICY`, if it exists."""

    def __post_init__(self) -> None:
        """Fix relative paths, so that a later change of the current folder leads to no other folders."""
        for name in self.__struct_fields__:
            path = getattr(self, name)
            if path is not None and not path.is_absolute():
                force_setattr(self, name, path.absolute())

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Home:
        """The folders that these variables name.

        ``RYE_CONFIG_DIR``, ``RYE_DATA_DIR`` and ``RYE_CACHE_DIR`` override the platform's defaults; ``RYE_USER_SPACE``
        (default ``~/.ai``), ``RYE_SYSTEM_SPACE`` and ``RYE_POLICY`` name the rest. An empty value counts as unset, ``~`` is
        the home folder in the first three, and a relative path starts at the current folder.
        """
        return cls(
            Path(place_of("config", environment)),
            Path(place_of("data", environment)),
            Path(place_of("cache", environment)),
            own_items=_named(environment, "RYE_USER_SPACE") or Path(home_folder(environment), ".ai"),
            system_space=_named(environment, "RYE_SYSTEM_SPACE") or SYSTEM_SPACE,
            named_policy=_named(environment, "RYE_POLICY"),
        )

    @property
    def user_space(self) -> Path:
        """The user's own items, in the layout of a project's ``.ai``."""
        return self.own_items if self.own_items is not None else self.data / "items"

    @property
    def registries(self) -> Path:
        """The trusted state of each pinned registry (:class:`rye.registry.store.state.StateStore`)."""
        return self.data / "registries"

    @property
    def calls(self) -> Path:
        """The journals of running calls of tools (:mod:`rye.runtime.sandbox.journal`)."""
        return self.data / "calls"

    def has_organizations(self) -> bool:
        """Whether administrators or the user joined an organization; also if that cannot be found out."""
        for path in (MANAGED_ORGANIZATIONS, self.organizations_file):
            try:
                os.lstat(path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                return True
            return True
        return False

    def has_calls(self) -> bool:
        """Whether a tool that may change files runs, or was interrupted; also if that cannot be found out."""
        try:
            return bool(os.listdir(self.calls))
        except FileNotFoundError:
            return False
        except OSError:
            return True

    @property
    def registry_cache(self) -> Path:
        """Fetched files of registries (:class:`rye.registry.store.cache.Cache`)."""
        return self.cache / "registry"

    @property
    def git_cache(self) -> Path:
        """The repositories of sources (:class:`rye.sources.git_cache.GitCache`)."""
        return self.cache / "git"

    @property
    def signed_texts(self) -> Path:
        """The texts that the user signed (:class:`rye.signing.last_signed.LastSigned`)."""
        return self.cache / "signed"

    @property
    def settings_file(self) -> Path:
        """The user's settings (:mod:`rye.project.user_config`)."""
        return self.config / "config.toml"

    @property
    def credentials_file(self) -> Path:
        """The user's registry tokens (:mod:`rye.project.user_config`)."""
        return self.config / "credentials.toml"

    @property
    def policy_file(self) -> Path:
        """The user's policy (:mod:`rye.project.user_config`)."""
        return self.config / "policy.toml"

    @property
    def organization_policy(self) -> Path:
        """The organization's policy."""
        return self.named_policy if self.named_policy is not None else ORGANIZATION_POLICY

    @property
    def organizations_file(self) -> Path:
        """What the user joined (:mod:`rye.project.organizations`)."""
        return self.config / "org.toml"

    def verdicts(self) -> Verdicts:
        """The results of this user's earlier verifications."""
        from rye.storage.verdicts import VERDICTS, Verdicts  # needs hashlib, and most lists verify nothing

        return Verdicts(self.data / VERDICTS)

    def folders(self) -> tuple[Path, ...]:
        """The folders of this user's keys, trust, tokens and caches, for walls around them."""
        return self.config, self.data, self.cache


def _named(environment: Mapping[str, str], variable: str) -> Path | None:
    given = environment.get(variable)
    return Path(os.path.abspath(given)) if given else None
