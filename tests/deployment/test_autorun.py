"""What agent programs read is among the names that no tool writes (rye/items/autorun.py), so a new adapter cannot forget it."""

from __future__ import annotations

from rye.deployment.targets.protocol import all_targets
from rye.items.autorun import obeyed
from rye.project.agent_programs import PROGRAMS


def test_every_place_of_every_adapter_is_a_name_that_programs_obey() -> None:
    places: set[str] = set()
    for target in all_targets():
        project = target.places["project"]
        places.update(
            filter(None, (*project.detected_by, project.skills, project.agents, project.index, *project.settings))
        )
        places.update(path for path, _ in (*target.settings_hooks, *target.settings_servers))
    for program in PROGRAMS:
        places.update(path for path in (*program.folders, *program.files) if not path.startswith(".config/"))
    assert len(places) > 20
    assert [path for path in sorted(places) if not any(obeyed(part) for part in path.split("/"))] == []
