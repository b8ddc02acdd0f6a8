"""An item's page has a table of its inputs, outputs and actions, as the client's own reader parses them."""

from __future__ import annotations

import hashlib
import time
from typing import Any

import lxml.html
import pytest

from registry_server.pages.limits import PAGES
from rye.items.identity import Identity
from rye.registry.protocol.statements import FileEntry
from tests.scenes.directive_text import directive
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher
from tests.server.unexamined import put

OUTPUTS = '<outputs><output name="result">What came of it</output></outputs>'
FIELDS = """
  <inputs>
    <input name="service" type="string" required="true">Service to &lt;b&gt;deploy&lt;/b&gt;</input>
    <input name="skip" type="boolean" required="false" default="false">Skip the tests</input>
    <input name="note" type="string" required="false" default="">A note</input>
  </inputs>
  <outputs>
    <output name="deployment_id">ID of the deployment</output>
  </outputs>
"""
FORMULA = """formula = "release"
description = "Cut a release"
type = "workflow"
version = 1

[[steps]]
id = "test"
title = "Test <i>all</i>"
description = "Run all tests on {{branch}}."

[[steps]]
id = "publish"
title = "Publish"
needs = ["test"]
interactive = true
acceptance = "The release is public"

[vars.branch]
description = "What to release"
default = "main"
"""


def entry(suffix: str, data: bytes) -> FileEntry:
    return FileEntry(suffix, len(data), hashlib.sha256(data).hexdigest())


def release(local: LocalRegistry, acme: Publisher, identity: Identity, text: str, suffix: str = ".md") -> str:
    """Publish an item; return the path of its page."""
    data = text.encode()
    put(local, acme, identity, "1.0.0", data, file=entry(suffix, data))
    return f"/-/{identity.kind}/{identity.id}"


def page_of(local: LocalRegistry, path: str) -> Any:
    answer = local.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == 200
    assert len(answer.content) <= PAGES.html_bytes
    return lxml.html.fromstring(answer.content)


def shape_of(local: LocalRegistry, path: str) -> Any:
    return local.get(path, headers={"Accept": "application/json"}).json()["shape"]


def cells(table: Any) -> list[list[str]]:
    return [[" ".join(cell.text_content().split()) for cell in row.xpath("td")] for row in table.xpath("tbody/tr")]


def with_fields(local_id: str, fields: str = FIELDS) -> str:
    return directive(local_id, "1.0.0").replace(OUTPUTS, fields.strip())


def test_inputs_and_outputs_of_a_directive_are_tables(local: LocalRegistry, acme: Publisher) -> None:
    path = release(local, acme, Identity("directive", "acme/a/fields"), with_fields("a/fields"))
    page = page_of(local, path)
    inputs, outputs = page.xpath('//section[@aria-labelledby="shape"]//table')
    assert [head.text_content() for head in inputs.xpath("thead//th")] == [
        *("Name", "Type", "Required", "Default", "Description"),
    ]
    assert cells(inputs) == [
        ["service", "string", "required", "", "Service to <b>deploy</b>"],
        ["skip", "boolean", "optional", "false", "Skip the tests"],
        ["note", "string", "optional", "(empty)", "A note"],
    ]
    assert cells(outputs) == [["deployment_id", "ID of the deployment"]]
    assert page.xpath('//nav//a[@href="#shape"]/text()') == ["Inputs and outputs"]
    found = shape_of(local, path)
    assert found["inputs"]["rows"][1]["default"] == "false"
    assert (found["inputs"]["total"], found["outputs"]["total"], found["steps"]["total"]) == (3, 1, 0)


def test_steps_of_a_formula_are_a_list_with_what_each_needs(local: LocalRegistry, acme: Publisher) -> None:
    path = release(local, acme, Identity("formula", "acme/release"), FORMULA, ".formula.toml")
    page = page_of(local, path)
    (section,) = page.xpath('//section[@aria-labelledby="shape"]')
    steps = [" ".join(step.text_content().split()) for step in section.xpath("./ol/li")]
    assert steps == [
        "Test <i>all</i> test Run all tests on {{branch}}.",
        "Publish publish after test waits for a person Done when The release is public",
    ]
    assert cells(section.xpath(".//table")[0]) == [["branch", "optional", "main", "What to release"]]
    assert shape_of(local, path)["steps"]["rows"][1]["needs"] == ["test"]


def test_what_declares_nothing_has_no_such_section(local: LocalRegistry, acme: Publisher) -> None:
    path = release(local, acme, Identity("directive", "acme/a/bare"), with_fields("a/bare", ""))
    assert page_of(local, path).xpath('//section[@aria-labelledby="shape"]') == []
    assert shape_of(local, path) is None


@pytest.mark.parametrize("text", ["\x00", "```xml\n<directive name='x'", "```xml\n<!DOCTYPE x><directive/>\n```\n"])
def test_what_cannot_be_read_has_no_such_section(local: LocalRegistry, acme: Publisher, text: str) -> None:
    path = release(local, acme, Identity("directive", f"acme/a/broken-{len(text)}"), text)
    assert shape_of(local, path) is None


def test_hidden_characters_in_a_description_are_shown_as_such(local: LocalRegistry, acme: Publisher) -> None:
    fields = FIELDS.replace("A note", "A &#x200B;note &#x202E;eton")
    path = release(local, acme, Identity("directive", "acme/a/hidden"), with_fields("a/hidden", fields))
    text = page_of(local, path).text_content()
    assert "\u200b" not in text
    assert "\u202e" not in text


def test_many_inputs_and_steps_are_cut_counted_and_quick(local: LocalRegistry, acme: Publisher) -> None:
    many = "".join(f'<input name="n{n}" type="string" required="true">{"&lt;" * 20}</input>\n' for n in range(700))
    path = release(
        local,
        acme,
        Identity("directive", "acme/a/many"),
        with_fields("a/many", FIELDS.replace("<inputs>", f"<inputs>{many}")),
    )
    steps = "".join(
        f'[[steps]]\nid = "s{n}"\ntitle = "{"&" * 90}"\nneeds = [{", ".join(repr(f"s{m}") for m in range(max(n - 20, 0), n))}]\n'
        for n in range(700)
    )
    begun = time.process_time()
    found = shape_of(local, path)["inputs"]
    assert (0 < len(found["rows"]) <= PAGES.rows, found["total"]) == (True, 703)
    formula = release(
        local, acme, Identity("formula", "acme/many"), FORMULA.partition("[[steps]]")[0] + steps, ".formula.toml"
    )
    found = shape_of(local, formula)["steps"]
    assert (0 < len(found["rows"]) <= PAGES.rows, found["total"]) == (True, 700)
    for each in (path, formula):
        assert "rye info" in page_of(local, each).xpath('//section[@aria-labelledby="shape"]')[0].text_content()
    assert time.process_time() - begun < 8
