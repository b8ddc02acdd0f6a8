"""Stage and approve (design/server.md 4): a stage changes nothing in public, and publishing it needs a maintainer's key."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from rye.items.identity import Identity
from rye.registry.protocol import notes
from rye.registry.protocol.notes import Signer, VerifierKey
from rye.registry.protocol.statements import AttachedFile, Keyset, Release, namespace_key_name
from rye.registry.protocol.wire import blob_path
from rye.signing.keys import PrivateKey
from rye.signing.sign_item import sign
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code, now
from tests.scenes.registry_process import ORIGIN, run


def stage(local: LocalRegistry, publisher: Publisher, local_id: str, token: str, **changes: Any) -> tuple[str, Release]:
    """Stage a release and return the stage's id and the draft."""
    data = publisher.file(local_id, text=local_id)
    assert local.blob(data, token).status_code in (200, 201)
    draft = publisher.release(local_id, data, description=local_id, **changes)
    answer = local.post("/api/v1/stages", token, json={"drafts": [draft.text()]})
    assert answer.status_code == 201, answer.text
    return answer.json()["stages"][0]["id"], draft


def approve(local: LocalRegistry, identifier: str, token: str, note: str) -> Any:
    return local.post(f"/api/v1/stages/{identifier}/approvals", token, json={"note": note})


def head(local: LocalRegistry) -> bytes:
    return local.get("/head").content


def refused(answer: Any, status: int, code: str) -> None:
    assert (answer.status_code, error_code(answer)) == (status, code), answer.text


def test_a_stage_changes_nothing_that_anybody_sees_and_the_maintainer_s_signature_publishes_it(
    local: LocalRegistry, acme: Publisher
) -> None:
    before = head(local)
    ci = local.token("acme", scopes=["stage"])
    identifier, draft = stage(local, acme, "a/first", ci)
    assert head(local) == before
    assert local.get("/" + blob_path(draft.file.sha256)).status_code == 404
    assert local.get("/api/v1/search?q=first").json()["total"] == 0
    row = approve(local, identifier, local.token("acme"), acme.note(replace(draft, time=now()))).json()
    assert (row["state"], row["signatures"], row["needed"]) == ("approved", 1, 1)
    assert isinstance(row["log"], int)
    assert head(local) != before
    assert local.get("/" + blob_path(draft.file.sha256)).status_code == 200
    assert not list((local.data / "staged").iterdir())


def test_a_stolen_build_token_publishes_nothing(local: LocalRegistry, acme: Publisher) -> None:
    before = head(local)
    ci = local.token("acme", scopes=["stage"])
    identifier, draft = stage(local, acme, "a/stolen", ci)
    thief = Publisher("acme")
    notes_ = [thief.note(draft), acme.note(draft), draft.text() + "\n"]
    for note in notes_:  # even the maintainer's own note: this token may not approve
        refused(approve(local, identifier, ci, note), 403, "insufficient-scope")
    for note in notes_[:2]:
        refused(local.statements(ci, note), 403, "insufficient-scope")
    full = local.token("acme")
    refused(approve(local, identifier, full, notes_[0]), 422, "statement-signer")
    refused(approve(local, identifier, full, notes_[2]), 400, "note-malformed")
    assert head(local) == before


SECRET = b"A customer's key\n"


def skill(publisher: Publisher, version: str) -> tuple[bytes, Release]:
    """A skill whose attached file is the secret."""
    text = f"---\nname: pdf\ndescription: Work\nmetadata:\n  version: {version}\n---\n\n# pdf\n\nRead notes.txt.\n"
    data = sign(text, "skill", "SKILL.md", publisher.key, now()).encode()
    attached = AttachedFile("notes.txt", len(SECRET), hashlib.sha256(SECRET).hexdigest())
    draft = publisher.release("pdf", data, version, identity=Identity("skill", f"{publisher.namespace}/pdf"))
    file = replace(draft.file, suffix="SKILL.md")
    return data, replace(draft, file=file, attached=(attached,), capabilities=())


def test_what_was_taken_down_is_in_no_stage(local: LocalRegistry, acme: Publisher) -> None:
    """A waiting stage has a file of a release that the owners take down. Later, another one with that file is staged."""
    token, sha256 = local.token(), hashlib.sha256(SECRET).hexdigest()
    drafts: dict[str, Release] = {}
    for version in ("1.0.0", "1.0.1", "1.0.2"):
        data, drafts[version] = skill(acme, version)
        local.blob(data, token)
    local.blob(SECRET, token)
    assert local.statements(token, acme.note(drafts["1.0.0"])).status_code == 200
    answer = local.post("/api/v1/stages", token, json={"drafts": [drafts["1.0.1"].text()]})
    assert answer.status_code == 201, answer.text
    identifier = answer.json()["stages"][0]["id"]
    file = f"/api/v1/stages/{identifier}/files/{sha256}"
    assert local.get(file, token).content == SECRET
    run("takedown", sha256, "--reason", "It holds a key.", "--data", str(local.data))
    assert local.service.staged.get(sha256) is None
    local.service.staged.put(sha256, SECRET)  # as if the takedown had run on another machine
    refused(local.get(file, token), 451, "taken-down")
    refused(approve(local, identifier, token, acme.note(replace(drafts["1.0.1"], time=now()))), 451, "taken-down")
    local.service.staging.sweep()
    assert local.service.staged.get(sha256) is None
    local.blob(SECRET, token)
    refused(local.post("/api/v1/stages", token, json={"drafts": [drafts["1.0.2"].text()]}), 451, "taken-down")


def test_a_stage_that_another_signs_differently_is_not_published(local: LocalRegistry, acme: Publisher) -> None:
    identifier, draft = stage(local, acme, "a/swapped", local.token("acme", scopes=["stage"]))
    other = replace(draft, description="Something else")
    refused(approve(local, identifier, local.token("acme"), acme.note(other)), 409, "stage-differs")
    old = replace(draft, time=now() - timedelta(hours=25))
    refused(approve(local, identifier, local.token("acme"), acme.note(old)), 409, "stage-note-old")


class TestWhoSees:
    def test_only_who_may_decide_and_the_token_that_sent_it(self, local: LocalRegistry, acme: Publisher) -> None:
        ci = local.token("acme", scopes=["stage"])
        identifier, draft = stage(local, acme, "a/hidden", ci)
        others = {
            "another build token": local.token("acme", scopes=["stage"]),
            "another namespace": local.token("elsewhere"),
            "a reader": local.token(account=local.member("r", acme="reader")),
            "nobody": local.token(account=local.member("n")),
        }
        for who, token in others.items():
            for path in (identifier, f"{identifier}/files/{draft.file.sha256}"):
                refused(local.get(f"/api/v1/stages/{path}", token), 404, "no-such-entry")
            assert identifier not in {row["id"] for row in local.get("/api/v1/stages", token).json()["stages"]}, who
            answer = local.post(f"/api/v1/stages/{identifier}/rejection", token, json={"reason": "x"})
            refused(answer, 404, "no-such-entry")
        for token in (ci, local.token("acme"), local.token(account=local.member("o", acme="owner"))):
            assert local.get(f"/api/v1/stages/{identifier}", token).json()["draft"] == draft.text()
            data = local.get(f"/api/v1/stages/{identifier}/files/{draft.file.sha256}", token).content
            assert hashlib.sha256(data).hexdigest() == draft.file.sha256
        assert local.get("/api/v1/stages").status_code == 401
        refused(local.get("/api/v1/stages", local.token(scopes=["read"])), 403, "insufficient-scope")

    def test_a_staged_file_is_no_part_of_anybody_else_s_release(self, local: LocalRegistry, acme: Publisher) -> None:
        """Its hash alone does not make it public."""
        _, draft = stage(local, acme, "a/secret", local.token("acme", scopes=["stage"]))
        for token in (local.token(), local.token("acme")):
            refused(local.statements(token, acme.note(draft)), 422, "blob-missing")

    def test_a_stage_serves_only_its_own_files(self, local: LocalRegistry, acme: Publisher) -> None:
        token = local.token("acme")
        one, _ = stage(local, acme, "a/one", token)
        _, other = stage(local, acme, "a/other", token)
        refused(local.get(f"/api/v1/stages/{one}/files/{other.file.sha256}", token), 404, "not-found")
        refused(local.get(f"/api/v1/stages/{one}/files/..%2f..%2fregistry.db", token), 404, "not-found")
        refused(local.get(f"/api/v1/stages/{one}/files/registry.db", token), 400, "bad-request")


class TestStaging:
    def test_what_publishing_refuses_staging_refuses(self, local: LocalRegistry, acme: Publisher) -> None:
        token = local.token("acme", scopes=["stage"])
        foreign = Publisher("acme")
        data = foreign.file("a/forged")  # the file is signed by a key that is not the namespace's
        local.blob(data, token)
        draft = foreign.release("a/forged", data)
        refused(local.post("/api/v1/stages", token, json={"drafts": [draft.text()]}), 422, "item-signature")
        missing = acme.release("a/missing", b"nothing of this was uploaded")
        refused(local.post("/api/v1/stages", token, json={"drafts": [missing.text()]}), 422, "blob-missing")
        claim = Keyset(ORIGIN, "fresh", 1, None, now(), 1, (acme.key.public.raw,))
        refused(local.post("/api/v1/stages", token, json={"drafts": [claim.text()]}), 422, "statement-not-accepted")

    def test_a_token_stages_only_in_its_namespaces(self, local: LocalRegistry, acme: Publisher) -> None:
        token = local.token("elsewhere", scopes=["stage"])
        data = acme.file("a/mine")
        local.blob(data, token)
        draft = acme.release("a/mine", data)
        refused(local.post("/api/v1/stages", token, json={"drafts": [draft.text()]}), 403, "wrong-namespace")

    def test_the_same_again_is_the_same_stage_and_a_published_version_is_none(
        self, local: LocalRegistry, acme: Publisher
    ) -> None:
        token = local.token("acme")
        one, draft = stage(local, acme, "a/again", token)
        data = local.get(f"/api/v1/stages/{one}/files/{draft.file.sha256}", token).content
        local.blob(data, token)
        two = local.post("/api/v1/stages", token, json={"drafts": [draft.text()]}).json()["stages"][0]["id"]
        assert one == two
        assert approve(local, one, token, acme.note(replace(draft, time=now()))).json()["state"] == "approved"
        data = acme.file("a/again", text="other")
        local.blob(data, token)
        again = acme.release("a/again", data, description="other")
        refused(local.post("/api/v1/stages", token, json={"drafts": [again.text()]}), 409, "version-exists")
        refused(approve(local, one, token, acme.note(replace(draft, time=now()))), 409, "stage-decided")

    def test_a_rejected_stage_is_gone_and_its_version_stays_free(self, local: LocalRegistry, acme: Publisher) -> None:
        token = local.token("acme")
        identifier, draft = stage(local, acme, "a/rejected", local.token("acme", scopes=["stage"]))
        row = local.post(f"/api/v1/stages/{identifier}/rejection", token, json={"reason": "Not like this"}).json()
        assert (row["state"], row["reason"]) == ("rejected", "Not like this")
        refused(local.get(f"/api/v1/stages/{identifier}/files/{draft.file.sha256}", token), 404, "not-found")
        refused(approve(local, identifier, token, acme.note(replace(draft, time=now()))), 409, "stage-decided")
        assert local.publish(acme, "a/rejected", token).status_code == 200

    def test_what_is_in_the_log_is_approved_although_somebody_rejected_it_meanwhile(
        self, local: LocalRegistry, acme: Publisher
    ) -> None:
        """The rejection came after the last signature, and was told as the end of a release that everybody can read."""
        token = local.token("acme")
        identifier, draft = stage(local, acme, "a/crossed", token)
        staging, account = local.service.staging, local.service.account(token)
        assert account is not None
        _, note = staging.sign(account, identifier, acme.note(replace(draft, time=now())), "")
        assert note is not None
        staging.reject(account, identifier, "Too late", "")
        position = local.statements(token, note.encode()).json()["results"][0]["log"]
        staging.approved(account, identifier, position, "")
        row = local.get(f"/api/v1/stages/{identifier}", token).json()["stage"]
        assert (row["state"], row["log"], row["reason"]) == ("approved", position, None)

    def test_one_account_does_not_fill_the_room_of_all(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        small = LocalRegistry(tmp_path_factory.mktemp("small") / "data", "account_stages_bytes = 1500\n")
        publisher = Publisher("acme")
        small.statements(small.token(), publisher.claim())
        greedy = small.token("acme", scopes=["stage"])
        stage(small, publisher, "a/one", greedy)
        data = publisher.file("a/two")
        small.blob(data, greedy)
        answer = small.post("/api/v1/stages", greedy, json={"drafts": [publisher.release("a/two", data).text()]})
        refused(answer, 507, "stages-full")
        stage(small, publisher, "a/three", small.token("acme", scopes=["stage"]))
        small.close()


class TestReleaseThreshold:
    @pytest.fixture(scope="class")
    @staticmethod
    def pair(local: LocalRegistry) -> tuple[Publisher, Signer]:
        """A namespace of two keys, both of which must sign a release."""
        first, second = Publisher("pair"), PrivateKey.generate()
        signer = Signer(VerifierKey(namespace_key_name(ORIGIN, "pair"), second.public.raw), second.sign)
        keys = (first.key.public.raw, second.public.raw)
        keyset = Keyset(ORIGIN, "pair", 1, None, now(), 1, keys, release_threshold=2)
        assert local.statements(local.token(), first.note(keyset)).status_code == 200
        return first, signer

    def test_one_signature_of_two_publishes_nothing(self, local: LocalRegistry, pair: tuple[Publisher, Signer]) -> None:
        answer = local.publish(pair[0], "a/alone", local.token())
        refused(answer, 422, "statement-signer")

    def test_the_second_maintainer_s_signature_on_the_same_note_publishes(
        self, local: LocalRegistry, pair: tuple[Publisher, Signer]
    ) -> None:
        first, second = pair
        token = local.token("pair")
        identifier, draft = stage(local, first, "a/both", token)
        before = head(local)
        release = replace(draft, time=now())
        row = approve(local, identifier, token, first.note(release)).json()
        assert (row["state"], row["signatures"], row["needed"], row["log"]) == ("staged", 1, 2, None)
        again = approve(local, identifier, token, first.note(release)).json()
        assert again["signatures"] == 1  # the same key twice is one
        assert head(local) == before
        other = notes.sign(replace(release, time=release.time - timedelta(minutes=1)).text(), [second]).encode()
        refused(approve(local, identifier, token, other), 409, "stage-signed-otherwise")
        pending = local.get(f"/api/v1/stages/{identifier}", token).json()["note"]
        signed = notes.sign(notes.parse(pending).text, [second]).encode()
        row = approve(local, identifier, token, signed).json()
        assert (row["state"], row["signatures"]) == ("approved", 2)
        assert local.get("/" + blob_path(draft.file.sha256)).status_code == 200

    def test_both_signatures_at_once_publish_without_a_stage(
        self, local: LocalRegistry, pair: tuple[Publisher, Signer]
    ) -> None:
        first, second = pair
        data, token = first.file("a/direct"), local.token()
        local.blob(data, token)
        release = first.release("a/direct", data)
        assert local.statements(token, first.note(release, second)).status_code == 200
