"""Server and clients agree on whether given bytes may be a release's file: each row is checked with both."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from registry_server.sequencer.acceptance import Candidate, examine
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.statements import AttachedFile, FileEntry, Hook, Relation, Release
from rye.registry.released import ItemFiles
from rye.registry.trust.file_acceptance import Accepted, Refusal, judge_release_file
from rye.registry.trust.trust_error import TrustError
from rye.signing.keys import PrivateKey
from rye.signing.sign_item import sign
from rye.verified.release import judge_files
from tests.scenes.directive_text import directive

OWNER, STRANGER = PrivateKey(b"o" * 32), PrivateKey(b"s" * 32)
NOW = datetime(2026, 1, 1, tzinfo=UTC)

DIRECTIVE = directive("ops/deploy", "1.0.0")
SKILL = "---\nname: pdf\ndescription: Reads PDF files.\nmetadata:\n  version: 1.0.0\n---\n\n# PDF\n\nUse the script.\n"
FORMULA = (
    'formula = "bot"\ntype = "workflow"\nversion = 1\ndescription = "Work"\n\n[[steps]]\nid = "a"\ntitle = "Do it"\n'
)
ROLE = "# Code Reviewer\n\n> Reads code\n"

CLIENT = {
    "place": "item-misplaced",
    "text": "item-invalid",
    "signature": "item-unsigned",
    "format": "item-invalid",
    "note": "manifest-mismatch",
}
SERVER = {
    "place": "item-misplaced",
    "text": "content-refused",
    "signature": "item-signature",
    "format": "item-invalid",
    "note": "note-contradicts-item",
}


class Case(Struct, frozen=True, kw_only=True):
    """A release that a hostile author could sign, with its bytes. ``rule`` is None if the release is valid."""

    rule: str | None
    identity: Identity
    text: str
    suffix: str
    attached: Mapping[str, bytes] = {}
    note: Mapping[str, Any] = {}
    """Fields of the note that differ from the item."""
    key: PrivateKey | None = OWNER
    """The signer of the file, or None if it is unsigned."""
    prefix: bytes = b""
    crlf: bool = False

    def data(self) -> bytes:
        name = KINDS[self.identity.kind].main_file or f"x{KINDS[self.identity.kind].suffixes[0]}"
        text = sign(self.text, self.identity.kind, name, self.key, NOW) if self.key else self.text
        data = self.prefix + text.encode()
        return data.replace(b"\n", b"\r\n") if self.crlf else data

    def release(self) -> Release:
        data = self.data()
        release = Release(
            "registry.example", self.identity, "1.0.0", 1, NOW, "Work",
            FileEntry(self.suffix, len(data), hashlib.sha256(data).hexdigest()),
            attached=tuple(
                AttachedFile(path, len(content), hashlib.sha256(content).hexdigest())
                for path, content in self.attached.items()
            ),
            capabilities=("rye.search.tool.*",) if self.identity.kind == "directive" else (),
        )  # fmt: skip
        return replace(release, **self.note)


def of_directive(rule: str | None, text: str = DIRECTIVE, identifier: str = "acme/ops/deploy", **parts: Any) -> Case:
    return Case(
        rule=rule, identity=Identity("directive", identifier), text=text, suffix=parts.pop("suffix", ".md"), **parts
    )


def of_skill(rule: str | None, *attached: str, identifier: str = "acme/pdf", suffix: str = "SKILL.md") -> Case:
    return Case(
        rule=rule,
        identity=Identity("skill", identifier),
        text=SKILL,
        suffix=suffix,
        attached=dict.fromkeys(attached, b"text\n"),
    )


CASES = {
    "an honest directive": of_directive(None),
    "an honest skill": of_skill(None, "docs/a.md", "docs/b.md", "docs.md"),
    "an honest skill with names that begin alike": of_skill(None, "read", "reader.md", "docs/a.md", "doc"),
    "an honest formula": Case(
        rule=None, identity=Identity("formula", "acme/bot"), text=FORMULA, suffix=".formula.toml"
    ),
    # place
    "a formula in a folder": Case(
        rule="place", identity=Identity("formula", "acme/team/bot"), text=FORMULA, suffix=".formula.toml"
    ),
    "a skill in another skill's folder": of_skill("place", identifier="acme/other/pdf"),
    "a role in a folder": Case(
        rule="place", identity=Identity("role", "acme/team/code-reviewer"), text=ROLE, suffix=".md"
    ),
    "an agent in a folder": Case(
        rule="place", identity=Identity("agent", "acme/team/bot"), text="---\nname: bot\n---\n", suffix=".md"
    ),
    "a bundle in a folder": Case(
        rule="place", identity=Identity("bundle", "acme/team/bot"), text="", suffix=".bundle.toml"
    ),
    "a directive with files": of_directive("place", attached={"run.sh": b"#!/bin/sh\n"}),
    "a directive in Python": of_directive("place", suffix=".py"),
    "a directive with a path for a suffix": of_directive("place", suffix="/../x.md"),
    "a skill that is not a SKILL.md": of_skill("place", suffix=".md"),
    "a skill's file over its own": of_skill("place", "SKILL.md"),
    "a skill's file over its own, in another case": of_skill("place", "skill.MD"),
    "files that differ in case": of_skill("place", "docs/a.md", "Docs/A.md"),
    "a file where a folder is": of_skill("place", "docs/a.md", "docs"),
    "a folder where a file is": of_skill("place", "docs", "docs/a.md"),
    "a folder where a file is, in another case": of_skill("place", "DOCS", "docs/a/b.md"),
    "a file where a folder is, in another case": of_skill("place", "DOCS/a.md", "docs"),
    "a folder where the main file is": of_skill("place", "SKILL.md/x"),
    # text
    "a byte order mark": of_directive("text", prefix=b"\xef\xbb\xbf"),
    "CR LF": of_directive("text", crlf=True),
    "a hidden character": of_directive("text", DIRECTIVE.replace("What", "Wh\u200bat")),
    "bytes that are not UTF-8": of_directive("text", prefix=b"\xff"),
    # signature
    "not signed": of_directive("signature", key=None),
    "signed by a stranger": of_directive("signature", key=STRANGER),
    "text above the signature": of_directive("signature", prefix=b"Read me first.\n"),
    # format
    "another item's file": of_directive("format", directive("ops/destroy", "1.0.0")),
    "an item of another folder": of_directive("format", directive("qa/deploy", "1.0.0")),
    "knowledge that poses as a directive": of_directive(
        "format", "---\nname: deploy\nversion: 1.0.0\n---\n\n# Deploy\n"
    ),
    "an item of another folder that has no title": of_directive(
        "format", directive("qa/deploy", "1.0.0").replace("# deploy\n", "")
    ),
    # note
    "another version": of_directive("note", note={"version": "1.0.1"}),
    "a version that nobody can compare": Case(
        rule="note",
        identity=Identity("formula", "acme/bot"),
        text=FORMULA,
        suffix=".formula.toml",
        note={"version": "99999999999999999999.0.0"},
    ),
    "a version that nobody can compare, of a file that states none": Case(
        rule="note",
        identity=Identity("skill", "acme/pdf"),
        text=SKILL.replace("metadata:\n  version: 1.0.0\n", ""),
        suffix="SKILL.md",
        note={"version": "99999999999999999999.0.0"},
    ),
    "fewer rights": of_directive("note", note={"capabilities": ()}),
    "more rights": of_directive("note", note={"capabilities": ("rye.execute.*", "rye.search.tool.*")}),
    "an invented hook": of_directive("note", note={"hooks": (Hook("tool", "acme/tools/run"),)}),
    "an invented dependency": of_directive(
        "note", note={"depends_on": (Relation("other", Identity("directive", "acme/ops/other")),)}
    ),
    "a hidden dependency": of_directive("note", directive("ops/deploy", "1.0.0", depends=[("zeta/ops/lint", "*")])),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def test_the_rule_that_is_broken_is_named(case: Case) -> None:
    found = judge_release_file(case.release(), case.data(), [OWNER.public])
    assert (found.rule if isinstance(found, Refusal) else None) == case.rule
    if isinstance(found, Accepted):
        assert found.signer == OWNER.public
    elif found.finding is not None:
        assert found.finding.severity == "error"


def test_a_client_refuses_it_by_that_rule(case: Case) -> None:
    release, data = case.release(), case.data()
    link = SimpleNamespace(keyset=SimpleNamespace(accepted_keys=lambda: (OWNER.public,)))
    record: Any = SimpleNamespace(release=release, link=link)
    files = ItemFiles(record, data, dict(case.attached))
    if case.rule is None:
        assert judge_files(files).name == release.identity.id.rpartition("/")[2]
        return
    with pytest.raises(TrustError) as caught:
        judge_files(files)
    assert caught.value.code == CLIENT[case.rule]


def test_the_server_refuses_it_by_that_rule(case: Case) -> None:
    release, data = case.release(), case.data()
    blobs = {hashlib.sha256(content).hexdigest(): content for content in (data, *case.attached.values())}
    candidate = Candidate(SignedNote("", ()), release)  # parsing the note's text would refuse some rows earlier
    if case.rule is None:
        assert examine(candidate, blobs.get, [OWNER.public]).signer == OWNER.public.raw
        return
    with pytest.raises(RyeError) as caught:
        examine(candidate, blobs.get, [OWNER.public])
    assert caught.value.code == SERVER[case.rule]
