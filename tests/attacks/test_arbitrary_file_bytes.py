"""Whatever bytes a local file has: what reads them gives a value or one of Rye's own errors.

The readers are found by their first parameter, like the decoders of the protocol in ``tests/registry/test_arbitrary_bytes.py``.
``test_arbitrary_files.py`` reaches the same through commands and files.
"""

from __future__ import annotations

import pkgutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rye
from rye import api
from rye.customization import overlay_health, overlays, places
from rye.deployment import plan_ledger, state
from rye.importing import apm, marketplace, skills_locks, toolhive
from rye.items import published
from rye.items.skill import adoption
from rye.mcp import tokens
from rye.project import member_patterns, origins
from rye.project.layout import Project
from rye.runtime import event_log
from rye.runtime.run.dialects import anthropic, openai, reading
from rye.runtime.sandbox import granted_hosts
from rye.sources.inventory import signs
from rye.text import content, json_reading, secrets
from rye.text.facts import word_lines
from rye.workspace.authoring import adoption_renewal
from rye.workspace.customizing import roles
from tests.registry.test_arbitrary_bytes import AWKWARD, Decoder, changed, check, functions_of, takes_bytes
from tests.scenes.effort import tries

_HERE = Project(Path("/"))
_NOW = datetime(2026, 1, 1, tzinfo=UTC)

READERS: dict[str, Decoder] = {
    "rye.api.parse_item": Decoder(
        lambda data: api.parse_item(data, ".ai/knowledge/a.md"), b"---\nname: a\n---\n\n# A\n"
    ),
    "rye.api.verify_file": Decoder(lambda data: api.verify_file(data, []), b"<!-- rye:signed:x -->\n# A\n"),
    "rye.customization.overlay_health.fixed": Decoder(
        lambda data: overlay_health.fixed(data, frozenset()), b'[[step-overrides]]\nstep_id = "b"\nmode = "append"\n'
    ),
    "rye.customization.overlays.read_overlay": Decoder(
        overlays.read_overlay, b'[[step-overrides]]\nstep_id = "b"\nmode = "append"\n'
    ),
    "rye.customization.places.decode": Decoder(lambda data: places.decode(data, "a.md"), b"a"),
    "rye.deployment.state.parse_state": Decoder(
        state.parse_state, b'version = 1\n\n[[file]]\npath = "a"\nsha256 = "0"\nmode = "0644"\n'
    ),
    "rye.importing.apm.read_apm": Decoder(lambda data: apm.read_apm(data, data), b"dependencies:\n- repo_url: a/b\n"),
    "rye.importing.marketplace.read_marketplace": Decoder(
        marketplace.read_marketplace, b'{"name": "m", "plugins": [{"name": "p", "source": "./"}]}'
    ),
    "rye.importing.skills_locks.read_project_lock": Decoder(
        skills_locks.read_project_lock, b'{"version": 1, "skills": {"a": {"source": "b/c", "sourceType": "github"}}}'
    ),
    "rye.deployment.plan_ledger.text_diff": Decoder(lambda data: plan_ledger.text_diff(data, b"b\n", "a"), b"a\n"),
    "rye.importing.skills_locks.read_user_lock": Decoder(
        skills_locks.read_user_lock, b'{"version": 3, "skills": {"a": {"source": "b/c", "sourceType": "github"}}}'
    ),
    "rye.importing.toolhive.read_toolhive": Decoder(toolhive.read_toolhive, b"version: 1\nskills:\n- name: a\n"),
    "rye.items.published.decode_published": Decoder(published.decode_published, b"a"),
    "rye.items.skill.adoption.analyze": Decoder(
        lambda data: adoption.analyze(data, "pdf", ()), b"---\nname: pdf\ndescription: Reads.\n---\n\nRead.\n"
    ),
    "rye.mcp.tokens.read_token": Decoder(
        lambda data: tokens.read_token(bytes(32), _HERE, data.decode("latin-1"), _NOW), b"rye1.e30.AAAA"
    ),
    "a signed token": Decoder(
        lambda data: tokens.read_token(
            bytes(32), _HERE, f"rye1.{tokens._encoded(data)}.{tokens._encoded(tokens._mac(bytes(32), data))}", _NOW
        ),
        b'{"as":"a","version":null,"sha256":"b","project":"c","id":"d","expires":1}',
    ),
    "rye.project.origins.read_origins": Decoder(
        origins.read_origins,
        b'["skill:a"]\nitem = "skill:b/a"\nversion = "1"\ndigest = "%s"\n'
        b'source = "git+c"\nsigner = "none"\nref = "HEAD"\ncommit = "%s"\n' % (b"0" * 64, b"0" * 40),
    ),
    "rye.project.member_patterns.claimed_by": Decoder(
        lambda data: member_patterns.claimed_by(data, "a"), b'[workspace]\nmembers = ["a"]\n', error=ValueError
    ),
    "rye.runtime.event_log.parse_head": Decoder(event_log.parse_head, b"12 " + b"a" * 64 + b"\n"),
    "rye.runtime.event_log.verify": Decoder(event_log.verify, b'{"n":1,"a":NaN}\n'),
    "rye.runtime.run.dialects.anthropic.reply": Decoder(
        lambda data: anthropic.reply(data, "m"),
        b'{"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}',
        error=reading.BadAnswer,
    ),
    "rye.runtime.run.dialects.openai.reply": Decoder(
        lambda data: openai.reply(data, "m"),
        b'{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}',
        error=reading.BadAnswer,
    ),
    "rye.runtime.run.dialects.reading.decoded": Decoder(
        lambda data: reading.decoded(data, list[str]), b'["a"]', error=reading.BadAnswer
    ),
    "rye.runtime.sandbox.granted_hosts.parse_request": Decoder(
        granted_hosts.parse_request, b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", error=ValueError
    ),
    "rye.sources.inventory.signs.declared_name": Decoder(signs.declared_name, b"---\nname: a\n---\n"),
    "rye.text.content.decode": Decoder(content.decode, b"a"),
    "rye.text.json_reading.read_json": Decoder(json_reading.read_json, b'{"a": [1]}', error=ValueError),
    "rye.text.json_reading.read_typed_json": Decoder(
        lambda data: json_reading.read_typed_json(data, dict[str, str]), b'{"a": "b"}', error=ValueError
    ),
    "rye.text.facts.word_lines.words_in": Decoder(word_lines.words_in, b"curl a | sh"),
    "rye.text.secrets.secrets_in_file": Decoder(secrets.secrets_in_file, b"-----BEGIN PRIVATE KEY-----\n"),
    "rye.workspace.authoring.adoption_renewal.recorded_in": Decoder(
        adoption_renewal.recorded_in, b"---\nname: a\nmetadata:\n  version: '1.0.0'\n---\n"
    ),
    "rye.workspace.customizing.roles.check_role_directive": Decoder(roles.check_role_directive, b"more\n"),
}
NO_READER = {
    "rye.customization.effective_files.TreeFile.of": "only hashed and kept",
    "rye.runtime.sandbox.launcher.seccomp": "a filter that was made here",
    "rye.runtime.sandbox.starting.file_with": "bytes to write",
    "rye.verified.memory.lock_basis": "only hashed",
}


def names_of_readers() -> set[str]:
    found = set()
    for each in pkgutil.walk_packages(rye.__path__, "rye."):
        if each.name.endswith("__main__") or each.name.startswith(("rye.registry", "rye.signing")):
            continue
        functions = functions_of(__import__(each.name, fromlist=["_"]))
        found |= {f"{each.name}.{name}" for name, function in functions.items() if takes_bytes(function)}
    return found


def test_every_reader_has_a_sample_here() -> None:
    assert names_of_readers() - READERS.keys() - NO_READER.keys() == set()
    assert NO_READER.keys() <= names_of_readers()


@pytest.mark.parametrize("name", READERS)
def test_a_reader_gives_a_value_or_its_own_error_for_awkward_bytes(name: str) -> None:
    reader = READERS[name]
    for data in AWKWARD:
        check(reader, data)
    for sample in reader.samples:
        for at in range(len(sample) + 1):
            for piece in (b"", b"\xff", b"\0", b"9" * 5_000, b"\xed\xa0\x80"):
                check(reader, sample[:at] + piece + sample[at:])


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=tries(6, 500), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_a_reader_gives_a_value_or_its_own_error_for_arbitrary_bytes(name: str, data: st.DataObject) -> None:
    reader = READERS[name]
    check(reader, data.draw(st.one_of(st.binary(max_size=200), *map(changed, reader.samples))))
