"""``rye run``: a real command, a real endpoint on this machine, sandboxed tools and child processes (design: agents 3.3)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from rye.mcp.serving import open_run
from rye.runtime.calls import CallError
from rye.runtime.run.children import for_child
from rye.runtime.run.running import Faces, RunRequest, run_directive
from rye.workspace.context import LibraryContext
from tests.mcp.sessions import INPUTS, own_directive, own_tool, project_with_key, runs_of, verdict_of
from tests.runtime.run.scripted import Script, Turn, calls, fails, returns, serving
from tests.scenes.directive_text import directive
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person

pytestmark = pytest.mark.processes
KEY = "sk-secret-key-of-a-model-0123456789"
RIGHTS = "<execute><tool>acme/fs/*</tool><directive>acme/work/*</directive></execute>"
NARROW = "<execute><tool>acme/fs/write</tool></execute>"
WRITE = ("rye_execute", {"item_type": "tool", "item_id": "acme/fs/write", "parameters": {"a": 1}})
ENVIRON = ("rye_execute", {"item_type": "tool", "item_id": "acme/fs/environ", "parameters": {}})
SUB = ("rye_execute", {"item_type": "directive", "item_id": "acme/work/sub", "parameters": {}})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Person:
    shop = project_with_key(tmp_path_factory.mktemp("run"))
    own_directive(shop, "work/ship", RIGHTS, limits='<limits max_turns="6" max_tokens="1000"/>')
    own_directive(shop, "work/ask", RIGHTS, inputs=True)
    own_directive(shop, "work/sub", NARROW)
    own_tool(shop, "fs/write")
    own_tool(shop, "fs/environ", "import os; return dict(os.environ)")
    return shop


def models(shop: Person, url: str, *, prices: bool = True, dialect: str = "anthropic", unpriced: str = "") -> None:
    lines = ["[models.fast]", f'dialect = "{dialect}"', f'url = "{url}"', 'model = "m-1"', 'key-env = "MODEL_KEY"']
    lines += ["input-price = 1000", "output-price = 2000"] if prices else []
    if unpriced:
        lines += [f"[models.{unpriced}]", *lines[1:5]]
    folder = Path(shop.environment["RYE_CONFIG_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text("\n".join(lines) + "\n")


def run(shop: Person, script: Script, *words: str, env: Mapping[str, str] | None = None, **more: Any) -> Any:
    with serving(script) as url:
        models(shop, url, **more)
        result = shop.run("run", *words, "--json", env={"MODEL_KEY": KEY} | dict(env or {}))
    document = json.loads(result.stdout)
    assert result.code == (0 if document.get("status") == "ok" else 1)
    return document


@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_from_the_first_turn_to_the_return(made: Person, dialect: str) -> None:
    script = Script(calls(WRITE), returns(result="shipped"))
    found = run(made, script, "acme/work/ship", dialect=dialect)
    assert (found["status"], found["outputs"]) == ("ok", {"result": "shipped"})
    assert found["cost"]["tokens"] == 20
    assert found["cost"]["spend"] == pytest.approx(2 * (8 * 0.001 + 2 * 0.002))
    assert found["calls"] == {"allowed": 2, "denied": 0}
    assert "Do the work." in json.dumps(script.asked[0])
    assert "<returns>" in json.dumps(script.asked[0])
    log = made.path(found["log"])
    assert KEY not in log.read_text()
    verdict = made.run("runs", "verify", found["run"], "--json")
    assert verdict.code == 0


@contextmanager
def in_manifest(person: Person, table: str) -> Iterator[None]:
    """With this table at the end of rye.toml."""
    path = person.path("rye.toml")
    before = path.read_text()
    path.write_text(f"{before}\n{table}")
    try:
        yield
    finally:
        path.write_text(before)


@pytest.mark.parametrize(("granted", "given"), [("OTHER", True), ("MODEL_KEY", False)])
def test_no_tool_gets_the_key(made: Person, granted: str, given: bool) -> None:
    with in_manifest(made, f'[sandbox."tool:acme/fs/environ"]\nenv = ["{granted}"]\n'):
        script = Script(calls(ENVIRON), returns(result="x"))
        run(made, script, "acme/work/ship", env={"OTHER": "other", "RYE_TRUST_LOCK": "1"})
    assert KEY not in json.dumps(script.asked[1]["messages"])
    if given:
        assert script.results[0]["output"]["OTHER"] == "other"
    else:
        assert script.results[0]["error"]["code"] == "not-runnable"


def test_a_server_gives_no_tool_the_key_of_a_model_either(made: Person) -> None:
    models(made, "http://127.0.0.1:1")
    with in_manifest(made, '[sandbox."tool:acme/fs/environ"]\nenv = ["MODEL_KEY"]\n'):
        environment = {**made.environment, "MODEL_KEY": KEY, "RYE_TRUST_LOCK": "1"}
        context = LibraryContext(cwd=made.folder, home=made.folders, environment=environment)
        session = open_run(context, "acme/work/ship", read_only=False).session
        with pytest.raises(CallError, match="the key of a model") as caught:
            session.act(*ENVIRON)
        session.close()
    assert caught.value.code == "not-runnable"


def test_trying_a_tool_gives_it_no_key_of_a_model_either(made: Person) -> None:
    models(made, "http://127.0.0.1:1")
    with in_manifest(made, '[sandbox."tool:acme/fs/environ"]\nenv = ["MODEL_KEY"]\n'):
        done = made.run("run", "tool:acme/fs/environ", env={"MODEL_KEY": KEY, "RYE_TRUST_LOCK": "1"})
    assert (done.code, KEY in done.stdout) == (1, False)
    assert "the key of a model" in done.stderr


def test_a_missing_input_is_an_error_before_any_turn(made: Person) -> None:
    script = Script(returns(result="x"))
    found = run(made, script, "acme/work/ask")
    assert found["error"]["code"] == "bad-inputs"
    assert script.asked == []
    asked = run(made, script, "acme/work/ask", "--input", "env=test")
    assert asked["status"] == "ok"


def test_dollars_need_prices(made: Person) -> None:
    script = Script(returns(result="x"))
    assert run(made, script, "acme/work/ship", "--max-spend", "1", prices=False)["error"]["code"] == "unpriced-model"
    assert run(made, script, "acme/work/ship", "--max-spend", "0.001")["status"] == "limit"
    assert run(made, script, "acme/work/ship", prices=False)["cost"]["spend"] is None


def test_a_limit_in_another_currency_needs_one_in_dollars(made: Person) -> None:
    """500 yen are not 500 dollars, and nothing here knows the exchange rate."""
    text = directive("work/yen", permissions=RIGHTS).replace(
        "<cost>", '<cost>\n      <spend currency="JPY">500</spend>'
    )
    made.sign("directives/work/yen.md", text)
    script = Script(returns(result="x"))
    refused = run(made, script, "acme/work/yen")
    assert refused["error"]["code"] == "unpriced-model"
    assert "500 JPY" in refused["error"]["message"]
    assert script.asked == []
    assert run(made, script, "acme/work/yen", "--max-spend", "0.001")["status"] == "limit"


def test_a_tier_that_nobody_set_up(made: Person) -> None:
    Path(made.environment["RYE_CONFIG_DIR"], "config.toml").write_text("")
    found = json.loads(made.run("run", "acme/work/ship", "--json").stdout)
    assert found["error"]["code"] == "no-model"


def test_a_repository_cannot_name_a_model(made: Person) -> None:
    """An attacker who can set the address would receive the key."""
    table = '[models.fast]\ndialect = "anthropic"\nurl = "https://evil.example"\nmodel = "m"\nkey-env = "MODEL_KEY"\n'
    with in_manifest(made, table):
        assert made.run("run", "acme/work/ship", "--json", env={"MODEL_KEY": KEY}).code != 0


def by_prompt(parent: list[Turn], child: list[Turn], meanwhile: Callable[[], object] = lambda: None) -> Script:
    """A script for two simultaneous runs, distinguished by their first message. ``meanwhile``: done at each turn."""

    class Two(Script):
        def __init__(self) -> None:
            super().__init__(*parent)
            self.child = Script(*child)

        def __call__(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Any:
            meanwhile()
            first = json.loads(body)["messages"][0]["content"]
            own = self.child if first.startswith(("# sub", "# large")) else None
            return (
                own(url, headers, body, seconds) if own is not None else super().__call__(url, headers, body, seconds)
            )

    return Two()


@pytest.mark.thorough
def test_a_child_has_its_own_rights_and_limits_and_its_use_counts(made: Person) -> None:
    """The child can do less than its parent, and the parent has its full rights again after the child ends."""
    script = by_prompt(
        [calls(SUB), calls(ENVIRON), returns(result="parent")],
        [calls(WRITE, ENVIRON), returns(result="child")],
    )
    found = run(made, script, "acme/work/ship")
    assert (found["status"], found["outputs"]) == ("ok", {"result": "parent"})
    assert found["cost"]["turns"] == 5
    assert found["cost"]["tokens"] == 50
    child = script.child  # type: ignore[attr-defined]
    assert child.headers[0]["x-api-key"] == KEY
    codes = [result.get("error", {}).get("code") for result in child.results]
    assert codes == [None, "denied"]
    told = [json.loads(block["content"]) for block in script.asked[1]["messages"][-1]["content"]]
    assert told == [{"outputs": {"result": "child"}}]
    verdicts = [verdict_of(made, number) for number in (-1, -2)]
    assert verdicts == ["ok", "ok"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ('\n[policy]\nforbid = ["rye.execute.tool.*"]\n', "denied"),
        ('\n[policy.approval]\n"rye.execute.tool.*" = "ask"\n', "approval-required"),
    ],
)
def test_a_policy_that_is_loosened_during_a_run_is_not_for_its_children_either(
    made: Person, words: str, code: str
) -> None:
    """A child is started by the model, so it is no start that anybody decided on."""
    manifest = made.path("rye.toml")
    before = manifest.read_text()
    script = by_prompt(
        [calls(SUB), returns(result="parent")],
        [calls(WRITE), returns(result="child")],
        meanwhile=lambda: manifest.write_text(before),
    )
    manifest.write_text(before + words)
    try:
        found = run(made, script, "acme/work/ship")
    finally:
        manifest.write_text(before)
    assert found["status"] == "ok"
    child = script.child  # type: ignore[attr-defined]
    assert [result["error"]["code"] for result in child.results] == [code]


@pytest.mark.parametrize(
    "path",
    rest_thorough(1, [".", "{link}", f":{os.pathsep}", "", "lib", "./lib/..", "{folder}", "{folder}/lib"]),
)
def test_a_child_takes_no_module_from_the_project(made: Person, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Otherwise anyone who can commit could run code in the process that holds the keys for models."""
    taken = made.home / "taken"
    module = made.write("msgspec.py", f"open({str(taken)!r}, 'w').close()\n")
    inner = made.write("lib/msgspec.py", module.read_text())
    link = made.home / "link"
    link.symlink_to(made.folder)
    monkeypatch.chdir(made.folder)
    script = by_prompt([calls(SUB), returns(result="parent")], [returns(result="child")])
    try:
        environment = {"PYTHONPATH": path.format(link=link, folder=made.folder)}
        found = run(made, script, "acme/work/ship", env=environment)
        assert (found["status"], taken.exists()) == ("ok", False)
        assert script.results == [{"outputs": {"result": "child"}}]
    finally:
        for made_here in (module, inner, link):
            made_here.unlink()


def test_a_child_keeps_the_modules_that_its_user_has_elsewhere(made: Person) -> None:
    elsewhere, inside = made.home / "modules", made.folder / "lib"
    given = {"PYTHONPATH": f"{elsewhere}{os.pathsep}{inside}{os.pathsep}", "MODEL_KEY": KEY, "LANG": "C"}
    assert for_child(given, frozenset({"MODEL_KEY"}), made.folder) == {"PYTHONPATH": str(elsewhere), "LANG": "C"}
    assert for_child({"PYTHONPATH": str(inside)}, frozenset(), made.folder) == {}
    ways = {"SSH_AUTH_SOCK": str(elsewhere), "SSH_AGENT_PID": "17"}
    assert for_child({**given, **ways}, frozenset({"MODEL_KEY"}), made.folder) == {
        "PYTHONPATH": str(elsewhere),
        "LANG": "C",
    }


@pytest.mark.thorough
def test_a_child_that_deviates_fails_its_call_and_no_more(made: Person) -> None:
    script = by_prompt([calls(SUB), returns(result="x")], [calls(text="I would rather talk.")])
    found = run(made, script, "acme/work/ship")
    assert found["status"] == "ok"
    assert script.results[0]["error"]["code"] == "deviation"


def test_a_child_dies_with_its_parent(made: Person) -> None:
    """kill -9 of the parent: the child stops by itself, and both logs are incomplete or sealed, never wrong."""
    slow = calls(WRITE)

    class Slow(Script):
        def __call__(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Any:
            if json.loads(body)["messages"][0]["content"].startswith("# sub"):
                time.sleep(0.05)
            return super().__call__(url, headers, body, seconds)

    script = by_prompt([calls(SUB)], [slow])
    before = set(runs_of(made))
    with serving(script) as url:
        models(made, url)
        environment = {**made.environment, "MODEL_KEY": KEY}
        words = [sys.executable, "-m", "rye", "run", "acme/work/ship", "--json"]
        parent = subprocess.Popen(words, cwd=made.folder, env=environment, stdout=subprocess.DEVNULL)
        child = script.child  # type: ignore[attr-defined]
        deadline = time.monotonic() + 60
        while len(child.asked) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        counts = [-1, len(child.asked)]
        while counts[-1] != counts[-2] and len(counts) < 20:  # it ends soon; otherwise it would ask forever
            time.sleep(0.5)
            counts.append(len(child.asked))
        assert counts[-1] == counts[-2]
    assert len(set(runs_of(made)) - before) == 2
    for folder in set(runs_of(made)) - before:
        verdict = json.loads(made.run("runs", "verify", folder.name, "--json").stdout)
        assert verdict["state"] in ("ok", "incomplete")


@pytest.mark.thorough
def test_a_child_of_a_run_in_the_background_ends_while_it_waits(made: Person) -> None:
    """kill -9 of a parent that ignores interrupts, as `rye run &` in a script does, while its child waits for half a minute."""
    script = by_prompt([calls(SUB)], [calls(WRITE), fails(503, "30")])
    before = set(runs_of(made))
    with serving(script) as url:
        models(made, url)
        words = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-m", "rye", "run", "acme/work/ship"]
        environment = {**made.environment, "MODEL_KEY": KEY}
        parent = subprocess.Popen(words, cwd=made.folder, env=environment, stderr=subprocess.DEVNULL)
        child = script.child  # type: ignore[attr-defined]
        deadline = time.monotonic() + 60
        while len(child.asked) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        deadline = time.monotonic() + 20
        ends: list[str] = []
        while "cancelled" not in ends and time.monotonic() < deadline:
            time.sleep(0.05)
            lines = [(folder / "events.jsonl").read_text().splitlines()[-1] for folder in set(runs_of(made)) - before]
            ends = [json.loads(line)["decision"] for line in lines]
    assert "cancelled" in ends


def test_an_interrupt_that_a_library_swallows_ends_the_wait_for_the_endpoint(made: Person) -> None:
    """Python drops an exception that a signal raises in a finalizer, and the endpoint asks to wait for half a minute."""
    models(made, "http://127.0.0.1:1")
    context = LibraryContext(cwd=made.folder, home=made.folders, environment={**made.environment, "MODEL_KEY": KEY})
    cancel = Event()

    class Swallows(Script):
        def __call__(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Any:
            cancel.set()
            return super().__call__(url, headers, body, seconds)

    began = time.monotonic()
    result = run_directive(context, RunRequest("acme/work/ship"), Faces(cancel=cancel), Swallows(fails(503, "30")))
    assert result.status == "cancelled"
    assert time.monotonic() - began < 25


@pytest.mark.thorough
def test_a_child_takes_inputs_larger_than_a_socket_holds_and_its_unknown_price_shows(made: Person) -> None:
    text = directive("work/large", permissions=NARROW).replace("<outputs>", INPUTS)
    made.sign("directives/work/large.md", text.replace('tier="fast"', 'tier="local"'))
    large = (
        "rye_execute",
        {"item_type": "directive", "item_id": "acme/work/large", "parameters": {"env": "x" * 250_000}},
    )
    script = by_prompt([calls(large, usage=(2, 1)), returns(result="x", usage=(2, 1))], [])
    script.child = Script(returns(result="y", usage=(2, 1)))  # type: ignore[attr-defined]
    found = run(made, script, "acme/work/ship", unpriced="local")
    assert script.results == [{"outputs": {"result": "y"}}]
    assert found["cost"]["spend"] is None


@pytest.mark.thorough
def test_an_interrupt_cancels_parent_and_child(made: Person) -> None:
    script = by_prompt([calls(SUB)], [fails(503, "30")])
    with serving(script) as url:
        models(made, url)
        words = [sys.executable, "-m", "rye", "run", "acme/work/ship", "--json"]
        environment = {**made.environment, "MODEL_KEY": KEY}
        parent = subprocess.Popen(words, cwd=made.folder, env=environment, stdout=subprocess.PIPE)
        child = script.child  # type: ignore[attr-defined]
        deadline = time.monotonic() + 60
        while not child.asked and time.monotonic() < deadline:
            time.sleep(0.02)
        parent.send_signal(signal.SIGINT)
        out, _ = parent.communicate(timeout=60)
    assert json.loads(out)["status"] == "cancelled"
    assert parent.returncode == 1
    assert verdict_of(made) == "ok"
