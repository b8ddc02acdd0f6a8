"""Names that are the user's or the program's own: keys, settings, the agent programs that are deployed to."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rye.project.agent_programs import program_names
from rye.project.user_config import SETTINGS
from rye.storage.places import place_of
from rye.workspace.completion.place import Place


def keys(place: Place) -> Iterator[str]:
    for name in sorted(os.listdir(os.path.join(place_of("config"), "keys"))):
        if name.endswith(".key"):
            yield name.removesuffix(".key")


def targets(place: Place) -> Iterator[str]:
    yield from program_names()


def settings(place: Place) -> Iterator[str]:
    yield from SETTINGS
