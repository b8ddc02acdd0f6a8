"""Files made to mislead or exhaust the reader: each soon gives a clear error and grants nothing (DECISIONS Directives 2)."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rye.items.directive.model import Directive
from rye.items.directive.reader import as_json
from rye.limits import CONTENT
from tests.items.test_directive_sample import FENCE, changed, findings, only, reading, text
from tests.scenes.effort import rest_thorough
from tests.scenes.parsed import parsed

pytestmark = pytest.mark.processes

ROOT = '<directive name="a" version="1.0.0">'
FULL = CONTENT.item_bytes


def inside(xml: str) -> str:
    """The sample with a text inserted right after the root's start tag."""
    return text(FENCE.replace('version="1.2.3">', f'version="1.2.3">{xml}', 1))


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE directive>",
        "<!doctype directive>",
        "<!DocType directive>",
        "<! DOCTYPE directive>",
        '<!DOCTYPE d SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE d PUBLIC "-//X" "http://example.invalid/x.dtd">',
        "<!DOCTYPE d [<!ENTITY a 'aaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]>",
        '<!DOCTYPE d [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>',
        "<!-- a --><!DOCTYPE d>",
        '<?xml version="1.0"?><!DOCTYPE d>',
        "\n\n  <!DOCTYPE d>",
    ],
)
def test_a_doctype_in_any_form_is_refused_before_parsing(doctype: str) -> None:
    content = text(f"{doctype}\n{FENCE}")
    assert reading(content).value is None
    assert next(found.code for found in reading(content).diagnostics) in ("D004", "D002")
    assert findings(inside(doctype)) == [("error", "D004")]


@pytest.mark.parametrize("wrapped", ["<!-- {} -->", "<template><![CDATA[{}]]></template>"])
def test_a_doctype_in_a_comment_or_cdata_is_refused_too(wrapped: str) -> None:
    assert findings(inside(wrapped.format("<!DOCTYPE html>"))) == [("error", "D004")]


@pytest.mark.parametrize("entity", ["&foo;", "&nbsp;", "&xxe;", "&lt", "& ", "&#xD800;", "&#0;", "&#x1;", "&#x110000;"])
def test_only_the_five_entities(entity: str) -> None:
    content = changed("Deploy the app<", f"{entity}<")
    assert findings(content) == [("error", "D003")]
    assert only(content, "D003").line == 8
    assert reading(content).value is None


def test_the_five_entities_and_character_references_are_read() -> None:
    directive = parsed(reading(changed("Deploy the app<", "&lt;&gt;&amp;&quot;&apos;&#233;&#xe9;<")))
    assert directive.description == "<>&\"'éé"


@pytest.mark.parametrize(
    "reference", ["&#x202e;", "&#x200b;", "&#xFEFF;", "&#8238;", "&#x7f;", "&#xAD;", "&#x2066;", "&#13;"]
)
def test_a_character_reference_brings_nothing_hidden_in(reference: str) -> None:
    for old, new in [("Deploy the app<", f"Deploy{reference}<"), ('tier="general"', f'tier="gen{reference}eral"')]:
        found = only(changed(old, new), "D007")
        assert found.severity == "error"
        assert "U+" in found.message


@pytest.mark.parametrize(
    "instruction",
    [
        "<?php x?>",
        '<?xml-stylesheet href="x"?>',
        '<?xml version="1.0"?>',
        "<?a",
        '<?xml version="1.0" encoding="utf-16"?>',
    ],
)
def test_processing_instructions_are_refused(instruction: str) -> None:
    assert findings(inside(instruction)) == [("error", "D005")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-7", "iso-8859-1", "ucs-4", "cp037", "UTF-8-SIG"])
def test_an_encoding_other_than_utf8_is_refused(encoding: str) -> None:
    assert findings(text(f'<?xml version="1.0" encoding="{encoding}"?>\n{FENCE}')) == [("error", "D005")]


def test_a_plain_xml_declaration_is_harmless() -> None:
    assert findings(text(f'<?xml version="1.0" encoding="UTF-8"?>\n{FENCE}')) == []


@pytest.mark.parametrize(
    ("xml", "line"),
    [
        ("\n<a>\n<b></a>", 8),
        ("\n</a>", 7),
        ("\n<a>", 54),
        ("\n<a x=1/>", 7),
        ("\n<a x='1' x='2'/>", 7),
        ("\n<a x='<'/>", 7),
        ("\n< a/>", 7),
        ("\n<!-- a", 7),
        ("\n<!-- a -- b -->", 7),
        ("\n<![CDATA[", 7),
        ("\n<raw><b></raw>", 7),
        ("\n<template>a < b</template>", 7),
        ("\n<raw>a & b</raw>", 7),
        ("\n]]>", 7),
    ],
)
def test_malformed_xml_is_reported_at_the_file_s_line(xml: str, line: int) -> None:
    content = inside(xml)
    result = reading(content)
    assert [found.code for found in result.diagnostics] == ["D003"]
    assert result.diagnostics[0].line == line
    assert result.value is None
    assert result.metadata is None


def test_what_is_never_closed_is_named_with_its_line() -> None:
    assert "line 7" in only(inside("\n<a>"), "D003").message
    found = only(text(FENCE.removesuffix("</directive>")), "D003")
    assert (found.line, found.message) == (6, "`<directive>` is never closed.")


def test_doubled_attributes_are_malformed_whichever_comes_first() -> None:
    assert findings(changed('name="deploy_app"', 'name="deploy_app" name="decoy"')) == [("error", "D003")]


def test_two_roots_are_malformed() -> None:
    assert findings(text(f"{FENCE}\n{FENCE}")) == [("error", "D003")]


@pytest.mark.parametrize("old", ["<metadata>", "<inputs>\n"])
@pytest.mark.parametrize("attribute", [' xmlns="urn:x"', ' xmlns:p="urn:x"'])
def test_namespaces_are_errors(old: str, attribute: str) -> None:
    assert ("error", "D015") in findings(text(FENCE.replace(old, old.replace(">", attribute + ">"), 1)))


def test_a_prefixed_element_is_not_the_element() -> None:
    content = text(
        FENCE.replace("<permissions>", '<p:permissions xmlns:p="u:x">').replace("</permissions>", "</p:permissions>")
    )
    assert ("error", "D015") in findings(content)
    assert ("error", "R02") in findings(content)
    assert parsed(reading(content)).permissions == ()


@pytest.mark.parametrize("old", ["<metadata>", "<permissions>", "<execute>", "<tool>", "<hooks>", "<when>"])
@pytest.mark.parametrize("attribute", [' xmlns="urn:x"', ' xmlns:p="urn:x" p:a=""'])
def test_what_only_a_reader_without_namespaces_sees_grants_and_fires_nothing(old: str, attribute: str) -> None:
    assert old in FENCE
    directive = parsed(reading(text(FENCE.replace(old, old.replace(">", attribute + ">"), 1))))
    assert (directive.permissions, directive.hooks) == ((), ())


@pytest.mark.parametrize("length", [CONTENT.xml_namespace, CONTENT.xml_namespace + 1])
@pytest.mark.parametrize("name", ["xmlns", "xmlns:p"])
def test_a_long_namespace_is_refused_even_in_an_opaque_section(name: str, length: int) -> None:
    found = reading(inside(f'<raw>é<a {name}="{"u" * length}"/></raw>'))
    assert (found.value is None) == (length > CONTENT.xml_namespace)
    assert ("D015" in [one.code for one in found.diagnostics]) == (length > CONTENT.xml_namespace)


def test_an_attribute_that_only_begins_like_a_namespace_may_be_long() -> None:
    assert reading(inside(f'<raw xmlns-text="{"u" * 1_000}"/>')).value is not None


def test_depth_is_capped() -> None:
    deep = "<a>" * 10_000 + "</a>" * 10_000
    assert findings(inside(deep)) == [("error", "D006")]
    assert ("error", "D006") not in findings(inside("<a>" * 60 + "</a>" * 60))


@pytest.mark.parametrize("character", ["\0", "\r", "\x01", "\x1b", "\ufffe", "\ud800"])
def test_characters_that_xml_cannot_hold(character: str) -> None:
    assert findings(changed("Deploy the app<", f"Deploy{character}<")) == [("error", "D003")]


def test_comments_split_no_value() -> None:
    directive = parsed(reading(changed("rye.shell.*", "rye.<!-- x -->shell.*")))
    assert directive.capabilities[0] == "rye.execute.tool.rye.shell.*"


HOSTILE: dict[str, Callable[[], str]] = {
    "ten megabytes": lambda: text() + "x" * 10_000_000,
    "nested elements": lambda: inside("<a>" * 10_000 + "</a>" * 10_000),
    "many elements": lambda: inside("<a/>" * 60_000),
    "many unknown fields": lambda: text(FENCE.replace("<metadata>", "<metadata>" + "<a/>" * 60_000)),
    "many fields": lambda: text(FENCE.replace("<metadata>", "<metadata>" + "<limit/>" * 4_900)),
    "many attributes": lambda: inside("<a " + " ".join(f'a{n}=""' for n in range(25_000)) + "/>"),
    "many tools": lambda: text(FENCE.replace("<search>", "<load>" + "<tool>a</tool>" * 4_900 + "</load><search>")),
    "many outputs": lambda: text(f"{ROOT}<outputs>{''.join(f'<a{n}/>' for n in range(4_900))}</outputs></directive>"),
    "open angle brackets": lambda: inside("<" * 200_000),
    "open comments": lambda: inside("<!--" * 50_000),
    "quotes": lambda: inside("<a " + '"' * 200_000),
    "ampersands": lambda: inside("&amp;" * 40_000),
    "backticks": lambda: text(after="` " * 120_000),
    "growing backticks": lambda: text(after=" ".join("`" * n for n in range(1, 680))),
    "code fences": lambda: text(after="```a\n" * 50_000),
    "longer and shorter fences": lambda: text(after="````x\n```\n" * 25_000),
    "open steps": lambda: text(after="<process>" + "<step>" * 40_000),
    "half steps": lambda: text(after="<process>" + "<step name='" * 20_000),
    "processes": lambda: text(after="<process>" * 25_000),
    "actions": lambda: text(after="<process><step name='a'>" + '<execute item_id="x">' * 10_000),
    "placeholders": lambda: text(after="<process>" + "{input:zz}" * 20_000 + "</process>"),
    "open placeholders": lambda: text(after="<process>" + "{input:zz:" * 20_000 + "</process>"),
    "comments below": lambda: text(after="<!--" * 50_000),
    "decoy fences": lambda: text(after="```xml\n<!--\n```\n" * 14_000),
    "declarations": lambda: text(after="```xml\n" + "<!x>" * 50_000 + "\n```\n"),
    "title": lambda: text(before="# a" + " #" * 60_000 + " b\n\n"),
    "blank title": lambda: text(before="# a" + " " * 120_000 + "b\n\n"),
    "open comments in CDATA": lambda: changed("Deploy the app<", f"<![CDATA[{'<!--' * 60_000}]]><"),
    "long namespace, many elements": lambda: text(
        f'<directive xmlns="{"u" * 150_000}">{"".join(f"<b{n}/>" for n in range(4_900))}</directive>'
    ),
    "long namespace, many attributes": lambda: text(
        f'<directive xmlns:x="{"u" * 120_000}" ' + " ".join(f'x:a{n}=""' for n in range(9_000)) + "/>"
    ),
    "parentheses": lambda: changed("cost.current &gt; cost.limit * 0.9", "(" * 100_000),
}


@pytest.mark.parametrize("case", rest_thorough(8, HOSTILE))
def test_hostile_files_are_answered_within_a_second(case: str) -> None:
    content = HOSTILE[case]()
    leave_out_older_objects()
    started = time.thread_time()  # counts work, not time: a busy machine must not fail it
    result = reading(content)
    if isinstance(result.value, Directive):
        as_json(result.value)
    spent = time.thread_time() - started
    assert spent < 1
    assert len(result.diagnostics) <= 201


def leave_out_older_objects() -> None:
    """The collector looks at nothing that other tests left behind, only at what is made from now on. They stay left out: every
    later collection in this process would look at all of them again."""
    gc.collect()
    gc.freeze()


@pytest.mark.thorough
def test_hostile_files_stay_below_200_megabytes() -> None:
    peak = Path("/proc/self/status")
    if not peak.exists():
        pytest.skip("the peak of this process's own memory is only known where /proc is")
    program = (
        "from pathlib import Path\n"
        "from tests.items.test_directive_hostile import HOSTILE\n"
        "from tests.items.test_directive_sample import reading\n"
        "for make in HOSTILE.values(): reading(make())\n"
        "status = Path('/proc/self/status').read_text()\n"
        "print(next(line for line in status.splitlines() if line.startswith('VmHWM')).split()[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) * 1024 < 200 * 1024 * 1024


def test_findings_beyond_the_limit_are_counted_in_one() -> None:
    content = inside("<unknown/>" * (CONTENT.listed_findings + 50))
    found = reading(content).diagnostics
    assert len(found) == CONTENT.listed_findings + 1
    assert [each.code for each in found].count("D099") == 1
    assert "50 more" in next(each.message for each in found if each.code == "D099")
