"""``make release``: the same bytes twice, verified by OpenSSH without Rye, published, and compared with what is installed."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import marshal
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from copy import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from making.release import builders, pinned
from making.sign_release import sign_release, signers_line
from rye.signing.keys import read_pem
from rye.workspace.trusting.own_keys import OwnKeys
from tests.packaging.test_dependencies import required
from tests.packaging.test_wheel import ROOT, pinned_here
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.ssh_agents import OpenSshAgent, needs_sk_dummy, needs_ssh_agent, openssh_agent
from tests.schemas.test_catalog import check

pytestmark = [pytest.mark.processes, pytest.mark.thorough]
needs_ssh_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="OpenSSH is not installed")
PAGE = (ROOT / "docs/how-to/verify-rye.md").read_text("utf-8")
SOURCES = ("rye", "registry_server", ".ai", "docs", "making")
FILES = ("pyproject.toml", "README.md", "LICENSE", ".gitignore")
OTHER_USER = 65534
CAPABILITIES = "+dac_override,+dac_read_search"
AS_OTHER_USER = (
    *("setpriv", "--reuid", str(OTHER_USER), "--regid", str(OTHER_USER), "--clear-groups"),
    *("--inh-caps", CAPABILITIES, "--ambient-caps", CAPABILITIES, "--"),
)
"""Runs a program as another user, who may read this Python, wherever it is."""


def can_be_another_user() -> bool:
    words = (*AS_OTHER_USER, sys.executable, "-c", "import rye")
    return (
        shutil.which("setpriv") is not None and subprocess.run(words, capture_output=True, check=False).returncode == 0
    )


def release(
    place: Path, *, umask: int, moment: float, another: bool = False, dirty: bool = False, **environment: str
) -> Path:
    """A release made from a repository of its own, as somebody else has it: another folder, umask, time, language and user.

    ``dirty``: its files, attributes and replaced objects, and Python's settings, say something else than its commit.
    """
    repository, home = place / "repository", place / "home"
    home.mkdir(parents=True)
    for name in SOURCES:
        shutil.copytree(ROOT / name, repository / name, ignore=shutil.ignore_patterns("__pycache__"))
    (repository / "requirements").mkdir()
    shutil.copy(ROOT / "requirements/client.txt", repository / "requirements")
    for name in FILES:
        shutil.copy(ROOT / name, repository)
    (repository / "notes.txt").write_text("lies around, and is not committed\n")
    for path in (place, *place.rglob("*")):
        os.utime(path, (moment, moment))
        if another:
            os.chown(path, OTHER_USER, OTHER_USER)
    settings = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        **{f"GIT_{who}_DATE": "1700000000 +0000" for who in ("AUTHOR", "COMMITTER")},
        **environment,
    }

    def run(*words: str) -> None:
        command = (*AS_OTHER_USER, *words) if another else words
        done = subprocess.run(
            command, cwd=repository, env=settings, umask=umask, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    run("git", "init", "-q")
    run("git", "add", "--all", "--", ":!notes.txt")
    run("git", "commit", "-qm", "All")
    packages = home / "none"
    packages.mkdir()
    if dirty:
        (repository / "rye/shipped.py").write_text("raise SystemExit('not of this commit')\n")
        run("git", "commit", "-qam", "Another")
        run("git", "tag", "another")
        run("git", "reset", "-q", "--soft", "HEAD~1")
        run("git", "replace", "HEAD", "another")
        (repository / ".git/info/attributes").write_text("LICENSE export-ignore\n*.py text eol=crlf\n")
        settings |= {"PYTHONPATH": str(repository), "PYTHONSAFEPATH": "1"}
    run(sys.executable, "-m", "making.release", str(home / "out"), "--packages", str(packages))
    return home / "out"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release(tmp_path_factory.mktemp("one"), umask=0o022, moment=1_600_000_000)


@pytest.fixture
def signed(made: Path, tmp_path: Path) -> Signed:
    return Signed(made, tmp_path)


class Signed:
    """A release, signed by somebody of the namespace rye with a key in a file."""

    def __init__(self, made: Path, base: Path, person: Person | None = None, key: str | None = None):
        self.folder = base / "release"
        shutil.copytree(made, self.folder)
        self.person = person or Person(base / "author", "rye")
        if person is None:
            self.person.ok("keys", "generate")
        keys = OwnKeys(self.person.library, lambda question: pytest.fail(question))
        self.key = keys.signing_key(key)
        sign_release(self.folder, self.key, datetime.now(UTC))
        self.pem = base / "rye.pem"
        self.pem.write_text(self.key.public.pem)
        (self.item,) = self.folder.glob("rye-*.md")

    def typed(self, lines: str) -> subprocess.CompletedProcess[str]:
        """What a shell says to lines of the page that a person types, each after the other, until one fails."""
        folder = self.folder.parent / "stranger"
        folder.mkdir(exist_ok=True)
        for name in ("SHA256SUMS", "SHA256SUMS.sig", "rye-0.1.0.pyz"):
            if not (folder / name).exists():
                shutil.copy(self.folder / name, folder)
        bin_folder = self.folder.parent / "bin"
        bin_folder.mkdir(exist_ok=True)
        if not (bin_folder / "python3").exists():
            (bin_folder / "python3").symlink_to(sys.executable)
        packages = os.pathsep.join({str(Path(str(each.locate_file(""))).resolve()) for each in pinned_here()})
        environment = {"PATH": f"{bin_folder}:/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": packages}
        return subprocess.run(
            ["sh", "-ec", lines], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
        )


def typed_lines() -> str:
    found = re.search(r"<!-- first -->\n```sh\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_two_builds_have_the_same_bytes(made: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        os.chmod(folder, 0o755)
        place = Path(folder) / "an other folder"
        another = can_be_another_user()
        other = release(
            place,
            umask=0o077,
            moment=1_700_000_123,
            another=another,
            dirty=True,
            LC_ALL="tr_TR.UTF-8",
            TZ="Asia/Kathmandu",
        )
        names = sorted(path.name for path in made.iterdir())
        assert sorted(path.name for path in other.iterdir()) == names
        for name in names:
            assert (other / name).read_bytes() == (made / name).read_bytes(), name


def test_a_release_has_what_the_page_lists_and_its_sums_are_right(made: Path) -> None:
    listed = set(
        re.findall(
            r"`((?:rye[-_]|SHA256SUMS|signers)[^` ]*)`", PAGE.partition("## What a release has")[2].partition("## ")[0]
        )
    )
    assert {path.name for path in made.iterdir()} | {"SHA256SUMS.sig", "signers"} == listed
    for line in (made / "SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        assert hashlib.sha256((made / name).read_bytes()).hexdigest() == digest
    assert "notes.txt" not in subprocess.check_output(["tar", "tf", made / "rye_registry-0.1.0.tar.gz"], text=True)


def test_the_provenance_names_what_was_made_and_from_what(made: Path) -> None:
    statement = json.loads((made / "rye-0.1.0.intoto.json").read_text())
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    subjects = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    assert {"rye-0.1.0.pyz", "rye_registry-0.1.0.tar.gz"} < set(subjects)
    assert all(hashlib.sha256((made / name).read_bytes()).hexdigest() == digest for name, digest in subjects.items())
    built = statement["predicate"]["buildDefinition"]
    commit = built["externalParameters"]["commit"]
    notes = (made / "rye-0.1.0.md").read_text()
    assert commit in notes
    assert re.search(r"^\| Schemathesis \| [\d.]+ \| [\d-]+ \|", notes, re.MULTILINE), "what programs of others said"
    assert {"name": "source", "digest": {"gitCommit": commit}} in built["resolvedDependencies"]
    assert any(each.get("uri", "").startswith("pkg:pypi/hatchling@") for each in built["resolvedDependencies"])


def test_every_package_of_the_client_has_a_row_with_who_builds_it_and_what_would_replace_it(made: Path) -> None:
    text = (ROOT / "docs/reference/packages.md").read_text("utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]
    rows = [row for row in rows if row[0] not in ("package",)]
    assert all(len(row) == 4 and all(row) for row in rows)
    pins = pinned((ROOT / "requirements/client.txt").read_text("utf-8"))
    assert sorted(row[0] for row in rows) == sorted(pins)
    assert {name.replace(".", "-") for name, of in required() if of == "client"} <= set(pins)
    assert builders().keys() == pins.keys()
    spdx = json.loads((made / "rye-0.1.0.spdx.json").read_text())
    assert all(package["supplier"].startswith("Organization: ") for package in spdx["packages"])
    assert "hatchling" not in {package["name"] for package in spdx["packages"]}


@needs_ssh_keygen
def test_a_stranger_types_four_lines_and_none_of_them_is_a_pipe_into_a_shell(signed: Signed) -> None:
    lines = typed_lines()
    assert len(lines.splitlines()) <= 4
    assert "|" not in lines
    assert "curl" not in lines
    project_key = read_pem((ROOT / "keys/rye.pem").read_text()).ssh.line()
    assert project_key in lines
    mine = lines.replace(project_key, signed.key.public.ssh.line())
    done = signed.typed(mine)
    assert done.returncode == 0, done.stderr
    assert 'Good "rye-release" signature for rye' in done.stdout
    assert "rye-0.1.0.pyz: OK" in done.stdout
    assert done.stdout.endswith("rye 0.1.0\n")
    assert signed.typed(lines).returncode != 0, "the project's key did not sign this one"


@needs_ssh_keygen
@pytest.mark.parametrize("name", ["SHA256SUMS", "SHA256SUMS.sig", "rye-0.1.0.pyz"])
def test_a_stranger_notices_each_changed_file(signed: Signed, name: str) -> None:
    mine = typed_lines().replace(read_pem((ROOT / "keys/rye.pem").read_text()).ssh.line(), signed.key.public.ssh.line())
    data = bytearray((signed.folder / name).read_bytes())
    data[105] ^= 1
    (signed.folder / name).write_bytes(data)
    done = signed.typed(f"set +e\n{mine}")  # as a terminal runs lines that were pasted at once
    assert done.returncode != 0
    assert "rye 0.1.0" not in done.stdout


def test_the_one_file_is_compared_with_the_release_itself(signed: Signed) -> None:
    words = f"python3 rye-0.1.0.pyz self check {signed.item} --trusted-key {signed.pem} --json"
    found = json.loads(signed.typed(words).stdout)
    assert (found["state"], Path(found["place"]).name) == ("as-released", "rye-0.1.0.pyz")
    program = signed.folder.parent / "stranger/rye-0.1.0.pyz"
    with program.open("ab") as stream:
        stream.write(b"\n")
    done = signed.typed(words)
    assert (json.loads(done.stdout)["state"], done.returncode) == ("changed", 1)


def test_the_one_file_does_not_answer_for_a_folder_that_another_copy_unpacked(signed: Signed) -> None:
    words = f"python3 rye-0.1.0.pyz self check {signed.item} --trusted-key {signed.pem} --json"
    signed.typed(words)
    (unpacked,) = (signed.folder.parent / "stranger").glob("**/rye/programs/*-*")
    other = signed.folder.parent / "other" / unpacked.name
    shutil.copytree(unpacked, other)
    (other / "rye/shipped.py").write_text("raise SystemExit('planted')\n")
    done = signed.typed(f"{words} --site {other}")
    assert (json.loads(done.stdout)["state"], done.returncode) == ("no-list", 1)


@needs_ssh_keygen
def test_the_signature_is_good_for_nothing_else(signed: Signed) -> None:
    (signed.folder / "any").write_text(f"* {signed.key.public.ssh.line()}\n")
    words = ["ssh-keygen", "-Y", "verify", "-f", "any", "-I", "rye", "-s", "SHA256SUMS.sig", "-n"]
    sums = (signed.folder / "SHA256SUMS").read_bytes()
    for purpose, good in (("rye-release", True), ("git", False)):
        done = subprocess.run([*words, purpose], cwd=signed.folder, input=sums, capture_output=True, check=False)
        assert (done.returncode == 0) is good, done.stderr
    assert (signed.folder / "signers").read_text() == signers_line(signed.key.public)


@needs_ssh_agent
@pytest.mark.parametrize("hardware", [False, pytest.param(True, marks=needs_sk_dummy)])
def test_a_key_in_an_agent_signs_a_release(made: Path, tmp_path: Path, ssh_agent: OpenSshAgent, hardware: bool) -> None:
    line = ssh_agent.make_security_key("desk") if hardware else ssh_agent.make("desk")
    person = Person(tmp_path / "author", "rye")
    person.environment["SSH_AUTH_SOCK"] = str(ssh_agent.path)
    person.ok("keys", "add", "--agent", "desk@desk", "--name", "desk")
    signed = Signed(made, tmp_path, person, "desk")
    done = signed.typed(typed_lines().replace(read_pem((ROOT / "keys/rye.pem").read_text()).ssh.line(), line))
    assert done.returncode == 0, done.stderr


class Installed:
    """The wheel of a release in an environment of its own."""

    def __init__(self, signed: Signed, place: Path, *words: str):
        venv.create(place, with_pip=False)
        (self.site,) = place.glob("lib/python*/site-packages")
        self.python, self.signed = place / "bin/python", signed
        for package in pinned_here():
            for top in {file.parts[0] for file in package.files or () if ".." not in file.parts}:
                if not (self.site / top).exists():
                    (self.site / top).symlink_to(Path(str(package.locate_file(top))).resolve())
        what = words or (str(next(signed.folder.glob("*.whl"))),)
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet"]
        subprocess.run(
            [*pip, "--no-index", "--no-deps", "--no-compile", *what], check=True, capture_output=True, timeout=120
        )
        (self.info,) = self.site.glob("rye_registry-*.dist-info")

    def check(self, state: str, *words: str, item: Path | None = None, trusted: bool = True) -> Any:
        key = ("--trusted-key", str(self.signed.pem)) if trusted else ()
        command = ["-m", "rye", "self", "check", str(item or self.signed.item), *key, "--json", *words]
        environment = {name: value for name, value in self.signed.person.environment.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [str(self.python), *command],
            env=environment,
            cwd=self.signed.person.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        found = json.loads(done.stdout)
        assert found.get("state") == state, (found, done.stderr)
        assert done.returncode == (0 if state == "as-released" else 1)
        assert "can lie about itself" in found["cannot_know"]
        check("json-self-check", found)
        return found

    def record(self, path: str) -> None:
        """Have pip's list say what the file is now."""
        rows = list(csv.reader((self.info / "RECORD").read_text().splitlines()))
        digest = hashlib.sha256((self.site / path).read_bytes()).digest()
        text = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        rows = [row for row in rows if row[0] != path] + [[path, f"sha256={text}", "1"]]
        (self.info / "RECORD").write_text("".join(",".join(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def original(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    base = tmp_path_factory.mktemp("original")
    return Installed(Signed(made, base), base / "env")


@pytest.fixture
def installed(original: Installed, tmp_path: Path) -> Installed:
    """A copy of the release and of its installation, and a stranger who asks."""
    other = copy(original)
    other.signed = copy(original.signed)
    other.signed.person = Person(tmp_path / "stranger")
    other.signed.folder = tmp_path / "release"
    shutil.copytree(original.signed.folder, other.signed.folder)
    other.signed.item = other.signed.folder / original.signed.item.name
    shutil.copytree(original.python.parents[1], tmp_path / "env", symlinks=True)
    other.python = tmp_path / "env/bin/python"
    (other.site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (other.info,) = other.site.glob("rye_registry-*.dist-info")
    return other


def test_an_installation_is_compared_with_the_release(installed: Installed) -> None:
    found = installed.check("as-released")
    assert found["signer"] == installed.signed.key.public.fingerprint
    assert found["files"] > 1000
    assert "release 0.1.0" in found["message"]
    assert found["version"] == "0.1.0"
    module = installed.site / "rye/signing/verification.py"
    good = module.read_bytes()
    module.write_bytes(good.replace(b'self.verdict == "valid"', b"True"))
    assert installed.check("changed")["changed"] == ["rye/signing/verification.py"]
    installed.record("rye/signing/verification.py")
    assert installed.check("other-list")["changed"] == []
    module.write_bytes(good)
    installed.record("rye/signing/verification.py")
    (installed.site / "rye/planted.py").write_text("")
    module.unlink()
    linked = installed.signed.folder / "linked.py"
    linked.write_bytes(good)
    module.symlink_to(linked)
    found = installed.check("changed", "--site", str(installed.site))
    assert (found["added"], found["changed"]) == (["rye/planted.py"], ["rye/signing/verification.py"])


def test_a_compiled_file_that_its_module_does_not_give_is_noticed(installed: Installed) -> None:
    subprocess.run([str(installed.python), "-m", "compileall", "-q", str(installed.site / "rye/text")], check=True)
    installed.check("as-released")
    (cached,) = installed.site.glob("rye/text/__pycache__/display.*.pyc")
    harm = compile("raise SystemExit('planted')", "display.py", "exec")
    cached.write_bytes(cached.read_bytes()[:16] + marshal.dumps(harm))
    other = cached.with_name("display.cpython-399.pyc")
    other.write_bytes(b"")
    cached_alone = cached.with_name(f"planted.{sys.implementation.cache_tag}.pyc")
    cached_alone.write_bytes(b"")
    found = Installed.check(installed_elsewhere(installed), "changed", "--site", str(installed.site))
    assert found["changed"] == [f"rye/text/__pycache__/{name}" for name in (cached.name, cached_alone.name)]
    assert found["not_compared"] == [f"rye/text/__pycache__/{other.name}"]


def test_a_pipe_or_link_in_place_of_a_compiled_file_and_a_linked_package_are_noticed(installed: Installed) -> None:
    subprocess.run([str(installed.python), "-m", "compileall", "-q", str(installed.site / "rye/text")], check=True)
    (cached,) = installed.site.glob("rye/text/__pycache__/display.*.pyc")
    (other,) = installed.site.glob("rye/text/__pycache__/json_reading.*.pyc")
    cached.unlink()
    os.mkfifo(cached)  # reading it would wait for ever
    kept = other.rename(installed.signed.folder / "kept.pyc")
    other.symlink_to(kept)
    outside = installed_elsewhere(installed)
    found = outside.check("changed", "--site", str(installed.site))
    assert found["changed"] == [f"rye/text/__pycache__/{each.name}" for each in (cached, other)]
    shutil.rmtree(cached.parent)
    (installed.site / "rye").rename(installed.site / "elsewhere")
    (installed.site / "rye").symlink_to("elsewhere")
    assert outside.check("changed", "--site", str(installed.site))["added"] == ["rye"]


def test_what_python_runs_when_it_starts_is_named(installed: Installed) -> None:
    (installed.site / "a.pth").write_text("import os\n")
    (installed.site / "sitecustomize.py").write_text("")
    found = installed.check("as-released")
    assert {"a.pth", "sitecustomize.py"} <= set(found["not_compared"])


def installed_elsewhere(installed: Installed) -> Installed:
    """The same release, asked with this checkout's Python: the one that was changed would not even start."""
    other = copy(installed)
    other.python = Path(sys.executable)
    return other


def test_a_removed_file_and_a_second_list_are_said(installed: Installed) -> None:
    (installed.site / "rye/shipped.py").rename(installed.site / "rye/shipped.txt")
    outside = installed_elsewhere(installed)
    found = outside.check("changed", "--site", str(installed.site))
    assert (found["removed"], found["added"]) == (["rye/shipped.py"], ["rye/shipped.txt"])
    shutil.copytree(installed.info, installed.site / "rye_registry-0.0.9.dist-info")
    outside.check("no-list", "--site", str(installed.site))


def test_who_signed_counts_and_which_version_it_is(installed: Installed) -> None:
    installed.check("unsigned-release", trusted=False)
    item = installed.signed.item
    item.write_bytes(item.read_bytes().replace(b"rye-0.1.0.files", b"rye-0.1.0.Files"))
    installed.check("unsigned-release")
    renamed = installed.info.rename(installed.site / "rye_registry-0.0.9.dist-info")
    assert renamed.is_dir()
    shutil.copy(item, item.with_suffix(".bad"))
    item.write_bytes(item.read_bytes().replace(b"rye-0.1.0.Files", b"rye-0.1.0.files"))
    installed.check("not-listed")


def test_a_checkout_says_that_it_is_one(installed: Installed) -> None:
    installed_elsewhere(installed).check("checkout")
    (installed.info / "direct_url.json").write_text('{"dir_info": {"editable": true}}')
    installed.check("checkout")


def test_a_published_release_is_found_in_the_log(made: Path, registry: Registry, tmp_path: Path) -> None:
    signed = Signed(made, tmp_path, registry.owner("rye"))
    place = signed.person.write(".ai/knowledge/releases/rye.md", signed.item.read_bytes())
    signed.person.ok("publish", str(place), "--yes")
    signed.person = registry.user()
    signed.person.ok("add", "rye/releases/rye", "--yes")
    published = signed.person.path(".ai/packages/rye/knowledge/releases/rye.md")
    installed = Installed(signed, tmp_path / "env")
    installed.check("as-released", item=published, trusted=False)


@pytest.fixture
def ssh_agent(tmp_path: Path) -> Iterator[OpenSshAgent]:
    with openssh_agent(tmp_path) as agent:
        yield agent
