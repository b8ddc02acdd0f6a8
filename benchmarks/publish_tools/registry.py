"""rye-registry under load: its own program, items with real signatures, names already there."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from publish_tools.peer import Publish, cpu_of, message
from registry_server.accounts import registry_keys, tokens
from registry_server.embedded import start_embedded, stop_embedded
from registry_server.migrations import opening
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.settings import Settings, load
from registry_server.storage import database
from registry_server.storage.store_factory import public_objects, upload_objects
from registry_server.upkeep.founding import found
from rye.items.identity import Identity
from rye.registry.protocol import notes, statements
from rye.registry.protocol.notes import Signer, VerifierKey
from rye.registry.protocol.statements import FileEntry, Keyset, Release, namespace_key_name
from rye.signing.keys import PrivateKey
from rye.signing.sign_item import sign

ORIGIN = "registry.example.org"
NAMESPACES = 16
BATCH = 2000
BLOB = b"item"
#: About 2 kB, the size of a real directive.
ITEM = """# {name}

{text}

```xml
<directive name="{name}" version="1.0.0">
  <metadata>
    <description>{text}</description>
    <category>{category}</category>
    <author>benchmark</author>
    <model tier="fast">any</model>
    <limits max_turns="5" max_tokens="1000"/>
    <permissions><search><tool>*</tool></search></permissions>
    <cost>
      <context estimated_usage="low" turns="5">1000</context>
      <duration>60</duration>
      <spawn_threshold>1</spawn_threshold>
    </cost>
  </metadata>
  <outputs><output name="result">What came of it</output></outputs>
</directive>
```

<process>
{steps}
</process>
"""
STEPS = "\n".join(
    f'  <step name="s{number}">Read what the step before found, decide what is missing, and write it down.</step>'
    for number in range(10)
)


class Publisher:
    """One namespace's key."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.key = PrivateKey.generate()
        self.signer = Signer(VerifierKey(namespace_key_name(ORIGIN, namespace), self.key.public.raw), self.key.sign)

    def claim(self) -> Candidate:
        keyset = Keyset(ORIGIN, self.namespace, 1, None, _now(), 1, (self.key.public.raw,))
        return Candidate(notes.sign(keyset.text(), [self.signer]), keyset)

    def candidate(self, local_id: str) -> Candidate:
        """A release that the sequencer accepts as examined."""
        identity = Identity("directive", f"{self.namespace}/{local_id}")
        file = FileEntry(".md", len(BLOB), hashlib.sha256(BLOB).hexdigest())
        release = statements.parse(Release(ORIGIN, identity, "1.0.0", 1, _now(), "Benchmark item", file).text())
        return Candidate(notes.sign(release.text(), [self.signer]), release, self.key.public.raw)

    def publication(self, local_id: str) -> tuple[bytes, str]:
        """A signed file and its release note."""
        category, _, name = local_id.rpartition("/")
        text = ITEM.format(name=name, category=category, text="An item that a benchmark publishes", steps=STEPS)
        data = sign(text, "directive", f"{name}.md", self.key, _now()).encode()
        release = Release(
            ORIGIN,
            Identity("directive", f"{self.namespace}/{local_id}"),
            "1.0.0",
            1,
            _now(),
            "An item that a benchmark publishes",
            FileEntry(".md", len(data), hashlib.sha256(data).hexdigest()),
            capabilities=("rye.search.tool.*",),
        )
        return data, notes.sign(release.text(), [self.signer]).encode()


class Registry:
    """A registry in ``data``, served until the stack ends."""

    def __init__(self, name: str, data: Path, stack: ExitStack, names: int, values: Mapping[str, str]) -> None:
        self.name = name
        self._publishers = [Publisher(f"bench{letters(number)}") for number in range(NAMESPACES)]
        found(data, ORIGIN, dict(values), None, 365)
        settings = load(data, {}, {})
        self._fill(settings, names)
        engine = opening.open_database(settings)
        with database.writer(engine) as connection:
            self._token = tokens.create(connection, "benchmark", (), f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
        engine.dispose()
        self.data = data
        self._process, self.url = self.start()
        stack.callback(lambda: stop_embedded(self._process))

    def start(self) -> tuple[subprocess.Popen[bytes], str]:
        """Start a server; return its process and address."""
        return start_embedded(self.data)

    def restart(self) -> None:
        """Stop the server and start another."""
        stop_embedded(self._process)
        self._process, self.url = self.start()

    def _fill(self, settings: Settings, names: int) -> None:
        engine = opening.open_database(settings)
        upload_objects(settings).put(hashlib.sha256(BLOB).hexdigest(), BLOB)
        sequencer = Sequencer(
            engine,
            public_objects(settings),
            upload_objects(settings),
            registry_keys.in_folder(settings.keys, "log"),
            settings,
        )
        _accepted(sequencer, [publisher.claim() for publisher in self._publishers])
        for first in range(0, names, BATCH):
            numbers = range(first, min(first + BATCH, names))
            _accepted(sequencer, [self._of(number).candidate(f"bulk/{letters(number)}") for number in numbers])
        engine.dispose()

    def _of(self, number: int) -> Publisher:
        return self._publishers[number % NAMESPACES]

    def publish(self, label: str, number: int) -> Publish:
        data, note = self._of(number).publication(f"{label}/{letters(number)}")
        body = json.dumps({"notes": [note], "blobs": [base64.b64encode(data).decode()]}).encode()
        return [message(self.url, "POST", "/api/v1/statements", body, self._token)]

    def cpu_seconds(self) -> float:
        return cpu_of(self._process.pid)


def letters(number: int) -> str:
    """A name, with digits that no letter folds to."""
    return "".join("abcdefghjk"[int(digit)] for digit in f"{number:07d}")


def _accepted(sequencer: Sequencer, candidates: list[Candidate]) -> None:
    for outcome in sequencer.append([[candidate] for candidate in candidates]):
        if not isinstance(outcome, Receipt):
            raise outcome


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
