"""``rye demo``: from nothing to a rendered prompt, with a real registry process and real signatures, in its own folder.

Every step runs the real program as a person would; the demo only types. The author and the team have separate home
folders. Nothing is left running, and all files stay in the folder that the last line names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from rye.cli.options import Session, command
from rye.errors import RyeError
from rye.shipped import shipped

PICTURE = "docs/pictures/demo-item.png"
"""A screenshot of the item's page, which ``make screenshots`` took from a demo's registry."""
_STEP_SECONDS = 60
_QUESTION = r"(\[y/N[/a-z]*\]: )"
_PAGES = {
    "all of it": "/",
    "the item": "/-/directive/rye/workflows/deploy_and_test",
    "its owner": "/-/namespaces/rye",
    "the log": "/-/log",
}
_KUBECTL = '''"""Answers as a cluster would: the demo has none."""

__version__ = "1.0.0"
__category__ = "shell"
__tool_description__ = "Answer a kubectl command as the demo's cluster would"


def execute(params):
    return {"command": "kubectl " + params["command"], "answer": "deployment.apps/storefront revision 7"}
'''
_MODEL = """
[models.{tier}]
dialect = "anthropic"
url = "{url}"
model = "scripted"
input-price = 3.0
output-price = 15.0
"""


@command("demo")
@click.option("--folder", metavar="DIR", help="Where to put everything (default: a new temporary folder).")
@click.option(
    "--run", "run_it", is_flag=True, help="Also run the directive, with a scripted model and sandboxed tools."
)
@click.option(
    "--look", is_flag=True, help="Leave the registry running at the end, to look at its pages; Ctrl-C stops it."
)
@click.pass_obj
def demo(session: Session, folder: str | None, run_it: bool, look: bool) -> None:
    """Show an item's whole life: validate, sign, publish, search, install, render, and detect a changed byte."""
    items = shipped(".ai")
    if items is None:
        raise RyeError(
            "no-items",
            "The demo publishes rye's own items, which are missing here.",
            "Run it in a checkout of rye.",
            what="items",
        )
    root = session.path(folder) if folder else Path(tempfile.mkdtemp(prefix="rye-demo-"))
    root.mkdir(parents=True, exist_ok=True)
    if any(root.iterdir()):
        raise RyeError("folder-not-empty", f"{root} is not empty.", "Give --folder an empty or new folder.")
    run = _Demo(session, root)
    try:
        seconds = run.play(items, run_it)
        if look:
            run.look(seconds)
    finally:
        run.stop()
    if session.json:
        session.console.document({"folder": str(root), "seconds": round(seconds, 1), "commands": run.typed})
    else:
        session.console.data("")
        if not look:
            session.console.data("`rye demo --look` leaves the registry running, to look at its pages in a browser.")
            if (picture := shipped(PICTURE)) is not None:
                session.console.data(f"A picture of one of them: {picture}")
        session.console.data(f"Done in {seconds:.1f} s. The registry is stopped; everything it made is in {root}")


class _Demo:
    """Runs commands and shows their output."""

    def __init__(self, session: Session, root: Path) -> None:
        self.session = session
        self.root = root
        self.registry: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.typed: list[str] = []

    def play(self, items: Path, run_it: bool) -> float:
        """Run all steps and return how long they took, in seconds."""
        began = time.monotonic()
        author, team = self.root / "author", self.root / "team"
        for home in (author, team):
            home.mkdir()
        self.title("A registry of our own, as its own process")
        url, token, fingerprint = self.start_registry()
        self.title("An author: a key, a namespace, this project's own items")
        shutil.copytree(items, author / ".ai", ignore=shutil.ignore_patterns("packages", ".rye"))
        (author / "rye.toml").write_text('[project]\nname = "rye"\nnamespace = "rye"\n', encoding="utf-8")
        if run_it:
            (author / ".ai/tools/shell").mkdir()
            (author / ".ai/tools/shell/kubectl.py").write_text(_KUBECTL, encoding="utf-8")
        self.type(author, "keys", "generate")
        self.type(author, "login", url, "--token", "-", "--fingerprint", fingerprint, stdin=token + "\n")
        self.type(author, "namespace", "claim", "rye")
        self.type(author, "validate", "--strict", last=3)
        self.type(author, "sign", last=3)
        self.type(author, "publish", "--yes", last=4)
        self.title("A team: find, see what it may do, agree, install")
        self.type(team, "registry", "add", url, "--fingerprint", fingerprint)
        self.type(team, "search", "deploy")
        self.type(team, "init", "--name", "storefront")
        self.ask(team, "add", "rye/workflows/deploy_and_test")
        self.type(team, "list")
        self.title("The prompt that the agent gets")
        inputs = ("--input", "service=storefront", "--input", "environment=staging")
        self.type(team, "render", "rye/workflows/deploy_and_test", *inputs)
        self.title("Someone changes one byte of an installed file")
        self.change_one_byte(team)
        self.type(team, "render", "rye/workflows/deploy_and_test", *inputs, fails=True)
        self.type(team, "ci", fails=True)
        self.title("Restore the signed bytes, and deploy them for two agent programs")
        self.type(team, "install", "--discard-local-edits")
        self.type(team, "deploy", "--target", "claude", "--target", "copilot", "--once")
        self.type(team, "deploy", "--check", last=2)
        if run_it:
            self.run_directive(team, inputs)
        return time.monotonic() - began

    def start_registry(self) -> tuple[str, str, str]:
        """Create and start the registry. Returns its address, a token and the fingerprint of its root."""
        from registry_server.embedded import start_embedded
        from rye.cli.registry.registry_serve import server_command

        data = self.root / "registry"
        self.show("rye-registry init --data registry --origin demo.example")
        made = server_command("init", "--data", str(data), "--origin", "demo.example")
        self.print(f"Fingerprint of its root: {made['fingerprint']}")
        self.show("rye-registry token create author --data registry")
        token = server_command("token", "create", "author", "--data", str(data))
        self.show("rye-registry serve --data registry --port 0")
        self.registry, self.url = start_embedded(data)
        self.print(f"Serving on {self.url}")
        return self.url, str(token["token"]), str(made["fingerprint"])

    def look(self, seconds: float) -> None:
        """Print where the pages are, and wait until the registry exits or Ctrl-C."""
        assert self.registry is not None
        self.title(f"Done in {seconds:.1f} s. The registry is still running: look at its pages, Ctrl-C stops it")
        for words, path in _PAGES.items():
            self.print(f"{words:12} {self.url}{path}")
        try:
            self.registry.wait()
        except KeyboardInterrupt:
            self.print("")

    def run_directive(self, team: Path, inputs: tuple[str, ...]) -> None:
        """Run the directive: one call asks a person, one is denied and fires a hook, and its return is checked."""
        from rye.cli.registry.demo_model import scripted_model  # loads a server, needed only here

        self.title("The directive runs: a scripted model, a sandboxed tool, one call denied, a hook, checked returns")
        self.ask(team, "add", "tool:rye/shell/kubectl", "directive:rye/authoring/review_permissions")
        with scripted_model() as url:
            config = Path(self.environment(team)["RYE_CONFIG_DIR"]) / "config.toml"
            tiers = ("orchestrator", "general", "haiku", "sonnet", "low")
            known = config.read_text(encoding="utf-8") if config.exists() else ""
            config.write_text(known + "".join(_MODEL.format(tier=tier, url=url) for tier in tiers), encoding="utf-8")
            shown = self.ask(team, "run", "rye/workflows/deploy_and_test", *inputs)
        run = next((line.split()[1] for line in shown.splitlines() if line.startswith("done: ")), "last")
        self.type(team, "runs", "show", run)

    def change_one_byte(self, team: Path) -> None:
        """Replace one letter of the installed directive, which breaks its signature."""
        path = team / ".ai/packages/rye/directives/workflows/deploy_and_test.md"
        data = bytearray(path.read_bytes())
        place = data.index(b"staging")
        data[place] ^= 0x01
        path.write_bytes(data)
        self.show(f"(byte {place} of {path.relative_to(team)} is now {chr(data[place])!r} instead of 's')", prompt="")

    # -- typing and showing -----------------------------------------------------------------------------------------------

    def environment(self, home: Path) -> dict[str, str]:
        """The environment of a person whose home folder is ``home``."""
        kept = {
            name: value
            for name, value in self.session.environment.items()
            if not name.startswith("RYE_") and name != "CI"
        }
        folders = {f"RYE_{name}_DIR": str(home / ".rye-home" / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
        return {**kept, **folders, "HOME": str(home), "RYE_USER_SPACE": str(home / ".rye-home/ai"), "PYTHONUTF8": "1"}

    def type(
        self, home: Path, *words: str, stdin: str | None = None, last: int | None = None, fails: bool = False
    ) -> None:
        """Run ``rye`` with these words and show its output. An unexpected exit code ends the demo."""
        self.show("rye " + " ".join(words))
        run = subprocess.run(
            [sys.executable, "-P", "-m", "rye", *words],
            cwd=home,
            env=self.environment(home),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_STEP_SECONDS,
            check=False,
        )
        lines = run.stdout.rstrip().splitlines()
        hidden = max(0, len(lines) - last) if last is not None else 0
        if hidden:
            self.print(f"… after {hidden} {'line' if hidden == 1 else 'lines'} like these:")
        self.print("\n".join(lines[hidden:]))
        self.check(run.returncode, words, fails)

    def ask(self, home: Path, *words: str) -> str:
        """Run ``rye`` on its own terminal, answer its question with yes, and return its output."""
        try:
            import pty
        except ImportError:  # this platform has no such terminals: agree on the command line, which is just as visible
            self.type(home, *words, "--yes")
            return ""
        self.show("rye " + " ".join(words))
        mine, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "rye", "--color", "never", "--no-progress", *words],
            cwd=home,
            env=self.environment(home),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown, answered = "", False
        deadline = time.monotonic() + _STEP_SECONDS
        while time.monotonic() < deadline:
            try:
                piece = os.read(mine, 4096)
            except OSError:  # Linux raises this when the other end is closed
                break
            if not piece:
                break
            shown += piece.decode("utf-8", "replace").replace("\r\n", "\n")
            if not answered and re.search(rf"{_QUESTION}$", shown):
                os.write(mine, b"y\n")
                answered = True
        process.wait(timeout=_STEP_SECONDS)
        os.close(mine)
        self.print(re.sub(rf"{_QUESTION}y", r"\1y        (answered by the demo)", shown.rstrip()))
        self.check(process.returncode, words, fails=False)
        return shown

    def check(self, code: int, words: tuple[str, ...], fails: bool) -> None:
        """Raise RyeError ``demo-failed`` unless the command succeeded, or failed where ``fails`` expects it."""
        if (code != 0) != fails:
            raise RyeError(
                "demo-failed", f"`rye {' '.join(words)}` exited with {code}.", f"Everything is in {self.root}."
            )

    def title(self, text: str) -> None:
        """Print a heading."""
        self.session.console.data("")
        self.session.console.data(self.session.console.style(f"== {text}", "strong"))

    def show(self, line: str, prompt: str = "$ ") -> None:
        """Print a line as it would be typed."""
        self.typed.append(line)
        self.session.console.data(self.session.console.style(prompt + line, "info"))

    def print(self, text: str) -> None:
        """Print output, indented."""
        if text:
            self.session.console.data("\n".join("  " + line for line in text.split("\n")))
        if not self.session.json:
            sys.stdout.flush()

    def stop(self) -> None:
        """Stop the registry that the demo started."""
        if self.registry is not None:
            from registry_server.embedded import stop_embedded

            stop_embedded(self.registry)
