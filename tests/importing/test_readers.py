"""Each foreign form: what it names, what is skipped and why, and how hostile files are handled."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from rye.errors import RyeError
from rye.importing.apm import read_apm
from rye.importing.foreign import Digest, FolderPlace, Foreign, ForeignEntry, GitPlace
from rye.importing.marketplace import read_marketplace
from rye.importing.skills_locks import read_project_lock, read_user_lock
from rye.importing.toolhive import read_toolhive
from rye.limits import IMPORTS

HASH, TREE, COMMIT = "ab" * 32, "cd" * 20, "ef" * 20


def project_lock(**skills: object) -> bytes:
    return json.dumps({"version": 1, "skills": skills}).encode()


def user_lock(**skills: object) -> bytes:
    return json.dumps({"version": 3, "skills": skills, "dismissed": {}, "lastSelectedAgents": ["claude-code"]}).encode()


def reasons(found: Foreign) -> dict[str, str]:
    return {one.what: one.reason for one in found.left_out}


class TestTheProjectsLockOfSkills:
    def test_a_github_skill(self) -> None:
        [entry] = read_project_lock(
            project_lock(
                **{
                    "web-design": {
                        "source": "vercel-labs/agent-skills",
                        "sourceType": "github",
                        "ref": "main",
                        "skillPath": "skills/web-design/SKILL.md",
                        "computedHash": HASH,
                    }
                }
            )
        ).entries
        place = GitPlace("https://github.com/vercel-labs/agent-skills.git", "main", None, "skills/web-design")
        digest = Digest("skills-folder", HASH)
        assert entry == ForeignEntry(
            file="skills-lock.json",
            name="web-design",
            place=place,
            digests=(digest,),
            only=("web-design",),
            is_one=True,
        )

    @pytest.mark.parametrize(
        ("row", "place"),
        [
            ({"source": "o/r", "sourceType": "gitlab"}, GitPlace("https://gitlab.com/o/r.git")),
            (
                {"source": "x", "sourceUrl": "https://git.example.org/o/r.git", "sourceType": "git"},
                GitPlace("https://git.example.org/o/r.git"),
            ),
            ({"source": "git@git.example.org:o/r.git", "sourceType": "git"}, GitPlace("ssh://git@git.example.org/o/r.git")),
            ({"source": "../shared/pdf", "sourceType": "local"}, FolderPlace("../shared/pdf")),
            ({"source": "o/r", "sourceType": "github", "skillPath": "SKILL.md"}, GitPlace("https://github.com/o/r.git")),
        ],
    )  # fmt: skip
    def test_other_places(self, row: dict[str, str], place: object) -> None:
        [entry] = read_project_lock(project_lock(pdf={**row, "computedHash": HASH})).entries
        assert entry.place == place

    @pytest.mark.parametrize(
        ("row", "why"),
        [
            ({"source": "left-pad", "sourceType": "node_modules"}, "neither a git repository nor a folder"),
            (
                {"source": "https://bun.sh", "sourceType": "well-known", "wellKnownDigest": "x"},
                "it comes from a web site",
            ),
            ({"source": "o/r", "sourceType": "github", "skillPath": "../../etc"}, "not a folder name"),
            ({"source": "o/r", "sourceType": "github", "skillPath": "a/.git/hooks/SKILL.md"}, "not a folder name"),
            ({"source": "o/r/../x", "sourceType": "github"}, "not an OWNER/REPOSITORY"),
            ({"source": "--upload-pack=x/r", "sourceType": "github"}, "not an OWNER/REPOSITORY"),
            ({"source": "ext::sh -c id", "sourceType": "git"}, "address"),
            ({"source": "file:///etc", "sourceType": "git"}, "address"),
            ({"source": "https://user:pw@host/x.git", "sourceType": "git"}, "address"),
            ({"source": "http://evil.example/x.git", "sourceType": "git"}, "address"),
            ({"source": "o/r", "sourceType": "github", "ref": "--output=x"}, "ref"),
            ({"source": "o/r", "sourceType": "github", "ref": "a..b"}, "ref"),
            ({"source": "o/r", "sourceType": "github", "patch": "x"}, "does not know its key 'patch'"),
            ({"source": "o/r\u202e", "sourceType": "github"}, "control characters"),
            ({"source": "/etc/skills", "sourceType": "local"}, "absolute path"),
            ({"source": ".", "sourceType": "local"}, "project itself"),
            ({"source": "~/x", "sourceType": "local"}, "absolute path"),
            ({"source": 7, "sourceType": "github"}, "not text"),
            ({"sourceType": "github"}, "has no source"),
        ],
    )
    def test_what_is_left_out_says_why(self, row: dict[str, object], why: str) -> None:
        found = read_project_lock(project_lock(pdf={"computedHash": HASH, **row}))
        assert found.entries == ()
        assert why in reasons(found)["pdf"]

    @pytest.mark.parametrize("digest", ["", "AB" * 32, "ab" * 31, "x" * 64, None, 7])
    def test_an_entry_without_a_whole_digest_is_left_out(self, digest: object) -> None:
        row = {"source": "o/r", "sourceType": "github", "computedHash": digest}
        assert read_project_lock(project_lock(pdf=row)).entries == ()


class TestTheUsersLockOfSkills:
    def row(self, digest: str) -> dict[str, str]:
        return {
            "source": "o/r",
            "sourceType": "github",
            "sourceUrl": "https://github.com/o/r.git",
            "skillPath": "skills/pdf/SKILL.md",
            "skillFolderHash": digest,
            "installedAt": "2026-01-01T00:00:00.000Z",
            "updatedAt": "2026-01-01T00:00:00.000Z",
        }

    def test_forty_digits_are_a_tree_and_sixty_four_a_content_hash(self) -> None:
        found = read_user_lock(user_lock(a=self.row(TREE), b=self.row(HASH)))
        assert [entry.digests for entry in found.entries] == [
            (Digest("git-tree", TREE),),
            (Digest("skills-folder", HASH),),
        ]

    def test_without_a_digest_it_is_said(self) -> None:
        [entry] = read_user_lock(user_lock(a=self.row(""))).entries
        assert entry.digests == ()
        assert entry.note is not None

    @pytest.mark.parametrize("version", [1, 2, 4, "3", True, None, 10**30])
    def test_another_version_is_refused(self, version: object) -> None:
        with pytest.raises(RyeError) as caught:
            read_user_lock(json.dumps({"version": version, "skills": {}}).encode())
        assert caught.value.code == "bad-foreign-file"


TOOLHIVE = f"""version: 1
skills:
  - name: pdf
    version: 1.0.0
    source: git://github.com/acme/skills@v1.0.0#skills/pdf
    resolvedReference: git://github.com/acme/skills@v1.0.0#skills/pdf
    digest: {COMMIT}
    contentDigest: sha256:{HASH}
    explicit: true
  - name: image
    source: ghcr.io/acme/skills/image:1
    digest: sha256:{HASH}
    requiredBy: [pdf]
plugins:
  - name: kit
    source: ghcr.io/acme/kit:1
    digest: sha256:{HASH}
"""


class TestToolHive:
    def test_git_skills_are_taken_and_images_left_out(self) -> None:
        found = read_toolhive(TOOLHIVE.encode())
        [entry] = found.entries
        assert entry.place == GitPlace("https://github.com/acme/skills.git", "v1.0.0", COMMIT, "skills/pdf")
        assert entry.digests == (Digest("toolhive-files", HASH),)
        assert "not a git repository" in reasons(found)["image"]
        assert "plugin" in reasons(found)["kit"]

    def test_a_skill_that_is_there_twice_is_refused(self) -> None:
        row = TOOLHIVE.split("skills:\n")[1].split("  - name: image")[0]
        with pytest.raises(RyeError, match="more than once"):
            read_toolhive(f"version: 1\nskills:\n{row}{row}".encode())

    def test_provenance_is_not_silently_dropped(self) -> None:
        text = TOOLHIVE.replace(
            "    explicit: true\n", "    provenance:\n      signerIdentity: x\n      certIssuer: y\n"
        )
        [entry] = read_toolhive(text.encode()).entries
        assert "provenance" in (entry.note or "")


MARKETPLACE = {
    "name": "acme",
    "owner": {"name": "Acme"},
    "metadata": {"pluginRoot": "./plugins"},
    "plugins": [
        {"name": "local", "source": "./kit"},
        {"name": "hub", "source": {"source": "github", "repo": "acme/hub", "ref": "v2", "sha": COMMIT}},
        {"name": "url", "source": {"source": "url", "url": "https://git.example.org/acme/url.git"}},
        {"name": "sub", "source": {"source": "git-subdir", "url": "acme/mono", "path": "tools/sub", "ref": "main"}},
        {"name": "npm", "source": {"source": "npm", "package": "@acme/kit"}, "hooks": "./hooks.json"},
        {"name": "up", "source": "./../../secrets"},
    ],
}


class TestMarketplaces:
    def test_folders_and_repositories(self) -> None:
        found = read_marketplace(json.dumps(MARKETPLACE).encode())
        assert {entry.name: entry.place for entry in found.entries} == {
            "local": FolderPlace("plugins/kit"),
            "hub": GitPlace("https://github.com/acme/hub.git", "v2", COMMIT),
            "url": GitPlace("https://git.example.org/acme/url.git"),
            "sub": GitPlace("https://github.com/acme/mono.git", "main", None, "tools/sub"),
        }
        assert [(one.what, "hooks" in one.reason) for one in found.left_out] == [
            ("npm", False),
            ("npm", True),
            ("up", False),
        ]


APM = """name: shop
version: 1.0.0
dependencies:
  apm:
    - acme/skills#v1.0.0
    - acme/mono/skills/pdf
    - gitlab.example.org/acme/other#main
    - git: git@git.example.org:team/rules.git
      path: packs/base
      ref: v2.0
      skills: [one, two]
    - ./packages/shared
    - path: ../neighbour
    - acme/mono/prompts/review.prompt.md
    - acme/widget#^1.2.0
    - name: sec-check
      marketplace: acme-plugins
    - git: parent
      path: skills/x
    - kit@market
  mcp:
    - io.github.acme/server
devDependencies:
  apm:
    - acme/tests
scripts:
  start: copilot
"""
APM_LOCK = f"""lockfile_version: '1'
generated_at: '2026-07-31T12:14:04+00:00'
apm_version: 0.26.0
dependencies:
- repo_url: acme/skills
  host: github.com
  resolved_commit: {COMMIT}
  resolved_ref: v1.0.0
  content_hash: sha256:{HASH}
  package_type: claude_skill
  deployed_files:
  - .claude/skills/pdf
- repo_url: acme/mono
  resolved_commit: {COMMIT}
  virtual_path: skills/pdf
  is_virtual: true
  is_dev: true
- repo_url: acme/plugin
  resolved_commit: {COMMIT}
  package_type: marketplace_plugin
  content_hash: sha256:{HASH}
- repo_url: _local/shared
  source: local
  local_path: ./packages/shared
  content_hash: sha256:{HASH}
- repo_url: acme/replaced
  resolved_commit: {COMMIT}
  replacement: {{git: elsewhere}}
- repo_url: acme/registry
  source: registry
  resolved_url: https://registry.example/x
  resolved_hash: sha256:{HASH}
mcp_servers:
- io.github.acme/server
"""


class TestApm:
    def test_the_manifest_alone(self) -> None:
        found = read_apm(APM.encode(), None)
        assert [(entry.place, entry.group, entry.only) for entry in found.entries] == [
            (GitPlace("https://github.com/acme/skills.git", "v1.0.0"), "main", ()),
            (GitPlace("https://github.com/acme/mono.git", folder="skills/pdf"), "main", ()),
            (GitPlace("https://gitlab.example.org/acme/other.git", "main"), "main", ()),
            (GitPlace("ssh://git@git.example.org/team/rules.git", "v2.0", folder="packs/base"), "main", ("one", "two")),
            (FolderPlace("packages/shared"), "main", ()),
            (FolderPlace("../neighbour"), "main", ()),
            (GitPlace("https://github.com/acme/tests.git"), "dev", ()),
        ]
        said = reasons(found)
        assert "single file" in said["acme/mono/prompts/review.prompt.md"]
        assert "range of tags" in said["acme/widget#^1.2.0"]
        assert "MCP server" in said["io.github.acme/server"]
        assert "no such setting" in said["scripts"]
        assert len(found.left_out) == 7

    def test_the_locks_rows_count_and_the_manifest_says_the_rest(self) -> None:
        found = read_apm(APM.encode(), APM_LOCK.encode())
        locked = {entry.name: entry for entry in found.entries if entry.file == "apm.lock.yaml"}
        skills = locked["acme/skills"]
        assert skills.place == GitPlace("https://github.com/acme/skills.git", "v1.0.0", COMMIT)
        assert skills.digests == (Digest("apm-package", HASH),)
        assert locked["acme/mono/skills/pdf"].group == "dev"
        plugin = locked["acme/plugin"]
        assert plugin.digests == ()
        assert "only the commit was compared" in (plugin.note or "")
        assert locked["_local/shared"].place == FolderPlace("packages/shared")
        assert locked["_local/shared"].digests == (Digest("apm-package", HASH),)
        assert "a different place" in reasons(found)["acme/replaced"]
        assert "registry of apm packages" in reasons(found)["acme/registry"]
        rest = [entry.name for entry in found.entries if entry.file == "apm.yml"]
        assert rest == [
            "gitlab.example.org/acme/other#main",
            "git@git.example.org:team/rules.git",
            "../neighbour",
            "acme/tests",
        ]

    @pytest.mark.parametrize(
        "written", ["git.example.org:8443/acme/skills", "https://git.example.org:8443/acme/skills"]
    )
    def test_a_port_of_the_lock_is_part_of_the_address_and_its_commit_counts(self, written: str) -> None:
        """apm 0.35 writes host and port. The manifest's line for it brings no second, newer state."""
        row = f"- {{repo_url: acme/skills, host: git.example.org, port: 8443, resolved_commit: {COMMIT}}}"
        lock = f"lockfile_version: '1'\ndependencies:\n{row}\n"
        manifest = f"name: shop\nversion: 1.0.0\ndependencies:\n  apm:\n    - git: {written}\n"
        if "://" not in written:
            manifest = "name: shop\nversion: 1.0.0\n"
        found = read_apm(manifest.encode(), lock.encode())
        assert [entry.place for entry in found.entries] == [
            GitPlace("https://git.example.org:8443/acme/skills.git", None, COMMIT)
        ]
        for port in ("0", "65536", "'443'", "true"):
            refused = read_apm(None, lock.replace("port: 8443", f"port: {port}").encode())
            assert (refused.entries, len(refused.left_out)) == ((), 1)


READERS: dict[str, Callable[[bytes], Foreign]] = {
    "project": read_project_lock,
    "user": read_user_lock,
    "toolhive": read_toolhive,
    "marketplace": read_marketplace,
    "apm": lambda data: read_apm(data, None),
    "apm-lock": lambda data: read_apm(None, data),
}
HOSTILE = {
    "empty": b"",
    "list": b"[]",
    "text": b"7",
    "nul": b'{"version": 1, "skills": {"a\x00b": 1}, "name": "\x00"}',
    "not utf-8": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "huge number": b'{"version": ' + b"9" * 100_000 + b"}",
    "twice": b'{"version": 1, "version": 3, "skills": {}, "plugins": [], "dependencies": []}',
    "conflict": b'<<<<<<< ours\n{"version": 1}\n=======\n{}\n>>>>>>> theirs\n',
    "aliases": b"a: &a [1]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\nlockfile_version: '1'\n",
    "tag": b"!!python/object/apply:os.system [id]\n",
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_refused_with_a_word(reader: str, data: bytes) -> None:
    with pytest.raises(RyeError) as caught:
        READERS[reader](data)
    assert caught.value.code == "bad-foreign-file"
    assert caught.value.hint
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_too_large_is_not_parsed(reader: str) -> None:
    with pytest.raises(RyeError, match="more than"):
        READERS[reader](b" " * (IMPORTS.file_bytes + 1))


def test_too_many_entries_are_refused() -> None:
    rows: dict[str, object] = {f"s{number}": {} for number in range(IMPORTS.entries + 1)}
    with pytest.raises(RyeError, match="more than"):
        read_project_lock(project_lock(**rows))


def test_names_of_hostile_files_are_shown_on_one_line() -> None:
    found = read_project_lock(project_lock(**{'x"\n[policy]\nmax-tier = "unrestricted"': {}}))
    [one] = found.left_out
    assert "\n" not in one.what
    assert one.what.isprintable()
