"""Tampering with the cache, the environment, the user's git configuration and rye.lock: nothing of it runs or is trusted."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from rye.project.lock import Lock, LockedItem, LockedSource, lock_text, parse_lock
from rye.sources import git_program
from rye.sources.git_objects import object_name, tree_entries, tree_of
from rye.sources.source_error import SourceError
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person, at_once
from tests.sources.git_server import GitServer, Repository
from tests.sources.texts import skill

pytestmark = pytest.mark.processes


@pytest.fixture
def repository(server: GitServer) -> Repository:
    found = server.repository("prompts")
    found.tag(
        "v1",
        found.commit({"pdf/SKILL.md": skill("pdf"), "pdf/run.sh": "#!/bin/sh\necho\n", "docx/SKILL.md": skill("docx")}),
    )
    return found


def add(person: Person, server: GitServer, *more: str) -> None:
    person.ok("add", f"git+{server.url('prompts')}#v1", "pdf", "--as", "team", "-y", *more)


def clone(person: Person, base: Path) -> Person:
    """Another checkout of the same user with a new data folder, so nothing counts as verified."""
    other = Person(base)
    for name in ("rye.toml", "rye.lock"):
        shutil.copy(person.path(name), other.folder)
    shutil.copytree(person.home / "cache", other.home / "cache")
    return other


def cached(person: Person) -> Path:
    [place] = (person.home / "cache" / "git").glob("*.git")
    return place


def replace_object(place: Path, name: str, kind: str, data: bytes) -> None:
    """Store different bytes under an object's name, as a loose object, and remove the pack."""
    for pack in (place / "objects" / "pack").iterdir():
        if pack.suffix == ".pack":
            unpacked = pack.read_bytes()
            pack.chmod(0o600)
            pack.unlink()
            pack.with_suffix(".idx").unlink()
            subprocess.run(["git", f"--git-dir={place}", "unpack-objects", "-q"], input=unpacked, check=True)
    loose = place / "objects" / name[:2] / name[2:]
    loose.parent.mkdir(exist_ok=True)
    loose.unlink(missing_ok=True)
    loose.write_bytes(zlib.compress(f"{kind} {len(data)}\0".encode() + data))


@pytest.mark.parametrize("kind", rest_thorough(1, ["blob", "tree", "commit"]))
def test_an_object_that_was_replaced_in_the_cache_is_found_out(
    server: GitServer, person: Person, repository: Repository, tmp_path: Path, kind: str
) -> None:
    add(person, server)
    name = {
        "blob": repository.git("rev-parse", "v1:pdf/SKILL.md"),
        "tree": repository.git("rev-parse", "v1:pdf"),
        "commit": repository.git("rev-parse", "v1"),
    }[kind]
    evil = repository.commit({"pdf/SKILL.md": skill("pdf", body="Send it to me."), "pdf/run.sh": "#!/bin/sh\nid\n"})
    other = {"blob": f"{evil}:pdf/SKILL.md", "tree": f"{evil}:pdf", "commit": evil}[kind]
    data = subprocess.run(["git", "cat-file", kind, other], cwd=repository.path, capture_output=True, check=True).stdout
    again = clone(person, tmp_path / "again")
    replace_object(cached(again), name, kind, data)
    refused = again.run("--offline", "ci", "--trust-lock", "--json")
    assert refused.error["code"] == "source-forged", refused
    assert name in refused.error["message"]
    assert not again.path(".ai/packages").exists()


@pytest.mark.parametrize(
    "spoil",
    rest_thorough(
        1,
        [
            lambda place, ran: (place / "config").write_text(
                f"[core]\n\tbare = true\n\tfsmonitor = touch {ran}\n\tsshCommand = touch {ran}\n"
            ),
            lambda place, ran: (place / "hooks").mkdir(),
            lambda place, ran: (place / "commondir").write_text("/tmp"),
            lambda place, ran: (place / "config.worktree").write_text(f"[core]\n\tsshCommand = touch {ran}\n"),
            lambda place, ran: (place / "objects" / "info" / "alternates").write_text("/tmp\n"),
            lambda place, ran: (place / "HEAD").write_text("ref: refs/heads/x\n"),
            lambda place, ran: place.chmod(0o777),
        ],
    ),
    ids=["config", "hooks", "commondir", "worktree config", "alternates", "head", "others may write"],
)
def test_a_cache_with_a_setting_of_its_own_is_thrown_away(
    server: GitServer,
    person: Person,
    repository: Repository,
    tmp_path: Path,
    spoil: Callable[[Path, Path], object],
) -> None:
    add(person, server)
    again = clone(person, tmp_path / "again")
    spoil(cached(again), tmp_path / "ran")
    refused = again.run("--offline", "ci", "--trust-lock", "--json")
    assert refused.error["code"] in ("source-offline", "unverified-item")
    again.ok("ci", "--trust-lock")  # fetched again into a new cache
    assert not (tmp_path / "ran").exists()
    assert not (cached(again) / "hooks").exists()


def test_a_cache_that_is_a_link_is_not_used(
    server: GitServer, person: Person, repository: Repository, tmp_path: Path
) -> None:
    add(person, server)
    again = clone(person, tmp_path / "again")
    place = cached(again)
    place.rename(tmp_path / "elsewhere.git")
    place.symlink_to(tmp_path / "elsewhere.git")
    again.ok("ci", "--trust-lock")
    assert not place.is_symlink()


@pytest.mark.parametrize("said", ["git version 2.31.8", "git version x", "", "hello"])
def test_a_git_that_does_not_take_our_configuration_is_not_used(
    server: GitServer, person: Person, repository: Repository, tmp_path: Path, said: str
) -> None:
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text(f"#!/bin/sh\n[ \"$1\" = version ] && echo '{said}' || touch {tmp_path}/ran\n")
    old.chmod(0o700)
    path = f"{old.parent}:{os.environ['PATH']}"
    refused = person.run("add", f"git+{server.url('prompts')}#v1", "pdf", "-y", "--json", env={"PATH": path})
    assert refused.error["code"] == "no-git"
    assert not (tmp_path / "ran").exists()


def test_not_even_the_question_for_gits_version_writes_where_a_variable_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(tmp_path / "trace2"))
    git_program.program.cache_clear()
    assert git_program.program()
    assert not list(tmp_path.glob("trace*"))


@pytest.mark.parametrize("scheme", rest_thorough(2, ["http", "ssh", "file"]))
def test_the_way_to_the_ssh_agent_is_given_for_ssh_addresses_only(
    server: GitServer, person: Person, repository: Repository, tmp_path: Path, scheme: str
) -> None:
    """What git starts for other addresses, a credential helper for example, could have the agent sign. The control is ssh
    itself, which gets it; a program in ssh's place runs the server's half here."""
    programs, seen = tmp_path / "bin", tmp_path / "seen"
    programs.mkdir()
    git = shutil.which("git")
    noted = f'echo "$(basename "$0") $1 ${{SSH_AUTH_SOCK-none}} ${{SSH_AGENT_PID-none}}" >> {seen}'
    (programs / "git").write_text(f'#!/bin/sh\n{noted}\nexec {git} "$@"\n')
    (programs / "ssh").write_text(f'#!/bin/sh\n{noted}\nfor last; do :; done\nexec sh -c "$last"\n')
    for program in programs.iterdir():
        program.chmod(0o700)
    address = {
        "http": server.url("prompts"),
        "file": repository.path.as_uri(),
        "ssh": f"ssh://git@git.example.org{repository.path}",
    }[scheme]
    variables = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "SSH_AUTH_SOCK": str(tmp_path / "agent"),
        "SSH_AGENT_PID": "17",
    }
    person.ok("add", f"git+{address}#v1", "pdf", "--as", "team", "-y", env=variables)
    assert person.path(".ai/packages/team/skills/pdf/SKILL.md").read_text() == skill("pdf")
    rows = [line.split(" ") for line in seen.read_text().split("\n") if line]
    given = {(name, *ways) for name, _, *ways in rows}
    none, agent = ("none", "none"), (str(tmp_path / "agent"), "17")
    assert ("git", *none) in given
    assert (("git", *agent) in given) is (scheme == "ssh")
    assert (("ssh", *agent) in given) is (scheme == "ssh")


def test_the_look_at_a_checkout_has_no_way_to_the_ssh_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout's own configuration may name filters and drivers."""
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    given = git_program.checkout_environment()
    assert "SSH_AUTH_SOCK" not in given
    assert given["XDG_CONFIG_HOME"] == str(tmp_path)


def test_gits_own_variables_mean_nothing(
    server: GitServer, person: Person, repository: Repository, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o700)
    elsewhere = server.repository("elsewhere")
    variables = {
        "GIT_DIR": str(elsewhere.path),
        "GIT_WORK_TREE": str(tmp_path),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(elsewhere.path / "objects"),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_SSH_COMMAND": str(script),
        "GIT_SSH": str(script),
        "GIT_ASKPASS": str(script),
        "SSH_ASKPASS": str(script),
        "GIT_EXTERNAL_DIFF": str(script),
        "GIT_PROXY_COMMAND": str(script),
        "GIT_PAGER": str(script),
        "GIT_EDITOR": str(script),
        "GIT_EXEC_PATH": str(tmp_path),
        "GIT_TEMPLATE_DIR": str(tmp_path),
        "GIT_ALLOW_PROTOCOL": "ext:file",
        "GIT_SSL_NO_VERIFY": "1",
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_TRACE2_EVENT": str(tmp_path / "trace2"),
        "GIT_CONFIG": str(tmp_path / "config"),
        "GIT_CONFIG_GLOBAL": str(tmp_path / "config"),
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(script),
        "GIT_CONFIG_KEY_1": f"url.{server.address}/elsewhere.git.insteadOf",
        "GIT_CONFIG_VALUE_1": server.url("prompts"),
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={script}'",
    }
    (tmp_path / "config").write_text(f"[core]\n\tfsmonitor = {script}\n")
    person.ok("add", f"git+{server.url('prompts')}#v1", "pdf", "--as", "team", "-y", env=variables)
    assert person.path(".ai/packages/team/skills/pdf/SKILL.md").read_text() == skill("pdf")
    assert not ran.exists()
    assert not (tmp_path / "trace").exists()
    assert not (tmp_path / "trace2").exists()


def test_of_the_users_git_configuration_nothing_but_tls_and_credentials_counts(
    server: GitServer, person: Person, repository: Repository, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o700)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "post-merge", "pre-auto-gc", "fsmonitor-watchman"):
        shutil.copy(script, hooks / name)
    template = tmp_path / "template" / "hooks"
    shutil.copytree(hooks, template)
    server.repository("elsewhere").commit({"pdf/SKILL.md": skill("pdf", body="Evil.")})
    (person.home / ".gitconfig").write_text(
        f"""[core]
	hooksPath = {hooks}
	fsmonitor = {script}
	sshCommand = {script}
	gitProxy = {script}
	pager = {script}
	askPass = {script}
	attributesFile = {tmp_path}/attributes
[init]
	templateDir = {tmp_path}/template
	defaultObjectFormat = sha256
[url "{server.address}/elsewhere.git"]
	insteadOf = {server.url("prompts")}
[url "ext::{script} "]
	insteadOf = https://
[protocol "ext"]
	allow = always
[protocol]
	allow = always
[http]
	sslVerify = false
	followRedirects = true
[fetch]
	recurseSubmodules = true
	fsckObjects = false
[alias]
	fetch = !{script}
"""
    )
    add(person, server)
    assert person.path(".ai/packages/team/skills/pdf/SKILL.md").read_text() == skill("pdf")
    assert not ran.exists()


def test_a_credential_helper_of_the_user_is_asked(
    server: GitServer, person: Person, repository: Repository, tmp_path: Path
) -> None:
    asked = tmp_path / "asked"
    helper = tmp_path / "helper.sh"
    helper.write_text(f"#!/bin/sh\ncat >> {asked}\necho username=me\necho password=secret\n")
    helper.chmod(0o700)
    (person.home / ".gitconfig").write_text(f"[credential]\n\thelper = {helper}\n")
    server.answer = lambda path: (401, {"WWW-Authenticate": 'Basic realm="x"'})
    refused = person.run("add", f"git+{server.url('prompts')}#v1", "pdf", "-y", "--json")
    assert refused.error["code"] == "source-unreachable"
    assert "host=127.0.0.1" in asked.read_text()
    assert "secret" not in refused.stdout + refused.stderr


def test_without_a_terminal_nobody_is_asked_for_a_password(
    server: GitServer, person: Person, repository: Repository
) -> None:
    server.answer = lambda path: (401, {"WWW-Authenticate": 'Basic realm="x"'})
    refused = person.run("add", f"git+{server.url('prompts')}#v1", "pdf", "-y", "--json")
    assert refused.error["code"] == "source-unreachable"
    assert "credential helper" in refused.error["hint"]


def edit(person: Person, old: str, new: str) -> None:
    lock = person.path("rye.lock")
    text = lock.read_text()
    assert old in text
    lock.write_text(text.replace(old, new))


def test_a_files_hash_that_was_replaced_in_the_lock_is_found_out(
    server: GitServer, person: Person, repository: Repository, tmp_path: Path
) -> None:
    add(person, server)
    for data in (skill("pdf").encode(), b"#!/bin/sh\necho\n"):
        other = clone(person, tmp_path / hashlib.sha256(data).hexdigest()[:8])
        edit(other, hashlib.sha256(data).hexdigest(), "ab" * 32)
        refused = other.run("ci", "--trust-lock", "--json")
        assert refused.error["code"] == "lock-mismatch", refused
        assert not other.path(".ai/packages").exists()


@pytest.mark.parametrize("what", rest_thorough(2, ["tree", "version", "place", "size"]))
def test_a_row_that_its_commit_does_not_bear_out_is_a_mismatch(
    server: GitServer, person: Person, repository: Repository, tmp_path: Path, what: str
) -> None:
    add(person, server)
    other = clone(person, tmp_path / "other")
    [row] = parse_lock(person.path("rye.lock").read_text()).items
    assert row.source is not None
    old, new = {
        "tree": (f'tree = "{row.source.tree}"', f'tree = "{"ab" * 20}"'),
        "version": (f'version = "{row.version}"', 'version = "9.9.9"'),
        "place": ('place = "pdf/SKILL.md"', 'place = "docx/SKILL.md"'),
        "size": (f"size = {row.size}\n", f"size = {row.size + 1}\n"),
    }[what]
    edit(other, old, new)
    assert other.run("ci", "--trust-lock", "--json").error["code"] == "lock-mismatch"


def test_a_commit_that_was_replaced_in_the_lock_needs_its_own_hashes(
    server: GitServer, person: Person, repository: Repository, tmp_path: Path
) -> None:
    add(person, server)
    old = repository.git("rev-parse", "v1")
    evil = repository.commit({"pdf/SKILL.md": skill("pdf", body="Evil.")})
    other = clone(person, tmp_path / "other")
    edit(other, old, evil)
    assert other.run("ci", "--trust-lock", "--json").error["code"] == "lock-mismatch"


def test_an_address_that_was_replaced_in_the_lock_alone_does_not_fit(
    server: GitServer, person: Person, repository: Repository, tmp_path: Path
) -> None:
    add(person, server)
    server.repository("evil").commit({"pdf/SKILL.md": skill("pdf", body="Evil.")})
    other = clone(person, tmp_path / "other")
    edit(other, f'git = "{server.url("prompts")}"', f'git = "{server.url("evil")}"')
    asked = len(server.requests)
    refused = other.run("ci", "--trust-lock", "--json")
    assert refused.code == 1
    assert not any("evil" in path for path in server.requests[asked:])
    assert not other.path(".ai/packages").exists()


def test_an_address_that_was_replaced_everywhere_is_a_new_source_to_agree_to(
    server: GitServer, person: Person, repository: Repository
) -> None:
    add(person, server)
    fork = server.root / "fork.git"
    shutil.copytree(repository.path, fork)
    for name in ("rye.toml", "rye.lock"):
        path = person.path(name)
        path.write_text(path.read_text().replace(server.url("prompts"), server.url("fork")))
    refused = person.run("ci", "-y", "--json")
    assert refused.error["code"] == "project-not-accepted", refused
    assert server.url("fork") in refused.error["message"]


@pytest.mark.parametrize(
    "words",
    [("ci",), ("install",), ("show", "team/pdf"), ("render", "team/pdf"), ("list",), ("tree",), ("audit",), ("outdated",),
     ("sbom",), ("lock", "--check"), ("trust", "project"), ("info", "team/pdf"), ("deploy", "--check")],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_repository_that_a_clone_names_is_not_contacted_before_somebody_agreed(
    server: GitServer, person: Person, repository: Repository, words: tuple[str, ...]
) -> None:
    commit = repository.git("rev-parse", "v1")
    tree = repository.git("rev-parse", "v1^{tree}")
    url = server.url("prompts")
    person.write(
        "rye.toml", f'[sources]\nteam = {{ git = "{url}", rev = "v1" }}\n[dependencies]\n"skill:team/pdf" = "*"\n'
    )
    source = LockedSource(place="pdf/SKILL.md", git=url, ref="refs/tags/v1", commit=commit, tree=tree)
    data = skill("pdf").encode()
    row = LockedItem(
        kind="skill",
        id="team/pdf",
        version=f"0.0.0+g{commit[:8]}",
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        suffix="SKILL.md",
        source=source,
    )
    wanted = {"skill:team/pdf": "*", "source team": f"git+{url}#v1"}
    person.write("rye.lock", lock_text(Lock(wanted, (row,))))
    person.write(".ai/packages/team/skills/pdf/SKILL.md", data)
    person.run(*words)
    assert server.requests == []


def test_two_processes_add_from_one_repository_at_once(
    server: GitServer, person: Person, repository: Repository
) -> None:
    address = f"git+{server.url('prompts')}#v1"
    done = at_once(*((person, ("add", address, item, "--as", "team", "-y")) for item in ("pdf", "docx")))
    assert [one.code for one in done] == [0, 0], done
    assert [row.id for row in parse_lock(person.path("rye.lock").read_text()).items] == ["team/docx", "team/pdf"]
    person.ok("ci")


def test_objects_are_hashed_again_from_the_commit_down() -> None:
    blob = object_name("blob", b"x\n", 40)
    assert blob == "587be6b4c3f93f93c489c0111bba5596147a26cb"  # git hash-object
    tree = b"100644 a\0" + bytes.fromhex(blob)
    name = object_name("tree", tree, 40)
    assert [(row.name, row.what, row.object) for row in tree_entries(name, tree)] == [("a", "file", blob)]
    commit = f"tree {name}\nauthor A <a@b> 0 +0000\n\nx\n".encode()
    assert tree_of(object_name("commit", commit, 40), commit) == name
    with pytest.raises(SourceError, match="does not match its name"):
        tree_entries(name, tree + b"100644 b\0" + bytes.fromhex(blob))
    with pytest.raises(SourceError, match="does not match its name"):
        tree_of("00" * 20, commit)


@pytest.mark.parametrize(
    "rows",
    [
        [b"100644 a", b"100644 a"],
        [b"100644 b", b"100644 a"],
        [b"100644 a", b"40000 a"],
        [b"999999 a"],
        [b"100644 "],
        [b"100644"],
    ],
)
def test_a_tree_that_git_would_not_write_is_refused(rows: list[bytes]) -> None:
    data = b"".join(row + b"\0" + bytes(20) for row in rows)
    with pytest.raises(SourceError) as caught:
        tree_entries(object_name("tree", data, 40), data)
    assert caught.value.code == "source-malformed"
