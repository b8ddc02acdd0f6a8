"""``make screens``: take every screen again and write its file; ``git diff tests/cli/screens`` shows what changed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import registry_server.embedded
from registry_server.migrations import opening
from tests.cli.screens.people import make_people
from tests.cli.screens.shots import FOLDER, SCREENS, kept, shot, variants
from tests.scenes import migrated_database, nursery


def main() -> None:
    """Write the files of all screens, and remove the others."""
    registry_server.embedded.launch = nursery.launch
    opening._upgrade = migrated_database.upgrade
    changed = 0
    with tempfile.TemporaryDirectory(prefix="rye-screens-") as made:
        people = make_people(Path(made))
        try:
            for variant, width, color in variants():
                (FOLDER / variant).mkdir(exist_ok=True)
                for old in (FOLDER / variant).glob("*.txt"):
                    if old.stem not in SCREENS:
                        old.unlink()
                for name in SCREENS:
                    text, file = shot(people, name, width, color), kept(variant, name)
                    if not file.exists() or file.read_text("utf-8") != text:
                        changed += 1
                        file.write_text(text, "utf-8")
        finally:
            people.registry.stop()
    print(f"{len(SCREENS)} screens, {changed} files changed; `git diff {FOLDER.relative_to(Path.cwd())}` shows how")


if __name__ == "__main__":
    main()
