"""How a project and its grants become profiles, hidden secrets and arguments for each sandbox. Nothing runs here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.items.needs import NEVER_WRITTEN, parse_needs
from rye.runtime.sandbox import users
from rye.runtime.sandbox.exposure import is_hidden, survey, sweep
from rye.runtime.sandbox.interpreters import Program
from rye.runtime.sandbox.places import around
from rye.runtime.sandbox.profile import HostPort, profile_for
from rye.runtime.sandbox.running import Scene, make_granted
from rye.runtime.sandbox.seatbelt import profile_text
from rye.runtime.sandbox.tool_run import SandboxUnavailable


def test_the_environment_is_five_variables_and_what_is_granted() -> None:
    environ = {
        "LANG": "de_DE.UTF-8",
        "TZ": "Europe/Berlin",
        "TOKEN": "t",
        "OTHER": "o",
        "PATH": "/evil",
        "LD_PRELOAD": "x",
    }
    profile = profile_for(Path("/p"), Path("/w"), environ, parse_needs({"env": ["TOKEN", "UNSET"]}))
    assert dict(profile.env) == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "de_DE.UTF-8",
        "TZ": "Europe/Berlin",
        "HOME": "/w",
        "TMPDIR": "/w",
        "TOKEN": "t",
    }
    odd = profile_for(Path("/p"), Path("/w"), {"LANG": "a b", "TZ": "\n"})
    assert (dict(odd.env)["LANG"], dict(odd.env)["TZ"]) == ("C.UTF-8", "UTC")


def test_grants_become_paths_and_places() -> None:
    grants = parse_needs({"write": ["build/", "out.txt", "."], "network": ["[::1]:80", "A.example:443"]})
    profile = profile_for(Path("/p"), Path("/w"), {}, grants, seconds=1e9)
    assert profile.write == (Path("/p"), Path("/p/build"), Path("/p/out.txt"))
    assert profile.folders == (Path("/p"), Path("/p/build"))
    assert profile.network == (HostPort("::1", 80), HostPort("a.example", 443))
    assert profile.seconds == 120


def test_the_key_of_a_model_is_granted_to_no_tool() -> None:
    grants = parse_needs({"env": ["ANTHROPIC_API_KEY"]})
    with pytest.raises(RyeError, match="key of a model"):
        profile_for(Path("/p"), Path("/w"), {}, grants, withheld=frozenset(["ANTHROPIC_API_KEY"]))


def test_the_whole_file_system_is_no_project() -> None:
    with pytest.raises(RyeError, match="whole file system"):
        profile_for(Path("/"), Path("/w"), {})


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".env.local",
        ".ENVRC",
        "a/b.pem",
        "A.KEY",
        "id_rsa",
        "id_ed25519.pub",
        "x/.ssh",
        ".git/config",
        "sub/.git/config",
        ".git/modules/a/b/config",
        ".git/worktrees/w/config.worktree",
        ".ai/runs",
    ],
)
def test_a_secret_is_known_by_its_name(path: str) -> None:
    assert is_hidden(Path("/project", path))


@pytest.mark.parametrize(
    "path", ["env", "config", "git/config", ".git/HEAD", "pem", "key", "a.pem.txt", "my_id_card", ".ai/tools", "runs"]
)
def test_other_names_are_no_secrets(path: str) -> None:
    assert not is_hidden(Path("/project", path))


def made(base: Path, *names: str) -> Path:
    root = Path(os.path.realpath(base)) / "project"
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x", "utf-8")
    return root


def test_a_clean_folder_is_allowed_as_a_whole_and_another_around_its_secrets(tmp_path: Path) -> None:
    root = made(tmp_path, "a/b/c.txt", "d/.env", "d/e.txt", "d/f/g.txt", "h.txt")
    (root / "d" / "link").symlink_to("/etc")
    found = survey(root)
    assert set(found.allowed) == {root / "a", root / "h.txt", root / "d/e.txt", root / "d/f"}
    assert set(found.listed) == {root, root / "d"}
    assert found.hidden == (root / "d/.env",)
    clean = made(tmp_path / "other", "a/b.txt")
    assert survey(clean).allowed == (clean,)


def test_what_a_hidden_link_leads_to_is_hidden(tmp_path: Path) -> None:
    root = made(tmp_path, "config/production", "config/other")
    (root / ".env").symlink_to("config/production")
    found = survey(root)
    assert root / "config/production" in found.hidden
    assert root / "config/other" in found.allowed
    assert root / "config" not in found.allowed


def test_what_is_too_much_to_look_through_is_hidden(tmp_path: Path) -> None:
    root = made(tmp_path, *(f"many/{number}" for number in range(30)), "few/1")
    found = survey(root, entries=10)
    assert root / "many" in found.hidden
    assert root not in found.allowed


def test_names_that_steer_agents_are_read_and_not_changed(tmp_path: Path) -> None:
    root = made(tmp_path, *(f"{name}/x" for name in NEVER_WRITTEN), "src/.GIT/hooks/x", "src/a", "lib/b")
    assert survey(root).allowed == (root,)
    changing = survey(root, changing=True)
    assert set(changing.allowed) == {root / "lib", root / "src/a"}
    assert root / "src/.GIT" in changing.protected
    assert {path.name for path in changing.protected} >= set(NEVER_WRITTEN)


def test_a_sweep_renames_what_is_new_and_follows_no_link(tmp_path: Path) -> None:
    root = made(tmp_path, "a/.git/HEAD", "b/.claude/settings.json", "c/kept", "outside/.git/HEAD")
    (root / "c" / "away").symlink_to(root / "outside")
    (root / "c" / ".cursor").symlink_to(root / "outside")
    (root / "c" / ".git").write_text("gitdir: x", "utf-8")
    (root / "b/.claude/deeper/.git").mkdir(parents=True)
    folders = [root / "a", root / "b", root / "c"]
    assert sweep(folders, before=[root / "a/.git"], user=os.geteuid() + 1) == ()
    refused = sweep(folders, before=[root / "a/.git"], user=None)
    [aside] = (root / "b").iterdir()
    assert sorted(refused) == sorted(
        [str(aside / "deeper/.git"), *(str(root / name) for name in ("b/.claude", "c/.cursor", "c/.git"))]
    )
    assert (aside / "settings.json").read_text("utf-8") == "x"
    assert (root / "a/.git/HEAD").exists()
    assert (root / "outside/.git/HEAD").exists()
    assert {path.name.split("-")[0] for path in (root / "c").iterdir()} == {"away", "kept", "refused"}


def test_a_grant_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    root = made(tmp_path, "a/b")
    (tmp_path / "elsewhere").mkdir()
    (root / "build").symlink_to(tmp_path / "elsewhere")
    for write in ("build/", "build/deeper/", "missing.txt"):
        profile = profile_for(root, tmp_path, {}, parse_needs({"write": [write]}))
        with pytest.raises(SandboxUnavailable):
            make_granted(profile)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    make_granted(profile_for(root, tmp_path, {}, parse_needs({"write": ["new/folder/"]})))
    assert (root / "new/folder").is_dir()


def test_a_system_folder_is_allowed_around_a_project_in_it(tmp_path: Path) -> None:
    root = made(tmp_path, "src/app/.env", "src/other/x", "bin/y")
    assert around(root, [root / "src/app"]) == (root / "bin", root / "src/other")
    assert around(root, [tmp_path / "x"]) == (root,)
    assert around(root, [root]) == ()


def test_the_user_of_a_call_comes_from_numbers_that_nobody_has() -> None:
    assert users.drawn_from("         0          0 4294967295\n") == range(0x70000000, 0x7FFFFFFE)
    assert users.drawn_from("0 100000 65536\n") == range(64512, 65520)
    assert users.drawn_from("0 1000 1\n") is None
    assert users.effective_capabilities("Name:\tx\nCapEff:\t00000000000000c4\n") == 0xC4


def test_seatbelt_refuses_last_what_no_grant_opens(tmp_path: Path) -> None:
    root = made(tmp_path, 'a"b/c', "build/.git/HEAD", "build/.env", ".env")
    grants = parse_needs({"write": ["build/"]})
    profile = profile_for(root, Path("/work"), {}, grants)
    writable = tuple(survey(path, changing=True) for path in profile.write)
    program = Program((), (), b"", (), True, ())
    scene = Scene(profile, program, Path("/copy"), survey(root), writable, (Path("/home/me/.config/rye"),), None)
    lines = profile_text(scene, (Path("/opt/python"),)).splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert lines[-1] == "(deny network*)"
    allowed = next(
        number for number, line in enumerate(lines) if f'(allow file-read* file-write* (subpath "{root}/build")' in line
    )
    denied = next(number for number, line in enumerate(lines) if line.startswith("(deny file-read* file-write*"))
    protected = next(
        number
        for number, line in enumerate(lines)
        if line.startswith(f'(deny file-write* (subpath "{root}/build/.git")')
    )
    assert allowed < protected
    assert allowed < denied
    assert f'"{root}/.env"' in lines[denied]
    assert f'"{root}/build/.env"' in lines[denied]
    assert '"/home/me/.config/rye"' in lines[denied]
    assert all(name.removeprefix(".") in "".join(lines[denied + 1 :]) for name in NEVER_WRITTEN)
    quoted = profile_for(root / 'a"b', Path("/work"), {})
    scene = Scene(quoted, program, Path("/copy"), survey(root / 'a"b'), (), (), None)
    assert 'a\\"b' in profile_text(scene, ())
