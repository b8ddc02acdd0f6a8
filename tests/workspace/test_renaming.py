"""Renaming an own item: every text that names it, the file that moves, and what is said about the rest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.workspace.authoring.renaming import Renaming, applied, rename_item
from tests.items.finished import finished
from tests.mcp.sessions import own_directive, own_tool, project_with_key, tool
from tests.scenes.directive_text import directive
from tests.scenes.person import Person

CALL = '`rye_execute(item_type="tool", item_id="acme/shell/docker")`'
RIGHTS = "<execute><tool>acme.shell.docker</tool><tool>acme/shell/podman</tool></execute>"


@pytest.fixture
def shop(tmp_path: Path) -> Person:
    return Person(tmp_path, "acme")


def rename(person: Person, reference: str, new: str, opened: Mapping[Path, str] | None = None) -> Renaming:
    """Plan it, and do what an editor then does."""
    found = rename_item(person.library, reference, new, opened or {})
    for change in found.changes:
        change.path.write_bytes(applied(change.text, change.edits).encode())
    if found.source != found.target:
        found.target.parent.mkdir(parents=True, exist_ok=True)
        found.source.rename(found.target)
    return found


def texts(person: Person) -> str:
    files = [path for path in person.folder.rglob("*") if path.is_file()]
    return "\n".join(path.read_text("utf-8") for path in sorted(files))


def test_every_text_of_the_project_names_the_new_id(shop: Person) -> None:
    shop.write(".ai/tools/shell/docker.py", tool("shell/docker"))
    shop.write(".ai/tools/shell/podman.py", tool("shell/podman"))
    shop.write(".ai/knowledge/notes/use.md", "# Use\r\n\r\nacme/shell/docker-compose is not acme/shell/docker.\r\n")
    shop.write(
        ".ai/bundles/all.bundle.toml",
        '[bundle]\nname = "all"\nversion = "1.0.0"\ndescription = "All"\nmembers = ["tool:acme/shell/docker@1.0.0"]\n',
    )
    text = directive("work/ship", permissions=RIGHTS, depends=[("tool:acme/shell/docker", "^1")])
    shop.write(".ai/directives/work/ship.md", text.replace("Do the work.", f"Do {CALL}."))
    shop.write(".ai/overrides/other/work/x.md", "Use acme/shell/docker.\n")
    shop.write(
        "rye.toml",
        '[project]\nnamespace = "acme"\n\n[policy.risk]\n"rye.execute.tool.acme.shell.docker" = "elevated"\n\n'
        '[sandbox."tool:acme/shell/docker"]\nwrite = ["out/"]\n',
    )
    before = {one["path"]: one["diagnostics"] for one in shop.run("validate", "--json").json["results"]}
    found = rename(shop, "tool:acme/shell/docker", "acme/boxes/run_it")
    assert (found.old, found.new) == ("tool:acme/shell/docker", "tool:acme/boxes/run_it")
    after = texts(shop)
    assert (
        "acme/shell/docker-compose is not acme/boxes/run_it.\r\n"
        in shop.path(".ai/knowledge/notes/use.md").read_bytes().decode()
    )
    assert "docker" not in after.replace("acme/shell/docker-compose", "")
    assert after.count("acme/boxes/run_it") + after.count("acme.boxes.run_it") == 10
    assert "<tool>acme.boxes.run_it</tool><tool>acme/shell/podman</tool>" in after
    now = {one["path"]: one["diagnostics"] for one in shop.run("validate", "--json").json["results"]}
    assert now.pop(".ai/tools/boxes/run_it.py") == before.pop(".ai/tools/shell/docker.py") == []
    assert {path: [each["code"] for each in found] for path, found in now.items()} == {
        path: [each["code"] for each in found] for path, found in before.items()
    }
    assert shop.ok("show", "tool:acme/boxes/run_it", "--json").json["id"] == "acme/boxes/run_it"


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_file_says_its_new_name_itself(shop: Person, kind: str) -> None:
    row = KINDS[kind]
    old, new = ("first_thing", "other_name") if kind == "directive" else ("first-thing", "other-name")
    path = shop.new(kind, f"part/{old}" if row.nested else old)
    path.write_text(finished(path.read_text("utf-8")), "utf-8")
    assert [one["diagnostics"] for one in shop.ok("validate", "--json").json["results"]] == [[]]
    rename(shop, f"{kind}:{old}", f"piece/{new}" if row.nested else new)
    (result,) = shop.ok("validate", "--json").json["results"]
    assert result["diagnostics"] == []
    assert new in result["path"]
    (listed,) = shop.ok("list", "--json", "--space", "project").json["items"]
    assert listed["id"] == (f"acme/piece/{new}" if row.nested else f"acme/{new}")


def test_bare_names_are_renamed_where_they_name_an_item(shop: Person) -> None:
    for name in ("first", "second"):
        path = shop.new("agent", name)
        path.write_text(
            path.read_text("utf-8").replace("onSuccess: complete", "onSuccess: second\n  onFailure: second"), "utf-8"
        )
        path.write_text(path.read_text("utf-8") + "\nThe second word stays.\n", "utf-8")
    for name in ("base", "more"):
        shop.new("formula", name)
    more = shop.path(".ai/formulas/more.formula.toml")
    more.write_text('extends = ["base"]\n' + more.read_text("utf-8"), "utf-8")
    rename(shop, "agent:second", "third")
    rename(shop, "formula:base", "ground")
    assert "onSuccess: third\n  onFailure: third\n" in shop.path(".ai/agents/first.md").read_text("utf-8")
    assert "The second word stays." in shop.path(".ai/agents/first.md").read_text("utf-8")
    assert 'extends = ["ground"]' in more.read_text("utf-8")
    assert 'formula = "ground"' in shop.path(".ai/formulas/ground.formula.toml").read_text("utf-8")


def test_the_last_segment_alone_is_enough_and_a_folder_moves_whole(shop: Person) -> None:
    shop.new("skill", "pdf-tools")
    shop.write(".ai/skills/pdf-tools/scripts/run.sh", "echo\n")
    shop.new("tool", "shell/docker")
    assert rename(shop, "skill:acme/pdf-tools", "documents").target == shop.path(".ai/skills/documents")
    assert shop.path(".ai/skills/documents/scripts/run.sh").is_file()
    assert rename(shop, "tool:acme/shell/docker", "podman").target == shop.path(".ai/tools/shell/podman.py")


def test_an_id_without_a_kind_stays_where_two_items_have_it(shop: Person) -> None:
    shop.new("skill", "plan")
    shop.new("agent", "plan")
    shop.write(".ai/knowledge/notes/use.md", "# Use\n\nacme/plan, skill:acme/plan, agent:acme/plan\n")
    rename(shop, "skill:acme/plan", "draft")
    assert "acme/plan, skill:acme/draft, agent:acme/plan" in shop.path(".ai/knowledge/notes/use.md").read_text("utf-8")


def test_what_an_editor_has_not_saved_counts(shop: Person) -> None:
    shop.new("tool", "shell/docker")
    path = shop.write(".ai/knowledge/notes/use.md", "# Use\n")
    rename(shop, "tool:acme/shell/docker", "podman", {path: "# Use\n\nacme/shell/docker\n"})
    assert path.read_text("utf-8") == "# Use\n\nacme/shell/podman\n"


def test_signatures_that_become_invalid_and_rights_that_are_lost_are_said(tmp_path: Path) -> None:
    shop = project_with_key(tmp_path)
    own_tool(shop, "fs/count")
    own_tool(shop, "fs/other")
    own_directive(shop, "work/ship", "<execute><tool>acme.fs.*</tool></execute>")
    own_directive(shop, "work/send", "<execute><tool>acme.fs.count</tool></execute>")
    found = rename(shop, "tool:acme/fs/count", "acme/net/count")
    assert [(change.path.name, change.signed) for change in found.changes] == [("send.md", True), ("count.py", True)]
    assert found.notes == (
        ".ai/directives/work/ship.md may execute acme/fs/count because of a pattern that does not cover acme/net/count.",
    )
    assert shop.ok("verify", ".ai/directives/work/ship.md")
    for path in (".ai/directives/work/send.md", ".ai/tools/net/count.py"):
        assert shop.run("verify", path).code == 1


@pytest.mark.parametrize(
    ("reference", "new", "code"),
    [
        ("tool:acme/shell/docker", "acme/shell/podman", "already-exists"),
        ("tool:acme/shell/docker", "acme/shell/pod_man", "already-exists"),
        ("tool:acme/shell/docker", "../docker", "bad-argument"),
        ("tool:acme/shell/docker", "Docker", "bad-argument"),
        ("skill:acme/plan", "acme/work/plan", "bad-argument"),
        ("skill:acme/plan", "a" * 65, "bad-argument"),
        ("tool:acme/nothing", "acme/shell/x", "no-such-item"),
    ],
)
def test_what_cannot_be_is_refused(shop: Person, reference: str, new: str, code: str) -> None:
    for name in ("docker", "podman", "pod-man"):
        shop.new("tool", f"shell/{name}")
    shop.new("skill", "plan")
    with pytest.raises(RyeError) as refused:
        rename_item(shop.library, reference, new, {})
    assert refused.value.code == code


def test_installed_items_and_those_of_the_user_keep_their_ids(shop: Person) -> None:
    shop.write(".ai/packages/other/tools/fs/count.py", "x = 1\n")
    with pytest.raises(RyeError) as refused:
        rename_item(shop.library, "tool:other/fs/count", "store", {})
    assert refused.value.code == "installed-item"
