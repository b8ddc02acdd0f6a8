"""``make screenshots``: pictures of the main pages, wide and narrow, light and dark, and those in README and docs.

    python -m tests.browser.screenshots [FOLDER] [--docs]

FOLDER (``build/screenshots``) gets ``PAGE-WIDTH-COLORS.png``. ``--docs`` also takes the pictures in ``docs/pictures``.
Keys and times in them are new each time, so take them only when something visible has changed.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
from playwright.sync_api import Browser
from rich.console import Console
from rich.text import Text

from tests.browser.chromium import NARROW, WHY, WIDE, Colors, Visit, browser, program
from tests.browser.people import cookies_of
from tests.browser.published import ROOT, Published, fill
from tests.scenes.registry import Registry

ITEM = "/-/directive/rye/workflows/deploy_and_test"
PICTURES = ROOT / "docs" / "pictures"
WIDTHS = (WIDE["width"], 768, NARROW["width"])
COLORS: tuple[Colors, ...] = ("light", "dark")
_COLUMNS = 124
_LOOK = re.compile(rf"http://\S+{re.escape(ITEM)}$")
"""The line in which the demo prints the address of its item's page."""
_FONT = re.compile(r"@font-face \{.*?\}", re.DOTALL)


def pages(registry: Registry, published: Published) -> dict[str, str]:
    """Return the paths of the main pages by file name."""
    item = httpx.get(registry.url + ITEM, headers={"Accept": "application/json"}).raise_for_status().json()
    latest, first = item["versions"]["rows"][0]["version"], item["versions"]["rows"][-1]["version"]
    return {
        "home": "/",
        "search": "/-/search?q=deploy",
        "item": ITEM,
        "item-skill": "/-/skill/acme/pdf-notes",
        "item-tool": "/-/tool/acme/text/count",
        "item-agent": "/-/agent/acme/tester",
        "item-role": "/-/role/acme/verifier",
        "item-formula": "/-/formula/acme/release",
        "item-bundle": "/-/bundle/acme/starter",
        "source": f"{ITEM}@{latest}/source",
        "diff": f"{ITEM}@{latest}/diff",
        "compare": f"{ITEM}/diff/{first}..{latest}",
        "namespace": "/-/namespaces/rye",
        "log": "/-/log",
        "entry": item["proof"]["entry"],
        "account": "/-/account",
        "account-tokens": "/-/account/tokens",
        "account-stages": "/-/account/stages",
        "account-stage": f"/-/account/stages/{published.stage}",
        "account-teams": "/-/account/teams",
        "account-roles": "/-/account/namespaces/acme",
    }


def take(registry: Registry, published: Published, started: Browser, folder: Path) -> list[str]:
    """Take all pictures and return the names of missing pages."""
    folder.mkdir(parents=True, exist_ok=True)
    cookies = cookies_of(registry, "maintainer", "--namespace", "acme", "--role", "owner")
    shown = pages(registry, published)
    missing = []
    for colors in COLORS:
        for width in WIDTHS:
            visit = Visit(started, colors=colors, width=width, cookies=cookies)
            for name, path in shown.items():
                if visit.open(registry.url + path) != 200:
                    missing.append(path)
                visit.page.screenshot(path=folder / f"{name}-{width}-{colors}.png", full_page=True)
            visit.close()
    print(f"{len(shown) * len(WIDTHS) * len(COLORS)} pictures are in {folder}")
    return sorted(set(missing))


def picture(address: str, started: Browser, target: Path, height: int) -> None:
    """Take a picture of the top of a page."""
    visit = Visit(started)
    visit.open(address)
    clip = {"x": 0, "y": 0, "width": WIDE["width"], "height": height}
    visit.page.screenshot(path=target, full_page=True, clip=clip)  # type: ignore[arg-type]
    visit.close()


def demo_picture(base: Path, started: Browser, target: Path) -> None:
    """Take a picture of an item's page in the registry that ``rye demo --look`` leaves running."""
    command = [sys.executable, "-m", "rye", "demo", "--look", "--folder", str(base / "demo")]
    environment = {**os.environ, "HOME": str(base)}
    demo = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
    try:
        assert demo.stdout is not None
        address = next((found[0] for line in demo.stdout if (found := _LOOK.search(line))), None)
        assert address is not None, "the demo ended without naming its pages"
        picture(address, started, target, 1400)
    finally:
        demo.send_signal(signal.SIGINT)
        demo.wait(60)


def terminal_picture(registry: Registry, target: Path) -> None:
    """Draw the question that installing an item asks."""
    team = registry.reader()
    team.write("rye.toml", '[project]\nname = "storefront"\n')
    shown = team.terminal("add", "rye/workflows/deploy_and_test", answer=b"y\n", env={"COLUMNS": str(_COLUMNS)})
    target.write_text(terminal_svg("rye add rye/workflows/deploy_and_test", shown), encoding="utf-8")


def terminal_svg(command: str, shown: str) -> str:
    """Draw a terminal as SVG with the viewer's own fonts, so that it loads nothing."""
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text(f"$ {command}", style="bold"))
    console.print(Text.from_ansi(shown.replace("\r\n", "\n").strip("\n")))
    picture = _FONT.sub("", console.export_svg(title="rye", unique_id="terminal"))
    picture = picture.replace("Fira Code,", "ui-monospace, Menlo, Consolas,")
    assert "url(http" not in picture
    return picture


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/screenshots"))
    parser.add_argument("--docs", action="store_true", help="Also take the pictures of README and docs.")
    options = parser.parse_args()
    if program() is None:
        print(WHY)
        return 1
    with tempfile.TemporaryDirectory(prefix="rye-pictures-") as made:
        base = Path(made)
        registry = Registry(base / "data", "registry.example.org")
        try:
            published = fill(registry)
            with browser() as started:
                missing = take(registry, published, started, options.folder)
                if options.docs:
                    PICTURES.mkdir(parents=True, exist_ok=True)
                    picture(registry.url + ITEM, started, PICTURES / "registry-item.png", WIDE["height"])
                    demo_picture(base, started, PICTURES / "demo-item.png")
                    terminal_picture(registry, PICTURES / "terminal-consent.svg")
        finally:
            registry.stop()
    if missing:
        print(f"not there: {', '.join(missing)}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
