"""Chromium for the browser tests, and a visitor that records everything a page does.

The browser is the machine's own (``chromium``, ``chromium-browser`` or ``google-chrome`` on PATH): nothing is
downloaded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

Colors = Literal["light", "dark"]
NAMES = ("chromium", "chromium-browser", "google-chrome")
WHY = (
    "Chromium is not on PATH: install it (Debian, Ubuntu: apt-get install chromium), then run `make test-browser` again"
)
FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


def program() -> str | None:
    """Return the path of the browser, or None if it is not installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser with a fresh profile; stop it when the block ends."""
    found = program()
    assert found is not None, WHY
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=found, headless=True, args=flags)
        try:
            yield started
        finally:
            started.close()


class Visit:
    """One tab of a fresh browser. Its lists record what pages do."""

    def __init__(
        self,
        browser: Browser,
        *,
        colors: Colors = "light",
        width: int = WIDE["width"],
        scripts: bool = True,
        cookies: list[dict[str, Any]] | None = None,
    ) -> None:
        """``cookies``: as :meth:`playwright.sync_api.BrowserContext.cookies` returns them."""
        self.context: BrowserContext = browser.new_context(
            color_scheme=colors,
            viewport={"width": width, "height": WIDE["height"]},
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        if cookies:
            self.context.add_cookies(cookies)  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.requests: list[str] = []
        self.said: list[str] = []
        """Console messages, page errors, dialogs, downloads and new windows."""
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.said.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("download", lambda download: self.said.append(f"download: {download.url}"))
        self.page.on("popup", lambda popup: self.said.append(f"window: {popup.url}"))

    def _dialog(self, dialog: Any) -> None:
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, address: str, *, quiet: bool = False) -> int:
        """Open an address and return the status. ``quiet``: wait until the network has been idle for half a second."""
        answer = self.page.goto(address, wait_until="networkidle" if quiet else "load")
        assert answer is not None
        return answer.status

    def elsewhere(self, origin: str) -> list[str]:
        """Return requests to other origins."""
        own = urlsplit(origin)
        return [
            url for url in self.requests if (urlsplit(url).scheme, urlsplit(url).netloc) != (own.scheme, own.netloc)
        ]

    def width(self) -> tuple[int, int]:
        """Return the width of the document and of the window."""
        found: list[int] = self.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        return found[0], found[1]

    def close(self) -> None:
        self.context.close()


def install() -> int:
    """``python -m tests.browser.chromium``, for continuous integration: install the browser where root can; never
    fail."""
    if program() is not None:
        return 0
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("apt-get") is None:
        print(WHY)
        return 0
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"]):
        done = subprocess.run(
            words, capture_output=True, text=True, env=environment, timeout=600, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode:
            print(f"{' '.join(words)} failed; the browser tests will be skipped. {done.stderr.strip()[-300:]}")
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(install())
