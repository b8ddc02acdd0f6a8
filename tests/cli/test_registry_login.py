"""Tokens, settings and the user's own registry: what is stored, where it is sent, and the errors of a broken file."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rye.project.user_config import credential
from rye.project.user_config_writing import set_setting
from rye.storage.home import Home
from tests.scenes.nursery import RYE
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.registry_process import run, token

pytestmark = pytest.mark.processes


class TestLogin:
    def test_a_token_is_stored_for_its_registry_and_readable_by_the_user_alone(
        self, registry: Registry, tmp_path: Path
    ) -> None:
        user = Person(tmp_path)
        made = user.ok(
            "login", registry.url, "--token", registry.token, "--fingerprint", registry.fingerprint, "--json"
        ).json
        assert made["origin"] == "registry.example.org"
        path = user.home / "config" / "credentials.toml"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert registry.token in path.read_text()
        assert user.ok("whoami", "--json").json["name"] == made["name"]
        assert user.ok("config", "get", "registry").stdout.strip() == registry.url

    def test_the_account_of_the_token_is_named_and_a_token_without_one_by_its_name(
        self, registry: Registry, tmp_path: Path
    ) -> None:
        run("account", "create", "dana", "--data", str(registry.data))
        secret = json.loads(
            run("token", "create", "laptop", "--account", "dana", "--data", str(registry.data), "--json").stdout
        )["token"]
        user = Person(tmp_path)
        said = user.ok("login", registry.url, "--token", secret, "--fingerprint", registry.fingerprint).stdout
        assert said == "logged in to registry.example.org as dana (token 'laptop')\n"
        assert user.ok("whoami").stdout.startswith("dana (token 'laptop') at registry.example.org")
        found = user.ok("whoami", "--json").json
        assert (found["account"], found["name"]) == ("dana", "laptop")
        other = registry.reader()
        other.ok("login", registry.url, "--token", registry.token)
        assert "account" not in other.ok("whoami", "--json").json

    @pytest.mark.parametrize("command", ["login", "add"])
    def test_part_of_a_fingerprint_is_refused_before_anyone_is_asked(
        self, registry: Registry, tmp_path: Path, command: str
    ) -> None:
        user = Person(tmp_path)
        words = ["login", "--token", "x"] if command == "login" else ["registry", "add"]
        error = user.fails(*words, registry.url, "--fingerprint", registry.fingerprint[:8], code="usage", exit_code=2)
        assert "64 digits" in error["hint"]

    def test_the_token_is_never_printed(self, registry: Registry) -> None:
        user = registry.owner("quiet", claim=False)
        for words in (["whoami"], ["whoami", "--json"], ["registry", "list"], ["config", "list"], ["-vv", "whoami"]):
            result = user.ok(*words)
            assert registry.token not in result.stdout + result.stderr

    def test_from_standard_input_or_the_environment(self, registry: Registry) -> None:
        user = registry.reader()
        user.ok("login", registry.url, "--token", "-", stdin=f"{registry.token}\n".encode())
        user.ok("logout", registry.url)
        assert "`rye registry serve`, which logs you in" in user.fails("whoami", code="not-logged-in")["hint"]
        user.ok("whoami", env={"RYE_TOKEN": registry.token})
        user.ok("login", registry.url, env={"RYE_TOKEN": registry.token})
        user.fails("login", registry.url, "--token", "-", code="missing-argument token", exit_code=2)

    def test_on_a_terminal_it_asks_and_does_not_show_what_is_typed(self, registry: Registry) -> None:
        user = registry.reader()
        shown = user.terminal("login", registry.url, "--token", "-", answer=f"{registry.token}\n".encode())
        assert "Token (not shown):" in shown
        assert "logged in to" in shown
        assert registry.token not in shown

    def test_a_login_elsewhere_says_which_registry_commands_use_here(self, registry: Registry) -> None:
        user = registry.owner("elsewhere", claim=False)
        assert "Commands in this folder use" not in user.ok("login", registry.url, "--token", registry.token).stderr
        user.ok("config", "set", "registry", "https://other.example")
        said = user.ok("login", registry.url, "--token", registry.token).stderr
        assert "Commands in this folder use https://other.example" in said
        assert f"`rye config set registry {registry.url}`" in said

    def test_without_any_registry_the_next_command_is_named(self, tmp_path: Path) -> None:
        user = Person(tmp_path)
        assert "`rye login ADDRESS`" in user.fails("login", code="no-registry")["hint"]
        listed = user.ok("registry", "list")
        assert listed.stdout == ""
        assert "`rye registry add ADDRESS --default`" in listed.stderr

    def test_a_wrong_token_is_not_stored(self, registry: Registry) -> None:
        user = registry.reader()
        user.fails("login", registry.url, "--token", "rye_0000000000000000_" + "A" * 43, code="unauthorized")
        user.fails("login", registry.url, "--token", "two words", code="invalid-value token")
        assert not (user.home / "config" / "credentials.toml").exists()

    def test_logging_out_twice(self, registry: Registry) -> None:
        user = registry.owner("leaving", claim=False)
        assert user.ok("logout").stdout.startswith("logged out")
        error = user.fails("logout", code="not-logged-in")
        assert "rye login" in error["hint"]

    def test_a_revoked_token_is_worthless_at_once(self, registry: Registry) -> None:
        user = registry.owner("fired")
        given = token(registry.data, "fired")
        user.ok("login", registry.url, "--token", given)
        path = user.directive("work/one")
        run("token", "revoke", given.split("_")[1], "--data", str(registry.data))
        user.fails("publish", path, code="unauthorized")

    def test_a_token_bound_to_another_namespace(self, registry: Registry) -> None:
        user = registry.owner("bound")
        user.ok("login", registry.url, "--token", token(registry.data, "elsewhere"))
        result = user.run("publish", user.directive("work/one"), "--json")
        assert result.code == 1
        assert "bound" in result.error["message"]

    def test_a_damaged_file_of_credentials(self, registry: Registry) -> None:
        user = registry.owner("damaged", claim=False)
        path = user.home / "config" / "credentials.toml"
        for text in ("not toml", '"https://r" = "x"', "[x]\ntoken = 1\n"):
            path.write_text(text)
            assert user.fails("whoami", code="bad-config")["hint"]


class TestConfig:
    def test_set_get_list_unset(self, tmp_path: Path) -> None:
        user = Person(tmp_path)
        user.ok("config", "set", "color", "never")
        assert user.ok("config", "get", "color").stdout == "never\n"
        assert user.ok("config", "list", "--json").json["settings"] == {"color": "never"}
        user.ok("config", "set", "offline", "TRUE")
        assert user.ok("config", "get", "offline", "--json").json["value"] is True
        user.ok("config", "unset", "color")
        user.fails("config", "get", "color", code="not-set")

    @pytest.mark.parametrize(
        ("name", "value", "code"),
        [
            ("colour", "never", "unknown-name"),
            ("color", "blue", "bad-setting"),
            ("offline", "perhaps", "bad-setting"),
            ("registry", "nonsense", "bad-argument"),
        ],
    )
    def test_values_that_are_none(self, tmp_path: Path, name: str, value: str, code: str) -> None:
        user = Person(tmp_path)
        assert user.fails("config", "set", name, value, code=code, exit_code=2)["hint"]
        assert not (user.home / "config" / "config.toml").exists()

    def test_a_folder_as_registry_is_kept_as_an_address(self, tmp_path: Path) -> None:
        user = Person(tmp_path)
        user.path("copy").mkdir()
        user.ok("config", "set", "registry", "copy")
        assert user.ok("config", "get", "registry").stdout.strip() == user.path("copy").as_uri()

    def test_comments_that_a_person_wrote_stay(self, tmp_path: Path) -> None:
        user = Person(tmp_path)
        path = user.home / "config" / "config.toml"
        path.parent.mkdir(parents=True)
        path.write_text('# mine\ncolor = "never" # because\n')
        user.ok("config", "set", "progress", "false")
        assert path.read_text() == '# mine\ncolor = "never" # because\nprogress = false\n'

    @pytest.mark.parametrize("text", ["color = ", "unknown = 1", "offline = 'yes'", 'color = "blue"', "\x00"])
    def test_a_broken_file_is_named(self, tmp_path: Path, text: str) -> None:
        user = Person(tmp_path)
        path = user.home / "config" / "config.toml"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        error = user.fails("config", "list", code="bad-config")
        assert str(path) in error["message"]
        assert error["hint"]

    def test_settings_are_in_force_and_a_flag_or_variable_goes_before(self, registry: Registry) -> None:
        user = registry.reader()
        user.ok("config", "set", "offline", "true")
        user.fails("mirror", "copy", code="offline")
        user.ok("config", "set", "color", "always")
        user.new("directive", "work/one")
        assert "\x1b[" in user.ok("validate", ".ai").stdout + user.run("verify", ".ai").stderr + user.run("nope").stderr
        assert "\x1b[" not in user.run("--color", "never", "publish").stderr
        user.ok("config", "unset", "offline")
        user.ok("mirror", "copy")


class TestRegistryServe:
    @pytest.mark.thorough
    def test_one_command_makes_pins_and_logs_in_and_the_terminal_ends_it(self, tmp_path: Path) -> None:
        user = Person(tmp_path, "mine")
        with _serving(user) as process:
            document = _first_document(process)
            url = document["registry"]
            user.ok("registry", "show", url)
            user.ok("keys", "generate")
            user.ok("namespace", "claim", "mine", "--registry", url)
            user.ok("publish", user.directive("work/first"), "--registry", url)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        assert process.returncode == 0, (out, err)
        assert "Traceback" not in err
        keys = Path(document["data"]) / "keys"
        assert stat.S_IMODE(keys.stat().st_mode) == 0o700
        with _serving(user) as process:  # again, and this time the server dies
            url = _first_document(process)["registry"]
            user.ok("publish", user.directive("work/again"), "--registry", url)
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            if not children.exists():
                pytest.skip("this system does not list a process's children")
            for child in children.read_text().split():
                os.kill(int(child), signal.SIGKILL)
            out, err = process.communicate(timeout=30)
        assert process.returncode == 1, (out, err)
        assert "registry-failed" in out + err


@contextmanager
def _serving(user: Person) -> Iterator[subprocess.Popen[str]]:
    """``rye registry serve``, as this user starts it."""
    process = subprocess.Popen(
        [sys.executable, "-c", RYE, "registry", "serve", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=user.folder,
        env=user.environment,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)


def _first_document(process: subprocess.Popen[str]) -> dict[str, str]:
    """The first JSON document that a process prints."""
    assert process.stdout is not None
    text, deadline = "", time.monotonic() + 30
    while time.monotonic() < deadline:
        line = process.stdout.readline()
        text += line
        if line.startswith("}"):
            found: dict[str, str] = json.loads(text)
            return found
        if not line:
            break
    process.kill()
    raise AssertionError(f"no document: {text!r} {process.communicate()}")


def test_a_project_cannot_lead_the_variable_s_token_to_another_registry(home: Home) -> None:
    environment = {"RYE_TOKEN": "secret"}
    set_setting(home, "registry", "https://own.example")
    assert credential(home, environment, "https://project-says.example") is None
    own = credential(home, environment, "https://own.example/")
    assert own is not None
    assert own.token == "secret"
    named = credential(home, environment, "https://other.example", named="https://other.example")
    assert named is not None
    assert named.token == "secret"
