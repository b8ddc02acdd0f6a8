"""One of several registries is silent: the others go on, what is missing is said, and a wrong answer is never taken for silence.

Both registries are whole ones in this process; only the sending of requests is played.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from rye.items.identity import Identity
from rye.limits import RegistryLimits
from rye.project.lock import parse_lock
from rye.registry import client as clients
from rye.registry.protocol import notes
from rye.registry.protocol.statements import Release, Revocation
from rye.registry.transport.seam import Fetched, FetchError, NoAnswer, Request
from rye.workspace.registries import project_registries
from tests.attacks.signed_items import directive, release
from tests.attacks.simulation import now
from tests.registry.memory_transport import MemoryTransport
from tests.registry.simulated_registry import SimulatedRegistry, key
from tests.scenes.person import Person
from tests.schemas.test_catalog import check

BASE, TOP, ALONE = (Identity("directive", f"acme/work/{name}") for name in ("base", "top", "alone"))
LINT, DEPLOY = (Identity("directive", f"zeta/ops/{name}") for name in ("lint", "deploy"))
ACME, ZETA, FRONT = "https://acme.example", "https://zeta.example", "https://front.example"
NOT_EXAMINED = "not-examined"


class Wire(MemoryTransport):
    """The network to one registry. ``refuses``: the answer to each path that begins with ``below``."""

    def __init__(self, registry: SimulatedRegistry) -> None:
        super().__init__(registry.files)
        self.refuses: FetchError | None = None
        self.below = ""

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        found = super().fetch_many(requests)
        if self.refuses is None:
            return found
        pairs = zip(requests, found, strict=True)
        return [self.refuses if one.path.startswith(self.below) else data for one, data in pairs]

    def fall_silent(self, below: str = "") -> None:
        """No packet comes back, from now on or for these files only."""
        self.refuses, self.below = NoAnswer("fetch-deadline", "head did not arrive.", reason="no answer in time"), below


class Scene:
    """Two registries, and a user whose project needs both."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        began = now() - timedelta(hours=2)
        self.acme = SimulatedRegistry(origin="acme.example", now=began)
        self.zeta = SimulatedRegistry(origin="zeta.example", now=began)
        self.acme.claim("acme")
        for item in (BASE, ALONE):
            release(self.acme, item, "1.0.0", directive(item))
        release(self.acme, TOP, "1.0.0", directive(TOP, depends=((BASE.id, "^1.0"),)))
        self.acme.publish()
        self.zeta.claim("zeta")
        release(self.zeta, LINT, "1.0.0", directive(LINT))
        release(self.zeta, DEPLOY, "1.0.0", directive(DEPLOY, depends=((BASE.id, "^1.0"),)))
        self.zeta.publish()
        self.to = {ACME: Wire(self.acme), ZETA: Wire(self.zeta)}

        def opened(address: str, limits: RegistryLimits, **options: object) -> Wire:
            return self.to[address]

        monkeypatch.setattr(clients, "open_transport", opened)
        self.user = Person(folder)
        lines = f'acme = "{ACME}"\nzeta = "{ZETA}"'
        self.user.write("rye.toml", f'[project]\nname = "shop"\n\n[registries]\n{lines}\n')
        for address, registry in ((ACME, self.acme), (ZETA, self.zeta)):
            self.user.ok("registry", "add", address, "--fingerprint", registry.fingerprint)
        self.user.ok("add", TOP.id, LINT.id, "--yes")

    def news(self) -> None:
        """Both registries get newer versions."""
        for registry, item in ((self.acme, TOP), (self.zeta, LINT)):
            release(registry, item, "1.1.0", directive(item, "1.1.0", depends=((BASE.id, "^1.0"),) * (item == TOP)))
            registry.publish()

    def versions(self) -> dict[str, str]:
        return {item.id: item.version for item in parse_lock(self.user.path("rye.lock").read_text()).items}

    def registries(self) -> dict[str, str]:
        return {item.id: item.registry for item in parse_lock(self.user.path("rye.lock").read_text()).items}


def take_down(registry: SimulatedRegistry, identity: Identity) -> None:
    """Take 1.0.0 down, and publish that."""
    released = [Release.parse(notes.parse(leaf).text) for leaf in registry.leaves if leaf.startswith(Release.TITLE)]
    [first] = [one for one in released if (one.identity, one.version) == (identity, "1.0.0")]
    registry.take_down(identity, "1.0.0", [first.file.sha256])
    registry.publish()


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, monkeypatch)


class TestOutdated:
    def test_it_shows_what_it_could_ask_and_says_who_is_missing_and_exits_with_1(self, scene: Scene) -> None:
        scene.news()
        scene.to[ACME].fall_silent()
        done = scene.user.run("outdated", "--json")
        document = done.json
        check("json-outdated", document)
        assert done.code == 1
        assert [(row["id"], row["wanted"]) for row in document["outdated"]] == [(LINT.id, "1.1.0")]
        [missing] = document["not_asked"]
        assert (missing["registry"], missing["code"]) == (ACME, "fetch-deadline")
        assert missing["last_seen"].startswith("20")
        shown = scene.user.run("outdated")
        assert shown.code == 1
        assert (
            f"The registry at {ACME} does not answer: no answer in time. Its last verified state is from 20"
            in shown.stderr
        )
        assert "1.1.0" in shown.stdout

    def test_an_earlier_answer_is_not_shown_as_if_everybody_had_answered(self, scene: Scene) -> None:
        assert scene.user.ok("outdated", "--json").json == {"outdated": []}
        scene.to[ACME].fall_silent()
        done = scene.user.run("outdated", "--json")
        assert (done.code, [one["registry"] for one in done.json["not_asked"]]) == (1, [ACME])
        assert "Everything else is at its newest version." in scene.user.run("outdated").stderr
        scene.to[ACME].refuses = None
        assert scene.user.ok("outdated", "--json").json == {"outdated": []}

    def test_a_head_and_then_silence_is_silence_and_nothing_is_remembered_of_it(self, scene: Scene) -> None:
        scene.news()
        scene.to[ACME].fall_silent("map/")
        done = scene.user.run("outdated", "--json")
        assert (done.code, [one["registry"] for one in done.json["not_asked"]]) == (1, [ACME])
        assert [row["id"] for row in done.json["outdated"]] == [LINT.id]
        scene.to[ACME].fall_silent()
        scene.user.path(f".ai/packages/acme/directives/{TOP.local_id}.md").unlink()
        scene.user.ok("install")

    def test_after_72_hours_the_others_are_still_shown(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        later = now() + timedelta(hours=80)
        monkeypatch.setitem(clients.RegistryClient.__init__.__kwdefaults__ or {}, "now", lambda: later)
        scene.zeta.now = later
        scene.news()
        scene.to[ACME].fall_silent()
        done = scene.user.run("outdated", "--json")
        assert [row["id"] for row in done.json["outdated"]] == [LINT.id]
        [missing] = done.json["not_asked"]
        assert scene.user.run("outdated").stderr.count("last verified state") == 1
        assert (done.code, missing["code"]) == (1, "head-frozen")
        assert missing["last_seen"]

    def test_if_nobody_answers_it_fails(self, scene: Scene) -> None:
        scene.to[ACME].fall_silent()
        scene.to[ZETA].fall_silent()
        scene.user.fails("outdated", code="fetch-deadline")


class TestAudit:
    def test_a_silent_registry_is_an_error_that_no_level_and_no_line_of_the_project_hides(self, scene: Scene) -> None:
        """A man in the middle holds back the packets of one registry, so that no yank arrives; the author of rye.toml helps."""
        scene.acme.yank(TOP, "1.0.0")
        scene.acme.advise(TOP, "*")
        scene.acme.publish()
        scene.to[ACME].fall_silent()
        lines = "".join(
            f'{{ id = "{NOT_EXAMINED}:{item}", until = "2099-01-01", reason = "no" }},' for item in (TOP, BASE, LINT)
        )
        text = scene.user.path("rye.toml").read_text()
        scene.user.write("rye.toml", f"{text}\n[audit]\nignore = [{lines}]\n")
        for words in ((), ("--level", "info")):
            done = scene.user.run("audit", *words, "--json")
            check("json-audit", done.json)
            assert (done.code, done.json["ok"]) == (1, False)
            [finding] = [one for one in done.json["findings"] if one["rule"] == NOT_EXAMINED]
            assert (finding["severity"], finding["item"]) == ("error", None)
            assert f"The registry at {ACME} does not answer" in finding["message"]
            assert str(TOP) in finding["message"]
            assert str(LINT) not in finding["message"]
        assert scene.user.run("audit", "--sarif").code == 1

    def test_what_the_last_verified_state_and_the_others_say_is_found_all_the_same(self, scene: Scene) -> None:
        scene.acme.yank(BASE, "1.0.0")
        scene.zeta.advise(LINT, "*")
        for registry in (scene.acme, scene.zeta):
            registry.publish()
        scene.user.run("audit")
        scene.to[ACME].fall_silent()
        rules = {(one["rule"], one["item"]) for one in scene.user.run("audit", "--json").json["findings"]}
        assert rules == {("yanked", str(BASE)), ("advisory", str(LINT)), (NOT_EXAMINED, None)}

    def test_silence_after_the_head_is_no_clean_audit_and_no_false_alarm(self, scene: Scene) -> None:
        scene.news()
        scene.to[ACME].fall_silent("map/")
        done = scene.user.run("audit", "--json")
        assert (done.code, [one["rule"] for one in done.json["findings"]]) == (1, [NOT_EXAMINED])

    def test_if_nobody_answers_the_findings_say_so(self, scene: Scene) -> None:
        scene.to[ACME].fall_silent()
        scene.to[ZETA].fall_silent()
        done = scene.user.run("audit", "--json")
        assert (done.code, [one["rule"] for one in done.json["findings"]]) == (1, [NOT_EXAMINED] * 2)


class TestUpdate:
    def test_what_is_named_moves_and_what_the_silent_registry_has_stays_as_it_is(self, scene: Scene) -> None:
        scene.news()
        scene.to[ACME].fall_silent()
        before = scene.registries()
        done = scene.user.ok("update", LINT.id, "--json")
        check("json-install", done.json)
        assert scene.versions() == {LINT.id: "1.1.0", TOP.id: "1.0.0", BASE.id: "1.0.0"}
        assert scene.registries() == before
        assert [one["registry"] for one in done.json["not_asked"]] == [ACME]
        assert f"The registry at {ACME} does not answer" in done.stderr
        assert "What it has in rye.lock stays as it is." in done.stderr

    def test_what_is_named_of_the_silent_registry_does_not(self, scene: Scene) -> None:
        scene.news()
        scene.to[ACME].fall_silent()
        assert ACME in scene.user.fails("update", TOP.id, code="fetch-deadline")["message"]
        assert scene.versions()[TOP.id] == "1.0.0"

    def test_all_or_nothing_moves_and_the_hint_says_what_can(self, scene: Scene) -> None:
        scene.news()
        before = scene.user.path("rye.lock").read_bytes()
        scene.to[ACME].fall_silent()
        error = scene.user.fails("update", code="fetch-deadline")
        assert "2 of 3 items" in error["message"]
        assert f"`rye update {LINT.id}`" in error["hint"]
        assert scene.user.path("rye.lock").read_bytes() == before
        scene.user.ok("update", LINT.id)

    @pytest.mark.parametrize("below", ["map/", "index/"])
    def test_a_head_and_then_silence_is_silence(self, scene: Scene, below: str) -> None:
        scene.news()
        before = scene.user.path("rye.lock").read_bytes()
        scene.to[ACME].fall_silent(below)
        for words in ((), (TOP.id,), (LINT.id,)):
            assert ACME in scene.user.fails("update", *words, code="fetch-deadline")["message"]
        assert scene.user.path("rye.lock").read_bytes() == before

    def test_nobody_else_answers_in_its_place(self, scene: Scene) -> None:
        """The other registry has the same namespace and a newer release of the very item."""
        scene.zeta.claim("acme")
        release(scene.zeta, TOP, "9.0.0", directive(TOP, "9.0.0"))
        scene.news()
        scene.to[ACME].fall_silent()
        scene.user.ok("update", LINT.id)
        scene.user.fails("update", code="fetch-deadline")
        assert scene.versions()[TOP.id] == "1.0.0"
        assert scene.registries()[TOP.id] == "acme.example"

    def test_silence_chooses_no_older_version_of_what_somebody_else_has(self, scene: Scene) -> None:
        """DEPLOY 1.2.0 needs a newer BASE. Whoever silences acme must not bring about 1.1.0 in its place."""
        scene.user.ok("add", DEPLOY.id, "--yes")
        release(scene.zeta, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0", depends=((BASE.id, "^1.0"),)))
        release(scene.zeta, DEPLOY, "1.2.0", directive(DEPLOY, "1.2.0", depends=((BASE.id, "^2.0"),)))
        release(scene.acme, BASE, "2.0.0", directive(BASE, "2.0.0"))
        for registry in (scene.acme, scene.zeta):
            registry.publish()
        scene.to[ACME].fall_silent()
        error = scene.user.fails("update", DEPLOY.id, code="fetch-deadline")
        assert f"{DEPLOY} 1.2.0 needs another {BASE} than is here: rye.lock has it at 1.0.0." in error["message"]
        assert ACME in error["message"]
        assert f"`rye update {DEPLOY}@1.1.0`" in error["hint"]
        scene.user.ok("update", f"{DEPLOY}@1.1.0")
        assert scene.versions()[DEPLOY.id] == "1.1.0"

    def test_nor_where_the_lock_has_nothing_of_the_silent_registry(self, scene: Scene) -> None:
        scene.user.ok("remove", TOP.id)
        scene.news()
        release(scene.zeta, LINT, "1.2.0", directive(LINT, "1.2.0", depends=((ALONE.id, "^1.0"),)))
        scene.zeta.publish()
        scene.to[ACME].fall_silent()
        for words in ((LINT.id,), ()):
            error = scene.user.fails("update", *words, code="fetch-deadline")
            assert f"{LINT} 1.2.0 needs another {ALONE} than is here: rye.lock does not have it." in error["message"]
        scene.user.ok("update", f"{LINT.id}@1.1.0")
        scene.user.ok("remove", LINT.id)
        assert ACME in scene.user.fails("add", f"{LINT.id}@>=1.2", "--yes", code="fetch-deadline")["message"]
        scene.to[ACME].refuses = None
        scene.user.ok("add", LINT.id, "--yes")
        assert scene.versions() == {LINT.id: "1.2.0", ALONE.id: "1.0.0"}

    @pytest.mark.parametrize("silent", [True, False])
    def test_nor_by_what_a_newer_version_conflicts_with(self, scene: Scene, silent: bool) -> None:
        """LINT 1.2.0 does not go with BASE 1.0.0, and only acme could say that there is a BASE 1.1.0."""
        scene.news()
        release(scene.zeta, LINT, "1.2.0", directive(LINT, "1.2.0", conflicts=((BASE.id, "&lt;1.1"),)))
        release(scene.acme, BASE, "1.1.0", directive(BASE, "1.1.0"))
        for registry in (scene.acme, scene.zeta):
            registry.publish()
        if silent:
            scene.to[ACME].fall_silent()
            error = scene.user.fails("update", LINT.id, code="fetch-deadline")
            assert f"{LINT} 1.2.0 needs another {BASE} than is here: rye.lock has it at 1.0.0." in error["message"]
        else:
            scene.user.ok("update", LINT.id, "--yes")
        assert scene.versions()[LINT.id] == ("1.0.0" if silent else "1.2.0")

    def test_nor_by_what_it_has_in_the_lock(self, scene: Scene) -> None:
        """TOP 1.1.0 asks for a LINT below 1.2. Only acme could say whether a newer TOP still does."""
        release(scene.acme, TOP, "1.1.0", directive(TOP, "1.1.0", depends=((LINT.id, "&lt;1.2"),)))
        scene.acme.publish()
        scene.user.ok("update", TOP.id)
        for version in ("1.1.0", "1.2.0"):
            release(scene.zeta, LINT, version, directive(LINT, version))
        scene.zeta.publish()
        scene.to[ACME].fall_silent()
        error = scene.user.fails("update", LINT.id, code="fetch-deadline")
        assert f"{LINT} 1.2.0 does not go with what rye.lock has of those who do not answer." in error["message"]
        scene.user.ok("update", f"{LINT.id}@1.1.0")

    def test_what_fits_nobody_is_not_put_down_to_silence(self, scene: Scene) -> None:
        release(scene.zeta, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0", conflicts=((LINT.id, "*"),)))
        scene.zeta.publish()
        scene.to[ACME].fall_silent()
        assert ACME not in scene.user.fails("add", f"{DEPLOY.id}@>=1.1", "--yes", code="unsolvable")["message"]

    def test_something_new_of_a_silent_registry_is_never_taken_from_memory(self, scene: Scene) -> None:
        scene.user.ok("add", DEPLOY.id, "--yes")
        release(scene.zeta, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0", depends=((ALONE.id, "^1.0"),)))
        scene.zeta.publish()
        scene.user.run("info", ALONE.id)  # its index and bytes are in the cache now
        scene.to[ACME].fall_silent()
        error = scene.user.fails("update", DEPLOY.id, code="fetch-deadline")
        assert "rye.lock does not have it" in error["message"]
        scene.user.fails("update", f"{DEPLOY}@1.1.0", code="fetch-deadline")

    def test_after_72_hours_nothing_is_installed_on_an_old_word(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scene.user.ok("add", ALONE.id, "--yes")
        later = now() + timedelta(hours=80)
        monkeypatch.setitem(clients.RegistryClient.__init__.__kwdefaults__ or {}, "now", lambda: later)
        scene.zeta.now = later
        scene.news()
        scene.to[ACME].fall_silent()
        for command in (("update", LINT.id), ("rollback", "--yes")):
            error = scene.user.fails(*command, code="head-frozen")
            assert f"The registry at {ACME} does not answer: no answer in time." in error["message"]
            assert error["message"].endswith("Its last verified state is 82 hours old; the limit is 72.")
            assert "`--offline`" in error["hint"]

    def test_without_news_it_says_what_is_true(self, scene: Scene) -> None:
        assert "each item is at the newest version that rye.toml" in scene.user.ok("update").stdout
        assert f"{LINT.id} is at the newest version" in scene.user.ok("update", LINT.id).stdout


class TestWhatAFailedRunSaw:
    """The attack: a run sees that a release is withdrawn and ends with another error. Then somebody silences the registry."""

    FAILING = (("info", f"{TOP.id}@9.9.9"), ("add", f"{TOP.id}@^9.0", "--yes"))

    def _lose_files(self, scene: Scene) -> None:
        shutil.rmtree(scene.user.path(".ai/packages"))

    def _take_down(self, scene: Scene) -> None:
        take_down(scene.acme, TOP)
        release(scene.acme, TOP, "1.1.0", directive(TOP, "1.1.0"))
        scene.acme.publish()

    @pytest.mark.parametrize("command", FAILING, ids=" ".join)
    def test_a_takedown_stays(self, scene: Scene, command: tuple[str, ...]) -> None:
        self._take_down(scene)
        self._lose_files(scene)
        scene.user.fails(*command, code="no-such-version")
        scene.to[ACME].fall_silent()
        scene.user.fails("ci", code="release-taken-down")
        assert not scene.user.path(".ai/packages").exists()

    @pytest.mark.parametrize("command", FAILING, ids=" ".join)
    def test_a_revoked_key_stays(self, scene: Scene, command: tuple[str, ...]) -> None:
        revoked, new = scene.acme.namespaces["acme"][0], key("the next key")
        keyset = scene.acme.keyset("acme", [new], revoked=(Revocation(revoked.public.raw, 0),))
        scene.acme.add_keyset(keyset, scene.acme.namespace_signers("acme", [revoked, new]), [new])
        release(scene.acme, TOP, "1.1.0", directive(TOP, "1.1.0"))
        scene.acme.publish()
        self._lose_files(scene)
        scene.user.fails(*command, code="no-such-version")
        scene.to[ACME].fall_silent()
        scene.user.fails("ci", code="signer-revoked")

    def test_a_takedown_stays_also_where_the_registry_fell_silent_after_it_had_shown_it(self, scene: Scene) -> None:
        """Its head is not kept, because files of it are missing here; the takedown is."""
        self._take_down(scene)
        self._lose_files(scene)
        scene.to[ACME].fall_silent("blobs/")
        scene.user.fails("update", TOP.id, code="fetch-deadline")
        scene.to[ACME].fall_silent()
        error = scene.user.fails("ci", code="release-held")
        assert f"{TOP} 1.0.0 is held back because this machine saw a takedown of it" in error["message"]
        scene.to[ACME].refuses = None
        scene.user.fails("ci", code="release-taken-down")
        scene.user.ok("update", TOP.id)

    def test_nothing_else_of_it_is_remembered(self, scene: Scene) -> None:
        before = {path: path.read_bytes() for path in scene.user.folders.registries.rglob("*.json")}
        scene.news()
        scene.user.fails("info", f"{TOP.id}@9.9.9", code="no-such-version")
        assert {path: path.read_bytes() for path in scene.user.folders.registries.rglob("*.json")} == before


class TestExportAndDiff:
    def test_an_export_has_what_the_last_verified_states_do_not_withdraw(self, scene: Scene) -> None:
        scene.acme.yank(TOP, "1.0.0")
        scene.acme.publish()
        scene.user.run("outdated")
        scene.to[ACME].fall_silent()
        done = scene.user.ok("deploy", "export", "--for", "claude", "out", "--json")
        assert done.json["items"] == ["zeta/lint"]
        assert done.json["withdrawn"] == [str(TOP)]
        assert [one["registry"] for one in done.json["not_asked"]] == [ACME]
        assert "Whether what it has was yanked, taken down or revoked since then was not checked" in done.stderr
        scene.to[ACME].refuses = None
        assert "not_asked" not in scene.user.ok("deploy", "export", "--for", "claude", "out", "--json").json

    def test_nothing_is_exported_of_which_nothing_is_known_or_on_an_old_word(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The attack: silence a registry for so long that a yank is not seen."""
        words = ("deploy", "export", "--for", "claude", "out")
        scene.to[ACME].fall_silent()
        shutil.rmtree(scene.user.home / "cache")
        assert ACME in scene.user.fails(*words, code="fetch-deadline")["message"]
        later = now() + timedelta(hours=80)
        monkeypatch.setitem(clients.RegistryClient.__init__.__kwdefaults__ or {}, "now", lambda: later)
        scene.zeta.now = later
        scene.zeta.publish()
        assert ACME in scene.user.fails(*words, code="head-frozen")["message"]
        assert not scene.user.path("out").exists()

    def test_a_comparison_is_of_what_is_known_and_says_so(self, scene: Scene) -> None:
        scene.news()
        scene.to[ACME].fall_silent()
        done = scene.user.ok("diff", TOP.id, "--json")
        assert (done.json["old"], done.json["new"]) == (f"{TOP}@1.0.0", f"{TOP}@1.0.0")
        assert [one["registry"] for one in done.json["not_asked"]] == [ACME]
        assert f"{LINT}@1.1.0" in scene.user.ok("diff", TOP.id, LINT.id).stdout
        assert "What it has that is newer is not known." in done.stderr
        assert ACME in scene.user.fails("diff", ALONE.id, TOP.id, code="fetch-deadline")["message"], "never read here"
        scene.to[ACME].refuses = FetchError("fetch-redirect", "No.")
        scene.user.fails("diff", TOP.id, code="fetch-redirect")

    def test_edits_of_the_others_are_shown(self, scene: Scene) -> None:
        for item in (TOP, LINT):
            path = scene.user.path(f".ai/packages/{item.namespace}/directives/{item.local_id}.md")
            path.write_text(f"{path.read_text()}\nMore.\n")
        shutil.rmtree(scene.user.home / "cache")
        scene.to[ACME].fall_silent()
        done = scene.user.ok("diff", "--edited")
        assert f"acme/directives/{TOP.local_id}.md is changed (its signed bytes are not here)" in done.stdout
        assert f"+++ .ai/packages/zeta/directives/{LINT.local_id}.md" in done.stdout
        assert ACME in done.stderr

    def test_forks_of_the_others_are_compared(self, scene: Scene) -> None:
        scene.user.ok("fork", TOP.id, "own/top")
        scene.user.ok("fork", LINT.id, "own/lint")
        scene.news()
        scene.to[ACME].fall_silent()
        done = scene.user.ok("diff", "--origin", "--json")
        check("json-diff-origin", done.json)
        assert [(one["origin"], one["newest"]) for one in done.json["forks"]] == [
            (str(LINT), "1.1.0"),
            (str(TOP), "1.0.0"),
        ]
        assert [one["registry"] for one in done.json["not_asked"]] == [ACME]
        shutil.rmtree(scene.user.home / "cache")
        done = scene.user.run("diff", "--origin", "--json")
        assert (done.code, [one["origin"] for one in done.json["forks"]]) == (1, [str(LINT)])
        assert "directive:own/top could not be compared with its original" in done.stderr
        assert ACME in scene.user.fails("diff", "--origin", "own/top", code="fetch-deadline")["message"]
        assert ACME in scene.user.fails("update", "--origin", code="fetch-deadline")["message"]


class TestFallingSilentAfterTheHead:
    @pytest.mark.parametrize("below", ["tile/", "map/", "index/"])
    @pytest.mark.parametrize("command", [("ci",), ("install",)])
    def test_what_is_locked_is_installed_as_if_it_had_not_shown_it(
        self, scene: Scene, below: str, command: tuple[str, ...]
    ) -> None:
        """Whoever lets the head pass and nothing else stops a build no more than who lets nothing pass."""
        scene.news()
        shutil.rmtree(scene.user.path(".ai/packages"))
        before = {path: path.read_bytes() for path in scene.user.folders.registries.rglob("state.json")}
        scene.to[ACME].fall_silent(below)
        done = scene.user.ok(*command)
        assert done.stderr.count(f"The registry at {ACME} does not answer: ") == 1
        assert "Using its last verified state" in done.stderr
        assert scene.versions()[TOP.id] == "1.0.0"
        assert scene.user.path(f".ai/packages/acme/directives/{TOP.local_id}.md").exists()
        after = {path: path.read_bytes() for path in scene.user.folders.registries.rglob("state.json")}
        assert [path for path in before if b"acme.example" in before[path] and after[path] != before[path]] == []
        scene.to[ACME].fall_silent()
        shutil.rmtree(scene.user.path(".ai/packages"))
        scene.user.ok("ci")

    def test_a_wrong_head_is_no_silence(self, scene: Scene) -> None:
        old = dict(scene.acme.files)
        scene.news()
        scene.user.run("outdated")
        scene.acme.files.clear()
        scene.acme.files.update(old)
        shutil.rmtree(scene.user.path(".ai/packages"))
        for path in ("clock", "tile/", "map/", "index/"):
            scene.to[ACME].fall_silent(path)
            scene.user.fails("ci", code="head-rollback")


class TestSearchInfoAndDoctor:
    def test_they_do_what_the_page_about_outages_says(self, scene: Scene) -> None:
        assert scene.user.run("doctor").code == 0
        scene.user.ok("info", TOP.id)
        scene.to[ACME].fall_silent()
        assert ACME in scene.user.ok("search", "work").stderr
        assert ACME in scene.user.fails("info", TOP.id, code="fetch-deadline")["message"]
        assert scene.user.ok("info", TOP.id, "--offline", "--json").json["version"] == "1.0.0"

    @pytest.mark.parametrize("silent", [ACME, ZETA])
    def test_doctor_looks_at_each_registry_of_the_project(self, scene: Scene, silent: str) -> None:
        scene.to[silent].fall_silent()
        done = scene.user.run("doctor", "--json")
        check = next(one for one in done.json["checks"] if one["name"] == "registry")
        assert (done.code, check["status"]) == (1, "error")
        assert silent in check["message"]
        clock = next(one for one in done.json["checks"] if one["name"] == "clock")
        assert "not behind the registry's" in clock["message"], "the other one's signed time is known"


class TestAdd:
    def test_what_the_default_registry_does_not_have_may_be_in_one_that_rye_toml_does_not_name(
        self, scene: Scene
    ) -> None:
        error = scene.user.fails("add", "acme/work/nothing-of-the-kind", code="no-such-item")
        assert "[registries] of rye.toml" in error["hint"]

    def test_what_somebody_else_has_is_added(self, scene: Scene) -> None:
        scene.news()
        scene.to[ACME].fall_silent()
        done = scene.user.ok("add", DEPLOY.id, "--yes", "--json")
        assert scene.versions() == {LINT.id: "1.0.0", TOP.id: "1.0.0", BASE.id: "1.0.0", DEPLOY.id: "1.0.0"}
        assert [one["registry"] for one in done.json["not_asked"]] == [ACME]

    def test_what_the_silent_registry_has_is_not_taken_from_memory(self, scene: Scene) -> None:
        scene.user.ok("info", ALONE.id)
        scene.to[ACME].fall_silent()
        assert ACME in scene.user.fails("add", ALONE.id, "--yes", code="fetch-deadline")["message"]
        release(scene.zeta, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0", depends=((ALONE.id, "^1.0"),)))
        scene.zeta.publish()
        assert ACME in scene.user.fails("add", f"{DEPLOY.id}@^1.0", "--yes", code="fetch-deadline")["message"]


class TestDoor:
    """A registry serves acme's namespace, so only its own log says that it has none of that name itself."""

    @pytest.mark.parametrize("below", ["", "map/"])
    def test_who_serves_another_registry_is_silent(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch, below: str
    ) -> None:
        front = SimulatedRegistry(origin="front.example", now=now() - timedelta(hours=2))
        front.claim("other")
        front.publish()
        scene.to[FRONT] = Wire(front)
        scene.user.ok("registry", "add", FRONT, "--fingerprint", front.fingerprint)
        monkeypatch.setattr(project_registries, "agreed_doors", lambda context: {FRONT: {"acme": ACME}})
        text = scene.user.path("rye.toml").read_text()
        scene.user.write("rye.toml", text.replace(f'acme = "{ACME}"', f'acme = "{FRONT}"'))
        assert scene.user.ok("audit", "--json").json["findings"] == [], "the control"
        scene.news()
        front.claim("acme")
        front.publish()
        scene.to[FRONT].fall_silent(below)
        done = scene.user.run("audit", "--json")
        assert (done.code, [one["rule"] for one in done.json["findings"]]) == (1, [NOT_EXAMINED])
        assert f"The registry at {FRONT} does not answer" in done.json["findings"][0]["message"]
        done = scene.user.run("outdated", "--json")
        assert (done.code, [one["registry"] for one in done.json["not_asked"]]) == (1, [FRONT])
        for words in ((TOP.id,), ()):
            assert FRONT in scene.user.fails("update", *words, code="fetch-deadline")["message"]
        assert scene.versions()[TOP.id] == "1.0.0"
        scene.to[FRONT].refuses = None
        scene.user.fails("update", TOP.id, code="namespace-conflict")


class TestFirstContact:
    def test_all_that_a_clone_needs_are_named_at_once(self, scene: Scene, tmp_path: Path) -> None:
        stranger = Person(tmp_path / "stranger")
        for name in ("rye.toml", "rye.lock"):
            stranger.write(name, scene.user.path(name).read_bytes())
        for command in ("install", "ci", "outdated", "audit"):
            error = stranger.fails(command, code="registry-unpinned")
            assert sorted(error["addresses"]) == [ACME, ZETA]
            assert all(f"`rye registry add {address}`" in error["hint"] for address in (ACME, ZETA))
        stranger.ok("registry", "add", ACME, "--fingerprint", scene.acme.fingerprint)
        error = stranger.fails("install", code="registry-unpinned")
        assert (error["address"], "addresses" in error) == (ZETA, False)

    def test_an_address_with_a_slip_of_the_hand_is_answered_with_the_one_that_was_meant(self, scene: Scene) -> None:
        slip = "https://amce.example"
        scene.to[slip] = Wire(scene.acme)
        scene.to[slip].fall_silent()
        error = scene.user.fails("registry", "add", slip, code="fetch-deadline")
        assert f"Did you mean {ACME}, which you pinned?" in error["hint"]
        assert "HTTPS_PROXY" in error["hint"]
        scene.to[ACME].fall_silent()
        assert "Did you mean" not in scene.user.fails("add", ALONE.id, code="fetch-deadline")["hint"]


COMMANDS = [("outdated",), ("audit",), ("update", LINT.id), ("update",)]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
class TestAWrongAnswer:
    """It ends each command, although what is asked for is in the other registry."""

    def test_a_history_that_was_rolled_back(self, scene: Scene, command: tuple[str, ...]) -> None:
        old = dict(scene.acme.files)
        scene.news()
        scene.user.run("outdated")
        scene.acme.files.clear()
        scene.acme.files.update(old)
        scene.user.fails(*command, code="head-rollback")

    def test_a_fork(self, scene: Scene, command: tuple[str, ...]) -> None:
        other = scene.acme.fork()
        scene.acme.yank(TOP, "1.0.0")
        scene.acme.publish()
        scene.user.run("outdated")
        other.deprecate(TOP)
        other.publish()
        other.pass_time(minutes=5)
        other.publish()
        scene.to[ACME].files = other.files
        scene.user.fails(*command, code="head-inconsistent")

    def test_a_rolled_back_history_with_silence_behind_it(self, scene: Scene, command: tuple[str, ...]) -> None:
        """Whoever repeats an old head and withholds everything else is not silent."""
        old = scene.acme.files["head"]
        scene.acme.pass_time(minutes=5)
        scene.news()
        scene.user.run("outdated")
        scene.acme.files["head"] = old
        for path in ("clock", "tile/", "map/", "index/"):
            scene.to[ACME].fall_silent(path)
            scene.user.fails(*command, code="head-rollback")

    def test_a_foreign_certificate_a_refusal_and_a_broken_head(self, scene: Scene, command: tuple[str, ...]) -> None:
        for code in ("fetch-unreachable", "fetch-unauthorized", "fetch-redirect"):
            scene.to[ACME].refuses = FetchError(code, "No.")
            scene.user.fails(*command, code=code)
        scene.to[ACME].refuses = None
        scene.acme.files["head"] = b"<html>Log in to this network</html>"
        scene.user.fails(*command, code="head-malformed")
