"""A directive's text on its page (registry_server/pages/directive_text.py): steps and criteria are lists, nothing is lost."""

from __future__ import annotations

import time

import pytest
from lxml import html

from registry_server.pages.directive_text import Fence, Prose, Steps, parts
from registry_server.pages.limits import PAGES
from registry_server.pages.markdown import Text, render

FENCE = '# Deploy\n\n```xml\n<directive name="deploy" version="1.0.0">\n</directive>\n```\n\n'
PROCESS = (
    '<process>\n  <step name="build">\n    Build `it`.\n\n    Twice.\n  </step>\n'
    '  <step name="ship">Ship</step>\n</process>\n'
)
CRITERIA = (
    "<success_criteria>\n  <criterion>It runs</criterion>\n"
    "  <criterion>It is <b>new</b></criterion>\n</success_criteria>\n"
)


def shown(text: str) -> tuple[Text, html.HtmlElement]:
    found = render(text, divide=parts)
    return found, html.fromstring(f"<div>{found.html}</div>")


def test_steps_are_an_ordered_list_with_names_and_criteria_a_list() -> None:
    found, page = shown(f"{FENCE}## Process\n\n{PROCESS}\n{CRITERIA}")
    assert [step.text_content() for step in page.xpath("//ol[@class='steps']/li/p[@class='step']")] == ["build", "ship"]
    assert [p.text_content() for p in page.xpath("//ol[@class='steps']/li[1]/p")] == ["build", "Build it.", "Twice."]
    assert [li.text_content() for li in page.xpath("//ul[@class='criteria']/li")] == ["It runs", "It is <b>new</b>"]
    assert "step name" not in page.text_content()
    assert found.lost == ()


def test_a_plain_fence_is_folded() -> None:
    _, page = shown(FENCE + PROCESS)
    (details,) = page.xpath("//details")
    assert "open" not in details.attrib
    assert "<directive" in details.text_content()


@pytest.mark.parametrize("secret", ["<!-- obey me -->", "<![CDATA[obey me]]>", "<?obey me?>", "obey\u200bme"])
def test_a_fence_with_words_that_only_an_agent_would_read_is_open(secret: str) -> None:
    _, page = shown(FENCE.replace("\n</dir", f"\n{secret}\n</dir") + PROCESS)
    (details,) = page.xpath("//details")
    assert "open" in details.attrib


def test_a_fence_that_ends_early_folds_nothing_behind_it() -> None:
    _, page = shown(FENCE.replace("</directive>\n", "</directive>\n   ```\n\nobey me\n\n") + PROCESS)
    assert "obey me" not in "".join(each.text_content() for each in page.xpath("//details"))
    assert "obey me" in page.text_content()


@pytest.mark.parametrize(
    "process",
    [
        PROCESS.replace('  <step name="ship">', '  obey me <step name="ship">'),
        PROCESS.replace("</process>", "obey me\n</process>"),
        PROCESS.replace('name="build"', 'name="build" obey="me"'),
        PROCESS.replace('<step name="build">', "<step>"),
        PROCESS.replace("  </step>\n", ""),
        PROCESS.replace('<step name="ship">', '<step name="obey"/><step name="ship">'),
        PROCESS.replace("<process>", '<process obey="me">'),
        PROCESS.replace("</step>\n</process>", '</step obey="me">\n</process>'),
        PROCESS.replace("</process>", '</process obey="me">'),
    ],
)
def test_a_process_that_is_not_written_plainly_keeps_its_tags_as_text(process: str) -> None:
    found, page = shown(FENCE + process)
    assert not page.xpath("//ol[@class='steps']")
    assert "<step" in page.text_content()
    assert found.lost == ()


def test_steps_in_code_are_code() -> None:
    assert not any(isinstance(part, Steps) for part in parts(f"{FENCE}````\n{PROCESS}````\n"))


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a&quot;b", "x\u202ey", "<img src=x>"])
def test_hostile_names_and_steps_stay_text(name: str) -> None:
    written = PROCESS.replace("Ship<", f"{name}<").replace('"ship"', f'"{name}"')
    _, page = shown(FENCE + written)
    assert {each.tag for each in page.iter()} <= {
        *("div", "h3", "h4", "p", "details", "summary", "pre", "code", "ol", "li", "span", "a", "i"),
    }
    assert "\u202e" not in page.text_content()


def test_a_text_without_a_fence_of_its_own_is_prose() -> None:
    for text in (PROCESS, "~~~\n" + FENCE, "<!--\n" + FENCE, "see ```xml\n" + FENCE, FENCE.replace("</directive>", "")):
        assert not any(isinstance(part, Fence) for part in parts(text)), text
    assert parts(PROCESS) == (Prose(PROCESS),)


def test_a_process_that_is_too_long_for_a_page_is_shown_as_source() -> None:
    long = "<process>\n" + "".join(f'<step name="s{n}">Words of {n}</step>\n' for n in range(2000)) + "</process>\n"
    found = render(FENCE + long, divide=parts)
    assert found.lost == ()
    assert "s0" in found.html
    assert "Words of 1999" in found.html
    assert all(len(chunk) <= PAGES.block_characters + 200 for chunk in found.chunks)


@pytest.mark.slow
def test_many_openings_take_no_long_time() -> None:
    started = time.process_time()
    for text in (
        FENCE + "<process>\n" * 2400,
        "```xml\n<directive " * 1300,
        FENCE + '<process>\n<step name="a">' * 900,
    ):
        render(text, divide=parts)
    assert time.process_time() - started < 4
