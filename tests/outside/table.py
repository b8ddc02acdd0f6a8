"""The table of what other people's programs say of Rye: ``python -m tests.outside.table docs/reference/outside.md``.

It reads what the last ``make test-outside`` recorded, and says of every judge that was not run that it was not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.outside.judges import ELSEWHERE, HERE, recorded

START = """# Judged by programs of others

What we say about ourselves counts less than what programs say that others wrote. `make test-outside` installs these, pinned
with hashes, and runs them; `make outside-page` makes this page from what they said. One that cannot be had on a machine is
skipped, with the reason. Renovate takes 360 MB and is installed only with `RENOVATE=1`. The first run spends several minutes
on installing; after that, all have five minutes together, and what is not done by then fails (`OUTSIDE_SECONDS=N` gives more).
Where it is possible, a test also shows its judge something broken, which must be refused.

"""
REST = """
## Tables of others, played by `make test`

| table | cases | of what | test |
|---|---|---|---|
| CCTV Ed25519 | 914 | which keys and signatures are accepted | `tests/signing/test_ed25519_tables.py` |
| Wycheproof Ed25519 | 151 | the same | `tests/signing/test_ed25519_tables.py` |

OpenSSH's `ssh-agent`, `ssh-keygen` and its authenticator in software (`tests/signing/test_agent_keys.py`,
`tests/packaging/test_release.py`), Neovim (`tests/docs/test_editors.py`) and bash, zsh and fish (`tests/cli/test_completing.py`)
are run where a machine has them.
"""


def page(date: str, recorded: Callable[[str], dict[str, Any]] = recorded) -> str:
    """The page. ``recorded``: what the judge of that name said; nothing if it was not run."""
    rows = ["| judge | version | date | judges | cases | passed | test |", "|---|---|---|---|---|---|---|"]
    notes, not_applicable = [], []
    for judge in HERE.values():
        found = recorded(judge.name)
        fits = found.get("version") == judge.version
        cases, passed = (str(found[key]) if fits else "not run" for key in ("cases", "passed"))
        what = (
            judge.name,
            judge.version,
            date if fits else "",
            judge.judges,
            cases,
            passed,
            f"`tests/{judge.played_by}`",
        )
        rows.append(f"| {' | '.join(what)} |")
        if fits and found["note"]:
            notes.append(f"* {judge.name}: {found['note']}.")
        if fits:
            reasons = found["not_applicable"].items()
            not_applicable += [f"| {judge.name} | `{case}` | {why} |" for case, why in reasons]
    others = ["| judge | version | judges | test |", "|---|---|---|---|"]
    others += [f"| {each.name} | {each.version} | {each.judges} | `tests/{each.played_by}` |" for each in ELSEWHERE]
    lines = [
        *rows,
        "",
        *notes,
        "",
        "## Does not apply",
        "",
        "These run as well, and count neither as passed nor as failed. When one begins to pass, the test fails until it counts.",
        "",
        "| judge | case | why |",
        "|---|---|---|",
        *not_applicable,
        "",
        "## Run by `make test-clients`, `make test-browser` and `make test`",
        "",
        *others,
        "",
    ]
    return START + "\n".join(lines) + REST


def main() -> None:
    Path(sys.argv[1]).write_text(page(datetime.now(UTC).date().isoformat()), encoding="utf-8")


if __name__ == "__main__":
    main()
