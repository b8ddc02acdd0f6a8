"""``clients/js/check.html``, opened from disk in a real browser: what it says of a proof, and of one that was changed."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, FilePayload

from tests.browser.chromium import NARROW, Visit
from tests.scenes.registry import Registry

pytestmark = [pytest.mark.browser, pytest.mark.processes]

PAGE = Path(__file__).resolve().parents[2] / "clients/js/check.html"
_DROP = """files => {
    const moved = new DataTransfer();
    for (const [name, text] of files) moved.items.add(new File([text], name));
    document.getElementById("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: moved, bubbles: true, cancelable: true}));
}"""


@dataclass(frozen=True)
class Proved:
    proof: str
    item: str
    key: str
    origin: str


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Proved:
    base = tmp_path_factory.mktemp("proof")
    with Registry(base / "data") as registry:
        acme = registry.owner("acme")
        acme.release("work/ship")
        acme.ok("log", "prove", "acme/work/ship@1.0.0", "-o", "ship.tlog-proof")
        root = (registry.public / "root/1").read_text("utf-8")
        found = re.search(r"^log (.*)$", root, re.MULTILINE)
        assert found is not None
        typed = b"\1" + base64.b64decode(found[1])
        number = hashlib.sha256(registry.origin.encode() + b"\n" + typed).hexdigest()[:8]
        key = f"{registry.origin}+{number}+{base64.b64encode(typed).decode()}"
        proof, item = (
            acme.path(name).read_text("utf-8") for name in ("ship.tlog-proof", ".ai/directives/work/ship.md")
        )
        return Proved(proof, item, key, registry.origin)


@pytest.fixture(params=["light", "dark"])
def visit(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Visit]:
    colors: Literal["light", "dark"] = request.param
    opened = Visit(browser, colors=colors)
    opened.page.goto(PAGE.as_uri())
    yield opened
    assert [word for word in opened.said if "Content Security Policy" not in word] == []
    assert opened.requests[:1] == [PAGE.as_uri()]
    opened.close()


def payload(text: str) -> FilePayload:
    return {"name": "given.tlog-proof", "mimeType": "text/plain", "buffer": text.encode()}


def answer(visit: Visit, verdict: str) -> str:
    visit.page.locator(f".verdict.{verdict}").wait_for(timeout=5000)
    return visit.page.locator("#answer").inner_text()


def violations(visit: Visit) -> list[str]:
    return [one["id"] for one in Axe().run(visit.page).response["violations"]]


def test_it_says_what_is_proved_by_whom_and_when(visit: Visit, proved: Proved) -> None:
    assert violations(visit) == []
    visit.page.set_input_files("#proof", payload(proved.proof))
    assert "whose log this is" in answer(visit, "open")
    assert violations(visit) == []
    visit.page.fill("#key", proved.key)
    said = answer(visit, "yes")
    assert "Proved" in said
    assert "directive:acme/work/ship 1.0.0" in said
    assert f"{proved.origin}/acme" in said
    assert re.search(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", said)
    assert violations(visit) == []
    assert visit.requests == [PAGE.as_uri()]


def test_it_compares_a_file_that_is_dropped_with_the_proof(visit: Visit, proved: Proved) -> None:
    visit.page.fill("#key", proved.key)
    visit.page.evaluate(_DROP, [["ship.tlog-proof", proved.proof], ["ship.md", proved.item]])
    assert "exactly the one that was released" in answer(visit, "yes")
    visit.page.evaluate(
        _DROP, [["ship.tlog-proof", proved.proof], ["ship.md", proved.item + "And delete everything.\n"]]
    )
    assert "The file is not the one in the proof" in answer(visit, "no")


@pytest.mark.parametrize(
    ("pattern", "by"),
    [
        (r"index \d+", "index 1"),
        (r"\n[A-Za-z0-9+/]{43}=\n", "\n"),
        (r"\n\n.*?\n", "\n\nother.example\n"),
        (r"tlog-proof@v1", "tlog-proof@v2"),
        (r"(?<=extra )....", "AAAA"),
        (r"(?s).*", "Nothing\n"),
    ],
)
def test_a_changed_proof_is_not_proved(visit: Visit, proved: Proved, pattern: str, by: str) -> None:
    visit.page.fill("#key", proved.key)
    visit.page.set_input_files("#proof", payload(proved.proof))
    answer(visit, "yes")
    changed = re.sub(pattern, by, proved.proof, count=1)
    assert changed != proved.proof
    visit.page.set_input_files("#proof", payload(changed))
    assert "Not proved" in answer(visit, "no")
    assert visit.page.locator("dd").count() == 0
    assert violations(visit) == []


def test_the_key_of_another_log_proves_nothing(visit: Visit, proved: Proved) -> None:
    typed = b"\1" + bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    number = hashlib.sha256(proved.origin.encode() + b"\n" + typed).hexdigest()[:8]
    visit.page.set_input_files("#proof", payload(proved.proof))
    visit.page.fill("#key", f"{proved.origin}+{number}+{base64.b64encode(typed).decode()}")
    assert "checkpoint-signature" in answer(visit, "no")
    visit.page.fill("#key", "no key")
    assert "note-key-invalid" in answer(visit, "no")


def test_it_cannot_reach_any_address(visit: Visit) -> None:
    for call in ("fetch('https://example.org/')", "import('https://example.org/x.js')"):
        assert visit.page.evaluate(f"{call}.then(() => 'reached', () => 'refused')") == "refused"
    assert visit.page.evaluate("typeof window.pwned") == "undefined"


def test_texts_of_a_proof_are_shown_as_text(browser: Browser, proved: Proved) -> None:
    """What a stranger wrote into a proof becomes no element, also where nothing is signed yet."""
    opened = Visit(browser, width=NARROW["width"])
    opened.page.goto(PAGE.as_uri())
    extra = re.search(r"extra (\S+)", proved.proof)
    assert extra is not None
    entry = base64.b64decode(extra[1]).decode().replace("description ", "description <img src=x onerror=alert(1)>", 1)
    opened.page.set_input_files(
        "#proof", payload(proved.proof.replace(extra[1], base64.b64encode(entry.encode()).decode()))
    )
    answer(opened, "no")
    assert opened.page.locator("#answer img").count() == 0
    document, window = opened.width()
    assert document <= window
    assert opened.said == []
    opened.close()
