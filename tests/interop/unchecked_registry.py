"""A registry in this process whose log accepts files without checks, because these tests are about what other programs read."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from registry_server.accounts import registry_keys
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.upkeep import takedown
from registry_server.upkeep.founding import found, read_draft
from rye.items.identity import Identity
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import Advisory, AttachedFile, Deprecation, FileEntry, Keyset, Revocation, Yank
from rye.registry.protocol.statements.grammar import Statement
from rye.signing.keys import PrivateKey
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, now
from tests.scenes.registry_process import ORIGIN

SKILL = b"---\nname: %s\ndescription: Does %s.\n---\n\nDo %s.\n"


def text(name: str) -> bytes:
    return SKILL.replace(b"%s", name.encode())


_PUBLISHERS = {name: Publisher(name) for name in ("acme", "beta")}


@cache
def _founded() -> Path:
    """Make a registry with two claimed namespaces once per process, as a template to copy."""
    folder = Path(tempfile.mkdtemp(prefix="rye-stand-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    local = LocalRegistry(folder / "data")
    local.service.sequencer.submit([publisher.claim_candidate() for publisher in _PUBLISHERS.values()]).result(30)
    local.close()
    return folder / "data"


class UncheckedRegistry(LocalRegistry):
    """A registry with two claimed namespaces."""

    def __init__(self, data: Path, settings: str = "", *, database: str = "") -> None:
        if database:
            found(data, ORIGIN, {"database": database}, None, 365)
        else:
            shutil.copytree(_founded(), data)
        super().__init__(data, settings, make=False)
        self.publishers = dict(_PUBLISHERS)
        if database:
            self.append(*(publisher.claim_candidate() for publisher in self.publishers.values()))

    def claim(self, namespace: str) -> None:
        self.publishers[namespace] = Publisher(namespace)
        self.append(self.publishers[namespace].claim_candidate())

    def append(self, *candidates: Candidate) -> None:
        self.service.sequencer.submit(candidates).result(30)

    def say(self, namespace: str, statement: Statement) -> None:
        note = notes.parse(self.publishers[namespace].note(statement))
        self.append(Candidate(note, statements.parse(note.text)))

    def candidate(
        self, identifier: str, version: str = "1.0.0", files: Mapping[str, bytes] = {}, **changes: Any
    ) -> Candidate:
        """Upload the files of a skill and return its release. A path that ends in ``.sh`` is executable."""
        publisher = self.publishers[identifier.partition("/")[0]]
        main = files.get("SKILL.md") or text(identifier.rpartition("/")[2])
        attached = {path: data for path, data in files.items() if path != "SKILL.md"}
        for data in (main, *attached.values()):
            self.service.uploads.put(hashlib.sha256(data).hexdigest(), data)
        release = publisher.release(
            "x", b"", version,
            **{
                "identity": Identity("skill", identifier),
                "description": f"Does {identifier}.",
                "file": FileEntry("SKILL.md", len(main), hashlib.sha256(main).hexdigest()),
                "attached": tuple(
                    AttachedFile(path, len(data), hashlib.sha256(data).hexdigest(), path.endswith(".sh"))
                    for path, data in attached.items()
                ),
                **changes,
            },
        )  # fmt: skip
        return Candidate(notes.sign(release.text(), [publisher.signer]), release, publisher.key.public.raw)

    def release(self, identifier: str, version: str = "1.0.0", files: Mapping[str, bytes] = {}, **changes: Any) -> None:
        self.append(self.candidate(identifier, version, files, **changes))

    def yank(self, identifier: str, version: str = "1.0.0", *, yanked: bool = True) -> None:
        namespace, identity = identifier.partition("/")[0], Identity("skill", identifier)
        self.say(namespace, Yank(ORIGIN, identity, version, yanked, 1, now(), "It was wrong."))

    def advise(self, identifier: str, number: str = "2026-1", **changes: Any) -> None:
        values = {"range": "<2", "severity": "high", "title": "Leaks files.", "keyset": 1, **changes}
        identity = Identity("skill", identifier)
        self.say(identity.namespace, Advisory(ORIGIN, identity, number, time=now(), **values))

    def deprecate(self, identifier: str) -> None:
        identity = Identity("skill", identifier)
        self.say(identity.namespace, Deprecation(ORIGIN, identity, True, None, 1, now(), "Use another."))

    def revoke(self, namespace: str) -> None:
        """Revoke the namespace's key from the first entry on."""
        publisher = self.publishers[namespace]
        with_key = Publisher(namespace, PrivateKey.generate())
        with database.reader(self.service.engine) as connection:
            first = Ledger(connection).chain(namespace).links[-1].sha256
        keyset = Keyset(
            ORIGIN, namespace, 2, first, now(), 1, (with_key.key.public.raw,),
            (Revocation(publisher.key.public.raw, 0),),
        )  # fmt: skip
        note = notes.sign(keyset.text(), [publisher.signer, with_key.signer])
        self.append(Candidate(note, keyset))

    def take_down(self, target: str) -> None:
        """Take down ``skill:acme/pdf@1.0.0`` or a file by its SHA-256."""
        with database.reader(self.service.engine) as connection:
            plan = takedown.plan(Ledger(connection), target, "It held a key.")
        owners = registry_keys.in_folder(self.service.settings.keys, "root")
        texts = takedown.signed(plan.statements, owners)
        candidates = []
        for written in texts:
            _, note = read_draft(written)
            assert note is not None
            candidates.append(Candidate(note, statements.parse(note.text)))
        self.append(*candidates)
        self.service.sequencer.remove_taken_down(sha256 for one in plan.statements for sha256 in one.files)
