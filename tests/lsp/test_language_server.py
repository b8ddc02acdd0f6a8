"""`rye lsp` as an editor meets it: a real process over pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rye.items.directive.reader import METADATA
from rye.items.directive.template import template
from rye.items.kinds import KINDS
from tests.items.finished import finished
from tests.lsp.client import SECONDS, Client, applied, where
from tests.mcp.sessions import own_tool, project_with_key
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes
SHIP = finished(template("ship", "work", "me"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rye = Person(tmp_path_factory.mktemp("editor"))
    rye.write("rye.toml", '[project]\nnamespace = "me"\n')
    rye.write(".ai/tools/shell/docker.py", KINDS["tool"].load().template("docker", "shell", "me"))
    return rye.folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    started = Client(folder, starts=True)
    yield started
    assert started.close() == 0
    assert b"Traceback" not in started.stderr, started.stderr


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / ".ai/directives/work/ship.md"


def by_code(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["code"]: one for one in found}


# Findings


def test_a_valid_directive_has_no_findings_and_is_not_written(client: Client, path: Path) -> None:
    assert client.open(path, SHIP) == []
    assert not path.exists()


def test_a_change_is_checked_and_a_range_is_exactly_what_is_wrong(client: Client, path: Path) -> None:
    client.open(path, SHIP)
    bad = SHIP.replace('version="0.1.0"', 'verison="1.0.0" version="1"').replace("author>", "autor>")
    client.change(path, bad)
    found = by_code(client.findings(path))
    lines = bad.split("\n")

    def covered(code: str) -> str:
        first, last = found[code]["range"]["start"], found[code]["range"]["end"]
        assert first["line"] == last["line"]
        return str(lines[first["line"]][first["character"] : last["character"]])

    assert covered("D012") == 'verison="1.0.0"'
    assert covered("D011") == "<autor"
    assert covered("R03") in ('"1"', 'version="1"')
    assert found["R02"]["severity"] == 1
    assert found["D011"]["source"] == "rye"


@pytest.mark.parametrize("break_", ["\n", "\r\n"])
def test_places_count_utf_16_units_and_lines_end_with_crlf_too(client: Client, path: Path, break_: str) -> None:
    """An emoji is two units, also next to combining sequences, CR LF and U+2028."""
    text = SHIP.replace("Words", "😀😀 é\u200b Words", 1).replace("\n", break_)
    found = by_code(client.open(path, text))
    assert found["C06"]["range"] == {
        "start": dict(zip(("line", "character"), where(text, "\u200b"), strict=True)),
        "end": dict(zip(("line", "character"), where(text, "\u200b", 1), strict=True)),
    }
    assert found["C06"]["range"]["start"]["character"] == 6
    assert ("C10" in found) == (break_ == "\r\n")


def test_edits_between_wide_characters_keep_the_text_whole(client: Client, path: Path) -> None:
    """After many keystrokes behind emoji, a line separator and a form feed, the server still has the editor's text."""
    text = SHIP.replace("# Ship", "# 😀 Ship \u2028 x")
    client.open(path, text)
    line, character = where(text, "Ship")
    for number, letter in enumerate("😀ab"):
        client.change(path, letter, (line, character + number + (number > 0)))
    found = client.findings(path)
    assert [one["code"] for one in found] == ["C11"]
    expected = where(text, "\u2028")
    start = found[0]["range"]["start"]
    assert (start["line"], start["character"]) == (expected[0], expected[1] + 4)
    client.change(path, "", (line, character), (line, character + 4))
    start = client.findings(path)[0]["range"]["start"]
    assert (start["line"], start["character"]) == expected


@pytest.mark.parametrize("encoding", rest_thorough(1, ["utf-8", "utf-32"]))
def test_another_unit_counts_where_the_client_prefers_it(folder: Path, path: Path, encoding: str) -> None:
    client = Client(folder, encodings=[encoding, "utf-16"])
    try:
        assert client.capabilities["positionEncoding"] == encoding
        found = by_code(client.open(path, SHIP.replace("# Ship", "😀\u200b")))
        assert found["C06"]["range"]["start"]["character"] == (4 if encoding == "utf-8" else 1)
    finally:
        client.kill()


def broken(kind: str, text: str) -> list[str]:
    return [text, text[: len(text) // 2], text.replace("name", "nmae", 2), f"\ufeff{text}", text.replace("\n", "\r\n")]


@pytest.mark.parametrize("kind", rest_thorough(4, list(KINDS)))
def test_findings_are_those_of_validate(client: Client, folder: Path, kind: str) -> None:
    """Each kind's template, intact and broken: the same codes, messages and lines as `rye validate` gives for the saved file."""
    row = KINDS[kind]
    category = "part" if row.nested else ""
    name = "thing"
    ending = row.endings[0]
    relative = f"{category}/{name}{ending}" if row.nested else f"{name}{ending}" if row.suffixes else f"{name}/{ending}"
    path = folder / ".ai" / row.folder / relative
    for text in broken(kind, row.load().template(name, category, "me")):
        sent = client.open(path, text)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        try:
            rye = Person(folder.parent)
            result = next(
                one for one in rye.run("validate", "--json").json["results"] if one["path"].endswith(relative)
            )
        finally:
            path.unlink()
        said = [
            (one["code"], one["message"] + (f"\n{one['hint']}" if one["hint"] else "")) for one in result["diagnostics"]
        ]
        assert [(one["code"], one["message"]) for one in sent] == said
        lines = [one["line"] for one in result["diagnostics"] if one["line"] is not None]
        assert [
            one["range"]["start"]["line"] + 1 for one, r in zip(sent, result["diagnostics"], strict=True) if r["line"]
        ] == lines


def test_a_file_with_the_id_of_its_neighbour_is_found_as_validate_finds_it(client: Client, folder: Path) -> None:
    path = folder / ".ai/tools/shell/count.py"
    text = KINDS["tool"].load().template("count", "shell", "me")
    assert "ambiguous-id" not in by_code(client.open(path, text))
    path.write_text(text)
    other = path.with_suffix(".js")
    other.write_text("// another tool\n")
    try:
        client.change(path, text + "\n")
        assert by_code(client.findings(path))["ambiguous-id"]["severity"] == 1
    finally:
        path.unlink()
        other.unlink()


def test_a_manifest_is_checked_where_it_is_wrong(client: Client, folder: Path) -> None:
    path = folder / "rye.toml"
    text = '[project]\nname = "x"\n\n[policy]\nmax-tear = "write"\n'
    (found,) = client.open(path, text)
    assert (found["code"], found["range"]["start"]) == ("bad-manifest", {"line": 4, "character": 0})
    (fix,) = client.actions(path, found["range"])
    assert applied(text, fix) == text.replace("max-tear", "max-tier")
    client.change(path, "[project\n")
    assert client.findings(path)[0]["range"]["start"]["line"] == 0


# Hostile documents


@pytest.mark.parametrize(
    "text",
    [
        "x" * 400_000,
        SHIP + "😀" * 100_000,
        "```xml\n" + "<directive>" * 30_000,
        "```xml\n<directive " + "a='" * 80_000,
        SHIP.replace("<process>", "<process>" + "<!--" * 60_000),
        "> " * 40_000 + "\n```xml\n<directive>",
        "".join(map(chr, range(0x20))) * 500,
        "```xml\n<!DOCTYPE x [<!ENTITY a 'b'>]><directive>&a;</directive>\n```\n",
        "---\n" + "a: &a [*a, *a]\n" * 5_000 + "---\n",
        "\u2028\u2029\x0b\x0c" * 20_000,
    ],
)
def test_a_hostile_document_neither_ends_nor_holds_the_server(client: Client, path: Path, text: str) -> None:
    started = time.monotonic()
    client.open(path, text)
    last = len(text.split("\n")) - 1
    client.complete(path, last, 10)
    client.hover(path, last, 10)
    client.change(path, "<", (last, 5))
    client.findings(path)
    assert time.monotonic() - started < 40


def test_two_documents_at_once_do_not_mix(client: Client, folder: Path) -> None:
    one, two = folder / ".ai/directives/work/one.md", folder / ".ai/directives/work/two.md"
    client.open(one, finished(template("one", "work", "me")))
    client.open(two, finished(template("two", "work", "me")))
    for number in range(5):
        client.change(one, finished(template("one", "work", "me")).replace("{input:subject}", f"{{input:s{number}}}"))
        client.change(two, finished(template("two", "work", "me")))
    wrong = client.findings(one)
    client.change(two, finished(template("wrong", "work", "me")))
    assert {found["code"] for found in wrong} == {"D080"}
    assert [found["code"] for found in client.findings(two)] == ["D010"]
    assert "{input:s4}" in json.dumps(wrong) or "s4" in wrong[0]["message"]


def test_files_outside_a_project_and_texts_without_a_file(client: Client, tmp_path: Path) -> None:
    outside = tmp_path / "notes.md"
    assert client.open(outside, "# Just notes\n") == []
    assert client.complete(outside, 0, 3) == []
    directive = tmp_path / "free.md"
    assert {found["code"] for found in client.open(directive, SHIP.replace("version", "vision"))} >= {"R01"}
    untitled = {"uri": "untitled:Untitled-1", "languageId": "markdown", "version": 1, "text": SHIP}
    client.tell("textDocument/didOpen", {"textDocument": untitled})
    line, character = where(SHIP, "<metadata>", 1)
    asked = {"textDocument": {"uri": "untitled:Untitled-1"}, "position": {"line": line, "character": character}}
    assert [item["label"] for item in client.ask("textDocument/completion", asked)["items"]] == [
        "metadata",
        "inputs",
        "outputs",
    ]


def test_messages_that_are_none_are_passed_over(folder: Path, path: Path) -> None:
    client = Client(folder)
    client.send(b"{not json")
    client.send(b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{}}')
    client.tell(
        "textDocument/didChange", {"textDocument": {"uri": "file:///nowhere", "version": 3}, "contentChanges": []}
    )
    assert client.open(path, SHIP) == []
    assert client.close() == 0


def test_leaving_without_a_word_is_an_exit_of_1(folder: Path) -> None:
    client = Client(folder)
    client.tell("exit", None)
    assert client.process.wait(20) == 1


# Completion, explanations, fixes


@pytest.mark.parametrize(
    ("old", "new", "offered"),
    [
        ("<author>me</author>", "<", list(METADATA)),
        ('<model tier="general" />', "<model fall", ["fallback", "fallback_id"]),
        ('type="string"', 'type="', ["string", "integer", "boolean", "object", "array"]),
        ("<knowledge>*", "<tool>me/sh", ["me/shell/*", "me/shell/docker"]),
        ("</permissions>", "</permissions><context><depends_on>me/sh", ["me/shell/docker"]),
        ("{input:subject}", "{input:s", ["subject"]),
        ("</step>", '<execute item_type="tool" item_id="', ["me/shell/docker"]),
        ("</step>", '`rye_execute(item_type="tool", item_id="me', ["me/shell/docker"]),
        ("</step>", "rye.execute.tool.me", ["rye.execute.tool.me.shell.docker"]),
        ("</step>", "<sear", ["search"]),
        ("</search>", "</", ["search"]),
    ],
)  # fmt: skip
def test_what_is_begun_is_completed(client: Client, path: Path, old: str, new: str, offered: list[str]) -> None:
    at = SHIP.index(old)
    text = SHIP[:at] + new + SHIP[at + len(old) :]
    client.open(path, text)
    before = text[: at + len(new)]
    assert client.complete(path, before.count("\n"), len(before.rpartition("\n")[2])) == offered


def test_a_manifest_completes_ids_and_capabilities(client: Client, folder: Path) -> None:
    path = folder / "rye.toml"
    text = '[dependencies]\n"me/\n[policy]\nforbid = ["rye.sig\n'
    client.open(path, text)
    assert client.complete(path, 1, 4) == ["me/shell/docker"]
    assert client.complete(path, 3, 18)[:1] == ["rye.sign.*"]


def test_rights_are_explained_with_their_tier(client: Client, path: Path) -> None:
    text = SHIP.replace("<search>", "<execute><tool>me.shell.*</tool></execute><search>")
    client.open(path, text)
    shown = client.hover(path, *where(text, "me.shell.*", 3))
    assert shown is not None
    assert "rye.execute.tool.me.shell.*" in shown
    assert "Tier: elevated" in shown
    assert "denied" in str(client.hover(path, *where(text, "<permissions>", 2)))
    assert client.hover(path, *where(text, "## Rules")) is None


def test_an_own_item_is_explained_and_a_missing_one_is_said_to_be(client: Client, path: Path) -> None:
    text = SHIP.replace(
        "</permissions>",
        "</permissions><context><depends_on>tool:me/shell/docker</depends_on><suggests>no/such/item</suggests></context>",
    )
    client.open(path, text)
    shown = str(client.hover(path, *where(text, "me/shell/docker", 3)))
    assert "tool:me/shell/docker 0.1.0" in shown
    assert "project space" in shown
    assert "There is no item 'no/such/item'" in str(client.hover(path, *where(text, "no/such/item", 3)))


def test_installed_items_are_explained_once_verified_and_not_after_a_change(registry: Registry) -> None:
    owner = registry.owner("shelf")
    owner.release("books/first")
    reader = registry.reader()
    reader.ok("init")
    reader.ok("add", "shelf/books/first", "--yes", "--approve", "directive:shelf/books/first@1.0.0")
    text = SHIP.replace("</permissions>", "</permissions><context><depends_on>shelf/books/first</depends_on></context>")
    path = reader.folder / ".ai/directives/work/ship.md"
    client = Client(reader.folder, env=reader.environment)
    try:
        client.open(path, text)
        spot = where(text, "shelf/books/first", 3)
        shown = str(client.hover(path, *spot))
        assert "directive:shelf/books/first 1.0.0" in shown
        assert f"Installed, verified; signed by {owner.fingerprint()}" in shown
        installed = next(reader.path(".ai/packages").rglob("first.md"))
        installed.write_text(installed.read_text().replace("first", "cooked"))
        shown = str(client.hover(path, *spot))
        assert "was changed since" in shown
        assert "cooked" not in shown
        assert client.complete(path, spot[0], spot[1])[:1] == ["shelf/books/first"]
    finally:
        client.kill()


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (SHIP.replace(' version="0.1.0"', ""), "R01"),
        (SHIP.replace("author>", "autor>"), "D011"),
        (SHIP.replace('required="true"', 'requierd="true"'), "D012"),
        (SHIP.replace("    <author>me</author>\n", ""), "R02"),
        (SHIP.replace("</step>", '`rye_execute(item_type="tool", item_id="me/shell/docker")`</step>', 1), "D701"),
        (SHIP.replace("# Ship", "# Sh\u200bip"), "C06"),
        (SHIP.replace("workflows", "elsewhere").replace("<category>work<", "<category>other<"), "R05"),
    ],
)
def test_a_fix_leaves_nothing_of_its_finding(client: Client, path: Path, broken: str, code: str) -> None:
    found = by_code(client.open(path, broken))
    assert code in found
    fixes = client.actions(path, found[code]["range"])
    assert fixes, found
    mended = applied(broken, fixes[0])
    client.change(path, mended)
    assert code not in by_code(client.findings(path))
    assert not path.exists()


def test_all_that_has_one_answer_is_fixed_at_once(client: Client, path: Path) -> None:
    text = SHIP.replace("\n", "\r\n")
    client.open(path, text)
    (action,) = client.actions(
        path, {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, ["source.fixAll"]
    )
    assert action["kind"] == "source.fixAll"
    (edit,) = action["edit"]["documentChanges"][0]["edits"]
    assert "\r" not in edit["newText"]


def test_findings_of_an_older_text_are_not_sent(client: Client, path: Path) -> None:
    """After twenty quick keystrokes the last findings are about the last text, and fewer than twenty texts were checked."""
    client.open(path, SHIP)
    while not client.found.empty():
        client.found.get()
    for number in range(20):
        client.change(path, SHIP.replace("{input:subject}", f"{{input:n{number}}}", 1))
    assert "n19" in client.findings(path)[0]["message"]
    assert client.found.qsize() == 0


def test_without_the_library_the_command_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pygls'] = None; from rye.cli.main import main; main(['lsp', '--json'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        check=False,
    )
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"]) == (1, "extra-missing")
    assert " install -e " in error["hint"]
    assert "[lsp]" in error["hint"]


# Going to an item, and from it


def location(found: dict[str, Any]) -> tuple[str, int, int, int]:
    first, last = found["range"]["start"], found["range"]["end"]
    assert first["line"] == last["line"]
    return found["uri"], first["line"], first["character"], last["character"]


def test_an_id_leads_to_its_file_and_to_every_place_that_names_it(client: Client, folder: Path, path: Path) -> None:
    rye = folder / "rye.toml"
    manifest = '[project]\nnamespace = "me"\n\n[sandbox."tool:me/shell/docker"]\nwrite = ["out/"]\n'
    client.tell("textDocument/didClose", {"textDocument": {"uri": rye.as_uri()}})
    client.open(path, f"{SHIP}\nUse me/shell/docker, or tool:me/shell/docker.\n")
    line = SHIP.count("\n") + 1
    wanted = {"line": line, "character": 6}
    asked = {"textDocument": {"uri": path.as_uri()}, "position": wanted}
    tool = folder / ".ai/tools/shell/docker.py"
    found = client.ask("textDocument/definition", asked)
    assert location(found) == (tool.as_uri(), 0, 0, 0)
    saved = rye.read_text()
    try:
        rye.write_text(manifest)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("saved text that the editor has changed since: me/shell/docker\n")
        places = [
            location(each)
            for each in client.ask("textDocument/references", {**asked, "context": {"includeDeclaration": False}})
        ]
    finally:
        rye.write_text(saved)
        path.unlink()
    assert places == [
        (rye.as_uri(), 3, 15, 30),
        (path.as_uri(), line, 4, 19),
        (path.as_uri(), line, 29, 44),
    ]


@pytest.mark.parametrize(
    "text", ["me/shell/nothing", "../../rye.toml", "rye.execute.tool.me.shell.docker", "", "me/" * 3000]
)
def test_what_is_no_known_item_leads_nowhere(client: Client, path: Path, text: str) -> None:
    client.open(path, f"{text}\n")
    asked = {"textDocument": {"uri": path.as_uri()}, "position": {"line": 0, "character": 1}}
    assert client.ask("textDocument/definition", asked) is None
    assert client.ask("textDocument/references", {**asked, "context": {"includeDeclaration": True}}) == []


def test_a_document_has_an_outline(client: Client, path: Path) -> None:
    client.open(path, SHIP)
    found = client.ask("textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}})
    lines = SHIP.split("\n")
    assert len(found) > 2
    assert [each["name"] for each in found if each["name"] not in lines[each["range"]["start"]["line"]]] == []


# Renaming, and all items

MOVES = {"workspace": {"workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename"]}}}


@pytest.fixture
def shop(tmp_path: Path) -> Person:
    rye = project_with_key(tmp_path)
    own_tool(rye, "fs/count")
    rye.write(".ai/knowledge/notes/use.md", "# Use\n\n😀 acme/fs/count and rye.execute.tool.acme.fs.count\n")
    return rye


def asked(path: Path, text: str, needle: str, inside: int = 1, **more: Any) -> dict[str, Any]:
    line, character = where(text, needle, inside)
    position = {"line": line, "character": character}
    return {"textDocument": {"uri": path.as_uri()}, "position": position, **more}


def test_an_own_id_is_renamed_in_open_and_closed_files_and_its_file_moves(shop: Person) -> None:
    path, tool_file = shop.path(".ai/knowledge/notes/use.md"), shop.path(".ai/tools/fs/count.py")
    saved = path.read_text("utf-8")
    unsaved = saved + "\nacme/fs/count again\n"
    client = Client(shop.folder, capabilities=MOVES)
    try:
        client.open(path, unsaved)
        assert client.ask("textDocument/prepareRename", asked(path, saved, "acme/fs"))["placeholder"] == "acme/fs/count"
        assert (
            client.ask("textDocument/prepareRename", asked(path, saved, "rye.exec"))["placeholder"] == "acme.fs.count"
        )
        changes = client.ask("textDocument/rename", asked(path, saved, "acme/fs", newName="acme/box/sum"))[
            "documentChanges"
        ]
        dotted = client.ask("textDocument/rename", asked(path, saved, "rye.exec", newName="acme.box.sum"))[
            "documentChanges"
        ]
        (shown,) = {client.shown.get(timeout=SECONDS)["message"], client.shown.get(timeout=SECONDS)["message"]}
    finally:
        client.kill()
    assert dotted == changes
    assert changes[-1] == {
        "kind": "rename",
        "oldUri": tool_file.as_uri(),
        "newUri": shop.path(".ai/tools/box/sum.py").as_uri(),
        "options": {"overwrite": False},
    }
    edited = {each["textDocument"]["uri"]: each for each in changes[:-1]}
    assert {uri: each["textDocument"]["version"] for uri, each in edited.items()} == {
        path.as_uri(): 1,
        tool_file.as_uri(): None,
    }
    action = {"edit": {"documentChanges": [edited[tool_file.as_uri()]]}}
    assert '__category__ = "box"' in applied(tool_file.read_text("utf-8"), action)
    spans = [
        (each["range"]["start"]["line"], each["range"]["start"]["character"]) for each in edited[path.as_uri()]["edits"]
    ]
    assert spans == [(2, 3), (2, 38), (4, 0)]
    assert (
        shown == "tool:acme/fs/count is now tool:acme/box/sum. These files need a new signature (`rye sign`): sum.py."
    )
    assert path.read_text("utf-8") == saved, "the server writes nothing"


def test_an_item_is_renamed_from_its_own_name(shop: Person) -> None:
    path = shop.new("skill", "pdf-tools")
    text = path.read_text("utf-8")
    client = Client(shop.folder, capabilities=MOVES)
    try:
        client.open(path, text)
        changes = client.ask("textDocument/rename", asked(path, text, "name: pdf", 8, newName="documents"))[
            "documentChanges"
        ]
        assert (
            client.refused("textDocument/prepareRename", asked(path, text, "description", 2)) == "There is no id here."
        )
    finally:
        client.kill()
    assert changes[0]["edits"][0]["newText"] == "documents"
    assert (changes[-1]["oldUri"], changes[-1]["newUri"]) == (
        shop.path(".ai/skills/pdf-tools").as_uri(),
        shop.path(".ai/skills/documents").as_uri(),
    )


def test_what_cannot_be_renamed_is_refused_with_the_reason(shop: Person) -> None:
    shop.write(".ai/packages/other/tools/fs/get.py", "x = 1\n")
    own_tool(shop, "fs/sum")
    path = shop.path(".ai/knowledge/notes/use.md")
    text = "# Use\n\nother/fs/get\nacme/fs/nothing\nacme/fs/count\nwords\n"
    keeps = "tool:other/fs/get (installed) is not an item of this project, so it keeps its id."
    client = Client(shop.folder, capabilities=MOVES)
    try:
        client.open(path, text)
        for named, new, said in (
            ("other/fs/get", "acme/fs/get", keeps),
            ("acme/fs/nothing", "acme/fs/get", "There is no item 'acme/fs/nothing' in the project"),
            ("acme/fs/count", "../../x", "'../../x' is not a valid id."),
            ("acme/fs/count", "acme/fs/sum", ".ai/tools/fs/sum.py already exists, so nothing was renamed."),
            ("words", "acme/fs/get", "There is no id here."),
        ):
            assert said in client.refused("textDocument/rename", asked(path, text, named, newName=new))
    finally:
        client.kill()


def test_nothing_outside_of_the_project_is_renamed_or_edited(shop: Person, tmp_path: Path) -> None:
    """A committed link would lead the editor's move, or its edits, elsewhere."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "other.md").write_text("# Other\n\nacme/fs/count\n")
    shop.path(".ai/tools/box").symlink_to(outside)
    shop.path(".ai/knowledge/more").symlink_to(outside)
    shop.path(".ai/knowledge/notes/link.md").symlink_to(outside / "other.md")
    path = shop.path(".ai/knowledge/notes/use.md")
    text = path.read_text("utf-8")
    client = Client(shop.folder, capabilities=MOVES)
    try:
        client.open(path, text)
        said = client.refused("textDocument/rename", asked(path, text, "acme/fs", newName="acme/box/sum"))
        changes = client.ask("textDocument/rename", asked(path, text, "acme/fs", newName="acme/fs/sum"))
    finally:
        client.kill()
    assert said.startswith("'.ai/tools/box' is a symbolic link")
    places = [
        each["newUri"] if "newUri" in each else each["textDocument"]["uri"] for each in changes["documentChanges"]
    ]
    assert places == [path.as_uri(), shop.path(".ai/tools/fs/sum.py").as_uri()]


def test_an_editor_that_cannot_move_files_is_told(shop: Person) -> None:
    path = shop.path(".ai/knowledge/notes/use.md")
    text = path.read_text("utf-8")
    client = Client(shop.folder)
    try:
        client.open(path, text)
        said = client.refused("textDocument/rename", asked(path, text, "acme/fs", newName="acme/box/sum"))
    finally:
        client.kill()
    assert said.startswith("This editor cannot move files")


@pytest.mark.thorough
def test_all_items_are_found_by_letters_of_their_ids(shop: Person) -> None:
    shop.write(".ai/packages/other/tools/fs/get.py", "x = 1\n")
    client = Client(shop.folder)
    try:
        everything = client.ask("workspace/symbol", {"query": ""})
        assert [(each["name"], each["containerName"]) for each in everything] == [
            ("acme/notes/use", "knowledge"),
            ("acme/fs/count", "tool"),
            ("other/fs/get", "tool"),
        ]
        assert everything[1]["location"]["uri"] == shop.path(".ai/tools/fs/count.py").as_uri()
        assert [each["name"] for each in client.ask("workspace/symbol", {"query": "TOOL cnt"})] == ["acme/fs/count"]
        assert client.ask("workspace/symbol", {"query": "(" * 3000}) == []
    finally:
        client.kill()
