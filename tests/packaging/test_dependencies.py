"""Every package that Rye needs is named with its reason (DESIGN 3), and some module imports it."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from tests.house.trees import statements, trees

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MODULES = {"dnspython": "dns", "markdown-it-py": "markdown_it", "pynacl": "nacl", "ruamel.yaml": "ruamel"}
"""Top-level modules that are not named like their package."""
BY_ADDRESS = {"psycopg"}
"""SQLAlchemy imports it when a database's address asks for it."""
BOTH = {"dnspython"}
"""The client can check what the server checks, with an extra of its own."""


def package_of(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert name is not None
    return name[0]


def required() -> set[tuple[str, str]]:
    """Each package, with the installation that brings it: ``client`` or an extra."""
    groups = {"client": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    return {(package_of(each), of) for of, requirements in groups.items() for each in requirements}


def imported(folder: str) -> set[str]:
    """The top-level modules that the files of a package import, anywhere in them."""
    modules = set()
    for tree in (tree for path, tree in trees().items() if path.startswith(f"{folder}/")):
        for node in statements(tree):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules.add(node.module.partition(".")[0])
    return modules


def test_every_dependency_has_its_reason_in_the_design() -> None:
    section = (ROOT / "docs/design/design.md").read_text("utf-8").partition("\n## 3. ")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\S+) \| (\S+) \| (.*) \|$", section, re.MULTILINE)
    named = [(package, of) for package, of, _ in rows if package != "package"]
    assert len(named) == len(set(named))
    assert set(named) == required()
    assert all(reason.strip() for _, _, reason in rows)


def test_every_dependency_is_imported_where_it_is_needed() -> None:
    client, server = imported("rye"), imported("registry_server")
    for package, of in required():
        if package in BOTH:
            continue
        module = MODULES.get(package, package.replace("-", "_"))
        assert module in (server if of == "server" else client) or package in BY_ADDRESS, package
        assert of != "server" or module not in client, f"{package} is used by the client, too"


def test_the_lists_to_pin_are_those_of_the_package() -> None:
    def listed(name: str) -> set[str]:
        text = (ROOT / "requirements" / name).read_text("utf-8").partition("\n# build")[0]
        return {package_of(line) for line in text.splitlines() if line[:1].isalpha()}

    assert listed("client.in") == {package for package, of in required() if of == "client"}
    assert listed("runtime.in") == {package for package, of in required() if of != "client"}
