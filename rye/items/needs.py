"""What a tool needs beyond its sandbox, and what an operator grants: the same three lists (docs/how-to/tools.md).

::

    __needs__ = {"write": ["build/"], "network": ["api.example.com:443"], "env": ["GITHUB_TOKEN"]}

A tool declares its needs in ``__needs__``, signed with its code; ``[sandbox."tool:…"]`` in rye.toml grants them. A need alone
opens nothing.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from rye.items.autorun import is_secret_name, obeyed
from rye.text.json_reading import UNDECODABLE

KEYS = ("write", "network", "env")
_OURS = (
    "PATH",
    "LANG",
    "TZ",
    "HOME",
    "TMPDIR",
    "ENV",
    "BASH_ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "IFS",
    "PS4",
    "NODE_OPTIONS",
)
AGENTS = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO")
"""The ways to the agents that keep keys, which no program that runs others' text gets."""
_FAMILIES = ("LD_", "DYLD_", "PYTHON", "RYE_", "BASH_FUNC_", "GLIBC_", "MALLOC_", "GCONV_", "NODE_EXTRA")
_MOST = 64


@cache
def _name_form() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


@cache
def _host_form() -> re.Pattern[str]:
    return re.compile(r"(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*")


@cache
def _place_form() -> re.Pattern[str]:
    return re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+)):([0-9]{1,5})")


class Needs(Struct, frozen=True, order=True):
    """Sorted, without duplicates, each entry in canonical form."""

    write: tuple[str, ...] = ()
    """Paths relative to the project; folders end in ``/``, and ``./`` is the project."""
    network: tuple[str, ...] = ()
    """``host:port``, in lower case."""
    env: tuple[str, ...] = ()
    """Names of environment variables."""

    def lines(self) -> tuple[tuple[str, str], ...]:
        """Each need as a pair of key and value."""
        return tuple((key, value) for key in KEYS for value in getattr(self, key))


NOTHING = Needs()


class BadNeeds(ValueError):
    """The lists are malformed; the message says which entry and why."""


def parse_needs(value: Any) -> Needs:
    """Parse a table of needs or grants, or JSON text where a format only has strings. Raises BadNeeds."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (ValueError, *UNDECODABLE):
            raise BadNeeds('it must be an object such as {"network": ["api.example.com:443"]}') from None
    if not isinstance(value, Mapping):
        raise BadNeeds("it must be a table of lists: write, network, env")
    for key in value:
        if key not in KEYS:
            raise BadNeeds(f"unknown key {key!r}; the keys are write, network and env")
    return Needs(
        _each(value, "write", _written_path),
        _each(value, "network", _place),
        _each(value, "env", _variable),
    )


def missing(needs: Needs, grants: Needs) -> Needs:
    """Return what is needed but not granted. A granted folder covers its contents."""
    return Needs(
        tuple(path for path in needs.write if not _covered(path, grants.write)),
        tuple(place for place in needs.network if place not in grants.network),
        tuple(name for name in needs.env if name not in grants.env),
    )


def joined(one: Needs, other: Needs) -> Needs:
    """Return the union of both."""
    return Needs(*(tuple(sorted({*getattr(one, key), *getattr(other, key)})) for key in KEYS))


def _covered(path: str, granted: Iterable[str]) -> bool:
    return any(path == each or (each.endswith("/") and (each == "./" or path.startswith(each))) for each in granted)


def _each(table: Mapping[str, Any], key: str, read: Any) -> tuple[str, ...]:
    values = table.get(key, [])
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise BadNeeds(f"{key} must be a list of strings")
    if len(values) > _MOST:
        raise BadNeeds(f"{key} has more than {_MOST} entries")
    return tuple(sorted({read(value) for value in values}))


def _written_path(text: str) -> str:
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if (
        text.startswith(("/", "~"))
        or "\\" in text
        or '"' in text
        or not text.isprintable()
        or ".." in parts
        or not text
        or len(text) > 500
    ):
        raise BadNeeds(f"write {text!r} is not a path below the project")
    for number, part in enumerate(parts):
        is_the_file = number == len(parts) - 1 and not text.endswith(("/", "/."))
        row = obeyed(part, at_root=number == 0, builds=not is_the_file)
        if row is not None:
            raise BadNeeds(f"write {text!r} can never be granted: {part} is obeyed by {row.obeyed_by}")
        if is_secret_name(part):
            raise BadNeeds(f"write {text!r} can never be granted: no tool reads or writes {part}")
    if not parts:
        return "./"
    return "/".join(parts) + ("/" if text.endswith(("/", "/.")) else "")


def place_of(text: str) -> tuple[str, int]:
    """Return host and port of ``host:port``, the host in canonical form. Raises BadNeeds."""
    match = _place_form().fullmatch(text.strip())
    if match is None or not 0 < int(match[3]) < 65536:
        raise BadNeeds(f'network {text!r} is not a host with a port; write "api.example.com:443"')
    host = (match[1] or match[2]).lower().removesuffix(".")
    try:
        return ipaddress.ip_address(host).compressed, int(match[3])
    except ValueError:
        pass
    if (
        match[1]
        or not _host_form().fullmatch(host)
        or host.rsplit(".", 1)[-1].isdigit()
        or re.fullmatch(r"0x[0-9a-f]*", host)
    ):
        raise BadNeeds(f"network {text!r} does not name a host; patterns are not supported")
    return host, int(match[3])


def _place(text: str) -> str:
    host, port = place_of(text)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _variable(text: str) -> str:
    if not _name_form().fullmatch(text):
        raise BadNeeds(f"env {text!r} is not a variable name")
    upper = text.upper()
    if upper in AGENTS:
        raise BadNeeds(f"env {text!r} can never be granted: it leads to your agent, which would sign what a tool says")
    if upper in _OURS or upper.startswith(_FAMILIES) or upper.endswith("_PROXY"):
        raise BadNeeds(f"env {text!r} can never be granted: it would change how the sandbox or the interpreter works")
    return text
