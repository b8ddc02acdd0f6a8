"""Whatever bytes a registry, a mirror, a client or a file contains: a decoder gives a value or one of Rye's own errors.

The decoders are found, not listed: a new function that takes bytes must get a sample here, or be named as no decoder. The
requests over HTTP are in ``tests/server/test_arbitrary_bodies.py``.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import pkgutil
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import registry_server
import rye.registry
import rye.signing
from registry_server.accounts import directory_list
from registry_server.api import sessions
from registry_server.interop import git_lines
from registry_server.pages import release_analysis
from rye.errors import RyeError
from rye.registry import airgap, front_check
from rye.registry.ownership import documents, git_messages
from rye.registry.protocol import add_checkpoint, doors, joined, notes, tiles, tlog_proof, wire, witness_policy
from rye.registry.protocol.name_map import nodes
from rye.registry.protocol.statements import Keyset, Snapshot
from rye.registry.protocol.wire import Config, Head, IndexLine, WireError
from rye.registry.store import state
from rye.registry.trust import head_times, policies, records, trusted
from rye.registry.trust.keysets import Link
from rye.registry.trust.owners import Owners
from rye.signing import keys, ssh_wire
from tests.registry.test_wire_boundaries import HASH, MESSAGES
from tests.registry.witness_keys import ed25519
from tests.scenes.effort import tries

_STICK = ssh_wire.SshKey(bytes(range(32)), "ssh:")
SNAPSHOT = Snapshot("registry.example", datetime(2026, 1, 1, tzinfo=UTC), 12, HASH).text()
NOTE = f"{SNAPSHOT}\n\N{EM DASH} registry.example {'A' * 92}\n".encode()
PROOF = (
    f"c2sp.org/tlog-proof@v1\nextra {notes.encode_base64(NOTE)}\nindex 0\n{'A' * 43}=\n\nregistry.example\n1\n"
).encode()


class Decoder:
    """A decoder, bytes that reach its inside, and what it may raise instead of returning a value."""

    def __init__(self, call: Callable[[bytes], Any], *samples: bytes, error: type[Exception] = RyeError) -> None:
        self.call = call
        self.samples = samples
        self.error = error


def bundle(listing: bytes) -> bytes:
    """A bundle whose list of registries is these bytes."""
    start = b"%s\nregistries.json %d\n%s\nend " % (airgap.TITLE.encode(), len(listing), listing)
    return start + hashlib.sha256(start[:-4]).hexdigest().encode() + b"\n"


EARLIER, LATER = datetime(2026, 1, 2, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
STEP = (
    "rye.clock/v1\norigin registry.example\nposition 7\nbefore 2027-01-02T03:04:05Z\ntime 2026-01-02T03:04:05Z\nreason ahead\n\n"
    f"\u2014 registry.example/root {'A' * 92}\n"
)
RULED = (Path(__file__).parents[1] / "vectors/statements/policy.txt").read_text(
    "utf-8"
) + f"\n\u2014 registry.example/root {'A' * 92}\n"
POLICY = f"witness w {ed25519('w').verifier.vkey}\ngroup g any w\nquorum g\n".encode()
LINK = Link(1, Keyset("registry.example", "acme", 1, None, EARLIER, 1, (keys.PrivateKey.generate().public.raw,)), HASH)
REPOSITORY = "https://git.example/acme/skills"
PACKED = b"".join(
    [
        b"000dpackfile\n",
        *(
            f"{len(data) + 5:04x}".encode() + b"\x01" + data
            for data in [
                b"PACK\0\0\0\2\0\0\0\1\x32" + zlib.compress(b"a\n") + bytes(20),
                b"PACK\0\0\0\2\0\0\0\1\x74" + bytes(20) + zlib.compress(b"\1\1\x90\1") + bytes(20),
            ]
        ),
    ]
)
DECODERS: dict[str, Decoder] = {
    "rye.registry.protocol.add_checkpoint.read_answer": Decoder(
        add_checkpoint.read_answer, b"\xe2\x80\x94 w AAAAAAAA\n", error=add_checkpoint.AddCheckpointError
    ),
    "rye.registry.protocol.add_checkpoint.read_known_size": Decoder(add_checkpoint.read_known_size, b"7\n"),
    "rye.registry.protocol.add_checkpoint.read_request": Decoder(
        add_checkpoint.read_request, b"old 7\n\n" + NOTE, error=add_checkpoint.AddCheckpointError
    ),
    "rye.registry.protocol.witness_policy.read_policy": Decoder(
        witness_policy.read_policy, POLICY, error=witness_policy.PolicyError
    ),
    "rye.registry.airgap.decode_airgap": Decoder(
        airgap.decode_airgap, airgap.TITLE.encode() + b"\nregistries.json 3\n[] \nrye.lock 0\n\nend " + HASH.encode()
    ),
    "rye.registry.ownership.documents.judge_well_known": Decoder(
        lambda data: documents.judge_well_known(data, "acme", LINK), documents.well_known_file("acme", LINK).encode()
    ),
    "rye.registry.ownership.documents.judge_repository_file": Decoder(
        lambda data: documents.judge_repository_file(data, "acme", REPOSITORY, LINK),
        f"{documents.repository_file(LINK, REPOSITORY).text()}\n\u2014 registry.example/acme {'A' * 92}\n".encode(),
    ),
    "rye.registry.ownership.git_messages.read_pack": Decoder(
        git_messages.read_pack, PACKED, error=git_messages.GitMessageError
    ),
    "the commit that is HEAD": Decoder(
        git_messages.read_head, b"0032" + b"a" * 40 + b" HEAD\n0000", error=git_messages.GitMessageError
    ),
    "what a git server speaks": Decoder(
        git_messages.speaks_version_2,
        b"000eversion 2\n0020fetch=shallow wait-for filter\n",
        error=git_messages.GitMessageError,
    ),
    "rye.registry.protocol.name_map.nodes.decode_node": Decoder(
        nodes.decode_node,
        f"{nodes.TITLE} leaf - 00-ff\n{HASH} 1 {HASH}\n".encode(),
        f"{nodes.TITLE} inner -\n".encode(),
    ),
    "rye.registry.protocol.joined.split": Decoder(lambda data: joined.split(data, 2), joined.join([b"one", b""])),
    "rye.registry.protocol.notes.parse": Decoder(notes.parse, NOTE),
    "rye.registry.protocol.tiles.decode_bundle": Decoder(lambda data: tiles.decode_bundle(data, 2), b"\0\1a\0\1b"),
    "rye.registry.protocol.tlog_proof.read": Decoder(tlog_proof.read, PROOF),
    "rye.registry.protocol.tlog_proof.read_page": Decoder(
        tlog_proof.read_page, b'{"proof":"' + PROOF.replace(b"\n", b"\\n") + b'"}'
    ),
    "rye.registry.protocol.doors.decode_upstreams": Decoder(
        doors.decode_upstreams,
        wire.encode_json(doors.Upstreams([doors.Upstream("registry.example", HASH, ["acme"])])),
        error=WireError,
    ),
    "rye.registry.protocol.doors.decode_held": Decoder(
        doors.decode_held,
        wire.encode_json(doors.HeldReleases([doors.HeldRelease("1.0.0", "it is blocked", "2026-01-02T03:04:05Z")])),
        error=WireError,
    ),
    "rye.registry.protocol.wire.decode_config": Decoder(
        wire.decode_config, wire.encode_config(Config(2, "registry.example", "/api")), error=WireError
    ),
    "rye.registry.protocol.wire.decode_head": Decoder(
        wire.decode_head, wire.encode_head(Head("c", "s", ["A" * 44], HASH)), error=WireError
    ),
    "rye.registry.protocol.wire.decode_index": Decoder(
        wire.decode_index, wire.encode_index([IndexLine(0, 'a"\\\n'), IndexLine(1, "b")]), error=WireError
    ),
    "rye.registry.store.state.decode": Decoder(state.decode, b'{"version":1,"origin":"registry.example","keysets":{}}'),
    "rye.registry.trust.head_times.steps_between": Decoder(
        lambda data: head_times.steps_between(data, "registry.example", Owners(()), (1, 9), (LATER, EARLIER)),
        wire.encode_index([IndexLine(7, STEP)]),
    ),
    "rye.registry.trust.policies.decode_newest": Decoder(
        lambda data: policies.read_organization_policy(policies.decode_newest(data)),
        wire.encode_index([IndexLine(7, RULED)]),
    ),
    "rye.registry.front_check.own_address": Decoder(
        front_check.own_address, b'<link rel="self" type="a/b" href="https://a.example/feed.atom"/>'
    ),
    "rye.registry.trust.records.decode_judged": Decoder(records.decode_judged, b"\x93\xa3abc\xc0\xa1\xff"),
    "rye.registry.trust.trusted.TrustedState.pin": Decoder(lambda data: trusted.TrustedState.pin(data, "0" * 64), NOTE),
    "rye.signing.keys.read_public_key": Decoder(
        keys.read_public_key,
        b"-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n",
        b'[public_key]\npem = ""\n',
    ),
    "rye.signing.keys.PublicKey.from_raw": Decoder(keys.PublicKey.from_raw, bytes(32), _STICK.blob()),
    "rye.signing.keys.public_key_problem": Decoder(keys.public_key_problem, bytes(32), _STICK.blob()),
    "rye.signing.ssh_wire.read_blob": Decoder(
        ssh_wire.read_blob, _STICK.blob(), ssh_wire.SshKey(bytes(32)).blob(), error=ssh_wire.WireError
    ),
    "registry_server.accounts.directory_list.read": Decoder(
        directory_list.read,
        b'{"format":"rye.accounts/v1","issuer":"i","time":"2026-01-02T03:04:05Z","accounts":[{"subject":"s","groups":["g"]}]}',
    ),
    "registry_server.api.sessions.fields_of": Decoder(sessions.fields_of, b"client_id=rye&name=a%FF%00"),
    "registry_server.interop.git_lines.read_lines": Decoder(
        git_lines.read_lines, b"0009abcd\n0000", error=git_lines.GitRefusal
    ),
    "registry_server.pages.release_analysis.decode": Decoder(
        release_analysis.decode, zlib.compress(b'{"a":"\xff"}'), error=ValueError
    ),
    "its list of registries": Decoder(
        lambda data: airgap.decode_airgap(bundle(data)), b'[{"address":"a","origin":"o"}]'
    ),
    # one of each type: what is between the two ends of the API
    **{
        f"wire.decode_json {kind.__name__}": Decoder(partial(wire.decode_json, kind=kind), sample, error=WireError)
        for kind, sample in MESSAGES
    },
}
MADE_OF_THESE = {
    "rye.registry.protocol.wire.decode_json": "one for each message",
    "registry_server.api.requests.decode_request": "one for each operation, in test_arbitrary_bodies.py",
}
NO_DECODER = {
    "registry_server.api.reading.joined_answer": "an answer that was made here",
    "rye.registry.protocol.name_map.nodes.Inner.of": "the bits of a prefix, from a decoded node",
    "rye.signing.verification.verify": "an item's text, with tests of its own",
    "registry_server.api.account_pages.html_answer": "a page that was made here",
    "registry_server.api.requests.json_answer": "an answer that was made here",
    "registry_server.sequencer.cosigned_head.shown_files": "heads that were made here",
    "registry_server.sequencer.cosigned_head.size_of": "a head that was made here",
    "registry_server.api.requests.page_answer": "a page that was made here",
}
AWKWARD = (
    b"",
    b"\0",
    b"\xff",
    b'"\xff"',
    b'{"\xff":"\xff"}',
    b'"\xed\xa0\x80"',
    b'"\\ud800"',
    b'"\\u0000"',
    b"\xef\xbb\xbf{}",
    b"[" * 50_000,
    b'{"a":' * 20_000,
    b"9" * 5_000,
    b"-1e400",
    b"NaN",
    b"\r\n",
    b"\x0b\x1c\xc2\x85\xe2\x80\xa8",
    "\u0661\u00b2".encode(),
)


def functions_of(module: Any) -> dict[str, Callable[..., Any]]:
    """The public functions that a module defines, and those of its classes that need no instance."""
    found: dict[str, Callable[..., Any]] = {}
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", "") != module.__name__:
            continue
        if inspect.isfunction(value):
            found[name] = value
        elif inspect.isclass(value):
            for inner, made in vars(value).items():
                if isinstance(made, classmethod | staticmethod) and not inner.startswith("_"):
                    found[f"{name}.{inner}"] = made.__func__
    return found


def takes_bytes(function: Callable[..., Any]) -> bool:
    """Whether its first argument is bytes, and its result says something about them."""
    signature = inspect.signature(function)
    first = next((each for each in signature.parameters.values() if each.name != "cls"), None)
    understood = signature.return_annotation not in ("bytes", "str", "bool", "None")
    return first is not None and first.annotation in ("bytes", "bytes | str", "str | bytes") and understood


def names_of_decoders() -> set[str]:
    found: set[str] = set()
    for package in (rye.registry, rye.signing, registry_server):
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".migrations" in each.name or each.name.endswith("__main__"):
                continue  # these run when they are imported
            functions = functions_of(importlib.import_module(each.name))
            found |= {f"{each.name}.{name}" for name, function in functions.items() if takes_bytes(function)}
    return found


def test_every_decoder_has_a_sample_here() -> None:
    known = {name for name in DECODERS if name.startswith(("rye.", "registry_server."))}
    assert names_of_decoders() == known | MADE_OF_THESE.keys() | NO_DECODER.keys()


def changed(sample: bytes) -> st.SearchStrategy[bytes]:
    """The sample with a part of it replaced by something awkward, or cut off there."""
    return st.builds(
        lambda start, length, piece, goes_on: sample[:start] + piece + (sample[start + length :] if goes_on else b""),
        st.integers(0, len(sample)),
        st.integers(0, 8),
        st.sampled_from(AWKWARD) | st.binary(max_size=4),
        st.booleans(),
    )


def check(decoder: Decoder, data: bytes) -> None:
    with contextlib.suppress(decoder.error):
        decoder.call(data)


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_gives_a_value_or_its_own_error_for_awkward_bytes(name: str) -> None:
    decoder = DECODERS[name]
    for data in AWKWARD:
        check(decoder, data)
    for sample in decoder.samples:
        check(decoder, sample)
        for at in range(len(sample) + 1):
            for piece in (b"", b"\xff", b"\xed\xa0\x80", b"\0", b"\n", b'"'):
                check(decoder, sample[:at] + piece + sample[at:])
                check(decoder, sample[:at] + piece + sample[at + 1 :])


@pytest.mark.parametrize("name", DECODERS)
@settings(max_examples=tries(6, 2_000), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_a_decoder_gives_a_value_or_its_own_error_for_arbitrary_bytes(name: str, data: st.DataObject) -> None:
    decoder = DECODERS[name]
    check(decoder, data.draw(st.one_of(st.binary(max_size=200), *map(changed, decoder.samples))))


@pytest.mark.parametrize(
    "data", [b'{"protocol":2,"origin":"r\xff","api":null}', b'{"protocol":2,"origin":"r","\xff":null}']
)
def test_a_text_that_is_not_utf8_is_named_as_the_reason(data: bytes) -> None:
    with pytest.raises(WireError) as raised:
        wire.decode_config(data)
    assert raised.value.code == "config-malformed"
    assert "UTF-8" in raised.value.message or "unknown field" in raised.value.message
