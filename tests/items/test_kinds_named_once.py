"""No code names a kind outside its wing (``rye/items/<kind>``) and the table (``rye/items/kinds.py``) (house 3).

The search covers the syntax trees: texts that are a kind's name or contain a kind's file ending, and imports from a
wing. Exceptions are listed with their reasons. A reason that is no longer needed also fails.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache

import pytest

from rye.items.kinds import KINDS, TABLE
from tests.house.trees import nodes, statements, trees

NAMES = frozenset(KINDS)
ENDINGS = tuple(ending for kind in TABLE if kind.telling for ending in kind.endings)
WINGS = frozenset(kind.module.split(".")[2] for kind in TABLE)

MARKETPLACES = (
    "registry_server/interop/*.py",
    "registry_server/pages/operator.py",
    "registry_server/upkeep/plugins.py",
    "rye/registry/marketplaces.py",
)
PAGES = (
    "registry_server/pages/directive_text.py",
    "registry_server/pages/page_layout.py",
    "registry_server/pages/release_analysis.py",
)
ACCOUNTS = (
    "registry_server/accounts/administration.py",
    "registry_server/accounts/roles.py",
    "registry_server/api/role_pages.py",
    "registry_server/api/service.py",
    "registry_server/cli/account.py",
    "registry_server/cli/program.py",
    "registry_server/cli/role.py",
    "registry_server/migrations/versions/r0004_accounts.py",
    "registry_server/storage/schema.py",
)
ACCEPTED = {
    "The role of an account in a namespace is not an item.": ACCOUNTS,
    "The directive document says what a run does with each kind: tools run, directives start, knowledge is read.": (
        "rye/runtime/*.py",
        "rye/runtime/run/*.py",
    ),
    "The protocol's prompts, resources and skills are directives, knowledge and skills.": ("rye/mcp/*.py",),
    "The commands and use cases of agents' graphs and their move from YAML: about agents alone.": (
        "rye/cli/author/agent.py",
        "rye/workspace/authoring/agent_sets.py",
    ),
    "`rye migrate directive` brings old directives to today's rules: about directives alone.": (
        "rye/cli/author/migrate.py",
        "rye/workspace/authoring/directive_migration.py",
    ),
    "`rye adopt` takes skills as others publish them: about skills alone.": (
        "rye/cli/author/adopt.py",
        "rye/workspace/authoring/adopting.py",
    ),
    "Overlays change the steps of formulas (DECISIONS Role directives 7 to 11): about formulas alone.": (
        "rye/cli/customize/overlay.py",
        "rye/customization/overlay_*.py",
        "rye/workspace/customizing/formulas.py",
        "rye/workspace/customizing/overlaying.py",
        "rye/workspace/installing/customization_losses.py",
    ),
    "Role directives are additions to roles (DECISIONS Role directives 1 to 5): about roles alone.": (
        "rye/cli/customize/role.py",
        "rye/customization/role_files.py",
        "rye/workspace/customizing/roles.py",
        "rye/workspace/trusting/shown_changes.py",
    ),
    "`rye prime` joins one role and one formula into a prompt: the parts have these names.": (
        "rye/cli/customize/prime.py",
        "rye/workspace/customizing/priming.py",
        "rye/workspace/customizing/priming.py",
    ),
    "Hooks are a part of directives' language, and the listing reads their source.": (
        "rye/workspace/items/hooks.py",
        "rye/workspace/installing/hook_approval.py",
    ),
    "How inputs are declared and filled in is each format's own; renderers stand in a table by kind.": (
        "rye/rendering/*.py",
        "rye/workspace/items/directive_rendering.py",
        "rye/workspace/items/formula_rendering.py",
        "rye/workspace/items/rendered.py",
        "rye/workspace/items/rendering.py",
    ),
    "What a kind becomes in an agent program is a table of its own: a skill is copied, an agent translated, a tool left out.": (
        "rye/deployment/*.py",
        "rye/workspace/items/installed_items.py",
    ),
    "A sentence about a right names the type of items; one of them is a word without a plural.": (
        "rye/describing/right_words.py",
    ),
    "Marketplaces and the well-known index of agent programs list skills and nothing else.": MARKETPLACES,
    "Overlays and role directives change formulas and roles alone; consent and facts name what they change.": (
        "rye/workspace/items/item_facts.py",
        "rye/workspace/trusting/customizations.py",
    ),
    "A directive's page shows its steps as a list: they are prose with tags, which no other kind has.": PAGES,
    "Repositories and other tools' locks hold skills and agents, found by the names of their files.": (
        "rye/importing/foreign.py",
        "rye/sources/inventory/*.py",
        "rye/sources/item.py",
        "rye/workspace/authoring/adoption_renewal.py",
        "rye/workspace/installing/import_files.py",
        "rye/workspace/installing/import_settling.py",
        "rye/workspace/installing/pasted_words.py",
    ),
    "Editors complete and explain the grammar of directives.": ("rye/lsp/explanations.py", "rye/lsp/offers.py"),
    "Editors show a symbol of theirs for each kind.": ("rye/lsp/server.py",),
    "Each kind's metadata has a JSON schema, made from the kind's own types.": ("rye/schemas/*.py",),
    "Examples in help name items of every kind.": ("rye/cli/examples.py",),
    "Frontmatter of overrides files has a key `agent` for the item's id, whatever its kind.": (
        "rye/customization/legacy.py",
        "rye/customization/override_file.py",
        "rye/customization/override_writing.py",
    ),
    "Names of commands and options (`rye agent`, `rye role`, `--bundle`), not of kinds.": (
        "rye/cli/main.py",
        "rye/cli/project/installing.py",
    ),
    "Approvals name what was agreed to; their `tool` is one of the agent program's, not an item.": (
        "rye/cli/project/consent.py",
        "rye/cli/project/consent_items.py",
        "rye/cli/project/consent_unseen.py",
        "rye/cli/project/source_list.py",
        "rye/consent/*.py",
        "rye/installation/plan.py",
        "rye/workspace/items/rights.py",
        "rye/installation/audit/*.py",
        "rye/installation/plan.py",
    ),
    "The front door offers the values of directives, which other programs read.": ("rye/api.py",),
    "Words of other formats: `tool` in SARIF, in logs of runs and in commands of package managers, `role` in chats.": (
        "rye/cli/registry/demo_model.py",
        "rye/cli/runs/runs.py",
        "rye/installation/sarif.py",
        "rye/runtime/run/dialects/*.py",
        "rye/text/facts/*.py",
    ),
}


def findings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of everything that names a kind."""
    prose = {
        id(node.value)
        for node in statements(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            if node.value in NAMES or any(ending in node.value for ending in ENDINGS):
                yield node.lineno, repr(node.value)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            yield from ((node.lineno, module) for module in modules[:1] if _in_wing(module))
            if node.module == "rye.items":
                yield from ((node.lineno, module) for module in modules[1:] if _in_wing(module))
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if _in_wing(alias.name))


def _in_wing(module: str) -> bool:
    parts = module.split(".")
    return parts[:2] == ["rye", "items"] and len(parts) > 2 and parts[2] in WINGS


def _is_own(path: str) -> bool:
    parts = path.split("/")
    return parts[:2] == ["rye", "items"] and parts[2].removesuffix(".py") in WINGS | {"kinds"}


@cache
def found() -> dict[str, list[tuple[int, str]]]:
    """The places in each file outside the wings that name a kind; files without any are omitted."""
    modules = trees(*NAMES, *ENDINGS, "rye.items").items()
    return {path: here for path, tree in modules if not _is_own(path) and (here := list(findings(tree)))}


@pytest.mark.slow
def test_kinds_are_named_where_there_is_a_reason_only() -> None:
    patterns = [pattern for patterns in ACCEPTED.values() for pattern in patterns]
    wrong = {path: here for path, here in found().items() if not any(fnmatch(path, pattern) for pattern in patterns)}
    assert wrong == {}, "ask the row of rye/items/kinds.py instead"


@pytest.mark.slow
@pytest.mark.parametrize("reason", ACCEPTED)
def test_every_reason_is_needed(reason: str) -> None:
    assert any(fnmatch(path, pattern) for path in found() for pattern in ACCEPTED[reason])


@pytest.mark.slow
def test_the_server_and_the_security_core_need_no_exception() -> None:
    """Signing, permissions, the registry's protocol and the server treat every kind alike, except for marketplaces and pages."""
    rooms = ("registry_server/", "rye/signing/", "rye/permissions/", "rye/registry/", "rye/project/", "rye/publishing/")
    excepted = (*MARKETPLACES, *PAGES, *ACCOUNTS)
    assert [p for p in found() if p.startswith(rooms) and not any(fnmatch(p, pattern) for pattern in excepted)] == []


@pytest.mark.parametrize(
    "planted",
    [
        'if kind == "skill":\n    pass',
        'TABLE = {"formula": 1}',
        'name = f"{stem}.formula.toml"',
        'path = folder / "SKILL.md"',
        "from rye.items.agent.model import Agent",
        "from rye.items import bundle",
        "import rye.items.role.reader",
        "def f():\n    from rye.items.directive.reader import read",
    ],
)
def test_the_search_finds_a_name(planted: str) -> None:
    assert len(list(findings(ast.parse(planted)))) == 1


@pytest.mark.parametrize(
    "harmless", ['"""About ``SKILL.md`` and a\nrole."""', "role = 1", 'x = "the role"', "import rye"]
)
def test_the_search_leaves_prose_and_names_of_things_alone(harmless: str) -> None:
    assert list(findings(ast.parse(harmless))) == []
