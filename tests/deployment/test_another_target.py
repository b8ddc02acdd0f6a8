"""A seventh program is one module and one row (docs/how-to/agents.md)."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from rye.deployment.targets.protocol import AgentDraft, AgentText, Places, Target, TargetOptions, target
from rye.deployment.written_forms import frontmatter
from rye.errors import UsageError
from rye.items.agent.program_forms import ProgramForm
from rye.project import agent_programs
from rye.project.agent_programs import PROGRAMS, AgentProgram, is_deploy_place, program_names
from tests.scenes.installed import install, project_with_targets, tree
from tests.scenes.item_texts import agent, knowledge, skill


def write(draft: AgentDraft, options: TargetOptions) -> AgentText:
    return AgentText(frontmatter(draft.mark, {"name": draft.name, "can": sorted(draft.rights.names)}, draft.body))


PLACES = Places(
    detected_by=(".pico",), skills=".agents/skills", agents=".pico/agents", agent_suffix=".pico.md", index="PICO.md"
)
MODULE = types.ModuleType("pico_target")
MODULE.TARGET = Target(  # type: ignore[attr-defined]
    form=ProgramForm(program="pico", title="Pico", places=r"\.pico/agents/[^/]+\.pico\.md"),
    adapter="pico/1",
    tried="0.1",
    places={"project": PLACES, "user": PLACES},
    agent=write,
)
ROW = AgentProgram("pico", "pico_target", (".agents/skills", ".agents/knowledge", ".pico/agents"), ("PICO.md",))


def test_one_module_and_one_row_are_all_that_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pico_target", MODULE)
    for name in ("rye.project.agent_programs", "rye.deployment.targets.protocol", "rye.deployment.planning"):
        monkeypatch.setattr(f"{name}.PROGRAMS", (*PROGRAMS, ROW))
    assert agent_programs.program_names()[-1] == program_names()[-1] == "pico"
    assert target("pico").title == "Pico"
    assert is_deploy_place(".pico/agents/x.pico.md")
    shop = project_with_targets(tmp_path, 'targets = ["pico", "codex"]\n[deploy.pico]\nexclude = ["acme/other"]')
    install(shop, "agent", "acme/one", agent("one"))
    install(shop, "agent", "acme/other", agent("other"))
    install(shop, "skill", "acme/pdf", skill("pdf"))
    install(shop, "knowledge", "acme/notes/style", knowledge("style"))
    before = tree(shop)
    shop.ok("deploy")
    assert "- Read" in shop.path(".pico/agents/one.pico.md").read_text()
    assert not shop.path(".pico/agents/other.pico.md").exists()
    assert "style.md" in shop.path("PICO.md").read_text()
    assert shop.path(".agents/skills/pdf/SKILL.md").exists()
    shop.ok("deploy", "--check")
    shop.ok("undeploy", "--all")
    assert tree(shop) == before


def test_targets_with_commas_are_named_each_by_itself() -> None:
    with pytest.raises(UsageError) as caught:
        target("claude,codex")
    assert caught.value.hint == "Name each by itself: --target claude --target codex."
    with pytest.raises(UsageError) as caught:
        target("claude,cluade")
    assert "each by itself" not in (caught.value.hint or "")
