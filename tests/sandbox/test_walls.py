"""How a project and its grants become profiles, hidden secrets and arguments for each sandbox. Nothing runs here."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Event

import pytest

from rye.errors import RyeError
from rye.items import autorun
from rye.items.needs import parse_needs
from rye.runtime.sandbox import users
from rye.runtime.sandbox.exposure import CAPABILITIES, FOLDER, Located, Survey, covered_inodes, inode_of, survey
from rye.runtime.sandbox.granted import opened
from rye.runtime.sandbox.interpreters import Program
from rye.runtime.sandbox.places import around
from rye.runtime.sandbox.profile import HostPort, profile_for
from rye.runtime.sandbox.running import Scene
from rye.runtime.sandbox.seatbelt import profile_text
from rye.runtime.sandbox.sweeping import Swept, sweep
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
    profile = profile_for(Path("/p"), Path("/w"), environ, parse_needs({"env": ["TOKEN", "UNSET"]}), deny=())
    assert dict(profile.env) == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "de_DE.UTF-8",
        "TZ": "Europe/Berlin",
        "HOME": "/w",
        "TMPDIR": "/w",
        "TOKEN": "t",
    }
    odd = profile_for(Path("/p"), Path("/w"), {"LANG": "a b", "TZ": "\n"}, deny=())
    assert (dict(odd.env)["LANG"], dict(odd.env)["TZ"]) == ("C.UTF-8", "UTC")


def test_grants_become_paths_and_places() -> None:
    grants = parse_needs({"write": ["build/", "out.txt", "."], "network": ["[::1]:80", "A.example:443"]})
    profile = profile_for(Path("/p"), Path("/w"), {}, grants, seconds=1e9, deny=())
    assert profile.write == (Path("/p"), Path("/p/build"), Path("/p/out.txt"))
    assert profile.folders == (Path("/p"), Path("/p/build"))
    assert profile.network == (HostPort("::1", 80), HostPort("a.example", 443))
    assert profile.seconds == 120


def test_the_key_of_a_model_is_granted_to_no_tool() -> None:
    grants = parse_needs({"env": ["ANTHROPIC_API_KEY"]})
    with pytest.raises(RyeError, match="key of a model"):
        profile_for(Path("/p"), Path("/w"), {}, grants, withheld=frozenset(["ANTHROPIC_API_KEY"]), deny=())


def test_the_whole_file_system_is_no_project() -> None:
    with pytest.raises(RyeError, match="whole file system"):
        profile_for(Path("/"), Path("/w"), {}, deny=())


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
        ".ai/runs/01",
        ".npmrc",
        "home/.NETRC",
        ".pypirc",
        "store.p12",
        "a/credentials.json",
        "infra/prod.tfstate",
        "home/.aws/credentials",
        ".kube/config",
        ".claude/.credentials.json",
        ".cargo/credentials.toml",
        ".vault-token",
        "release.jks",
        "passwords.KDBX",
    ],
)
def test_a_secret_is_known_by_its_name(path: str, tmp_path: Path) -> None:
    root = made(tmp_path, path)
    hidden = {located.path for located in surveyed(root).hidden}
    assert hidden & {root / path, (root / path).parent}


@pytest.mark.parametrize(
    "path", ["env", "config", "git/config", ".git/HEAD", "pem", "key", "a.pem.txt", "my_id_card", ".ai/tools", "runs"]
)
def test_other_names_are_no_secrets(path: str, tmp_path: Path) -> None:
    assert surveyed(made(tmp_path, path)).hidden == ()


def surveyed(
    root: Path, *, changing: bool = False, entries: int = 1000, covered: frozenset[tuple[int, int]] = frozenset()
) -> Survey:
    descriptor = os.open(root, FOLDER)
    try:
        return survey(root, descriptor, covered, changing=changing, entries=entries)
    finally:
        os.close(descriptor)


def paths(located: Iterable[Located]) -> set[Path]:
    return {each.path for each in located}


def swept(root: Path, grants: Sequence[str], change: Callable[[], object]) -> Swept:
    """What a sweep says after a change of granted folders."""
    profile = profile_for(root, root.parent, {}, parse_needs({"write": grants}), deny=())
    with opened(profile, Event()) as held:
        before = [survey(each.path, each.descriptor, changing=True) for each in held.writes]
        change()
        return sweep(held.writes, before)


def made(base: Path, *names: str) -> Path:
    root = Path(os.path.realpath(base)) / "project"
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x", "utf-8")
    return root


def test_a_clean_folder_is_allowed_as_a_whole_and_another_around_its_secrets(tmp_path: Path) -> None:
    root = made(tmp_path, "a/b/c.txt", "d/.env", "d/e.txt", "d/f/g.txt", "h.txt")
    (root / "d" / "link").symlink_to("/etc")
    seen = surveyed(root)
    assert paths(seen.allowed) == {root / "a", root / "h.txt", root / "d/e.txt", root / "d/f"}
    assert paths(seen.listed) == {root, root / "d"}
    assert paths(seen.hidden) == {root / "d/.env"}
    clean = made(tmp_path / "other", "a/b.txt")
    assert paths(surveyed(clean).allowed) == {clean}


def test_what_a_survey_finds_is_known_by_device_and_inode(tmp_path: Path) -> None:
    root = made(tmp_path, "d/.env", "d/e.txt", "d/f/g.txt")
    seen = surveyed(root)
    for located in (*seen.allowed, *seen.listed, *seen.hidden):
        status = located.path.lstat()
        assert located.inode == (status.st_dev, status.st_ino)


def test_what_a_hidden_link_leads_to_is_hidden(tmp_path: Path) -> None:
    root = made(tmp_path, "config/production", "config/other")
    (root / ".env").symlink_to("config/production")
    seen = surveyed(root)
    assert root / "config/production" in paths(seen.hidden)
    assert root / "config/other" in paths(seen.allowed)
    assert root / "config" not in paths(seen.allowed)


def test_what_is_too_much_to_look_through_is_hidden(tmp_path: Path) -> None:
    root = made(tmp_path, *(f"many/{number}" for number in range(30)), "few/1")
    seen = surveyed(root, entries=10)
    assert root / "many" in paths(seen.hidden)
    assert root not in paths(seen.allowed)
    deep = made(tmp_path / "deep", "/".join(["d"] * 70))
    assert paths(surveyed(deep).hidden) == {deep / "/".join(["d"] * 64)}


def test_another_name_of_a_covered_file_is_hidden(tmp_path: Path) -> None:
    """A hard link, the target of a link, a folder that a link leads to, a folder that is covered itself, and one below it."""
    keys = made(tmp_path / "home", "keys/default.key.txt", "keys/plain.txt") / "keys"
    root = made(tmp_path, "a/b.txt", "a/linked.txt", "kept/work.txt")
    os.link(keys / "default.key.txt", root / "a" / "notes.txt")
    (keys / "other").symlink_to(root / "a" / "linked.txt")
    (keys / "kept").symlink_to(root / "kept")
    (keys / "all").symlink_to(root)
    covered = covered_inodes([keys, tmp_path / "missing"], inode_of(root.stat()))
    seen = surveyed(root, covered=covered)
    assert paths(seen.hidden) == {root / "a" / "notes.txt", root / "a" / "linked.txt", root / "kept"}
    assert paths(seen.allowed) == {root / "a" / "b.txt"}
    assert paths(surveyed(keys.parent, covered=covered).hidden) == {keys}


def test_another_name_of_what_lies_in_a_hidden_folder_is_hidden(tmp_path: Path) -> None:
    """A hard link to a file in it, what a link in it leads to, and the same deeper."""
    root = made(tmp_path, ".aws/hard", ".aws/sso/deep", "dotfiles/credentials", "dotfiles/other", "notes/own.txt")
    os.link(root / ".aws/hard", root / "notes/hard.txt")
    os.link(root / ".aws/sso/deep", root / "notes/deep.txt")
    (root / ".aws/credentials").symlink_to("../dotfiles/credentials")
    (root / ".aws/self").symlink_to(root)
    (root / ".aws/gone").symlink_to("nowhere")
    hidden = {root / ".aws", root / "notes/hard.txt", root / "notes/deep.txt", root / "dotfiles/credentials"}
    for changing in (False, True):
        seen = surveyed(root, changing=changing)
        assert paths(seen.hidden) == hidden
        assert paths(seen.allowed) == {root / "notes/own.txt", root / "dotfiles/other"}


def test_names_that_programs_obey_are_read_and_not_changed(tmp_path: Path) -> None:
    names = [f"sub/{name.replace('*', 'x')}" for row in autorun.TABLE for name in row.names if row.where == "anywhere"]
    root = made(tmp_path, *(f"{name}/x" for name in names), "src/.GIT/hooks/x", "src/a", "lib/b", "lib/commands/x")
    secret = {root / name for name in names if autorun.is_secret_name(Path(name).name)}
    changing = surveyed(root, changing=True)
    assert paths(changing.allowed) == {root / "lib", root / "src/a"}
    assert paths(changing.protected) == {root / name for name in names} - secret | {root / "src/.GIT"}


@pytest.mark.parametrize("manifest", autorun.PLUGIN_MANIFESTS)
def test_parts_of_a_plugin_are_protected_beside_its_manifest(manifest: str, tmp_path: Path) -> None:
    root = made(tmp_path, f"p/{manifest}", "p/commands/x", "p/hooks/hooks.json", "q/commands/x")
    protected = paths(surveyed(root, changing=True).protected)
    assert {root / "p/commands", root / "p/hooks"} <= protected
    assert root / "q/commands" not in protected


@pytest.mark.parametrize("second", ["objects/x", "commondir"])
def test_a_folder_that_git_takes_for_a_repository_is_one(second: str, tmp_path: Path) -> None:
    root = made(tmp_path, "plain/HEAD", f"plain/{second}", "plain/config", "other/HEAD", "other/config")
    assert paths(surveyed(root).hidden) == {root / "plain/config"}
    assert paths(surveyed(root, changing=True).protected) == {root / "plain"}


def test_a_sweep_renames_what_is_new_and_follows_no_link(tmp_path: Path) -> None:
    root = made(tmp_path, "a/.git/HEAD", "b/x", "c/kept", "outside/.git/HEAD", "c/old/x.json")

    def change() -> None:
        made(tmp_path, "b/.claude/settings.json")
        (root / "c" / "away").symlink_to(root / "outside")
        (root / "c" / ".cursor").symlink_to(root / "outside")
        (root / "c" / ".git").write_text("gitdir: x", "utf-8")
        (root / "c" / "old").rename(root / "c" / ".vscode")
        (root / "a" / ".git").rename(root / "a" / "moved")
        (root / "a" / "moved").rename(root / "a" / ".git")
        (root / "b/.claude/deeper/.git").mkdir(parents=True)

    left = swept(root, ["a/", "b/", "c/"], change)
    [aside] = [path for path in (root / "b").iterdir() if path.name != "x"]
    names = ("b/.claude", "b/.claude/deeper/.git", "c/.cursor", "c/.git", "c/.vscode")
    assert sorted(left.refused) == sorted(str(root / name) for name in names)
    assert left.unlisted == []
    assert (aside / "settings.json").read_text("utf-8") == "x"
    assert (root / "a/.git/HEAD").exists()
    assert (root / "outside/.git/HEAD").exists()
    assert {path.name.split("-")[0] for path in (root / "c").iterdir()} == {"away", "kept", "refused"}


def test_a_sweep_takes_away_what_makes_a_folder_a_repository(tmp_path: Path) -> None:
    root = made(tmp_path, "build/x")
    left = swept(
        root, ["build/"], lambda: made(tmp_path, "build/HEAD", "build/objects/x", "build/refs/x", "build/config")
    )
    assert left.refused == [str(root / "build/HEAD")]
    assert not (root / "build/HEAD").exists()


def test_a_sweep_puts_modes_back_and_looks_into_what_it_could_not_list(tmp_path: Path) -> None:
    root = made(tmp_path, "build/sub/x")

    def change() -> None:
        made(tmp_path, "build/new/.claude/settings.json", "build/sub/.mcp.json")
        for name, mode in (("build/new", 0o311), ("build/sub", 0o000), ("build", 0o311)):
            (root / name).chmod(mode)

    left = swept(root, ["build/"], change)
    assert sorted(left.refused) == [str(root / "build/new/.claude"), str(root / "build/sub/.mcp.json")]
    assert left.unlisted == []
    assert [stat.S_IMODE((root / name).stat().st_mode) for name in ("build", "build/sub")] == [0o755, 0o755]


def test_a_sweep_takes_capabilities_away(tmp_path: Path) -> None:
    """No tool can give a file capabilities; a sweep does not rely on that. Those from before stay."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file capabilities")
    root = made(tmp_path, "build/old", "build/new", "build/plain")
    net_raw = bytes.fromhex("0100000200200000000000000000000000000000")

    def give(name: str) -> None:
        (root / name).chmod(0o755)
        os.setxattr(root / name, CAPABILITIES, net_raw)

    try:
        give("build/old")
    except OSError:
        pytest.skip("files have no capabilities here")
    left = swept(root, ["build/"], lambda: give("build/new"))
    assert left.cleared == [str(root / "build/new")]
    assert [CAPABILITIES in os.listxattr(root / name) for name in ("build/old", "build/new")] == [True, False]


def test_a_sweep_says_what_it_cannot_look_into(tmp_path: Path) -> None:
    root = made(tmp_path, "build/x")
    left = swept(root, ["build/"], lambda: made(tmp_path, "build/" + "d/" * 70 + ".claude"))
    assert left.unlisted == [str(root / ("build/" + "d/" * 64).rstrip("/"))]


def test_a_grant_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    root = made(tmp_path, "a/b")
    (tmp_path / "elsewhere").mkdir()
    (root / "build").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(root / "pipe")
    for write in ("build/", "build/deeper/", "missing.txt", "build", "pipe"):
        profile = profile_for(root, tmp_path, {}, parse_needs({"write": [write]}), deny=())
        with pytest.raises(SandboxUnavailable), opened(profile, Event()):
            pass
    assert list((tmp_path / "elsewhere").iterdir()) == []
    with opened(profile_for(root, tmp_path, {}, parse_needs({"write": ["new/folder/"]}), deny=()), Event()) as held:
        assert [each.path for each in held.writes] == [root / "new/folder"]
    assert (root / "new/folder").is_dir()


@pytest.mark.parametrize(
    ("one", "other", "waits"),
    [
        (["build/"], ["build/"], True),
        (["build/"], ["build/cache/"], True),
        (["build/cache/"], ["build/"], True),
        (["./"], ["build/"], True),
        (["build/", "build/cache/"], ["build/cache/"], True),
        (["out.txt"], ["./"], True),
        (["build/"], ["dist/"], False),
        (["build/cache/"], ["build/other/"], False),
        (["build/"], [], False),
    ],
)
def test_calls_whose_grants_overlap_wait_for_each_other(
    one: list[str], other: list[str], waits: bool, tmp_path: Path
) -> None:
    root = made(tmp_path, "build/cache/x", "out.txt")
    first = profile_for(root, tmp_path, {}, parse_needs({"write": one}), deny=())
    second = profile_for(root, tmp_path, {}, parse_needs({"write": other}), seconds=0.05, deny=())
    with opened(first, Event()):
        if waits:
            with pytest.raises(RyeError, match="still running") as error, opened(second, Event()):
                pass
            assert error.value.code == "in-use"
            cancelled = Event()
            cancelled.set()
            with pytest.raises(RyeError, match="cancelled"), opened(second, cancelled):
                pass
        else:
            with opened(second, Event()):
                pass
    with opened(second, Event()):
        pass


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

    def text(project: Path, grants: Sequence[str], denied: tuple[Path, ...], programs: Iterable[Path] = ()) -> str:
        profile = profile_for(project, Path("/work"), {}, parse_needs({"write": grants}), deny=())
        with opened(profile, Event()) as held:
            scene = Scene(
                profile=profile,
                program=Program((), (), b"", (), True, ()),
                folder=Path("/copy"),
                opened=held,
                readable=survey(project, held.project.descriptor),
                writable=tuple(survey(each.path, each.descriptor, changing=True) for each in held.writes),
                denied=denied,
                user=None,
            )
        return profile_text(scene, programs)

    lines = text(root, ["build/"], (Path("/home/me/.config/rye"),), (Path("/opt/python"),)).splitlines()
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
    patterns = [match[1] for line in lines[denied + 1 :] if (match := re.search(r'regex #"(.*)"', line))]
    for name in (".git", ".CLAUDE", "Makefile", "evil.pth"):
        assert any(re.search(pattern, f"/project/x/{name}/y") for pattern in patterns), name
    assert not any(re.search(pattern, "/project/x/digit/y") for pattern in patterns)
    assert 'a\\"b' in text(root / 'a"b', [], ())
