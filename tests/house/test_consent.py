"""Consent has one room: nothing else tells sorts apart in rye.lock, one function asks, and one place remembers (house 2)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house.trees import nodes, tree

ROOT = Path(__file__).parents[2]


def sources(*folders: str) -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "programs" not in path.relative_to(ROOT).parts  # installed by `make test-clients`
    }


def names(source: str) -> set[str]:
    """The attributes, arguments and variables of a module that name an approval's sort."""
    found = set()
    for node in nodes(tree(source)):
        for field in ("attr", "id", "arg", "name"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name.startswith("approved_"):
                found.add(name)
    return found


def test_approvals_by_sort_are_named_only_where_rye_lock_is_read_and_written_and_in_the_room() -> None:
    elsewhere = {
        file: named
        for file, source in sources("rye", "registry_server", "tests").items()
        if "approved_" in source
        and not file.startswith(("rye/consent/", "tests/consent/", "rye/project/lock"))
        and (named := {name for name in names(source) if not name.startswith("approved_by")})
    }
    assert elsewhere == {}


def test_the_room_has_at_most_ten_files() -> None:
    assert len(list((ROOT / "rye/consent").glob("*.py"))) <= 10


@pytest.mark.parametrize(("called", "by"), [("Proposal", "asking"), ("Memory", "acceptance")])
def test_one_module_asks_and_one_remembers(called: str, by: str) -> None:
    """A face is shown what :func:`rye.workspace.trusting.asking.ask` makes, and the file is written through one value."""
    makes = {
        file
        for file, source in sources("rye/workspace", "rye/deployment", "rye/runtime", "rye/mcp", "rye/cli").items()
        if called in source
        for node in nodes(tree(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == called
    }
    assert makes == {f"rye/workspace/trusting/{by}.py"}


_QUESTIONS = {
    "rye/cli/project/installing.py": "the face of asking.ask: everything that the table of sorts names",
    "rye/workspace/trusting/asking.py": "what a command names itself: hooks to approve, lists to import",
    "rye/cli/author/proposed_change.py": "writing the user's own items",
    "rye/cli/deploy/running.py": "writing targets into rye.toml",
    "rye/cli/publish/namespace_files.py": "signing with the user's key",
    "rye/cli/publish/publish.py": "publishing",
    "rye/cli/publish/stage.py": "signing with the user's key",
    "rye/cli/runs/run.py": "one call of a run, once",
    "rye/cli/trust/keys.py": "revoking the user's key",
    "rye/cli/trust/trust.py": "a key of the user's trust store",
    "rye/cli/trust/trust_accept.py": "a namespace's new keys",
    "rye/workspace/authoring/origin_updating.py": "merging a text by another key into the user's own item, which they sign",
    "rye/workspace/authoring/version_bump.py": "raising all of the user's own items",
    "rye/workspace/authoring/signing.py": "replacing signatures of other keys on the user's own items",
    "rye/runtime/finished_runs.py": "one call of a run, once",
    "rye/workspace/customizing/editing.py": "editing again",
    "rye/workspace/publishing/advisories.py": "warning everyone",
    "rye/workspace/publishing/namespaces.py": "a name like another one, and keys for everyone",
    "rye/workspace/publishing/release_status.py": "yanking for everyone",
    "rye/workspace/registries/pinning.py": "reading other registries through this one",
    "rye/workspace/registries/project_registries.py": "contacting and pinning a registry",
    "rye/workspace/registries/witness_policies.py": "demanding witnesses, or no longer",
}
"""Who asks a person a yes-or-no question, and about what. Only the first two ask for consent to what items bring."""
_ASKERS = {"rye/cli/console.py", "rye/cli/options.py", "rye/workspace/confirmation.py"}
"""Those that pass any question on."""
_OTHERS = {"answers", "console", "self", "store", "checker", "faces", "_world"}
"""Objects whose ``ask`` is something else: a line of text, a demo's command, a running call or a thread, a server."""


def asks_yes_or_no(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "rye.workspace.confirmation"
    if not isinstance(node, ast.Attribute):
        return False
    receiver = ast.unparse(node.value).rpartition(".")[2]
    return node.attr == "confirm" or (node.attr == "ask" and receiver not in _OTHERS)


def test_no_other_command_asks_for_consent() -> None:
    """A new question about what an item brings goes through :mod:`rye.workspace.trusting.asking`."""
    ask = {
        file
        for file, source in sources("rye").items()
        if ("ask" in source or "confirm" in source) and any(map(asks_yes_or_no, nodes(tree(source))))
    }
    assert ask - _ASKERS == set(_QUESTIONS)


def functions(file: str) -> dict[str, ast.FunctionDef]:
    module = tree((ROOT / file).read_text("utf-8"))
    return {node.name: node for node in nodes(module) if isinstance(node, ast.FunctionDef)}


def test_the_function_that_installs_is_short_and_hands_one_agreement_on() -> None:
    steps = functions("rye/workspace/installing/install_steps.py")
    chosen, switch = steps["install_chosen"], steps["_switch"]
    assert chosen.end_lineno is not None
    assert chosen.end_lineno - chosen.lineno < 35
    given = [argument.arg for argument in switch.args.args]
    assert given == ["session", "sources", "prepared", "agreed"]
