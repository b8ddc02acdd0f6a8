"""Every page of a registry of hostile items, in a real browser (design/server.md 5).

Untrusted content never runs or loads anything, and everyone can read the pages: without JavaScript, with a
keyboard, on a narrow screen, in light and dark, with a screen reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser

from tests.browser.chromium import NARROW, Colors, Visit
from tests.browser.hostile import BREAK_OUT, Hostile, publish_hostile
from tests.browser.people import cookies_of
from tests.scenes.registry import Registry

pytestmark = [pytest.mark.browser, pytest.mark.processes]

PAGE_BYTES = 120_000
ZOOMED = 640
"""What 1280 pixels show at 200 %."""
TABS = 120
"""Presses of the tab key on one page."""


@dataclass(frozen=True)
class HostileSite:
    registry: Registry
    hostile: Hostile
    cookies: list[dict[str, Any]]
    """Cookies of an owner of the hostile namespace."""
    own: tuple[str, ...]
    """Pages of that owner's account."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[HostileSite]:
    base = tmp_path_factory.mktemp("hostile")
    registry = Registry(base / "data")
    hostile = publish_hostile(registry)
    author = hostile.author
    path = author.path(".ai/directives/hostile/ship.md")
    path.write_text(path.read_text().replace('version="1.1.0"', 'version="1.2.0"'))
    author.ok("sign", str(path))
    author.ok("publish", "--stage", str(path), "--yes")
    cookies = cookies_of(registry, BREAK_OUT[:100], "--namespace", "evil", "--role", "owner")
    cookies_of(registry, f"{BREAK_OUT[:98]} 2", "--namespace", "evil", "--role", "publisher")  # whose role can be taken
    secret = f"{cookies[0]['name']}={cookies[0]['value']}"
    begun = httpx.post(f"{registry.url}/api/v1/device/authorize", data={"name": BREAK_OUT}).json()
    listed = httpx.get(f"{registry.url}/-/account/stages", headers={"Cookie": secret}).text
    stage = listed.partition("/-/account/stages/")[2].partition('"')[0]
    overview = httpx.get(f"{registry.url}/-/account", headers={"Cookie": secret}).text
    proof = overview.partition('name="proof" value="')[2].partition('"')[0]
    form = {"proof": proof, "name": "W" * 60 + BREAK_OUT[:40], "scope": "read"}
    httpx.post(f"{registry.url}/-/account/tokens", headers={"Cookie": secret}, data=form)
    asking = [
        found
        for path in ("/-/account/tokens", "/-/account/namespaces/evil", f"/-/account/stages/{stage}")
        for found in re.findall(
            r'href="(/-/account/[^"]*/(?:revoke|take|reject)[^"]*)"',
            httpx.get(f"{registry.url}{path}", headers={"Cookie": secret}).text,
        )
    ]
    assert len(asking) == 3
    own = (
        *("/-/account", "/-/account/tokens", "/-/account/stages", f"/-/account/stages/{stage}", "/-/account/teams"),
        *("/-/account/namespaces/evil", f"/-/account/device?code={begun['user_code']}", "/-/account/device"),
        *asking,
        "/-/account/nothing",
    )
    yield HostileSite(registry, hostile, cookies, own)
    registry.stop()


def visits(site: HostileSite, browser: Browser, **options: Any) -> Iterator[tuple[str, Visit]]:
    """Open each page: first the public ones, then the owner's."""
    for cookies, paths in ((None, ("/-/account", *site.hostile.paths)), (site.cookies, site.own)):
        visit = Visit(browser, cookies=cookies, **options)
        for path in paths:
            status = visit.open(site.registry.url + path)
            assert status == (404 if "nothing" in path else 200), path
            yield path, visit
        visit.close()


def test_nothing_runs_and_nothing_is_loaded_from_elsewhere(site: HostileSite, browser: Browser) -> None:
    for path, visit in visits(site, browser):
        for summary in visit.page.locator("summary").all()[:5]:
            summary.click()
        for part in visit.page.locator("main *").all()[:12]:
            part.hover(force=True, timeout=1000, trial=False) if part.is_visible() else None
        assert visit.page.evaluate("typeof window.pwned") == "undefined", path
        problems = [word for word in visit.said if "404 (Not Found)" not in word or "nothing" not in path]
        assert problems == [], path
        assert visit.elsewhere(site.registry.url) == [], path
        assert visit.page.url.partition("?")[0] == (site.registry.url + path).partition("?")[0]
        assert (
            visit.page.evaluate(
                "document.querySelectorAll('script:not([type]),iframe,object,embed,main img,main svg').length"
            )
            == 0
        )
        visit.said.clear()


def test_pages_are_small_and_say_the_same_without_scripts(site: HostileSite, browser: Browser) -> None:
    for path, visit in visits(site, browser, scripts=False):
        main = visit.page.locator("main")
        assert visit.page.locator("h1").count() == 1, path
        assert len(main.inner_text()) > 20, path
        assert len(visit.page.content().encode()) < PAGE_BYTES, path


@pytest.mark.parametrize(
    ("colors", "width"),
    [("light", 1280), ("dark", 1280), ("light", ZOOMED), ("dark", ZOOMED), ("light", 390), ("dark", NARROW["width"])],
)
def test_axe_finds_nothing(site: HostileSite, browser: Browser, colors: Colors, width: int) -> None:
    found = []
    for path, visit in visits(site, browser, colors=colors, width=width):
        for violation in Axe().run(visit.page).response["violations"]:
            node = violation["nodes"][0]
            found.append((path, violation["id"], node["html"][:150], node["failureSummary"][:300]))
    assert found == []


_SIDEWAYS = """() => [...document.querySelectorAll("main *")].filter(element =>
    element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display != "inline"
    && !element.closest(".unseen") && !["SELECT", "INPUT"].includes(element.tagName))
    .map(element => `${element.tagName}.${element.className} ${element.scrollWidth} > ${element.clientWidth}`).slice(0, 5)"""


_WIDE = """() => {
    const box = document.createElement("div"), wide = document.createElement("div");
    box.style.overflow = "auto"; wide.style.width = "3000px"; wide.style.height = "9px"; box.append(wide);
    document.querySelector("main").append(box);
}"""


@pytest.mark.parametrize("width", [1280, ZOOMED, 390, NARROW["width"]])
def test_nothing_of_a_text_scrolls_sideways_or_is_cut(site: HostileSite, browser: Browser, width: int) -> None:
    """A table, a long word or a deep list can push nothing out of sight."""
    visit = Visit(browser, width=width)
    for path in site.hostile.paths:
        visit.open(site.registry.url + path)
        assert visit.page.evaluate(_SIDEWAYS) == [], path
    visit.open(site.registry.url + site.hostile.paths[0])
    visit.page.evaluate(_WIDE)
    assert visit.page.evaluate(_SIDEWAYS) != [], "the control: something that does"
    visit.close()


def test_a_narrow_screen_scrolls_only_downwards(site: HostileSite, browser: Browser) -> None:
    wide = []
    for path, visit in visits(site, browser, width=NARROW["width"]):
        document, window = visit.width()
        if document > window:
            wide.append((path, document, visit.page.evaluate(_WIDEST)))
    assert wide == []


def test_paper_is_light_and_shows_all_of_every_box(site: HostileSite, browser: Browser) -> None:
    visit = Visit(browser, colors="dark")
    visit.page.emulate_media(media="print", color_scheme="dark")
    for path in site.hostile.paths:
        visit.open(site.registry.url + path)
        assert visit.page.evaluate(_LIGHT), path
        assert visit.page.evaluate(_HIDING) == [], path
    visit.close()


def test_everything_is_reached_with_the_tab_key_and_can_be_seen_to_be(site: HostileSite, browser: Browser) -> None:
    for path, visit in visits(site, browser):
        wanted = set(visit.page.evaluate(_REACHABLE))
        assert wanted, path
        seen: list[str] = []
        for _ in range(TABS):
            visit.page.keyboard.press("Tab")
            focused = visit.page.evaluate(_FOCUSED)
            if focused is None or focused["name"] in seen[:1]:
                break
            assert focused["visible"], (path, focused)
            seen.append(focused["name"])
        assert seen[0].startswith("a:Skip"), path
        if len(seen) < TABS:
            assert wanted <= set(seen), (path, wanted - set(seen))


_NAME = "(e) => `${e.localName}:${(e.innerText || e.name || e.href || '').slice(0, 40)}:${e.href || e.name || ''}`"
_REACHABLE = f"""() => [...document.querySelectorAll('a[href],input:not([type=hidden]),select,summary,button')]
    .filter(e => e.checkVisibility() && e.getClientRects().length).map({_NAME})"""
_FOCUSED = f"""() => {{
    const e = document.activeElement;
    if (!e || e === document.body) return null;
    const style = getComputedStyle(e), box = e.getBoundingClientRect();
    const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
    return {{name: ({_NAME})(e), visible: (ring || style.boxShadow !== 'none') && box.width > 0 && box.height > 0}};
}}"""
_LIGHT = """() => getComputedStyle(document.documentElement).getPropertyValue('--paper').trim() === '#fbfaf6'"""
_HIDING = """() => [...document.querySelectorAll('main *')].filter(e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowY)
    && e.scrollHeight > e.clientHeight + 1).map(e => e.outerHTML.slice(0, 120))"""
_WIDEST = """() => [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)
    .slice(0, 4).map(e => e.outerHTML.slice(0, 120))"""
