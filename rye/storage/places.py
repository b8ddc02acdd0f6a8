"""The paths of :mod:`rye.storage.home` as text, for code that starts so early that it imports neither pathlib nor typing."""

from __future__ import annotations

import os
import sys

if os.name == "posix":
    import pwd

TYPE_CHECKING = False  # importing typing is too slow
if TYPE_CHECKING:
    from collections.abc import Mapping

TRUSTED_KEYS = "trusted-keys.toml"
"""The trust store's file in the config folder (:mod:`rye.signing.trust_store`)."""
TRUST_FILE_HEAD = (
    "# Keys that this user trusts. Change it with `rye trust add`, `rye trust remove` and `rye trust revoke`."
)
"""Its first line."""
_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


def place_of(which: str, environment: Mapping[str, str]) -> str:
    """The ``config``, ``data`` or ``cache`` folder as text, without importing pathlib."""
    value = environment.get(f"RYE_{which.upper()}_DIR")
    if value:
        return os.path.abspath(_expanded(value, environment))
    if sys.platform == "linux" and "ANDROID_DATA" not in environment:
        variable, usual = _XDG[which]
        given = environment.get(variable, "")
        return os.path.join(given if os.path.isabs(given) else os.path.join(home_folder(environment), usual), "rye")
    import platformdirs  # takes longer to import than Python itself, and reads the variables of this process

    dirs = platformdirs.PlatformDirs("rye", appauthor=False)
    return {"config": dirs.user_config_dir, "data": dirs.user_data_dir, "cache": dirs.user_cache_dir}[which]


def home_folder(environment: Mapping[str, str]) -> str:
    """The user's home folder: ``HOME`` if it is absolute, then the system's. Never a relative path, which could be a project's;
    ``/`` if the system knows none."""
    given = environment.get("HOME", "")
    if os.name == "posix" and os.path.isabs(given):
        return given.rstrip("/") or "/"
    if os.name == "posix":
        return system_home() or "/"
    return os.path.expanduser("~")


def system_home() -> str:
    """The home folder that the system names, whatever ``HOME`` says; empty where it names none, as for a number that a container
    was given without an account. ssh looks for its keys there, and nowhere without."""
    if os.name != "posix":
        return ""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def _expanded(path: str, environment: Mapping[str, str]) -> str:
    """``~`` and what is below it in the home folder. ``~name`` is that user's folder, as always."""
    if path == "~" or path.startswith(("~/", f"~{os.sep}")):
        return os.path.join(home_folder(environment), path[2:])
    return os.path.expanduser(path)
