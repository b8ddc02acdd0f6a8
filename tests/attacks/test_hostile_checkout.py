"""A folder that came as an archive brings a git configuration, attributes and hooks. No command of Rye runs what they name.

Each command that is named would create a file; git itself, as the control, runs those that its own `status` reaches.
"""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

_NUMBERS = itertools.count(1)
ITEM = ".ai/directives/work/ship.md"
COMMANDS = (
    ("publish", ITEM, "--yes"),
    ("publish", ITEM, "--dry-run", "--yes"),
    ("validate",),
    ("check",),
    ("list",),
    ("install", "--yes"),
    ("ci", "--yes"),
    ("diff", "--edited"),
    ("audit",),
    ("deploy", "--target", "claude", "--yes"),
    ("add", "../skills", "--all", "--yes"),
    ("add", "git+file://{folder}", "--all", "--yes"),
    ("import", "--dry-run", "--yes"),
    ("import", "--yes"),
    ("adopt", "theirs", "--dry-run"),
    ("init",),
    ("doctor",),
    ("sbom",),
)
"""What reads, or could ask git about, the folder that they run in."""
CONFIG = """[core]
\tfsmonitor = {touch}/fsmonitor; false
\tsshCommand = {touch}/ssh; false
\tpager = {touch}/pager; cat
\teditor = {touch}/editor
\taskPass = {touch}/askpass
\thooksPath = {hooks}
\tattributesFile = {attributes}
[filter "x"]
\tclean = {touch}/clean; cat
\tsmudge = {touch}/smudge; cat
\tprocess = {touch}/process; false
[diff "x"]
\ttextconv = {touch}/textconv; cat
\tcommand = {touch}/diff; true
[diff]
\texternal = {touch}/external; true
[merge "x"]
\tdriver = {touch}/merge; true
[credential]
\thelper = "!{touch}/credential; true"
[log]
\tshowSignature = true
[gpg]
\tprogram = {gpg}
[submodule]
\trecurse = true
[status]
\tsubmoduleSummary = true
[protocol "ext"]
\tallow = always
[protocol]
\tallow = always
[alias]
\tstatus = "!{touch}/alias; true"
"""
PARTIAL = """[extensions]
\tpartialClone = origin
[remote "origin"]
\turl = {url}
\tpromisor = true
\tuploadpack = {touch}/uploadpack; false
"""


SIGNATURE = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----"


def git(folder: Path, *words: str, stdin: str | None = None) -> str:
    safe = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    run = subprocess.run(["git", *safe, *words], cwd=folder, check=True, capture_output=True, text=True, input=stdin)
    return run.stdout.strip()


def hostile(person: Person, *, partial: str | None = None) -> Path:
    """Make the person's project such a folder. Returns the folder where each command would leave a file.

    ``partial``: the address that a partial clone would fetch its missing tree from, after its configuration.
    """
    ran = person.folder.parent / "ran"
    ran.mkdir()
    touch = f"touch {ran}"
    person.write("../skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads.\n---\n\nRead.\n")
    person.write("theirs/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads.\n---\n\nRead.\n")
    git(person.folder, "init", "-q")
    git(person.folder, "add", "-A")
    git(person.folder, "commit", "-q", "-m", "x")
    head, _, message = git(person.folder, "cat-file", "commit", "HEAD").partition("\n\n")
    signed = f"{head}\n{SIGNATURE}\n\n{message}\n"
    git(
        person.folder,
        "update-ref",
        "HEAD",
        git(person.folder, "hash-object", "-t", "commit", "-w", "--stdin", stdin=signed),
    )
    gpg = person.write(".git/gpg", f"#!/bin/sh\n{touch}/gpg\n")
    gpg.chmod(0o755)
    names = {
        "touch": touch,
        "hooks": str(person.path(".git/hooks")),
        "attributes": str(person.path("attributes")),
        "gpg": str(gpg),
    }
    with person.path(".git/config").open("a") as stream:
        stream.write(CONFIG.format(**names))
        if partial is not None:
            stream.write(PARTIAL.format(url=partial, **names))
    for place in (".gitattributes", "attributes", ".ai/.gitattributes", ".git/info/attributes"):
        person.write(place, "* filter=x diff=x merge=x\n")
    for hook in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
        person.write(f".git/hooks/{hook}", f"#!/bin/sh\n{touch}/{hook}\n").chmod(0o755)
    if partial is not None:
        person.path(".git/config").write_text(
            person.path(".git/config").read_text().replace("repositoryformatversion = 0", "repositoryformatversion = 1")
        )
        tree = git(person.folder, "-c", "core.fsmonitor=false", "rev-parse", "HEAD^{tree}")
        person.path(f".git/objects/{tree[:2]}/{tree[2:]}").unlink()
        person.path(".git/index").unlink()
    for made in ran.iterdir():
        made.unlink()
    return ran


@pytest.fixture
def shop(registry: Registry) -> Person:
    """Someone who can publish, so that the question whether files are committed is reached."""
    person = registry.owner(f"shop{next(_NUMBERS)}")
    person.directive("work/ship")
    return person


def spoken(result_text: str) -> bool:
    return "Traceback" not in result_text and '"internal"' not in result_text


def play(person: Person, ran: Path) -> dict[str, list[str]]:
    """The files that each command left, by command."""
    left: dict[str, list[str]] = {}
    for words in COMMANDS:
        result = person.run(*(word.format(folder=person.folder) for word in words), "--json", "--no-input")
        assert spoken(result.stdout + result.stderr), (words, result)
        found = sorted(made.name for made in ran.iterdir())
        if found:
            left[" ".join(words)] = found
        for made in ran.iterdir():
            made.unlink()
    return left


def test_nothing_that_a_checkout_names_is_run(shop: Person) -> None:
    ran = hostile(shop)
    shop.path(ITEM).touch()
    assert play(shop, ran) == {}
    for words in (("status", "--porcelain"), ("log", "-1")):
        subprocess.run(["git", *words], cwd=shop.folder, check=False, capture_output=True)
    assert {made.name for made in ran.iterdir()} >= {"fsmonitor", "process", "gpg"}


@pytest.mark.parametrize("address", rest_thorough(1, ["{folder}", "ext::sh -c touch% {ran}/ext"]))
def test_a_partial_clone_is_not_completed(shop: Person, address: str) -> None:
    """Git asks the remote for a tree that is missing, and the clone's configuration names how."""
    ran = hostile(shop, partial=address.format(folder=shop.folder, ran=shop.folder.parent / "ran"))
    assert play(shop, ran) == {}
    config = shop.path(".git/config")
    config.write_text(config.read_text().replace("fsmonitor = ", "nothing = "))
    subprocess.run(["git", "status", "--porcelain"], cwd=shop.folder, check=False, capture_output=True)
    assert {"uploadpack", "ext"} & {made.name for made in ran.iterdir()}
