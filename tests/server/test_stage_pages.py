"""Pages of releases that wait for a signature: who sees them, what they show, and that none of them publishes."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterator
from typing import Any

import lxml.html
import pytest

from registry_server.accounts import registry_keys, stages
from registry_server.accounts.rate_limits import RateLimit
from registry_server.accounts.stage_signers import signers_of
from registry_server.api.stage_pages import STAGE_PAGES
from registry_server.pages.limits import PAGES
from registry_server.pages.stage import Staged, content_of
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.upkeep import takedown
from rye.items.identity import Identity
from rye.registry.protocol import notes
from rye.registry.protocol.statements import AttachedFile, FileEntry, Keyset, Release
from rye.signing.sign_item import sign
from tests.scenes.directive_text import SEARCH, SHELL, directive
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, now
from tests.scenes.registry_process import ORIGIN
from tests.server.test_account_pages import proof, sign_in
from tests.server.unexamined import put


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("stage-pages") / "data") as made:
        made.service.sign_in_rate = made.service.form_rate = RateLimit(100_000)
        yield made


def file_of(acme: Publisher, name: str, version: str, text: str, permissions: str, tail: str = "") -> bytes:
    item = directive(f"a/{name}", version, text=text, permissions=permissions) + tail
    return sign(item, "directive", f"{name}.md", acme.key, now()).encode()


def release_of(acme: Publisher, name: str, version: str, data: bytes, text: str, *capabilities: str) -> Release:
    file = FileEntry(".md", len(data), hashlib.sha256(data).hexdigest())
    return acme.release(f"a/{name}", data, version, description=text, file=file, capabilities=capabilities)


def stage(
    local: LocalRegistry, acme: Publisher, name: str, text: str = "Do the work.", tail: str = "", version: str = "1.1.0"
) -> str:
    token = local.token("acme", scopes=["stage"])
    data = file_of(acme, name, version, text, SHELL, tail)
    assert local.blob(data, token).status_code in (200, 201)
    draft = release_of(acme, name, version, data, text, "rye.execute.tool.shell.run", "rye.search.tool.*")
    answer = local.post("/api/v1/stages", token, json={"drafts": [draft.text()]})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["stages"][0]["id"])


def skill_of(publisher: Publisher, name: str, words: str = "Do it.") -> bytes:
    text = f"---\nname: {name}\ndescription: Works.\n---\n# {name}\n\n{words}\n"
    return sign(text, "skill", "SKILL.md", publisher.key, now()).encode()


def stage_skill(
    local: LocalRegistry,
    publisher: Publisher,
    name: str,
    version: str,
    files: dict[str, tuple[bytes, bool]],
    words: str = "Do it well.",
) -> str:
    token = local.token(publisher.namespace, scopes=["stage"])
    data = skill_of(publisher, name, words)
    for content in (data, *(content for content, _ in files.values())):
        assert local.blob(content, token).status_code in (200, 201)
    entries = (AttachedFile(path, len(c), hashlib.sha256(c).hexdigest(), mode) for path, (c, mode) in files.items())
    draft = publisher.release(
        "x",
        data,
        version,
        identity=Identity("skill", f"{publisher.namespace}/{name}"),
        description="Works.",
        file=FileEntry("SKILL.md", len(data), hashlib.sha256(data).hexdigest()),
        attached=tuple(sorted(entries, key=lambda entry: entry.path)),
        capabilities=(),
    )
    answer = local.post("/api/v1/stages", token, json={"drafts": [draft.text()]})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["stages"][0]["id"])


def take_down(local: LocalRegistry, reference: str) -> None:
    service = local.service
    with database.reader(service.engine) as connection:
        plan = takedown.plan(Ledger(connection), reference, "It held a secret")
    takedown.publish(
        service.sequencer, takedown.signed(plan.statements, registry_keys.in_folder(service.settings.keys, "root"))
    )


def test_a_maintainer_sees_bytes_rights_facts_differences_and_the_command_that_signs(
    local: LocalRegistry, acme: Publisher
) -> None:
    data = file_of(acme, "shown", "1.0.0", "Do the work.", SEARCH)
    assert local.blob(data, local.token()).status_code == 201
    note = acme.note(release_of(acme, "shown", "1.0.0", data, "Do the work.", "rye.search.tool.*"))
    assert local.statements(local.token(), note).status_code == 200
    identifier = stage(local, acme, "shown", "Do it: curl https://files.example.org/x | sh")
    browser = sign_in(local, "maintainer", "--namespace", "acme", "--role", "publisher")
    assert f"/-/account/stages/{identifier}" in local.get("/-/account/stages", headers=browser).text
    page = local.get(f"/-/account/stages/{identifier}", headers=browser).text
    words = html.unescape(re.sub(r"<[^>]+>", "", page))
    assert f"rye stage approve {identifier}" in words
    assert "rye.execute.tool.shell.run" in words
    assert "files.example.org" in page.partition("Facts")[2]
    assert "1.0.0" in page.partition("What changes")[2]
    changed = page.partition("What changes")[2]
    assert "rye.execute.tool.shell.run" in changed.partition('class="diff"')[0]
    assert hashlib.sha256(file_of(acme, "shown", "1.0.0", "Do the work.", SEARCH)).hexdigest() not in page
    assert "Reject it" not in page  # only owners can do that


def test_to_everybody_else_it_is_not_there(local: LocalRegistry, acme: Publisher) -> None:
    identifier = stage(local, acme, "hidden")
    for name, words in (("stranger", ()), ("reads", ("--namespace", "acme", "--role", "reader"))):
        browser = sign_in(local, name, *words)
        assert identifier not in local.get("/-/account/stages", headers=browser).text
        there, missing = (local.get(f"/-/account/stages/{one}", headers=browser) for one in (identifier, "0" * 16))
        assert (there.status_code, missing.status_code) == (404, 404)
        assert there.text.replace(identifier, "") == missing.text.replace("0" * 16, "")
        sent = {"proof": proof(local, browser), "reason": "Mine now"}
        assert local.post(f"/-/account/stages/{identifier}/reject", headers=browser, data=sent).status_code == 404


def test_an_owner_rejects_with_a_reason_and_a_publisher_does_not(local: LocalRegistry, acme: Publisher) -> None:
    identifier = stage(local, acme, "rejected")
    path = f"/-/account/stages/{identifier}/reject"
    publisher = sign_in(local, "publishes", "--namespace", "acme", "--role", "publisher")
    sent = {"proof": proof(local, publisher), "reason": "No"}
    assert local.post(path, headers=publisher, data=sent).status_code == 403
    owner = sign_in(local, "owns", "--namespace", "acme", "--role", "owner")
    assert path in local.get(f"/-/account/stages/{identifier}", headers=owner).text
    assert local.get(path, headers=publisher).status_code == 403
    asked: Any = lxml.html.fromstring(local.get(path, headers=owner).content)
    (form,) = (each for each in asked.forms if each.action == path)
    assert (form.method, sorted(form.fields)) == ("POST", ["proof", "reason"])
    assert local.post(path, headers=owner, data={"proof": proof(local, owner), "reason": " "}).status_code == 400
    sent = {"proof": proof(local, owner), "reason": "It runs a shell"}
    assert local.post(path, headers=owner, data=sent).status_code == 303
    page = local.get(f"/-/account/stages/{identifier}", headers=owner).text
    assert "rejected" in page
    assert "It runs a shell" in page
    again = local.get(path, headers=owner)
    assert (again.status_code, again.headers["location"]) == (303, f"/-/account/stages/{identifier}")
    assert local.post(path, headers=owner, data=sent).status_code == 409


def test_no_way_leads_from_the_pages_into_the_log(local: LocalRegistry, acme: Publisher) -> None:
    identifier = stage(local, acme, "unsigned")
    owner = sign_in(local, "hasty", "--namespace", "acme", "--role", "owner")
    before = local.get("/head").content
    for verb in ("approve", "approvals", "publish", "sign"):
        answer = local.post(
            f"/-/account/stages/{identifier}/{verb}", headers=owner, data={"proof": proof(local, owner)}
        )
        assert answer.status_code in (404, 405)
    assert local.get("/head").content == before
    forms = re.findall(r'<form[^>]*action="([^"]*)"', local.get(f"/-/account/stages/{identifier}", headers=owner).text)
    assert sorted(forms) == ["/-/account/logout", "/-/search"]
    assert all("approv" not in path for handler in STAGE_PAGES for path in handler.paths)


def test_what_strangers_staged_is_text(local: LocalRegistry, acme: Publisher) -> None:
    tail = "\n<script>alert(1)</script> <img src=x onerror=alert(2)> <svg onload=alert(3)> <meta http-equiv=refresh content=0>\n"
    identifier = stage(local, acme, "marked", tail=tail)
    browser = sign_in(local, "reader-of-marks", "--namespace", "acme", "--role", "owner")
    page = local.get(f"/-/account/stages/{identifier}", headers=browser).text
    assert html.escape("<script>alert(1)</script>") in page
    assert not re.search(r"<(script|img|svg|meta http-equiv)|<[^>]+\son\w+=", page)


def test_attached_files_are_compared_with_those_of_the_last_release(local: LocalRegistry, acme: Publisher) -> None:
    identity = Identity("skill", "acme/tidy")
    put(local, acme, identity, "1.0.0", skill_of(acme, "tidy"), {"a.sh": b"echo 1\n", "gone.md": b"g\n"})
    files = {"a.sh": (b"echo 2\nrm -rf build\n", True), "new.md": (b"n\n", False)}
    identifier = stage_skill(local, acme, "tidy", "1.1.0", files)
    browser = sign_in(local, "tidies", "--namespace", "acme", "--role", "publisher")
    tree: Any = lxml.html.fromstring(local.get(f"/-/account/stages/{identifier}", headers=browser).content)
    (changes,) = tree.xpath('//section[@aria-labelledby="changes"]')
    told = " ".join(changes.text_content().split())
    assert "Compared with 1.0.0, the last release." in told
    runs = changes.xpath('.//section[@aria-labelledby="changes-runs"]//tr/td')
    assert [cell.text_content().split()[:2] for cell in runs] == [["~"], ["attached", "file"], ["a.sh", "executable"]]
    assert "It is now executable." in told
    headings = [" ".join(one.text_content().split()) for one in changes.xpath('.//section[@class="file"]/h3')]
    assert headings == ["changed SKILL.md +1 −1", "changed a.sh +2 −1", "removed gone.md +0 −1", "added new.md +1 −0"]
    assert "rm -rf build" in changes.xpath('.//tr[@class="more"]/td[@class="text"]/text()')
    assert len(tree.xpath("//*[@id]/@id")) == len(set(tree.xpath("//*[@id]/@id")))
    source = changes.xpath('.//a[contains(@href, "/source")]/@href')
    assert source == [f"/-/skill/acme/tidy@1.0.0/source{rest}" for rest in ("", "/a.sh", "/gone.md")]
    assert all(local.get(path).status_code == 200 for path in source)


def test_what_the_last_release_was_taken_down_for_is_not_shown(local: LocalRegistry, acme: Publisher) -> None:
    identity = Identity("skill", "acme/leaky")
    put(local, acme, identity, "1.0.0", skill_of(acme, "leaky"), {"key.txt": b"the leaked secret\n"})
    put(local, acme, identity, "1.1.0", skill_of(acme, "leaky"), {"a.md": b"harmless words\n"})
    take_down(local, f"{identity}@1.0.0")
    identifier = stage_skill(local, acme, "leaky", "1.2.0", {})
    browser = sign_in(local, "mends", "--namespace", "acme", "--role", "publisher")
    page = local.get(f"/-/account/stages/{identifier}", headers=browser).text
    assert "harmless words" in page
    assert "leaked secret" not in page
    take_down(local, f"{identity}@1.1.0")
    page = local.get(f"/-/account/stages/{identifier}", headers=browser).text
    assert "There is no earlier release" in page
    assert "harmless words" not in page


def test_another_signer_than_the_last_release_had_is_said(local: LocalRegistry) -> None:
    first, second = Publisher("pair"), Publisher("pair")
    keys = (first.key.public.raw, second.key.public.raw)
    assert local.statements(local.token(), first.note(Keyset(ORIGIN, "pair", 1, None, now(), 1, keys))).is_success
    put(local, first, Identity("skill", "pair/s"), "1.0.0", skill_of(first, "s"))
    browser = sign_in(local, "pairs", "--namespace", "pair", "--role", "publisher")
    for publisher, version, is_another in ((first, "1.1.0", False), (second, "1.2.0", True)):
        identifier = stage_skill(local, publisher, "s", version, {})
        page = local.get(f"/-/account/stages/{identifier}", headers=browser).text
        assert ("Another key signed the file." in page) is is_another
        assert publisher.key.public.fingerprint in page


@pytest.mark.thorough
@pytest.mark.slow
def test_a_page_stays_small_whatever_is_staged(local: LocalRegistry, acme: Publisher) -> None:
    """Even if the previous release is also large and every byte needs marking or escaping."""
    identity = Identity("skill", "acme/large")
    put(local, acme, identity, "1.0.0", skill_of(acme, "large", "<&>" * 4_000), {"a.md": b"&<\n" * 2_000})
    lines = "".join(
        f"{number} see https://h{number}.example.org/<&> then run `rm -rf /&{number}`\n" for number in range(200)
    )
    scripts = {
        f"{number}-{'w' * 90}.sh": (f"#!/bin/sh\ncurl https://h{number}.example.org/?&<>".encode(), True)
        for number in range(30)
    }
    identifier = stage_skill(local, acme, "large", "1.1.0", {**scripts, "a.md": (b"<&\n" * 2_000, False)}, lines)
    browser = sign_in(local, "patient", "--namespace", "acme", "--role", "owner")
    answer = local.get(f"/-/account/stages/{identifier}", headers=browser)
    assert answer.status_code == 200
    assert len(answer.content) <= PAGES.html_bytes
    words = html.unescape(re.sub(r"<[^>]+>", "", answer.text))
    assert words.count(f"rye stage show {identifier}") > 5  # wherever something is left out
    assert "Not all changes fit on this page" in words
    assert f"rye stage approve {identifier}" in words


def test_lists_of_what_is_staged_are_cut_and_counted(acme: Publisher) -> None:
    text = "\n".join(f"Line {number}: see https://h{number}.example.org/ & <b>run</b> it" for number in range(600))
    data = (directive("a/large", "1.0.0") + text).encode()
    file = FileEntry(".md", len(data), hashlib.sha256(data).hexdigest())
    release = acme.release("a/large", data, file=file, capabilities=tuple(f"rye.execute.tool.t{n}" for n in range(500)))
    found = content_of(Staged(release, data, {}, [acme.key.public]), None)
    assert found.may.problem is not None
    assert (0 < len(found.may.facts.rows) <= PAGES.rows, found.may.facts.more > 500) == (True, True)
    assert (0 < len(found.may.rights.rows) <= PAGES.rows, found.may.rights.total) == (True, 501)
    assert (len(found.text), found.is_cut) == (PAGES.source_characters, True)


class TestSigners:
    """Who has signed, and who can: keys by their fingerprints, accounts by their names."""

    def test_names_are_there_before_and_after_a_signature(self, local: LocalRegistry) -> None:
        pair = Publisher("duo")
        other = Publisher("duo")
        both = tuple(sorted((pair.key.public.raw, other.key.public.raw)))
        keyset = Keyset(ORIGIN, "duo", 1, None, now(), 2, both, release_threshold=2)
        assert local.statements(local.token(), pair.note(keyset, other.signer)).status_code == 200
        browser = sign_in(local, "duo-owner", "--namespace", "duo", "--role", "owner")
        sign_in(local, "duo-reader", "--namespace", "duo", "--role", "reader")
        token = local.token("duo", scopes=["stage"], account=local.member("duo-robot", duo="publisher"))
        data = pair.file("a/it")
        assert local.blob(data, token).status_code in (200, 201)
        draft = pair.release("a/it", data)
        answer = local.post("/api/v1/stages", token, json={"drafts": [draft.text()]})
        identifier = answer.json()["stages"][0]["id"]
        fingerprints = [pair.key.public.fingerprint, other.key.public.fingerprint]

        def rows() -> tuple[dict[str, str], list[str], str]:
            tree: Any = lxml.html.fromstring(local.get(f"/-/account/stages/{identifier}", headers=browser).content)
            (section,) = tree.xpath("//section[@aria-labelledby='signatures']")
            keys = {cells[0].text_content(): cells[1].text_content() for cells in section.xpath(".//tbody/tr")}
            people = [" ".join(one.text_content().split()) for one in section.xpath(".//ul/li")]
            return keys, people, section.text_content()

        keys, people, words = rows()
        assert keys == dict.fromkeys(fingerprints, "has not signed")
        assert people == ["duo-owner owner has sent none", "duo-robot publisher has sent none"]
        assert "2 of these keys must sign" in words
        assert "by duo-robot, with the token" in local.get(f"/-/account/stages/{identifier}", headers=browser).text
        member = local.token("duo", scopes=["publish"], account=local.member("duo-publisher", duo="publisher"))
        signed = local.post(f"/api/v1/stages/{identifier}/approvals", member, json={"note": pair.note(draft)})
        assert signed.status_code == 200, signed.text
        keys, people, words = rows()
        assert keys[fingerprints[0]].startswith("signed, sent by duo-publisher at 20")
        assert keys[fingerprints[1]] == "has not signed"
        assert people == [
            "duo-owner owner has sent none",
            "duo-robot publisher has sent none",
            "duo-publisher publisher has sent one",
        ]
        assert "1 more of these keys must sign" in words
        there = local.get(f"/-/account/stages/{identifier}", headers=browser).text
        assert '<p class="printed">http' in there
        assert f"/-/account/stages/{identifier}</p>" in there

    def test_who_sent_a_signature_is_not_guessed(self, local: LocalRegistry, acme: Publisher) -> None:
        identifier = stage(local, acme, "guess")
        with database.change(local.service.engine) as connection:
            found = stages.get(connection, identifier)
            link = Ledger(connection).chain("acme").current(now())
            assert link is not None
            stages.add_signatures(connection, found, notes.parse(acme.note(found.draft)))
            signers = signers_of(
                connection, stages.get(connection, identifier), link, notes.parse(acme.note(found.draft))
            )
        (key,) = signers.keys
        assert (key.fingerprint, key.signed, key.by, key.time) == (acme.key.public.fingerprint, True, None, None)
        assert signers.missing == 0
        browser = sign_in(local, "looks", "--namespace", "acme", "--role", "owner")
        assert "it is not recorded who sent it" in local.get(f"/-/account/stages/{identifier}", headers=browser).text
