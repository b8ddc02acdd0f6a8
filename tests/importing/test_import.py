"""``rye import`` through the program, over a local git server: what it writes, and what it refuses to write
(design/sources.md 2).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from rye.importing.digests import folder_digest
from rye.project.lock import parse_lock
from rye.project.manifest import parse_manifest
from rye.workspace.installing.importing import in_groups
from tests.scenes.effort import rest_thorough
from tests.scenes.item_texts import AGENT
from tests.scenes.person import Person, Result
from tests.sources.git_server import GitServer, Repository

pytestmark = pytest.mark.processes

PDF = "---\nname: pdf\ndescription: Reads documents. Use it for documents.\n---\n\nRead.\n"
WEB = "---\nname: web\ndescription: Reads pages. Use it for pages.\n---\n\nRead.\n"
FILES = {
    "README.md": "Skills.\n",
    "skills/pdf/SKILL.md": PDF,
    "skills/pdf/reference/a-b.md": "one\n",
    "skills/pdf/reference/a_b.md": "two\n",
    "skills/pdf/.hidden": "three\n",
    "skills/web/SKILL.md": WEB,
}


def below(files: Mapping[str, str], folder: str) -> dict[str, bytes]:
    return {path.removeprefix(f"{folder}/"): text.encode() for path, text in files.items() if path.startswith(folder)}


PDF_HASH = folder_digest("skills-folder", below(FILES, "skills/pdf"))
WEB_HASH = folder_digest("skills-folder", below(FILES, "skills/web"))


@pytest.fixture
def repository(server: GitServer) -> Repository:
    made = server.repository("skills")
    made.commit(FILES)
    return made


def project_lock(url: str, **digests: str) -> str:
    rows = {
        name: {
            "source": url,
            "sourceUrl": url,
            "sourceType": "git",
            "skillPath": f"skills/{name}/SKILL.md",
            "computedHash": digest,
        }
        for name, digest in digests.items()
    }
    return json.dumps({"version": 1, "skills": rows}, indent=2)


def nothing_was_written(person: Person) -> bool:
    return person.path("rye.toml").read_text() == '[project]\nname = "shop"\n' and not person.path("rye.lock").exists()


def refused(person: Person, *words: str) -> dict[str, object]:
    result = person.run("import", *words, "--yes", "--json")
    assert result.code != 0, result
    assert nothing_was_written(person)
    error: dict[str, object] = result.error
    return error


def agent(name: str) -> str:
    """An agent in Rye's form."""
    return AGENT.format(name=name, tools="tools:\n  allowed: [Read]\n")


def to_green(person: Person) -> None:
    """A person's next steps: review, agree and install. A build server then finds everything in order."""
    person.ok("install", "--yes")
    person.ok("ci")


class TestBeforeTheFirstContact:
    @pytest.mark.parametrize("words", [(), ("--dry-run",), ("--json",)])
    def test_nobody_is_contacted_without_a_yes(
        self, person: Person, server: GitServer, repository: Repository, words: tuple[str, ...]
    ) -> None:
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        error = person.run("import", *words, "--json").error
        assert error["code"] == "consent-needed"
        assert server.requests == []
        assert (error["addresses"], error["folders"]) == ([server.url("skills")], [])
        assert nothing_was_written(person)

    def test_a_folder_outside_is_named_and_not_hashed(self, person: Person) -> None:
        person.write("../secret/SKILL.md", "---\nname: secret\ndescription: x\n---\n")
        rows = {"ok": {"source": "../secret", "sourceType": "local", "computedHash": "1" * 64}}
        person.write("skills-lock.json", json.dumps({"version": 1, "skills": rows}))
        result = person.run("import", "--dry-run", "--json")
        assert result.error["code"] == "consent-needed"
        assert result.error["folders"] == ["../secret"]
        assert "has" not in result.error["message"].split("../secret")[1]

    def test_an_address_is_named_without_its_password(self, person: Person) -> None:
        url = "https://user:s3cret@git.example/a/b?token=s3cret"
        person.write("rye.toml", f'[project]\nname = "x"\n\n[sources]\nown = {{ git = "{url}" }}\n')
        person.write("skills-lock.json", project_lock(url, pdf=PDF_HASH))
        for words in ((), ("--json",), ("--dry-run", "--json")):
            result = person.run("import", *words)
            assert result.code == 1
            assert "s3cret" not in result.stdout + result.stderr

    def test_the_registries_of_ryes_own_dependencies_are_named(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        """Choosing versions asks them. One that nobody pinned is asked about although nothing else would be contacted."""
        manifest = (
            '[project]\nname = "shop"\nregistry = "https://main.example"\n\n[registries]\nacme = "https://acme.example"\n'
            'unused = "https://unused.example"\n\n[dependencies]\n"acme/a/b" = "*"\n"other/a/b" = "*"\n'
        )
        person.write("rye.toml", manifest)
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        named = ["https://acme.example", "https://main.example"]
        error = person.run("import", "--json").error
        assert (error["code"], error["addresses"]) == ("consent-needed", [server.url("skills"), *named])
        person.write("skills-lock.json", '{"version": 1, "skills": {}}')
        error = person.run("import", "--dry-run", "--json").error
        assert (error["code"], error["addresses"]) == ("consent-needed", named)
        assert server.requests == []
        person.write("rye.toml", '[project]\nname = "shop"\nregistry = "https://main.example"\n')
        person.ok("import", "--dry-run")

    def test_many_hosts_are_a_number_and_two_examples(self) -> None:
        few = [f"https://host{n}.example/a" for n in range(10)]
        assert in_groups(few) == few
        many = [f"https://host{n:03}.example/a" for n in range(400)]
        assert in_groups(many) == [*many[:2], "398 more, on 400 hosts or in as many folders"]
        crowded = [f"https://crowd.example/{n:03}" for n in range(40)]
        assert in_groups([*crowded, *few]) == [*crowded[:2], f"38 more like {crowded[1]}", *few]
        hidden = in_groups([f"https://user:s3cret@host{n}.example/a" for n in range(30)])
        assert "s3cret" not in " ".join(hidden)

    def test_on_a_terminal_no_contacts_nobody(self, person: Person, server: GitServer, repository: Repository) -> None:
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        shown = person.terminal("import", "--dry-run", answer=b"n\n")
        assert server.url("skills") in shown
        assert "Contact these and read these?" in shown
        assert server.requests == []
        assert "skill:skills/pdf" not in shown


class TestTheProjectsLockOfSkills:
    @pytest.mark.thorough
    def test_from_a_lock_to_a_green_build(self, person: Person, server: GitServer, repository: Repository) -> None:
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH, web=WEB_HASH))
        before = sorted(os.listdir(person.folder))
        dry = person.ok("import", "--dry-run", "--yes", "--json").json
        assert nothing_was_written(person)
        assert sorted(row["id"] for row in dry["items"]) == ["skill:skills/pdf", "skill:skills/web"]
        person.ok("import", "--yes")
        assert sorted(set(os.listdir(person.folder)) - set(before)) == [".ai", "rye.lock"]
        assert os.listdir(person.path(".ai")) == [".rye"]
        manifest = parse_manifest(person.path("rye.toml").read_text())
        assert [line.key for line in manifest.dependencies] == ["skill:skills/pdf", "skill:skills/web"]
        assert manifest.sources["skills"].spec == f"git+{server.url('skills')}"
        commit = repository.git("rev-parse", "main")
        items = parse_lock(person.path("rye.lock").read_text()).items
        assert {item.source.commit for item in items if item.source is not None} == {commit}
        assert all(item.approved.signer == "" for item in items)  # an import approves nothing
        to_green(person)
        assert person.path(".ai/packages/skills/skills/pdf/reference/a-b.md").read_text() == "one\n"

    @pytest.mark.thorough
    def test_a_second_time_there_is_nothing_to_do(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        person.ok("import", "--yes")
        files = {name: person.path(name).read_bytes() for name in ("rye.toml", "rye.lock")}
        assert person.ok("import", "--yes").stdout == "nothing new to import\n"
        assert files == {name: person.path(name).read_bytes() for name in files}

    @pytest.mark.parametrize("wrong", rest_thorough(1, [hashlib.sha256(PDF.encode()).hexdigest(), "0" * 64]))
    def test_a_digest_that_does_not_hold_is_an_error(
        self, person: Person, server: GitServer, repository: Repository, wrong: str
    ) -> None:
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=wrong, web=WEB_HASH))
        error = refused(person)
        assert error["code"] == "digest-does-not-hold"
        digests = error["digests"]
        assert isinstance(digests, list)
        [line] = digests
        assert line.startswith("skills-lock.json: pdf: ")
        assert wrong in line
        assert PDF_HASH in line

    @pytest.mark.thorough
    def test_a_repository_that_moved_on_is_an_error_and_can_be_left_out(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH, web=WEB_HASH))
        repository.commit({**FILES, "skills/pdf/.hidden": "now something else\n"})
        assert refused(person)["code"] == "digest-does-not-hold"
        person.ok("import", "--without", "pdf", "--yes")
        assert "#   skills-lock.json: pdf: left out with --without" in person.path("rye.toml").read_text()
        to_green(person)

    def test_a_tag_that_was_asked_for_is_the_sources_rev(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        repository.tag("v1", repository.git("rev-parse", "main"))
        repository.commit({"README.md": "empty\n"})
        lock = json.loads(project_lock(server.url("skills"), pdf=PDF_HASH))
        lock["skills"]["pdf"]["ref"] = "v1"
        person.write("skills-lock.json", json.dumps(lock))
        person.ok("import", "--yes")
        assert 'rev = "v1"' in person.path("rye.toml").read_text()
        to_green(person)

    def test_what_cannot_be_said_is_a_comment_and_no_more(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        lock = json.loads(project_lock(server.url("skills"), pdf=PDF_HASH))
        hostile = 'x"\n[policy]\nmax-tier = "unrestricted"\n#'
        lock["skills"][hostile] = {"source": "x", "sourceType": "node_modules", "computedHash": "0" * 64}
        person.write("skills-lock.json", json.dumps(lock))
        shown = person.ok("import", "--yes")
        assert "neither a git repository nor a folder" in shown.stderr
        manifest = parse_manifest(person.path("rye.toml").read_text())
        assert manifest.policy.max_tier is None
        assert [line.key for line in manifest.dependencies] == ["skill:skills/pdf"]
        comments = [line for line in person.path("rye.toml").read_text().splitlines() if line.startswith("#")]
        assert len(comments) == 2

    def test_a_skill_in_a_folder_of_this_machine(self, person: Person, tmp_path: Path) -> None:
        folder = tmp_path / "shared" / "pdf"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(PDF)
        row = {"source": "../shared/pdf", "sourceType": "local"}
        good = folder_digest("skills-folder", {"SKILL.md": PDF.encode()})
        person.write(
            "skills-lock.json", json.dumps({"version": 1, "skills": {"pdf": {**row, "computedHash": "1" * 64}}})
        )
        assert refused(person)["code"] == "digest-does-not-hold"
        person.write("skills-lock.json", json.dumps({"version": 1, "skills": {"pdf": {**row, "computedHash": good}}}))
        person.ok("import", "--yes")
        to_green(person)


class TestAsking:
    def test_off_a_terminal_nothing_is_written_without_yes(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        assert person.run("import", "--json").error["code"] == "consent-needed"
        assert nothing_was_written(person)

    @pytest.mark.parametrize(("answer", "written"), [(b"y\nn\n", False), (b"y\ny\n", True)])
    def test_on_a_terminal_the_plan_is_shown_and_asked_about(
        self, person: Person, server: GitServer, repository: Repository, answer: bytes, written: bool
    ) -> None:
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        shown = person.terminal("import", answer=answer)
        assert "skill:skills/pdf" in shown
        assert "digest compared" in shown
        assert nothing_was_written(person) is not written

    @pytest.mark.thorough
    def test_a_folder_without_rye_toml_becomes_a_project(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        person.path("rye.toml").unlink()
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        person.ok("import", "--dry-run", "--yes")
        assert not person.path("rye.toml").exists()
        person.ok("import", "--yes")
        to_green(person)

    def test_nothing_to_import_says_what_is_read(self, person: Person) -> None:
        error = refused(person)
        assert error["code"] == "nothing-to-import"
        assert "toolhive.lock.yaml" in str(error["hint"])
        assert refused(person, "rye.toml")["code"] == "not-importable"

    def test_a_name_that_nothing_has_is_no_wish(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        assert refused(person, "--without", "pdff")["code"] == "not-importable"


def user_lock(url: str, digest: str) -> str:
    row = {
        "source": "skills",
        "sourceType": "git",
        "sourceUrl": url,
        "skillPath": "skills/pdf/SKILL.md",
        "skillFolderHash": digest,
        "installedAt": "2026-01-01T00:00:00.000Z",
        "updatedAt": "2026-01-01T00:00:00.000Z",
    }
    return json.dumps({"version": 3, "skills": {"pdf": row}})


class TestTheUsersLockOfSkills:
    @pytest.mark.thorough
    def test_both_kinds_of_digest_hold_or_are_errors(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        tree = repository.git("rev-parse", "main:skills/pdf")
        other = repository.git("rev-parse", "main:skills/web")
        for wrong in (other, "0" * 40, WEB_HASH):
            person.write(".agents/.skill-lock.json", user_lock(server.url("skills"), wrong))
            assert refused(person)["code"] == "digest-does-not-hold"
        for right in (tree, PDF_HASH):
            person.write(".agents/.skill-lock.json", user_lock(server.url("skills"), right))
            assert len(person.ok("import", "--dry-run", "--yes", "--json").json["items"]) == 1
        person.ok("import", "--yes")
        to_green(person)

    def test_the_lock_of_the_home_folder_is_named(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        place = person.home / ".agents" / ".skill-lock.json"
        place.parent.mkdir()
        place.write_text(user_lock(server.url("skills"), PDF_HASH))
        person.ok("import", str(place), "--yes")
        to_green(person)


def toolhive(server: GitServer, commit: str, digest: str, ref: str = "v1") -> str:
    host = server.address.removeprefix("http://")
    reference = f"git://{host}/acme/skills@{ref}#skills/pdf"
    return (
        f"version: 1\nskills:\n- name: pdf\n  source: {reference}\n  resolvedReference: {reference}\n"
        f"  digest: {commit}\n  contentDigest: sha256:{digest}\n  explicit: true\n"
    )


class TestToolHive:
    @pytest.fixture
    def nested(self, server: GitServer) -> Repository:
        made = Repository(server.root / "acme" / "skills.git")
        made.tag("v1", made.commit(FILES))
        return made

    def test_the_locks_commit_is_taken_though_its_ref_moved(
        self, person: Person, server: GitServer, nested: Repository
    ) -> None:
        commit = nested.git("rev-parse", "main")
        nested.tag("v1", nested.commit({"README.md": "empty\n"}))
        digest = folder_digest("toolhive-files", below(FILES, "skills/pdf"))
        person.write("toolhive.lock.yaml", toolhive(server, commit, digest))
        shown = person.ok("import", "--yes")
        assert "the tag v1" in shown.stderr
        [item] = parse_lock(person.path("rye.lock").read_text()).items
        assert item.source is not None
        assert item.source.commit == commit
        to_green(person)

    @pytest.mark.thorough
    def test_a_ref_that_is_gone_leaves_the_commit(self, person: Person, server: GitServer, nested: Repository) -> None:
        commit = nested.git("rev-parse", "main")
        digest = folder_digest("toolhive-files", below(FILES, "skills/pdf"))
        person.write("toolhive.lock.yaml", toolhive(server, commit, digest, "gone"))
        person.ok("import", "--yes")
        assert f'rev = "{commit}"' in person.path("rye.toml").read_text()
        to_green(person)

    @pytest.mark.thorough
    def test_wrong_digests_and_commits_are_errors(self, person: Person, server: GitServer, nested: Repository) -> None:
        commit = nested.git("rev-parse", "main")
        person.write("toolhive.lock.yaml", toolhive(server, commit, "0" * 64))
        assert refused(person)["code"] == "digest-does-not-hold"
        person.write("toolhive.lock.yaml", toolhive(server, "a" * 40, "0" * 64))
        assert refused(person)["code"] == "commit-missing"


class TestApm:
    def lock(self, server: GitServer, commit: str, digest: str, path: str = "") -> str:
        virtual = f"  virtual_path: {path}\n  is_virtual: true\n" if path else ""
        return (
            f"lockfile_version: '1'\ndependencies:\n- repo_url: {server.url('skills')}\n  resolved_commit: {commit}\n"
            f"{virtual}  content_hash: sha256:{digest}\n  deployed_files:\n  - .claude/skills/pdf/SKILL.md\n"
        )

    def test_a_whole_package_and_a_folder_of_one(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        commit = repository.git("rev-parse", "main")
        repository.commit({"README.md": "moved on\n"})
        whole = folder_digest("apm-package", {path: text.encode() for path, text in FILES.items()})
        person.write("apm.yml", f"name: shop\nversion: 1.0.0\ndependencies:\n  apm:\n  - {server.url('skills')}\n")
        person.write("apm.lock.yaml", self.lock(server, commit, whole))
        assert len(person.ok("import", "--dry-run", "--yes", "--json").json["items"]) == 2
        one = folder_digest("apm-package", below(FILES, "skills/pdf"))
        person.write("apm.lock.yaml", self.lock(server, commit, one, "skills/pdf"))
        person.write("apm.yml", "name: shop\nversion: 1.0.0\n")
        person.ok("import", "--yes")
        [item] = parse_lock(person.path("rye.lock").read_text()).items
        assert item.source is not None
        assert (item.id, item.source.commit) == ("skills/pdf", commit)
        to_green(person)

    def test_a_wrong_digest_is_an_error(self, person: Person, server: GitServer, repository: Repository) -> None:
        commit = repository.git("rev-parse", "main")
        for path in ("", "skills/pdf"):
            person.write("apm.lock.yaml", self.lock(server, commit, "0" * 64, path))
            assert refused(person)["code"] == "digest-does-not-hold"

    def test_a_package_of_the_project_is_compared_too(self, person: Person) -> None:
        person.write("packages/kit/.apm/skills/pdf/SKILL.md", PDF)
        good = folder_digest("apm-package", {".apm/skills/pdf/SKILL.md": PDF.encode()})
        text = (
            "lockfile_version: '1'\ndependencies:\n- repo_url: _local/kit\n  source: local\n  local_path: ./packages/kit\n"
            "  content_hash: sha256:"
        )
        person.write("apm.lock.yaml", f"{text}{'1' * 64}\n")
        assert refused(person)["code"] == "digest-does-not-hold"
        person.write("apm.lock.yaml", f"{text}{good}\n")
        person.ok("import", "--yes")
        to_green(person)

    @pytest.mark.thorough
    def test_skills_in_the_packages_own_folder(self, person: Person, server: GitServer) -> None:
        made = server.repository("pack")
        made.commit({"apm.yml": "name: pack\nversion: 1.0.0\n", ".apm/skills/pdf/SKILL.md": PDF})
        person.write("apm.yml", f"name: shop\nversion: 1.0.0\ndependencies:\n  apm:\n  - {server.url('pack')}\n")
        person.ok("import", "--yes")
        assert '"skill:pack/pdf" = "*"' in person.path("rye.toml").read_text()
        to_green(person)


class TestDefaultBranch:
    def test_head_is_the_default_branch(self, person: Person, server: GitServer, repository: Repository) -> None:
        """As other tools write it; rye.toml expresses the same by omitting it."""
        text = f"name: shop\nversion: 1.0.0\ndependencies:\n  apm:\n  - {server.url('skills')}#HEAD\n"
        person.write("apm.yml", text)
        person.ok("import", "--yes")
        assert "HEAD" not in person.path("rye.toml").read_text()
        to_green(person)


class TestMarketplacesAndFolders:
    def test_plugins_of_repositories_and_of_the_project(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        person.write("plugins/kit/skills/web/SKILL.md", WEB)
        plugins = [
            {"name": "kit", "source": "./plugins/kit"},
            {"name": "far", "source": {"source": "url", "url": server.url("skills")}},
            {"name": "npm", "source": {"source": "npm", "package": "x"}},
        ]
        person.write(".claude-plugin/marketplace.json", json.dumps({"name": "shop", "plugins": plugins}))
        person.ok("import", "--yes")
        manifest = parse_manifest(person.path("rye.toml").read_text())
        assert [line.key for line in manifest.dependencies] == ["skill:kit/web", "skill:skills/pdf", "skill:skills/web"]
        to_green(person)

    def test_a_sha_that_is_not_there_is_an_error(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        source = {"source": "url", "url": server.url("skills"), "sha": "0" * 40}
        listed = {"name": "shop", "plugins": [{"name": "far", "source": source}]}
        person.write(".claude-plugin/marketplace.json", json.dumps(listed))
        assert refused(person)["code"] == "commit-missing"

    @pytest.mark.thorough
    def test_own_skills_of_agents_folders_and_no_copies(
        self, person: Person, server: GitServer, repository: Repository, tmp_path: Path
    ) -> None:
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        person.write(".claude/skills/pdf/SKILL.md", PDF)
        person.write(".claude/skills/web/SKILL.md", WEB)
        person.write(".claude/agents/reviewer.md", "---\nname: reviewer\ndescription: x\n---\n")
        (tmp_path / "else").mkdir()
        (tmp_path / "else" / "SKILL.md").write_text(PDF)
        person.path(".claude/skills/linked").symlink_to(tmp_path / "else")
        found = person.ok("import", "--yes", "--json").json
        assert sorted(row["id"] for row in found["items"]) == ["skill:claude-skills/web", "skill:skills/pdf"]
        [left] = found["left_out"]
        assert left["what"] == ".claude/agents: agent:reviewer"
        assert left["reason"] == "it is not an agent of Claude Code (it has no text)"
        to_green(person)

    def test_a_skill_is_called_what_its_name_says_whatever_its_folder_is(self, person: Person) -> None:
        person.write(".claude/skills/word/SKILL.md", PDF)
        found = person.ok("import", "--yes", "--json").json
        assert ([row["id"] for row in found["items"]], found["left_out"]) == (["skill:claude-skills/pdf"], [])
        to_green(person)

    def test_where_nothing_can_be_imported_no_project_is_made(self, person: Person) -> None:
        person.path("rye.toml").unlink()
        person.write(".claude/agents/reviewer.md", "---\nname: reviewer\ndescription: x\n---\n")
        shown = person.ok("import", "--yes")
        assert shown.stdout == "none of it can be imported\n"
        assert "kept as comments" not in shown.stderr
        assert "  .claude/agents: agent:reviewer: it is not" in shown.stderr
        assert not person.path("rye.toml").exists()

    def test_agents_are_taken_from_claude_code_s_folder(self, person: Person, tmp_path: Path) -> None:
        person.write(".claude/agents/reviewer.md", agent("reviewer"))
        person.write(".claude/agents/theirs.md", "---\nname: theirs\ndescription: x\n---\n\n# You are\n\n## This\n")
        person.write(".claude/agents/notes.txt", "x")
        (tmp_path / "else.md").write_text(agent("linked"))
        person.path(".claude/agents/linked.md").symlink_to(tmp_path / "else.md")
        found = person.ok("import", "--yes", "--json").json
        assert [row["id"] for row in found["items"]] == ["agent:claude-agents/reviewer", "agent:claude-agents/theirs"]
        assert found["left_out"] == []
        assert 'path = ".claude/agents"' in person.path("rye.toml").read_text()
        to_green(person)
        assert person.path(".ai/packages/claude-agents/agents/reviewer.md").exists()

    def test_an_agent_that_a_deploy_put_there_is_no_source(self, person: Person) -> None:
        person.write("kit/.claude/agents/reviewer.md", agent("reviewer"))
        person.ok("add", "./kit", "reviewer", "--yes")
        person.ok("deploy", "--target", "claude", "--yes")
        assert person.path(".claude/agents/reviewer.md").exists()
        found = person.ok("import", "--yes", "--json").json
        assert (found["items"], found["left_out"]) == ([], [])

    def test_a_folder_of_agents_that_is_a_link_is_left_alone(self, person: Person, tmp_path: Path) -> None:
        (tmp_path / "else").mkdir()
        (tmp_path / "else" / "reviewer.md").write_text(agent("reviewer"))
        person.path(".claude").mkdir()
        person.path(".claude/agents").symlink_to(tmp_path / "else")
        found = person.ok("import", "--yes", "--json").json
        assert (found["items"], found["left_out"][0]["reason"]) == ([], "it is reached through a link")

    @pytest.mark.thorough
    @pytest.mark.parametrize("says", [True, False], ids=["plugin.json", ""])
    def test_a_plugins_agents_come_with_its_skills(self, person: Person, server: GitServer, says: bool) -> None:
        files = {"agents/reviewer.md": agent("reviewer"), "skills/pdf/SKILL.md": PDF}
        if says:
            files[".claude-plugin/plugin.json"] = '{"name": "far"}'
        server.repository("far").commit(files)
        for name, text in files.items():
            person.write(f"plugins/near/{name}", text)
        plugins = [
            {"name": "near", "source": "./plugins/near"},
            {"name": "far", "source": {"source": "url", "url": server.url("far")}},
        ]
        person.write(".claude-plugin/marketplace.json", json.dumps({"name": "shop", "plugins": plugins}))
        found = person.ok("import", "--yes", "--json").json
        wanted = (
            ["agent:far/reviewer", "agent:near/reviewer"]
            if says
            else ["agent:far-agents/reviewer", "agent:near-agents/reviewer"]
        )
        assert sorted(row["id"] for row in found["items"]) == [*wanted, "skill:far/pdf", "skill:near/pdf"]
        to_green(person)

    @pytest.mark.thorough
    def test_what_a_deploy_put_there_is_no_source(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        person.ok("import", "--yes")
        person.ok("install", "--yes")
        person.ok("deploy", "--target", "claude", "--yes")
        person.path("skills-lock.json").unlink()
        assert person.path(".claude/skills/pdf/SKILL.md").exists()
        assert person.ok("import", "--yes", "--json").json["items"] == []


class TestTogether:
    @pytest.mark.thorough
    def test_one_skill_of_two_files_is_one_dependency(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        person.write(".agents/.skill-lock.json", user_lock(server.url("skills"), PDF_HASH))
        assert len(person.ok("import", "--yes", "--json").json["items"]) == 1

    @pytest.mark.thorough
    def test_two_states_of_a_repository_are_two_sources(self, person: Person, server: GitServer) -> None:
        made = Repository(server.root / "acme" / "skills.git")
        first = made.commit(FILES)
        made.tag("v1", first)
        second = {**FILES, "skills/pdf/more.md": "more\n"}
        made.commit(second)
        host = server.address.removeprefix("http://")
        person.write(
            "toolhive.lock.yaml",
            toolhive(server, first, folder_digest("toolhive-files", below(FILES, "skills/pdf"))),
        )
        url = f"http://{host}/acme/skills.git"
        digest = folder_digest("skills-folder", below(second, "skills/pdf"))
        person.write("skills-lock.json", project_lock(url, pdf=digest))
        person.ok("import", "--yes")
        manifest = parse_manifest(person.path("rye.toml").read_text())
        assert sorted(line.key for line in manifest.dependencies) == ["skill:acme-skills/pdf", "skill:acme/pdf"]
        to_green(person)

    @pytest.mark.thorough
    def test_a_source_that_is_there_is_used_again(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        person.ok("add", f"git+{server.url('skills')}", "web", "--as", "team", "--yes")
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        person.ok("import", "--yes")
        manifest = parse_manifest(person.path("rye.toml").read_text())
        assert list(manifest.sources) == ["team"]
        assert [line.key for line in manifest.dependencies] == ["skill:team/pdf", "skill:team/web"]
        to_green(person)

    def test_no_source_takes_the_name_of_a_namespace_that_is_used(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        person.write("rye.toml", '[project]\nname = "shop"\nnamespace = "skills"\n')
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        [row] = person.ok("import", "--dry-run", "--yes", "--json").json["items"]
        assert row["id"] == "skill:skills-2/pdf"
        person.write("rye.toml", '[registries]\nskills = "https://rye.example"\n')
        [row] = person.ok("import", "--dry-run", "--yes", "--json").json["items"]
        assert not row["id"].startswith("skill:skills/")

    def test_a_policy_that_forbids_sources_forbids_importing_them(
        self, person: Person, server: GitServer, repository: Repository
    ) -> None:
        text = '[project]\nname = "shop"\n\n[policy]\nsources = "signed"\n'
        person.write("rye.toml", text)
        person.write("skills-lock.json", project_lock(server.url("skills"), pdf=PDF_HASH))
        result: Result = person.run("import", "--yes", "--json")
        assert result.code == 1
        assert person.path("rye.toml").read_text() == text
        assert not person.path("rye.lock").exists()


def test_what_was_imported_is_shown_as_what_is_new_here(person: Person) -> None:
    person.write(
        ".claude/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Reads documents. Use it for documents.\n---\n\nRun `pip install pypdf` first.\n",
    )
    person.write(".claude/skills/pdf/scripts/read.sh", "#!/bin/sh\nls\n")
    person.write(
        ".claude/agents/reader.md",
        "---\nname: reader\ndescription: Reads. Use it to read.\ntools: Read\n---\n\nRead.\n",
    )
    person.ok("import", "-y")
    shown = person.terminal("install", answer=b"n\n")
    assert "What the texts mention:" in shown
    assert "fetches code without a fixed version: pip install pypdf" in shown
    assert "executable file scripts/read.sh: #!/bin/sh" in shown
    assert "(new)" not in shown
    assert "new: Read" not in shown


def test_an_agent_that_lies_where_its_program_reads_it_is_not_to_be_moved_away(person: Person) -> None:
    """``deploy`` would write another form of it in the place of its source."""
    person.write(
        ".claude/agents/reader.md",
        "---\nname: reader\ndescription: Reads. Use it to read.\ntools: Read\n---\n\nRead.\n",
    )
    person.ok("import", "-y")
    person.ok("install", "-y")
    refused = person.run("deploy", "--target", "claude").stderr
    assert "The item comes from this file." in refused
    assert 'exclude = ["agent:claude-agents/reader"] below [deploy.claude] in rye.toml' in refused
    assert "Move it away" not in refused
    with person.path("rye.toml").open("a") as file:
        file.write('\n[deploy.claude]\nexclude = ["agent:claude-agents/reader"]\n')
    person.ok("deploy", "--target", "claude")
    person.ok("ci")
