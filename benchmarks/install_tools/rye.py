"""rye with its own registry process: signed directives; installed items are verified up to the log."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from install_tools.packages import TEXT, graph, tops_of
from install_tools.tool import Tool, answer_of
from registry_server.accounts import registry_keys
from registry_server.embedded import start_embedded, stop_embedded
from registry_server.migrations import opening
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.settings import Settings
from registry_server.storage.objects import Folder
from registry_server.upkeep.founding import found
from rye.items.identity import Identity
from rye.registry.protocol import notes
from rye.registry.protocol.notes import Signer, VerifierKey
from rye.registry.protocol.statements import FileEntry, Keyset, Relation, Release, namespace_key_name
from rye.signing.keys import PrivateKey
from rye.signing.sign_item import sign
from rye.storage.verdicts import VERDICTS

ORIGIN = "registry.example.org"
PROGRAM = (sys.executable, "-c", "from rye.cli.start import main; main()")


def describe() -> str:
    return f"{answer_of(*PROGRAM, '--version')} with Python {platform.python_version()}, from rye-registry"


class Rye(Tool):
    name = "rye"

    def __init__(self, base: Path, size: int, stack: ExitStack) -> None:
        super().__init__(base, size)
        data = self.base / "registry"
        fingerprint = found(data, ORIGIN, {}, None, 365).sha256()
        _fill(data, size)
        process, url = self.serve(data)
        stack.callback(stop_embedded, process)
        wanted = "".join(f'"acme/bench/{name}" = "^1.0.0"\n' for name in tops_of(size))
        manifest = f'[project]\nname = "bench"\nregistry = "{url}"\n\n[dependencies]\n{wanted}'
        (self.project / "rye.toml").write_text(manifest)
        self.run(*PROGRAM, "registry", "add", url, "--fingerprint", fingerprint)

    def serve(self, data: Path) -> tuple[subprocess.Popen[bytes], str]:
        """Serve a registry; return its process, and the address for the project."""
        return start_embedded(data)

    def commands(self) -> Mapping[str, Sequence[str]]:
        install = (*PROGRAM, "install", "--yes", "-q")
        return {"cold": install, "warm": install, "frozen": (*PROGRAM, "ci", "-q"), "no-op": install}

    def installed(self) -> Sequence[Path]:
        return [self.project / ".ai"]

    def remembered(self) -> Sequence[Path]:
        home = self.base / "home"
        return [self.project / "rye.lock", *home.rglob("registry"), *home.rglob(VERDICTS), *home.rglob("unchanged")]

    def count(self) -> int:
        return len(list((self.project / ".ai/packages/acme/directives/bench").glob("*.md")))


def _fill(data: Path, size: int) -> None:
    """Signed items, released in one batch by the registry's own sequencer."""
    settings = Settings(data=data)
    engine = opening.connect(settings.database_url)
    uploads = Folder(settings.uploads)
    key = PrivateKey.generate()
    signer = Signer(VerifierKey(namespace_key_name(ORIGIN, "acme"), key.public.raw), key.sign)
    now = datetime.now(UTC).replace(microsecond=0)
    sequencer = Sequencer(
        engine, Folder(settings.public), uploads, registry_keys.in_folder(settings.keys, "log"), settings
    )
    claim = Keyset(ORIGIN, "acme", 1, None, now, 1, (key.public.raw,))
    sequencer.append([[Candidate(notes.sign(claim.text(), [signer]), claim)]])
    requests = []
    for name, needs in graph(size).items():
        relations = tuple(
            Relation(f"acme/bench/{other}", Identity("directive", f"acme/bench/{other}"), "^1.0.0")
            for other in sorted(needs)
        )
        needed = "".join(f'<depends_on version="^1.0.0">{relation.reference}</depends_on>' for relation in relations)
        text = TEXT.replace("{needs}", needed).replace("{name}", name)
        item = sign(text, "directive", f"{name}.md", key, now).encode()
        sha256 = hashlib.sha256(item).hexdigest()
        uploads.put(sha256, item)
        release = Release(
            ORIGIN,
            Identity("directive", f"acme/bench/{name}"),
            "1.0.0",
            1,
            now,
            f"Measured item {name}",
            FileEntry(".md", len(item), sha256),
            depends_on=relations,
            capabilities=("rye.execute.tool.bench.read", "rye.search.tool.*"),
        )
        requests.append(Candidate(notes.sign(release.text(), [signer]), release, key.public.raw))
    for outcome in sequencer.append([requests]):
        if not isinstance(outcome, Receipt):
            raise outcome
    engine.dispose()
