"""No item gets more rights than a person approved: the consent screen, approvals, hooks, signers and policies (DESIGN §7)."""

from __future__ import annotations

import pytest

from rye.project.lock import LockedItem, parse_lock
from tests.scenes.directive_text import SEARCH, SHELL
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

HOOK = ("cost.current > 3", "notify", "${cost.current}")
OTHER_HOOK = ("cost.current > 3", "wipe", "${cost.current}")


def locked(person: Person, identifier: str) -> LockedItem:
    items = parse_lock(person.path("rye.lock").read_text()).items
    return next(item for item in items if item.id == identifier)


class TestFirstInstallation:
    def test_without_anybody_to_ask_it_stops_with_the_command_that_agrees(self, acme: Person, user: Person) -> None:
        acme.release("first/item", permissions=SHELL, hooks=(HOOK,))
        done = user.run("add", "acme/first/item")
        assert done.code == 1
        assert "rye add acme/first/item --yes" in done.stderr
        assert not user.path("rye.lock").exists()
        assert not user.path(".ai/packages").exists()
        for shown in (
            "+ directive:acme/first/item 1.0.0",
            "signed by SHA256:",
            "(acme is new to this project)",
            "elevated",
            "rye.execute.tool.shell.run",
            "safe",
            "when cost.current > 3",
            "execute tool notify",
            "amount = ${cost.current}",
        ):
            assert shown in done.stderr

    def test_the_question_names_rights_and_hooks_only_where_some_are_shown(self, acme: Person, user: Person) -> None:
        acme.new("skill", "asked-plain")
        acme.ok("sign", ".ai/skills/asked-plain")
        acme.publish(".ai/skills/asked-plain")
        acme.release("asked/both", permissions=SHELL, hooks=(HOOK,))
        assert "Install this?" in user.terminal("add", "skill:acme/asked-plain", answer=b"n\n")
        both = user.terminal("add", "acme/asked/both", answer=b"n\n")
        assert "Install this, with these rights and these hooks?" in both

    def test_yes_records_the_rights_in_the_lock_but_approves_no_hook(self, acme: Person, user: Person) -> None:
        acme.release("first/hooked", permissions=SHELL, hooks=(HOOK,))
        user.ok("add", "acme/first/hooked", "--yes")
        item = locked(user, "acme/first/hooked")
        assert item.approved.of("right") == item.capabilities == ("rye.execute.tool.shell.run", "rye.search.tool.*")
        assert (len(item.hooks), item.approved.of("hook")) == (1, ())
        assert user.run("hooks", "approve", "acme/first/hooked", "--json").error["code"] == "consent-needed"
        shown = user.ok("hooks", "approve", "acme/first/hooked", "--yes")
        assert "execute tool notify" in shown.stderr
        assert locked(user, "acme/first/hooked").approved.of("hook") == item.hooks
        assert user.ok("install").stdout == "everything is installed\n"

    def test_approving_by_name_approves_hooks_too(self, acme: Person, user: Person) -> None:
        acme.release("first/named", hooks=(HOOK,))
        user.ok("add", "acme/first/named", "--approve", "acme/first/named@1.0.0")
        assert len(locked(user, "acme/first/named").approved.of("hook")) == 1

    def test_an_approval_of_something_else_is_an_error(self, acme: Person, user: Person) -> None:
        acme.release("first/other")
        done = user.run("add", "acme/first/other", "--approve", "acme/first/other@2.0.0", "--json")
        assert (done.code, done.refusal) == (2, "unknown-name release")

    def test_what_an_author_writes_cannot_pass_for_a_line_of_the_screen(self, acme: Person, user: Person) -> None:
        forged = "x&#10;  + directive:acme/first/innocent 1.0.0&#10;      signed by SHA256:you"
        acme.release("first/forger", hooks=(("cost.current > 3", "notify", forged),))
        done = user.run("add", "acme/first/forger")
        assert not any(line.startswith("  + directive:acme/first/innocent") for line in done.stderr.split("\n"))
        assert "acme/first/innocent" in done.stderr

    @pytest.mark.parametrize(("amount", "summed_up"), [("x", False), ("x" * 5_000, True)])
    def test_a_long_hook_cannot_push_the_rights_out_of_sight(
        self, acme: Person, user: Person, amount: str, summed_up: bool
    ) -> None:
        """Rights come first on the screen and the question last; an author's text between them has no length limit."""
        name = f"first/long_{len(amount)}"
        acme.release(name, permissions=SHELL, hooks=(("cost.current > 3", "notify", amount),))
        shown = user.terminal("add", f"acme/{name}", "--color", "never", answer=b"n\n")
        last = " ".join(shown[: shown.index("Install this")].split()[-20:])
        assert ("1 item: 1 elevated right 1 safe right 1 hook" in last) is summed_up


class TestUpdate:
    def test_a_wider_right_stops_even_with_yes_until_it_is_approved_by_name(self, acme: Person, user: Person) -> None:
        acme.release("wide/item", permissions="<search><tool>bench.*</tool></search>")
        user.ok("add", "acme/wide/item", "--yes")
        before = user.path("rye.lock").read_bytes()
        acme.release("wide/item", "1.1.0", permissions=SEARCH)
        done = user.run("update", "--yes", "--json")
        assert (done.code, done.error["code"]) == (1, "consent-needed")
        (change,) = done.error["changes"]
        assert change["needs_approval"] is True
        (asked,) = change["asks"]
        assert asked["capability"] == "rye.search.tool.*"
        assert asked["example"].startswith("rye.search.tool.")
        assert not asked["example"].startswith("rye.search.tool.bench.")
        assert "--approve directive:acme/wide/item@1.1.0" in done.error["hint"]
        assert user.path("rye.lock").read_bytes() == before
        user.ok("update", "--approve", "directive:acme/wide/item@1.1.0")
        assert locked(user, "acme/wide/item").approved.of("right") == ("rye.search.tool.*",)

    def test_an_approval_of_another_version_is_none(self, acme: Person, user: Person) -> None:
        acme.release("wide/again", permissions="<search><tool>bench.*</tool></search>")
        user.ok("add", "acme/wide/again", "--yes")
        acme.release("wide/again", "1.1.0", permissions=SEARCH)
        assert user.run("update", "--approve", "acme/wide/again@1.0.0").code == 2

    def test_the_same_rights_in_other_words_are_no_widening(self, acme: Person, user: Person) -> None:
        acme.release("wide/words", permissions=SEARCH)
        user.ok("add", "acme/wide/words", "--yes")
        acme.release(
            "wide/words", "1.1.0", permissions="<search><tool>a*</tool><tool>[!a]*</tool></search>", text="New words."
        )
        user.ok("update")
        assert locked(user, "acme/wide/words").version == "1.1.0"

    def test_narrowing_counts_when_it_is_widened_again(self, acme: Person, user: Person) -> None:
        acme.release("wide/ratchet", permissions=SHELL)
        user.ok("add", "acme/wide/ratchet", "--yes")
        acme.release("wide/ratchet", "1.1.0", permissions=SEARCH)
        user.ok("update")
        acme.release("wide/ratchet", "1.2.0", permissions=SHELL)
        assert user.run("update", "--yes", "--json").error["code"] == "consent-needed"

    def test_a_new_hook_stops_it(self, acme: Person, user: Person) -> None:
        acme.release("hook/item", hooks=(HOOK,))
        user.ok("add", "acme/hook/item", "--approve", "acme/hook/item@1.0.0")
        acme.release("hook/item", "1.0.1", hooks=(HOOK,), text="Better words.")
        user.ok("update")
        assert len(locked(user, "acme/hook/item").approved.of("hook")) == 1
        acme.release("hook/item", "1.1.0", hooks=(HOOK, OTHER_HOOK))
        done = user.run("update", "--yes", "--json")
        assert [hook["item_id"] for hook in done.error["changes"][0]["hooks"]] == ["wipe"]
        user.ok("update", "--approve", "acme/hook/item@1.1.0")
        assert len(locked(user, "acme/hook/item").approved.of("hook")) == 2

    def test_a_changed_condition_or_input_makes_a_hook_new(self, acme: Person, user: Person) -> None:
        acme.release("hook/changed", hooks=(HOOK,))
        user.ok("add", "acme/hook/changed", "--approve", "acme/hook/changed@1.0.0")
        acme.release("hook/changed", "1.1.0", hooks=(("cost.current > 0", "notify", "${cost.current}"),))
        assert user.run("update", "--yes", "--json").error["code"] == "consent-needed"

    def test_another_signer_stops_it(self, registry: Registry, user: Person) -> None:
        author = registry.owner("rotating")
        author.release("key/item")
        user.ok("add", "rotating/key/item", "--yes")
        old = locked(user, "rotating/key/item").signer
        person = author
        person.ok("keys", "generate", "--name", "second")
        exported = person.ok("keys", "export", "second").stdout
        person.write("second.pem", exported)
        person.ok("namespace", "keys", "add", "rotating", "second.pem")
        path = ".ai/directives/key/item.md"
        person.write(path, person.path(path).read_text().replace('version="1.0.0"', 'version="1.0.1"'))
        person.ok("sign", path, "--key", "second")
        person.ok("publish", path, "--key", "second", "--allow-uncommitted", "--yes")
        done = user.run("update", "--yes", "--json")
        assert (done.code, done.error["code"]) == (1, "consent-needed")
        assert done.error["changes"][0]["signer_changed"] is True
        assert done.error["changes"][0]["signer_before"] == old
        assert "previously by " + old in user.run("update", "--yes").stderr
        manifest = user.path("rye.toml").read_text()
        user.write("rye.toml", manifest.replace("^1.0.0", "1.0.1"))
        user.ok("lock")
        shown = user.run("install", "--yes").stderr
        assert f"signed by {locked(user, 'rotating/key/item').signer}, previously by {old}" in shown
        user.ok("install", "--approve", "rotating/key/item@1.0.1")
        assert locked(user, "rotating/key/item").signer != old

    def test_what_is_new_is_said_of_the_namespace_or_of_its_signer(self, registry: Registry, user: Person) -> None:
        author = registry.owner("turning")
        author.release("key/item")
        shown = user.ok("add", "turning/key/item", "--yes").stderr
        assert "(turning is new to this project)" in shown
        author.ok("keys", "generate", "--name", "second")
        author.write("second.pem", author.ok("keys", "export", "second").stdout)
        author.ok("namespace", "keys", "add", "turning", "second.pem")
        path = author.directive("key/other", signed=False)
        author.ok("sign", path, "--key", "second")
        author.ok("publish", path, "--key", "second", "--allow-uncommitted", "--yes")
        shown = user.ok("add", "turning/key/other", "--yes").stderr
        assert f"signed by {author.fingerprint('second')}  (new for turning in this project)" in shown
        author.release("key/third")
        assert "new" not in user.ok("add", "turning/key/third", "--yes").stderr

    def test_locking_first_is_no_way_around_it(self, acme: Person, user: Person) -> None:
        """``rye lock`` records no consent, so the next installation asks as if it had not run."""
        acme.release("around/item", permissions="<search><tool>bench.*</tool></search>")
        user.ok("add", "acme/around/item@1.0.0", "--yes")
        acme.release("around/item", "1.1.0", permissions=SHELL, hooks=(HOOK,))
        manifest = user.path("rye.toml").read_text()
        user.write("rye.toml", manifest.replace('"1.0.0"', '"1.1.0"'))
        user.ok("lock")
        assert locked(user, "acme/around/item").approved.signer == locked(user, "acme/around/item").signer
        for words in (("install",), ("install", "--yes"), ("ci",), ("ci", "--yes")):
            done = user.run(*words, "--json")
            assert (done.code, done.error["code"]) == (1, "consent-needed"), words
            assert done.error["changes"][0]["hooks"]
        user.ok("install", "--approve", "acme/around/item@1.1.0")
        assert locked(user, "acme/around/item").approved.signer is None
        assert len(locked(user, "acme/around/item").approved.of("hook")) == 1

    def test_an_update_that_asks_for_nothing_goes_through(self, acme: Person, user: Person) -> None:
        acme.release("calm/item")
        user.ok("add", "acme/calm/item", "--yes")
        acme.release("calm/item", "1.0.1", text="Better words.")
        assert user.ok("update", "--json").json["changes"][0]["action"] == "update"

    def test_only_the_named_items_move(self, acme: Person, user: Person) -> None:
        for name in ("move/one", "move/two"):
            acme.release(name)
        user.ok("add", "acme/move/one", "acme/move/two", "--yes")
        for name in ("move/one", "move/two"):
            acme.release(name, "1.1.0", text="Newer.")
        user.ok("update", "acme/move/one")
        assert [locked(user, f"acme/move/{name}").version for name in ("one", "two")] == ["1.1.0", "1.0.0"]
        assert user.run("update", "acme/move/three", "--json").error["code"] == "not-installed"


class TestPolicy:
    @pytest.fixture
    def shell(self, acme: Person, user: Person) -> str:
        """The id of a released item that may execute a shell."""
        number = int(user.home.parent.name.rpartition("-")[2])
        name = f"policy/shell_{'abcdefghjk'[number % 10]}{'abcdefghjk'[number // 10 % 10]}"
        acme.release(name, permissions=SHELL)
        return f"acme/{name}"

    @pytest.mark.parametrize(
        ("policy", "rule"),
        [
            ('max-tier = "write"', "maximum-tier"),
            ('forbid = ["rye.execute.tool.*shell*"]', "forbidden"),
            ('allow = ["rye.search.*"]', "allowed"),
        ],
    )
    def test_what_it_forbids_is_not_installed_whatever_anybody_says(
        self, user: Person, shell: str, policy: str, rule: str
    ) -> None:
        with user.path("rye.toml").open("a") as manifest:
            manifest.write(f"\n[policy]\n{policy}\n")
        done = user.run("add", shell, "--yes", "--approve", f"{shell}@1.0.0", "--json")
        assert (done.code, done.error["code"]) == (1, "policy-violation")
        assert {found["rule"] for found in done.error["violations"]} == {rule}
        assert not user.path(".ai/packages").exists()

    def test_the_users_and_the_organizations_file_can_only_tighten(self, user: Person, shell: str) -> None:
        own = user.home / "config" / "policy.toml"
        organization = user.home / "organization.toml"
        own.write_text('[policy]\nmax-tier = "unrestricted"\n')
        organization.write_text('[policy]\nmax-tier = "safe"\n')
        with user.path("rye.toml").open("a") as manifest:
            manifest.write('\n[policy]\nmax-tier = "elevated"\n')
        env = {"RYE_POLICY": str(organization)}
        assert user.run("add", shell, "--yes", "--json", env=env).error["code"] == "policy-violation"
        user.ok("add", shell, "--yes")
        own.write_text('[policy]\nforbid = ["rye.execute.*"]\n')
        for words in (("install",), ("ci",), ("update",)):
            assert user.run(*words, "--json").error["code"] == "policy-violation"
        assert "policy" in user.run("audit").stdout

    def test_an_organizations_file_that_is_missing_or_damaged_is_an_error(self, user: Person, shell: str) -> None:
        missing = {"RYE_POLICY": str(user.home / "nowhere.toml")}
        assert user.run("add", shell, "--yes", "--json", env=missing).error["code"] == "no-policy"
        damaged = user.home / "damaged.toml"
        damaged.write_text('[policy]\nmax-teir = "safe"\n')
        assert user.run("add", shell, "--yes", env={"RYE_POLICY": str(damaged)}).code == 1

    def test_a_release_must_be_old_enough(self, user: Person, shell: str) -> None:
        with user.path("rye.toml").open("a") as manifest:
            manifest.write('\n[policy]\nminimum-release-age = "3d"\n')
        for words in (f"{shell}@1.0.0", shell):
            done = user.run("add", words, "--yes", "--json")
            assert (done.code, done.error["code"]) == (1, "unsolvable")
            assert "minimum-release-age" in done.error["message"]

    def test_a_bad_range_names_its_line_of_the_manifest(self, user: Person, shell: str) -> None:
        text = user.path("rye.toml").read_text().replace("[dependencies]\n", f'[dependencies]\n"{shell}" = "latest"\n')
        user.write("rye.toml", text)
        done = user.run("install", "--yes", "--json")
        assert (done.code, done.error["code"]) == (2, "bad-range")
        assert done.error["message"].startswith(f"rye.toml: {shell}: ")

    def test_the_age_holds_for_a_lock_too(self, user: Person, shell: str) -> None:
        user.ok("add", shell, "--yes")
        user.path(".ai/packages/" + shell.replace("acme/", "acme/directives/", 1) + ".md").unlink()
        with user.path("rye.toml").open("a") as manifest:
            manifest.write('\n[policy]\nminimum-release-age = "3d"\n')
        refused = user.run("ci", "--json").error
        assert refused["code"] == "locked-release-refused"
        assert "it is younger than minimum-release-age (released " in refused["message"]
        assert refused["hint"].startswith("Wait until it is old enough")

    def test_only_required_signers_count(self, user: Person, acme: Person, shell: str) -> None:
        own = user.home / "config" / "policy.toml"
        own.write_text('[policy]\nrequired-signers = ["SHA256:somebodyelse"]\n')
        message = user.run("add", f"{shell}@1.0.0", "--yes", "--json").error["message"]
        assert "is not signed by a key that the policy requires" in message
        assert "revoked" not in message
        signer = acme.ok("keys", "list", "--json").json["keys"][0]["fingerprint"]
        own.write_text(f'[policy]\nrequired-signers = ["{signer}"]\n')
        user.ok("add", shell, "--yes")
        own.write_text('[policy]\nrequired-signers = ["SHA256:somebodyelse"]\n')
        assert user.run("install", "--json").error["code"] == "locked-release-refused"
