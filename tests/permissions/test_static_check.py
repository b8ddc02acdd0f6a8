"""Calls in process steps compared with what is declared (DECISIONS Directives 7)."""

from __future__ import annotations

import time

import pytest

from rye.items.directive.calls import find_calls
from rye.items.rights import Call, Permission
from rye.permissions.matching import check
from rye.permissions.static_check import compare, required_pattern
from rye.text.diagnostics import Diagnostic


def findings(capabilities: list[str], process: str) -> list[Diagnostic]:
    declared = [Permission(capability, 1, number) for number, capability in enumerate(capabilities, 1)]
    return list(compare(declared, find_calls(process, first_line=100)))


def test_a_covered_call_and_a_used_capability_are_silent() -> None:
    process = '`rye_execute(item_type="tool", item_id="rye/file-system/write", parameters={...})`'
    assert findings(["rye.execute.tool.rye.file-system.*"], process) == []


def test_an_uncovered_call_is_a_warning_with_the_capability_to_add() -> None:
    (found,) = findings([], 'Go.\n  `rye_execute(item_type="tool", item_id="rye/bash/bash")`')
    assert (found.severity, found.code, found.line, found.column) == ("warning", "D701", 101, 4)
    assert "rye.execute.tool.rye.bash.bash" in found.message
    assert found.hint is not None
    assert "<execute><tool>rye.bash.bash</tool></execute>" in found.hint


def test_an_unused_capability_is_information_at_its_place() -> None:
    (found,) = findings(["rye.load.tool.a", "rye.sign.*"], '`rye_load(item_type="tool", item_id="a")`')
    assert (found.severity, found.code, found.line, found.column) == ("info", "D702", 1, 2)
    assert "rye.sign.*" in found.message


def test_denied_again_where_the_check_denies() -> None:
    """Every call whose id is known is checked as a run would check it."""
    capabilities = ["rye.execute.tool.a.*", "rye.search.directive.*", "rye.search.tool.a.*", "rye.load.*"]
    for primary, item_type, item_id in [
        ("execute", "tool", "a/x"),
        ("execute", "tool", "b/x"),
        ("execute", "directive", "a/x"),
        ("search", "directive", None),
        ("search", "tool", None),
        ("search", "tool", "a/x"),
        ("load", "knowledge", "q"),
        ("sign", "tool", "q"),
    ]:
        call = Call(primary, item_type, item_id, 1, 1)
        declared = [Permission(capability, 1, 1) for capability in capabilities]
        uncovered = any(found.code == "D701" for found in compare(declared, [call]))
        assert uncovered is not check([capabilities], primary, item_type, item_id).allowed


@pytest.mark.parametrize(
    "item_id",
    ["{input:category}/{input:name}", "acme/{input:name}", "{input:x:acme/y}", "<category>/<name>", "...", "${a}"],
)
def test_an_unknown_part_may_become_anything(item_id: str) -> None:
    process = f'`rye_sign(item_type="tool", item_id="{item_id}")`'
    assert findings(["rye.sign.tool.acme.*"], process) == []
    assert [found.code for found in findings(["rye.load.*"], process)] == ["D702", "D701"]


def test_known_parts_beside_a_placeholder_still_count() -> None:
    process = '`rye_load(item_type="tool", item_id="other/{input:name}")`'
    assert [found.code for found in findings(["rye.load.tool.acme.*"], process)] == ["D702", "D701"]


def test_missing_arguments_are_unknown() -> None:
    assert findings(["rye.search.tool.a.*"], "`rye_search(query=...)`") == []
    assert findings(["rye.execute.knowledge.a"], '`rye_execute(item_type="knowledge")`') == []
    assert [found.code for found in findings([], "`rye_search(query=...)`")] == ["D701"]


def test_a_search_without_an_id_needs_the_whole_type() -> None:
    process = '`rye_search(item_type="directive", query="{input:name}")`'
    assert findings(["rye.search.directive.*"], process) == []
    assert "D701" in [found.code for found in findings(["rye.search.directive.acme.*"], process)]


def test_wildcards_in_a_call_are_no_wildcards() -> None:
    call = Call("load", "tool", "a/*/[b]?", 1, 1)
    assert required_pattern(call) == "rye.load.tool.a.[*].[[]b][?]"
    assert [found.code for found in compare([Permission("rye.load.tool.a.x.b1", 1, 1)], [call])] == ["D701", "D702"]


def test_an_unknown_item_type_names_the_known_ones() -> None:
    (found,) = findings([], '`rye_load(item_type="agent", item_id="a")`')
    assert found.hint == "Item types are directive, tool, knowledge."


def test_findings_stand_in_the_order_of_the_file() -> None:
    process = '`rye_load(item_type="tool", item_id="b")`\n`rye_load(item_type="tool", item_id="a")`'
    found = findings(["rye.sign.tool.z"], process)
    assert [(one.code, one.line) for one in found] == [("D702", 1), ("D701", 100), ("D701", 101)]


@pytest.mark.thorough
def test_thousands_of_calls_and_capabilities_end_soon() -> None:
    started = time.thread_time()
    calls = [Call("load", "tool", f"a{n}", 1, 1) for n in range(3000)]
    assert not compare([Permission(f"rye.load.tool.a{n}", 1, 1) for n in range(3000)], calls)
    found = compare([Permission(f"rye.*{n}x", 1, 1) for n in range(3000)], calls)
    assert [one.code for one in found][-1] == "D703"
    assert time.thread_time() - started < 15
