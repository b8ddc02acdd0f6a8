"""The table of what other people's programs say of Rye: ``python -m tests.outside.table docs/reference/outside.md``.

It reads what the last ``make test-outside`` recorded, and says of every judge that was not run that it was not.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.outside.judges import ELSEWHERE, HERE, RESULTS

START = """# Judged by programs of others

What we say about ourselves counts less than what programs say that others wrote. `make test-outside` installs these on first use,
pinned with hashes, and runs them; `make outside-page` makes this page from what they said. One that cannot be had on a machine is
skipped, with the reason. Where it is possible, a test also shows its judge something broken, which must be refused.

"""
NOT_YET = """
## Tables of others, played by `make test`

| table | cases | of what | test |
|---|---|---|---|
| CCTV Ed25519 | 914 | which keys and signatures are accepted | `tests/signing/test_ed25519_tables.py` |
| Wycheproof Ed25519 | 151 | the same | `tests/signing/test_ed25519_tables.py` |

OpenSSH's `ssh-agent`, `ssh-keygen` and its authenticator in software (`tests/signing/test_agent_keys.py`,
`tests/packaging/test_release.py`), Neovim (`tests/docs/test_editors.py`) and bash, zsh and fish (`tests/cli/test_completing.py`)
are run where a machine has them.

## Not yet

* MCP conformance: 25 of its 32 scenarios for servers call tools, prompts and resources by fixed names, as `test_simple_text`.
  Tools of Rye are called `rye_search`, `rye_load` and so on, or by their ids.
* Renovate with our preset was tried by hand (44.121 proposes the next range). It is 460 MB, so `make test-outside` does not
  install it; `tests/interop` checks the documents that it reads.
* Schemathesis leaves out `revokeToken`: it would revoke the token that it uses.
"""


def page(results: dict[str, dict[str, object]], date: str) -> str:
    """The page. ``results``: by name, with version, cases, passed and note."""
    rows = ["| judge | version | date | judges | cases | passed | test |", "|---|---|---|---|---|---|---|"]
    notes = []
    for judge in HERE.values():
        found = results.get(judge.name, {})
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
    others = ["| judge | version | judges | test |", "|---|---|---|---|"]
    others += [f"| {each.name} | {each.version} | {each.judges} | `tests/{each.played_by}` |" for each in ELSEWHERE]
    lines = [
        *rows,
        "",
        *notes,
        "",
        "## Run by `make test-clients`, `make test-browser` and `make test`",
        "",
        *others,
        "",
    ]
    return START + "\n".join(lines) + NOT_YET


def main() -> None:
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    Path(sys.argv[1]).write_text(page(results, datetime.now(UTC).date().isoformat()), encoding="utf-8")


if __name__ == "__main__":
    main()
