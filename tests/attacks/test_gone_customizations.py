"""A commit that takes an agreed customization away changes what the item says, so it is asked about (DESIGN 6.1).

Each test plays an attack on a rule that the team added to an item, and a control: after a yes, the item is used without it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from rye.consent.ask import Ask
from rye.consent.customized import ShownChange
from rye.consent.memory import Memory
from rye.customization.places import rye_places
from rye.errors import RyeError
from rye.project.context import load_manifest
from rye.registry.store.cache import Cache
from rye.runtime.project_items import ProjectItems
from rye.storage.home import Home
from rye.workspace.customizing.priming import PrimeRequest, prime
from rye.workspace.items.rendering import RenderRequest, render
from rye.workspace.trusting.acceptance import remember
from rye.workspace.trusting.project_changes import project_changes
from tests.customization.override_text import directive
from tests.scenes.effort import rest_thorough
from tests.scenes.installed import install, locked, project_with_targets
from tests.scenes.item_texts import ROLE
from tests.scenes.person import Person

HEAD = '---\nagent: pdf\nbase-version: "1.0.0"\nlast-reviewed: "2026-01-01"\n---\n\n'
SKILL = '---\nname: pdf\ndescription: Fills.\nmetadata:\n  version: "1.0.0"\n---\n\n# pdf\n\n## Rules\n\nBe kind.\n'
FORMULA = (
    'formula = "ship"\ntype = "workflow"\nversion = "1.0.0"\ndescription = "Ship it."\n\n'
    '[[steps]]\nid = "send"\ntitle = "Send"\ndescription = "Send it."\n'
)
THEIRS = b"#!/bin/sh\necho theirs\n"
RULE = "Never send mail."
TEXT, FILES = ".ai/overrides/acme/pdf.overrides.md", ".ai/overrides/acme/pdf.files.toml"
CONTENT = ".ai/overrides/acme/pdf.files/run.sh"
OVERLAY, TOLD = ".ai/formula-overlays/ship.toml", ".ai/role-directives/clerk.md"
TEXTS = {
    TEXT: HEAD + directive("append", "## Rules", RULE),
    FILES: f'[[file]]\npath = "run.sh"\ndo = "replace"\nbase = "{sha256(THEIRS).hexdigest()}"\nreason = "ours"\n',
    OVERLAY: f'[[step-overrides]]\nstep_id = "send"\nmode = "append"\ndescription = "{RULE}"\n',
    TOLD: f"{RULE}\n",
}
ITEMS = {TEXT: "skill:acme/pdf", FILES: "skill:acme/pdf", OVERLAY: "formula:acme/ship", TOLD: "role:acme/clerk"}


@pytest.fixture
def team(tmp_path: Path) -> Person:
    """Someone who agreed to what their team says about installed items."""
    person = project_with_targets(tmp_path, 'targets = ["claude"]')
    install(person, "skill", "acme/pdf", SKILL, attached={"run.sh": THEIRS})
    install(person, "formula", "acme/ship", FORMULA)
    install(person, "role", "acme/clerk", ROLE.replace("Release Manager", "Clerk"))
    for path, text in TEXTS.items():
        person.write(path, text)
    person.write(CONTENT, f"#!/bin/sh\n# {RULE}\n")
    person.accepts()
    return person


def shown(person: Person) -> dict[str, ShownChange]:
    """What the question about the project's customizations has, by its texts."""
    rows = locked(person).items
    asked = project_changes(person.folders, person.project, load_manifest(person.project), rows)
    return {f"{one.item} {one.text}": one.subject for one in asked if one.sort == "customization"}


def lines(person: Person) -> list[str]:
    return [line for one in shown(person).values() for line in one.lines]


def text_of(person: Person, item: str = "skill:acme/pdf") -> str:
    """What the item tells an agent. Raises RyeError."""
    if item.startswith("role"):
        places = rye_places(person.folders, person.project)
        return prime(person.library, PrimeRequest(role="clerk", places=places)).prompt
    return render(person.library, RenderRequest(item)).prompt


def used(person: Person, item: str = "skill:acme/pdf") -> bool:
    """Whether the item's text is handed out, by a command as by the MCP server."""
    said = []
    kind, _, name = item.partition(":")
    server = ProjectItems(person.library, person.project)
    for use in (lambda: text_of(person, item), lambda: server.read(kind, name, runs=False)):
        error = refusal(use)
        assert error in (None, "project-not-accepted")
        said.append(error is None)
    assert len(set(said)) == 1
    return said[0]


def refusal(use: Callable[[], object]) -> str | None:
    try:
        use()
    except RyeError as error:
        return error.code
    return None


@pytest.mark.parametrize(("path", "item"), ITEMS.items(), ids=["override", "files", "overlay", "role directive"])
def test_one_that_was_deleted_is_asked_about_and_what_was_lost_is_shown(team: Person, path: str, item: str) -> None:
    assert used(team, item)
    assert not shown(team)
    team.path(path).unlink()
    assert not used(team, item)
    ((asked, subject),) = shown(team).items()
    assert asked == f"{item} {path} (is gone)"
    assert any(line.startswith("-") and RULE in line for line in subject.lines)
    assert not subject.not_kept
    assert {one for one in set(ITEMS.values()) if not used(team, one)} == {item}
    team.accepts()
    assert used(team, item)
    assert RULE not in text_of(team, item) or path == FILES
    for _ in range(2):  # both states were agreed to, and stay so
        team.write(path, TEXTS[path])
        assert used(team, item)
        team.path(path).unlink()
        assert used(team, item)
    assert not shown(team)


@pytest.mark.parametrize("path", [TEXT, OVERLAY, TOLD])
@pytest.mark.parametrize("rest", ["", "other"])
def test_one_that_was_emptied_or_lost_an_entry_shows_what_was_lost(team: Person, path: str, rest: str) -> None:
    other = {
        TEXT: HEAD + directive("append", "# pdf", "Be quick."),
        OVERLAY: TEXTS[OVERLAY].replace(RULE, "Be quick."),
        TOLD: "Be quick.\n",
    }
    team.write(path, other[path] if rest else HEAD if path == TEXT else "# nothing\n" if path == OVERLAY else "\n")
    found = lines(team)
    assert any(line.startswith("-") and RULE in line for line in found)
    assert any(line.startswith("+") and "Be quick." in line for line in found) is bool(rest)


def test_only_the_state_that_was_agreed_to_last_is_compared_with(team: Person) -> None:
    team.customize(TEXT, HEAD + directive("append", "## Rules", "Ask me first."))
    team.write(TEXT, HEAD + directive("append", "## Rules", "Be quick."))
    found = lines(team)
    assert "-Ask me first." in found
    assert not [line for line in found if RULE in line]
    team.path(TEXT).unlink()
    team.accepts()
    team.write(TEXT, HEAD + directive("append", "## Rules", "Be loud."))
    assert not [line for line in lines(team) if line.startswith("-") and "Ask me" in line]


def _forget_states(person: Person) -> None:
    """As an agreement from before states were remembered."""
    path = Memory(person.folders.data / "accepted", person.folder).path
    assert path is not None
    kept = [line for line in path.read_text().splitlines() if '"customization-state"' not in line]
    path.write_text("\n".join(kept) + "\n")


def _objects(home: Home) -> Iterator[Path]:
    return (path for path in (home.registry_cache / "objects").rglob("*") if path.is_file())


def _clean(person: Person) -> None:
    Cache(person.folders.registry_cache).clean()


def _forge(person: Person) -> None:
    for path in _objects(person.folders):
        path.write_bytes(path.read_bytes().replace(RULE.encode(), b"Be kind."))


@pytest.mark.parametrize("lose", [_forget_states, _clean, _forge])
@pytest.mark.parametrize("change", ["gone", "emptied"])
def test_a_text_that_is_not_kept_is_said_to_be(team: Person, lose: Callable[[Person], None], change: str) -> None:
    for path in (TEXT, OVERLAY, TOLD, FILES):
        if change == "gone":
            team.path(path).unlink()
        else:
            team.write(path, HEAD if path == TEXT else "")
    lose(team)
    found = shown(team)
    assert len(found) == 4
    for one in found.values():
        assert one.not_kept
        assert one.change.history == f"git log -p -- {one.change.shown}"
    assert not [line for one in found.values() for line in one.lines if RULE in line]
    assert refusal(lambda: text_of(team)) is not None


def test_a_cleaned_cache_does_not_matter_while_the_file_is_there(team: Person) -> None:
    _clean(team)
    team.path(FILES).unlink()
    found = shown(team)[f"skill:acme/pdf {FILES} (is gone)"]
    assert found.not_kept
    assert not [line for line in found.lines if line.startswith("-")]  # the other override is in force before and after


def test_agreeing_once_more_keeps_what_counts(team: Person) -> None:
    """After an upgrade, and where the cache was cleaned, ``rye trust project`` is enough, although it asks nothing."""
    for lose in (_forget_states, _clean):
        lose(team)
        team.accepts()
    team.path(TEXT).unlink()
    assert f"-{RULE}" in lines(team)


def test_what_counts_again_is_what_is_compared_with(team: Person) -> None:
    team.customize(TEXT, HEAD + directive("append", "## Rules", "Ask me first."))
    team.customize(TEXT, TEXTS[TEXT])
    team.path(TEXT).unlink()
    assert f"-{RULE}" in lines(team)


@pytest.mark.processes
def test_the_question_on_a_terminal(team: Person) -> None:
    _clean(team)
    Cache(team.folders.registry_cache).put(TEXTS[TEXT].encode())
    for path in (TEXT, TOLD):
        team.path(path).unlink()
    said = team.terminal("trust", "project", answer=b"n\n", env={"NO_COLOR": "1", "COLUMNS": "200"})
    assert f"{TEXT}, which you agreed to, is gone. Without it, skill:acme/pdf changes:" in said
    assert f"-{RULE}" in said
    assert f"not kept here; `git log -p -- {TOLD}` shows it" in said
    assert "no line of its text" not in said


def _spelled(person: Person) -> None:
    person.path(TEXT).rename(person.path(TEXT.replace("pdf.over", "Pdf.over")))


def _with_kind(person: Person) -> None:
    person.path(TEXT).rename(person.path(TEXT.replace("pdf.over", "pdf.skill.over")))


def _other_kind(person: Person) -> None:
    person.path(TEXT).rename(person.path(TEXT.replace("pdf.over", "pdf.role.over")))


def _local_name(person: Person) -> None:
    person.path(TEXT).rename(person.path(".ai/overrides/pdf.overrides.md"))


def _other_folder(person: Person) -> None:
    person.path(".ai/overrides/acme").rename(person.path(".ai/overrides/other"))


def _link(person: Person) -> None:
    person.path(TEXT).unlink()
    person.path(TEXT).symlink_to(person.write("elsewhere", TEXTS[TEXT]))


def _dead_link(person: Person) -> None:
    person.path(TEXT).unlink()
    person.path(TEXT).symlink_to("nowhere")


def _folder(person: Person) -> None:
    person.path(TEXT).unlink()
    person.path(TEXT).mkdir()


def _pipe(person: Person) -> None:
    person.path(TEXT).unlink()
    os.mkfifo(person.path(TEXT))


def _not_text(person: Person) -> None:
    person.write(TEXT, b"\xff\xfe")


def _whole_folder(person: Person) -> None:
    shutil.rmtree(person.path(".ai/overrides"))


def _all_folders(person: Person) -> None:
    for name in ("overrides", "formula-overlays", "role-directives"):
        shutil.rmtree(person.path(f".ai/{name}"))


def _file_for_folder(person: Person) -> None:
    _whole_folder(person)
    person.write(".ai/overrides", "")


def _link_for_folder(person: Person) -> None:
    person.path(".ai/overrides").rename(person.path("moved"))
    person.path(".ai/overrides").symlink_to("nowhere")


def _hidden(person: Person) -> None:
    person.write(TEXT.replace("pdf.over", "pdf.skill.over"), HEAD)


@pytest.mark.parametrize(
    "act",
    rest_thorough(
        8,
        [
            _spelled,
            _other_kind,
            _other_folder,
            _link,
            _pipe,
            _not_text,
            _whole_folder,
            _hidden,
            _with_kind,
            _local_name,
            _dead_link,
            _folder,
            _all_folders,
            _file_for_folder,
            _link_for_folder,
        ],
    ),
)
def test_no_way_to_take_it_away_leaves_the_item_as_its_author_wrote_it(
    team: Person, act: Callable[[Person], None]
) -> None:
    act(team)
    assert refusal(lambda: text_of(team)) is not None  # also where the file cannot be read
    assert [one for one in shown(team) if one.startswith(f"skill:acme/pdf {TEXT} (")]
    team.run("deploy")
    assert not team.path(".claude/skills/pdf").exists()


def test_contents_of_an_override_of_files_belong_to_it(team: Person) -> None:
    shutil.rmtree(team.path(CONTENT).parent)
    assert refusal(lambda: text_of(team)) is not None
    assert f"-# {RULE}" in lines(team)


def test_of_two_overrides_of_an_item_one_goes(team: Person) -> None:
    team.path(TEXT).unlink()
    assert list(shown(team)) == [f"skill:acme/pdf {TEXT} (is gone)"]
    assert not [line for line in lines(team) if "echo theirs" in line]
    team.accepts()
    team.path(FILES).unlink()
    assert list(shown(team)) == [f"skill:acme/pdf {FILES} (is gone)"]
    assert "+echo theirs" in lines(team)


def test_another_release_in_the_same_pull_does_not_answer_the_question(team: Person) -> None:
    install(team, "skill", "acme/pdf", SKILL.replace("1.0.0", "1.1.0"), attached={"run.sh": THEIRS}, version="1.1.0")
    team.path(TEXT).unlink()
    assert not used(team)
    assert f"-{RULE}" in lines(team)


def test_an_id_that_no_longer_means_the_item(team: Person) -> None:
    """Another item of the same short name takes the file's name away from it, and the file stays."""
    team.path(TEXT).rename(team.path(".ai/overrides/pdf.overrides.md"))
    team.accepts()
    assert used(team)
    team.write(".ai/skills/pdf/SKILL.md", SKILL)
    assert not used(team)
    assert "skill:acme/pdf .ai/overrides/pdf.overrides.md (no longer counts)" in shown(team)


def test_an_item_that_is_not_there_any_more_asks_nothing(team: Person) -> None:
    rows = [one for one in locked(team).items if one.kind != "skill"]
    shutil.rmtree(team.path(".ai/packages/acme/skills"))
    team.path(TEXT).unlink()
    team.path(FILES).unlink()
    asked = project_changes(team.folders, team.project, load_manifest(team.project), rows)
    assert not asked


def test_what_nobody_agreed_to_can_go_silently(team: Person) -> None:
    team.write(".ai/overrides/acme/clerk.overrides.md", HEAD.replace("pdf", "clerk"))
    assert not used(team, "role:acme/clerk")
    team.path(".ai/overrides/acme/clerk.overrides.md").unlink()
    assert used(team, "role:acme/clerk")
    assert not shown(team)


def test_a_user_s_own_override_can_go_silently(team: Person) -> None:
    own = Path(team.environment["RYE_USER_SPACE"], "overrides/acme/pdf.overrides.md")
    own.parent.mkdir(parents=True)
    own.write_text(HEAD + directive("append", "# pdf", "Be quick."))
    assert used(team)
    own.unlink()
    assert used(team)
    assert not shown(team)


@pytest.fixture
def author(tmp_path: Path) -> Person:
    """Someone with an item of their own that a team's override changes."""
    person = Person(tmp_path, "acme")
    person.write(".ai/skills/pdf/SKILL.md", SKILL)
    person.customize(".ai/overrides/pdf.overrides.md", TEXTS[TEXT])
    return person


def test_an_own_item(author: Person) -> None:
    assert used(author)
    author.path(".ai/overrides/pdf.overrides.md").unlink()
    assert not used(author)
    assert f"-{RULE}" in lines(author)
    assert RULE not in render(author.library, RenderRequest("skill:acme/pdf", base=True)).prompt


def test_an_own_item_that_gets_another_namespace_in_the_same_commit(author: Person) -> None:
    author.path(".ai/overrides/pdf.overrides.md").unlink()
    manifest = author.path("rye.toml").read_text()
    for namespace, item in (('namespace = "other"\n', "skill:other/pdf"), ("", "skill:pdf")):
        author.write("rye.toml", manifest.replace('namespace = "acme"\n', namespace))
        assert not used(author, item)
        assert list(shown(author)) == [f"{item} .ai/overrides/pdf.overrides.md (is gone)"]
        assert f"-{RULE}" in lines(author)
    author.accepts()
    assert used(author, "skill:pdf")


def test_a_file_under_its_former_name_does_not_take_the_question_away(author: Person) -> None:
    """The signature stays valid, so that the item would be deployed; a file that nobody signed has its name of before."""
    author.write("rye.toml", f'{author.path("rye.toml").read_text()}\n[deploy]\ntargets = ["claude"]\n')
    author.ok("keys", "generate")
    author.ok("sign", ".ai/skills/pdf/SKILL.md")
    author.ok("deploy")
    author.path(".ai/overrides/pdf.overrides.md").unlink()
    author.write("rye.toml", author.path("rye.toml").read_text().replace('namespace = "acme"', 'namespace = "other"'))
    author.write(".ai/packages/acme/skills/pdf/SKILL.md", SKILL)
    assert not used(author, "skill:other/pdf")
    assert "skill:other/pdf .ai/overrides/pdf.overrides.md (is gone)" in shown(author)
    author.run("deploy")
    assert not author.path(".claude/skills/pdf").exists()
    author.accepts()
    author.ok("deploy")
    assert author.path(".claude/skills/pdf/SKILL.md").exists()


def test_an_own_item_has_nothing_to_do_with_an_installed_one_of_the_same_name(team: Person) -> None:
    team.write(".ai/skills/pdf/SKILL.md", SKILL)
    assert not [one for one in shown(team) if one.startswith("skill:pdf ")]
    team.path(TEXT).unlink()
    assert list(shown(team)) == [f"skill:acme/pdf {TEXT} (is gone)"]


@pytest.mark.parametrize("agreed", [True, False])
def test_what_a_command_of_rye_s_removes_counts_as_agreed_to(author: Person, agreed: bool) -> None:
    """``rye doctor --fix`` removes an overlay that has nothing left; one that nobody agreed to still waits for an answer."""
    author.write(".ai/formulas/ship.formula.toml", FORMULA)
    author.customize(OVERLAY, TEXTS[OVERLAY])
    stale = TEXTS[OVERLAY].replace('"send"', '"gone"')
    author.write(OVERLAY, stale)
    if agreed:
        author.accepts()
    author.run("doctor", "--fix")
    assert not author.path(OVERLAY).exists()
    assert used(author, "formula:acme/ship") is agreed


def test_a_new_file_by_rye_in_its_place_does_not_answer_the_question(author: Person) -> None:
    author.path(".ai/overrides/pdf.overrides.md").unlink()
    author.ok("override", "new", "pdf", "# pdf", "--append", "--reason", "ours")
    assert not used(author)
    assert f"-{RULE}" in lines(author)
    author.accepts()
    author.path(".ai/overrides/pdf.overrides.md").unlink()
    author.accepts()
    author.ok("override", "new", "pdf", "# pdf", "--append", "--reason", "again")
    assert used(author), "the control: it was agreed to that there is none"


def test_a_run_that_trusts_others_is_told(team: Person) -> None:
    team.path(TEXT).unlink()
    trusting = team.elsewhere(team.folder, RYE_TRUST_LOCK="1")
    assert used(trusting)
    assert not used(team)
    told = trusting.run("deploy")
    assert f"{TEXT} (is gone) → skill:acme/pdf" in told.stdout + told.stderr
    assert "This project changes" not in told.stdout + told.stderr, "it no longer does"


def test_a_deploy_leaves_the_item_out_and_deploys_the_others(team: Person) -> None:
    team.path(TEXT).unlink()
    team.path(TOLD).unlink()
    team.run("deploy")
    assert not team.path(".claude/skills/pdf").exists()
    assert not list(team.path(".claude").rglob("*clerk*"))
    assert list(team.path(".claude").rglob("*ship*"))
    team.accepts()
    team.ok("deploy")
    assert team.path(".claude/skills/pdf/SKILL.md").exists()


def test_what_reports_names_it_in_words(author: Person) -> None:
    author.path(".ai/overrides/pdf.overrides.md").unlink()
    told = author.run("verify").stderr
    assert ".ai/overrides/pdf.overrides.md is gone, which changes what .ai/skills/pdf/SKILL.md says" in told
    checks = {one["name"]: one for one in author.run("check", "--json").json["checks"]}
    assert "pdf.overrides.md is gone, which changes it, not agreed" in str(checks["verify"])
    assert checks["audit"]["status"] == "error"
    assert "pdf.overrides.md is gone, which changes skill:acme/pdf, and you" in author.run("audit").stdout
    assert [one["state"] for one in author.ok("list", "--json").json["items"]] == ["not-agreed"]
    warned = author.ok("diff", "pdf", "--effective").stderr
    assert "so nothing uses it: .ai/overrides/pdf.overrides.md (is gone)" in warned
    (judged,) = author.run("verify", "--json").json["results"]
    assert judged["not_agreed"] == [".ai/overrides/pdf.overrides.md"]


def test_an_older_rye_s_lines_and_forged_ones_break_nothing(team: Person) -> None:
    asks = [
        Ask("skill:acme/pdf .ai/overrides/x.overrides.md", "customization-state", "not a hash"),
        Ask("skill:acme/pdf", "customization", ".ai/overrides/x.overrides.md (sha256 00)"),
        Ask('skill:acme/"pdf', "customization", '.ai/"\\ (sha256 00)'),
        Ask("skill:acme/pdf", "customization", "no state"),
    ]
    assert remember(team.folders, team.project, asks)
    found = shown(team)
    assert list(found) == ["skill:acme/pdf .ai/overrides/x.overrides.md (is gone)"]
    assert all(one.not_kept for one in found.values())
