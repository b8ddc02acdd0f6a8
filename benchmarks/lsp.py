"""How long an editor waits for `rye lsp` after a keystroke in a directive of 250 kB, the maximum size of an item.

Uses the real program over pipes. Each keystroke is a change followed by a completion request, as editors send them. The time is
from writing the change to reading the answer, while the previous text is being checked. The bound of the design: 50 ms::

    python -m benchmarks.lsp [keys]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from rye.items.directive.template import template
from rye.limits import EDITOR
from tests.lsp.client import Client, where

BOUND_MS = 50.0
_STEP = """
  <step name="s{number}">
    <description>Step {number} looks at {{input:subject}} and says what it found, in words that a person wrote.</description>
    <execute item_type="tool" item_id="acme/shell/docker{few}"/>
  </step>"""


def directive(size: int = 250_000) -> str:
    """A valid directive of about ``size`` characters."""
    base = template("ship", "work", "me")
    steps: list[str] = []
    length = len(base)
    while length < size:
        steps.append(_STEP.format(number=len(steps), few=len(steps) % 7))
        length += len(steps[-1])
    return base.replace("</process>", "".join(steps) + "\n</process>")


def measure(keys: int) -> dict[str, list[float]]:
    """Milliseconds by kind of position."""
    text = directive()
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rye.toml").write_text('[project]\nnamespace = "me"\n')
        path = folder / ".ai/directives/work/ship.md"
        client = Client(folder)
        try:
            client.open(path, text)
            places = {
                "in the fence, an element": ("<metadata>\n", "<desc"),
                "in the fence, an id": ("<permissions>", "<tool>me/"),
                "in the last step": ("Step 1000 looks", "{input:sub"),
                "behind the process": ("## Success criteria", "<succ"),
            }
            for title, (needle, typed) in places.items():
                line, column = where(text, needle if needle in text else "</process>")
                for number in range(keys):
                    letter = typed[number % len(typed)]
                    time.sleep(EDITOR.quiet_seconds + 0.005)  # so that the previous text is being checked
                    started = time.perf_counter()
                    client.change(path, letter, (line, column + number))
                    client.complete(path, line, column + number + 1)
                    found.setdefault(title, []).append((time.perf_counter() - started) * 1000)
                client.change(path, text)
                client.findings(path)
        finally:
            client.kill()
    return found


def main() -> None:
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    found = measure(keys)
    print(f"{keys} keys at each place of a directive of 250 kB; bound {BOUND_MS:.0f} ms")
    for title, times in found.items():
        median, most = statistics.median(times), sorted(times)[int(len(times) * 0.95)]
        print(f"  {title:28} median {median:5.1f} ms, p95 {most:5.1f} ms, {most / BOUND_MS:4.2f} of the bound")


if __name__ == "__main__":
    main()
