"""``docs/reference/pages.md`` and ``page-documents.md`` are true: tables list the fields of the documents, the example runs."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from msgspec import Struct

from registry_server.pages.diff import DiffView
from registry_server.pages.item_view import ItemView
from registry_server.pages.lists import ListView, PublishersView
from registry_server.pages.log import EntryView, LogView
from registry_server.pages.namespace import NamespaceView
from registry_server.pages.search import SearchView
from registry_server.pages.source import SourceView
from registry_server.pages.versions import VersionsView
from tests.scenes.registry import Registry

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
TEXT = (REFERENCE / "pages.md").read_text("utf-8")
TABLES = dict(
    re.findall(r"<!-- fields: (\w+) -->\n((?:\|.*\n)+)", (REFERENCE / "page-documents.md").read_text("utf-8"))
)
PAGES = (
    ItemView,
    SourceView,
    SearchView,
    DiffView,
    LogView,
    EntryView,
    NamespaceView,
    ListView,
    PublishersView,
    VersionsView,
)
VIEWS: dict[str, type[Struct]] = {view.__name__: view for view in PAGES}
EXAMPLES = dict(re.findall(r"<!-- example: (.*?) -->\n```\n(.*?)```", TEXT, re.DOTALL))


@pytest.mark.parametrize("name", VIEWS)
def test_every_field_of_a_document_is_in_its_table_once(name: str) -> None:
    listed = [field for row in TABLES[name].splitlines()[2:] for field in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(listed) == sorted(VIEWS[name].__struct_fields__)


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_an_entry_is_checked_with_the_commands_of_the_example(registry: Registry, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "rye").write_text(f'#!/bin/sh\nexec {sys.executable} -m rye "$@"\n')
    (home / "bin" / "rye").chmod(0o755)
    (key,) = httpx.get(f"{registry.url}/-/log", headers={"Accept": "application/json"}).json()["keys"]
    lines = (
        EXAMPLES["check an entry"].replace("https://registry.example.org", registry.url).replace("/-/log/4", "/-/log/1")
    )
    commands = re.sub(r"--key '.*?'", f"--key {shlex.quote(key)}", lines)
    environment = {"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        ["/bin/sh", "-ec", commands], cwd=home, env=environment, text=True, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "rye.snapshot/v1 is entry 1 of the log of registry.example.org\n"), (
        done.stderr
    )
