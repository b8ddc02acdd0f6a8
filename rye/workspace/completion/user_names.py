"""Names of the user's keys and settings, and of the agent programs that Rye can deploy to."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rye.project.agent_programs import program_names
from rye.project.user_config import SETTINGS
from rye.storage.places import place_of
from rye.workspace.completion.place import Place


def keys(place: Place) -> Iterator[str]:
    """The names of the user's keys."""
    for name in sorted(os.listdir(os.path.join(place_of("config", place.environment), "keys"))):
        stem, _, suffix = name.rpartition(".")
        if suffix in ("key", "ssh-agent"):
            yield stem


def targets(place: Place) -> Iterator[str]:
    """The agent programs that Rye can deploy to."""
    yield from program_names()


def settings(place: Place) -> Iterator[str]:
    """The names of the settings."""
    yield from SETTINGS
