"""The pins of a build server, from the file named by ``RYE_PINS`` with one registry per line (DESIGN 6.1).

::

    ORIGIN FINGERPRINT URL

The file has the same effect as the user's answer on a terminal. It pins a registry at the first contact, and a registry with
another origin or root is refused. A fingerprint in a repository pins nothing. A malformed line is an error, even if
its registry is not needed. A registry that is not needed is never contacted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.project.layout import find_project
from rye.project.registries import normal_address
from rye.registry.trust.trust_error import TrustError

if TYPE_CHECKING:
    from rye.workspace.context import Context

VARIABLE = "RYE_PINS"
MOST_BYTES = 64 * 1024
_LINE = r"([!-~]{1,255}) ([0-9a-f]{64}) ([!-~]{1,2000})"


class GivenPin(Struct, frozen=True):
    """The origin and fingerprint that the registry at an address must have."""

    origin: str
    fingerprint: str
    """SHA-256 of the text of its first root."""

    def require(self, address: str, origin: str, fingerprint: str) -> None:
        """Require that the registry matches this pin. Raises TrustError ``root-origin`` or ``root-fingerprint``."""
        if origin != self.origin:
            raise TrustError("root-origin", f"{address} is the registry {origin}, but {VARIABLE} names {self.origin}.")
        if fingerprint != self.fingerprint:
            message = (
                f"{origin} at {address} has the fingerprint {fingerprint}, but {VARIABLE} names {self.fingerprint}."
            )
            raise TrustError("root-fingerprint", message, pinned=self.fingerprint, found=fingerprint)


def given_pins(context: Context) -> Mapping[str, GivenPin]:
    """The pins by address; empty if the variable is not set. Raises RyeError ``bad-pins``."""
    named = context.environment.get(VARIABLE)
    if not named:
        return {}
    path = context.cwd / named
    project = find_project(context.cwd)
    if project is not None and path.resolve().is_relative_to(project.root.resolve()):
        raise RyeError(
            "bad-pins",
            f"{VARIABLE}: {named!r} is inside the project, so anyone who can commit could write it.",
            "Keep the file outside the checkout, where only the build server writes.",
        )
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
        text = data.decode("ascii")
    except OSError as error:
        why = error.strerror or str(error)
        raise RyeError("bad-pins", f"{VARIABLE}: {named!r} cannot be read: {why}.", f"Correct {VARIABLE}.") from error
    except UnicodeDecodeError as error:
        raise _bad(f"{named!r} is not ASCII text.") from error
    if len(data) > MOST_BYTES:
        raise _bad(f"{named!r} is larger than {MOST_BYTES:,} bytes.")
    found: dict[str, GivenPin] = {}
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
    for number, line in enumerate(lines, 1):
        match = re.fullmatch(_LINE, line)
        if match is None:
            raise _bad(f"line {number} of {named!r} is malformed.")
        try:
            address = normal_address(match[3], context.cwd)
        except RyeError as error:
            raise _bad(f"line {number} of {named!r}: {error.message}") from error
        if address in found:
            raise _bad(f"line {number} of {named!r} names {address} again.")
        found[address] = GivenPin(match[1], match[2])
    return found


def _bad(what: str) -> RyeError:
    return RyeError("bad-pins", f"{VARIABLE}: {what}", "Write one registry per line: ORIGIN FINGERPRINT URL.")
