"""``rye-registry policy``: a file with [policy] becomes a statement that the owners signed, and nobody else can send one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from registry_server.accounts import registry_keys
from registry_server.accounts.registry_keys import PrivateKey
from rye.registry.protocol import notes
from rye.registry.protocol.statements import OrganizationPolicy, root_key_name
from rye.registry.trust.policies import POLICY, decode_newest, read_organization_policy
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import ORIGIN, init, run

WORDS = 'expires = "14d"\nforbid = ["rye.execute.tool.*"]\nnamespaces = ["acme", "*@other.example"]\n'


@pytest.fixture
def data(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    init(made)
    return made


class Operator:
    def __init__(self, data: Path, folder: Path):
        self.data, self.file = data, folder / "policy.toml"

    def publish(self, words: str = WORDS, *arguments: str) -> dict[str, Any]:
        self.file.write_text(f"[policy]\n{words}")
        return self.send(self.file, *arguments)

    def send(self, file: Path, *arguments: str) -> dict[str, Any]:
        done = run("policy", "publish", str(file), "--data", str(self.data), "--json", *arguments, check=False)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def code(self, words: str, *arguments: str) -> str:
        return str(self.publish(words, *arguments)["error"]["code"])

    def shown(self) -> OrganizationPolicy:
        return read_organization_policy(decode_newest((self.data / "public" / POLICY).read_bytes()))[1]


@pytest.fixture
def operator(data: Path, tmp_path: Path) -> Operator:
    return Operator(data, tmp_path)


def test_each_policy_follows_the_one_before(operator: Operator) -> None:
    first = operator.publish()
    second = operator.publish('expires = "7d"\n')
    assert (first["number"], second["number"]) == (1, 2)
    assert operator.shown().previous == first["sha256"]
    shown = json.loads(run("policy", "show", "--data", str(operator.data), "--json").stdout)
    assert (shown["sha256"], shown["rules"]) == (second["sha256"], [])
    assert run("verify", "--data", str(operator.data)).returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        "",
        'expires = "1000d"\n',
        'expires = "0h"\n',
        "expires = 2020-01-01\n",
        'expires = "14d"\nforbidden = ["x"]\n',
        'expires = "14d"\nmax-tier = "harmless"\n',
        'expires = "14d"\nnamespaces = ["*"]\n',
        'expires = "14d"\nrequired-reviewers = "two"\n',
        'expires = "14d"\nsources = "all"\n',
        'expires = "14d"\n[policy.facts]\nno-such-fact = "forbid"\n',
        'expires = "14d"\n[project]\nname = "x"\n',
        'expires = "14d"\nforbid = ["rye.exceute.tool.*"]\n',
        'expires = "14d"\nforbid = ["rye.execute.tool.acme/shell"]\n',
        'expires = "14d"\nforbid = ["rye.execute.tool.acme.Shell.*"]\n',
        'expires = "14d"\nallow = ["rye.search"]\n',
        'expires = "14d"\n[policy.risk]\n"rye.execute.tols.*" = "unrestricted"\n',
        'expires = "14d"\n[policy.approval]\n"rye.execute.tols.*" = "deny"\n',
        'expires = "14d"\nforbid-targets = ["cusror"]\n',
        'expires = "14d"\nrequired-signers = ["KOejVZy49fm1cFL2SqBN7RSv6z+osGTYOTs+Akqptrs"]\n',
        "expires = \n",
    ],
)
def test_a_mistake_is_found_before_everybody_stops(operator: Operator, words: str) -> None:
    assert operator.code(words) == "bad-manifest"
    assert not (operator.data / "public" / POLICY).exists()


def test_rules_that_have_an_effect_are_published(operator: Operator) -> None:
    words = """allow = ["rye.*"]
forbid = ["rye.execute.tool.*.shell.*", "rye.search.knowledge", "*", "rye.execute.tool.[!a]*"]
forbid-targets = ["cursor"]
required-signers = ["SHA256:KOejVZy49fm1cFL2SqBN7RSv6z+osGTYOTs+Akqptrs"]
[policy.approval]
"rye.load.*" = "deny"
"""
    assert operator.publish(f'expires = "14d"\n{words}')["number"] == 1


def test_a_witness_that_has_no_key_is_a_mistake(operator: Operator) -> None:
    assert operator.code('expires = "14d"\nrequired-witnesses = ["w1"]\n') == "note-key-invalid"


def test_owners_on_other_machines_sign_a_draft(operator: Operator, tmp_path: Path) -> None:
    second, draft = PrivateKey.generate(root_key_name(ORIGIN)), tmp_path / "draft"
    registry_keys.write(tmp_path / "second", second)
    added = notes.encode_base64(second.verifier.key)
    root = tmp_path / "root"
    run("root", "draft", "-o", str(root), "--add-owner", added, "--threshold", "2", "--data", str(operator.data))
    (first,) = (path for path in (operator.data / "keys").iterdir() if path.name.startswith("root"))
    for key in (first, tmp_path / "second"):
        run("root", "sign", str(root), "--key", str(key))
    run("root", "publish", str(root), "--data", str(operator.data))
    assert operator.code(WORDS) == "policy-signer"  # one of two owners
    registry_keys.write(tmp_path / "stranger", PrivateKey.generate(root_key_name(ORIGIN)))
    assert operator.code(WORDS, "--key", str(first), "--key", str(tmp_path / "stranger")) == "policy-signer"
    operator.publish(WORDS, "--draft", str(draft))
    assert operator.send(draft)["error"]["code"] == "not-signed"
    for key in (first, tmp_path / "second"):
        run("root", "sign", str(draft), "--key", str(key))
    assert operator.send(draft)["number"] == 1
    assert operator.send(draft)["position"] == operator.send(draft)["position"]  # the same again changes nothing
    operator.publish(WORDS, "--key", str(first), "--key", str(tmp_path / "second"))
    assert operator.send(draft)["error"]["code"] == "policy-chain"  # an older one never comes back


def test_nobody_can_send_a_policy_as_a_statement(data: Path) -> None:
    with LocalRegistry(data, make=False) as registry:
        text = (Path(__file__).parents[1] / "vectors/statements/policy.txt").read_text("utf-8")
        policy = OrganizationPolicy.parse(text)
        answer = registry.statements(registry.token(), Publisher("acme").note(policy))
        assert error_code(answer) == "statement-not-accepted"


def test_rebuild_restore_and_export_keep_the_newest(operator: Operator, tmp_path: Path) -> None:
    operator.publish()
    operator.publish()
    newest = (operator.data / "public" / POLICY).read_bytes()
    (operator.data / "public" / POLICY).unlink()
    assert run("verify", "--data", str(operator.data), check=False).returncode == 1
    run("rebuild", "--data", str(operator.data))
    assert (operator.data / "public" / POLICY).read_bytes() == newest
    run("export", str(tmp_path / "copy"), "--data", str(operator.data))
    run("restore", "--from", str(tmp_path / "copy"), "--data", str(tmp_path / "again"))
    assert (tmp_path / "again" / "public" / POLICY).read_bytes() == newest
    assert run("verify", "--data", str(tmp_path / "again")).returncode == 0


def test_people_read_it_in_the_log(operator: Operator) -> None:
    position = operator.publish()["position"]
    with LocalRegistry(operator.data, make=False) as registry:
        page = registry.get(f"/-/log/{position}").text
    assert "published policy 1" in page
