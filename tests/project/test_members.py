"""Workspace members: which folders are members, what their rye.toml may contain, and which workspace each belongs to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye.errors import RyeError, UsageError
from rye.limits import WORKSPACE
from rye.project import layout
from rye.project.context import load_manifest
from rye.project.layout import Project, find_project, workspace_above
from rye.project.lock_file import wanted_ranges
from rye.project.manifest import parse_manifest
from rye.project.member_patterns import BadPattern, check_pattern, matches
from rye.project.members import find_member, member_around, of_member
from rye.text.tables import ManifestError

ROOT = '[dependencies]\n"acme/work/root" = "^1"\n\n[workspace]\nmembers = ["services/*", "tools/lint"]\n'
MEMBER = '[project]\nname = "{name}"\n\n[dependencies]\n"acme/work/base" = "{range}"\n'


def write(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(
        tmp_path / "repo",
        {
            "rye.toml": ROOT,
            "services/api/rye.toml": MEMBER.format(name="api", range="^1"),
            "services/web/rye.toml": MEMBER.format(name="front", range="^2"),
            "services/docs/readme.md": "no member",
            "tools/lint/rye.toml": "[groups.dev]\n'acme/work/lint' = '*'\n",
        },
    )


def refused(root: Path) -> RyeError:
    with pytest.raises(RyeError) as caught:
        load_manifest(Project(root))
    assert caught.value.hint
    return caught.value


class TestPatterns:
    @pytest.mark.parametrize("pattern", ["services/*", "a", "a/b/c", "?-service/x*", "größe/*"])
    def test_good_ones(self, pattern: str) -> None:
        assert check_pattern(pattern) == pattern

    @pytest.mark.parametrize(
        "pattern",
        ["", ".", "./a", "..", "../a", "a/../b", "/etc", "a//b", "a/", "**", "a/**", ".git/*", "a/.ai", "C:\\x", "a\\b", "a:b",
         "a\x00b", "a\nb", "[ab]", "{a,b}", "a" * 300, "/".join("a" * 20), " a", "a "],
    )  # fmt: skip
    def test_bad_ones_are_refused_in_rye_toml(self, pattern: str) -> None:
        with pytest.raises(BadPattern):
            check_pattern(pattern)

    def test_rye_toml_names_the_pattern(self) -> None:
        with pytest.raises(ManifestError, match=r"members '\.\./x'"):
            parse_manifest('[workspace]\nmembers = ["../x"]\n')

    @pytest.mark.parametrize("text", ["[workspace]\nmember = []\n", "[workspace]\nmembers = 'a'\n", "workspace = 1\n"])
    def test_another_form_is_refused(self, text: str) -> None:
        with pytest.raises(ManifestError):
            parse_manifest(text)

    def test_too_many_are_refused(self) -> None:
        listed = ", ".join(f'"m{number}"' for number in range(WORKSPACE.patterns + 1))
        with pytest.raises(ManifestError, match="more than"):
            parse_manifest(f"[workspace]\nmembers = [{listed}]\n")

    @pytest.mark.parametrize(
        ("pattern", "path", "means"),
        [
            ("services/*", "services/api", True),
            ("services/*", "services/api/sub", False),
            ("services/*", "services", False),
            ("services/*", "services/.hidden", False),
            ("*", "node_modules", False),
            ("serv?ces/a*", "services/api", True),
            ("services/api", "services/API", False),
        ],
    )
    def test_a_star_is_part_of_one_name(self, pattern: str, path: str, means: bool) -> None:
        assert matches([pattern], path) is means


class TestTheWhole:
    def test_it_has_what_root_and_members_need(self, root: Path) -> None:
        manifest = load_manifest(Project(root))
        assert [(line.member, line.group, line.key, line.range) for line in manifest.dependencies] == [
            ("", "main", "acme/work/root", "^1"),
            ("services/api", "main", "acme/work/base", "^1"),
            ("services/web", "main", "acme/work/base", "^2"),
            ("tools/lint", "dev", "acme/work/lint", "*"),
        ]
        assert manifest.groups == ("dev", "main")
        assert [member.path for member in manifest.members] == ["services/api", "services/web", "tools/lint"]

    def test_the_lock_remembers_who_asks(self, root: Path) -> None:
        assert wanted_ranges(load_manifest(Project(root))) == {
            "acme/work/root": "^1",
            "services/api: acme/work/base": "^1",
            "services/web: acme/work/base": "^2",
            "tools/lint: dev/acme/work/lint": "*",
        }

    def test_a_member_is_named_by_its_folder_or_its_name(self, root: Path) -> None:
        manifest = load_manifest(Project(root))
        named = {
            name: find_member(manifest, name) for name in ("services/api", "./services/api/", "front", "lint", ".")
        }
        assert list(named.values()) == ["services/api", "services/api", "services/web", "tools/lint", ""]
        assert [line.range for line in of_member(manifest, "services/web").dependencies] == ["^2"]
        with pytest.raises(UsageError) as caught:
            find_member(manifest, "fronte")
        assert (caught.value.code, caught.value.details["what"], caught.value.hint) == (
            "unknown-name",
            "member",
            "Did you mean front?",
        )

    def test_a_name_of_two_members_is_ambiguous(self, root: Path) -> None:
        write(root, {"services/web/rye.toml": MEMBER.format(name="api", range="*")})
        manifest = load_manifest(Project(root))
        assert find_member(manifest, "services/api") == "services/api"
        with pytest.raises(UsageError) as caught:
            find_member(manifest, "api")
        assert caught.value.code == "ambiguous"

    def test_the_member_around_a_folder(self, root: Path) -> None:
        manifest = load_manifest(Project(root))
        around = {
            name: member_around(manifest, root, root / name) for name in ("services/api/src", "services", ".", "..")
        }
        assert around == {"services/api/src": "services/api", "services": "", ".": "", "..": ""}


class TestBelonging:
    def test_a_members_folder_finds_the_root(self, root: Path) -> None:
        (root / "services/api/src").mkdir()
        for folder in ("", "services", "services/api", "services/api/src", "tools/lint"):
            assert find_project(root / folder) == Project(root)

    def test_a_project_that_is_no_member_is_its_own(self, root: Path) -> None:
        write(root, {"services/api/inner/rye.toml": "", "other/rye.toml": ""})
        for folder in ("services/api/inner", "other"):
            assert find_project(root / folder) == Project(root / folder)

    def test_somebody_elses_file_above_takes_nobody_in(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(layout, "_owner", lambda file: os.stat(file).st_uid + 1)
        assert find_project(root / "services/api") == Project(root / "services/api")

    def test_somebody_elses_unreadable_file_above_is_not_even_parsed(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Anyone can create /tmp/rye.toml. It must not stop the commands in projects below it."""
        write(root, {"rye.toml": "[workspace\n"})
        monkeypatch.setattr(layout, "_owner", lambda file: os.stat(file).st_uid + 1)
        assert find_project(root / "services/api") == Project(root / "services/api")

    def test_a_file_above_that_may_be_a_root_and_cannot_be_read_is_an_error(self, root: Path) -> None:
        write(root, {"rye.toml": "[workspace\n"})
        with pytest.raises(RyeError) as caught:
            find_project(root / "services/api")
        assert caught.value.code == "bad-manifest"

    def test_a_broken_file_above_that_is_no_workspace_is_nobodys_concern(self, root: Path) -> None:
        write(root, {"rye.toml": "[dependencies\n"})
        assert find_project(root / "services/api") == Project(root / "services/api")

    def test_a_folder_that_is_not_there_yet_may_become_a_member(self, root: Path) -> None:
        assert workspace_above(root / "services/new") == root
        assert workspace_above(root / "other") is None


class TestWhatMembersMayNotSay:
    @pytest.mark.parametrize(
        "text",
        [
            '[policy]\nmax-tier = "unrestricted"',
            '[overrides]\n"acme/work/base" = "1.0.0"',
            '[registries]\nacme = "https://evil.example"',
            '[project]\nregistry = "https://evil.example"',
            '[project]\nnamespace = "acme"',
            '[environment]\nprovides = ["docker"]',
            '[deploy]\ntargets = ["claude"]',
            '[sandbox."tool:acme/net/fetch"]\nnetwork = ["evil.example:443"]',
            '[sources]\nteam = { git = "https://git.example.org/x.git" }',
            '[audit]\nignore = [{ id = "RYE-2026-0001", until = "2099-12-31", reason = "hush" }]',
        ],
    )
    def test_what_is_about_the_whole_is_an_error(self, root: Path, text: str) -> None:
        write(root, {"services/api/rye.toml": text})
        error = refused(root)
        assert error.code == "bad-member"
        assert "services/api" in error.message
        assert "is only allowed at the workspace root" in error.message

    @pytest.mark.parametrize(
        "place",
        [
            "rye.lock",
            ".ai/packages/x",
            ".ai/overrides/x",
            ".ai/formula-overlays/x",
            ".ai/role-directives/x",
            ".ai/skills/pdf/SKILL.md",
            ".ai/directives/work/x.md",
        ],
    )
    def test_what_would_have_no_effect_there_is_an_error(self, root: Path, place: str) -> None:
        write(root, {f"services/api/{place}": ""})
        error = refused(root)
        assert error.code == "bad-member"
        assert "no effect" in error.message

    def test_a_workspace_in_a_workspace_is_an_error_from_both(self, root: Path) -> None:
        write(root, {"services/api/rye.toml": '[workspace]\nmembers = ["x"]\n', "services/api/x/rye.toml": ""})
        assert "do not nest" in refused(root).message
        for folder in ("services/api", "services/api/x"):
            assert find_project(root / folder) == Project(root)

    def test_an_unknown_key_is_named_with_the_members_file(self, root: Path) -> None:
        write(root, {"services/api/rye.toml": "[dependancies]\n"})
        assert refused(root).message.startswith("services/api/rye.toml: unknown key")


class TestFolders:
    def test_a_link_to_a_folder_is_no_member(self, root: Path, tmp_path: Path) -> None:
        write(tmp_path / "outside", {"rye.toml": ""})
        (root / "services/out").symlink_to(tmp_path / "outside")
        error = refused(root)
        assert error.code == "bad-member"
        assert "link" in error.message

    def test_a_link_on_the_way_is_refused(self, root: Path, tmp_path: Path) -> None:
        write(tmp_path / "outside", {"api/rye.toml": ""})
        write(root, {"rye.toml": '[workspace]\nmembers = ["away/api"]\n'})
        (root / "away").symlink_to(tmp_path / "outside")
        assert "link" in refused(root).message

    def test_a_link_as_rye_toml_is_refused(self, root: Path, tmp_path: Path) -> None:
        write(tmp_path, {"elsewhere.toml": ""})
        (root / "services/api/rye.toml").unlink()
        (root / "services/api/rye.toml").symlink_to(tmp_path / "elsewhere.toml")
        assert "is a link" in refused(root).message

    def test_a_pipe_as_rye_toml_is_refused_at_once(self, root: Path) -> None:
        (root / "services/api/rye.toml").unlink()
        os.mkfifo(root / "services/api/rye.toml")
        assert refused(root).code == "not-a-file"

    def test_links_that_lead_nowhere_and_to_files_are_left_alone(self, root: Path) -> None:
        (root / "services/gone").symlink_to(root / "nowhere")
        (root / "services/file").symlink_to(root / "rye.toml")
        (root / "services/shared").symlink_to(root / "services/docs")
        assert len(load_manifest(Project(root)).members) == 3

    def test_a_member_that_is_named_must_be_there(self, root: Path) -> None:
        (root / "tools/lint/rye.toml").unlink()
        assert "has no rye.toml" in refused(root).message
        (root / "tools/lint").rmdir()
        assert "does not exist" in refused(root).message

    def test_one_folder_by_two_patterns_is_one_member(self, root: Path) -> None:
        write(root, {"rye.toml": '[workspace]\nmembers = ["services/*", "services/api", "*/api"]\n'})
        assert [member.path for member in load_manifest(Project(root)).members] == ["services/api", "services/web"]

    def test_a_search_is_bounded(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rye.project.members.WORKSPACE", type("W", (), {**_limits(), "folders": 2})())
        assert "the patterns visit more than" in refused(root).message

    def test_members_are_bounded(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rye.project.members.WORKSPACE", type("W", (), {**_limits(), "members": 2})())
        assert "more than 2 members" in refused(root).message

    def test_a_folder_whose_name_works_on_no_other_system_is_refused(self, root: Path) -> None:
        write(root, {"services/a:b/rye.toml": ""})
        assert "every system" in refused(root).message

    def test_bytes_that_are_no_text_are_refused(self, root: Path) -> None:
        (root / "services/api/rye.toml").write_bytes(b"\xff\xfe")
        assert "UTF-8" in refused(root).message


def _limits() -> dict[str, int]:
    return {name: getattr(WORKSPACE, name) for name in WORKSPACE.__struct_fields__}
