"""Statements on their way to the registry's owners and back, as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from registry_server.accounts import registry_keys
from registry_server.accounts.registry_keys import PrivateKey
from registry_server.cli.options import Output
from registry_server.settings import Settings
from rye.errors import RyeError


def write_draft(output: Output, draft: Path, text: str, command: str) -> None:
    """Write an unsigned statement to a new file, and say what comes next. ``command``: publishes it once it is signed.

    Raises RyeError ``cannot-write``.
    """
    try:
        with draft.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise RyeError(
            "cannot-write", f"{draft} cannot be written: {error.strerror}.", "Choose another file."
        ) from error
    output.result({"file": str(draft), "text": text}, text)
    output.say(f"Next, each owner signs it: `rye-registry root sign {draft} --key KEY`. Then: `{command}`")


def owners_here(
    settings: Settings, key_files: Sequence[Path], otherwise: str = "with --draft FILE."
) -> list[PrivateKey]:
    """Return the owners' keys: those in the named files, or else in the key folder. ``otherwise``: how to draft for an owner
    elsewhere. Raises RyeError ``no-key``."""
    owners = [registry_keys.read(path) for path in key_files] or registry_keys.in_folder(settings.keys, "root")
    if not owners:
        raise RyeError(
            "no-key",
            "There is no owner's key in the key folder.",
            f"Name it with --key FILE, or write a draft for its owner {otherwise}",
        )
    return owners


def read_draft_file(path: Path) -> str:
    """Return the text of a file that was named. Raises RyeError ``unreadable``."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RyeError(
            "unreadable", f"{path} cannot be read: {registry_keys.reason_of(error)}.", "Check the path."
        ) from error
