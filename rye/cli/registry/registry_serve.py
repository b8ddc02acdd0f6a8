"""``rye registry serve``: create a registry with defaults, log in, pin it, serve it, and stop with the terminal."""

from __future__ import annotations

import json
import secrets
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rye.errors import RyeError
from rye.extras import extra_missing
from rye.workspace.registries.own_registry import is_made, pin_own

if TYPE_CHECKING:
    from types import FrameType

    from rye.cli.options import Session


_ACCEPT = "--accept-clock"


def serve_default(session: Session, data: Path, port: int, *, accept_clock: bool = False) -> None:
    """Serve the registry in ``data`` until interrupted. Creates it first if it does not exist.

    ``accept_clock``: the person vouches for this machine's clock.
    """
    try:
        from registry_server.embedded import start_embedded, stop_embedded
    except ImportError as error:
        raise extra_missing(error.name or "registry_server", "server") from None
    if not is_made(data):
        server_command("init", "--data", str(data), "--origin", f"localhost/{secrets.token_hex(4)}")
        session.console.say(f"created a registry in {data}; starting it")
    _check_port(port)
    try:
        with session.console.progress("starting the registry"):
            process, url = start_embedded(data, port=port, arguments=[_ACCEPT] if accept_clock else [])
    except RyeError as error:
        if _ACCEPT in error.message:  # the server's own words name its own command
            error.hint = "If this machine's clock is right, say so once: rye registry serve --accept-clock"
        raise
    try:
        _greet(session, data, url)
        for number in (signal.SIGTERM, signal.SIGINT):  # a background process ignores SIGINT by default
            signal.signal(number, _interrupt)
        if process.wait() != 0:
            raise RyeError(
                "registry-failed", f"The registry exited with {process.returncode}.", f"See {data / 'server.log'}."
            )
    except KeyboardInterrupt:
        session.console.say("stopping")
    finally:
        stop_embedded(process)


def _check_port(port: int) -> None:
    """Raise RyeError ``address-in-use``, with a hint for this command, if the port is taken."""
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise RyeError(
                "address-in-use",
                f"Cannot use port {port} on this machine: {error.strerror}.",
                f"Your registry may already be running (`rye registry show http://127.0.0.1:{port}`); "
                "`rye registry serve --port 0` picks a free port.",
            ) from None


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def server_command(*arguments: str) -> dict[str, Any]:
    """Run ``rye-registry`` and return its JSON document. Raises its error as RyeError."""
    run = subprocess.run(
        [sys.executable, "-P", "-m", "registry_server.cli", *arguments, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found = json.loads(run.stdout)
    except ValueError:
        raise RyeError("registry-failed", f"rye-registry {arguments[0]} failed: {run.stderr.strip()[:2000]}") from None
    if run.returncode:
        error = found.get("error", {})
        raise RyeError(error.get("code", "registry-failed"), error.get("message", "It failed."), error.get("hint"))
    assert isinstance(found, dict)
    return found


def _token(data: Path) -> tuple[str, str]:
    made = server_command("token", "create", f"local-{secrets.token_hex(3)}", "--data", str(data))
    return str(made["name"]), str(made["token"])


def next_command(url: str, *, is_default: bool) -> str:
    """What to do with a registry that is served for the first time."""
    if is_default:
        return "Next, in a project: `rye namespace claim NAME`, then `rye publish`"
    return (
        f"Your default is another one, so in a new folder: `rye init --registry {url}`, then `rye namespace claim NAME`"
    )


def _greet(session: Session, data: Path, url: str) -> None:
    found = pin_own(session.home, data, url, lambda: _token(data))
    origin, fingerprint = found.origin, found.fingerprint
    if session.json:
        document = {"page": f"{url}/", "registry": url, "origin": origin, "fingerprint": fingerprint, "data": str(data)}
        session.console.document(document)
        sys.stdout.flush()
        return
    session.console.data(f"{url}/  open this in your browser")
    session.console.data(f"registry {origin} at {url}")
    session.console.say(
        f"  You are logged in, and the registry is pinned. {next_command(url, is_default=found.is_default)}"
    )
    session.console.say(f"  fingerprint  {fingerprint}")
    session.console.say(
        f"  Others on this machine pin it with: rye registry add {url} --fingerprint {fingerprint} --default"
    )
    session.console.say("  Ctrl-C stops it.")
    sys.stdout.flush()
