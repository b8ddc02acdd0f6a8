"""Marketplaces and the well-known index (docs/how-to/agents.md): deterministic, against files that other
implementations can use.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shutil
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from rye.errors import RyeError
from rye.registry.export_folder import write_export
from rye.registry.marketplaces import (
    Export,
    SharedAgent,
    SharedFile,
    SharedSkill,
    archive,
    claude_marketplace,
    codex_marketplace,
    well_known,
)
from tests.scenes.installed import install, project_with_targets
from tests.scenes.item_texts import agent, bound, skill
from tests.scenes.registry import Registry
from tests.scenes.registry_process import run

VECTORS = Path(__file__).parents[1] / "vectors/marketplaces"
FORMAT = SharedSkill(
    "acme",
    "format",
    "1.2.0",
    "Formats “text”.",
    {
        "SKILL.md": SharedFile(b"---\nname: format\ndescription: Formats text.\n---\n\nFormat it.\n"),
        "scripts/run.sh": SharedFile(b"#!/bin/sh\necho done\n", True),
    },
)
PLAIN = SharedSkill(
    "beta", "plain", "0.1.0", "Plain.", {"SKILL.md": SharedFile(b"---\nname: plain\ndescription: Plain.\n---\n")}
)
TWIN = SharedSkill("beta", "format", "3.0.0", "Another.", PLAIN.files)
REVIEWER = SharedAgent("acme", "reviewer.md", "2.0.0-rc.1", b"---\nname: reviewer\ndescription: x\n---\n")


def listed(export: Export) -> str:
    """An export in the form of the vectors: one line for each file, then the JSON files."""
    lines = [
        f"{sha256(file.data).hexdigest()} {'x' if file.executable else '-'} {path}"
        for path, file in sorted(export.items())
    ]
    texts = [f"== {path}\n{file.data.decode()}" for path, file in sorted(export.items()) if path.endswith(".json")]
    return "\n".join([*lines, "", *texts])


@pytest.mark.parametrize(
    ("name", "export"),
    [
        ("claude.txt", claude_marketplace("Shop of Acme", [PLAIN, FORMAT], [REVIEWER])),
        ("codex.txt", codex_marketplace("Shop of Acme", [PLAIN, FORMAT])),
        ("well-known.txt", well_known([PLAIN, FORMAT])),
        ("well-known-acme.txt", well_known([FORMAT], "/acme")),
    ],
)
def test_the_vectors(name: str, export: Export) -> None:
    assert listed(export) == (VECTORS / name).read_text("utf-8")


def test_the_order_of_items_makes_no_difference() -> None:
    assert claude_marketplace("x", [PLAIN, FORMAT]) == claude_marketplace("x", [FORMAT, PLAIN])
    assert well_known([PLAIN, FORMAT]) == well_known([FORMAT, PLAIN])


def test_a_name_that_two_namespaces_have_is_in_no_common_index() -> None:
    rows = json.loads(well_known([PLAIN, FORMAT, TWIN])[".well-known/agent-skills/index.json"].data)["skills"]
    assert [row["name"] for row in rows] == ["plain"]


def test_the_archive_can_be_read_and_its_hash_is_the_index_s() -> None:
    data = archive(FORMAT.files)
    assert len(gzip.decompress(data)) % 512 == 0
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert [(one.name, one.mode, one.mtime, one.uname) for one in tar] == [
            ("SKILL.md", 0o644, 0, ""),
            ("scripts/run.sh", 0o755, 0, ""),
        ]
    export = well_known([FORMAT])
    (row,) = json.loads(export[".well-known/agent-skills/index.json"].data)["skills"]
    assert row["digest"] == f"sha256:{sha256(export[row['url'].lstrip('/')].data).hexdigest()}"
    assert row["files"] == ["SKILL.md", "scripts/run.sh"]
    large = {"SKILL.md": SharedFile(b"x" * 200_000)}
    assert b"x" * 200_000 in gzip.decompress(archive(large))


def test_what_left_the_export_leaves_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write_export(folder, claude_marketplace("x", [PLAIN, FORMAT]))
    (folder / "README.md").write_text("mine")
    assert write_export(folder, claude_marketplace("x", [PLAIN, FORMAT])) == 0
    write_export(folder, claude_marketplace("x", [PLAIN]))
    assert not (folder / "plugins/acme").exists()
    assert (folder / "README.md").read_text() == "mine"


@pytest.mark.parametrize("list_", [None, '["../../x"]', '["/etc/passwd"]', '[".."]', "{}", "["])
def test_a_folder_of_somebody_else_s_is_refused(tmp_path: Path, list_: str | None) -> None:
    (tmp_path / "mine").write_text("x")
    if list_ is not None:
        (tmp_path / ".rye-export.json").write_text(list_)
    with pytest.raises(RyeError, match="export"):
        write_export(tmp_path, {})
    assert (tmp_path / "mine").exists()


@pytest.mark.parametrize("list_", ['[".git/config"]', '["a/.GIT/hooks/x"]'])
def test_a_committed_list_takes_nothing_from_git(tmp_path: Path, list_: str) -> None:
    (tmp_path / ".rye-export.json").write_text(list_)
    with pytest.raises(RyeError, match="not a list"):
        write_export(tmp_path, {})


@pytest.mark.parametrize("place", ["", ".rye-export.json", "link", "plugins", "plugins/acme", ".claude-plugin"])
def test_an_export_writes_and_removes_nothing_through_a_committed_link(tmp_path: Path, place: str) -> None:
    """A marketplace is committed, so its folder, its list and its links come from anyone who can commit."""
    folder, outside = tmp_path / "out", tmp_path / "home"
    outside.mkdir()
    (outside / "id_rsa").write_text("mine")
    if place == ".rye-export.json":
        (outside / "id_rsa").write_text('["x"]')
    else:
        (outside / ".rye-export.json").write_text('["id_rsa"]')
    if place:
        folder.mkdir()
        (folder / ".rye-export.json").write_text('["link/id_rsa"]')
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).unlink(missing_ok=True)
    (folder / place).symlink_to(outside / "id_rsa" if place == ".rye-export.json" else outside)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    with pytest.raises(RyeError, match="symbolic link"):
        write_export(folder, claude_marketplace("x", [PLAIN, FORMAT]))
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before


@pytest.mark.parametrize("swapped", ["plugins/beta", "plugins", ""])
@pytest.mark.parametrize("moment", ["replace", "unlink", "rmdir"])
def test_a_link_that_takes_a_folder_s_place_after_the_check_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str, moment: str
) -> None:
    """Another program exchanges a folder for a link just before Rye writes, or removes, what is in it."""
    folder, outside = tmp_path / "out", tmp_path / "home"
    write_export(folder, claude_marketplace("x", [PLAIN, FORMAT]))
    left = [PLAIN] if moment == "replace" else [FORMAT]
    shutil.copytree(folder / swapped, outside)
    for path in (folder / "plugins/beta").rglob("*.md"):
        path.write_bytes(b"older")
    before = {str(path): path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    real, done = getattr(os, moment), list[Any]()

    def exchanged(*given: Any, **named: Any) -> Any:
        if not done:
            done.append(given)
            (folder / swapped).rename(tmp_path / "moved")
            (folder / swapped).symlink_to(outside, target_is_directory=True)
        return real(*given, **named)

    monkeypatch.setattr(os, moment, exchanged)
    with contextlib.suppress(RyeError):
        write_export(folder, claude_marketplace("x", left))
    monkeypatch.undo()
    assert done
    assert {str(path): path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before


def test_a_project_exports_what_it_would_deploy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rye.deployment.exporting.withdrawn", lambda *_: ({}, ()))
    shop = project_with_targets(tmp_path)
    install(shop, "skill", "acme/pdf", skill("pdf"))
    install(shop, "skill", "beta/pdf", skill("pdf"))
    install(shop, "skill", "beta/risky", skill("risky", more="allowed-tools: Bash\n"))
    install(shop, "agent", "acme/one", agent("one"))
    install(shop, "directive", "acme/work/ship", bound())
    done = shop.run("deploy", "export", "--for", "claude", "out", "--json")
    assert done.code == 1
    assert done.json["items"] == ["acme/one.md", "acme/pdf", "beta/pdf"]
    assert {(row["item"], row["code"]) for row in done.json["refused"]} == {
        ("skill:beta/risky", "deploy-widening"),
        ("directive:acme/work/ship", "deploy-inexpressible"),
    }
    assert shop.path("out/plugins/acme/agents/one.md").exists()
    marketplace = json.loads(shop.path("out/.claude-plugin/marketplace.json").read_text())
    assert [row["source"] for row in marketplace["plugins"]] == ["./plugins/acme", "./plugins/beta"]
    shop.run("deploy", "export", "--for", "codex", "codex")
    assert shop.path("codex/plugins/acme/.codex-plugin/plugin.json").exists()
    shop.run("deploy", "export", "--for", "well-known", "site")
    index = json.loads(shop.path("site/.well-known/agent-skills/index.json").read_text())
    assert index["skills"] == []  # two have the name
    assert shop.run("deploy", "export", "out", "--json").error["code"] == "usage"


@pytest.mark.processes
def test_what_was_yanked_leaves_every_export(registry: Registry, tmp_path: Path) -> None:
    author = registry.owner("acme")
    for name in ("kept", "gone"):
        author.write(f".ai/skills/{name}/SKILL.md", skill(name))
        author.ok("sign", f".ai/skills/{name}/SKILL.md")
        author.publish(f".ai/skills/{name}")
    user = registry.user()
    user.ok("add", "skill:acme/kept", "skill:acme/gone", "-y")
    user.ok("deploy", "export", "--for", "claude", "out")
    assert user.path("out/plugins/acme/skills/gone/SKILL.md").exists()
    plugins = tmp_path / "plugins"
    run("export", "--plugins", str(plugins), "--data", str(registry.data))
    signed = user.path(".ai/packages/acme/skills/gone/SKILL.md").read_bytes()
    assert (plugins / "plugins/acme/skills/gone/SKILL.md").read_bytes() == signed
    author.ok("yank", "skill:acme/gone@1.0.0", "--reason", "broken", "-y")
    done = user.ok("deploy", "export", "--for", "claude", "out", "--json").json
    assert (done["withdrawn"], done["items"]) == (["skill:acme/gone"], ["acme/kept"])
    assert not user.path("out/plugins/acme/skills/gone").exists()
    assert (
        "skill:acme/gone is not in the export: its release was yanked."
        in user.ok("deploy", "export", "--for", "claude", "out").stderr
    )
    user.ok("trust", "revoke", author.fingerprint(), "--yes")
    told = user.ok("deploy", "export", "--for", "claude", "out").stderr
    assert "skill:acme/kept is not in the export: its signing key was revoked, by its owners or by you." in told
    run("export", "--plugins", str(plugins), "--data", str(registry.data))
    assert not (plugins / "plugins/acme/skills/gone").exists()
    index = json.loads((plugins / "acme/.well-known/agent-skills/index.json").read_text())
    assert [(row["name"], row["url"]) for row in index["skills"]] == [
        ("kept", "/acme/.well-known/agent-skills/kept/SKILL.md")
    ]
