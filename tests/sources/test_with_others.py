"""Sources combined with registries, the user's trust store, deploy, publish, the cache and an older lock."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rye.project.lock import parse_lock
from rye.project.manifest import parse_manifest
from rye.workspace.registries.source_book import pinned_namespaces
from tests.scenes.directive_text import directive
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.sources.git_server import GitServer
from tests.sources.texts import skill

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/base", "1.0.0")
    author.release("work/base", "2.0.0")
    return author


def rows(person: Person) -> dict[str, str]:
    return {str(row.identity): row.version for row in parse_lock(person.path("rye.lock").read_text()).items}


def test_an_item_of_a_source_may_depend_on_a_registrys(server: GitServer, registry: Registry, acme: Person) -> None:
    user = registry.user()
    needs = skill("main", 'metadata:\n  dependencies: "directive:acme/work/base@^1.0"')
    server.repository("kit").commit({"main/SKILL.md": needs, "plain/SKILL.md": skill("plain")})
    user.ok("add", f"git+{server.url('kit')}", "main", "-y")
    assert rows(user)["directive:acme/work/base"] == "1.0.0"
    assert rows(user).keys() == {"skill:kit/main", "directive:acme/work/base"}
    assert user.ok("tree").stdout.count("directive:acme/work/base 1.0.0") == 1
    user.ok("ci")
    user.ok("update", "-y")
    assert user.ok("audit", "--json").json["findings"][0]["rule"] == "unsigned"
    colleague = registry.colleague(user)
    for name in ("rye.toml", "rye.lock"):
        shutil.copy(user.path(name), colleague.folder)
    colleague.ok("ci", "--trust-lock")


@pytest.mark.thorough
def test_a_manifest_in_the_repository_gives_the_range_that_its_item_leaves_out(
    server: GitServer, registry: Registry, acme: Person
) -> None:
    user = registry.user()
    server.repository("kit").commit(
        {
            "rye.toml": '[dependencies]\n"acme/work/base" = "^1.0"\n',
            ".ai/skills/main/SKILL.md": skill("main", 'metadata:\n  dependencies: "directive:acme/work/base"'),
        }
    )
    user.ok("add", f"git+{server.url('kit')}", "-y")
    assert rows(user)["directive:acme/work/base"] == "1.0.0"


def test_what_a_source_needs_and_nobody_has_is_an_error(server: GitServer, registry: Registry, acme: Person) -> None:
    user = registry.user()
    needs = skill("main", 'metadata:\n  dependencies: "directive:acme/work/missing"')
    server.repository("kit").commit({"main/SKILL.md": needs})
    refused = user.run("add", f"git+{server.url('kit')}", "-y", "--json")
    assert refused.error["code"] == "unresolved-reference"
    assert not user.path("rye.lock").exists()


def test_a_pinned_registrys_namespace_is_no_sources_name(server: GitServer, registry: Registry, acme: Person) -> None:
    user = registry.user()
    user.ok("add", "acme/work/base", "-y")
    server.repository("acme").commit({"x/SKILL.md": skill("x")})
    refused = user.run("add", f"git+{server.url('acme')}", "-y", "--json")
    assert refused.error["code"] == "source-name-taken"
    user.ok("add", f"git+{server.url('acme')}", "--as", "theirs", "-y")
    text = user.path("rye.toml").read_text()
    user.path("rye.toml").write_text(text.replace("theirs", "acme"))
    assert user.run("install", "-y", "--json").error["code"] == "source-name-taken"


@pytest.mark.thorough
def test_the_same_repository_with_another_folder_can_be_listed_and_the_hint_says_how_to_add_it(
    server: GitServer, registry: Registry, acme: Person
) -> None:
    user = registry.user()
    server.repository("kit").commit({"a/SKILL.md": skill("a"), "b/SKILL.md": skill("b")})
    address = f"git+{server.url('kit')}"
    user.ok("add", f"{address}#main:a", "-y")
    listed = user.ok("add", address, "--list", "--json").json
    assert [one["name"] for one in listed["items"]] == ["a", "b"]
    refused = user.fails("add", address, "b", "-y", code="source-name-taken")
    assert "take `path` out of 'kit'" in refused["hint"]
    text = user.path("rye.toml").read_text()
    assert text.count("kit") == 3, "the list wrote nothing"
    user.path("rye.toml").write_text(text.replace(', path = "a"', ""))
    user.ok("add", f"{address}#main", "b", "-y")


def test_names_that_only_hyphens_and_underlines_tell_apart_are_one(registry: Registry, acme: Person) -> None:
    """A reference reads `-` and `_` alike, so both could not be named any more."""
    user = registry.user()
    for name in ("my-kit", "my_kit"):
        user.write(f"../{name}/pdf/SKILL.md", skill("pdf"))
    user.ok("add", "../my-kit", "pdf", "-y")
    refused = user.run("add", "../my_kit", "pdf", "-y", "--json")
    assert (refused.error["code"], "'my-kit'" in refused.error["message"]) == ("source-name-taken", True)
    user.ok("add", "../my_kit", "pdf", "--as", "other", "-y")
    user.ok("render", "skill:my-kit/pdf")

    registry.owner("far-away").release("work/x")
    user.ok("info", "far-away/work/x")
    text = user.path("rye.toml").read_text()
    user.path("rye.toml").write_text(text.replace("other", "far_away"))
    refused = user.run("install", "-y", "--json")
    assert (refused.error["code"], "read like 'far-away'" in refused.error["message"]) == ("source-name-taken", True)


def test_an_exact_id_wins_over_one_that_is_only_read_alike(tmp_path: Path) -> None:
    user = Person(tmp_path)
    for name in ("my-kit", "my_kit"):
        user.write(f".ai/skills/{name}/SKILL.md", skill(name))
    assert "my-kit" in user.ok("render", "skill:my-kit").stdout


def test_a_namespace_that_a_stranger_claims_later_stops_no_locked_project(
    server: GitServer, registry: Registry, acme: Person
) -> None:
    user = registry.user()
    user.ok("add", "acme/work/base", "-y")
    server.repository("later").commit({"x/SKILL.md": skill("x"), "y/SKILL.md": skill("y")})
    user.ok("add", f"git+{server.url('later')}", "x", "-y")
    stranger = registry.owner("later")
    stranger.release("work/evil")
    user.ok("search", "evil")
    assert "later" in pinned_namespaces(user.folders)
    for words in (("ci",), ("install",), ("sbom",), ("audit",), ("lock",), ("remove", "acme/work/base")):
        done = user.ok(*words)
        assert "evil" not in done.stdout
    assert rows(user)["skill:later/x"].startswith("0.0.0+g")
    again = user.run("add", f"git+{server.url('later')}", "y", "-y")
    assert (again.code, "stays the source, as rye.lock says" in again.stderr) == (0, True)
    user.path("rye.lock").unlink()
    assert user.run("install", "-y", "--json").error["code"] == "source-name-taken"


READS_A_LOCK = (
    ("ci",),
    ("install",),
    ("install", "--locked"),
    ("sbom",),
    ("audit",),
    ("lock",),
    ("lock", "--check"),
    ("outdated",),
    ("update", "-y"),
    ("deploy", "--target", "claude"),
    ("list",),
    ("tree",),
    ("info", "claimed/x"),
    ("show", "skill:claimed/x"),
    ("render", "skill:claimed/x"),
    ("doctor",),
    ("search", "claimed", "--local"),
    ("remove", "claimed/y", "-y"),
)


@pytest.mark.thorough
def test_every_command_that_reads_a_lock_goes_on_when_a_stranger_claims_a_sources_name(
    server: GitServer, registry: Registry, acme: Person
) -> None:
    """The stranger even publishes items of the same kind and name; a colleague, who never saw the source, is no worse off."""
    user = registry.user()
    user.ok("add", "acme/work/base", "-y")
    server.repository("claimed").commit({"x/SKILL.md": skill("x"), "y/SKILL.md": skill("y")})
    user.ok("add", f"git+{server.url('claimed')}", "--all", "-y")
    stranger = registry.owner("claimed")
    stranger.write(".ai/skills/x/SKILL.md", skill("x", 'metadata:\n  version: "9.0.0"', body="Evil."))
    stranger.ok("sign", ".ai/skills/x")
    stranger.publish(".ai/skills/x")
    user.ok("search", "claimed")
    assert "claimed" in pinned_namespaces(user.folders)
    before = user.path("rye.lock").read_bytes()
    colleague = registry.colleague(user)
    for name in ("rye.toml", "rye.lock"):
        shutil.copy(user.path(name), colleague.folder)
    colleague.ok("ci", "--trust-lock")
    for words in READS_A_LOCK:
        if words[0] == "remove":
            assert user.path("rye.lock").read_bytes() == before
        done = user.ok(*words)
        assert "Evil" not in done.stdout, words
        assert "9.0.0" not in done.stdout, words
    assert rows(user)["skill:claimed/x"].startswith("0.0.0+g")
    assert "Evil" not in user.path(".claude/skills/x/SKILL.md").read_text()
    said = served(user, "skill:claimed/x")
    assert "Read the document." in said
    assert "Evil" not in said


def served(person: Person, name: str) -> str:
    """What ``rye mcp serve`` answers to a load of an item."""
    kind, _, identifier = name.partition(":")
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "rye_load", "arguments": {"item_type": kind, "item_id": identifier}},
        },
    )
    with subprocess.Popen(
        [sys.executable, "-m", "rye", "mcp", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=person.folder,
        env=person.environment,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            for message in messages:
                process.stdin.write(json.dumps(message) + "\n")
                process.stdin.flush()
                answer = process.stdout.readline() if "id" in message else ""
            return answer
        finally:
            process.kill()


def test_no_registry_is_asked_about_a_source(server: GitServer, registry: Registry, acme: Person) -> None:
    user = registry.user()
    server.repository("kit").commit({"x/SKILL.md": skill("x")})
    user.ok("add", f"git+{server.url('kit')}", "-y")
    info = user.ok("info", "kit/x", "--json").json
    assert (info["registry"], info["signers"]) == (None, [])
    assert info["signer"].startswith("none (git commit ")
    assert user.run("yank", "skill:kit/x@1.0.0", "--reason", "x", "-y", "--json").code != 0


def test_what_needs_a_source_is_not_published(server: GitServer, registry: Registry, acme: Person) -> None:
    server.repository("kit").commit({"x/SKILL.md": skill("x")})
    author = registry.owner("giver")
    author.ok("add", f"git+{server.url('kit')}", "-y")
    path = author.directive("work/mine", depends=(("skill:kit/x", "*"),))
    refused = author.run("publish", path, "--allow-uncommitted", "-y", "--json")
    assert refused.error["code"] == "needs-a-source"
    assert "kit/x" in refused.error["message"]
    plain = author.directive("work/plain")
    author.ok("publish", plain, "--allow-uncommitted", "-y")


def signed_text(author: Person, local_id: str, version: str = "1.0.0") -> str:
    """A directive with an in-file signature."""
    path = author.write(f".ai/directives/{local_id}.md", directive(local_id, version))
    author.ok("sign", str(path))
    return path.read_text()


@pytest.fixture
def author(tmp_path: Path) -> Person:
    found = Person(tmp_path / "author")
    found.ok("init", "--namespace", "acme")
    found.ok("keys", "generate")
    return found


def public_key(author: Person) -> str:
    return next((author.home / "config" / "keys").glob("*.pub")).read_text()


def test_an_in_file_signature_by_a_trusted_key_counts_and_by_another_does_not(
    server: GitServer, person: Person, author: Person
) -> None:
    repository = server.repository("kit")
    repository.commit({".ai/directives/work/one.md": signed_text(author, "work/one")})
    words = ("add", f"git+{server.url('kit')}", "-y")
    person.ok(*words)
    assert person.ok("list", "--json").json["items"][0]["signer"].startswith("none (git commit ")
    person.write("acme.pem", public_key(author))
    person.ok("trust", "add", "acme.pem", "-y")
    person.ok("install")
    assert person.ok("list", "--json").json["items"][0]["signer"].startswith("SHA256:")
    assert "signer = " not in person.path("rye.lock").read_text()  # the lock is the same for everyone
    text = person.path("rye.toml").read_text()
    person.path("rye.toml").write_text(f'{text}\n[policy]\nsources = "signed"\n')
    person.ok("ci")
    person.ok("update", "-y")
    changed = signed_text(author, "work/one").replace("Do the work.", "Do it twice.")
    assert "Do it twice." in changed
    repository.commit({".ai/directives/work/one.md": changed})
    refused = person.run("update", "-y", "--json")
    assert refused.error["code"] == "source-item-unusable"
    assert "signature is not valid (modified)" in refused.error["message"]


def test_an_update_that_drops_the_signature_stops(server: GitServer, person: Person, author: Person) -> None:
    repository = server.repository("kit")
    repository.commit({".ai/directives/work/one.md": signed_text(author, "work/one")})
    person.write("acme.pem", public_key(author))
    person.ok("trust", "add", "acme.pem", "-y")
    person.ok("add", f"git+{server.url('kit')}", "-y")
    repository.commit({".ai/directives/work/one.md": directive("work/one", "1.0.1")})
    refused = person.run("update", "-y", "--json")
    assert refused.error["code"] == "consent-needed"
    assert "is no longer signed" in refused.error["message"]


@pytest.mark.thorough
def test_an_unsigned_item_that_comes_from_another_place_is_not_told_as_another_key(
    server: GitServer, person: Person
) -> None:
    for name in ("kit", "fork"):
        server.repository(name).commit({"pdf/SKILL.md": skill("pdf", body=name)})
    person.ok("add", f"git+{server.url('kit')}", "pdf", "-y")
    manifest = person.path("rye.toml")
    manifest.write_text(manifest.read_text().replace(server.url("kit"), server.url("fork")))
    refused = person.run("install", "-y", "--json")
    assert refused.error["code"] == "consent-needed"
    places = f"git+{server.url('fork')}, previously git+{server.url('kit')}"
    assert f"comes from a different source ({places})" in refused.error["message"]


def test_rye_lock_agrees_to_no_other_place(server: GitServer, person: Person) -> None:
    """A pull request moves the source. Whoever locks first and installs then is still asked."""
    for name in ("kit", "fork"):
        server.repository(name).commit({"pdf/SKILL.md": skill("pdf", body=name)})
    person.ok("add", f"git+{server.url('kit')}", "pdf", "-y")
    manifest = person.path("rye.toml")
    manifest.write_text(manifest.read_text().replace(server.url("kit"), server.url("fork")))
    person.ok("lock", "-y")
    refused = person.run("install", "-y", "--json")
    assert refused.error["code"] == "consent-needed"
    places = f"git+{server.url('fork')}, previously git+{server.url('kit')}"
    assert f"comes from a different source ({places})" in refused.error["message"]


def test_rye_lock_does_not_agree_to_the_loss_of_a_signature(server: GitServer, person: Person, author: Person) -> None:
    repository = server.repository("kit")
    repository.commit({".ai/directives/work/one.md": signed_text(author, "work/one")})
    person.write("acme.pem", public_key(author))
    person.ok("trust", "add", "acme.pem", "-y")
    person.ok("add", f"git+{server.url('kit')}", "-y")
    commit = repository.commit({".ai/directives/work/one.md": directive("work/one", "1.0.1")})
    manifest = person.path("rye.toml")
    address = f'git = "{server.url("kit")}"'
    assert address in manifest.read_text()
    manifest.write_text(manifest.read_text().replace(address, f'{address}, rev = "{commit}"'))
    person.ok("lock", "-y")
    assert 'approved-signer = "SHA256:' in person.path("rye.lock").read_text()
    refused = person.run("install", "-y", "--json")
    assert refused.error["code"] == "consent-needed"
    assert "is no longer signed" in refused.error["message"]


def test_sources_signed_refuses_what_has_other_files(server: GitServer, person: Person, author: Person) -> None:
    """An in-file signature covers only its own file."""
    path = author.write(".ai/skills/pdf/SKILL.md", skill("pdf"))
    author.ok("sign", str(path))
    server.repository("kit").commit({"pdf/SKILL.md": path.read_text(), "pdf/run.md": "Anything.\n"})
    person.write("acme.pem", public_key(author))
    person.ok("trust", "add", "acme.pem", "-y")
    person.ok("add", f"git+{server.url('kit')}", "-y")
    assert person.ok("list", "--json").json["items"][0]["signer"].startswith("none (git commit ")


@pytest.mark.thorough
def test_deploy_writes_such_items_like_any_other(server: GitServer, person: Person) -> None:
    server.repository("kit").commit({"pdf/SKILL.md": skill("pdf"), "pdf/guide.md": "# Guide\n"})
    person.write("rye.toml", '[project]\nname = "shop"\n\n[deploy]\ntargets = ["claude"]\n')
    person.ok("add", f"git+{server.url('kit')}", "-y")
    assert "# pdf" in person.path(".claude/skills/pdf/SKILL.md").read_text()
    assert person.path(".claude/skills/pdf/guide.md").read_text() == "# Guide\n"
    person.ok("deploy", "--check")


@pytest.mark.thorough
def test_the_cache_shows_and_forgets_repositories(server: GitServer, person: Person) -> None:
    server.repository("kit").commit({"pdf/SKILL.md": skill("pdf")})
    person.ok("add", f"git+{server.url('kit')}", "-y")
    assert person.ok("cache", "info", "--json").json["objects"] > 0
    person.ok("cache", "clean")
    assert not list((person.home / "cache" / "git").glob("*.git"))
    shutil.rmtree(person.path(".ai/packages"))
    person.ok("ci")


@pytest.mark.thorough
def test_an_item_that_goes_from_the_repository_is_said_and_nothing_changes(server: GitServer, person: Person) -> None:
    repository = server.repository("kit")
    repository.commit({"pdf/SKILL.md": skill("pdf")})
    person.ok("add", f"git+{server.url('kit')}#main", "-y")
    repository.commit({"docx/SKILL.md": skill("docx")})
    before = person.path("rye.lock").read_bytes()
    refused = person.run("update", "-y", "--json")
    assert refused.code == 1
    assert "kit/pdf" in refused.error["message"]
    assert person.path("rye.lock").read_bytes() == before
    person.ok("ci")


@pytest.mark.thorough
def test_the_last_item_takes_its_source_out_of_rye_toml(server: GitServer, person: Person) -> None:
    server.repository("kit").commit({"a/SKILL.md": skill("a"), "b/SKILL.md": skill("b")})
    person.ok("add", f"git+{server.url('kit')}", "--all", "-y")
    person.ok("remove", "kit/a")
    assert "kit" in parse_manifest(person.path("rye.toml").read_text()).sources
    person.ok("remove", "kit/b")
    assert parse_manifest(person.path("rye.toml").read_text()).sources == {}


@pytest.mark.thorough
def test_a_diff_compares_with_what_the_source_has_now(server: GitServer, person: Person) -> None:
    repository = server.repository("kit")
    repository.commit({"pdf/SKILL.md": skill("pdf")})
    person.ok("add", f"git+{server.url('kit')}#main", "-y")
    repository.commit({"pdf/SKILL.md": skill("pdf", body="Read it twice.")})
    assert "+Read it twice." in person.run("diff", "kit/pdf").stdout
    person.path(".ai/packages/kit/skills/pdf/SKILL.md").write_text(skill("pdf", body="Mine."))
    assert "+Mine." in person.run("diff", "--edited").stdout


@pytest.mark.thorough
def test_a_merge_of_two_branches_that_moved_the_source_is_resolved(server: GitServer, person: Person) -> None:
    repository = server.repository("kit")
    repository.commit({"pdf/SKILL.md": skill("pdf")})
    person.ok("add", f"git+{server.url('kit')}#main", "-y")
    old = person.path("rye.lock").read_text()
    repository.commit({"pdf/SKILL.md": skill("pdf", body="Two.")})
    person.ok("update", "-y")
    new = person.path("rye.lock").read_text()
    merged = f"<<<<<<< ours\n{old}=======\n{new}>>>>>>> theirs\n"
    person.path("rye.lock").write_text(merged)
    person.ok("install", "-y")
    [row] = parse_lock(person.path("rye.lock").read_text()).items
    assert row.version in (parse_lock(old).items[0].version, parse_lock(new).items[0].version)
    person.ok("ci")


def test_a_workspaces_member_asks_and_the_source_is_the_roots(server: GitServer, person: Person) -> None:
    server.repository("kit").commit({"pdf/SKILL.md": skill("pdf")})
    person.write("rye.toml", '[project]\nname = "root"\n\n[workspace]\nmembers = ["services/*"]\n')
    person.write("services/one/rye.toml", '[project]\nname = "one"\n')
    person.ok("add", f"git+{server.url('kit')}", "-p", "services/one", "-y")
    assert "kit" in parse_manifest(person.path("rye.toml").read_text()).sources
    assert "skill:kit/pdf" in person.path("services/one/rye.toml").read_text()
    person.ok("ci")


def test_without_sources_nothing_of_git_is_imported() -> None:
    modules = "rye.workspace.installing.install_steps, rye.workspace.installing.adding, rye.cli.project.add"
    code = f"import sys, {modules}; print([m for m in sys.modules if m.startswith('rye.sources.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert (
        done.stdout.strip() == "['rye.sources.record', 'rye.sources.source_error']"
    )  # a row of rye.lock, and an exception


@pytest.mark.thorough
def test_an_item_that_was_taken_out_of_its_source_is_told_so(server: GitServer, person: Person) -> None:
    repository = server.repository("kit")
    repository.commit({"pdf/SKILL.md": skill("pdf"), "docx/SKILL.md": skill("docx")})
    person.ok("add", f"git+{server.url('kit')}#main", "--all", "-y")
    repository.commit({"docx/SKILL.md": skill("docx")})
    assert "is not in the source" in person.run("update", "-y").stderr


def test_a_registrys_row_in_a_sources_namespace_fits_nothing(server: GitServer, person: Person) -> None:
    server.repository("kit").commit({"pdf/SKILL.md": skill("pdf")})
    person.ok("add", f"git+{server.url('kit')}", "-y")
    text = person.path("rye.lock").read_text()
    forged = 'registry = "registry.example"\nlog = 1\nkeyset = 1\nsigner = "SHA256:x"\n'
    person.path("rye.lock").write_text(re.sub(r"source = \{.*\n", forged, text))
    assert person.run("ci", "--json").error["code"] == "lock-does-not-fit"
    assert person.run("render", "kit/pdf", "--json").code == 1
    assert person.ok("list", "--json").json["items"][0]["state"] == "unverified"
    assert person.run("install", "-y", "--json").error["code"] == "consent-needed"  # the row has a different signer
    person.ok("install", "--approve", f"skill:kit/pdf@{parse_lock(text).items[0].version}", "-y")
    assert person.path("rye.lock").read_text() == text


def test_rye_lock_approves_no_source(server: GitServer, person: Person) -> None:
    server.repository("kit").commit({"pdf/SKILL.md": skill("pdf")})
    source = f'[sources]\nkit = {{ git = "{server.url("kit")}" }}\n'
    person.write("rye.toml", f'[project]\nname = "shop"\n\n{source}\n[dependencies]\n"skill:kit/pdf" = "*"\n')
    assert person.run("lock", "--json").error["code"] == "source-not-agreed"
    person.ok("lock", "-y")
    assert person.run("--offline", "install", "--json").error["code"] == "consent-needed"
    person.ok("install", "-y")
    person.ok("rollback", "-y")


def test_required_signers_hold_for_sources_too(server: GitServer, person: Person) -> None:
    server.repository("kit").commit({"pdf/SKILL.md": skill("pdf")})
    person.ok("add", f"git+{server.url('kit')}", "-y")
    (person.home / "config").mkdir(exist_ok=True)
    policy = '[policy]\nrequired-signers = ["SHA256:KOejVZy49fm1cFL2SqBN7RSv6z+osGTYOTs+Akqptrs"]\n'
    (person.home / "config" / "policy.toml").write_text(policy)
    assert person.run("ci", "--json").error["code"] == "locked-release-refused"
    assert "not signed by a key that the policy requires" in person.run("audit").stdout


def test_what_a_policy_refuses_by_its_source_is_removed_as_the_message_says(server: GitServer, person: Person) -> None:
    server.repository("kit").commit({"pdf/SKILL.md": skill("pdf"), "docx/SKILL.md": skill("docx")})
    person.ok("add", f"git+{server.url('kit')}", "--all", "-y")
    (person.home / "config").mkdir(exist_ok=True)
    (person.home / "config" / "policy.toml").write_text('[policy]\nsources = "none"\n')
    refused = person.run("ci", "--json").error
    assert refused["code"] == "locked-release-refused"
    assert "One `rye remove` that names all" in refused["hint"]
    assert "`rye org show`" in refused["hint"]
    for words in (["update"], ["remove", "skill:kit/pdf", "-y"]):  # the other one is refused as well
        assert "One `rye remove` that names all" in person.run(*words, "--json").error["hint"]
    person.ok("remove", "skill:kit/pdf", "skill:kit/docx", "-y")
    person.ok("ci")
